// convert/mixes.c - see mixes.h.
#include "convert/mixes.h"
#include <string.h>
#include <strings.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

// file_type: values of enum llama_ftype in llama.cpp's include/llama.h.
static const struct mix mixes[] = {
    {"F32", "32-bit floats", 0, TENSOR_F32},
    {"F16", "16-bit floats, IEEE", 1, TENSOR_F16},
    {"BF16", "16-bit floats with the range of 32-bit ones", 32, TENSOR_BF16},
    {"Q8_0", "8.5 bits a weight: almost indistinguishable from the original", 7, TENSOR_Q8_0},
    {"Q6_K", "6.6 bits", 18, TENSOR_Q6_K},
    {"Q5_K_M", "5.5 bits, more where it matters", 17, TENSOR_Q5_K},
    {"Q5_K_S", "5.5 bits", 16, TENSOR_Q5_K},
    {"Q5_K", "another name of Q5_K_M", 17, TENSOR_Q5_K},
    {"Q5_1", "6 bits, older", 9, TENSOR_Q5_1},
    {"Q5_0", "5.5 bits, older", 8, TENSOR_Q5_0},
    {"Q4_K_M", "4.5 bits, more where it matters: the usual choice", 15, TENSOR_Q4_K},
    {"Q4_K_S", "4.5 bits", 14, TENSOR_Q4_K},
    {"Q4_K", "another name of Q4_K_M", 15, TENSOR_Q4_K},
    {"IQ4_NL", "4.5 bits on a curve", 25, TENSOR_IQ4_NL},
    {"IQ4_XS", "4.25 bits on a curve", 30, TENSOR_IQ4_XS},
    {"Q4_1", "5 bits, older", 3, TENSOR_Q4_1},
    {"Q4_0", "4.5 bits, older: the fastest", 2, TENSOR_Q4_0},
    {"MXFP4_MOE", "4.25 bits for experts, Q8_0 for the rest", 38, TENSOR_MXFP4},
    {"IQ3_M", "3.4 bits on a grid, more where it matters", 27, TENSOR_IQ3_S},
    {"IQ3_S", "3.4 bits on a grid", 26, TENSOR_IQ3_S},
    {"IQ3_XS", "3.3 bits on a grid: with an importance matrix", 22, TENSOR_IQ3_S},
    {"IQ3_XXS", "3.1 bits on a grid: with an importance matrix", 23, TENSOR_IQ3_XXS},
    {"Q3_K_L", "3.4 bits, most where it matters", 13, TENSOR_Q3_K},
    {"Q3_K_M", "3.4 bits, more where it matters", 12, TENSOR_Q3_K},
    {"Q3_K_S", "3.4 bits", 11, TENSOR_Q3_K},
    {"Q3_K", "another name of Q3_K_M", 12, TENSOR_Q3_K},
    {"Q2_K", "2.6 bits, more where it matters", 10, TENSOR_Q2_K},
    {"Q2_K_S", "2.6 bits: with an importance matrix", 21, TENSOR_Q2_K},
    {"IQ2_M", "2.6 bits on a grid: the same", 29, TENSOR_IQ2_S},
    {"IQ2_S", "2.4 bits on a grid: the same", 28, TENSOR_IQ2_XS},
    {"IQ2_XS", "2.3 bits on a grid: the same", 20, TENSOR_IQ2_XS},
    {"IQ2_XXS", "2.1 bits on a grid: the same", 19, TENSOR_IQ2_XXS},
    {"IQ1_M", "1.8 bits on a grid: the same", 31, TENSOR_IQ1_M},
    {"IQ1_S", "1.6 bits on a grid: the same", 24, TENSOR_IQ1_S},
    {"TQ2_0", "2.1 bits, for models that were trained with -1, 0 and 1", 37, TENSOR_TQ2_0},
    {"TQ1_0", "1.7 bits, for the same", 36, TENSOR_TQ1_0},
    {"Q2_0", "2.3 bits, for models that were trained with -1, 0, 1 and 2", 41, TENSOR_Q2_0},
    {"Q1_0", "1.1 bits, for models that were trained with -1 and 1", 40, TENSOR_Q1_0},
};
enum {
    FT_Q4_0 = 2,
    FT_Q5_0 = 8,
    FT_Q2_K = 10,
    FT_Q3_K_S = 11,
    FT_Q3_K_M = 12,
    FT_Q3_K_L = 13,
    FT_Q4_K_S = 14,
    FT_Q4_K_M = 15,
    FT_Q5_K_M = 17,
    FT_IQ2_XXS = 19,
    FT_IQ2_XS = 20,
    FT_Q2_K_S = 21,
    FT_IQ3_XS = 22,
    FT_IQ3_XXS = 23,
    FT_IQ1_S = 24,
    FT_IQ4_NL = 25,
    FT_IQ3_S = 26,
    FT_IQ3_M = 27,
    FT_IQ2_S = 28,
    FT_IQ2_M = 29,
    FT_IQ4_XS = 30,
    FT_IQ1_M = 31,
    FT_TQ1_0 = 36,
    FT_TQ2_0 = 37,
    FT_Q2_0 = 41,
};
// Sets of mixes, a bit for each file_type.
#define IN(ft) (1ull << FT_##ft)
#define IQ1    (IN(IQ1_S) | IN(IQ1_M))
#define IQ2_X  (IN(IQ2_XXS) | IN(IQ2_XS))
#define IQ2_SM (IN(IQ2_S) | IN(IQ2_M))
#define LOWEST (IQ1 | IQ2_X | IQ2_SM)
static bool is_in(uint64_t set, const struct mix *m) { return set >> m->file_type & 1; }

size_t mix_count(void) { return COUNT(mixes); }
const struct mix *mix_at(size_t i) { return &mixes[i]; }
const struct mix *mix_find(const char *name) {
    for (size_t i = 0; i < COUNT(mixes); i++)
        if (strcasecmp(mixes[i].name, name) == 0) return &mixes[i];
    return NULL;
}

bool type_is_plain(enum tensor_type type) { return tensor_type_info(type)->block_len == 1; }

enum part matrix_part(const char *name) {
    static const struct {
        const char *text;
        enum part part;
        bool is_whole;
    } names[] = {
        {"output.weight", PART_OUTPUT, true}, {"token_embd.weight", PART_EMBD, true},
        {"attn_v.weight", PART_V, false},     {"attn_qkv.weight", PART_V, false},
        {"attn_kv_b.weight", PART_V, false},  {"attn_k.weight", PART_K, false},
        {"attn_q.weight", PART_Q, false},     {"attn_output.weight", PART_ATTN_OUT, false},
        {"ffn_up", PART_UP, false},           {"ffn_gate", PART_GATE, false},
        {"ffn_down", PART_DOWN, false},
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (names[i].is_whole ? strcmp(name, names[i].text) == 0 : strstr(name, names[i].text) != NULL)
            return names[i].part;
    return PART_OTHER;
}

bool matrix_is_quantized(const char *name) {
    // Expert router, position embeddings, short convolutions and mixing vectors stored as matrices:
    // quantizing them saves little and loses much.
    static const char *const kept[] = {
        "_norm.weight", "ffn_gate_inp",   "position_embd", "token_types.weight",
        "ssm_conv1d",   "shortconv.conv", "time_mix_",     "attn_rel_b.weight",
        "patch_embd",   "altup",          "laurel",        "per_layer_model_proj",
    };
    const size_t n = strlen(name), n_end = sizeof "weight" - 1;
    if (n < n_end || strcmp(name + n - n_end, "weight") != 0) return false;
    for (size_t i = 0; i < COUNT(kept); i++)
        if (strstr(name, kept[i])) return false;
    return true;
}

// Conditions of rules. The first and last eighth of the layers, and every third in between, get
// more bits.
enum { EIGHT_EXPERTS = 8 };
typedef bool (*rule_fn)(const struct model_facts *model, const struct matrix_facts *f);
static bool ends_and_thirds(int32_t i, int32_t n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }
static bool more_bits_v(const struct model_facts *m, const struct matrix_facts *f) {
    return ends_and_thirds(f->layer, m->n_v);
}
static bool more_bits(const struct model_facts *m, const struct matrix_facts *f) {
    return ends_and_thirds(f->layer, m->n_layer);
}
static bool first_four(const struct model_facts *m, const struct matrix_facts *f) {
    (void)m;
    return f->layer < 4;
}
static bool first_eighth(const struct model_facts *m, const struct matrix_facts *f) {
    return f->layer < m->n_layer / 8;
}
static bool middle(const struct model_facts *m, const struct matrix_facts *f) {
    return f->layer >= m->n_layer / 8 && f->layer < 7 * m->n_layer / 8;
}
static bool unguided(const struct model_facts *m, const struct matrix_facts *f) {
    (void)f;
    return !m->has_imatrix;
}
static bool first_eighth_guided(const struct model_facts *m, const struct matrix_facts *f) {
    return m->has_imatrix && first_eighth(m, f);
}
static bool first_eighth_unguided(const struct model_facts *m, const struct matrix_facts *f) {
    return !m->has_imatrix && first_eighth(m, f);
}
static bool shared_by_four(const struct model_facts *m, const struct matrix_facts *f) {
    (void)f;
    return m->n_gqa >= 4;
}
static bool shared_by_four_or_experts(const struct model_facts *m, const struct matrix_facts *f) {
    return shared_by_four(m, f) || m->n_expert >= 4;
}
static bool eight_experts(const struct model_facts *m, const struct matrix_facts *f) {
    (void)f;
    return m->n_expert == EIGHT_EXPERTS;
}
static bool more_bits_of_eight(const struct model_facts *m, const struct matrix_facts *f) {
    return eight_experts(m, f) && more_bits(m, f);
}

static bool always(const struct model_facts *m, const struct matrix_facts *f) {
    (void)m, (void)f;
    return true;
}
static bool first_two(const struct model_facts *m, const struct matrix_facts *f) {
    (void)m;
    return f->layer < 2;
}
static bool first_sixteenth(const struct model_facts *m, const struct matrix_facts *f) {
    return f->layer < m->n_layer / 16;
}

// The last rule that holds counts.
static const struct rule {
    uint64_t mixes;
    enum part part;
    rule_fn holds;
    enum tensor_type type;
} rules[] = {
    {IN(Q4_K_M), PART_V, more_bits_v, TENSOR_Q6_K},
    {IN(Q4_K_M), PART_DOWN, more_bits, TENSOR_Q6_K},
    {IN(Q5_K_M), PART_V, more_bits_v, TENSOR_Q6_K},
    {IN(Q5_K_M), PART_DOWN, more_bits, TENSOR_Q6_K},
    {IN(Q4_K_S), PART_V, first_four, TENSOR_Q5_K},
    {IN(Q4_K_S), PART_DOWN, first_eighth, TENSOR_Q5_K},
    {IN(IQ4_NL), PART_V, shared_by_four, TENSOR_Q5_K},
    {IN(IQ4_NL), PART_DOWN, first_eighth_unguided, TENSOR_Q5_K},
    {IN(IQ4_XS), PART_V, shared_by_four, TENSOR_Q5_K},
    {IN(IQ4_XS), PART_DOWN, first_eighth_unguided, TENSOR_Q5_K},
    {IN(Q3_K_L), PART_V, always, TENSOR_Q5_K},
    {IN(Q3_K_L), PART_DOWN, always, TENSOR_Q5_K},
    {IN(Q3_K_L), PART_ATTN_OUT, always, TENSOR_Q5_K},
    {IN(Q3_K_M), PART_V, always, TENSOR_Q4_K},
    {IN(Q3_K_M), PART_V, first_two, TENSOR_Q5_K},
    {IN(Q3_K_M), PART_DOWN, always, TENSOR_Q4_K},
    {IN(Q3_K_M), PART_DOWN, first_sixteenth, TENSOR_Q5_K},
    {IN(Q3_K_M), PART_ATTN_OUT, always, TENSOR_Q4_K},
    {IN(Q2_K), PART_V, always, TENSOR_Q3_K},
    {IN(Q2_K), PART_V, shared_by_four, TENSOR_Q4_K},
    {IN(Q2_K), PART_DOWN, always, TENSOR_Q3_K},
    {IN(Q2_K), PART_ATTN_OUT, always, TENSOR_Q3_K},
    {IN(Q2_K_S), PART_V, shared_by_four, TENSOR_Q4_K},
    {IN(Q2_K_S), PART_DOWN, first_eighth, TENSOR_Q4_K},
    {IN(IQ3_M), PART_V, always, TENSOR_Q4_K},
    {IN(IQ3_M), PART_DOWN, first_eighth, TENSOR_Q4_K},
    {IN(IQ3_M), PART_DOWN, more_bits_of_eight, TENSOR_Q4_K},
    {IN(IQ3_M), PART_ATTN_OUT, always, TENSOR_Q4_K},
    {IN(IQ3_XXS), PART_V, unguided, TENSOR_IQ3_S},
    {IN(IQ3_XXS) | IN(IQ3_XS) | IN(IQ3_S), PART_V, shared_by_four, TENSOR_Q4_K},
    {IN(IQ3_XS), PART_Q, always, TENSOR_IQ3_XXS},
    {IN(IQ3_XS), PART_K, always, TENSOR_IQ3_XXS},
    {IN(IQ3_XS), PART_GATE, middle, TENSOR_IQ3_XXS},
    {IN(IQ3_XS), PART_UP, middle, TENSOR_IQ3_XXS},
    {IN(IQ3_XXS), PART_Q, always, TENSOR_IQ2_S},
    {IN(IQ3_XXS), PART_K, always, TENSOR_IQ2_S},
    {IN(IQ3_XXS), PART_DOWN, unguided, TENSOR_Q3_K},
    {IN(IQ3_XXS), PART_DOWN, first_eighth_unguided, TENSOR_Q4_K},
    {IN(IQ3_XXS), PART_ATTN_OUT, always, TENSOR_IQ3_S},
    {IN(IQ3_XXS) | IQ2_SM, PART_EMBD, always, TENSOR_IQ3_S},
    {IQ2_SM, PART_V, always, TENSOR_IQ3_S},
    {IQ2_SM, PART_DOWN, first_eighth, TENSOR_IQ3_S},
    {IQ2_SM, PART_ATTN_OUT, always, TENSOR_IQ3_S},
    {IQ2_X | IQ1, PART_EMBD, always, TENSOR_Q2_K},
    {IQ2_X | IQ1, PART_V, always, TENSOR_Q2_K},
    {IQ2_X | IQ1, PART_DOWN, first_eighth, TENSOR_Q2_K},
    {IQ1, PART_ATTN_OUT, always, TENSOR_IQ2_XXS},
    {LOWEST, PART_V, shared_by_four_or_experts, TENSOR_Q4_K},
    {LOWEST, PART_K, eight_experts, TENSOR_Q4_K},
    {LOWEST, PART_ATTN_OUT, eight_experts, TENSOR_Q5_K},
    {IN(TQ1_0) | IN(TQ2_0) | IN(Q2_0), PART_EMBD, always, TENSOR_Q4_K},
    {IN(Q4_0), PART_DOWN, first_eighth_guided, TENSOR_Q4_1},
    {IN(Q5_0), PART_DOWN, first_eighth_guided, TENSOR_Q5_1},
};

// With eight experts, attention is a small part of the file.
static enum tensor_type beside_experts(const struct mix *m, enum part part, enum tensor_type type) {
    static const uint64_t small = IN(Q2_K) | IN(Q3_K_S) | IN(Q3_K_M) | IN(Q4_K_S) | IN(Q4_K_M) | IN(IQ4_NL) |
                                  IN(IQ4_XS) | IN(IQ3_XXS) | IN(IQ3_XS) | IN(IQ3_S) | IN(IQ3_M);
    if (part == PART_V || part == PART_K) return TENSOR_Q8_0;
    if (part != PART_ATTN_OUT) return type;
    return is_in(small, m) ? TENSOR_Q5_K : m->base;
}

static enum tensor_type head_type(const struct mix *m, uint64_t row_len) {
    if (m->base == TENSOR_Q8_0 || row_len % tensor_type_info(m->base)->block_len != 0) return TENSOR_Q8_0;
    return is_in(LOWEST | IN(IQ3_XXS), m) ? TENSOR_Q5_K : TENSOR_Q6_K;
}

enum tensor_type mix_type(const struct mix *m, const struct model_facts *model, const struct matrix_facts *f) {
    enum { LAYERS_OF_70B = 80 };
    enum tensor_type type = m->base;
    if (type_is_plain(type)) return type;
    if (type == TENSOR_MXFP4) return f->is_experts ? TENSOR_MXFP4 : TENSOR_Q8_0;
    if (f->part == PART_OUTPUT || (f->part == PART_EMBD && model->is_tied)) return head_type(m, f->row_len);
    for (size_t i = 0; i < COUNT(rules); i++)
        if (is_in(rules[i].mixes, m) && rules[i].part == f->part && rules[i].holds(model, f)) type = rules[i].type;
    if (is_in(LOWEST, m)) return type;
    // In Llama's 70B eight query heads share each value head, so its value matrices are small.
    if (f->part == PART_V && model->n_layer == LAYERS_OF_70B && model->n_gqa > 1 &&
        (type == TENSOR_Q3_K || type == TENSOR_Q4_K))
        type = TENSOR_Q5_K;
    return model->n_expert == EIGHT_EXPERTS ? beside_experts(m, f->part, type) : type;
}

bool needs_importance(enum tensor_type type, enum part part) {
    if (part == PART_EMBD || part == PART_OUTPUT) return false;
    return type == TENSOR_IQ3_XXS || type == TENSOR_IQ2_S || type == TENSOR_IQ2_XS || type == TENSOR_IQ2_XXS ||
           type == TENSOR_IQ1_M || type == TENSOR_IQ1_S;
}

enum tensor_type mix_fallback(enum tensor_type type) {
    switch (type) {
    case TENSOR_Q1_0:
    case TENSOR_Q2_0:
    case TENSOR_TQ1_0:
    case TENSOR_TQ2_0:
    case TENSOR_Q2_K:
    case TENSOR_Q3_K: return TENSOR_Q4_0;
    case TENSOR_IQ1_S:
    case TENSOR_IQ1_M:
    case TENSOR_IQ2_XXS:
    case TENSOR_IQ2_XS:
    case TENSOR_IQ2_S:
    case TENSOR_IQ3_XXS:
    case TENSOR_IQ3_S:
    case TENSOR_IQ4_XS: return TENSOR_IQ4_NL;
    case TENSOR_Q4_K: return TENSOR_Q5_0;
    case TENSOR_Q5_K: return TENSOR_Q5_1;
    case TENSOR_Q6_K: return TENSOR_Q8_0;
    default: return TENSOR_F16;
    }
}
