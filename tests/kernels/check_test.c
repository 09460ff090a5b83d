// tests/kernels/check_test.c - every slot of every CPU set against ref, bit by bit, on data and shapes that kernels get wrong.
// A slot of the table that no check covers fails the last test.
#include "kernels/probe.h"
#include "tensor/iq_blocks.h"
#include "tests/kernels/harness.h"
#include "tests/support/any_blocks.h"

static const struct kernel_set *ref;
static bool only_covering; // mark what would be checked, and return
static bool covered[sizeof(struct kernel_set) / sizeof(void *)];

// Slots of the table [from, from + n_bytes) are compared by the running check (or are data that it uses).
static void cover(const struct kernel_set *set, const void *from, size_t n_bytes) {
    const size_t first = (size_t)((const char *)from - (const char *)set) / sizeof(void *);
    for (size_t i = first; i < first + (n_bytes + sizeof(void *) - 1) / sizeof(void *); i++) covered[i] = true;
}
#define COVER(member) cover(set, &set->member, sizeof set->member)

static bool op_wanted(const char *op) {
    const char *const filter = getenv("RUNNEL_CHECK_OP");
    return !only_covering && (!filter || strstr(op, filter));
}

// The line that a failure prints: enough to run it again.
#define NOTE(set, op, fmt, ...)                                                                                      \
    check_note("RUNNEL_CHECK_SEED=%llu op %s set %s " fmt, (unsigned long long)seed_of_run(), op, (set)->name,       \
               __VA_ARGS__)

// Instrumented, ref takes its time, and each set asks it again: then a part of the cases, which goes round all counts and data. So it
// does in a processor that is emulated: RUNNEL_CHECK_EVERY=n makes every n-th case, n best a prime.
static size_t every_or(size_t by_itself) {
    const char *const text = getenv("RUNNEL_CHECK_EVERY");
    const long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 ? (size_t)n : by_itself;
}
#ifdef TESTS_SANITIZED
static size_t every(void) { return every_or(7); }
static size_t every_attention(void) { return every_or(31); }
#else
static size_t every(void) { return every_or(1); }
static size_t every_attention(void) { return every_or(1); }
#endif

#include "tests/kernels/check_recur.h"
#include "tests/kernels/check_rows.h"

// Matrix products --------------------------------------------------------------------------------------------------------

// Any bytes, or those that make the largest sums: all of one kind, or of two.
static void fill_block(uint8_t *w, size_t n, enum data kind) {
    static const uint8_t extremes[] = {0x00, 0xff, 0x80, 0x7f, 0xf0, 0x0f};
    const size_t how = kind == DATA_EXTREMES ? below(3) : 0;
    const uint8_t a = extremes[below(COUNT(extremes))], b = extremes[below(COUNT(extremes))];
    for (size_t i = 0; i < n; i++) w[i] = how == 0 ? (uint8_t)rng() : how == 1 ? a : below(2) ? a : b;
}
static uint8_t any_exponent(enum data kind) {
    return (uint8_t)(kind == DATA_NOISE || is_plain() ? 118 + below(8) : kind == DATA_TINY ? below(5) : below(240));
}

// d of IQ1_M: a nibble of it in each of the block's last four 16-bit numbers.
static void put_iq1_m_d(uint8_t *w, uint16_t half) {
    for (size_t i = 0; i < 4; i++) {
        uint8_t *const high = w + IQ1_M_BYTES - 7 + 2 * i;
        *high = (uint8_t)((*high & 15) | (half >> 4 * i & 15) << 4);
    }
}

// n_out rows of k weights in the file's layout.
static void fill_weights(enum tensor_type type, uint8_t *w, size_t n_out, size_t k, enum data kind) {
    const struct tensor_type_info *const info = tensor_type_info(type);
    const struct block_halves halves = block_halves_of(type);
    for (size_t b = 0; b < n_out * k / info->block_len; b++, w += info->block_bytes) {
        const float x = any_float(kind);
        if (info->block_len == 1) {
            info->quantize_row(&x, NULL, w, 1);
            continue;
        }
        fill_block(w, info->block_bytes, kind);
        if (type == TENSOR_MXFP4) w[0] = any_exponent(kind);
        if (type == TENSOR_IQ1_M) put_iq1_m_d(w, any_half(kind));
        for (size_t i = 0; i < halves.n; i++) {
            const uint16_t half = any_half(kind);
            memcpy(w + halves.at[i], &half, 2);
        }
    }
}

// Bytes of 127 and -127 throughout, by numbers of one magnitude in each block.
static void prepare_extremes(enum act_format format, uint8_t *act, size_t k) {
    const size_t block = format == ACT_Q8_32 ? 32 : 256;
    float *const x = malloc(4 * k + 4), size = 1;
    for (size_t i = 0; i < k; i++) {
        if (i % block == 0) size = 0.01f + fabsf(uniform());
        x[i] = i / block % 2 || below(2) ? size : -size;
    }
    ref->prepare_act[format](x, k, act);
    free(x);
}

// One prepared row.
static void fill_act(enum act_format format, uint8_t *act, size_t k, enum data kind) {
    if ((format == ACT_Q8_32 || format == ACT_Q8_256) && kind == DATA_EXTREMES && below(2)) {
        prepare_extremes(format, act, k);
        return;
    }
    float *const x = malloc(4 * k + 4);
    fill_floats(x, k, kind);
    maybe_poison(x, k);
    ref->prepare_act[format](x, k, act);
    free(x);
}

struct shape {
    size_t k, n_out, n_rows;
};

// Packs file rows into panels that end where memory does.
static struct guarded pack_all(const struct matmul_ops *ops, const uint8_t *rows, size_t row_bytes, struct shape s) {
    const size_t panel_bytes = ops->panel_bytes(s.k), n_panels = (s.n_out + PANEL_ROWS - 1) / PANEL_ROWS;
    struct guarded g = guarded_new(panel_bytes * n_panels, 0);
    CHECK(panel_bytes % 64 == 0);
    for (size_t p = 0; p < n_panels; p++) {
        const size_t left = s.n_out - p * PANEL_ROWS;
        ops->pack(rows + p * PANEL_ROWS * row_bytes, row_bytes, (int)(left < PANEL_ROWS ? left : PANEL_ROWS), s.k,
                  g.data + p * panel_bytes);
    }
    return g;
}

static bool matmul_case(const struct kernel_set *set, enum tensor_type type, struct shape s, enum data kind,
                        bool gemm) {
    const struct matmul_ops *const ops = &set->matmul[type];
    size_t row_bytes = 0;
    CHECK(tensor_row_bytes(type, s.k, &row_bytes));
    const size_t act_stride = act_bytes(ops->act, s.k) + 4 * below(5), out_stride = s.n_out + below(4);
    struct guarded rows = guarded_new(row_bytes * s.n_out, below(64));
    struct guarded x = guarded_new(act_stride * s.n_rows, 4 * below(16));
    struct output want = output_new(4 * out_stride * s.n_rows), got = output_new(4 * out_stride * s.n_rows);
    fill_weights(type, rows.data, s.n_out, s.k, kind);
    for (size_t r = 0; r < s.n_rows; r++) fill_act(ops->act, x.data + r * act_stride, s.k, kind);

    ref->matmul[type].matmul(rows.data, row_bytes, s.n_out, s.k, x.data, act_stride, s.n_rows,
                             (float *)(void *)want.data, out_stride);
    if (ops->pack) {
        struct guarded panels = pack_all(ops, rows.data, row_bytes, s);
        struct guarded scratch = guarded_new(gemm ? ops->gemm_scratch(s.k) : 0, 0);
        memset(scratch.data, 0xff, scratch.n); // leftovers of an earlier op: NaN in every type
        if (gemm)
            ops->gemm(panels.data, s.n_out, s.k, x.data, act_stride, s.n_rows, (float *)(void *)got.data, out_stride,
                      scratch.data);
        else
            ops->matmul(panels.data, 0, s.n_out, s.k, x.data, act_stride, s.n_rows, (float *)(void *)got.data,
                        out_stride);
        guarded_free(&scratch);
        guarded_free(&panels);
    } else {
        ops->matmul(rows.data, row_bytes, s.n_out, s.k, x.data, act_stride, s.n_rows, (float *)(void *)got.data,
                    out_stride);
    }
    const bool same = CHECK(same_floats(&got, &want));
    guarded_free(&rows);
    guarded_free(&x);
    output_free(&want);
    output_free(&got);
    return same;
}

static void check_matmul_type(const struct kernel_set *set, enum tensor_type type, bool gemm) {
    static const size_t n_outs[] = {0, 1, 15, 16, 17, 33, 64, 70, 129},
                        row_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 0};
    static const size_t blocks[] = {0, 1, 2, 3, 5, 8, 33}, few_blocks[] = {0, 1, 2, 3, 6},
                        plain[] = {0, 1, 31, 32, 33, 64, 95, 257, 1000};
    const struct tensor_type_info *const info = tensor_type_info(type);
    const size_t *const counts = info->block_len == 1 ? plain : info->block_len == 32 ? blocks : few_blocks;
    const size_t n = info->block_len == 1 ? COUNT(plain) : info->block_len == 32 ? COUNT(blocks) : COUNT(few_blocks);
    size_t i_case = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < COUNT(n_outs); j++)
            for (enum data kind = 0; kind < DATA_N; kind++, i_case++) {
                if (i_case % every() != 0) continue;
                rng_start(info->name, i_case);
                const struct shape s = {info->block_len * counts[i], n_outs[j],
                                        row_counts[i_case % COUNT(row_counts)]};
                NOTE(set, info->name, "%s %s k %zu n_out %zu n_rows %zu", gemm ? "gemm" : "matmul", data_names[kind],
                     s.k, s.n_out, s.n_rows);
                if (!matmul_case(set, type, s, kind, gemm)) return;
            }
    if (!gemm) return;
    const struct shape passes = {info->block_len == 1 ? 95 : 3 * info->block_len, 40,
                                 529}; // more rows than a pass has
    NOTE(set, info->name, "gemm k %zu n_out %zu n_rows %zu", passes.k, passes.n_out, passes.n_rows);
    matmul_case(set, type, passes, DATA_NOISE, gemm);
}

static void check_matmul(const struct kernel_set *set) {
    COVER(matmul);
    for (int t = 0; t < TENSOR_N_TYPES; t++) {
        if (!op_wanted(tensor_type_info((enum tensor_type)t)->name)) continue;
        check_matmul_type(set, (enum tensor_type)t, false);
        CHECK(!set->matmul[t].gemm_rows == !set->matmul[t].gemm);
        if (set->matmul[t].gemm) check_matmul_type(set, (enum tensor_type)t, true);
    }
}

// Activations ------------------------------------------------------------------------------------------------------------

// The sections of a row of bytes without the padding between them, one after the other.
struct section {
    const void *data;
    size_t n;
};
static struct output sections_of(const void *act, enum act_format format, size_t k) {
    const struct act_q8 v = act_q8_view(act, k);
    const struct act_q8_k w = act_q8_k_view(act, k);
    const size_t n = (k + 31) / 32, n_k = (k + 255) / 256;
    const struct section q8[] = {{v.a, 32 * n}, {v.d, 4 * n}, {v.s, 4 * n}, {v.b, 4 * n}, {NULL, 0}};
    const struct section q8_k[] = {
        {w.a, 256 * n_k}, {w.d, 4 * n_k}, {w.pairs, 64 * n_k}, {w.b16, 32 * n_k}, {w.b32, 16 * n_k}};
    const struct section *const s = format == ACT_Q8_32 ? q8 : q8_k;
    struct output o = output_new(format == ACT_Q8_32 ? 44 * n : (256 + 4 + 64 + 48) * n_k);
    size_t at = 0;
    for (size_t i = 0; i < COUNT(q8_k); i++) {
        if (s[i].n) memcpy(o.data + at, s[i].data, s[i].n);
        at += s[i].n;
    }
    return o;
}

static bool act_case(const struct kernel_set *set, enum act_format format, size_t k, enum data kind) {
    struct guarded x = guarded_new(4 * k, 4 * below(16));
    struct output want = output_new(act_bytes(format, k)), got = output_new(act_bytes(format, k));
    fill_floats((float *)(void *)x.data, k, kind);
    maybe_poison((float *)(void *)x.data, k);
    ref->prepare_act[format]((const float *)(const void *)x.data, k, want.data);
    set->prepare_act[format]((const float *)(const void *)x.data, k, got.data);
    bool same;
    if (format == ACT_Q8_32 || format == ACT_Q8_256) {
        struct output a = sections_of(got.data, format, k), b = sections_of(want.data, format, k);
        same = same_floats(&a, &b);
        output_free(&a);
        output_free(&b);
    } else {
        same = same_bytes(&got, &want);
    }
    guarded_free(&x);
    output_free(&want);
    output_free(&got);
    return CHECK(same);
}

static void check_prepare_act(const struct kernel_set *set) {
    static const size_t sizes[] = {0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 96, 255, 256, 257, 1000, 2048};
    static const char *const names[ACT_N_FORMATS] = {"prepare_f32", "prepare_bf16", "prepare_q8_32",
                                                     "prepare_q8_256"};
    COVER(prepare_act);
    for (enum act_format f = 0; f < ACT_N_FORMATS; f++)
        for (size_t i = 0; i < 12 * COUNT(sizes) && op_wanted(names[f]); i++) {
            const enum data kind = (enum data)(i % DATA_N);
            const size_t k = sizes[i / 12];
            rng_start(names[f], i);
            NOTE(set, names[f], "%s k %zu", data_names[kind], k);
            if (!act_case(set, f, k, kind)) break;
        }
}

// Keys and values --------------------------------------------------------------------------------------------------------

// Puts, copies and reads some slots of one codec with both sets; blocks and what is read must be equal.
static bool kv_case(const struct kernel_set *set, enum kv_codec c, size_t head_dim, enum data kind) {
    const struct kv_codec_ops *const a = &set->kv[c], *const b = &ref->kv[c];
    const int n_slots = (int)below(KV_BLOCK) + 1;
    const size_t key_bytes = a->key_bytes(head_dim), value_bytes = a->value_bytes(head_dim),
                 out_bytes = 4 * KV_BLOCK * head_dim;
    struct guarded x = guarded_new(4 * head_dim, 4 * below(16));
    struct output got[4], want[4]; // key block, value block, keys, values
    const size_t sizes[4] = {key_bytes, value_bytes, out_bytes, 4 * (size_t)n_slots * head_dim};
    for (int i = 0; i < 4; i++) got[i] = output_new(sizes[i]), want[i] = output_new(sizes[i]);
    CHECK(key_bytes == b->key_bytes(head_dim) && value_bytes == b->value_bytes(head_dim));
    CHECK(key_bytes % 64 == 0 && value_bytes % 64 == 0);

    for (int j = 0; j < n_slots; j++) {
        float *const row = (float *)(void *)x.data;
        fill_floats(row, head_dim, kind);
        maybe_poison(row, head_dim);
        a->put_key(got[0].data, head_dim, j, row), b->put_key(want[0].data, head_dim, j, row);
        a->put_value(got[1].data, head_dim, j, row), b->put_value(want[1].data, head_dim, j, row);
    }
    const int from = (int)below((size_t)n_slots), to = (from + 1) % KV_BLOCK;
    a->copy_key(got[0].data, to, want[0].data, from, head_dim),
        b->copy_key(want[0].data, to, want[0].data, from, head_dim);
    a->copy_value(got[1].data, to, want[1].data, from, head_dim),
        b->copy_value(want[1].data, to, want[1].data, from, head_dim);

    a->get_keys(want[0].data, head_dim, n_slots, (float *)(void *)got[2].data);
    b->get_keys(want[0].data, head_dim, n_slots, (float *)(void *)want[2].data);
    for (size_t d = 0; d < head_dim; d++) // slots from n_slots on are not defined
        for (size_t j = (size_t)n_slots; j < KV_BLOCK; j++)
            memcpy(got[2].data + 4 * (d * KV_BLOCK + j), want[2].data + 4 * (d * KV_BLOCK + j), 4);
    a->get_values(want[1].data, head_dim, n_slots, (float *)(void *)got[3].data);
    b->get_values(want[1].data, head_dim, n_slots, (float *)(void *)want[3].data);

    bool same = same_bytes(&got[0], &want[0]) && same_bytes(&got[1], &want[1]);
    same = same && same_floats(&got[2], &want[2]) && same_floats(&got[3], &want[3]);
    for (int i = 0; i < 4; i++) output_free(&got[i]), output_free(&want[i]);
    guarded_free(&x);
    return CHECK(same);
}

static void check_kv(const struct kernel_set *set) {
    static const size_t head_dims[] = {1, 7, 8, 31, 32, 33, 40, 64, 80, 128};
    COVER(kv);
    for (enum kv_codec c = 0; c < KV_N_CODECS; c++)
        for (size_t i = 0; i < 6 * COUNT(head_dims) && op_wanted(kv_codec_name(c)); i++) {
            const enum data kind = (enum data)(i % DATA_N);
            rng_start(kv_codec_name(c), i);
            NOTE(set, kv_codec_name(c), "kv %s head_dim %zu", data_names[kind], head_dims[i / 6]);
            if (!kv_case(set, c, head_dims[i / 6], kind)) break;
        }
}

// Attention --------------------------------------------------------------------------------------------------------------

enum { MOST_Q = 40 };
struct attention {
    size_t head_dim, v_dim, n_q;
    struct guarded keys, values, q;
    size_t q_stride;
    uint8_t lo[MOST_Q], hi[MOST_Q];
    float softcap, slope[MOST_Q], bias[MOST_Q * KV_BLOCK];
    int32_t offset[MOST_Q];
    bool has_slopes, has_biases;
};

// A softcap, slopes or biases, or a softcap with one of them.
static void bend(struct attention *a) {
    static const float caps[] = {50, 1, 0.01f};
    const size_t how = below(5);
    if (how >= 2) a->softcap = caps[below(COUNT(caps))];
    a->has_slopes = how == 0 || how == 2;
    a->has_biases = how == 1 || how == 3;
    for (size_t i = 0; i < a->n_q * KV_BLOCK; i++) a->bias[i] = below(512) == 0 ? NAN : 4 * uniform();
    for (size_t i = 0; i < a->n_q; i++) {
        a->slope[i] = below(16) == 0 ? NAN : uniform();
        a->offset[i] = (int32_t)below(40000) - 36000;
    }
}

// Ranges of all kinds: the same for all queries, a causal staircase (each step several queries wide), or any.
static void fill_ranges(struct attention *a) {
    const size_t how = below(4), first = below(KV_BLOCK), step = 1 + below(4);
    for (size_t i = 0; i < a->n_q; i++) {
        const size_t lo = how < 2 ? 0 : how == 2 ? first : below(KV_BLOCK), width = KV_BLOCK - lo;
        const size_t reach = first + i / step + 1;
        a->lo[i] = (uint8_t)lo;
        a->hi[i] = (uint8_t)(how == 0   ? KV_BLOCK
                             : how == 1 ? reach < KV_BLOCK ? reach : KV_BLOCK
                                        : lo + 1 + below(width));
    }
}

// Invisible slots hold NaN, and so do a few numbers in visible ones.
static void fill_attention(const struct kv_codec_ops *codec, struct attention *a, enum data kind) {
    const size_t n = a->head_dim, n_v = a->v_dim;
    float *const row = malloc(4 * (n > n_v ? n : n_v));
    memset(a->keys.data, 0xff, a->keys.n);
    memset(a->values.data, 0xff, a->values.n);
    for (size_t j = 0; j < KV_BLOCK; j++) {
        bool is_seen = false;
        for (size_t i = 0; i < a->n_q; i++) is_seen |= j >= a->lo[i] && j < a->hi[i];
        if (!is_seen) continue;
        fill_floats(row, n, kind);
        if (below(32) == 0) maybe_poison(row, n);
        codec->put_key(a->keys.data, n, (int)j, row);
        fill_floats(row, n_v, kind);
        if (below(32) == 0) maybe_poison(row, n_v);
        codec->put_value(a->values.data, n_v, (int)j, row);
    }
    const bool poisoned = below(4) == 0;
    for (size_t i = 0; i < a->n_q; i++) {
        fill_floats(row, n, kind == DATA_EXTREMES ? DATA_NOISE : kind);
        if (poisoned) maybe_poison(row, n);
        ref->prepare_act[codec->act](row, n, a->q.data + i * a->q_stride);
    }
    free(row);
}

// m, l and o of all queries in one output, brought through two blocks.
static void attend_two(const struct kv_codec_ops *codec, const struct attention *parts, struct output *state) {
    const size_t n_q = parts[0].n_q, head_dim = parts[0].head_dim, v_dim = parts[0].v_dim;
    float *const m = (float *)(void *)state->data, *const l = m + n_q, *const o = l + n_q;
    struct guarded scratch = guarded_new(attend_scratch(head_dim > v_dim ? head_dim : v_dim), 0);
    for (size_t i = 0; i < n_q; i++) m[i] = -INFINITY, l[i] = 0;
    memset(o, 0, 4 * n_q * v_dim);
    for (const struct attention *a = parts; a < parts + 2; a++)
        codec->attend(&(struct attend_block){.keys = a->keys.data,
                                             .values = a->values.data,
                                             .next_keys = parts[1].keys.data,
                                             .next_values = parts[1].values.data,
                                             .head_dim = head_dim,
                                             .v_dim = v_dim,
                                             .q = a->q.data,
                                             .q_stride = a->q_stride,
                                             .n_q = n_q,
                                             .lo = a->lo,
                                             .hi = a->hi,
                                             .scale = 0.125f,
                                             .softcap = a->softcap,
                                             .slope = a->has_slopes ? a->slope : NULL,
                                             .offset = a->has_slopes ? a->offset : NULL,
                                             .bias = a->has_biases ? a->bias : NULL,
                                             .m = m,
                                             .l = l,
                                             .o = o,
                                             .scratch = scratch.data});
    guarded_free(&scratch);
}

struct widths {
    size_t head_dim, v_dim;
};
static bool attend_case(const struct kernel_set *set, enum kv_codec c, struct widths w, size_t n_q, bool bent,
                        enum data kind) {
    const struct kv_codec_ops *const codec = &ref->kv[c];
    struct attention part[2];
    for (int i = 0; i < 2; i++) {
        part[i] = (struct attention){.head_dim = w.head_dim, .v_dim = w.v_dim, .n_q = n_q};
        part[i].q_stride = act_bytes(codec->act, w.head_dim) + 4 * below(9);
        part[i].keys = guarded_new(codec->key_bytes(w.head_dim), 0);
        part[i].values = guarded_new(codec->value_bytes(w.v_dim), 0);
        part[i].q = guarded_new(part[i].q_stride * n_q, 4 * below(16));
        fill_ranges(&part[i]);
        fill_attention(codec, &part[i], kind);
        if (bent) bend(&part[i]);
    }
    struct output got = output_new(4 * n_q * (w.v_dim + 2)), want = output_new(4 * n_q * (w.v_dim + 2));
    attend_two(&set->kv[c], part, &got);
    attend_two(codec, part, &want);
    const bool same = CHECK(same_floats(&got, &want));
    for (int i = 0; i < 2; i++) guarded_free(&part[i].keys), guarded_free(&part[i].values), guarded_free(&part[i].q);
    output_free(&got);
    output_free(&want);
    return same;
}

// Does a lower set attend by the same function? Then it was compared with it.
static bool attended_before(const struct kernel_set *set, enum kv_codec c) {
    for (enum cpu_set s = CPU_REF + 1; s < set->id; s++)
        if (cpu_set_available(s) && kernel_set_get(s)->kv[c].attend == set->kv[c].attend) return true;
    return false;
}

static void check_attend(const struct kernel_set *set) {
    static const size_t head_dims[] = {1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 64, 80, 96, 100, 128, 256};
    static const size_t n_qs[] = {0, 1, 2, 3, 4, 5, 8, 9, 13, 15, 16, 17, 31, 32, 33, 40};
    for (enum kv_codec c = 0; c < KV_N_CODECS; c++) {
        char op[32];
        if (attended_before(set, c)) continue;
        snprintf(op, sizeof op, "attend_%s", kv_codec_name(c));
        for (size_t i = 0; i < 3 * COUNT(n_qs) * COUNT(head_dims) && op_wanted(op); i += every_attention()) {
            const enum data kind = (enum data)(i % DATA_N);
            const size_t head_dim = head_dims[i / 3 / COUNT(n_qs)], n_q = n_qs[i / 3 % COUNT(n_qs)];
            rng_start(op, i);
            NOTE(set, op, "%s head_dim %zu n_q %zu", data_names[kind], head_dim, n_q);
            if (!attend_case(set, c, (struct widths){head_dim, head_dim}, n_q, false, kind)) break;
        }
    }
}

// Values of another width than keys, and scores that are bent.
static void check_attend_variants(const struct kernel_set *set) {
    static const struct widths widths[] = {{64, 64}, {24, 12},   {12, 24},  {1, 40},   {40, 1},    {33, 7},
                                           {16, 96}, {96, 48},   {80, 64},  {64, 80},  {192, 128}, {128, 192},
                                           {72, 16}, {576, 512}, {24, 576}, {112, 33}, {48, 272}};
    static const size_t n_qs[] = {1, 2, 3, 4, 5, 13, 16, 17, 40};
    for (enum kv_codec c = 0; c < KV_N_CODECS; c++) {
        char op[32];
        if (attended_before(set, c)) continue;
        snprintf(op, sizeof op, "attend_%s", kv_codec_name(c));
        for (size_t i = 0; i < 6 * COUNT(n_qs) * COUNT(widths) && op_wanted(op); i += every_attention()) {
            const enum data kind = (enum data)(i % DATA_N);
            const struct widths w = widths[i / 6 / COUNT(n_qs)];
            const size_t n_q = n_qs[i / 6 % COUNT(n_qs)];
            rng_start(op, 100000 + i);
            NOTE(set, op, "%s head_dim %zu v_dim %zu n_q %zu%s", data_names[kind], w.head_dim, w.v_dim, n_q,
                 i % 2 ? " bent" : "");
            if (!attend_case(set, c, w, n_q, i % 2, kind)) break;
        }
    }
}

static void check_attend_ends(const struct kernel_set *set) {
    static const size_t head_dims[] = {1, 7, 8, 9, 64, 100};
    static const float maxima[] = {-INFINITY, -3, 0, 5, 90, NAN}, sums[] = {0, 1, 7, NAN};
    COVER(attend_merge);
    COVER(attend_finish);
    for (size_t i = 0; i < 60 * COUNT(head_dims) && op_wanted("attend_merge attend_finish"); i++) {
        const size_t n = head_dims[i / 60];
        rng_start("attend_merge", i);
        NOTE(set, "attend_merge", "head_dim %zu case %zu", n, i);
        struct output got = output_new(8 * n + 8), want = output_new(8 * n + 8); // m, l, o, finished
        struct guarded o2 = guarded_new(4 * n, 4 * below(16));
        float *const g = (float *)(void *)got.data, *const w = (float *)(void *)want.data,
                     *const second = (float *)(void *)o2.data;
        fill_floats(g, n + 2, (enum data)(i % DATA_N));
        g[0] = maxima[below(COUNT(maxima))];
        g[1] = sums[below(COUNT(sums))];
        memcpy(w, g, 4 * n + 8);
        fill_floats(second, n, DATA_NOISE);
        const float m2 = maxima[below(COUNT(maxima))], l2 = sums[below(COUNT(sums))];
        set->attend_merge(g, g + 1, g + 2, m2, l2, second, n), ref->attend_merge(w, w + 1, w + 2, m2, l2, second, n);
        set->attend_finish(g + 2, g[1], n, g + 2 + n), ref->attend_finish(w + 2, w[1], n, w + 2 + n);
        CHECK(same_floats(&got, &want));
        guarded_free(&o2);
        output_free(&got);
        output_free(&want);
    }
}

// The integer probe has no result to compare; its count must be the requested one.
static void check_probe(const struct kernel_set *set) {
    COVER(int8_probe);
    for (uint64_t n = 0; n < 4 && op_wanted("int8_probe"); n++) {
        int32_t sum = 0;
        NOTE(set, "int8_probe", "%llu rounds", (unsigned long long)n);
        const uint64_t n_products = probe_int8_of(set->id)(n, &sum);
        CHECK(n_products >= n * 1024 && n_products == n * probe_int8_of(set->id)(1, &sum));
    }
}

// All of it --------------------------------------------------------------------------------------------------------------

static void for_each_set(void (*check)(const struct kernel_set *)) {
    ref = kernel_set_get(CPU_REF);
    for (enum cpu_set s = CPU_REF + 1; s < CPU_N_SETS; s++)
        if (cpu_set_available(s)) run_guarded(check, kernel_set_get(s));
}

TEST(matrix_products_of_every_set_have_the_bits_of_ref) { for_each_set(check_matmul); }
TEST(prepared_activations_of_every_set_have_the_bits_of_ref) { for_each_set(check_prepare_act); }
TEST(kv_codecs_of_every_set_have_the_bits_of_ref) { for_each_set(check_kv); }
TEST(row_functions_of_every_set_have_the_bits_of_ref) { for_each_set(check_rows); }
TEST(functions_of_floats_of_all_magnitudes_have_the_bits_of_ref) { for_each_set(check_functions); }
TEST(sums_by_bin_of_every_set_have_the_bits_of_ref) { for_each_set(check_bins); }
TEST(rotations_of_every_set_have_the_bits_of_ref) { for_each_set(check_rope); }
TEST(attention_of_every_set_has_the_bits_of_ref) { for_each_set(check_attend); }
TEST(attention_with_other_values_and_bent_scores_has_the_bits_of_ref) { for_each_set(check_attend_variants); }
TEST(merged_attention_of_every_set_has_the_bits_of_ref) { for_each_set(check_attend_ends); }

TEST(recurrences_of_every_set_have_the_bits_of_ref) { for_each_set(check_recur); }

TEST(integer_probes_count_what_they_multiply) { for_each_set(check_probe); }

TEST(every_slot_of_the_table_is_filled_and_compared) {
    static void (*const checks[])(const struct kernel_set *) = {check_matmul,      check_prepare_act, check_kv,
                                                                check_rows,        check_rope,        check_attend,
                                                                check_attend_ends, check_recur,       check_probe};
    for (enum cpu_set s = 0; s < CPU_N_SETS; s++) {
        if (!cpu_set_available(s)) continue;
        const struct kernel_set *const set = kernel_set_get(s);
        memset(covered, 0, sizeof covered);
        cover(set, &set->id, offsetof(struct kernel_set, matmul)); // id and name
        ref = kernel_set_get(CPU_REF);
        only_covering = true;
        for (size_t i = 0; i < COUNT(checks); i++) checks[i](set);
        only_covering = false;
        for (size_t i = 0; i < COUNT(covered); i++) {
            check_note("set %s, slot at byte %zu of struct kernel_set", set->name, i * sizeof(void *));
            CHECK(covered[i]);
        }
        for (int t = 0; t < TENSOR_N_TYPES; t++) CHECK(set->matmul[t].matmul && set->matmul[t].set);
    }
}
