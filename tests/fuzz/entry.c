/* What libFuzzer calls. Compiled once per target, with FUZZ_ENTRY=vug_fuzz_NAME. */

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return FUZZ_ENTRY(data, n);
}
