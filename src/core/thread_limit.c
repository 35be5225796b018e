#include "core/thread_limit.h"

enum { MAX_IGNORED = 256 };

/* Seconds of rounds. A scheduler gives a thread a core for 1 to 4 ms at a time, so a window has
 * several of these slices. */
static const double window_s = 0.1, comparison_s = 0.4;
static const double first_pause_s = 0.5, max_pause_s = 8.0;
static const double max_idle = 0.15; /* of the time, for an idle machine */
static const double min_gain = 0.03; /* fewer differences are noise */

void vug_thread_limit_init(vug_thread_limit *limit, int max)
{
    *limit = (vug_thread_limit){ .max = max, .active = max, .best = max, .pause_s = first_pause_s };
}

static int at_most(int n, int max)
{
    return n < max ? n : max;
}

/* One thread more or less, or twice or half as many, in turn. */
static int next_candidate(const vug_thread_limit *limit, bool fewer)
{
    const bool far = limit->n_compared % 2 == 1;
    const int best = limit->best;
    if (fewer)
        return far || best == 1 ? (best + 1) / 2 : best - 1;
    return at_most(far ? 2 * best : best + 1, limit->max);
}

static void begin_comparison(vug_thread_limit *limit, int kind, int other)
{
    limit->comparing = true;
    limit->other = other;
    limit->kind = kind;
    limit->window = 0;
    limit->window_s = 0;
    limit->n_ignored = 0;
    limit->sum[0] = limit->sum[1] = (vug_thread_limit_sum){ 0 };
}

static void end_comparison(vug_thread_limit *limit, bool other_is_better)
{
    if (other_is_better)
        limit->best = limit->other;
    limit->pause_s = other_is_better ? first_pause_s : 2 * limit->pause_s;
    if (limit->pause_s > max_pause_s)
        limit->pause_s = max_pause_s;
    limit->comparing = false;
    limit->active = limit->best;
    limit->seconds = limit->idle_s = 0;
    limit->n_compared++;
}

static void compare(vug_thread_limit *limit, int kind, double seconds)
{
    if (kind != limit->kind) {
        if (++limit->n_ignored > MAX_IGNORED)
            end_comparison(limit, false);
        return;
    }
    vug_thread_limit_sum *sum = &limit->sum[limit->window % 2];
    sum->seconds += seconds;
    sum->rounds++;
    limit->window_s += seconds;
    if (limit->window_s < window_s)
        return;
    limit->window_s = 0;
    limit->window++;
    limit->active = limit->window % 2 ? limit->other : limit->best;
    if (limit->window % 2 || limit->sum[0].seconds + limit->sum[1].seconds < comparison_s)
        return;
    const double best = limit->sum[0].seconds / limit->sum[0].rounds;
    const double other = limit->sum[1].seconds / limit->sum[1].rounds;
    end_comparison(limit, other < best * (1 - min_gain));
}

void vug_thread_limit_add(vug_thread_limit *limit, int kind, double seconds, double idle_s)
{
    if (limit->comparing) {
        compare(limit, kind, seconds);
        return;
    }
    limit->seconds += seconds;
    limit->idle_s += idle_s;
    if (limit->seconds < limit->pause_s)
        return;
    /* Twice in a row: cold weights and page faults keep the caller waiting, too. */
    const bool fewer = limit->contended && limit->idle_s > max_idle * limit->seconds;
    limit->contended = limit->idle_s > max_idle * limit->seconds;
    limit->seconds = limit->idle_s = 0;
    const int other = next_candidate(limit, fewer);
    if (other != limit->best)
        begin_comparison(limit, kind, other);
}
