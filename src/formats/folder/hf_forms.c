// formats/folder/hf_forms.c - see hf_forms.h.
#include "formats/folder/hf_forms.h"
#include <inttypes.h>

// ---- orders of rows: which row comes as row r -----------------------------------------------------------------------------

static uint64_t interleaved(const struct hf_sizes *s, uint64_t r) {
    const uint64_t half = s->head_dim / 2, h = r / s->head_dim, in = r % s->head_dim;
    return h * s->head_dim + in % 2 * half + in / 2;
}

static uint64_t halved(const struct hf_sizes *s, uint64_t r) {
    const uint64_t half = s->n_rot / 2, in = r % s->head_dim;
    return in >= s->n_rot ? r : r - in + in % half * 2 + in / half;
}

// [key head][queries of it, key, value] -> queries | keys | values.
static uint64_t grouped(const struct hf_sizes *s, uint64_t r) {
    const uint64_t d = s->head_dim, per_group = s->n_head / s->n_head_kv, group = (per_group + 2) * d;
    const uint64_t n_q = s->n_head * d, n_k = s->n_head_kv * d;
    if (r < n_q) return r / (per_group * d) * group + r % (per_group * d);
    const uint64_t part = r < n_q + n_k ? 0 : 1, in = r - n_q - part * n_k;
    return in / d * group + (per_group + part) * d + in % d;
}

// [key head][q, k, values, gates].
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

// [v][key head] of blocks of n rows from [key head][v].
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

// ---- how many rows a folder's tensor must have: 0: any ----------------------------------------------------------------------

static uint64_t of_queries(const struct hf_sizes *s) { return s->n_head * s->head_dim; }
static uint64_t of_keys(const struct hf_sizes *s) { return s->n_head_kv * s->head_dim; }
static uint64_t of_qkv(const struct hf_sizes *s) { return (s->n_head + 2 * s->n_head_kv) * s->head_dim; }
static uint64_t of_latent(const struct hf_sizes *s) { return s->n_head * (s->nope + s->value); }
static uint64_t of_qkvz(const struct hf_sizes *s) { return s->key_heads * qkvz_group(s); }
static uint64_t of_linear_qkv(const struct hf_sizes *s) {
    return 2 * s->key_heads * s->key_dim + s->value_heads * s->value_dim;
}
static uint64_t of_values(const struct hf_sizes *s) { return s->value_heads * s->value_dim; }
static uint64_t of_value_heads(const struct hf_sizes *s) { return s->value_heads; }

// ---- forms ----------------------------------------------------------------------------------------------------------

enum part { WHOLE, FIRST, SECOND, EVEN, ODD };

struct form {
    uint64_t (*n_rows)(const struct hf_sizes *s); // expected; NULL: any
    uint64_t (*row_of)(const struct hf_sizes *s, uint64_t row);
    enum hf_change change;
    enum part rows, cols;
    bool turned, by_column;
};
static const struct form forms[HF_N_FORMS] = {
    [HF_QUERIES_INTERLEAVED] = {of_queries, interleaved},
    [HF_KEYS_INTERLEAVED] = {of_keys, interleaved},
    [HF_QUERIES_HALVED] = {of_queries, halved},
    [HF_KEYS_HALVED] = {of_keys, halved},
    [HF_PLUS_ONE] = {.change = HF_NUMBERS_PLUS_1},
    [HF_TRANSPOSED] = {.turned = true},
    [HF_QKV_GROUPED] = {of_qkv, grouped},
    [HF_FIRST_HALF] = {.rows = FIRST},
    [HF_SECOND_HALF] = {.rows = SECOND},
    [HF_EVEN] = {.cols = EVEN},
    [HF_ODD] = {.cols = ODD},
    [HF_TRANSPOSED_FIRST_HALF] = {.cols = FIRST, .turned = true},
    [HF_TRANSPOSED_SECOND_HALF] = {.cols = SECOND, .turned = true},
    [HF_TRANSPOSED_EVEN] = {.cols = EVEN, .turned = true},
    [HF_TRANSPOSED_ODD] = {.cols = ODD, .turned = true},
    [HF_MINUS_EXP] = {.change = HF_NUMBERS_MINUS_EXP},
    [HF_MINUS_EXP_COLUMN] = {.change = HF_NUMBERS_MINUS_EXP},
    [HF_KEYS_OF_LATENT] = {of_latent, .turned = true},
    [HF_VALUES_OF_LATENT] = {of_latent},
    [HF_QKV_OF_QKVZ] = {of_qkvz, qkv_of_qkvz},
    [HF_Z_OF_QKVZ] = {of_qkvz, z_of_qkvz},
    [HF_TILED_QKV] = {of_linear_qkv, tiled_qkv},
    [HF_TILED_ROWS] = {of_values, tiled_rows},
    [HF_TILED_HEADS] = {of_value_heads, tiled_heads},
    [HF_TILED_COLUMNS] = {NULL, tiled_rows, .by_column = true},
    [HF_TILED_CONV] = {of_linear_qkv, tiled_qkv},
    [HF_TILED_MINUS_EXP] = {of_value_heads, tiled_heads, HF_NUMBERS_MINUS_EXP},
};

static rn_status take_part(enum part part, const char *what, uint64_t n, uint64_t *from, uint64_t *step,
                           uint64_t *taken, rn_error *err) {
    if (part != WHOLE && (n % 2 != 0 || n == 0))
        return fail(err, RN_E_FORMAT, "%" PRIu64 " %s, where two halves are expected", n, what);
    *from = part == SECOND ? n / 2 : part == ODD ? 1 : 0;
    *step = part == EVEN || part == ODD ? 2 : 1;
    *taken = part == WHOLE ? n : n / 2;
    return RN_OK;
}

// Shapes that are no matter of rows and columns.
static rn_status reshape(enum hf_form form, const struct hf_sizes *s, const struct safetensors_record *t,
                         struct hf_plan *p, rn_error *err) {
    switch (form) {
    case HF_SQUEEZED:
    case HF_TILED_CONV:
        if (t->n_dims != 3 || t->dims[1] != 1)
            return fail(err, RN_E_FORMAT, "is no [channels, 1, taps] of a convolution");
        p->n_mats = 1;
        p->n_rows = p->rows_taken = t->dims[0];
        break;
    case HF_FLAT:
        if (p->n_rows != 1 || t->n_dims != 2) return fail(err, RN_E_FORMAT, "is no [1, n]");
        p->n_dims = 1;
        break;
    case HF_COLUMN:
    case HF_MINUS_EXP_COLUMN:
        if (t->n_dims != 1) return fail(err, RN_E_FORMAT, "%d dimensions, where one is expected", t->n_dims);
        p->n_rows = p->rows_taken = t->dims[0];
        p->n_cols = p->cols_taken = 1;
        p->n_dims = 2;
        break;
    case HF_BY_GROUP:
        if (t->n_dims != 1 || t->dims[0] % s->groups != 0)
            return fail(err, RN_E_FORMAT, "%" PRIu64 " numbers for %" PRIu64 " groups", t->n_dims ? t->dims[0] : 0,
                        s->groups);
        p->n_rows = p->rows_taken = s->groups;
        p->n_cols = p->cols_taken = t->dims[0] / s->groups;
        p->n_dims = 2;
        break;
    case HF_WITHOUT_FIRST_TWO:
        if (p->n_rows <= 2)
            return fail(err, RN_E_FORMAT, "%" PRIu64 " rows, where more than 2 are expected", p->n_rows);
        p->row_from = 2;
        p->rows_taken -= 2;
        break;
    case HF_KEYS_OF_LATENT: // n_rows was checked
    case HF_VALUES_OF_LATENT:
        p->n_mats = s->n_head;
        p->n_rows = s->nope + s->value;
        p->row_from = form == HF_KEYS_OF_LATENT ? 0 : s->nope;
        p->rows_taken = form == HF_KEYS_OF_LATENT ? s->nope : s->value;
        p->n_dims = 3;
        break;
    case HF_QKV_OF_QKVZ: p->rows_taken = of_linear_qkv(s); break;
    case HF_Z_OF_QKVZ: p->rows_taken = of_values(s); break;
    case HF_TILED_COLUMNS:
        if (p->n_cols != of_values(s))
            return fail(err, RN_E_FORMAT, "%" PRIu64 " columns, where config.json says %" PRIu64 " heads of %" PRIu64,
                        p->n_cols, s->value_heads, s->value_dim);
        break;
    default: break;
    }
    return RN_OK;
}

// A vector is seen as rows of one number where its order changes by rows, else as one row.
static void see(const struct form *f, const struct safetensors_record *t, struct hf_plan *p) {
    const bool rows_of_one = t->n_dims == 1 && f->row_of && !f->by_column;
    *p = (struct hf_plan){.n_mats = 1, .n_rows = 1, .n_cols = 1, .n_dims = t->n_dims};
    if (t->n_dims == 1)
        *(rows_of_one ? &p->n_rows : &p->n_cols) = t->dims[0];
    else {
        p->n_cols = t->dims[t->n_dims - 1];
        p->n_rows = t->dims[t->n_dims - 2];
        for (int d = 0; d < t->n_dims - 2; d++) p->n_mats *= t->dims[d]; // of a tensor that lies in a file
    }
}

static void set_shape(const struct hf_plan *from, const struct safetensors_record *t, struct hf_plan *p) {
    const uint64_t rows = from->turned ? from->cols_taken : from->rows_taken,
                   cols = from->turned ? from->rows_taken : from->cols_taken;
    for (int d = 0; d < PACKAGE_MAX_DIMS; d++) p->ne[d] = 1;
    if (p->n_dims == 1) {
        p->ne[0] = rows * cols;
        return;
    }
    p->ne[0] = cols;
    p->ne[1] = rows;
    if (p->n_dims == 3) p->ne[2] = from->n_mats;
    if (p->n_dims == 4) {
        p->ne[2] = t->dims[1];
        p->ne[3] = t->dims[0];
    }
}

rn_status hf_plan(enum hf_form form, const struct hf_sizes *s, const struct safetensors_record *t,
                  struct hf_plan *out, rn_error *err) {
    const struct form *f = &forms[form];
    if (t->n_dims == 0) return fail(err, RN_E_FORMAT, "is a single number without a shape");
    see(f, t, out);
    out->row_of = f->row_of;
    out->by_column = f->by_column;
    out->change = f->change;
    out->turned = f->turned;
    const bool conv = form == HF_TILED_CONV;
    const uint64_t want = f->n_rows ? f->n_rows(s) : 0, got = conv ? t->dims[0] : out->n_rows;
    if (f->n_rows && t->n_dims > (conv ? 3 : 2))
        return fail(err, RN_E_FORMAT, "%d dimensions, where at most %d are expected", t->n_dims, conv ? 3 : 2);
    if (f->n_rows && want != got)
        return fail(err, RN_E_FORMAT, "%" PRIu64 " rows, where %" PRIu64 " are expected", got, want);
    rn_status st = take_part(f->rows, "rows", out->n_rows, &out->row_from, &out->row_step, &out->rows_taken, err);
    if (st == RN_OK)
        st = take_part(f->cols, "columns", out->n_cols, &out->col_from, &out->col_step, &out->cols_taken, err);
    if (st == RN_OK) st = reshape(form, s, t, out, err);
    if (st != RN_OK) return st;
    if (form == HF_SQUEEZED || conv) out->n_dims = 2;
    set_shape(out, t, out);
    return RN_OK;
}

bool hf_plan_is_view(const struct hf_plan *p, uint64_t *first) {
    *first = p->row_from * p->n_cols;
    if (p->turned || p->row_of || p->change != HF_NUMBERS_KEPT || p->row_step != 1) return false;
    return p->cols_taken == p->n_cols && (p->n_mats == 1 || p->rows_taken == p->n_rows);
}

enum tensor_type hf_plan_type(const struct hf_plan *p, enum tensor_type type) {
    return p->change == HF_NUMBERS_KEPT ? type : TENSOR_F32;
}
