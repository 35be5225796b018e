#ifndef VUG_TESTS_SUPPORT_SANITIZED_H
#define VUG_TESTS_SUPPORT_SANITIZED_H

/* Whether AddressSanitizer or ThreadSanitizer is in this build. */
#if defined(__has_feature)
#define VUG_HAS_FEATURE(name) __has_feature(name)
#else
#define VUG_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
        VUG_HAS_FEATURE(address_sanitizer) || VUG_HAS_FEATURE(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Whether it is ThreadSanitizer, which finds nothing in what runs on one thread and takes long for it. */
#if defined(__SANITIZE_THREAD__) || VUG_HAS_FEATURE(thread_sanitizer)
enum { FINDS_RACES = 1 };
#else
enum { FINDS_RACES = 0 };
#endif

#endif
