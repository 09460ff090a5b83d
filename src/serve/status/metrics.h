// serve/status/metrics.h - counters and histograms for GET /metrics in Prometheus' format; vLLM's names where it has them.
//
// Ownership: `struct metrics` is the caller's; {0} is empty.
// Threads:   any; every field is a separate atomic, so a scrape may see one counter before another.
#ifndef RN_SERVE_STATUS_METRICS_H
#define RN_SERVE_STATUS_METRICS_H

#include "app/bytes.h"
#include "serve/api/api_error.h"
#include <runnel/runnel.h>
#include <stdatomic.h>

enum { METRICS_MODELS = 8, METRICS_BUCKETS = 24, METRICS_FINISHES = RN_FINISH_ERROR + 1, METRICS_STATUSES = 600 };

typedef struct histogram {
    atomic_ullong buckets[METRICS_BUCKETS + 1]; // the last one: above all bounds
    atomic_ullong sum;                          // of seconds in nanoseconds, of tokens in tokens
} histogram;

// Of one model.
typedef enum metrics_histogram {
    METRICS_FIRST_TOKEN, // seconds from the request to its first token
    METRICS_INTER_TOKEN,
    METRICS_QUEUE,
    METRICS_PREFILL,
    METRICS_DECODE,
    METRICS_WHOLE,
    METRICS_PROMPT_TOKENS,
    METRICS_GENERATED_TOKENS,
    METRICS_N_HISTOGRAMS
} metrics_histogram;
typedef enum metrics_count {
    METRICS_PROMPT,
    METRICS_GENERATED,
    METRICS_DRAFTED,
    METRICS_ACCEPTED,
    METRICS_N_COUNTS
} metrics_count;

typedef struct model_metrics {
    histogram h[METRICS_N_HISTOGRAMS];
    atomic_ullong n[METRICS_N_COUNTS];
    atomic_ullong finished[METRICS_FINISHES];                                // by rn_finish
    atomic_ullong drafted_by[RN_MAX_DRAFTERS], accepted_by[RN_MAX_DRAFTERS]; // by number of rn_drafter_name()
    atomic_ullong drafted_at[RN_DRAFT_DEPTHS], accepted_at[RN_DRAFT_DEPTHS]; // by depth
} model_metrics;

typedef struct metrics {
    model_metrics models[METRICS_MODELS];
    atomic_ullong answers[METRICS_STATUSES]; // by HTTP status; 499: the client left
    atomic_ullong errors[API_N_CODES];
    atomic_ullong n_connections_accepted, n_bytes_sent, n_clients_left, n_key_failures, n_log_failures;
    atomic_ullong n_answer_bytes; // of large answers that are being sent
    atomic_ullong n_body_bytes;   // that bodies being received hold now
} metrics;

// For the routes. metrics_generation() records a generation's last chunk; the route measures inter-token gaps itself.
void metrics_seconds(metrics *m, size_t model, metrics_histogram which, double seconds);
void metrics_generation(metrics *m, size_t model, const rn_chunk *last);
void metrics_error(metrics *m, api_code code); // api_answer_error() counts by itself; for errors inside a stream

struct server;
void metrics_add_page(struct server *s, bytes *to);

#endif
