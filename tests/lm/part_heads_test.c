// tests/lm/part_heads_test.c - draft heads in safetensors files against plain double arithmetic:
// Medusa, EAGLE-1, EAGLE-3.
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/folder_builder.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/plain_layer.h"
#include <stdlib.h>
#include <string.h>

enum { N = PLAIN_ROWS };

static struct rig_options options(int n_threads) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32, o.n_threads = n_threads;
    return o;
}

// ---- a small base model, and heads made for it --------------------------------------------------

enum { EMBD = 64, VOCAB = 50 };

static bool open_base(struct rig *base, const struct model_spec *spec) {
    const struct arch_model m = {
        "llama",
        "block_count=4 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
        "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5",
        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight",
        .n_vocab = VOCAB,
        .type = TENSOR_F32,
        .seed = 5,
    };
    struct rig_options o = options(1);
    size_t n_bytes;
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    o.spec = spec;
    return rig_open_bytes(base, bytes, n_bytes, &o);
}

// One head of three residual blocks, the second without a bias.
static void medusa_of_three(struct st_builder *b) {
    st_random(b, "0.0.linear.weight", 1, EMBD, EMBD);
    st_random(b, "0.0.linear.bias", 2, EMBD, 0);
    st_random(b, "0.1.linear.weight", 3, EMBD, EMBD);
    st_random(b, "0.2.linear.weight", 4, EMBD, EMBD);
    st_random(b, "0.2.linear.bias", 5, EMBD, 0);
    st_random(b, "0.3.weight", 6, VOCAB, EMBD);
}

static bool open_head(package **pkg, uint8_t **bytes, void (*fill)(struct st_builder *b)) {
    struct st_builder b;
    rn_error err = {0};
    size_t n;
    st_begin(&b);
    fill(&b);
    *bytes = st_finish(&b, &n);
    return CHECK_OK(package_part_from_bytes("head", *bytes, n, pkg, &err), &err);
}

TEST(a_medusa_head_of_several_residual_blocks_runs_them_one_after_the_other) {
    const struct part_spec spec = {.kind = PART_MEDUSA};
    struct rig base, part = {0};
    package *pkg = NULL;
    uint8_t *bytes = NULL;
    float *vectors = new_floats(N * EMBD), *logits = new_floats(N * VOCAB), *hidden = new_floats(N * EMBD);
    int32_t tokens[N];
    random_tokens(tokens, N, VOCAB, 1);
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        const struct rig_options o = options(n_threads);
        if (open_base(&base, NULL) && part_hidden_states(&base, tokens, vectors) &&
            open_head(&pkg, &bytes, medusa_of_three) && rig_open_part(&part, &base, pkg, &spec, &o) &&
            part_run(&part, tokens, vectors, 7, logits, hidden)) {
            static double x[N][PLAIN_EMBD];
            struct plain_matrix head = plain_weights(pkg, "0.3.weight");
            for (int32_t r = 0; r < N; r++)
                for (int32_t i = 0; i < EMBD; i++) x[r][i] = (double)vectors[r * EMBD + i];
            for (int block = 0; block < 3; block++) {
                char name[2][40];
                double made[EMBD];
                snprintf(name[0], sizeof name[0], "0.%d.linear.weight", block);
                snprintf(name[1], sizeof name[1], "0.%d.linear.bias", block);
                struct plain_matrix w = plain_weights(pkg, name[0]), bias = {0};
                if (block != 1) bias = plain_weights(pkg, name[1]);
                for (int32_t r = 0; r < N; r++) {
                    plain_multiply(&w, x[r], made);
                    for (int32_t i = 0; i < EMBD; i++)
                        x[r][i] += plain_silu(made[i] + (bias.w ? (double)bias.w[i] : 0));
                }
                free(w.w), free(bias.w);
            }
            check_note("hidden states differ by %g, logits by %g", plain_difference(hidden, x, EMBD),
                       plain_head_difference(logits, x, &head));
            CHECK(plain_difference(hidden, x, EMBD) < 2e-5);
            CHECK(plain_head_difference(logits, x, &head) < 2e-5);
            free(head.w);
        }
        rig_close(&part);
        rig_close(&base);
        free(bytes);
        bytes = NULL;
    }
    free(vectors);
    free(logits);
    free(hidden);
}

// ---- EAGLE-3 ------------------------------------------------------------------------------------

enum { DRAFT_VOCAB = 20, FF = 80 };

// What differs between files.
static struct {
    const char *layer;
    bool has_embedding, has_map, has_head;
    bool is_llama;  // as llama.cpp writes it
    bool is_normed; // with the norms that other training code has
} eagle3_file;

static int32_t base_token(int32_t draft) { return draft + draft / 2 + 1; }

static void put_map(struct st_builder *b) {
    int64_t d2t[DRAFT_VOCAB];
    uint8_t t2d[VOCAB] = {0};
    for (int32_t i = 0; i < DRAFT_VOCAB; i++) d2t[i] = base_token(i) - i, t2d[base_token(i)] = 1;
    st_bytes(b, "d2t", "I64", "20", d2t, sizeof d2t);
    st_bytes(b, "t2d", "BOOL", "50", t2d, sizeof t2d);
}

static void eagle3(struct st_builder *b) {
    static const struct {
        const char *name;
        uint64_t d0, d1;
    } layer[] = {
        {"input_layernorm", EMBD, 0},
        {"hidden_norm", EMBD, 0},
        {"post_attention_layernorm", EMBD, 0},
        {"self_attn.q_proj", EMBD, 2 * EMBD},
        {"self_attn.k_proj", EMBD / 2, 2 * EMBD},
        {"self_attn.v_proj", EMBD / 2, 2 * EMBD},
        {"self_attn.o_proj", EMBD, EMBD},
        {"mlp.gate_proj", FF, EMBD},
        {"mlp.up_proj", FF, EMBD},
        {"mlp.down_proj", EMBD, FF},
    };
    for (size_t i = 0; i < sizeof layer / sizeof *layer; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s.%s.weight", eagle3_file.layer, layer[i].name);
        st_random(b, name, 20 + i, layer[i].d0, layer[i].d1);
    }
    st_random(b, "fc.weight", 10, EMBD, 3 * EMBD);
    st_random(b, "norm.weight", 11, EMBD, 0);
    if (eagle3_file.has_head) st_random(b, "lm_head.weight", 12, eagle3_file.has_map ? DRAFT_VOCAB : VOCAB, EMBD);
    if (eagle3_file.has_embedding) st_random(b, "embed_tokens.weight", 13, VOCAB, EMBD);
    if (eagle3_file.has_map) put_map(b);
    if (eagle3_file.is_normed) st_random(b, "input_norm.weight", 14, 3 * EMBD, 0);
}

// ---- the same in llama.cpp's form ----

enum { HEAD = 16, GGUF_I64 = 27 };

// Rows of a head: halves become neighbours.
static void put_permuted(struct gguf_builder *b, const char *name, const struct tensor_view *t) {
    uint8_t *const rows = malloc(t->n_bytes);
    for (uint64_t r = 0; r < t->ne[1]; r++) {
        const uint64_t head = r / HEAD, i = r % HEAD, to = head * HEAD + i % (HEAD / 2) * 2 + i / (HEAD / 2);
        memcpy(rows + to * t->row_bytes, t->data + r * t->row_bytes, t->row_bytes);
    }
    gb_tensor(b, name, 0, 2, t->ne, rows, t->n_bytes);
    free(rows);
}

// Of the package, whose layer is "layers.0".
static uint8_t *as_llama_cpp(const package *p, size_t *n) {
    static const char *const names[][2] = {
        {"blk.0.attn_norm.weight", "layers.0.input_layernorm.weight"},
        {"blk.0.attn_norm_2.weight", "layers.0.hidden_norm.weight"},
        {"blk.0.attn_q.weight", "layers.0.self_attn.q_proj.weight"},
        {"blk.0.attn_k.weight", "layers.0.self_attn.k_proj.weight"},
        {"blk.0.attn_v.weight", "layers.0.self_attn.v_proj.weight"},
        {"blk.0.attn_output.weight", "layers.0.self_attn.o_proj.weight"},
        {"blk.0.ffn_norm.weight", "layers.0.post_attention_layernorm.weight"},
        {"blk.0.ffn_gate.weight", "layers.0.mlp.gate_proj.weight"},
        {"blk.0.ffn_up.weight", "layers.0.mlp.up_proj.weight"},
        {"blk.0.ffn_down.weight", "layers.0.mlp.down_proj.weight"},
        {"output_norm.weight", "norm.weight"},
        {"output.weight", "lm_head.weight"},
        {"token_embd.weight", "embed_tokens.weight"},
        {"fc.weight", "fc.weight"},
        {"enc.output_norm.weight", "input_norm.weight"},
    };
    struct gguf_builder b;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "eagle3");
    gb_u32(&b, "eagle3.block_count", 1);
    if (eagle3_file.is_normed) gb_bool(&b, "eagle3.norm_before_residual", true);
    if (eagle3_file.is_normed) gb_bool(&b, "eagle3.norm_before_fc", true);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct tensor_view *const t = package_tensor(p, names[i][1]);
        if (t && (strstr(names[i][0], "attn_q") || strstr(names[i][0], "attn_k")))
            put_permuted(&b, names[i][0], t);
        else if (t)
            gb_tensor(&b, names[i][0], 0, (uint32_t)t->n_dims, t->ne, t->data, t->n_bytes);
    }
    int64_t d2t[DRAFT_VOCAB];
    for (int32_t i = 0; i < DRAFT_VOCAB; i++) d2t[i] = base_token(i);
    if (eagle3_file.has_map) gb_tensor(&b, "d2t", GGUF_I64, 1, (uint64_t[]){DRAFT_VOCAB}, d2t, sizeof d2t);
    gb_tensor(&b, "rope_freqs.weight", 0, 1, (uint64_t[]){1}, &(float){1}, sizeof(float));
    return gb_finish(&b, n);
}

static bool open_as_llama_cpp(package **pkg, uint8_t **bytes) {
    rn_error err = {0};
    size_t n;
    uint8_t *const own = *bytes;
    *bytes = as_llama_cpp(*pkg, &n);
    package_close(*pkg);
    free(own);
    return CHECK_OK(package_part_from_bytes("head", *bytes, n, pkg, &err), &err);
}

static bool read_taps(struct rig *base, const int32_t *tokens, float *out) {
    struct lm_row rows[N];
    rn_error err = {0};
    const int32_t seq = rig_seq(base);
    for (int32_t i = 0; i < N; i++) rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_TAPS, NULL};
    if (!CHECK_OK(lm_step(base->lm, rows, N, NULL, &err), &err)) return false;
    for (int32_t i = 0; i < N; i++)
        for (int32_t k = 0; k < 3; k++)
            memcpy(out + (i * 3 + k) * EMBD, lm_tap(base->lm, (size_t)i, k), EMBD * sizeof *out);
    return true;
}

// The input vectors, from three taps: out, and the same in plain arithmetic.
static bool check_taps_part(struct rig *base, package *pkg, const int32_t *tokens, float *out) {
    const struct part_spec spec = {.kind = PART_EAGLE3_TAPS};
    const struct rig_options o = options(2);
    struct rig part = {0};
    static double want[N][PLAIN_EMBD];
    float *taps = new_floats(N * 3 * EMBD);
    struct plain_matrix fc = plain_weights(pkg, "fc.weight"), norm = {0};
    if (eagle3_file.is_normed) norm = plain_weights(pkg, "input_norm.weight");
    const bool ok = read_taps(base, tokens, taps) && rig_open_part(&part, base, pkg, &spec, &o) &&
                    CHECK_INT(part.lm->n_vector, 3 * EMBD) && CHECK_INT(part.lm->n_vocab, 0) &&
                    part_run(&part, tokens, taps, 7, NULL, out);
    for (int32_t r = 0; ok && r < N; r++) {
        double in[3 * EMBD];
        for (int32_t i = 0; i < 3 * EMBD; i++) in[i] = (double)taps[r * 3 * EMBD + i];
        if (norm.w) plain_rms_norm(in, 3 * EMBD, norm.w, 1e-5);
        plain_multiply(&fc, in, want[r]);
    }
    if (ok) CHECK(plain_difference(out, want, EMBD) < 2e-5);
    if (ok) { // it has no head
        rn_error err = {0};
        const struct lm_input input = {.vector = taps, .see_to = -1};
        const struct lm_row row = {rig_seq(&part), 0, LM_APPEND, LM_WANT_LOGITS, &input};
        CHECK_INT(lm_step(part.lm, &row, 1, NULL, &err), RN_E_ARG);
        CHECK_STR(err.text, "row 0: wants logits, but the part has no head");
    }
    part.pkg = NULL; // the caller's
    rig_close(&part);
    free(taps);
    free(fc.w);
    free(norm.w);
    return ok;
}

static void plain_eagle3(struct rig *base, const package *pkg, const int32_t *tokens, const float *vectors,
                         double (*x)[PLAIN_EMBD]) {
    static double in[N][2 * PLAIN_EMBD];
    struct plain_matrix w[11];
    static const char *const names[] = {
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
        "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj",    "input_layernorm",  "hidden_norm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s.%s.weight", eagle3_file.layer, names[i]);
        w[i] = plain_weights(pkg, name);
    }
    w[10] = eagle3_file.has_embedding ? plain_weights(pkg, "embed_tokens.weight")
                                      : plain_weights(base->pkg, "token_embd.weight");
    struct plain_layer l = {.q = w[0],
                            .k = w[1],
                            .v = w[2],
                            .o = w[3],
                            .ffn_norm = w[4],
                            .gate = w[5],
                            .up = w[6],
                            .down = w[7],
                            .n_head = 4,
                            .n_head_kv = 2,
                            .head_dim = 16,
                            .halves = !eagle3_file.is_llama,
                            .theta = 10000,
                            .eps = 1e-5};
    for (int32_t r = 0; r < N; r++) {
        for (int32_t i = 0; i < EMBD; i++) {
            in[r][i] = (double)w[10].w[tokens[r] * EMBD + i];
            in[r][EMBD + i] = x[r][i] = (double)vectors[r * EMBD + i];
        }
        plain_rms_norm(in[r], EMBD, w[8].w, 1e-5);
        plain_rms_norm(in[r] + EMBD, EMBD, w[9].w, 1e-5);
        if (eagle3_file.is_normed) memcpy(x[r], in[r] + EMBD, EMBD * sizeof *x[r]);
    }
    plain_layer_run(&l, in, x, EMBD);
    plain_layer_free(&l);
    for (int i = 8; i < 11; i++) free(w[i].w);
}

static void check_eagle3_layer(struct rig *base, package *pkg, const int32_t *tokens, const float *vectors) {
    const struct part_spec spec = {.kind = PART_EAGLE3};
    const int32_t n_vocab = eagle3_file.has_map ? DRAFT_VOCAB : VOCAB;
    static double x[N][PLAIN_EMBD];
    float *logits = new_floats(N * VOCAB), *hidden = new_floats(N * EMBD), *cut = new_floats(N * VOCAB);
    struct plain_matrix head = eagle3_file.has_head ? plain_weights(pkg, "lm_head.weight")
                                                    : plain_weights(base->pkg, "token_embd.weight"),
                        norm = {0};
    const struct tensor_view *norm_view = package_tensor(pkg, "norm.weight");
    norm.w = new_floats(EMBD);
    memcpy(norm.w, norm_view->data, EMBD * sizeof *norm.w);
    plain_eagle3(base, pkg, tokens, vectors, x);
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        const struct rig_options o = options(n_threads);
        struct rig part;
        if (rig_open_part(&part, base, pkg, &spec, &o) && CHECK_INT(part.lm->n_vocab, n_vocab) &&
            CHECK_INT(part.lm->n_tokens, VOCAB) &&
            part_run(&part, tokens, vectors, n_threads == 1 ? N : 3, n_threads == 1 ? logits : cut, hidden)) {
            CHECK((part.lm->token_map != NULL) == eagle3_file.has_map);
            for (int32_t i = 0; part.lm->token_map && i < n_vocab; i++)
                CHECK_INT(part.lm->token_map[i], base_token(i));
        }
        part.pkg = NULL; // the caller's
        rig_close(&part);
    }
    CHECK(memcmp(logits, cut, (size_t)(N * n_vocab) * sizeof *cut) == 0);
    CHECK(plain_difference(hidden, x, EMBD) < 2e-5);
    for (int32_t r = 0; r < N; r++) plain_rms_norm(x[r], EMBD, norm.w, 1e-5);
    check_note("logits differ by %g", plain_head_difference(logits, x, &head));
    CHECK(plain_head_difference(logits, x, &head) < 2e-5);
    free(norm.w), free(head.w);
    free(logits);
    free(hidden);
    free(cut);
}

TEST(an_eagle3_head_reads_taps_and_predicts_tokens_of_its_own_vocabulary) {
    static const int32_t tapped[] = {0, 1, 3};
    const struct model_spec taps = {tapped, 3};
    static const struct {
        const char *layer;
        bool has_embedding, has_map, has_head, is_llama, is_normed;
    } files[] = {{"layers.0", true, true, true, true, true},
                 {"layers.0", true, true, true, true},
                 {"layers.0", false, false, false, true},
                 {"midlayer", false, true, true},
                 {"layers.0", true, true, true},
                 {"midlayer", true, false, true},
                 {"layers.0", false, false, false}};
    int32_t tokens[N];
    float *vectors = new_floats(N * EMBD);
    random_tokens(tokens, N, VOCAB, 1);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct rig base;
        package *pkg = NULL;
        uint8_t *bytes = NULL;
        check_note("file %zu", i);
        eagle3_file.layer = files[i].layer;
        eagle3_file.has_embedding = files[i].has_embedding, eagle3_file.has_map = files[i].has_map;
        eagle3_file.has_head = files[i].has_head, eagle3_file.is_llama = files[i].is_llama;
        eagle3_file.is_normed = files[i].is_normed;
        if (open_base(&base, &taps) && open_head(&pkg, &bytes, eagle3) &&
            (!files[i].is_llama || open_as_llama_cpp(&pkg, &bytes)) && check_taps_part(&base, pkg, tokens, vectors))
            check_eagle3_layer(&base, pkg, tokens, vectors);
        rig_close(&base);
        package_close(pkg);
        free(bytes);
    }
    free(vectors);
}

// ---- files that do not fit ----------------------------------------------------------------------

static const char *bad_omit, *bad_name; // a tensor left out, and one added in its place
static uint64_t bad_d0, bad_d1;

static void bad_eagle3(struct st_builder *b) {
    b->omit = bad_omit;
    eagle3(b);
    b->omit = NULL;
    if (bad_name) st_random(b, bad_name, 99, bad_d0, bad_d1);
}
static void map_to_last_token(struct st_builder *b) {
    static const int64_t d2t[] = {1, 48};
    eagle3_file.has_map = false;
    eagle3_file.has_head = false;
    eagle3(b);
    st_random(b, "lm_head.weight", 12, 2, EMBD);
    st_bytes(b, "d2t", "I64", "2", d2t, sizeof d2t);
}
static void map_past_last_token(struct st_builder *b) {
    static const int64_t d2t[] = {1, 49};
    eagle3_file.has_map = false;
    eagle3_file.has_head = false;
    eagle3(b);
    st_random(b, "lm_head.weight", 12, 2, EMBD);
    st_bytes(b, "d2t", "I64", "2", d2t, sizeof d2t);
}

TEST(an_eagle3_file_that_does_not_fit_is_refused_by_name) {
    static const struct {
        enum part_kind kind;
        int32_t number;
        const char *omit, *name;
        uint64_t d0, d1;
        const char *want;
    } rows[] = {
        {PART_EAGLE3, 1, NULL, NULL, 0, 0, "head: EAGLE head 1: a file has one"},
        {PART_EAGLE3_TAPS, -1, NULL, NULL, 0, 0, "head: EAGLE head -1: a file has one"},
        {PART_EAGLE3_TAPS, 0, "fc.weight", NULL, 0, 0,
         "head: tensor fc.weight is missing: architecture 'llama' needs it with shape [192, 64]"},
        {PART_EAGLE3_TAPS, 0, "fc.weight", "fc.weight", EMBD, 2 * EMBD,
         "head: tensor fc.weight has shape [128, 64, 1, 1], architecture 'llama' needs [192, 64]"},
        {PART_EAGLE3, 0, "norm.weight", NULL, 0, 0,
         "head: tensor norm.weight is missing: architecture 'llama' needs it with shape [64, 1]"},
        {PART_EAGLE3, 0, "midlayer.self_attn.v_proj.weight", NULL, 0, 0,
         "head: tensor midlayer.self_attn.v_proj.weight is missing: architecture 'llama' needs it with shape [128, 32]"},
        {PART_EAGLE3, 0, "midlayer.self_attn.q_proj.weight", NULL, 0, 0,
         "head: no tensor midlayer.self_attn.q_proj.weight: the file has no EAGLE head"},
        {PART_EAGLE3, 0, "midlayer.self_attn.q_proj.weight", "midlayer.self_attn.q_proj.weight", EMBD, EMBD,
         "head: tensor midlayer.self_attn.q_proj.weight has shape [64, 64, 1, 1], architecture 'llama' needs [128, 64]"},
        {PART_EAGLE3, 0, "lm_head.weight", NULL, 0, 0, "head: tensor d2t: 20 tokens, lm_head.weight has 0"},
        {PART_EAGLE3, 0, "lm_head.weight", "lm_head.weight", 21, EMBD,
         "head: tensor d2t: 20 tokens, lm_head.weight has 21"},
        {PART_EAGLE3, 0, NULL, "midlayer.extra.weight", EMBD, 0,
         "head: tensor midlayer.extra.weight: architecture 'llama' does not use it, so the model "
         "would run wrongly"},
        {PART_MEDUSA, 0, NULL, NULL, 0, 0, "head: tensor d2t: only an EAGLE-3 head has one"},
    };
    struct rig base;
    if (open_base(&base, NULL)) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const struct part_spec spec = {.kind = rows[i].kind, .number = rows[i].number};
            package *pkg = NULL;
            struct model *part;
            uint8_t *bytes;
            rn_error err = {0};
            eagle3_file.layer = "midlayer", eagle3_file.has_embedding = false;
            eagle3_file.has_map = eagle3_file.has_head = true;
            bad_omit = rows[i].omit, bad_name = rows[i].name, bad_d0 = rows[i].d0, bad_d1 = rows[i].d1;
            check_note("row %zu", i);
            if (open_head(&pkg, &bytes, bad_eagle3)) {
                CHECK(model_build_part(pkg, &spec, base.model, &part, &err) != RN_OK);
                CHECK_STR(err.text, rows[i].want);
                CHECK(part == NULL);
            }
            package_close(pkg);
            free(bytes);
        }
    }
    rig_close(&base);
}

TEST(a_draft_token_past_the_base_models_last_one_is_refused) {
    static const struct {
        void (*fill)(struct st_builder *b);
        rn_status want;
    } rows[] = {{map_to_last_token, RN_OK}, {map_past_last_token, RN_E_FORMAT}};
    struct rig base;
    if (open_base(&base, NULL)) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            package *pkg = NULL;
            struct model *part = NULL;
            uint8_t *bytes;
            rn_error err = {0};
            eagle3_file.layer = "midlayer", eagle3_file.has_embedding = false;
            if (open_head(&pkg, &bytes, rows[i].fill)) {
                CHECK_INT(model_build_part(pkg, &(struct part_spec){.kind = PART_EAGLE3}, base.model, &part, &err),
                          rows[i].want);
                if (rows[i].want != RN_OK)
                    CHECK_STR(err.text, "head: tensor d2t: token 50 is outside the base model's 0..49");
            }
            model_destroy(part);
            package_close(pkg);
            free(bytes);
        }
    }
    rig_close(&base);
}

// ---- published heads of the shared model --------------------------------------------------------

enum { STORIES_EMBD = 256 };

static bool open_stories(struct rig *base, package **pkg, const char *file) {
    const struct rig_options o = options(2);
    rn_error err = {0};
    *base = (struct rig){0};
    if (!shared_path("models/stories/hf")) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    return rig_open_file(base, shared_path("models/stories/hf"), &o) &&
           CHECK_OK(package_open_part(shared_path(file), NULL, pkg, &err), &err);
}

TEST(an_eagle_head_is_a_layer_over_embeddings_and_hidden_states) {
    const struct part_spec spec = {.kind = PART_EAGLE};
    const struct rig_options o = options(2);
    struct rig base, part = {0};
    package *pkg;
    float *vectors = new_floats(N * STORIES_EMBD), *logits = new_floats(N * 4096),
          *hidden = new_floats(N * STORIES_EMBD);
    int32_t tokens[N];
    random_tokens(tokens, N, 4096, 1);
    if (open_stories(&base, &pkg, "models/stories/eagle/model.safetensors") &&
        part_hidden_states(&base, tokens, vectors) && rig_open_part(&part, &base, pkg, &spec, &o) &&
        part_run(&part, tokens, vectors, 7, logits, hidden)) {
        struct plain_layer l = {.q = plain_weights(pkg, "layers.0.self_attn.q_proj.weight"),
                                .k = plain_weights(pkg, "layers.0.self_attn.k_proj.weight"),
                                .v = plain_weights(pkg, "layers.0.self_attn.v_proj.weight"),
                                .o = plain_weights(pkg, "layers.0.self_attn.o_proj.weight"),
                                .ffn_norm = plain_weights(pkg, "layers.0.post_attention_layernorm.weight"),
                                .gate = plain_weights(pkg, "layers.0.mlp.gate_proj.weight"),
                                .up = plain_weights(pkg, "layers.0.mlp.up_proj.weight"),
                                .down = plain_weights(pkg, "layers.0.mlp.down_proj.weight"),
                                .n_head = 4,
                                .n_head_kv = 2,
                                .head_dim = 64,
                                .halves = true,
                                .theta = 10000,
                                .eps = 1e-5};
        struct plain_matrix embd = plain_weights(pkg, "embed_tokens.weight"), fc = plain_weights(pkg, "fc.weight"),
                            bias = plain_weights(pkg, "fc.bias"), head = plain_weights(base.pkg, "token_embd.weight");
        static double x[N][PLAIN_EMBD];
        for (int32_t r = 0; r < N; r++) {
            double pair[2 * STORIES_EMBD];
            for (int32_t i = 0; i < STORIES_EMBD; i++) {
                pair[i] = (double)embd.w[tokens[r] * STORIES_EMBD + i];
                pair[STORIES_EMBD + i] = (double)vectors[r * STORIES_EMBD + i];
            }
            plain_multiply(&fc, pair, x[r]);
            for (int32_t i = 0; i < STORIES_EMBD; i++) x[r][i] += (double)bias.w[i];
        }
        plain_layer_run(&l, NULL, x, STORIES_EMBD);
        // A number halfway between two of BF16 may be rounded the other way.
        check_note("hidden states differ by %g, logits by %g", plain_difference(hidden, x, STORIES_EMBD),
                   plain_head_difference(logits, x, &head));
        CHECK(plain_difference(hidden, x, STORIES_EMBD) < 1e-4);
        CHECK(plain_head_difference(logits, x, &head) < 0.01);
        plain_layer_free(&l);
        free(embd.w), free(fc.w), free(bias.w), free(head.w);
    } else {
        rig_close(&part);
    }
    rig_close(&part);
    rig_close(&base);
    free(vectors);
    free(logits);
    free(hidden);
}

TEST(a_medusa_head_is_a_residual_block_and_a_head_of_its_own) {
    for (int32_t number = 0; number < 2; number++) {
        const struct part_spec spec = {.kind = PART_MEDUSA, .number = number};
        const struct rig_options o = options(2);
        struct rig base, part = {0};
        package *pkg;
        float *vectors = new_floats(N * STORIES_EMBD), *logits = new_floats(N * 4096),
              *hidden = new_floats(N * STORIES_EMBD);
        int32_t tokens[N];
        random_tokens(tokens, N, 4096, 1);
        if (open_stories(&base, &pkg, "models/stories/medusa/medusa_lm_head.safetensors") &&
            part_hidden_states(&base, tokens, vectors) && rig_open_part(&part, &base, pkg, &spec, &o) &&
            part_run(&part, tokens, vectors, 7, logits, hidden)) {
            char name[3][40];
            snprintf(name[0], sizeof name[0], "%d.0.linear.weight", number);
            snprintf(name[1], sizeof name[1], "%d.0.linear.bias", number);
            snprintf(name[2], sizeof name[2], "%d.1.weight", number);
            struct plain_matrix w = plain_weights(pkg, name[0]), bias = plain_weights(pkg, name[1]),
                                head = plain_weights(pkg, name[2]);
            static double x[N][PLAIN_EMBD];
            for (int32_t r = 0; r < N; r++) {
                double in[STORIES_EMBD];
                for (int32_t i = 0; i < STORIES_EMBD; i++) in[i] = (double)vectors[r * STORIES_EMBD + i];
                plain_multiply(&w, in, x[r]);
                for (int32_t i = 0; i < STORIES_EMBD; i++) x[r][i] = in[i] + plain_silu(x[r][i] + (double)bias.w[i]);
            }
            check_note("head %d: hidden states differ by %g, logits by %g", number,
                       plain_difference(hidden, x, STORIES_EMBD), plain_head_difference(logits, x, &head));
            CHECK(plain_difference(hidden, x, STORIES_EMBD) < 2e-5);
            CHECK(plain_head_difference(logits, x, &head) < 0.01);
            free(w.w), free(bias.w), free(head.w);
        }
        rig_close(&part);
        rig_close(&base);
        free(vectors);
        free(logits);
        free(hidden);
    }
}
