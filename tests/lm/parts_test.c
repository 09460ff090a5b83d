// tests/lm/parts_test.c - parts that stand on another model, against their definitions in plain arithmetic: a layer that predicts a further
// token, heads of Medusa and EAGLE.
#include "base/philox.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/folder_builder.h"
#include "tests/support/lm_rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20 };

// ---- plain arithmetic -----------------------------------------------------------------------------------------------

struct matrix_of { // NULL w: none
    float *w;
    int32_t k, n_out;
    bool is_bf16; // rows that meet it are rounded to BF16, as docs/arithmetic.md has it
};

static struct matrix_of weights(const package *p, const char *name) {
    const struct tensor_view *t = package_tensor(p, name);
    check_note("tensor %s", name);
    if (!CHECK(t != NULL)) return (struct matrix_of){0};
    const size_t n = (size_t)(t->ne[0] * t->ne[1]);
    struct matrix_of m = {new_floats(n), (int32_t)t->ne[0], (int32_t)t->ne[1], t->type == TENSOR_BF16};
    tensor_type_info(t->type)->dequantize_row(t->data, m.w, n);
    return m;
}

static double as_bf16(double x) {
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

static void multiply(const struct matrix_of *m, const double *x, double *out) {
    for (int32_t o = 0; o < m->n_out; o++) {
        out[o] = 0;
        for (int32_t i = 0; i < m->k; i++)
            out[o] += (double)m->w[(size_t)o * (size_t)m->k + (size_t)i] * (m->is_bf16 ? as_bf16(x[i]) : x[i]);
    }
}

static void rms_norm(double *x, int32_t n, const float *w, double eps) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += x[i] * x[i];
    for (int32_t i = 0; i < n; i++) x[i] = x[i] / sqrt(sum / n + eps) * (double)w[i];
}

static double silu(double x) { return x / (1 + exp(-x)); }

static void rotate(double *head, int32_t n, bool halves, int32_t pos, double theta) {
    for (int32_t i = 0; i < n / 2; i++) {
        double *a = &head[halves ? i : 2 * i], *b = &head[halves ? i + n / 2 : 2 * i + 1];
        const double angle = pos * pow(theta, -2.0 * i / n), c = cos(angle), s = sin(angle), was = *a;
        *a = was * c - *b * s;
        *b = was * s + *b * c;
    }
}

enum { MOST_EMBD = 256, MOST_FF = 768 };
struct layer_of {
    struct matrix_of attn_norm, q, k, v, o, ffn_norm, gate, up, down; // attn_norm.w NULL: none
    int32_t n_head, n_head_kv, head_dim;
    bool halves;
    double theta, eps;
};

static void free_layer(struct layer_of *l) {
    const struct matrix_of all[] = {l->attn_norm, l->q, l->k, l->v, l->o, l->ffn_norm, l->gate, l->up, l->down};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i].w);
}

// Row by row, x in place.
static void plain_layer(const struct layer_of *l, double (*x)[MOST_EMBD], int32_t n_embd) {
    static double keys[N][MOST_EMBD], values[N][MOST_EMBD];
    for (int32_t pos = 0; pos < N; pos++) {
        double in[MOST_EMBD], q[MOST_EMBD], made[MOST_EMBD] = {0}, delta[MOST_EMBD], gate[MOST_FF], up[MOST_FF];
        const int32_t dim = l->head_dim, shared = l->n_head / l->n_head_kv;
        memcpy(in, x[pos], sizeof in);
        if (l->attn_norm.w) rms_norm(in, n_embd, l->attn_norm.w, l->eps);
        multiply(&l->q, in, q), multiply(&l->k, in, keys[pos]), multiply(&l->v, in, values[pos]);
        for (int32_t h = 0; h < l->n_head; h++) rotate(q + h * dim, dim, l->halves, pos, l->theta);
        for (int32_t h = 0; h < l->n_head_kv; h++) rotate(keys[pos] + h * dim, dim, l->halves, pos, l->theta);
        for (int32_t h = 0; h < l->n_head; h++) {
            const int32_t from = h / shared * dim;
            double p[N], sum = 0;
            for (int32_t j = 0; j <= pos; j++) {
                double s = 0;
                for (int32_t d = 0; d < dim; d++) s += q[h * dim + d] * keys[j][from + d];
                sum += p[j] = exp(s / sqrt(dim));
            }
            for (int32_t j = 0; j <= pos; j++)
                for (int32_t d = 0; d < dim; d++) made[h * dim + d] += p[j] / sum * values[j][from + d];
        }
        multiply(&l->o, made, delta);
        for (int32_t i = 0; i < n_embd; i++) x[pos][i] += delta[i];
        memcpy(in, x[pos], sizeof in);
        rms_norm(in, n_embd, l->ffn_norm.w, l->eps);
        multiply(&l->gate, in, gate), multiply(&l->up, in, up);
        for (int32_t i = 0; i < l->gate.n_out; i++) gate[i] = silu(gate[i]) * up[i];
        multiply(&l->down, gate, delta);
        for (int32_t i = 0; i < n_embd; i++) x[pos][i] += delta[i];
    }
}

// ---- what a part makes ----------------------------------------------------------------------------------------------

// Input vectors: the base's hidden states of the tokens, one row later, as drafts read them.
static bool hidden_states(struct rig *base, const int32_t *tokens, float *out) {
    struct lm_row rows[N];
    rn_error err = {0};
    const int32_t seq = rig_seq(base);
    for (int32_t i = 0; i < N; i++) rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_HIDDEN};
    if (!CHECK_OK(lm_step(base->lm, rows, N, NULL, &err), &err)) return false;
    for (int32_t i = 0; i < N; i++)
        memcpy(out + (size_t)(i * base->lm->n_embd), lm_hidden(base->lm, (size_t)i),
               (size_t)base->lm->n_embd * sizeof *out);
    return true;
}

static bool run_part(struct rig *part, const int32_t *tokens, const float *vectors, int32_t n_step, float *logits,
                     float *hidden) {
    const int32_t seq = rig_seq(part);
    const size_t n_vocab = (size_t)part->lm->n_vocab, n_embd = (size_t)part->lm->n_embd;
    struct lm_input inputs[N];
    rn_error err = {0};
    if (!CHECK_INT(part->lm->n_vector, part->lm->n_embd)) return false;
    for (int32_t at = 0; at < N; at += n_step) {
        struct lm_row rows[N];
        const int32_t n = N - at < n_step ? N - at : n_step;
        for (int32_t i = 0; i < n; i++) {
            inputs[i] = (struct lm_input){
                .vector = vectors + (size_t)(at + i) * n_embd, .key = (uint64_t)(at + i), .see_to = -1};
            rows[i] = (struct lm_row){seq, tokens[at + i], LM_APPEND, LM_WANT_LOGITS | LM_WANT_HIDDEN, &inputs[i]};
        }
        if (!CHECK_OK(lm_step(part->lm, rows, (size_t)n, NULL, &err), &err)) return false;
        for (int32_t i = 0; i < n; i++) {
            memcpy(logits + (size_t)(at + i) * n_vocab, lm_logits(part->lm, (size_t)i), n_vocab * sizeof *logits);
            memcpy(hidden + (size_t)(at + i) * n_embd, lm_hidden(part->lm, (size_t)i), n_embd * sizeof *hidden);
        }
    }
    return true;
}

static double largest_difference(const float *got, double (*want)[MOST_EMBD], int32_t n_embd) {
    double worst = 0;
    for (int32_t r = 0; r < N; r++)
        for (int32_t i = 0; i < n_embd; i++)
            worst = fmax(worst, fabs((double)got[(size_t)(r * n_embd + i)] - want[r][i]));
    return worst;
}

// Logits of the hidden states by a head.
static double head_difference(const float *got, double (*hidden)[MOST_EMBD], const struct matrix_of *head) {
    double worst = 0, *logits = malloc((size_t)head->n_out * sizeof *logits);
    if (!logits) abort();
    for (int32_t r = 0; r < N; r++) {
        multiply(head, hidden[r], logits);
        for (int32_t i = 0; i < head->n_out; i++)
            worst = fmax(worst, fabs((double)got[(size_t)(r * head->n_out + i)] - logits[i]));
    }
    free(logits);
    return worst;
}

static struct rig_options options(int n_threads) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32, o.n_threads = n_threads;
    return o;
}

// ---- a layer that predicts a further token --------------------------------------------------------------------------

// Tensors of such a layer, which is the file's last one, beside those of any layer.
enum { NEXTN_EMBD = 64 };
static void nextn_tensors(struct gguf_builder *b, int layer) {
    static const struct {
        const char *name;
        uint64_t ne0, ne1;
    } rows[] = {{"enorm.weight", NEXTN_EMBD, 0},
                {"hnorm.weight", NEXTN_EMBD, 0},
                {"shared_head_norm.weight", NEXTN_EMBD, 0},
                {"eh_proj.weight", 2 * NEXTN_EMBD, NEXTN_EMBD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[80];
        const uint64_t n = rows[i].ne0 * (rows[i].ne1 ? rows[i].ne1 : 1);
        float *data = new_floats(n);
        for (uint64_t k = 0; k < n; k++) {
            const float u = 2 * (float)philox_uniform(77, (uint32_t)i, (uint32_t)k, PHILOX_TEST) - 1;
            data[k] = rows[i].ne1 ? u / 8 : 1 + u / 4;
        }
        snprintf(name, sizeof name, "blk.%d.nextn.%s", layer, rows[i].name);
        gb_tensor(b, name, 0, rows[i].ne1 ? 2 : 1, (uint64_t[]){rows[i].ne0, rows[i].ne1}, data, n * sizeof *data);
        free(data);
    }
}
static void nextn_1(struct gguf_builder *b) { nextn_tensors(b, 1); }
static void nextn_2(struct gguf_builder *b) { nextn_tensors(b, 2); }
static void nextn_3(struct gguf_builder *b) { nextn_tensors(b, 3); }

#define NEXTN_LLAMA                                                                                                  \
    "block_count=3 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "            \
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5"

static bool open_nextn(struct rig *base, const struct arch_model *like, int n_threads) {
    struct arch_model m = *like;
    const struct rig_options o = options(n_threads);
    size_t n_bytes;
    m.n_vocab = 50, m.type = TENSOR_F32, m.seed = 5, m.change = "nextn_predict_layers=1";
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    return rig_open_bytes(base, bytes, n_bytes, &o);
}

TEST(a_layer_behind_the_models_own_predicts_from_a_token_and_a_hidden_state) {
    const struct arch_model m = {"llama", NEXTN_LLAMA, .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight",
                                 .more = nextn_2};
    const struct part_spec spec = {.kind = PART_NEXTN};
    const struct rig_options o = options(2);
    struct rig base, part = {0};
    int32_t tokens[N];
    float *vectors = new_floats(N * NEXTN_EMBD), *logits = new_floats(N * 50), *hidden = new_floats(N * NEXTN_EMBD);
    random_tokens(tokens, N, 50, 1);
    if (open_nextn(&base, &m, 1) && hidden_states(&base, tokens, vectors) &&
        rig_open_part(&part, &base, NULL, &spec, &o) && run_part(&part, tokens, vectors, 6, logits, hidden)) {
        struct layer_of l = {.attn_norm = weights(base.pkg, "blk.2.attn_norm.weight"),
                             .q = weights(base.pkg, "blk.2.attn_q.weight"),
                             .k = weights(base.pkg, "blk.2.attn_k.weight"),
                             .v = weights(base.pkg, "blk.2.attn_v.weight"),
                             .o = weights(base.pkg, "blk.2.attn_output.weight"),
                             .ffn_norm = weights(base.pkg, "blk.2.ffn_norm.weight"),
                             .gate = weights(base.pkg, "blk.2.ffn_gate.weight"),
                             .up = weights(base.pkg, "blk.2.ffn_up.weight"),
                             .down = weights(base.pkg, "blk.2.ffn_down.weight"),
                             .n_head = 4,
                             .n_head_kv = 2,
                             .head_dim = 16,
                             .theta = 10000,
                             .eps = 1e-5};
        struct matrix_of embd = weights(base.pkg, "token_embd.weight"), head = weights(base.pkg, "token_embd.weight"),
                         enorm = weights(base.pkg, "blk.2.nextn.enorm.weight"),
                         hnorm = weights(base.pkg, "blk.2.nextn.hnorm.weight"),
                         norm = weights(base.pkg, "blk.2.nextn.shared_head_norm.weight"),
                         proj = weights(base.pkg, "blk.2.nextn.eh_proj.weight");
        static double x[N][MOST_EMBD];
        for (int32_t r = 0; r < N; r++) {
            double pair[2 * NEXTN_EMBD];
            for (int32_t i = 0; i < NEXTN_EMBD; i++) {
                pair[i] = (double)embd.w[tokens[r] * NEXTN_EMBD + i];
                pair[NEXTN_EMBD + i] = (double)vectors[r * NEXTN_EMBD + i];
            }
            rms_norm(pair, NEXTN_EMBD, enorm.w, 1e-5);
            rms_norm(pair + NEXTN_EMBD, NEXTN_EMBD, hnorm.w, 1e-5);
            multiply(&proj, pair, x[r]);
        }
        plain_layer(&l, x, NEXTN_EMBD);
        for (int32_t r = 0; r < N; r++) rms_norm(x[r], NEXTN_EMBD, norm.w, 1e-5);
        check_note("hidden states differ by %g, logits by %g", largest_difference(hidden, x, NEXTN_EMBD),
                   head_difference(logits, x, &head));
        CHECK(largest_difference(hidden, x, NEXTN_EMBD) < 2e-5);
        CHECK(head_difference(logits, x, &head) < 2e-5);
        free_layer(&l);
        free(embd.w), free(head.w), free(enorm.w), free(hnorm.w), free(norm.w), free(proj.w);
    }
    rig_close(&part);
    rig_close(&base);
    free(vectors);
    free(logits);
    free(hidden);
}

TEST(such_a_layer_gives_the_same_bits_for_every_cut_and_number_of_threads_in_architectures_that_have_one) {
    static const char *const subjects[] = {"deepseek2", "deepseek2/1", "glm4moe", "qwen3"};
    static void (*const more[])(struct gguf_builder *) = {NULL, NULL, nextn_1, nextn_2,
                                                          nextn_3}; // by layers of the file
    const struct part_spec spec = {.kind = PART_NEXTN};
    float *vectors = new_floats(N * NEXTN_EMBD), *hidden = new_floats(N * NEXTN_EMBD);
    float *want = new_floats(N * 50), *got = new_floats(N * 50);
    int32_t tokens[N];
    random_tokens(tokens, N, 50, 1);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const size_t s = arch_subject_named(subjects[i]);
        check_note("%s", subjects[i]);
        if (!CHECK(s < N_ARCH_SUBJECTS)) continue;
        struct arch_model m = arch_subjects[s].m;
        struct rig base, part = {0};
        m.more = more[atoi(strstr(m.keys, "block_count=") + strlen("block_count="))];
        if (open_nextn(&base, &m, 1) && hidden_states(&base, tokens, vectors)) {
            for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
                const struct rig_options o = options(n_threads);
                if (rig_open_part(&part, &base, NULL, &spec, &o) &&
                    run_part(&part, tokens, vectors, n_threads == 1 ? N : 3, n_threads == 1 ? want : got, hidden) &&
                    n_threads > 1)
                    CHECK(memcmp(want, got, N * 50 * sizeof *got) == 0);
                rig_close(&part);
            }
        }
        rig_close(&base);
    }
    free(vectors);
    free(hidden);
    free(want);
    free(got);
}

// ---- files of heads -------------------------------------------------------------------------------------------------

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
    enum { EMBD = 256 };
    const struct part_spec spec = {.kind = PART_EAGLE};
    const struct rig_options o = options(2);
    struct rig base, part = {0};
    package *pkg;
    float *vectors = new_floats(N * EMBD), *logits = new_floats(N * 4096), *hidden = new_floats(N * EMBD);
    int32_t tokens[N];
    random_tokens(tokens, N, 4096, 1);
    if (open_stories(&base, &pkg, "models/stories/eagle/model.safetensors") &&
        hidden_states(&base, tokens, vectors) && rig_open_part(&part, &base, pkg, &spec, &o) &&
        run_part(&part, tokens, vectors, 7, logits, hidden)) {
        struct layer_of l = {.q = weights(pkg, "layers.0.self_attn.q_proj.weight"),
                             .k = weights(pkg, "layers.0.self_attn.k_proj.weight"),
                             .v = weights(pkg, "layers.0.self_attn.v_proj.weight"),
                             .o = weights(pkg, "layers.0.self_attn.o_proj.weight"),
                             .ffn_norm = weights(pkg, "layers.0.post_attention_layernorm.weight"),
                             .gate = weights(pkg, "layers.0.mlp.gate_proj.weight"),
                             .up = weights(pkg, "layers.0.mlp.up_proj.weight"),
                             .down = weights(pkg, "layers.0.mlp.down_proj.weight"),
                             .n_head = 4,
                             .n_head_kv = 2,
                             .head_dim = 64,
                             .halves = true,
                             .theta = 10000,
                             .eps = 1e-5};
        struct matrix_of embd = weights(pkg, "embed_tokens.weight"), fc = weights(pkg, "fc.weight"),
                         bias = weights(pkg, "fc.bias"), head = weights(base.pkg, "token_embd.weight");
        static double x[N][MOST_EMBD];
        for (int32_t r = 0; r < N; r++) {
            double pair[2 * EMBD];
            for (int32_t i = 0; i < EMBD; i++) {
                pair[i] = (double)embd.w[tokens[r] * EMBD + i];
                pair[EMBD + i] = (double)vectors[r * EMBD + i];
            }
            multiply(&fc, pair, x[r]);
            for (int32_t i = 0; i < EMBD; i++) x[r][i] += (double)bias.w[i];
        }
        plain_layer(&l, x, EMBD);
        // A number halfway between two of BF16 may be rounded the other way.
        check_note("hidden states differ by %g, logits by %g", largest_difference(hidden, x, EMBD),
                   head_difference(logits, x, &head));
        CHECK(largest_difference(hidden, x, EMBD) < 1e-4);
        CHECK(head_difference(logits, x, &head) < 0.01);
        free_layer(&l);
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
    enum { EMBD = 256 };
    for (int32_t number = 0; number < 2; number++) {
        const struct part_spec spec = {.kind = PART_MEDUSA, .number = number};
        const struct rig_options o = options(2);
        struct rig base, part = {0};
        package *pkg;
        float *vectors = new_floats(N * EMBD), *logits = new_floats(N * 4096), *hidden = new_floats(N * EMBD);
        int32_t tokens[N];
        random_tokens(tokens, N, 4096, 1);
        if (open_stories(&base, &pkg, "models/stories/medusa/medusa_lm_head.safetensors") &&
            hidden_states(&base, tokens, vectors) && rig_open_part(&part, &base, pkg, &spec, &o) &&
            run_part(&part, tokens, vectors, 7, logits, hidden)) {
            char name[3][40];
            snprintf(name[0], sizeof name[0], "%d.0.linear.weight", number);
            snprintf(name[1], sizeof name[1], "%d.0.linear.bias", number);
            snprintf(name[2], sizeof name[2], "%d.1.weight", number);
            struct matrix_of w = weights(pkg, name[0]), bias = weights(pkg, name[1]), head = weights(pkg, name[2]);
            static double x[N][MOST_EMBD];
            for (int32_t r = 0; r < N; r++) {
                double in[EMBD];
                for (int32_t i = 0; i < EMBD; i++) in[i] = (double)vectors[r * EMBD + i];
                multiply(&w, in, x[r]);
                for (int32_t i = 0; i < EMBD; i++) x[r][i] = in[i] + silu(x[r][i] + (double)bias.w[i]);
            }
            check_note("head %d: hidden states differ by %g, logits by %g", number,
                       largest_difference(hidden, x, EMBD), head_difference(logits, x, &head));
            CHECK(largest_difference(hidden, x, EMBD) < 2e-5);
            CHECK(head_difference(logits, x, &head) < 0.01);
            free(w.w), free(bias.w), free(head.w);
        }
        rig_close(&part);
        rig_close(&base);
        free(vectors);
        free(logits);
        free(hidden);
    }
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(parts_that_are_not_there_or_do_not_fit_are_refused_by_name) {
    static const struct arch_model m = {"llama", NEXTN_LLAMA,
                                        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight", .more = nextn_2};
    static const struct {
        const char *message;
        bool has_file;
        struct part_spec spec;
    } rows[] = {
        {"tiny: layer 1 of those that predict further tokens: the file has 1", false, {PART_NEXTN, 1}},
        {"tiny: layer -1 of those that predict further tokens: the file has 1", false, {PART_NEXTN, -1}},
        {"part: no tensor 3.0.linear.weight: the file has no Medusa head 3", true, {PART_MEDUSA, 3}},
        {"part: EAGLE head 1: a file has one", true, {PART_EAGLE, 1}},
        {"part: tensor 0.0.linear.weight has shape [8, 8, 1, 1], architecture 'llama' needs [64, 64]",
         true,
         {PART_MEDUSA, 0}},
        {"part: tensor 1.1.linear.weight: a Medusa head with more than one block is not supported",
         true,
         {PART_MEDUSA, 1}},
        {"part: 0 heads over 0 of keys, of 16 numbers as the base's", true, {PART_EAGLE, 0}},
    };
    struct st_builder b;
    struct rig base;
    package *pkg = NULL;
    rn_error err = {0};
    size_t n;
    st_begin(&b);
    st_tensor(&b, "0.0.linear.weight", 2, 8, 8);
    st_tensor(&b, "0.1.weight", 2, 50, 8);
    st_tensor(&b, "1.0.linear.weight", 2, 64, 64);
    st_tensor(&b, "1.1.linear.weight", 2, 64, 64);
    uint8_t *bytes = st_finish(&b, &n);
    if (CHECK_OK(package_part_from_bytes("part", bytes, n, &pkg, &err), &err) && open_nextn(&base, &m, 1)) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct model *part;
            check_note("row %zu", i);
            CHECK(model_build_part(rows[i].has_file ? pkg : NULL, &rows[i].spec, base.model, &part, &err) != RN_OK);
            CHECK_STR(err.text, rows[i].message);
            CHECK(part == NULL);
        }
        rig_close(&base);
    }
    package_close(pkg);
    free(bytes);
}

TEST(a_row_without_an_input_vector_is_refused_where_the_part_reads_one) {
    static const struct arch_model m = {"llama", NEXTN_LLAMA,
                                        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight", .more = nextn_2};
    const struct part_spec spec = {.kind = PART_NEXTN};
    const struct rig_options o = options(1);
    struct rig base, part = {0};
    rn_error err = {0};
    if (open_nextn(&base, &m, 1) && rig_open_part(&part, &base, NULL, &spec, &o)) {
        const float vector[NEXTN_EMBD] = {0};
        const struct lm_input adds = {.vector = vector, .adds = true, .see_to = -1};
        const struct lm_row rows[] = {{rig_seq(&part), 1, LM_APPEND, 0, NULL}, {0, 1, LM_APPEND, 0, &adds}};
        for (int i = 0; i < 2; i++) {
            CHECK_INT(lm_step(part.lm, &rows[i], 1, NULL, &err), RN_E_ARG);
            CHECK_STR(err.text,
                      "row 0: the part reads an input vector beside the token, which the row does not have");
        }
    }
    rig_close(&part);
    rig_close(&base);
}

static rn_status build_and_free(void *ctx) {
    const struct rig *base = ctx;
    struct model *m;
    const rn_status st = model_build_part(NULL, &(struct part_spec){.kind = PART_NEXTN}, base->model, &m, NULL);
    if (st == RN_OK) model_destroy(m);
    return st;
}

TEST(every_failed_allocation_of_a_part_is_reported_and_leaks_nothing) {
    static const struct arch_model m = {"llama", NEXTN_LLAMA,
                                        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight", .more = nextn_2};
    struct rig base;
    if (open_nextn(&base, &m, 1)) CHECK(check_each_failed_allocation(build_and_free, &base, __FILE__, __LINE__));
    rig_close(&base);
}
