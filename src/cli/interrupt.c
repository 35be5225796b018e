#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

/*
 * The one writable global of the program: a signal handler gets no argument,
 * and this tells it which token to trigger. It is written only by
 * vug_interrupt_watch; the handler reads it once and calls nothing but
 * vug_cancel_token_trigger, which is async-signal-safe.
 */
static vug_cancel_token *volatile watched;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    vug_cancel_token *token = watched;
    if (token)
        vug_cancel_token_trigger(token);
}

static void handle(void handler(int))
{
    struct sigaction action = { 0 };
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
}

void vug_interrupt_install(void)
{
    handle(on_interrupt);
}

void vug_interrupt_watch(vug_cancel_token *token)
{
    if (token)
        vug_cancel_token_reset(token);
    watched = token;
}

void vug_interrupt_restore(void)
{
    watched = NULL;
    handle(SIG_DFL);
}

/* ---- polling ---------------------------------------------------------------- */

/* Service managers and job schedulers send SIGTERM; what a command has begun to write should not be
 * left behind then, either. */
static sigset_t ends(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    return set;
}

static void mask(int how)
{
    const sigset_t set = ends();
    (void)pthread_sigmask(how, &set, NULL);
}

void vug_interrupt_block(void)
{
    mask(SIG_BLOCK);
}

bool vug_interrupt_pending(void)
{
    sigset_t set;
    return sigpending(&set) == 0 &&
           (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1);
}

void vug_interrupt_unblock(void)
{
    mask(SIG_UNBLOCK);
}
