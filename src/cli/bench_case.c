// cli/bench_case.c - prompts by arithmetic, times from the stream's last chunk.
#include "cli/bench_case.h"
#include "app/say.h"
#include "cli/interrupt.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOK_NS = 50000000, MAX_REPEATS = 100 };

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

// A prompt and the one token it gives. A generation begins with one prompt token; its first token is not timed,
// nor is the last one evaluated.
int32_t bench_case_positions(const bench_case *c) {
    return c->depth + larger(c->n_prompt ? c->n_prompt + 1 : 0, c->n_gen ? c->n_gen + 2 : 0);
}

bool bench_case_cut(bench_case *c, int32_t n_ctx) {
    const int32_t room = n_ctx - c->depth;
    if (c->n_prompt > room - 1) c->n_prompt = room - 1;
    if (c->n_gen > room - 2) c->n_gen = room - 2;
    return room > 2;
}

// Ids that look like text to nobody and are the same on every machine; those of another run differ from the
// first on, so that no prefix of one serves the other. Steps of Knuth's MMIX generator.
static void fill_ids(int32_t *ids, int32_t n, int32_t n_vocab, uint64_t run) {
    uint64_t x = run + 1;
    for (int32_t i = 0; i < n; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ids[i] = (int32_t)((x >> 33) % (uint64_t)n_vocab);
    }
}

static rn_status run_stream(rn_engine *engine, rn_session *session, const int32_t *ids, int32_t n_ids, int32_t n_gen,
                            rn_chunk *last, rn_error *err) {
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = (size_t)n_ids};
    rn_stream *stream = NULL;
    rn_request req;
    rn_request_init(&req);
    req.session = session;
    req.parts = &part;
    req.n_parts = 1;
    req.add_special = false;
    req.max_tokens = n_gen;
    req.sampling.temp = 0;
    req.ignore_eos = true;
    req.has_seed = true;
    rn_status st = rn_stream_begin(engine, &req, &stream, err);
    while (st == RN_OK) {
        st = rn_stream_next(stream, LOOK_NS, last, err);
        if (st == RN_E_AGAIN)
            st = RN_OK;
        else if (st == RN_OK && last->finish_reason != RN_FINISH_NONE)
            break;
        if (interrupt_came()) rn_stream_cancel(stream);
    }
    if (st == RN_OK && (last->finish_reason == RN_FINISH_ERROR || last->finish_reason == RN_FINISH_CANCELLED)) {
        st = last->finish_reason == RN_FINISH_ERROR ? RN_E_INTERNAL : RN_E_CANCELLED;
        err->code = st;
        snprintf(err->text, sizeof err->text, "bench: %s", last->finish_detail);
    }
    last->finish_detail = NULL, last->text = NULL, last->tokens = NULL; // end with the stream
    rn_stream_close(stream);
    return st;
}

// One measured stream behind `depth` tokens.
static rn_status run_at_depth(rn_engine *engine, int32_t *ids, int32_t n_vocab, const bench_case *c, int32_t n_ids,
                              int32_t n_gen, uint64_t run, rn_chunk *last, rn_error *err) {
    rn_session *session = NULL;
    rn_status st = RN_OK;
    fill_ids(ids, c->depth + n_ids, n_vocab, run);
    if (c->depth) {
        st = rn_session_open(engine, 0, &session, err);
        if (st == RN_OK) st = run_stream(engine, session, ids, c->depth, 1, last, err);
        if (st == RN_OK) st = rn_session_truncate(session, (size_t)c->depth, err);
    }
    if (st == RN_OK) st = run_stream(engine, session, ids + c->depth, n_ids, n_gen, last, err);
    rn_session_close(session);
    return st;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int32_t n) {
    qsort(v, (size_t)n, sizeof *v, by_size);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

rn_status bench_case_run(rn_engine *engine, int32_t n_vocab, const bench_case *c, bench_result *result,
                         rn_error *err) {
    double prefill[MAX_REPEATS], first[MAX_REPEATS], decode[MAX_REPEATS];
    int32_t *ids = app_alloc((size_t)(c->depth + c->n_prompt + 1) * sizeof *ids);
    rn_status st = RN_OK;
    *result = (bench_result){NAN, NAN, NAN};
    for (int32_t r = -1; r < c->n_repeats && st == RN_OK;
         r++) { // run -1 touches pages and caches, and is not counted
        rn_chunk last = {0};
        const int32_t at = r < 0 ? 0 : r;
        if (c->n_prompt) {
            st = run_at_depth(engine, ids, n_vocab, c, c->n_prompt, 1, 2 * (uint64_t)(r + 1), &last, err);
            prefill[at] =
                (double)(last.usage.prompt_tokens - last.usage.cached_tokens) * 1000 / last.timing.prefill_ms;
            first[at] = last.timing.first_token_ms;
        }
        if (c->n_gen && st == RN_OK) {
            st = run_at_depth(engine, ids, n_vocab, c, 1, c->n_gen + 1, 2 * (uint64_t)(r + 1) + 1, &last, err);
            decode[at] = (double)(last.usage.completion_tokens - 1) * 1000 / last.timing.decode_ms;
        }
    }
    if (st == RN_OK && c->n_prompt) {
        result->prefill_tok_s = median(prefill, c->n_repeats);
        result->ttft_ms = median(first, c->n_repeats);
    }
    if (st == RN_OK && c->n_gen) result->decode_tok_s = median(decode, c->n_repeats);
    free(ids);
    return st;
}
