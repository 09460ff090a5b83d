// cli/bench_json.c - rows as JSON, each complete with model, machine and settings.
#include "app/json_write.h"
#include "cli/bench_print.h"
#include "cli/memory_print.h"
#include <math.h>
#include <runnel/api.h>

enum { SCHEMA = 1 };

static void put_real(json_writer *w, const char *name, double v) { json_member_rounded(w, name, v, 3); }
static double measured(const bench_figure *f, double v) { return f->n_values ? v : NAN; }

static void put_limits(json_writer *w, const rn_limits *l) {
    json_put_key(w, "limits");
    if (!l->struct_size) {
        json_put_null(w);
        return;
    }
    json_put_begin(w, '{');
    put_real(w, "read_gb_s", l->read_bytes_s / 1e9);
    put_real(w, "int8_tops", 2 * l->int8_products_s / 1e12);
    json_member_whole(w, "read_bytes", (int64_t)l->read_size_bytes);
    json_put_end(w, '}');
}

static void put_old(json_writer *w, const bench_row *row, bench_kind kind) {
    const char *verdict = bench_row_verdict(row, kind);
    json_put_key(w, "vs");
    if (!verdict) {
        json_put_null(w);
        return;
    }
    json_put_begin(w, '{');
    put_real(w, "old", row->old[kind]);
    put_real(w, "ratio", row->figures[kind].median / row->old[kind]);
    json_member_string(w, "verdict", verdict);
    json_put_end(w, '}');
}

static void put_figure(json_writer *w, const bench_row *row, bench_kind kind) {
    const bench_figure *f = &row->figures[kind];
    const bench_share share = bench_row_share(row, kind);
    json_put_begin(w, '{');
    json_member_string(w, "kind", bench_kind_name(kind));
    json_member_string(w, "unit", "tok/s");
    json_member_whole(w, "streams", kind == BENCH_PROMPT ? 1 : row->c.n_batch);
    json_member_whole(w, "tokens", bench_row_tokens(row, kind));
    json_member_begin(w, "values", '[');
    for (int32_t i = 0; i < f->n_values; i++) json_put_rounded(w, f->values[i], 3);
    json_put_end(w, ']');
    put_real(w, "median", f->median);
    put_real(w, "spread", f->spread);
    put_real(w, "read_gb_s", f->read_bytes_s / 1e9);
    put_real(w, "int8_tops", 2 * f->int8_products_s / 1e12);
    put_real(w, "read_share", share.read);
    put_real(w, "int8_share", share.int8);
    json_member_string(w, "limit", isnan(share.read) ? NULL : bench_share_is_read(share) ? "read" : "int8");
    if (kind == BENCH_GENERATION) {
        put_real(w, "per_stream", f->median / row->c.n_batch);
        put_real(w, "batch_ratio", row->batch_ratio > 0 ? row->batch_ratio : NAN);
    }
    put_old(w, row, kind);
    if (row->sums[kind].n_steps) {
        json_put_key(w, "profile");
        bench_sums_put(&row->sums[kind], w);
    }
    json_put_end(w, '}');
}

static void put_row(json_writer *w, const bench_row *row, const bench_machine *m) {
    const bench_figure *prompt = &row->figures[BENCH_PROMPT], *generation = &row->figures[BENCH_GENERATION];
    json_put_begin(w, '{');
    json_member_whole(w, "schema", SCHEMA);
    json_member_string(w, "runnel", rn_version());
    json_member_string(w, "commit", *runnel_commit ? runnel_commit : NULL);
    json_put_key(w, "machine");
    bench_machine_put(m, w);
    json_member_string(w, "model", row->model);
    json_member_string(w, "architecture", row->architecture);
    json_member_string(w, "type", row->type);
    json_member_whole(w, "model_bytes", (int64_t)row->model_bytes);
    json_member_whole(w, "parameters", (int64_t)row->n_params);
    json_member_string(w, "cpu", row->cpu);
    json_member_string(w, "arithmetic", row->arithmetic);
    json_member_whole(w, "threads", row->n_threads);
    json_member_string(w, "kv_type", row->kv_type);
    json_member_whole(w, "depth", row->c.depth);
    json_member_whole(w, "batch", row->c.n_batch);
    json_member_whole(w, "n_prompt", row->c.n_prompt);
    json_member_whole(w, "n_gen", row->c.n_gen);
    json_member_whole(w, "repeats", row->c.n_repeats);
    put_real(w, "prefill_tok_s", measured(prompt, prompt->median));
    put_real(w, "decode_tok_s", measured(generation, generation->median));
    put_real(w, "ttft_ms", measured(prompt, prompt->first_ms));
    put_real(w, "read_gb_s", measured(generation, generation->read_bytes_s / 1e9));
    put_real(w, "peak_rss_mb", row->peak_mb);
    memory_put(w, &row->memory);
    put_limits(w, &row->limits);
    json_member_begin(w, "results", '[');
    for (bench_kind k = 0; k < BENCH_N_KINDS; k++)
        if (row->figures[k].n_values) put_figure(w, row, k);
    json_put_end(w, ']');
    json_put_end(w, '}');
}

void bench_print_json(const bench_row *rows, size_t n, const bench_machine *m, bytes *to) {
    json_writer w = {to, false};
    json_put_begin(&w, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) bytes_add_text(to, ",\n"), w.needs_comma = false;
        put_row(&w, &rows[i], m);
    }
    json_put_end(&w, ']');
    bytes_add_text(to, "\n");
}
