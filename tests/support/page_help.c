/* Pages whose key, part and contents follow from a number. */
#include "test.h"

#include "core/random.h"
#include "scratch.h"

#include "page_help.h"

vug_page_id page_id_of(uint32_t i)
{
    vug_page_id id = { .part = i % 3 };
    for (size_t k = 0; k < VUG_PREFIX_KEY; k++)
        id.key.byte[k] = (uint8_t)vug_hash64((uint64_t)i * 64 + k);
    return id;
}

void page_fill(uint32_t i, uint8_t *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        bytes[k] = (uint8_t)vug_splitmix64_at(i, k + 1);
}

bool page_is(uint32_t i, const uint8_t *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (bytes[k] != (uint8_t)vug_splitmix64_at(i, k + 1))
            return false;
    }
    return true;
}

scratch_path page_path_in(const char *folder, uint32_t i)
{
    const vug_page_id id = page_id_of(i);
    scratch_path out;
    char key[2 * VUG_PREFIX_KEY + 1];
    for (size_t k = 0; k < VUG_PREFIX_KEY; k++)
        (void)snprintf(key + 2 * k, 3, "%02x", id.key.byte[k]);
    const int n = snprintf(out.path, sizeof(out.path), "%s/pages/%.2s/%s-%u", folder, key, key,
                           (unsigned)id.part);
    assert_in_range(n, 1, sizeof(out.path) - 1);
    return out;
}
