/* stub */
#include "text/tokenizer.h"
vug_status vug_tokenizer_gguf(const vug_gguf *gguf, vug_tokenizer **out, vug_err *err)
{
    (void)out;
    return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: not yet", gguf->file);
}
