// tests/convert/imatrix_test.c - rn_observe() and rn_imatrix(): what matrices are multiplied with, summed, written, read and used.
#include "base/mem.h"
#include "convert/imatrix_file.h"
#include "formats/gguf/gguf.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/left_behind.h"
#include "tests/support/tiny_model.h"
#include <math.h>
#include <runnel/runnel.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *at(const char *name) {
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir(), name);
    return path;
}

// An engine on a tiny model; close with machine_free().
struct machine {
    rn_model *model;
    rn_engine *engine;
};
static bool machine_open(struct machine *m, int n_threads, int n_batch) {
    const struct tiny_model tiny = tiny_model_default();
    rn_engine_options o;
    rn_error err = {0};
    *m = (struct machine){0};
    rn_engine_options_init(&o);
    o.n_threads = n_threads;
    o.n_batch = n_batch;
    o.kv_type = RN_KV_F32;
    return CHECK(tiny_model_write(&tiny, at("tiny.gguf"))) &&
           CHECK_OK(rn_model_open(at("tiny.gguf"), NULL, &m->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&m->model, 1, &o, &m->engine, &err), &err);
}
static void machine_free(struct machine *m) {
    rn_engine_close(m->engine);
    rn_model_close(m->model);
}

static const int32_t ids[] = {116, 104, 101, 32,  99,  97, 116, 44, 32,  97, 110,
                              100, 10,  104, 105, 115, 32, 104, 97, 116, 7};
enum { N_IDS = sizeof ids / sizeof *ids };

// ---- rn_observe() ---------------------------------------------------------------------------------------------------

// Everything that was shown, one after the other.
struct shown {
    size_t n_calls, stop_after;
    int32_t matrix[4096];
    const char *name[4096];
    size_t k[4096];
    float first[4096];
    double sum;
};
static bool take(void *user, const rn_input *in) {
    struct shown *s = user;
    if (s->n_calls < 4096) {
        s->matrix[s->n_calls] = in->matrix;
        s->name[s->n_calls] = in->name;
        s->k[s->n_calls] = in->k;
        s->first[s->n_calls] = in->x[0];
    }
    for (size_t i = 0; i < in->k; i++) s->sum += (double)in->x[i] * (double)in->x[i];
    return ++s->n_calls == s->stop_after;
}

TEST(every_matrix_of_every_layer_is_shown_row_by_row) {
    static const char *const order[] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                        "ffn_gate", "ffn_up", "ffn_down"};
    struct machine m;
    rn_error err = {0};
    struct shown *s = calloc(1, sizeof *s);
    if (!machine_open(&m, 1, 0) || !CHECK_OK(rn_observe(m.engine, 0, ids, N_IDS, take, s, &err), &err)) return;
    CHECK_INT(s->n_calls, 2 * 7 * N_IDS);
    for (size_t i = 0; i < s->n_calls; i++) {
        char want[64];
        snprintf(want, sizeof want, "blk.%zu.%s.weight", i / N_IDS / 7, order[i / N_IDS % 7]);
        CHECK_STR(s->name[i], want);
        CHECK_INT(s->k[i], i / N_IDS % 7 == 6 ? 96 : 64);
        CHECK_INT(s->matrix[i], s->matrix[i / N_IDS * N_IDS]);
        if (i / N_IDS % 7 == 1) CHECK(s->first[i] == s->first[i - N_IDS]); // q, k and v have one input
    }
    machine_free(&m);
    free(s);
}

// The first input by its formula: the token's embedding, divided by its root mean square, times the norm's weights.
static float first_input(const package *p, int32_t token, size_t i) {
    const float *e = (const float *)(const void *)(package_tensor(p, "token_embd.weight")->data +
                                                   (size_t)token * package_tensor(p, "token_embd.weight")->row_bytes);
    double sum = 0;
    for (size_t k = 0; k < 64; k++) sum += (double)e[k] * (double)e[k];
    const float *w = (const float *)(const void *)package_tensor(p, "blk.0.attn_norm.weight")->data;
    return (float)((double)e[i] / sqrt(sum / 64 + 1e-5) * (double)w[i]);
}

TEST(the_first_matrix_sees_the_normed_embedding) {
    struct machine m;
    rn_error err = {0};
    package *p = NULL;
    struct shown *s = calloc(1, sizeof *s);
    if (!machine_open(&m, 1, 0) || !CHECK_OK(rn_observe(m.engine, 0, ids, N_IDS, take, s, &err), &err) ||
        !CHECK_OK(package_open(at("tiny.gguf"), NULL, &p, &err), &err))
        return;
    for (size_t r = 0; r < N_IDS; r++) {
        const float want = first_input(p, ids[r], 0);
        CHECK(fabsf(s->first[r] - want) <= 1e-5f * fabsf(want));
    }
    package_close(p);
    machine_free(&m);
    free(s);
}

TEST(what_is_shown_depends_neither_on_threads_nor_on_steps) {
    static const struct {
        int n_threads, n_batch;
    } rows[] = {{1, 0}, {2, 0}, {3, 0}, {1, 4}, {3, 5}};
    double want = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct machine m;
        rn_error err = {0};
        struct shown *s = calloc(1, sizeof *s);
        check_note("%d threads, steps of %d", rows[i].n_threads, rows[i].n_batch);
        if (machine_open(&m, rows[i].n_threads, rows[i].n_batch) &&
            CHECK_OK(rn_observe(m.engine, 0, ids, N_IDS, take, s, &err), &err)) {
            CHECK_INT(s->n_calls, 2 * 7 * N_IDS);
            if (i == 0) want = s->sum;
            if (rows[i].n_batch == 0) CHECK(s->sum == want); // added in one order
            CHECK(fabs(s->sum - want) <= 1e-9 * want);
        }
        machine_free(&m);
        free(s);
    }
}

TEST(observing_leaves_the_text_as_it_is_and_the_engine_ready) {
    struct machine m;
    rn_error err = {0};
    struct shown *s = calloc(1, sizeof *s);
    if (!machine_open(&m, 2, 0)) return;
    for (int round = 0; round < 3; round++) {
        rn_engine_stats stats = {.struct_size = sizeof stats};
        CHECK_OK(rn_observe(m.engine, 0, ids, N_IDS, take, s, &err), &err);
        rn_engine_get_stats(m.engine, &stats, NULL);
        CHECK_INT(stats.kv_pages_free + stats.kv_pages_cached, stats.kv_pages);
    }
    machine_free(&m);
    free(s);
}

static bool no_row(void *user, size_t i, const float *logits, int32_t n_vocab) {
    (void)user, (void)i, (void)logits, (void)n_vocab;
    return false;
}
TEST(observing_can_be_stopped_and_wrong_arguments_are_refused) {
    struct machine m;
    rn_error err = {0};
    struct shown *s = calloc(1, sizeof *s);
    int32_t many[129] = {0}, bad[] = {5, 300};
    if (!machine_open(&m, 1, 4)) return;
    s->stop_after = 3;
    CHECK_FAILS(rn_observe(m.engine, 0, ids, N_IDS, take, s, &err), RN_E_CANCELLED, &err);
    CHECK_INT(s->n_calls, 3); // and nothing is shown after it
    CHECK_FAILS(rn_observe(m.engine, 0, many, 129, take, s, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "129 tokens are longer than the context of 128");
    CHECK_FAILS(rn_observe(m.engine, 0, bad, 2, take, s, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "token 300 is outside 0..299");
    CHECK_FAILS(rn_observe(m.engine, 1, ids, 1, take, s, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_observe(m.engine, 0, ids, 0, take, s, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_observe(m.engine, 0, NULL, 1, take, s, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_observe(m.engine, 0, ids, 1, NULL, s, &err), RN_E_ARG, &err);
    CHECK_OK(rn_score(m.engine, 0, ids, N_IDS, no_row, NULL, &err), &err); // no collector is left on
    CHECK_INT(s->n_calls, 3);
    machine_free(&m);
    free(s);
}

// ---- rn_imatrix() ---------------------------------------------------------------------------------------------------

static rn_imatrix_options measure_options(int32_t n_chunk, int32_t begin_token) {
    rn_imatrix_options o;
    rn_imatrix_options_init(&o);
    o.n_chunk = n_chunk;
    o.begin_token = begin_token;
    o.dataset = "some.txt";
    return o;
}

TEST(the_file_holds_the_sums_of_squares_and_the_rows_that_were_counted) {
    struct machine m;
    rn_error err = {0};
    struct gguf g = {0};
    struct imatrix im = {0};
    package *p = NULL;
    size_t n;
    const rn_imatrix_options o = measure_options(0, -1);
    if (!machine_open(&m, 1, 0) || !CHECK_OK(rn_imatrix(m.engine, 0, ids, N_IDS, at("im.gguf"), &o, &err), &err))
        return;
    uint8_t *bytes = read_file(at("im.gguf"), &n);
    if (!CHECK_OK(gguf_read(&g, bytes, n, &err), &err) || !CHECK_OK(imatrix_load(&im, at("im.gguf"), &err), &err) ||
        !CHECK_OK(package_open(at("tiny.gguf"), NULL, &p, &err), &err))
        return;
    CHECK_INT(g.n_tensors, 2 * 2 * 7);
    CHECK_MEM(gguf_find(&g, "general.type")->value, "imatrix", 7);
    CHECK_INT(gguf_find(&g, "imatrix.datasets")->n, 1);
    CHECK_INT(gguf_load_u32(gguf_find(&g, "imatrix.chunk_count")->value), 1);
    CHECK_INT(gguf_load_u32(gguf_find(&g, "imatrix.chunk_size")->value), 128);
    CHECK_INT(im.n_entries, 14);
    const struct imatrix_entry *q = imatrix_find(&im, "blk.0.attn_q.weight");
    CHECK(q && q->k == 64 && q->n == 1 && imatrix_find(&im, "token_embd.weight") == NULL);
    for (size_t i = 0; q && i < 64; i += 21) {
        double sum = 0;
        for (size_t r = 0; r < N_IDS; r++) sum += pow((double)first_input(p, ids[r], i), 2);
        CHECK(fabs((double)q->mean[i] - sum / N_IDS) <= 1e-4 * sum / N_IDS);
    }
    package_close(p);
    imatrix_free(&im);
    gguf_free(&g);
    free(bytes);
    machine_free(&m);
}

TEST(the_same_file_is_written_for_every_number_of_threads) {
    uint8_t *first = NULL;
    size_t n_first = 0;
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        struct machine m;
        rn_error err = {0};
        size_t n;
        const rn_imatrix_options o = measure_options(8, 256);
        if (!machine_open(&m, n_threads, 0)) return;
        CHECK_OK(rn_imatrix(m.engine, 0, ids, N_IDS, at("threads.gguf"), &o, &err), &err);
        machine_free(&m);
        uint8_t *bytes = read_file(at("threads.gguf"), &n);
        if (!first) {
            first = bytes, n_first = n;
            continue;
        }
        CHECK_INT(n, n_first);
        CHECK_MEM(bytes, first, n);
        free(bytes);
    }
    free(first);
}

static float count_of(const char *path) {
    struct gguf g = {0};
    rn_error err = {0};
    size_t n;
    uint8_t *bytes = read_file(path, &n);
    float count = -1;
    if (CHECK_OK(gguf_read(&g, bytes, n, &err), &err))
        for (size_t i = 0; i < g.n_tensors; i++)
            if (memcmp(g.records[i].name, "blk.0.attn_q.weight.counts", 26) == 0)
                memcpy(&count, bytes + g.data_start + g.records[i].offset, 4);
    gguf_free(&g);
    free(bytes);
    return count;
}

TEST(chunks_begin_with_the_begin_token_which_is_not_doubled) {
    static const struct {
        int32_t n_chunk, begin, first;
        float want;
    } rows[] = {
        {0, -1, 116, N_IDS},      {8, -1, 116, N_IDS},      // 21 tokens, in chunks of 8, 8 and 5
        {0, 256, 116, N_IDS + 1}, {8, 256, 116, N_IDS + 3}, // 7, 7 and 7 of them
        {8, 256, 256, N_IDS + 2},                           // 8, 7 and 6: the first chunk has its own
        {2, 256, 116, 2 * N_IDS}, {N_IDS, -1, 116, N_IDS},
    };
    struct machine m;
    int32_t text[N_IDS];
    memcpy(text, ids, sizeof ids);
    if (!machine_open(&m, 1, 0)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        const rn_imatrix_options o = measure_options(rows[i].n_chunk, rows[i].begin);
        text[0] = rows[i].first;
        check_note("chunks of %d, begin %d, first %d", rows[i].n_chunk, rows[i].begin, rows[i].first);
        CHECK_OK(rn_imatrix(m.engine, 0, text, N_IDS, at("chunks.gguf"), &o, &err), &err);
        CHECK_INT(count_of(at("chunks.gguf")), rows[i].want);
    }
    machine_free(&m);
}

static bool stop_at_once(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    (void)user, (void)total;
    CHECK_INT(phase, RN_PHASE_PREFILL);
    return done > 4;
}
TEST(wrong_measurements_are_refused_and_leave_nothing) {
    struct machine m;
    rn_error err = {0};
    rn_imatrix_options o = measure_options(0, -1);
    if (!machine_open(&m, 1, 0)) return;
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, 0, at("no.gguf"), &o, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, NULL, &o, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_imatrix(NULL, 0, ids, N_IDS, at("no.gguf"), &o, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_imatrix(m.engine, 3, ids, N_IDS, at("no.gguf"), &o, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, "/nowhere/no.gguf", &o, &err), RN_E_IO, &err);
    o.n_chunk = 129;
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, at("no.gguf"), &o, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "n_chunk: 129 is outside 2..128");
    o.n_chunk = 1;
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, at("no.gguf"), &o, &err), RN_E_ARG, &err);
    o = measure_options(4, 4096);
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, at("no.gguf"), &o, &err), RN_E_ARG, &err);
    o = measure_options(4, -1);
    o.progress = stop_at_once;
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, at("no.gguf"), &o, &err), RN_E_CANCELLED, &err);
    o.struct_size = 1;
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, at("no.gguf"), &o, &err), RN_E_ARG, &err);
    CHECK_INT(n_files_in(temp_dir(), "no.gguf"), 0);
    machine_free(&m);
}

static rn_status measure_once(void *engine) {
    const rn_imatrix_options o = measure_options(8, -1);
    return rn_imatrix(engine, 0, ids, N_IDS, at("nomem.gguf"), &o, NULL);
}
TEST(each_failed_allocation_of_a_measurement_is_reported) {
    struct machine m;
    if (!machine_open(&m, 1, 0)) return;
    CHECK(check_each_failed_allocation(measure_once, m.engine, __FILE__, __LINE__));
    CHECK_INT(n_files_in(temp_dir(), "nomem"), 1);
    machine_free(&m);
}

static bool shrink_model(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    (void)phase, (void)done, (void)total;
    CHECK(truncate(user, 4096) == 0);
    return false;
}
TEST(a_model_that_shrinks_while_it_is_measured_is_noticed_and_leaves_nothing) {
    struct machine m;
    rn_error err = {0};
    char path[512];
    rn_imatrix_options o = measure_options(4, -1);
    if (!machine_open(&m, 1, 0)) return;
    snprintf(path, sizeof path, "%s", at("tiny.gguf"));
    o.progress = shrink_model, o.progress_user = path;
    CHECK_FAILS(rn_imatrix(m.engine, 0, ids, N_IDS, at("shrunk.gguf"), &o, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "tiny.gguf: shrank from ");
    CHECK_INT(n_files_in(temp_dir(), "shrunk"), 0);
    machine_free(&m);
}

// ---- files ----------------------------------------------------------------------------------------------------------

static const float one_count[] = {2}, two_counts[] = {2, 4}, sums[] = {2, 4, 6, 8}, bad_sum[] = {2, -1, 6, 8},
                   nan_sum[] = {2, 4, NAN, 8}, zero_count[] = {0}, bad_count[] = {-1};

static void put_pair_of(struct gguf_builder *b, const char *name, uint64_t n, const float *s, uint64_t n_counts,
                        const float *c) {
    char full[64];
    snprintf(full, sizeof full, "%s.in_sum2", name);
    gb_tensor(b, full, 0, 2, (uint64_t[]){4 / n, n}, s, 16);
    snprintf(full, sizeof full, "%s.counts", name);
    gb_tensor(b, full, 0, 2, (uint64_t[]){1, n_counts}, c, 4 * n_counts);
}
static void sound(struct gguf_builder *b) { put_pair_of(b, "m", 1, sums, 1, one_count); }
static void of_experts(struct gguf_builder *b) { put_pair_of(b, "m", 2, sums, 2, two_counts); }
static void shared_count(struct gguf_builder *b) { put_pair_of(b, "m", 2, sums, 1, one_count); }
static void never_seen(struct gguf_builder *b) { put_pair_of(b, "m", 1, sums, 1, zero_count); }
static void negative_sum(struct gguf_builder *b) { put_pair_of(b, "m", 1, bad_sum, 1, one_count); }
static void not_finite(struct gguf_builder *b) { put_pair_of(b, "m", 1, nan_sum, 1, one_count); }
static void negative_count(struct gguf_builder *b) { put_pair_of(b, "m", 1, sums, 1, bad_count); }
static void tiny_count(struct gguf_builder *b) { put_pair_of(b, "m", 1, sums, 1, (float[]){1e-40f}); }
static void mean_at_limit(struct gguf_builder *b) { put_pair_of(b, "m", 1, (float[]){1, 2, 3, 2e20f}, 1, one_count); }
static void mean_over_limit(struct gguf_builder *b) {
    put_pair_of(b, "m", 1, (float[]){1, 2, 3, 2.1e20f}, 1, one_count);
}
static void too_many_counts(struct gguf_builder *b) { put_pair_of(b, "m", 1, sums, 2, two_counts); }
static void no_counts(struct gguf_builder *b) { gb_tensor(b, "m.in_sum2", 0, 1, (uint64_t[]){4}, sums, 16); }
static void only_counts(struct gguf_builder *b) { gb_tensor(b, "m.counts", 0, 1, (uint64_t[]){1}, one_count, 4); }
static void of_halves(struct gguf_builder *b) {
    gb_tensor(b, "m.in_sum2", 1, 1, (uint64_t[]){8}, sums, 16);
    gb_tensor(b, "m.counts", 0, 1, (uint64_t[]){1}, one_count, 4);
}
static void past_the_end(struct gguf_builder *b) {
    gb_tensor(b, "m.counts", 0, 1, (uint64_t[]){1}, one_count, 4);
    gb_tensor_at(b, "m.in_sum2", 0, 1, (uint64_t[]){4}, 1 << 20);
}
static void too_large(struct gguf_builder *b) {
    gb_tensor(b, "m.counts", 0, 1, (uint64_t[]){1}, one_count, 4);
    gb_tensor_at(b, "m.in_sum2", 0, 2, (uint64_t[]){(uint64_t)1 << 40, (uint64_t)1 << 40}, 0);
}
static void no_elements(struct gguf_builder *b) {
    gb_tensor(b, "m.counts", 0, 1, (uint64_t[]){1}, one_count, 4);
    gb_tensor_at(b, "m.in_sum2", 0, 2, (uint64_t[]){4, 0}, 0);
}
static void twice(struct gguf_builder *b) {
    sound(b);
    sound(b);
}

TEST(importance_matrices_are_read_or_refused_by_what_is_wrong) {
    static const struct {
        const char *why;
        void (*put)(struct gguf_builder *b);
        const char *want; // NULL: it is read
        float first, last;
    } rows[] = {
        {"one matrix", sound, NULL, 1, 4},
        {"two experts, a count each", of_experts, NULL, 1, 2},
        {"two experts, one count", shared_count, NULL, 1, 4},
        {"nothing was counted", never_seen, NULL, 1, 1},
        {"a negative sum", negative_sum, "tensor m.in_sum2: sum 1 is -1, must be 0 or more", 0, 0},
        {"a sum that is not finite", not_finite, "tensor m.in_sum2: sum 2 is nan", 0, 0},
        {"a negative count", negative_count, "tensor m.in_sum2: count 0 is -1", 0, 0},
        {"a count so small that the mean is none", tiny_count, "tensor m.in_sum2: mean 0 is inf, limit 1e+20", 0, 0},
        {"a mean at the limit", mean_at_limit, NULL, 0.5f, 1e20f},
        {"a mean over the limit", mean_over_limit, "tensor m.in_sum2: mean 3 is 1.05e+20, limit 1e+20", 0, 0},
        {"more counts than matrices", too_many_counts, "tensor m.counts: 1 x 2 counts for 1 matrices", 0, 0},
        {"no counts", no_counts, "tensor m.in_sum2: its counts is missing", 0, 0},
        {"no sums", only_counts, "not an importance matrix: no tensor's name ends in .in_sum2", 0, 0},
        {"F16", of_halves, "tensor m.in_sum2: is not F32", 0, 0},
        {"past the end", past_the_end, "tensor m.in_sum2: does not lie inside the file", 0, 0},
        {"2^80 numbers", too_large, "tensor m.in_sum2: does not lie inside the file", 0, 0},
        {"no numbers", no_elements, "tensor m.in_sum2: does not lie inside the file", 0, 0},
        {"named twice", twice, "tensor m.in_sum2: is in the file twice", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gguf_builder b;
        struct imatrix im = {0};
        rn_error err = {0};
        size_t n;
        gb_begin(&b, 3);
        gb_str(&b, "general.type", "imatrix");
        rows[i].put(&b);
        uint8_t *file = gb_finish(&b, &n);
        write_file(at("given.gguf"), file, n);
        free(file);
        const long live = mem_live();
        check_note("%s", rows[i].why);
        const rn_status st = imatrix_load(&im, at("given.gguf"), &err);
        if (rows[i].want) {
            CHECK_FAILS(st, RN_E_FORMAT, &err);
            CHECK_HAS(err.text, rows[i].want);
            CHECK_HAS(err.text, "given.gguf: ");
        } else if (CHECK_OK(st, &err)) {
            const struct imatrix_entry *e = imatrix_find(&im, "m");
            CHECK(e && e->mean[0] == rows[i].first && e->mean[3] == rows[i].last);
        }
        imatrix_free(&im);
        CHECK_INT(mem_live(), live);
    }
}

TEST(what_is_no_importance_matrix_is_refused) {
    struct imatrix im = {0};
    rn_error err = {0};
    write_file(at("text"), "hello there", 11);
    CHECK_FAILS(imatrix_load(&im, at("text"), &err), RN_E_FORMAT, &err);
    CHECK_HAS(err.text, "not an importance matrix in GGUF form");
    imatrix_free(&im);
    CHECK_FAILS(imatrix_load(&im, "/nowhere/im.gguf", &err), RN_E_IO, &err);
    imatrix_free(&im);
}

TEST(an_importance_matrix_cut_at_any_byte_is_refused) {
    struct gguf_builder b;
    size_t n;
    gb_begin(&b, 3);
    sound(&b);
    uint8_t *file = gb_finish(&b, &n);
    for (size_t cut = 0; cut < n; cut++) {
        struct imatrix im = {0};
        rn_error err = {0};
        write_file(at("cut.gguf"), file, cut);
        check_note("cut at byte %zu of %zu", cut, n);
        CHECK_FAILS(imatrix_load(&im, at("cut.gguf"), &err), RN_E_FORMAT, &err);
        imatrix_free(&im);
    }
    free(file);
}

// ---- use ------------------------------------------------------------------------------------------------------------

static rn_status quantize(const char *in, const char *out, const char *imatrix, rn_error *err) {
    rn_quantize_options o;
    rn_quantize_options_init(&o);
    o.type = "Q4_0";
    o.imatrix = imatrix;
    o.n_threads = 2;
    return rn_quantize(in, out, &o, err);
}

// Sum over the columns of importance * squared error.
static double weighted_error(const package *p, const package *original, const char *name,
                             const struct imatrix_entry *e) {
    const struct tensor_view *x = package_tensor(original, name), *y = package_tensor(p, name);
    double sum = 0;
    float a[96], b[96];
    for (size_t r = 0; r < x->ne[1]; r++) {
        tensor_type_info(x->type)->dequantize_row(x->data + r * x->row_bytes, a, x->ne[0]);
        tensor_type_info(y->type)->dequantize_row(y->data + r * y->row_bytes, b, y->ne[0]);
        for (size_t i = 0; i < x->ne[0]; i++) sum += (double)e->mean[i] * pow((double)a[i] - (double)b[i], 2);
    }
    return sum;
}

TEST(with_an_importance_matrix_the_columns_that_matter_are_nearer) {
    struct machine m;
    rn_error err = {0};
    struct imatrix im = {0};
    package *original = NULL, *blind = NULL, *guided = NULL;
    const rn_imatrix_options o = measure_options(0, -1);
    if (!machine_open(&m, 1, 0) || !CHECK_OK(rn_imatrix(m.engine, 0, ids, N_IDS, at("use.gguf"), &o, &err), &err) ||
        !CHECK_OK(imatrix_load(&im, at("use.gguf"), &err), &err) ||
        !CHECK_OK(quantize(at("tiny.gguf"), at("blind.gguf"), NULL, &err), &err) ||
        !CHECK_OK(quantize(at("tiny.gguf"), at("guided.gguf"), at("use.gguf"), &err), &err) ||
        !CHECK_OK(package_open(at("tiny.gguf"), NULL, &original, &err), &err) ||
        !CHECK_OK(package_open(at("blind.gguf"), NULL, &blind, &err), &err) ||
        !CHECK_OK(package_open(at("guided.gguf"), NULL, &guided, &err), &err))
        return;
    for (size_t i = 0; i < im.n_entries; i++) {
        char name[64] = "";
        memcpy(name, im.entries[i].name, im.entries[i].n_name);
        check_note("%s", name);
        CHECK(weighted_error(guided, original, name, &im.entries[i]) <
              weighted_error(blind, original, name, &im.entries[i]));
    }
    package_close(original);
    package_close(blind);
    package_close(guided);
    imatrix_free(&im);
    machine_free(&m);
}

static rn_status quantize_guided(void *user) {
    static const rn_type_rule keep = {"*ffn_down*", "Q8_0"};
    rn_quantize_options o;
    rn_quantize_options_init(&o);
    o.type = "Q4_0";
    o.imatrix = user;
    o.keep = &keep, o.n_keep = 1;
    o.n_threads = 1;
    return rn_quantize(at("tiny.gguf"), at("guided-nomem.gguf"), &o, NULL);
}
TEST(each_failed_allocation_of_quantizing_by_an_importance_matrix_is_reported) {
    struct machine m;
    rn_error err = {0};
    char imatrix[512];
    const rn_imatrix_options o = measure_options(0, -1);
    snprintf(imatrix, sizeof imatrix, "%s", at("nomem-im.gguf"));
    if (!machine_open(&m, 1, 0) || !CHECK_OK(rn_imatrix(m.engine, 0, ids, N_IDS, imatrix, &o, &err), &err)) return;
    CHECK(check_each_failed_allocation(quantize_guided, imatrix, __FILE__, __LINE__));
    CHECK_INT(n_files_in(temp_dir(), "guided-nomem"), 1);
    machine_free(&m);
}

TEST(an_importance_matrix_of_another_model_is_refused) {
    const struct tiny_model tiny = tiny_model_default();
    static const struct {
        const char *name, *text;
    } rows[] = {{"blk.0.attn_q.weight", "blk.0.attn_q.weight has 4 x 1 columns there and 64 x 1 in the model"},
                {"blk.9.attn_q.weight", "imatrix: it knows no matrix of this model"}};
    tiny_model_write(&tiny, at("tiny.gguf"));
    for (size_t i = 0; i < 2; i++) {
        struct gguf_builder b;
        rn_error err = {0};
        size_t n;
        gb_begin(&b, 3);
        put_pair_of(&b, rows[i].name, 1, sums, 1, one_count);
        uint8_t *file = gb_finish(&b, &n);
        write_file(at("other.gguf"), file, n);
        free(file);
        CHECK_FAILS(quantize(at("tiny.gguf"), at("never.gguf"), at("other.gguf"), &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].text);
        CHECK_INT(n_files_in(temp_dir(), "never"), 0);
    }
}
