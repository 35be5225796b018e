#ifndef VUG_SERVER_METRICS_H
#define VUG_SERVER_METRICS_H

/*
 * The metrics of /metrics, in the Prometheus text format 0.0.4. Metrics without labels are written
 * even while they are 0. All functions are thread-safe and accept NULL metrics.
 *
 * SECONDS and RATIO are histograms, of times and of numbers from 0 to 1.
 */

#include "core/mem.h"
#include "core/status.h"

/* X(id, kind, name, help) */
#define VUG_METRIC_TABLE(X)                                                                     \
    X(REQUESTS, COUNTER, "vug_http_requests_total", "Requests answered, by route and status")   \
    X(REQUEST_SECONDS, SECONDS, "vug_http_request_duration_seconds",                            \
      "From the last byte of a request to the last byte of its response")                       \
    X(DISCONNECTED, COUNTER, "vug_http_clients_gone_total",                                     \
      "Clients that disconnected before their response ended")                                  \
    X(CONNECTIONS, GAUGE, "vug_http_connections", "Open connections")                           \
    X(REFUSED, COUNTER, "vug_http_connections_refused_total",                                   \
      "Connections closed because there were too many")                                         \
    X(RUNNING, GAUGE, "vug_http_requests_running", "Requests being answered")                   \
    X(QUEUE, GAUGE, "vug_queue_requests", "Requests that wait for the model")                   \
    X(QUEUE_SECONDS, SECONDS, "vug_queue_time_seconds",                                         \
      "From the arrival of a request until it leaves the queue")                                \
    X(PROMPT_TOKENS, COUNTER, "vug_prompt_tokens_total", "Tokens of prompts")                   \
    X(CACHED_TOKENS, COUNTER, "vug_cached_tokens_total", "Prompt tokens found in the KV cache") \
    X(CACHE_HITS, RATIO, "vug_cache_hit_ratio", "Part of a prompt that was in the KV cache")    \
    X(GENERATED_TOKENS, COUNTER, "vug_generated_tokens_total", "Tokens generated")              \
    X(DRAFT_TOKENS, COUNTER, "vug_draft_tokens_total", "Drafts of speculative decoding")        \
    X(ACCEPTED_TOKENS, COUNTER, "vug_draft_accepted_total", "Drafts that answers accepted")     \
    X(FIRST_TOKEN, SECONDS, "vug_time_to_first_token_seconds",                                  \
      "From the arrival of a request to its first token")                                       \
    X(BETWEEN_TOKENS, SECONDS, "vug_time_between_tokens_seconds", "From one token to the next") \
    X(KV_BUDGET, GAUGE, "vug_kv_budget_bytes", "Memory that keys and values may take")          \
    X(KV_USED, GAUGE, "vug_kv_used_bytes", "Keys and values of running requests")               \
    X(KV_CACHED, GAUGE, "vug_kv_cached_bytes", "Keys and values of cached prompts only")        \
    X(KV_SEQUENCES, GAUGE, "vug_kv_sequences", "Running requests that have keys and values")    \
    X(KV_SNAPSHOTS, GAUGE, "vug_kv_snapshots", "Snapshots of sliding windows")                  \
    X(KV_SNAPSHOT_BYTES, GAUGE, "vug_kv_snapshot_bytes", "Keys and values that snapshots keep") \
    X(KV_EVICTIONS, COUNTER, "vug_kv_evictions_total", "Cached pages dropped for their memory") \
    X(GRAMMARS_COMPILED, COUNTER, "vug_grammars_compiled_total",                                \
      "Grammars compiled, not found in the cache")                                              \
    X(GRAMMAR_BYTES, GAUGE, "vug_grammar_bytes", "Memory of cached grammars")                   \
    X(MODEL_BYTES, GAUGE, "vug_model_bytes", "Memory of weights, tables and the tokenizer")     \
    X(DEVICE_ACTIVE, GAUGE, "vug_device_memory_active_bytes", "Memory of the device in use")    \
    X(DEVICE_CACHED, GAUGE, "vug_device_memory_cached_bytes",                                   \
      "Memory of the device that is kept for later use")                                        \
    X(DEVICE_PEAK, GAUGE, "vug_device_memory_peak_bytes", "Most memory of the device in use")   \
    X(RESIDENT, GAUGE, "process_resident_memory_bytes", "Resident memory")

typedef enum {
#define X(id, ...) VUG_METRIC_##id,
    VUG_METRIC_TABLE(X)
#undef X
            VUG_METRIC_COUNT
} vug_metric;

/* Label combinations of all metrics together; later ones are not counted. */
#define VUG_METRIC_MAX_SERIES 1024

typedef struct vug_metrics vug_metrics;

VUG_MUST_CHECK vug_status vug_metrics_create(vug_metrics **out, vug_err *err);
void vug_metrics_destroy(vug_metrics *metrics);
/* `labels`, such as `route="/health",status="200"`, may be NULL. */
void vug_metrics_add(vug_metrics *metrics, vug_metric id, const char *labels, double v);
void vug_metrics_set(vug_metrics *metrics, vug_metric id, double v);
/* Adds a value to a histogram. */
void vug_metrics_observe(vug_metrics *metrics, vug_metric id, double v);
/* The value of a counter or gauge, the count of a histogram. */
double vug_metrics_get(vug_metrics *metrics, vug_metric id, const char *labels);
void vug_metrics_write(vug_metrics *metrics, vug_buf *to);

#endif
