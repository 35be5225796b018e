#ifndef VUG_APP_SERVER_METRICS_H
#define VUG_APP_SERVER_METRICS_H

/*
 * What /metrics says, in the text format of Prometheus (version 0.0.4). Every metric is
 * a row here; one that was never touched is written as 0 where it has no labels.
 * Functions are safe to call from any thread, and accept a NULL registry.
 */

#include "core/mem.h"
#include "core/status.h"

/* X(id, kind, name, help) */
#define VUG_METRIC_TABLE(X)                                                                        \
    X(REQUESTS, COUNTER, "vug_http_requests_total", "Requests answered, by route and status")      \
    X(REQUEST_SECONDS, HISTOGRAM, "vug_http_request_duration_seconds",                             \
      "From the last byte of a request to the last of its answer")                                 \
    X(GONE, COUNTER, "vug_http_clients_gone_total", "Clients that left before their answer ended") \
    X(CONNECTIONS, GAUGE, "vug_http_connections", "Open connections")                              \
    X(REFUSED, COUNTER, "vug_http_connections_refused_total",                                      \
      "Connections closed because there were too many")                                            \
    X(RUNNING, GAUGE, "vug_http_requests_running", "Requests being answered")                      \
    X(QUEUE, GAUGE, "vug_queue_requests", "Requests that wait for the model")                      \
    X(PROMPT_TOKENS, COUNTER, "vug_prompt_tokens_total", "Tokens of prompts")                      \
    X(CACHED_TOKENS, COUNTER, "vug_cached_tokens_total", "Of these, tokens found in a cache")      \
    X(GENERATED_TOKENS, COUNTER, "vug_generated_tokens_total", "Tokens generated")                 \
    X(FIRST_TOKEN, HISTOGRAM, "vug_time_to_first_token_seconds",                                   \
      "From the arrival of a request to its first token")                                          \
    X(BETWEEN_TOKENS, HISTOGRAM, "vug_time_between_tokens_seconds", "From one token to the next")  \
    X(CACHE_BYTES, GAUGE, "vug_cache_bytes", "Memory of the caches of kept sessions")              \
    X(SESSIONS, GAUGE, "vug_sessions", "Sessions that are kept")                                   \
    X(COMPILED, COUNTER, "vug_grammars_compiled_total",                                            \
      "Grammars made, not found among those kept")                                                 \
    X(GRAMMAR_BYTES, GAUGE, "vug_grammar_bytes", "Memory of the grammars that are kept")           \
    X(MODEL_BYTES, GAUGE, "vug_model_bytes", "Memory of weights, tables and the tokenizer")        \
    X(RESIDENT, GAUGE, "process_resident_memory_bytes", "Resident memory")

typedef enum {
#define X(id, ...) VUG_METRIC_##id,
    VUG_METRIC_TABLE(X)
#undef X
            VUG_METRIC_COUNT
} vug_metric;

/* Combinations of labels of all metrics together; what comes after is not counted. */
#define VUG_METRIC_MAX_SERIES 1024

typedef struct vug_metrics vug_metrics;

VUG_MUST_CHECK vug_status vug_metrics_create(vug_metrics **out, vug_err *err);
void vug_metrics_destroy(vug_metrics *metrics);
/* `labels` as they are written, `route="/health",status="200"`, or NULL: none. */
void vug_metrics_add(vug_metrics *metrics, vug_metric id, const char *labels, double v);
void vug_metrics_set(vug_metrics *metrics, vug_metric id, double v);
void vug_metrics_observe(vug_metrics *metrics, vug_metric id, double seconds);
/* The value of a counter or gauge, the count of a histogram. */
double vug_metrics_get(vug_metrics *metrics, vug_metric id, const char *labels);
void vug_metrics_write(vug_metrics *metrics, vug_buf *to);

#endif
