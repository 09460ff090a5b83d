// serve/status/metrics.c - histograms and the page of GET /metrics (Prometheus text format 0.0.4).
#include "serve/status/metrics.h"
#include "serve/server.h"
#include "serve/work/workers.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// Bucket bounds in seconds and in tokens: a subset of vLLM's.
static const double seconds_bounds[METRICS_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05,
                                                       0.075, 0.1,    0.15,  0.2,  0.3,  0.5,  0.75, 1,
                                                       2.5,   5,      10,    20,   40,   80,   160,  640};
static const double token_bounds[METRICS_BUCKETS] = {1,     2,     5,     10,     20,     50,     100,    200,
                                                     500,   1000,  2000,  5000,   8000,   10000,  16000,  20000,
                                                     32000, 50000, 64000, 100000, 128000, 200000, 500000, 1000000};

typedef struct histogram_row {
    const char *name, *help;
    bool is_tokens;
} histogram_row;
static const histogram_row histograms[METRICS_N_HISTOGRAMS] = {
    [METRICS_FIRST_TOKEN] = {"vllm:time_to_first_token_seconds", "From the request to its first token."},
    [METRICS_INTER_TOKEN] = {"vllm:inter_token_latency_seconds", "Between two tokens of a stream."},
    [METRICS_QUEUE] = {"vllm:request_queue_time_seconds", "From the request to its first step."},
    [METRICS_PREFILL] = {"vllm:request_prefill_time_seconds", "From the first step to the prompt's last token."},
    [METRICS_DECODE] = {"vllm:request_decode_time_seconds", "From the first token to the last."},
    [METRICS_WHOLE] = {"vllm:e2e_request_latency_seconds", "From the request to the last token."},
    [METRICS_PROMPT_TOKENS] = {"vllm:request_prompt_tokens", "Tokens of a prompt.", true},
    [METRICS_GENERATED_TOKENS] = {"vllm:request_generation_tokens", "Tokens generated for a request.", true},
};

typedef struct count_row {
    const char *name, *help;
} count_row;
static const count_row counts[METRICS_N_COUNTS] = {
    [METRICS_PROMPT] = {"vllm:prompt_tokens_total", "Tokens of all prompts."},
    [METRICS_GENERATED] = {"vllm:generation_tokens_total", "Tokens generated."},
    [METRICS_DRAFTED] = {"vllm:spec_decode_num_draft_tokens_total", "Guesses of speculation that were evaluated."},
    [METRICS_ACCEPTED] = {"vllm:spec_decode_num_accepted_tokens_total", "Guesses that were right."},
};

static void observe(histogram *h, const double *bounds, double v, double unit) {
    size_t i = 0;
    if (!(v >= 0)) return;
    while (i < METRICS_BUCKETS && v > bounds[i]) i++;
    atomic_fetch_add_explicit(&h->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum, (unsigned long long)(v * unit), memory_order_relaxed);
}

void metrics_seconds(metrics *m, size_t model, metrics_histogram which, double seconds) {
    observe(&m->models[model].h[which], seconds_bounds, seconds, 1e9);
}

static void add_count(metrics *m, size_t model, metrics_count which, int64_t n) {
    if (n > 0) atomic_fetch_add_explicit(&m->models[model].n[which], (unsigned long long)n, memory_order_relaxed);
}

void metrics_generation(metrics *m, size_t model, const rn_chunk *last) {
    const rn_usage *const u = last->usage;
    const rn_timing *const t = last->timing;
    model_metrics *const mm = &m->models[model];
    if ((size_t)last->finish_reason < METRICS_FINISHES)
        atomic_fetch_add_explicit(&mm->finished[last->finish_reason], 1, memory_order_relaxed);
    add_count(m, model, METRICS_PROMPT, u->prompt_tokens);
    add_count(m, model, METRICS_GENERATED, u->completion_tokens);
    add_count(m, model, METRICS_DRAFTED, u->drafted_tokens);
    add_count(m, model, METRICS_ACCEPTED, u->accepted_tokens);
    for (size_t i = 0; i < RN_MAX_DRAFTERS; i++) {
        atomic_fetch_add_explicit(&mm->drafted_by[i], (unsigned long long)u->drafted_by[i], memory_order_relaxed);
        atomic_fetch_add_explicit(&mm->accepted_by[i], (unsigned long long)u->accepted_by[i], memory_order_relaxed);
    }
    for (size_t i = 0; i < RN_DRAFT_DEPTHS; i++) {
        atomic_fetch_add_explicit(&mm->drafted_at[i], (unsigned long long)u->drafted_at_depth[i],
                                  memory_order_relaxed);
        atomic_fetch_add_explicit(&mm->accepted_at[i], (unsigned long long)u->accepted_at_depth[i],
                                  memory_order_relaxed);
    }
    observe(&mm->h[METRICS_PROMPT_TOKENS], token_bounds, (double)u->prompt_tokens, 1);
    observe(&mm->h[METRICS_GENERATED_TOKENS], token_bounds, (double)u->completion_tokens, 1);
    metrics_seconds(m, model, METRICS_QUEUE, t->queue_ms / 1e3);
    metrics_seconds(m, model, METRICS_PREFILL, t->prefill_ms / 1e3);
    if (u->completion_tokens == 0) return;
    metrics_seconds(m, model, METRICS_FIRST_TOKEN, t->first_token_ms / 1e3);
    metrics_seconds(m, model, METRICS_DECODE, t->decode_ms / 1e3);
    metrics_seconds(m, model, METRICS_WHOLE, (t->first_token_ms + t->decode_ms) / 1e3);
}

void metrics_error(metrics *m, api_code code) {
    atomic_fetch_add_explicit(&m->errors[code], 1, memory_order_relaxed);
}

static void add_head(bytes *to, const char *name, const char *kind, const char *help) {
    bytes_add_format(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void add_gauge(bytes *to, const char *name, const char *help, double v) {
    add_head(to, name, "gauge", help);
    bytes_add_format(to, "%s %.17g\n", name, v);
}

static void add_counter(bytes *to, const char *name, const char *help, unsigned long long v) {
    add_head(to, name, "counter", help);
    bytes_add_format(to, "%s %llu\n", name, v);
}

// Writes a label; escapes quotation marks, backslashes and line breaks in its value.
static void add_label(bytes *to, const char *name, const char *value) {
    bytes_add_format(to, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') bytes_add(to, "\\", 1);
        bytes_add(to, *value == '\n' ? "\\n" : value, *value == '\n' ? 2 : 1);
    }
    bytes_add(to, "\"", 1);
}

static void add_histogram(server *s, bytes *to, size_t which) {
    const histogram_row *const row = &histograms[which];
    const double *const bounds = row->is_tokens ? token_bounds : seconds_bounds;
    add_head(to, row->name, "histogram", row->help);
    for (size_t m = 0; m < s->n_models; m++) {
        histogram *const h = &s->metrics.models[m].h[which];
        unsigned long long n = 0;
        bytes label = {0};
        add_label(&label, "model_name", s->models[m].name);
        for (size_t i = 0; i < METRICS_BUCKETS; i++) {
            n += atomic_load(&h->buckets[i]);
            bytes_add_format(to, "%s_bucket{%s,le=\"%.10g\"} %llu\n", row->name, label.data, bounds[i], n);
        }
        n += atomic_load(&h->buckets[METRICS_BUCKETS]);
        bytes_add_format(to, "%s_bucket{%s,le=\"+Inf\"} %llu\n", row->name, label.data, n);
        bytes_add_format(to, "%s_sum{%s} %.9f\n", row->name, label.data,
                         (double)atomic_load(&h->sum) / (row->is_tokens ? 1 : 1e9));
        bytes_add_format(to, "%s_count{%s} %llu\n", row->name, label.data, n);
        bytes_free(&label);
    }
}

static void add_model_counts(server *s, bytes *to) {
    for (size_t i = 0; i < METRICS_N_COUNTS; i++) {
        add_head(to, counts[i].name, "counter", counts[i].help);
        for (size_t m = 0; m < s->n_models; m++) {
            bytes_add_format(to, "%s{", counts[i].name);
            add_label(to, "model_name", s->models[m].name);
            bytes_add_format(to, "} %llu\n", (unsigned long long)atomic_load(&s->metrics.models[m].n[i]));
        }
    }
    static const char *const reasons[METRICS_FINISHES] = {[RN_FINISH_STOP] = "stop",
                                                          [RN_FINISH_LENGTH] = "length",
                                                          [RN_FINISH_CANCELLED] = "abort",
                                                          [RN_FINISH_ERROR] = "error"};
    add_head(to, "vllm:request_success_total", "counter",
             "Ended generations by finish reason; abort: cancelled, mostly because the client has left.");
    for (size_t m = 0; m < s->n_models; m++)
        for (size_t f = 1; f < METRICS_FINISHES; f++) {
            bytes_add_text(to, "vllm:request_success_total{");
            add_label(to, "model_name", s->models[m].name);
            bytes_add_format(to, ",finished_reason=\"%s\"} %llu\n", reasons[f],
                             (unsigned long long)atomic_load(&s->metrics.models[m].finished[f]));
        }
}

// Counters of guesses with a further label.
typedef struct guess_row {
    const char *name, *help, *label;
    size_t offset; // of the counters in model_metrics
} guess_row;
#define OF(field) offsetof(model_metrics, field)
static const guess_row guess_rows[] = {
    {"runnel:draft_tokens_total", "Guesses that were evaluated, by drafter.", "drafter", OF(drafted_by)},
    {"runnel:draft_accepted_tokens_total", "Guesses that were right, by drafter.", "drafter", OF(accepted_by)},
    {"runnel:draft_tokens_per_pos_total", "Guesses that were evaluated, by the number of guesses before them.",
     "position", OF(drafted_at)},
    {"vllm:spec_decode_num_accepted_tokens_per_pos_total",
     "Guesses that were right, by the number of guesses before them.", "position", OF(accepted_at)},
};
#undef OF

static void add_guesses(server *s, bytes *to, const guess_row *row) {
    const bool is_by_drafter = strcmp(row->label, "drafter") == 0;
    add_head(to, row->name, "counter", row->help);
    for (size_t m = 0; m < s->n_models; m++) {
        atomic_ullong *const n = (void *)((char *)&s->metrics.models[m] + row->offset);
        for (size_t i = 0; is_by_drafter ? rn_drafter_name(i) != NULL : i < RN_DRAFT_DEPTHS; i++) {
            bytes_add_format(to, "%s{", row->name);
            add_label(to, "model_name", s->models[m].name);
            if (is_by_drafter)
                bytes_add_format(to, ",drafter=\"%s\"", rn_drafter_name(i));
            else
                bytes_add_format(to, ",position=\"%zu\"", i);
            bytes_add_format(to, "} %llu\n", (unsigned long long)atomic_load(&n[i]));
        }
    }
}

// Metrics that the engine counts for each model.
typedef struct engine_row {
    const char *name, *kind, *help;
    double (*of)(const rn_engine_stats *e);
} engine_row;
#define FIELD(field)                                                                                                 \
    static double of_##field(const rn_engine_stats *e) { return (double)e->field; }
FIELD(n_running)
FIELD(n_queued)
FIELD(n_parked)
FIELD(kv_pages)
FIELD(kv_pages_free)
FIELD(kv_pages_cached)
FIELD(states)
FIELD(states_free)
FIELD(states_cached)
FIELD(n_preempted)
FIELD(n_steps)
FIELD(n_rows)
FIELD(n_prompt_rows)
FIELD(n_evicted_pages)
FIELD(prefix_queries)
FIELD(prefix_hits)
#undef FIELD
static double usage_of(const rn_engine_stats *e) {
    return e->kv_pages ? (double)(e->kv_pages - e->kv_pages_free - e->kv_pages_cached) / (double)e->kv_pages : 0.0;
}
static const engine_row engine_rows[] = {
    {"vllm:num_requests_running", "gauge", "Running generations.", of_n_running},
    {"vllm:num_requests_waiting", "gauge", "Waiting generations.", of_n_queued},
    {"runnel:num_requests_parked", "gauge", "Generations paused because their reader is slow.", of_n_parked},
    {"vllm:kv_cache_usage_perc", "gauge", "Share of key and value pages in use, 0 to 1.", usage_of},
    {"runnel:kv_pages", "gauge", "Pages for keys and values.", of_kv_pages},
    {"runnel:kv_pages_free", "gauge", "Free pages.", of_kv_pages_free},
    {"runnel:kv_pages_cached", "gauge", "Pages in the prefix cache.", of_kv_pages_cached},
    {"runnel:states", "gauge", "Slots for recurrent states.", of_states},
    {"runnel:states_free", "gauge", "Free slots for recurrent states.", of_states_free},
    {"runnel:states_cached", "gauge", "Recurrent states in the prefix cache.", of_states_cached},
    {"vllm:num_preemptions_total", "counter", "Preemptions: generations that had to release their pages.",
     of_n_preempted},
    {"vllm:prefix_cache_queries_total", "counter", "Prompt tokens that were looked up in the cache.",
     of_prefix_queries},
    {"vllm:prefix_cache_hits_total", "counter", "Prompt tokens that were found in the cache.", of_prefix_hits},
    {"runnel:engine_steps_total", "counter", "Steps (batches) computed.", of_n_steps},
    {"runnel:engine_rows_total", "counter", "Rows in these steps.", of_n_rows},
    {"runnel:engine_prompt_rows_total", "counter", "Prefill rows in these steps.", of_n_prompt_rows},
    {"runnel:kv_pages_evicted_total", "counter", "Cached pages that were evicted.", of_n_evicted_pages},
};

static void add_by_model(server *s, bytes *to, const engine_row *row, const rn_engine_stats *stats) {
    add_head(to, row->name, row->kind, row->help);
    for (size_t m = 0; m < s->n_models; m++) {
        bytes_add_format(to, "%s{", row->name);
        add_label(to, "model_name", s->models[m].name);
        bytes_add_format(to, "} %.17g\n", row->of(&stats[m]));
    }
}

static void add_misses(server *s, bytes *to, const rn_engine_stats *stats) {
    add_head(to, "runnel:prefix_cache_misses_total", "counter",
             "Prompt tokens that were not found in the cache, by reason.");
    for (size_t m = 0; m < s->n_models; m++)
        for (int i = 0; i < RN_N_MISSES; i++) {
            bytes_add_text(to, "runnel:prefix_cache_misses_total{");
            add_label(to, "model_name", s->models[m].name);
            bytes_add_format(to, ",reason=\"%s\"} %llu\n", rn_miss_name((rn_miss)i),
                             (unsigned long long)stats[m].prefix_misses[i]);
        }
}

static void add_engine(server *s, bytes *to) {
    rn_engine_stats stats[SERVER_MODELS];
    rn_memory memory = {.struct_size = sizeof memory};
    for (size_t m = 0; m < s->n_models; m++) {
        stats[m] = (rn_engine_stats){.struct_size = sizeof *stats};
        rn_engine_get_model_stats(s->engine, m, &stats[m], NULL);
    }
    for (size_t i = 0; i < sizeof engine_rows / sizeof *engine_rows; i++) add_by_model(s, to, &engine_rows[i], stats);
    add_misses(s, to, stats);
    if (rn_engine_get_memory(s->engine, &memory, NULL) == RN_OK)
        add_gauge(to, "process_resident_memory_bytes", "Memory of the process.", (double)memory.process_bytes);
}

static void add_http(server *s, bytes *to) {
    metrics *const m = &s->metrics;
    add_head(to, "runnel:http_requests_total", "counter",
             "HTTP answers by status; 499: the client disconnected early.");
    for (size_t i = 0; i < METRICS_STATUSES; i++) {
        const unsigned long long n = atomic_load(&m->answers[i]);
        if (n) bytes_add_format(to, "runnel:http_requests_total{status=\"%zu\"} %llu\n", i, n);
    }
    add_head(to, "runnel:errors_total", "counter", "Errors by code.");
    for (size_t i = 0; i < API_N_CODES; i++) {
        const unsigned long long n = atomic_load(&m->errors[i]);
        if (n) bytes_add_format(to, "runnel:errors_total{code=\"%s\"} %llu\n", api_code_name((api_code)i), n);
    }
    add_gauge(to, "runnel:worker_queue_length", "Requests that wait to be parsed and tokenized.",
              (double)workers_waiting(s->workers));
    add_counter(to, "runnel:http_connections_total", "Accepted connections.",
                atomic_load(&m->n_connections_accepted));
    add_counter(to, "runnel:http_bytes_sent_total", "Bytes sent in answers.", atomic_load(&m->n_bytes_sent));
    add_counter(to, "runnel:http_clients_left_total", "Requests whose client disconnected early.",
                atomic_load(&m->n_clients_left));
    add_counter(to, "runnel:key_failures_total", "Requests with a wrong key.", atomic_load(&m->n_key_failures));
    add_counter(to, "runnel:log_failures_total", "Lines of the access log that could not be written.",
                atomic_load(&m->n_log_failures));
    add_gauge(to, "runnel:http_body_bytes", "Bytes reserved by the bodies of requests.",
              (double)(atomic_load(&m->n_body_bytes) + atomic_load(&m->n_answer_bytes)));
    add_gauge(to, "process_start_time_seconds", "Start time of the server in seconds since 1970.",
              (double)s->started);
}

void metrics_add_page(struct server *s, bytes *to) {
    add_engine(s, to);
    add_model_counts(s, to);
    for (size_t i = 0; i < sizeof guess_rows / sizeof *guess_rows; i++) add_guesses(s, to, &guess_rows[i]);
    for (size_t i = 0; i < METRICS_N_HISTOGRAMS; i++) add_histogram(s, to, i);
    add_http(s, to);
}
