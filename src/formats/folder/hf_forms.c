// formats/folder/hf_forms.c - see hf_forms.h.
#include "formats/folder/hf_forms.h"
#include <inttypes.h>

// ---- row orders: source row of row r ------------------------------------------------------------

static uint64_t interleaved(const struct hf_sizes *s, uint64_t r) {
    const uint64_t n_rot = s->n_rot ? s->n_rot : s->head_dim, half = n_rot / 2, in = r % s->head_dim;
    return in >= n_rot ? r : r - in + in % 2 * half + in / 2;
}

static uint64_t halved(const struct hf_sizes *s, uint64_t r) {
    const uint64_t half = s->n_rot / 2, in = r % s->head_dim;
    return in >= s->n_rot ? r : r - in + in % half * 2 + in / half;
}

// The last n_rot of n rows, halves to pairs.
static uint64_t rotated_pairs(const struct hf_sizes *s, uint64_t r, uint64_t n) {
    const uint64_t in = r % n, at = in - (n - s->n_rot);
    return in < n - s->n_rot ? r : r - at + at % 2 * (s->n_rot / 2) + at / 2;
}
static uint64_t latent_queries(const struct hf_sizes *s, uint64_t r) {
    return rotated_pairs(s, r, s->nope + s->n_rot);
}
static uint64_t latent_keys(const struct hf_sizes *s, uint64_t r) { return rotated_pairs(s, r, s->head_dim); }

// [key head][queries of it, key, value] -> queries | keys | values.
static uint64_t grouped(const struct hf_sizes *s, uint64_t r) {
    const uint64_t d = s->head_dim, per_group = s->n_head / s->n_head_kv, group = (per_group + 2) * d;
    const uint64_t n_q = s->n_head * d, n_k = s->n_head_kv * d;
    if (r < n_q) return r / (per_group * d) * group + r % (per_group * d);
    const uint64_t part = r < n_q + n_k ? 0 : 1, in = r - n_q - part * n_k;
    return in / d * group + (per_group + part) * d + in % d;
}

static uint64_t grouped_queries(const struct hf_sizes *s, uint64_t r) { return grouped(s, interleaved(s, r)); }
static uint64_t grouped_keys(const struct hf_sizes *s, uint64_t r) {
    return grouped(s, s->n_head * s->head_dim + interleaved(s, r));
}
static uint64_t grouped_values(const struct hf_sizes *s, uint64_t r) {
    return grouped(s, (s->n_head + s->n_head_kv) * s->head_dim + r);
}

static uint64_t packed_keys(const struct hf_sizes *s, uint64_t r) {
    return s->n_head * s->head_dim + interleaved(s, r);
}
static uint64_t packed_values(const struct hf_sizes *s, uint64_t r) {
    return (s->n_head + s->n_head_kv) * s->head_dim + r;
}

static uint64_t spread(const struct hf_sizes *s, uint64_t r) {
    const uint64_t head = r / s->head_dim, per_group = s->n_head / s->n_head_kv;
    return (head % per_group * s->n_head_kv + head / per_group) * s->head_dim + r % s->head_dim;
}

// Source rows are [key head][q, k, values, gates].
static uint64_t qkvz_group(const struct hf_sizes *s) {
    return 2 * s->key_dim + 2 * (s->value_heads / s->key_heads) * s->value_dim;
}
static uint64_t qkv_of_qkvz(const struct hf_sizes *s, uint64_t r) {
    const uint64_t n_k = s->key_heads * s->key_dim, v = s->value_heads / s->key_heads * s->value_dim;
    if (r < n_k) return r / s->key_dim * qkvz_group(s) + r % s->key_dim;
    if (r < 2 * n_k) return (r - n_k) / s->key_dim * qkvz_group(s) + s->key_dim + r % s->key_dim;
    const uint64_t in = r - 2 * n_k;
    return in / v * qkvz_group(s) + 2 * s->key_dim + in % v;
}
static uint64_t z_of_qkvz(const struct hf_sizes *s, uint64_t r) {
    const uint64_t v = s->value_heads / s->key_heads * s->value_dim;
    return r / v * qkvz_group(s) + 2 * s->key_dim + v + r % v;
}

// Reorders blocks of n rows from [key head][v] to [v][key head].
static uint64_t tiled(const struct hf_sizes *s, uint64_t r, uint64_t n) {
    const uint64_t head = r / n, per_key = s->value_heads / s->key_heads;
    return (head % s->key_heads * per_key + head / s->key_heads) * n + r % n;
}
static uint64_t tiled_rows(const struct hf_sizes *s, uint64_t r) { return tiled(s, r, s->value_dim); }
static uint64_t tiled_heads(const struct hf_sizes *s, uint64_t r) { return tiled(s, r, 1); }
static uint64_t tiled_qkv(const struct hf_sizes *s, uint64_t r) {
    const uint64_t n_qk = 2 * s->key_heads * s->key_dim;
    return r < n_qk ? r : n_qk + tiled_rows(s, r - n_qk);
}

// Of five for r, k, v, w and g, which of them comes as the one for w, k, v, r and g.
static uint64_t mixes(const struct hf_sizes *s, uint64_t m) {
    static const uint8_t from[] = {3, 1, 2, 0, 4};
    (void)s;
    return m < sizeof from ? from[m] : m;
}
static uint64_t mixes_of_columns(const struct hf_sizes *s, uint64_t c) {
    return mixes(s, c / s->mix_rank) * s->mix_rank + c % s->mix_rank;
}

// ---- factors of rows --------------------------------------------------------------------------------------------------------

static double factor(const struct hf_sizes *s, enum hf_factor f) { return (double)s->factors[f]; }
#define FACTOR(name, value)                                                                                          \
    static double name(const struct hf_sizes *s, uint64_t row) {                                                     \
        (void)row;                                                                                                   \
        return value;                                                                                                \
    }
FACTOR(of_embedding, factor(s, HF_FACTOR_EMBEDDING))
FACTOR(of_head, factor(s, HF_FACTOR_HEAD))
FACTOR(of_attention_in, factor(s, HF_FACTOR_ATTENTION_IN))
FACTOR(of_key, factor(s, HF_FACTOR_KEY) * factor(s, HF_FACTOR_ATTENTION_IN))
FACTOR(of_key_bias, factor(s, HF_FACTOR_KEY))
FACTOR(of_attention_out, factor(s, HF_FACTOR_ATTENTION_OUT))
FACTOR(of_gate, factor(s, HF_FACTOR_GATE))
FACTOR(of_down, factor(s, HF_FACTOR_DOWN))
FACTOR(of_rescale, s->rescale)
FACTOR(of_ssm_out, factor(s, HF_FACTOR_SSM_OUT))

static double of_ssm_in_bias(const struct hf_sizes *s, uint64_t row) {
    const uint64_t n_x = s->value_heads * s->value_dim, n_b = s->groups * s->key_dim;
    const uint64_t ends[] = {n_x, 2 * n_x, 2 * n_x + n_b, 2 * n_x + 2 * n_b};
    size_t i = 0;
    while (i < sizeof ends / sizeof *ends && row >= ends[i]) i++;
    return factor(s, (enum hf_factor)(HF_FACTOR_SSM_Z + i));
}
static double of_ssm_in(const struct hf_sizes *s, uint64_t row) {
    return of_ssm_in_bias(s, row) * factor(s, HF_FACTOR_SSM_IN);
}

static uint64_t other_half(const struct hf_sizes *s, uint64_t c) { return (c + s->n_embd) % (2 * s->n_embd); }

// ---- number of rows that a folder's tensor must have --------------------------------------------

static uint64_t of_queries(const struct hf_sizes *s) { return s->n_head * s->head_dim; }
static uint64_t of_latent_queries(const struct hf_sizes *s) { return s->n_head * (s->nope + s->n_rot); }
static uint64_t of_latent_keys(const struct hf_sizes *s) { return s->head_dim; }
static uint64_t of_keys(const struct hf_sizes *s) { return s->n_head_kv * s->head_dim; }
static uint64_t of_qkv(const struct hf_sizes *s) { return (s->n_head + 2 * s->n_head_kv) * s->head_dim; }
static uint64_t of_qkvz(const struct hf_sizes *s) { return s->key_heads * qkvz_group(s); }
static uint64_t of_linear_qkv(const struct hf_sizes *s) {
    return 2 * s->key_heads * s->key_dim + s->value_heads * s->value_dim;
}
static uint64_t of_values(const struct hf_sizes *s) { return s->value_heads * s->value_dim; }
static uint64_t of_value_heads(const struct hf_sizes *s) { return s->value_heads; }

// ---- views: a tensor as n_mats matrices of n_rows rows of n_cols numbers, and its n_dims dimensions in GGUF

typedef rn_status see_fn(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                         rn_error *err);

static void see_as(struct hf_plan *p, uint64_t n_mats, uint64_t n_rows, uint64_t n_cols, int n_dims) {
    p->n_mats = n_mats;
    p->n_rows = n_rows;
    p->n_cols = n_cols;
    p->n_dims = n_dims;
}

// The last two dimensions are a matrix; a vector is one row.
static rn_status matrices(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                          rn_error *err) {
    uint64_t n_mats = 1;
    (void)s, (void)err;
    for (int d = 0; d < t->n_dims - 2; d++) n_mats *= t->dims[d]; // no overflow: the tensor is in a file
    see_as(p, n_mats, t->n_dims > 1 ? t->dims[t->n_dims - 2] : 1, t->dims[t->n_dims - 1], t->n_dims);
    return RN_OK;
}

// One matrix; a vector becomes rows of one number each.
static rn_status rows(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                      rn_error *err) {
    (void)s;
    if (t->n_dims > 2) return fail(err, RN_E_FORMAT, "%d dimensions, where at most 2 are expected", t->n_dims);
    see_as(p, 1, t->dims[0], t->n_dims == 2 ? t->dims[1] : 1, t->n_dims);
    return RN_OK;
}

// [channels, 1, taps] -> [channels, taps]
static rn_status convolution(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                             rn_error *err) {
    (void)s;
    if (t->n_dims != 3 || t->dims[1] != 1)
        return fail(err, RN_E_FORMAT, "is not [channels, 1, taps], the shape of a convolution");
    see_as(p, 1, t->dims[0], t->dims[2], 2);
    return RN_OK;
}

// [1, n] -> [n]
static rn_status flat(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                      rn_error *err) {
    (void)s;
    if (t->n_dims != 2 || t->dims[0] != 1) return fail(err, RN_E_FORMAT, "is no [1, n]");
    see_as(p, 1, 1, t->dims[1], 1);
    return RN_OK;
}

static rn_status vector(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                        rn_error *err) {
    uint64_t n = 1;
    (void)s, (void)err;
    for (int d = 0; d < t->n_dims; d++) n *= t->dims[d]; // no overflow: the tensor is in a file
    see_as(p, 1, 1, n, 1);
    return RN_OK;
}

// [n] -> [n, 1]
static rn_status column(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                        rn_error *err) {
    (void)s;
    if (t->n_dims != 1) return fail(err, RN_E_FORMAT, "%d dimensions, where one is expected", t->n_dims);
    see_as(p, 1, t->dims[0], 1, 2);
    return RN_OK;
}

// [n] -> [groups, n / groups]
static rn_status groups(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                        rn_error *err) {
    if (t->n_dims != 1 || s->groups == 0 || t->dims[0] % s->groups != 0)
        return fail(err, RN_E_FORMAT, "%" PRIu64 " numbers for %" PRIu64 " groups", t->dims[0], s->groups);
    see_as(p, 1, s->groups, t->dims[0] / s->groups, 2);
    return RN_OK;
}

// [experts * rows, width] -> [experts, rows, width]
static rn_status experts(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                         rn_error *err) {
    if (t->n_dims != 2 || s->n_expert == 0 || t->dims[0] % s->n_expert != 0)
        return fail(err, RN_E_FORMAT, "%" PRIu64 " rows for %" PRIu64 " experts", t->dims[0], s->n_expert);
    see_as(p, s->n_expert, t->dims[0] / s->n_expert, t->dims[1], 3);
    return RN_OK;
}

static rn_status expect_rows(uint64_t got, uint64_t want, rn_error *err) {
    if (got == want) return RN_OK;
    return fail(err, RN_E_FORMAT, "%" PRIu64 " rows, where %" PRIu64 " are expected", got, want);
}

// [heads * (nope + value), width] -> [heads, nope + value, width]
static rn_status latent_heads(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                              rn_error *err) {
    rn_status st = rows(s, t, p, err);
    if (st == RN_OK) st = expect_rows(t->n_dims == 2 ? p->n_rows : 1, s->n_head * (s->nope + s->value), err);
    if (st == RN_OK) see_as(p, s->n_head, s->nope + s->value, p->n_cols, 3);
    return st;
}

static rn_status columns_of_values(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                                   rn_error *err) {
    (void)matrices(s, t, p, err);
    if (p->n_cols == of_values(s)) return RN_OK;
    return fail(err, RN_E_FORMAT, "%" PRIu64 " columns, where config.json says %" PRIu64 " heads of %" PRIu64,
                p->n_cols, s->value_heads, s->value_dim);
}

static rn_status columns_of_queries(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                                    rn_error *err) {
    (void)matrices(s, t, p, err);
    if (p->n_cols == of_queries(s)) return RN_OK;
    return fail(err, RN_E_FORMAT, "%" PRIu64 " columns, where config.json says %" PRIu64 " heads of %" PRIu64,
                p->n_cols, s->n_head, s->head_dim);
}

static rn_status columns_of_mixes(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                                  rn_error *err) {
    (void)matrices(s, t, p, err);
    if (p->n_cols == 5 * s->mix_rank) return RN_OK;
    return fail(err, RN_E_FORMAT, "%" PRIu64 " columns, where config.json says 5 times %" PRIu64, p->n_cols,
                s->mix_rank);
}

static rn_status five_matrices(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                               rn_error *err) {
    (void)matrices(s, t, p, err);
    return p->n_mats == 5 ? RN_OK : fail(err, RN_E_FORMAT, "%" PRIu64 " matrices, where 5 are expected", p->n_mats);
}

static rn_status columns_of_pairs(const struct hf_sizes *s, const struct safetensors_record *t, struct hf_plan *p,
                                  rn_error *err) {
    (void)matrices(s, t, p, err);
    if (p->n_cols == 2 * s->n_embd) return RN_OK;
    return fail(err, RN_E_FORMAT, "%" PRIu64 " columns, where config.json says twice %" PRIu64, p->n_cols, s->n_embd);
}

// ---- parts: the rows or columns that are taken --------------------------------------------------

enum part { WHOLE, FIRST, SECOND, EVEN, ODD, WITHOUT_FIRST_TWO, NOPE, VALUE, LINEAR_QKV, GATES, QUERIES, KEYS };

static rn_status take(enum part part, const struct hf_sizes *s, const char *what, uint64_t n, uint64_t *from,
                      uint64_t *step, uint64_t *taken, rn_error *err) {
    const struct {
        uint64_t from, step, taken;
    } parts[] = {
        [WHOLE] = {0, 1, n},
        [FIRST] = {0, 1, n / 2},
        [SECOND] = {n / 2, 1, n / 2},
        [EVEN] = {0, 2, n / 2},
        [ODD] = {1, 2, n / 2},
        [WITHOUT_FIRST_TWO] = {2, 1, n - 2},
        [NOPE] = {0, 1, s->nope},
        [VALUE] = {s->nope, 1, s->value},
        [LINEAR_QKV] = {0, 1, of_linear_qkv(s)}, // row_of selects the rows
        [GATES] = {0, 1, of_values(s)},
        [QUERIES] = {0, 1, of_queries(s)},
        [KEYS] = {0, 1, of_keys(s)},
    };
    if (part >= FIRST && part <= ODD && (n % 2 != 0 || n == 0))
        return fail(err, RN_E_FORMAT, "%" PRIu64 " %s, where two halves are expected", n, what);
    if (part == WITHOUT_FIRST_TWO && n <= 2)
        return fail(err, RN_E_FORMAT, "%" PRIu64 " %s, where more than 2 are expected", n, what);
    *from = parts[part].from;
    *step = parts[part].step;
    *taken = parts[part].taken;
    return RN_OK;
}

// ---- forms: view, part, row order and change of the numbers -------------------------------------

struct form {
    see_fn *see;                                  // NULL: matrices
    uint64_t (*n_rows)(const struct hf_sizes *s); // required number of rows; NULL: any
    uint64_t (*row_of)(const struct hf_sizes *s, uint64_t row);
    enum part rows, cols;
    enum hf_change change;
    bool turned;    // transposed
    bool by_column; // row_of orders columns, not rows
    bool by_matrix; // or matrices
    double (*factor_of)(const struct hf_sizes *s, uint64_t row);
    double plus;
};
#define PLUS(number) .change = HF_NUMBERS_PLUS, .plus = number
#define TIMES(of)    .change = HF_ROWS_TIMES, .factor_of = of
static const struct form forms[HF_N_FORMS] = {
    [HF_QUERIES_INTERLEAVED] = {rows, of_queries, interleaved},
    [HF_KEYS_INTERLEAVED] = {rows, of_keys, interleaved},
    [HF_QUERIES_HALVED] = {rows, of_queries, halved},
    [HF_KEYS_HALVED] = {rows, of_keys, halved},
    [HF_PLUS_ONE] = {PLUS(1)},
    [HF_PLUS_FIFTH] = {PLUS(0.2)},
    [HF_PLUS_LESS] = {PLUS(0.08944271909999159)}, // 5^-1.5
    [HF_TRANSPOSED] = {.turned = true},
    [HF_QKV_GROUPED] = {rows, of_qkv, grouped},
    [HF_GROUPED_QUERIES] = {rows, of_qkv, grouped_queries, QUERIES},
    [HF_GROUPED_KEYS] = {rows, of_qkv, grouped_keys, KEYS},
    [HF_GROUPED_VALUES] = {rows, of_qkv, grouped_values, KEYS},
    [HF_PACKED_QUERIES] = {rows, of_qkv, interleaved, QUERIES},
    [HF_PACKED_KEYS] = {rows, of_qkv, packed_keys, KEYS},
    [HF_PACKED_VALUES] = {rows, of_qkv, packed_values, KEYS},
    [HF_SPREAD_QUERIES] = {rows, of_queries, spread},
    [HF_SPREAD_COLUMNS] = {columns_of_queries, NULL, spread, .by_column = true},
    [HF_SPLIT_EXPERTS] = {experts},
    [HF_SPLIT_EXPERTS_TURNED] = {experts, .turned = true},
    [HF_NORMED_HEAD] = {rows, .change = HF_ROWS_OF_LENGTH_1},
    [HF_FIRST_HALF] = {.rows = FIRST},
    [HF_SECOND_HALF] = {.rows = SECOND},
    [HF_EVEN] = {.cols = EVEN},
    [HF_ODD] = {.cols = ODD},
    [HF_TRANSPOSED_FIRST_HALF] = {.cols = FIRST, .turned = true},
    [HF_TRANSPOSED_SECOND_HALF] = {.cols = SECOND, .turned = true},
    [HF_TRANSPOSED_EVEN] = {.cols = EVEN, .turned = true},
    [HF_TRANSPOSED_ODD] = {.cols = ODD, .turned = true},
    [HF_WITHOUT_FIRST_TWO] = {.rows = WITHOUT_FIRST_TWO},
    [HF_FLAT] = {flat},
    [HF_AS_VECTOR] = {vector},
    [HF_SQUEEZED] = {convolution},
    [HF_COLUMN] = {column},
    [HF_BY_GROUP] = {groups},
    [HF_MINUS_EXP] = {.change = HF_NUMBERS_MINUS_EXP},
    [HF_MINUS_EXP_COLUMN] = {column, .change = HF_NUMBERS_MINUS_EXP},
    [HF_KEYS_OF_LATENT] = {latent_heads, .rows = NOPE, .turned = true},
    [HF_VALUES_OF_LATENT] = {latent_heads, .rows = VALUE},
    [HF_LATENT_QUERIES_INTERLEAVED] = {rows, of_latent_queries, latent_queries},
    [HF_LATENT_KEYS_INTERLEAVED] = {rows, of_latent_keys, latent_keys},
    [HF_QKV_OF_QKVZ] = {rows, of_qkvz, qkv_of_qkvz, LINEAR_QKV},
    [HF_Z_OF_QKVZ] = {rows, of_qkvz, z_of_qkvz, GATES},
    [HF_TILED_QKV] = {rows, of_linear_qkv, tiled_qkv},
    [HF_TILED_ROWS] = {rows, of_values, tiled_rows},
    [HF_TILED_HEADS] = {rows, of_value_heads, tiled_heads},
    [HF_TILED_COLUMNS] = {columns_of_values, NULL, tiled_rows, .by_column = true},
    [HF_TILED_CONV] = {convolution, of_linear_qkv, tiled_qkv},
    [HF_TILED_MINUS_EXP] = {rows, of_value_heads, tiled_heads, .change = HF_NUMBERS_MINUS_EXP},
    [HF_HALVES_SWAPPED] = {columns_of_pairs, NULL, other_half, .by_column = true},
    [HF_TIMES_EMBEDDING] = {TIMES(of_embedding)},
    [HF_TIMES_HEAD] = {TIMES(of_head)},
    [HF_TIMES_ATTENTION_IN] = {TIMES(of_attention_in)},
    [HF_TIMES_KEY] = {TIMES(of_key)},
    [HF_TIMES_KEY_BIAS] = {TIMES(of_key_bias)},
    [HF_TIMES_ATTENTION_OUT] = {TIMES(of_attention_out)},
    [HF_TIMES_GATE] = {TIMES(of_gate)},
    [HF_TIMES_DOWN] = {TIMES(of_down)},
    [HF_TIMES_SSM_IN] = {rows, TIMES(of_ssm_in)},
    [HF_TIMES_SSM_IN_BIAS] = {rows, TIMES(of_ssm_in_bias)},
    [HF_TIMES_SSM_OUT] = {TIMES(of_ssm_out)},
    [HF_TIMES_RESCALE] = {TIMES(of_rescale)},
    [HF_TRANSPOSED_MIXES] = {columns_of_mixes, NULL, mixes_of_columns, .turned = true, .by_column = true},
    [HF_MIXES_TRANSPOSED] = {five_matrices, NULL, mixes, .turned = true, .by_matrix = true},
};

// Would the factors leave every row as it is?
static bool changes_nothing(const struct hf_plan *p, const struct hf_sizes *s) {
    uint64_t r = 0;
    while (r < p->n_rows && p->factor_of(s, r) == 1) r++;
    return r == p->n_rows;
}

static void set_shape(struct hf_plan *p, const struct safetensors_record *t) {
    const uint64_t n_rows = p->turned ? p->cols_taken : p->rows_taken,
                   n_cols = p->turned ? p->rows_taken : p->cols_taken;
    for (int d = 0; d < PACKAGE_MAX_DIMS; d++) p->ne[d] = 1;
    if (p->n_dims == 1) {
        p->ne[0] = n_rows * n_cols;
        return;
    }
    p->ne[0] = n_cols;
    p->ne[1] = n_rows;
    if (p->n_dims == 3) p->ne[2] = p->n_mats;
    if (p->n_dims == 4) {
        p->ne[2] = t->dims[1];
        p->ne[3] = t->dims[0];
    }
}

rn_status hf_plan(enum hf_form form, const struct hf_sizes *s, const struct safetensors_record *t,
                  struct hf_plan *out, rn_error *err) {
    const struct form *const f = &forms[form];
    struct hf_plan *const p = out;
    if (t->n_dims == 0) return fail(err, RN_E_FORMAT, "is a single number without a shape");
    *p = (struct hf_plan){.row_of = f->row_of,
                          .by_column = f->by_column,
                          .by_matrix = f->by_matrix,
                          .change = f->change,
                          .factor_of = f->factor_of,
                          .plus = f->plus,
                          .turned = f->turned};
    if (f->factor_of && !s->factors)
        return fail(err, RN_E_UNSUPPORTED, "the model multiplies it by a factor that only its folder says");
    if (form == HF_NORMED_HEAD && !s->head_is_normed) p->change = HF_NUMBERS_KEPT;
    rn_status st = (f->see ? f->see : matrices)(s, t, p, err);
    if (st == RN_OK && f->n_rows) st = expect_rows(p->n_rows, f->n_rows(s), err);
    if (st == RN_OK) st = take(f->rows, s, "rows", p->n_rows, &p->row_from, &p->row_step, &p->rows_taken, err);
    if (st == RN_OK) st = take(f->cols, s, "columns", p->n_cols, &p->col_from, &p->col_step, &p->cols_taken, err);
    if (st == RN_OK) set_shape(p, t);
    if (st == RN_OK && p->factor_of && changes_nothing(p, s)) p->change = HF_NUMBERS_KEPT;
    return st;
}

bool hf_plan_is_view(const struct hf_plan *p, uint64_t *first) {
    *first = p->row_from * p->n_cols;
    if (p->turned || p->row_of || p->change != HF_NUMBERS_KEPT || p->row_step != 1) return false;
    return p->cols_taken == p->n_cols && (p->n_mats == 1 || p->rows_taken == p->n_rows);
}

enum tensor_type hf_plan_type(const struct hf_plan *p, enum tensor_type type) {
    return p->change == HF_NUMBERS_KEPT ? type : TENSOR_F32;
}
