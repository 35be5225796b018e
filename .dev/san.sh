export LD_LIBRARY_PATH=$PWD/.dev/lib VUG_NO=1
I="-I$PWD/.dev/inc" L="-L$PWD/.dev/lib"
STRICT="-fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized -Wno-format-truncation -Wno-error"
V="EDIT_CFLAGS=$I"
run() { # build san target
make -k -j16 BUILD=$1 OPT='-O1 -g' SAN="$2 $STRICT" CFLAGS="$I" EDIT_CFLAGS=" " "EDIT_LIBS=$L -ledit" TEXT_CFLAGS=" " "TEXT_LIBS=$L -lpcre2-8 -lutf8proc -lcrypto" CRYPTO_CFLAGS=" " "CRYPTO_LIBS=$L -lcrypto" HTTP_CFLAGS=" " "HTTP_LIBS=$L -levent -levent_openssl -levent_pthreads -lssl -lcrypto" CURL_CFLAGS=" " "CURL_LIBS=$L -lcurl" TEST_CFLAGS=" " "TEST_LIBS=$L -lcmocka" "${@:3}" run-tests
}
gcc --version | head -1; date +%T
if [ "$1" = asan ]; then run build-asan "-fsanitize=address,undefined" > $OUT/log 2>&1; else run build-tsan "-fsanitize=thread" "TEST_SRC=$(grep -lE 'pthread_create|vug_pool_create|vug_device_options|vug_cancel_token_trigger|http_start|serve_inside' tests/*/test_*.c tests/*/*/test_*.c | tr '\n' ' ')" TEST_WITH="setarch -R" > $OUT/log 2>&1; fi
date +%T
grep -E "error:|undefined ref" $OUT/log | head -8; grep -E "FAILED|^[0-9]+ passed" $OUT/log | tail -60
