#include "core/cancel.h"

#include "core/mem.h"

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "signal handlers trigger cancel tokens");

vug_status vug_cancel_token_create(vug_cancel_token **out, vug_err *err)
{
    vug_cancel_token *token = vug_alloc_zero(1, sizeof(*token));
    if (!token)
        return VUG_FAIL_NOMEM(err, "a cancel token", sizeof(*token));
    *out = token;
    return VUG_OK;
}

void vug_cancel_token_destroy(vug_cancel_token *token)
{
    vug_free(token);
}

void vug_cancel_token_trigger(vug_cancel_token *token)
{
    atomic_store(&token->triggered, true);
}

void vug_cancel_token_reset(vug_cancel_token *token)
{
    atomic_store(&token->triggered, false);
}

bool vug_cancel_token_is_triggered(const vug_cancel_token *token)
{
    return vug_is_cancelled(token);
}
