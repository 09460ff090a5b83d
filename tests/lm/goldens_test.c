// tests/lm/goldens_test.c - a whole model against transformers: logits, hidden state and greedy text of small-llama.
//
// A part of the goldens lies beside this file; the rest of the same cases is run where the shared reference material is.
#include "tests/check.h"
#include "tests/support/golden.h"
#include "tests/support/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool open_small_llama(struct golden *g, bool shared, struct rig_options o) {
    return shared ? golden_open(g, true, "goldens/small-llama", "model-f32.gguf", &o)
                  : golden_open(g, false, "lm/small-llama", "small-llama.gguf", &o);
}

static struct rig_options options(enum kv_codec codec, enum cpu_set set) {
    struct rig_options o = rig_defaults();
    o.codec = codec;
    o.set = set;
    return o;
}

static void check_cases(bool shared, struct rig_options o, double bound, int n_want) {
    struct golden g;
    if (open_small_llama(&g, shared, o)) golden_compare(&g, bound, n_want);
    golden_close(&g);
}

TEST(small_llama_gives_the_logits_and_greedy_text_of_transformers) {
    for (enum cpu_set set = CPU_REF; set < CPU_N_SETS; set++)
        if (cpu_set_available(set)) check_cases(false, options(KV_F32, set), 0, 3);
}

TEST(small_llama_gives_the_logits_of_all_its_cases) { check_cases(true, options(KV_F32, CPU_REF), 0, 5); }

// Rounded keys and values move the logits, whose standard deviation is about 4. Measured: at most 0.0197 with f16 and 0.555 with
// q8 (both in p40). The bounds leave half as much again.
static const double f16_bound = 0.03, q8_bound = 0.85;

TEST(small_llama_with_f16_keys_and_values_stays_within_its_bound) {
    check_cases(false, options(KV_F16, CPU_REF), f16_bound, 3);
}
TEST(small_llama_with_f16_keys_and_values_stays_within_its_bound_in_all_cases) {
    check_cases(true, options(KV_F16, CPU_REF), f16_bound, 5);
}
TEST(small_llama_with_q8_keys_and_values_stays_within_its_bound) {
    check_cases(false, options(KV_Q8, CPU_REF), q8_bound, 3);
}
TEST(small_llama_with_q8_keys_and_values_stays_within_its_bound_in_all_cases) {
    check_cases(true, options(KV_Q8, CPU_REF), q8_bound, 5);
}

// n_ff is 112: block types need rows of whole blocks. Zeros in its place add nothing to any sum.
static uint64_t padded(const struct hparams *h, uint64_t ne) {
    return ne == (uint64_t)h->n_ff ? (ne + 31) / 32 * 32 : ne;
}

// A tensor in another type, or as F32 with the values that the type makes of them.
static void put_tensor(struct gguf_builder *b, const struct hparams *h, const struct tensor_view *t,
                       enum tensor_type type, bool as_f32) {
    const struct tensor_type_info *rounds = tensor_type_info(t->n_dims == 1 ? TENSOR_F32 : type);
    const struct tensor_type_info *to = as_f32 ? tensor_type_info(TENSOR_F32) : rounds;
    const uint64_t ne[] = {padded(h, t->ne[0]), padded(h, t->ne[1])};
    const size_t row_bytes = ne[0] / to->block_len * to->block_bytes;
    float *row = new_floats(ne[0]), *rounded = new_floats(ne[0]); // blocks take no more room than floats
    uint8_t *data = calloc(ne[1], row_bytes);                     // zeros in every type
    if (!data) abort();
    for (uint64_t i = 0; i < t->ne[1]; i++) {
        memcpy(row, t->data + i * t->row_bytes, t->row_bytes); // the file is F32
        rounds->quantize_row(row, rounded, ne[0]);
        if (as_f32)
            rounds->dequantize_row(rounded, (float *)(void *)(data + i * row_bytes), ne[0]);
        else
            memcpy(data + i * row_bytes, rounded, row_bytes);
    }
    gb_tensor(b, t->name, to->gguf_id, (uint32_t)t->n_dims, ne, data, ne[1] * row_bytes);
    free(row);
    free(rounded);
    free(data);
}

static uint8_t *retyped(const package *p, enum tensor_type type, bool as_f32, size_t *n_bytes) {
    const struct hparams *h = package_hparams(p);
    struct gguf_builder b;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "llama");
    gb_u32(&b, "llama.block_count", (uint32_t)h->n_layer);
    gb_u32(&b, "llama.context_length", (uint32_t)h->n_ctx_train);
    gb_u32(&b, "llama.embedding_length", (uint32_t)h->n_embd);
    gb_u32(&b, "llama.feed_forward_length", (uint32_t)padded(h, (uint64_t)h->n_ff));
    gb_u32(&b, "llama.attention.head_count", (uint32_t)h->n_head);
    gb_u32(&b, "llama.attention.head_count_kv", (uint32_t)h->n_head_kv);
    gb_f32(&b, "llama.attention.layer_norm_rms_epsilon", h->norm_eps);
    gb_f32(&b, "llama.rope.freq_base", h->rope_theta);
    for (size_t i = 0; i < package_n_tensors(p); i++) put_tensor(&b, h, package_tensor_at(p, i), type, as_f32);
    return gb_finish(&b, n_bytes);
}

static bool open_retyped(struct rig *r, const package *p, enum tensor_type type, bool as_f32) {
    const struct rig_options o = options(KV_F32, CPU_REF);
    size_t n;
    uint8_t *bytes = retyped(p, type, as_f32, &n);
    return rig_open_bytes(r, bytes, n, &o);
}

static double largest_difference_of(struct rig *a, struct rig *b, const int32_t *ids, int32_t n) {
    const size_t n_floats = (size_t)n * (size_t)a->lm->n_vocab;
    float *x = new_floats(n_floats), *y = new_floats(n_floats);
    double worst = 0;
    CHECK(rig_eval_fresh(a, ids, n, x) && rig_eval_fresh(b, ids, n, y));
    for (size_t i = 0; i < n_floats; i++) worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    free(x);
    free(y);
    return worst;
}

// Each type against F32 weights of the same values: F16 multiplies the same numbers in the same order; with BF16 activations are
// rounded to 8 bits, with the block types to 8 bits and a scale for each 32. Measured: the largest difference of all cases, beside
// the bound that leaves half as much again. A product that reads the wrong activations is off by more than 4.
TEST(small_llama_in_another_type_differs_from_f32_weights_of_the_same_values_by_its_activations_alone) {
    static const struct {
        enum tensor_type type;
        double bound;
    } rows[] = {
        {TENSOR_F16, 0},    // measured: 0
        {TENSOR_BF16, 0.4}, // 0.255
        {TENSOR_Q8_0, 1.6}, // 1.028
        {TENSOR_Q4_0, 1.4}, // 0.891
        {TENSOR_Q4_1, 1.5}, // 0.987
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct golden g;
        struct rig typed = {0}, plain = {0};
        double worst = 0;
        if (open_small_llama(&g, false, options(KV_F32, CPU_REF)) &&
            open_retyped(&typed, g.rig.pkg, rows[i].type, false) &&
            open_retyped(&plain, g.rig.pkg, rows[i].type, true)) {
            for (size_t c = 0; c < json_array_size(g.cases); c++) {
                int32_t ids[GOLDEN_MAX_IDS];
                const int32_t n = golden_ids(json_array_get(g.cases, c), ids);
                worst = fmax(worst, largest_difference_of(&typed, &plain, ids, n));
            }
            check_note("%s: differs by %g, allowed %g", tensor_type_info(rows[i].type)->name, worst, rows[i].bound);
            CHECK(worst <= rows[i].bound && (worst > 0) == (rows[i].bound > 0));
        }
        rig_close(&typed);
        rig_close(&plain);
        golden_close(&g);
    }
}

TEST(hidden_state_after_the_final_norm_is_that_of_transformers) {
    struct golden g;
    struct npy want = {0};
    int32_t ids[GOLDEN_MAX_IDS];
    if (open_small_llama(&g, false, options(KV_F32, CPU_REF)) && npy_read(golden_path(&g, "p5.hidden.npy"), &want)) {
        const json_t *c = json_array_get(g.cases, 1);
        const int32_t n = golden_ids(c, ids), seq = rig_seq(&g.rig);
        const size_t n_embd = (size_t)g.rig.lm->n_embd;
        struct lm_row rows[GOLDEN_MAX_IDS];
        rn_error err = {0};
        CHECK_STR(json_string_value(json_object_get(c, "name")), "p5");
        CHECK(want.n_dims == 3 && want.shape[1] == (size_t)n && want.shape[2] == n_embd);
        for (int32_t i = 0; i < n; i++) rows[i] = (struct lm_row){seq, ids[i], LM_APPEND, LM_WANT_HIDDEN};
        CHECK_OK(lm_step(g.rig.lm, rows, (size_t)n, NULL, &err), &err);
        const float *last = want.data + (want.shape[0] - 1) * (size_t)n * n_embd;
        double worst = 0;
        for (size_t i = 0; i < (size_t)n; i++)
            for (size_t d = 0; d < n_embd; d++)
                worst = fmax(worst, fabs((double)lm_hidden(g.rig.lm, i)[d] - (double)last[i * n_embd + d]));
        // The hidden state is of order 1 where logits are of order 4: a quarter of their 2e-4.
        check_note("differs by %g", worst);
        CHECK(worst <= 5e-5);
    }
    npy_free(&want);
    golden_close(&g);
}
