// tests/engine/embed_test.c - embeddings through the public API: the golden hidden state, pooling, equal bits in every case, what is refused,
// and a reranker's scores.
#include "base/mem.h"
#include "tests/engine/fixture.h"
#include "tests/support/npy.h"
#include "tests/support/tiny_model.h"
#include <math.h>

enum { N_IDS = 150, N_MAX = 4096 };

static rn_embed_options pooling(rn_pooling p, rn_normalize n) {
    rn_embed_options o;
    rn_embed_options_init(&o);
    o.pooling = p, o.normalize = n;
    return o;
}

static void fill_ids(int32_t *ids, int32_t n, int32_t n_vocab) {
    for (int32_t i = 0; i < n; i++) ids[i] = (i * 37 + 5) % n_vocab;
}

// Of the default model; n_embd: of a row.
static bool open_engine(struct fixture *f, rn_engine_options o, size_t *n_embd) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    o.n_ctx = o.n_ctx ? o.n_ctx : 256;
    if (!fixture_open(f, &o) || !CHECK_OK(rn_model_get_info(f->model, &info, &err), &err)) return false;
    *n_embd = (size_t)info.n_embd;
    return CHECK(*n_embd <= N_MAX);
}

static bool embed(rn_engine *e, const int32_t *ids, size_t n_ids, rn_pooling p, float *out, size_t n_out) {
    const rn_embed_options o = pooling(p, RN_NORMALIZE_OFF);
    rn_error err = {0};
    return CHECK_OK(rn_embed(e, 0, ids, n_ids, &o, out, n_out, &err), &err);
}

static bool open_file(struct fixture *f, const char *path, const rn_engine_options *o) {
    rn_error err = {0};
    *f = (struct fixture){0};
    return CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, o, &f->engine, &err), &err);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// p5.hidden.npy: [n_layer + 2][5][n_embd], its last layer after the final norm (transformers, float32).
TEST(rows_are_the_hidden_states_of_transformers_after_the_final_norm) {
    static const int32_t ids[] = {84, 257, 32, 113, 117}; // case p5 of cases.json
    struct fixture f = {0};
    struct npy want = {0};
    rn_engine_options o = engine_options();
    o.kv_type = RN_KV_F32;
    if (npy_read(tests_path("lm/small-llama/p5.hidden.npy"), &want) &&
        open_file(&f, tests_path("lm/small-llama/small-llama.gguf"), &o)) {
        const size_t n_embd = want.shape[2];
        const float *last = want.data + (want.shape[0] - 1) * 5 * n_embd;
        float *got = malloc(5 * n_embd * sizeof *got);
        double worst = 0, scale = 0;
        if (CHECK(got) && CHECK_INT(want.shape[1], 5) && embed(f.engine, ids, 5, RN_POOLING_NONE, got, 5 * n_embd)) {
            for (size_t i = 0; i < 5 * n_embd; i++) {
                worst = fmax(worst, fabs((double)got[i] - (double)last[i]));
                scale = fmax(scale, fabs((double)last[i]));
            }
            check_note("worst difference %.3g of numbers up to %.3g", worst, scale);
            CHECK(worst < 2e-5 * scale);
        }
        free(got);
    }
    npy_free(&want);
    fixture_close(&f);
}

TEST(pooled_rows_follow_from_the_rows_of_pooling_none_to_the_bit) {
    struct fixture f;
    size_t n;
    int32_t ids[N_IDS];
    if (open_engine(&f, engine_options(), &n)) {
        float *rows = malloc(N_IDS * n * sizeof *rows), *got = malloc(n * sizeof *got);
        fill_ids(ids, N_IDS, 4096);
        if (CHECK(rows && got) && embed(f.engine, ids, N_IDS, RN_POOLING_NONE, rows, N_IDS * n)) {
            if (embed(f.engine, ids, N_IDS, RN_POOLING_FIRST, got, n)) CHECK_MEM(got, rows, n * sizeof *got);
            if (embed(f.engine, ids, N_IDS, RN_POOLING_LAST, got, n))
                CHECK_MEM(got, rows + (N_IDS - 1) * n, n * sizeof *got);
            // twice: now the text's beginning is cached
            if (embed(f.engine, ids, N_IDS, RN_POOLING_LAST, got, n))
                CHECK_MEM(got, rows + (N_IDS - 1) * n, n * sizeof *got);
            for (size_t r = 1; r < N_IDS; r++)
                for (size_t k = 0; k < n; k++) rows[k] += rows[r * n + k];
            for (size_t k = 0; k < n; k++) rows[k] /= (float)N_IDS;
            if (embed(f.engine, ids, N_IDS, RN_POOLING_MEAN, got, n)) CHECK_MEM(got, rows, n * sizeof *got);
        }
        free(rows), free(got);
    }
    fixture_close(&f);
}

TEST(normalized_rows_have_length_1_and_the_same_direction) {
    struct fixture f;
    size_t n;
    int32_t ids[9];
    rn_error err = {0};
    if (open_engine(&f, engine_options(), &n)) {
        float *raw = malloc(n * sizeof *raw), *got = malloc(n * sizeof *got);
        double length = 0, sum = 0;
        fill_ids(ids, 9, 4096);
        if (CHECK(raw && got) && embed(f.engine, ids, 9, RN_POOLING_LAST, raw, n) &&
            CHECK_OK(rn_embed(f.engine, 0, ids, 9, NULL, got, n, &err), &err)) { // last and L2 are the defaults
            for (size_t k = 0; k < n; k++)
                length += (double)raw[k] * (double)raw[k], sum += (double)got[k] * (double)got[k];
            CHECK(fabs(sum - 1) < 1e-6);
            for (size_t k = 0; k < n; k++) CHECK(got[k] == (float)((double)raw[k] / sqrt(length)));
        }
        free(raw), free(got);
    }
    fixture_close(&f);
}

// ---- the same bits --------------------------------------------------------------------------------------------------

TEST(chunks_threads_and_mates_change_no_bit) {
    static const struct {
        const char *why;
        int32_t n_batch, n_threads;
        bool has_mates;
    } rows[] = {{"one step", 512, 1, false},   {"a row a step", 1, 1, false}, {"steps of 7", 7, 1, false},
                {"steps of 64", 64, 2, false}, {"mates", 512, 1, true},       {"mates, steps of 16", 16, 2, true}};
    int32_t ids[N_IDS];
    float *want[2] = {0}, *got = NULL;
    fill_ids(ids, N_IDS, 4096);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        rn_engine_options o = engine_options();
        size_t n;
        rn_error err = {0};
        o.n_batch = rows[i].n_batch, o.n_threads = rows[i].n_threads, o.n_streams = 4, o.n_ctx = 256;
        check_note("%s", rows[i].why);
        if (open_engine(&f, o, &n)) {
            rn_stream *mate[2] = {0};
            rn_request r = text_request("Once upon a time");
            rn_chunk c = new_chunk();
            const rn_embed_options mean = pooling(RN_POOLING_MEAN, RN_NORMALIZE_OFF);
            got = realloc(got, n * sizeof *got);
            if (rows[i].has_mates) { // one that generates and is generating, one that embeds
                CHECK_OK(rn_stream_begin(f.engine, &r, &mate[0], &err), &err);
                CHECK_OK(rn_stream_next(mate[0], -1, &c, &err), &err);
                CHECK_OK(rn_embed_begin(f.engine, 0, ids + 3, 100, &mean, &mate[1], &err), &err);
            }
            for (int p = 0; p < 2; p++) {
                if (!embed(f.engine, ids, N_IDS, p ? RN_POOLING_LAST : RN_POOLING_MEAN, got, n)) continue;
                if (!want[p] && (want[p] = malloc(n * sizeof *got))) memcpy(want[p], got, n * sizeof *got);
                CHECK_MEM(got, want[p], n * sizeof *got);
            }
            for (int k = 0; k < 2; k++) rn_stream_close(mate[k]);
        }
        fixture_close(&f);
    }
    free(want[0]), free(want[1]), free(got);
}

TEST(a_generation_beside_embeddings_says_what_it_says_alone) {
    struct fixture f;
    size_t n;
    rn_engine_options o = engine_options();
    int32_t ids[N_IDS];
    o.n_streams = 3, o.n_batch = 16;
    fill_ids(ids, N_IDS, 4096);
    if (open_engine(&f, o, &n)) {
        const rn_embed_options mean = pooling(RN_POOLING_MEAN, RN_NORMALIZE_DEFAULT);
        rn_request r = text_request("Once upon a time");
        struct outcome alone, beside = {0};
        rn_error err = {0};
        rn_stream *s[2] = {0}, *g = NULL;
        run_request(f.engine, &r, &alone);
        for (int i = 0; i < 2; i++) CHECK_OK(rn_embed_begin(f.engine, 0, ids + i, 140, &mean, &s[i], &err), &err);
        if (CHECK_OK(rn_stream_begin(f.engine, &r, &g, &err), &err) && drain(g, &beside))
            same_outcome(&beside, &alone);
        for (int i = 0; i < 2; i++) {
            rn_chunk c = new_chunk();
            if (!CHECK_OK(rn_stream_next(s[i], -1, &c, &err), &err)) continue;
            CHECK_INT(c.finish_reason, RN_FINISH_STOP);
            CHECK(c.embedding && c.n_embedding == n);
            CHECK_FAILS(rn_stream_next(s[i], -1, &c, &err), RN_E_END, &err);
        }
        for (int i = 0; i < 2; i++) rn_stream_close(s[i]);
        rn_stream_close(g);
    }
    fixture_close(&f);
}

TEST(embeddings_do_not_run_the_head) {
    static const rn_pooling kinds[] = {RN_POOLING_NONE, RN_POOLING_MEAN, RN_POOLING_FIRST, RN_POOLING_LAST};
    const char *path = temp_dir();
    char file[512];
    struct tiny_model m = tiny_model_default();
    struct fixture f = {0};
    const rn_engine_options o = engine_options();
    m.own_head = true;
    snprintf(file, sizeof file, "%s/head.gguf", path);
    if (CHECK(tiny_model_write(&m, file)) && open_file(&f, file, &o))
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            float out[20 * 64];
            int32_t ids[20];
            rn_profile *p = NULL;
            rn_error err = {0};
            bool has_head = false;
            check_note("%s", rn_pooling_name(kinds[i]));
            fill_ids(ids, 20, 300);
            CHECK_OK(rn_profile_begin(f.engine, 0, 0, &err), &err);
            embed(f.engine, ids, 20, kinds[i], out, kinds[i] == RN_POOLING_NONE ? 20 * 64 : 64);
            if (!CHECK_OK(rn_profile_end(f.engine, 0, &p, &err), &err)) break;
            for (size_t k = 0; k < p->n_ops; k++) {
                const bool is_head = p->ops[k]->matrix && strcmp(p->ops[k]->matrix, "output.weight") == 0 &&
                                     strcmp(p->ops[k]->kind, "linear") == 0;
                has_head |= is_head;
                if (is_head) CHECK(p->ops[k]->calls == 0 && p->ops[k]->bytes == 0);
                if (strcmp(p->ops[k]->kind, "embed") == 0) CHECK(p->ops[k]->calls > 0);
            }
            CHECK(has_head);
            rn_profile_free(p);
        }
    fixture_close(&f);
}

// ---- a reranker -----------------------------------------------------------------------------------------------------

enum { RANK_EMBD = 64, RANK_CLASSES = 2 };

// The default tiny model with a head of two scores, tensor data of a fixed pattern.
struct ranker {
    float hidden[RANK_EMBD * RANK_EMBD], hidden_bias[RANK_EMBD], out[RANK_EMBD * RANK_CLASSES],
        out_bias[RANK_CLASSES];
};

static void fill_pattern(float *x, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int32_t)(seed >> 16 & 255) - 128) / 1024.0f;
    }
}

static bool write_ranker(struct ranker *r, bool has_hidden, const char *path, int32_t pooling_type) {
    static const char *const labels[] = {"yes", "no"};
    const struct tiny_model m = tiny_model_default();
    struct gguf_builder b;
    size_t n;
    fill_pattern(r->hidden, RANK_EMBD * RANK_EMBD, 1), fill_pattern(r->hidden_bias, RANK_EMBD, 2);
    fill_pattern(r->out, RANK_EMBD * RANK_CLASSES, 3), fill_pattern(r->out_bias, RANK_CLASSES, 4);
    gb_begin(&b, 3);
    tiny_model_build(&m, &b);
    gb_str_array(&b, "llama.classifier.output_labels", labels, RANK_CLASSES);
    gb_i32(&b, "llama.pooling_type", pooling_type);
    if (has_hidden) {
        gb_tensor(&b, "cls.weight", 0, 2, (uint64_t[]){RANK_EMBD, RANK_EMBD}, r->hidden, sizeof r->hidden);
        gb_tensor(&b, "cls.bias", 0, 1, (uint64_t[]){RANK_EMBD}, r->hidden_bias, sizeof r->hidden_bias);
    }
    gb_tensor(&b, "cls.output.weight", 0, 2, (uint64_t[]){RANK_EMBD, RANK_CLASSES}, r->out, sizeof r->out);
    gb_tensor(&b, "cls.output.bias", 0, 1, (uint64_t[]){RANK_CLASSES}, r->out_bias, sizeof r->out_bias);
    uint8_t *bytes = gb_finish(&b, &n);
    const bool ok = CHECK(write_file(path, bytes, n));
    free(bytes);
    return ok;
}

static void expect_scores(const struct ranker *r, bool has_hidden, const float *x, double *scores) {
    double h[RANK_EMBD];
    for (int i = 0; i < RANK_EMBD; i++) {
        double sum = has_hidden ? (double)r->hidden_bias[i] : (double)x[i];
        for (int k = 0; has_hidden && k < RANK_EMBD; k++) sum += (double)r->hidden[i * RANK_EMBD + k] * (double)x[k];
        h[i] = has_hidden ? tanh(sum) : sum;
    }
    for (int c = 0; c < RANK_CLASSES; c++) {
        scores[c] = (double)r->out_bias[c];
        for (int k = 0; k < RANK_EMBD; k++) scores[c] += (double)r->out[c * RANK_EMBD + k] * h[k];
    }
}

TEST(a_rerankers_scores_are_its_heads_of_the_last_row) {
    static struct ranker r;
    char file[512];
    snprintf(file, sizeof file, "%s/rank.gguf", temp_dir());
    for (int has_hidden = 0; has_hidden < 2; has_hidden++) {
        struct fixture f = {0};
        const rn_engine_options o = engine_options();
        check_note("hidden layer: %d", has_hidden);
        if (write_ranker(&r, has_hidden, file, 4) && open_file(&f, file, &o)) {
            float last[RANK_EMBD], got[RANK_CLASSES];
            double want[RANK_CLASSES];
            int32_t ids[20];
            rn_error err = {0};
            rn_embed_shape shape = {.struct_size = sizeof shape};
            fill_ids(ids, 20, 300);
            CHECK_OK(rn_embed_get_shape(f.engine, 0, NULL, 20, &shape, &err), &err);
            CHECK(shape.pooling == RN_POOLING_RANK && !shape.is_normalized && shape.n_rows == 1); // as the file says
            CHECK_INT(shape.n_row, RANK_CLASSES);
            if (embed(f.engine, ids, 20, RN_POOLING_LAST, last, RANK_EMBD) &&
                CHECK_OK(rn_embed(f.engine, 0, ids, 20, NULL, got, RANK_CLASSES, &err), &err)) {
                expect_scores(&r, has_hidden, last, want);
                for (int c = 0; c < RANK_CLASSES; c++) {
                    check_note("score %d: got %.7g want %.7g", c, (double)got[c], want[c]);
                    CHECK(fabs((double)got[c] - want[c]) < 1e-5);
                }
            }
        }
        fixture_close(&f);
    }
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST(what_cannot_be_embedded_is_refused_with_its_figures) {
    static const struct {
        const char *why, *text;
        rn_status st;
        size_t model, n_ids, n_out;
        int32_t bad_id;
        rn_embed_options o;
    } rows[] = {
        {"too long",
         "ids: 65 tokens do not fit the context of 64",
         RN_E_LIMIT,
         0,
         65,
         0,
         0,
         {.pooling = RN_POOLING_LAST}},
        {"none", "ids: none given", RN_E_ARG, 0, 0, 0, 0, {.pooling = RN_POOLING_LAST}},
        {"an id below", "ids[3]: token -1 is outside 0..4095", RN_E_ARG, 0, 8, 0, -1, {.pooling = RN_POOLING_LAST}},
        {"an id above",
         "ids[3]: token 4096 is outside 0..4095",
         RN_E_ARG,
         0,
         8,
         0,
         4096,
         {.pooling = RN_POOLING_LAST}},
        {"no such model", "model: 1 is outside 0..0", RN_E_ARG, 1, 8, 0, 0, {.pooling = RN_POOLING_LAST}},
        {"no such pooling", "pooling: 6 is outside 0..5", RN_E_ARG, 0, 8, 0, 0, {.pooling = (rn_pooling)6}},
        {"no such length", "normalize: 3 is outside 0..2", RN_E_ARG, 0, 8, 0, 0, {.normalize = (rn_normalize)3}},
        {"no reranker",
         "has no reranker head (cls.output.weight)",
         RN_E_UNSUPPORTED,
         0,
         8,
         0,
         0,
         {.pooling = RN_POOLING_RANK}},
        {"too little room",
         "n_out: 3 floats, the embedding has ",
         RN_E_ARG,
         0,
         8,
         3,
         0,
         {.pooling = RN_POOLING_LAST}},
        {"too much room",
         "n_out: 100000 floats, the embedding has ",
         RN_E_ARG,
         0,
         8,
         100000,
         0,
         {.pooling = RN_POOLING_MEAN}},
    };
    struct fixture f;
    rn_engine_options o = engine_options();
    size_t n;
    static float out[100000];
    o.n_ctx = 64;
    if (open_engine(&f, o, &n))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            rn_error err = {0};
            int32_t ids[65];
            rn_embed_options opt = rows[i].o;
            rn_stream *s = (rn_stream *)(void *)out;
            opt.struct_size = sizeof opt;
            fill_ids(ids, 65, 4096);
            if (rows[i].bad_id) ids[3] = rows[i].bad_id;
            check_note("%s", rows[i].why);
            CHECK_FAILS(rn_embed(f.engine, rows[i].model, ids, rows[i].n_ids, &opt, out,
                                 rows[i].n_out ? rows[i].n_out : n, &err),
                        rows[i].st, &err);
            CHECK_HAS(err.text, rows[i].text);
            if (rows[i].n_out) continue;
            CHECK_FAILS(rn_embed_begin(f.engine, rows[i].model, ids, rows[i].n_ids, &opt, &s, &err), rows[i].st,
                        &err);
            CHECK(s == NULL);
        }
    rn_error err = {0};
    rn_embed_options unset = {0};
    int32_t ids[64];
    fill_ids(ids, 64, 4096);
    CHECK_FAILS(rn_embed(f.engine, 0, ids, 8, &unset, out, n, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "rn_embed_options_init()");
    CHECK_FAILS(rn_embed(f.engine, 0, ids, 8, NULL, NULL, n, &err), RN_E_ARG, &err);
    CHECK_OK(rn_embed(f.engine, 0, ids, 64, NULL, out, n, &err), &err); // as long as the context
    fixture_close(&f);
}

static rn_status embed_once(void *user) {
    const struct fixture *f = user;
    int32_t ids[8];
    float out[N_MAX];
    rn_embed_shape shape = {.struct_size = sizeof shape};
    fill_ids(ids, 8, 4096);
    rn_status st = rn_embed_get_shape(f->engine, 0, NULL, 8, &shape, NULL);
    if (st == RN_OK) st = rn_embed(f->engine, 0, ids, 8, NULL, out, shape.n_row, NULL);
    return st;
}

TEST(an_embedding_survives_each_failed_allocation) {
    struct fixture f;
    size_t n;
    if (open_engine(&f, engine_options(), &n)) check_each_failed_allocation(embed_once, &f, __FILE__, __LINE__);
    fixture_close(&f);
}
