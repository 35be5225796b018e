# vug: `make demo` builds the program and shows what it does, `make check` runs the whole test
# suite; both install what they need (./setup does the same where there is no make). `make help`
# lists the other goals. All output lies in build/ (BUILD=... for another place); V=1 shows the
# commands.

CC      ?= cc
CXX     ?= c++
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
# With names and lines for backtraces; to look at variables in a debugger: OPT='-O0 -g'.
OPT     ?= -O2 -g1
SAN     ?=
# Seconds per fuzz target; a part of the name of the tests to run.
SECONDS ?= 60
T       ?=
VERSION := $(shell sed -n 's/^.define VUG_VERSION "\(.*\)".*/\1/p' include/vug/vug.h)
SO      := 0
ARCH    := $(shell uname -m)
OS      := $(shell uname -s)
Q       := $(if $(V),,@)
,       := ,

# As many jobs as there are cores, unless the caller says -jN.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) --no-print-directory
endif

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
       -Wold-style-definition -Wvla -Wundef -Wwrite-strings -Werror
# No contraction: a product and a sum are fused only where the source says fma,
# so that every compiler gives the same bits. Errno of libm is never read.
MATH = -ffp-contract=off -fno-math-errno
CFLAGS_ALL = -std=c17 -D_GNU_SOURCE $(WARN) $(MATH) $(OPT) $(SAN) -fvisibility=hidden -pthread \
             -Iinclude -Isrc $(CFLAGS) $(EXTRA)
CXXFLAGS_ALL = -std=c++20 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wconversion -Werror \
             -Wno-missing-field-initializers $(OPT) $(SAN) -fvisibility=hidden -pthread \
             -Iinclude -Isrc $(CXXFLAGS) $(EXTRA)
LIBS = $(TEXT_LIBS) $(CRYPTO_LIBS) $(CUDA_LIBS) $(MLX_LIBS) -lm -pthread

# The CUDA backend, with CUDA=1. It is compiled without contraction, too.
CUDA      ?=
NVCC      ?= $(call once,NVCC,$(or $(shell command -v nvcc),$(wildcard build/wheels/nvidia/cu13/bin/nvcc),nvcc))
# Compute capabilities: those that are wanted and that nvcc offers. 9.0a has wgmma.
CUDA_ARCH  = $(call once,CUDA_ARCH,$(filter $(subst sm_,,$(shell $(NVCC) --list-gpu-code)) 90a,80 90a 100 120))
CUDA_TOP   = $(call once,CUDA_TOP,$(or $(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | \
             sed -n 's/^.. TOP=//p'),$(error $(NVCC) is missing: the CUDA backend needs it)))
CUDA_LIB_DIR = $(firstword $(wildcard $(addprefix $(CUDA_TOP)/,lib64 lib)))
CUDA_LIBS  = $(if $(CUDA),-L$(CUDA_LIB_DIR) -lcudart_static -ldl -lrt -lstdc++)
NVCC_FLAGS = -std=c++17 -O3 -fmad=false -lineinfo \
             -Xcompiler -fPIC$(,)-fvisibility=hidden$(,)-fno-exceptions$(,)-Wall \
             $(foreach a,$(CUDA_ARCH),-gencode=arch=compute_$(a)$(,)code=sm_$(a)) -Iinclude -Isrc

# The MLX backend, with MLX=1: by default on a Mac where MLX is installed. MLX_DIR holds its
# include/ and lib/: Homebrew's, or those that `tools/deps mlx` installs.
MLX_DIR   ?= $(call once,MLX_DIR,$(patsubst %/include/mlx/mlx.h,%,$(firstword $(wildcard \
             $(addsuffix /include/mlx/mlx.h,build/wheels/mlx /opt/homebrew /usr/local)))))
MLX       ?= $(if $(filter Darwin,$(OS)),$(if $(MLX_DIR),1))
MLX_HOME   = $(or $(MLX_DIR),$(error MLX is missing: run tools/deps mlx, or name its folder with MLX_DIR))
MLX_CXXFLAGS = $(if $(MLX),-isystem $(MLX_HOME)/include)
MLX_LIBS   = $(if $(MLX),-L$(MLX_HOME)/lib -lmlx -Wl$(,)-rpath$(,)$(abspath $(MLX_HOME))/lib \
             $(if $(filter Darwin,$(OS)),-lc++,-lstdc++))

# Packages, asked for once and only by what needs them.
once = $(eval $(1) := $(2))$($(1))
package = $(or $(shell pkg-config --libs $(1) 2>/dev/null),$(error $(1) is missing: run make deps))
EDIT_CFLAGS = $(call once,EDIT_CFLAGS,$(shell pkg-config --cflags libedit))
EDIT_LIBS   = $(call once,EDIT_LIBS,$(call package,libedit))
TEXT_CFLAGS = $(call once,TEXT_CFLAGS,$(shell pkg-config --cflags libpcre2-8 libutf8proc))
TEXT_LIBS   = $(call once,TEXT_LIBS,$(call package,libpcre2-8) $(call package,libutf8proc))
CRYPTO_CFLAGS = $(call once,CRYPTO_CFLAGS,$(shell pkg-config --cflags libcrypto))
CRYPTO_LIBS   = $(call once,CRYPTO_LIBS,$(call package,libcrypto))
HTTP_PACKAGES = libevent libevent_openssl libevent_pthreads openssl
HTTP_CFLAGS = $(call once,HTTP_CFLAGS,$(shell pkg-config --cflags $(HTTP_PACKAGES)))
HTTP_LIBS   = $(call once,HTTP_LIBS,$(call package,$(HTTP_PACKAGES)))
CURL_CFLAGS = $(call once,CURL_CFLAGS,$(shell pkg-config --cflags libcurl))
CURL_LIBS   = $(call once,CURL_LIBS,$(call package,libcurl))
APP_LIBS    = $(if $(LIBRARY_ONLY),,$(EDIT_LIBS) $(HTTP_LIBS) $(CURL_LIBS))
TEST_CFLAGS = $(call once,TEST_CFLAGS,$(shell pkg-config --cflags cmocka))
TEST_LIBS   = $(call once,TEST_LIBS,$(call package,cmocka))
# Linux distributions keep several LLVMs side by side, under names with a number.
llvm = $(shell PATH="$$PATH:/opt/homebrew/opt/llvm/bin:/usr/local/opt/llvm/bin"; \
       for v in '' $$(seq -f -%g 30 -1 14); do command -v $(1)$$v && break; done)
CLANG        = $(call once,CLANG,$(call llvm,clang))
CLANG_TIDY   = $(call once,CLANG_TIDY,$(call llvm,clang-tidy))
CLANG_FORMAT = $(call once,CLANG_FORMAT,$(call llvm,clang-format))

# tests/support/ is an archive from which each test program links what it calls. The
# program without its main is another one.
PROGRAM_SRC := $(wildcard src/cli/*.c src/cli/*/*.c src/server/*.c src/server/*/*.c)
APP_SRC     := $(if $(LIBRARY_ONLY),,$(PROGRAM_SRC))
CUDA_C      := $(filter-out %/without_cuda.c,$(wildcard src/backend/cuda/*.c))
LIB_SRC     := $(filter-out $(PROGRAM_SRC) $(if $(CUDA),src/backend/cuda/without_cuda.c,$(CUDA_C)) \
               $(if $(MLX),src/backend/mlx/without_mlx.c), $(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))
CU_SRC      := $(if $(CUDA),$(wildcard src/backend/cuda/*.cu))
MLX_SRC     := $(if $(MLX),$(wildcard src/backend/mlx/*.cpp))
DEVICE_SRC  := $(CU_SRC) $(MLX_SRC)
TEST_SRC    := $(wildcard tests/*/test_*.c tests/*/*/test_*.c)
HELP_SRC    := $(wildcard tests/support/*.c)
BENCH_SRC   := $(wildcard bench/*.c)
EXAMPLE_SRC := $(wildcard docs/examples/*.c)
FUZZ_SRC    := $(wildcard tests/fuzz/fuzz_*.c)
C_FILES     := $(LIB_SRC) $(APP_SRC) $(TEST_SRC) $(HELP_SRC) $(BENCH_SRC) $(EXAMPLE_SRC) \
               $(FUZZ_SRC) tests/fuzz/plain.c
obj          = $(patsubst %.cpp,$(BUILD)/obj/%.cpp.o,$(patsubst %.cu,$(BUILD)/obj/%.cu.o,\
               $(patsubst %.c,$(BUILD)/obj/%.o,$(1))))
TESTS       := $(addprefix $(BUILD)/tests/,$(notdir $(TEST_SRC:.c=)))
BENCHES     := $(BENCH_SRC:bench/%.c=$(BUILD)/bench/%)
EXAMPLES    := $(EXAMPLE_SRC:docs/examples/%.c=$(BUILD)/examples/%)
FUZZERS     := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(BUILD)/fuzz/%)
# Those that start threads, or run models on several, are worth ThreadSanitizer.
THREADED     = $(shell grep -lE 'pthread_create|vug_pool_create|vug_page_store_open|vug_batch_run|vug_device_options|vug_cancel_token_trigger|http_start|serve_inside' $(TEST_SRC))
MAIN_OBJ    := $(call obj,src/cli/main.c)

all: $(BUILD)/vug $(BUILD)/libvug.a $(BUILD)/libvug.so  ## the program and the library
everything: all $(TESTS) $(BENCHES) $(EXAMPLES) $(BUILD)/tests/fuzz

# ---- building -------------------------------------------------------------

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS_ALL) -fPIC -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.cu.o: %.cu Makefile
	@mkdir -p $(@D)
	$(if $(V),,@echo "  NVCC  $<")
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.cpp.o: %.cpp Makefile
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CXX   $<")
	$(Q)$(CXX) $(CXXFLAGS_ALL) -fPIC -MMD -MP -c -o $@ $<

# Flags of some, for the compiler and for clang-tidy alike. One file per instruction
# set; each is reached only through cpu/dispatch.c.
flags_of = $(BUILD)/obj/$(1).o $(BUILD)/tidy/$(1).ok
AVX2   = -mavx2 -mfma -mf16c
AVX512 = $(AVX2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni
$(call flags_of,src/backend/cpu/x86/avx%): EXTRA = $(if $(filter x86_64,$(ARCH)),$(AVX2) $(if $(SAN),,-O3))
$(call flags_of,src/backend/cpu/x86/avx_v%): EXTRA = $(if $(filter x86_64,$(ARCH)),$(AVX2) -mavxvnni $(if $(SAN),,-O3))
$(call flags_of,src/backend/cpu/x86/avx5%): EXTRA = $(if $(filter x86_64,$(ARCH)),$(AVX512) $(if $(SAN),,-O3))
$(call flags_of,src/backend/cpu/x86/avx512_bf16): EXTRA = $(if $(filter x86_64,$(ARCH)),$(AVX512) -mavx512bf16 $(if $(SAN),,-O3))
$(call flags_of,src/backend/cpu/x86/am%): EXTRA = $(if $(filter x86_64,$(ARCH)),$(AVX512) -mavx512bf16 -mamx-tile -mamx-int8 $(if $(SAN),,-O3))
NEON_ARCH = $(filter aarch64 arm64,$(ARCH))
$(call flags_of,src/backend/cpu/arm/neo%): EXTRA = $(if $(SAN),,-O3)
$(call flags_of,src/backend/cpu/arm/neon_dotprod): EXTRA = $(if $(NEON_ARCH),-march=armv8.2-a+dotprod) $(if $(SAN),,-O3)
$(call flags_of,src/backend/cpu/arm/neon_bf16): EXTRA = $(if $(NEON_ARCH),-march=armv8.2-a+bf16) $(if $(SAN),,-O3)
$(call flags_of,src/backend/cpu/arm/neon_i%): EXTRA = $(if $(NEON_ARCH),-march=armv8.2-a+i8mm) $(if $(SAN),,-O3)
$(call flags_of,src/backend/cpu/ref%): EXTRA = $(if $(SAN),,-O3)
$(call flags_of,src/text/%): EXTRA = $(TEXT_CFLAGS)
$(call flags_of,src/backend/cuda/%): EXTRA = $(if $(CUDA),-isystem $(CUDA_TOP)/include)
$(BUILD)/obj/src/backend/mlx/%.cpp.o: EXTRA = $(MLX_CXXFLAGS)
$(call flags_of,src/core/sha256): EXTRA = $(CRYPTO_CFLAGS)
$(call flags_of,src/cli/%) $(call flags_of,src/server/%): EXTRA = $(EDIT_CFLAGS) $(HTTP_CFLAGS) $(CURL_CFLAGS)
# The tests' own code compiles faster so; what they test has the flags of a release.
$(call flags_of,tests/%): EXTRA = $(if $(SAN),,-O1) $(TEST_CFLAGS) $(if $(LIBRARY_ONLY),,$(HTTP_CFLAGS)) -Itests/support -Itests -DVUG_BUILD='"$(BUILD)"'

define archive
	@rm -f $@
	$(if $(V),,@echo "  AR    $@")
	$(Q)ar rcs $@ $(filter %.o,$^)
endef
define link
	@mkdir -p $(@D)
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) $(SAN) $(LINK_FLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_LIBS) $(LIBS)
endef

$(BUILD)/libvug.a: $(call obj,$(LIB_SRC) $(DEVICE_SRC))
	$(archive)
$(BUILD)/libapp.a: $(filter-out $(MAIN_OBJ),$(call obj,$(APP_SRC)))
	$(archive)
$(BUILD)/libtest.a: $(call obj,$(HELP_SRC))
	$(archive)

$(BUILD)/libvug.so: private LINK_FLAGS = -shared $(if $(filter Linux,$(OS)),-Wl$(,)-soname$(,)libvug.so.$(SO)) \
    $(if $(filter Darwin,$(OS)),-Wl$(,)-install_name$(,)$(PREFIX)/lib/libvug.so.$(SO))
$(BUILD)/libvug.so: $(call obj,$(LIB_SRC) $(DEVICE_SRC))
	$(link)
$(BUILD)/vug: LINK_LIBS = $(APP_LIBS)
$(BUILD)/vug: $(MAIN_OBJ) $(BUILD)/libapp.a $(BUILD)/libvug.a
	$(link)
$(BUILD)/tests/%: LINK_LIBS = $(TEST_LIBS) $(APP_LIBS)
# tests/support/alloc_hook.c stands between these tests and the heap.
$(addprefix $(BUILD)/tests/,test_alloc test_prefix_random): private LINK_FLAGS = $(if $(filter Linux,$(OS)),\
    $(addprefix -Wl$(,)--wrap=,malloc calloc realloc aligned_alloc free))
# A test program lies in build/tests/ by its name alone, whatever folder its source is in. Some run vug,
# which is therefore built first.
define test_program
$(BUILD)/tests/$(notdir $(1:.c=)): $(call obj,$(1)) $(BUILD)/libtest.a $(BUILD)/libapp.a $(BUILD)/libvug.a \
    | $(if $(LIBRARY_ONLY),,$(BUILD)/vug)
endef
$(foreach t,$(TEST_SRC),$(eval $(call test_program,$(t))))
$(TESTS):
	$(link)
$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(BUILD)/libvug.a
	$(link)
$(BUILD)/examples/%: $(BUILD)/obj/docs/examples/%.o $(BUILD)/libvug.a
	$(link)
# Every fuzz target as a plain program over files, build/tests/fuzz NAME FILE...,
# and as a test over the files that are kept for it.
$(BUILD)/tests/fuzz $(BUILD)/tests/test_regressions: $(call obj,$(FUZZ_SRC))
$(BUILD)/tests/fuzz: $(BUILD)/obj/tests/fuzz/plain.o $(BUILD)/libapp.a $(BUILD)/libvug.a
	$(link)

# ---- the main job -----------------------------------------------------------

demo: ## build, then show the main job
	@tools/deps demo
	@$(MAKE) $(BUILD)/vug
	@tools/demo $(BUILD)/vug

# ---- tests --------------------------------------------------------------------

check: ## build everything, run the whole suite (T=part of a name)
	@tools/deps check
	@$(MAKE) everything
	@$(MAKE) run-tests
WANTED = $(foreach t,$(TESTS),$(if $(findstring $(or $(T),test_),$(notdir $(t))),$(t)))
run-tests: $(if $(LIBRARY_ONLY),,$(BUILD)/vug $(EXAMPLES)) $(WANTED)
	@VUG_BUILD=$(BUILD) $(TEST_WITH) tests/run $(WANTED)
# The engine's tests but those that compare with figures of the CPU, or take minutes on MLX's CPU device.
ENGINE_TESTS = conversations session scheduler generate engine faults cancel kv_disk prefix_random embedder constraints layer_split
# A build with one more backend, in the folder $(1), uses the objects of the main build, which is made first.
define share_objects
	@$(MAKE) all
	@mkdir -p $(1)/obj && rm -rf $(1)/obj/src && ln -s $(abspath $(BUILD))/obj/src $(1)/obj/src
endef
check-cuda: ## the tests of the CUDA backend, and of the engine on a GPU; without one, that it compiles and what it then says
	@tools/deps check cuda
	$(call share_objects,$(BUILD)/cuda)
	@$(MAKE) BUILD=$(BUILD)/cuda CUDA=1 T=cuda run-tests
	@if $(BUILD)/cuda/vug devices | grep -A1 '^cuda ' | grep -q 'not available'; then :; else \
	    VUG_TEST_DEVICE=cuda VUG_CONVERSATIONS=3 $(MAKE) BUILD=$(BUILD)/cuda CUDA=1 \
	        WANTED='$(patsubst %,$(BUILD)/cuda/tests/test_%,steps_ahead speculation wanted_logits $(ENGINE_TESTS))' run-tests; fi
check-mlx: ## the MLX backend's tests, on MLX's CPU device where there is no GPU
	@tools/deps check mlx
	$(call share_objects,$(BUILD)/with-mlx)
	@VUG_TEST_DEVICE=mlx VUG_CONVERSATIONS=3 $(MAKE) BUILD=$(BUILD)/with-mlx MLX=1 \
	    WANTED='$(patsubst %,$(BUILD)/with-mlx/tests/test_%,mlx mlx_precision $(ENGINE_TESTS))' run-tests
# Programs for aarch64 run in an emulator. The cross compiler finds the arm64 packages of Debian's
# libraries, but those of the program cannot be installed beside this machine's own. Tests that run many
# models take too long there.
NEON_TESTS = $(filter-out %/test_kv_formats.c,$(wildcard tests/backend/cpu/test_*.c))
check-neon: ## the tests of the NEON kernels, cross-compiled and in qemu
	@tools/deps neon
	@PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig RUN_WITH='qemu-aarch64 -cpu max' \
	    $(MAKE) BUILD=$(BUILD)/neon ARCH=aarch64 LIBRARY_ONLY=1 TEST_SRC='$(NEON_TESTS)' \
	    CC='$(if $(findstring ccache,$(CC)),ccache )aarch64-linux-gnu-gcc' run-tests
clients: $(BUILD)/vug ## real OpenAI clients against vug serve; installs them, needs the network
	@VUG_BUILD=$(BUILD) tests/clients/run
load: $(BUILD)/vug ## 100 clients at once, then clients that misbehave, against vug serve
	@VUG_BUILD=$(BUILD) tests/clients/load
	@VUG_BUILD=$(BUILD) tests/clients/faults

# Memory errors and undefined behaviour over everything, races over what has threads.
# The second program runs without address randomisation where that is allowed: older
# runtimes of ThreadSanitizer meet mappings they do not expect.
# Instrumented code makes gcc guess wrongly about what may be uninitialized, and about
# the numbers that may meet a format.
STRICT = -fno-sanitize-recover=all -fno-omit-frame-pointer \
         -Wno-unknown-warning-option -Wno-maybe-uninitialized -Wno-format-truncation
san: ## the suite under ASan and UBSan, the threaded tests under TSan
	@tools/deps check
	@$(MAKE) BUILD=$(BUILD)/tsan OPT='-O1 -g1' SAN='-fsanitize=thread $(STRICT)' \
	    TEST_SRC='$(THREADED)' TEST_WITH="$$(setarch -R true 2>/dev/null && echo setarch -R)" run-tests
	@$(MAKE) BUILD=$(BUILD)/san OPT='-O1 -g1' SAN='-fsanitize=address,undefined $(STRICT)' run-tests

# Findings land in build/fuzz/findings; with a name that says what they are they move
# to tests/fuzz/regressions/NAME/, where `make check` tries them from then on.
fuzz: ## every libFuzzer target for SECONDS=60
	@tools/deps fuzz
	@if echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void){return 0;}' | \
	    $(or $(CLANG),false) -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; \
	then $(MAKE) -k BUILD=$(BUILD)/fuzz CC=$(CLANG) OPT='-O1 -g1' \
	    SAN='-fsanitize=fuzzer-no-link,address,undefined $(STRICT)' $(FUZZ_SRC:tests/fuzz/fuzz_%.c=fuzz-%); \
	else echo "fuzz: skipped: this machine's clang has no libFuzzer runtime"; fi
fuzz-%: $(BUILD)/fuzz/%
	@mkdir -p $(BUILD)/corpus/$* $(BUILD)/findings tests/fuzz/regressions/$*
	@echo "fuzz $*: $(SECONDS) s"
	@ASAN_OPTIONS=allocator_may_return_null=1 $< -max_total_time=$(SECONDS) -timeout=10 \
	    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=$(BUILD)/findings/$*- \
	    $(addprefix -dict=,$(wildcard tests/fuzz/$*.dict)) \
	    $(BUILD)/corpus/$* tests/fuzz/regressions/$* >$<.log 2>&1 || { tail -n 60 $<.log; exit 1; }
	@sed -n 's/^stat::number_of_executed_units: */fuzz $*: inputs tried: /p' $<.log
$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/libapp.a $(BUILD)/libvug.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer,address,undefined -DFUZZ_ENTRY=vug_fuzz_$* -Itests \
	    -o $@ tests/fuzz/entry.c $^ $(LIBS)

# ---- lint ---------------------------------------------------------------------

# All of it runs, also after a failure: one look shows everything there is to mend.
FORMATTED = $(C_FILES) tests/fuzz/entry.c $(wildcard src/backend/cuda/*.c src/backend/cuda/*.cu) \
            $(wildcard src/backend/mlx/*.c src/backend/mlx/*.cpp) \
            $(wildcard $(addsuffix *.h,include/vug/ src/*/ src/*/*/ src/*/*/*/ tests/support/ tests/fuzz/ bench/))
lint: ## the rules of tools/lint, formatting, the other compiler, clang-tidy on what changed
	@tools/deps lint
	@$(MAKE) -k lint-rules lint-format lint-headers lint-shell lint-clang lint-tidy
	@echo "lint: ok"
lint-rules: everything
	@tools/lint --build $(BUILD)
lint-format:
	@out=$$($(CLANG_FORMAT) --dry-run -Werror $(FORMATTED) 2>&1) || { printf '%s\n' "$$out" | \
	    sed -n 's/: error: code should.*/: make format would change this line/p'; exit 1; }
format: ## as clang-format would have it
	@$(CLANG_FORMAT) -i $(FORMATTED)
# The public headers belong to C++ programs too.
lint-headers:
	@for h in include/vug/*.h; do $(CXX) -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Iinclude \
	    -x c++ $$h || exit 1; done
lint-shell:
	@if command -v shellcheck >/dev/null; then shellcheck setup tests/run tools/deps tools/device-report tools/demo tools/tidy tools/tokenizers/fetch .ci/run; fi
lint-clang:
	@$(MAKE) BUILD=$(BUILD)/clang CC=$(CLANG) everything
# One file per process; again only when the file or one of its headers has changed, which
# the dependencies of its object tell.
lint-tidy: everything
	@files=$$(tools/tidy $(BUILD) $(C_FILES)) && $(MAKE) lint-tidy-files TIDY_FILES="$$(echo $$files)"
lint-tidy-files: $(TIDY_FILES:%.c=$(BUILD)/tidy/%.ok)
$(BUILD)/tidy/%.ok: $(BUILD)/obj/%.o .clang-tidy
	@mkdir -p $(@D)
	@echo "  TIDY  $*.c"
	$(Q)$(CLANG_TIDY) --quiet $*.c -- $(CFLAGS_ALL) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@
lint-all: lint ## lint, clang-tidy on every file; remembers the tree that passed
	@$(MAKE) -k lint-tidy-files TIDY_FILES='$(C_FILES)'
	@if [ -z "$$(git status --porcelain)" ]; then git rev-parse 'HEAD^{tree}' >.ci/tidy-passed; \
	    echo "lint-all: ok; commit .ci/tidy-passed"; else echo "lint-all: ok"; fi

# ---- the rest -----------------------------------------------------------------

bench: $(BENCHES) $(BUILD)/vug ## run the bench programs
	@set -e; export VUG_BUILD=$(BUILD); for b in $(BENCHES) bench/bench_contention bench/bench_start bench/bench_server \
	    bench/bench_clients; do \
	    echo "== $$b"; $$b; done

define PC
prefix=$(PREFIX)
libdir=$${prefix}/lib
includedir=$${prefix}/include

Name: vug
Description: inference engine for language models
Version: $(VERSION)
Cflags: -I$${includedir}
Libs: -L$${libdir} -lvug
Requires.private: libpcre2-8 libutf8proc libcrypto
Libs.private: -lm -pthread
endef
export PC
AT = $(DESTDIR)$(PREFIX)
# The checkpoint, without the folder that it was trained in.
PEBBLE = $(wildcard models/pebble/*.*)
install: all ## into PREFIX=/usr/local, below DESTDIR
	install -d $(AT)/bin $(AT)/lib/pkgconfig $(AT)/include/vug
	install -m 755 $(BUILD)/vug $(AT)/bin/vug
	install -m 644 $(BUILD)/libvug.a $(AT)/lib/libvug.a
	install -m 755 $(BUILD)/libvug.so $(AT)/lib/libvug.so.$(SO)
	ln -sf libvug.so.$(SO) $(AT)/lib/libvug.so
	install -m 644 include/vug/*.h $(AT)/include/vug/
	$(if $(PEBBLE),install -d $(AT)/share/vug/models/pebble)
	$(if $(PEBBLE),install -m 644 $(PEBBLE) $(AT)/share/vug/models/pebble/)
	printf '%s\n' "$$PC" > $(AT)/lib/pkgconfig/vug.pc

deps: ## install what building, testing and linting need
	@tools/deps demo check lint fuzz

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16

-include $(wildcard $(addprefix $(BUILD)/obj/,*/*.d */*/*.d */*/*/*.d */*/*/*/*.d))
# Objects stay, also those that only a chain of rules mentions.
.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all everything demo check check-cuda check-mlx check-neon run-tests clients load san fuzz lint lint-rules lint-format format \
        lint-headers lint-shell lint-clang lint-tidy lint-tidy-files lint-all bench install deps clean help
