// kernels/kernels.h - the CPU's arithmetic on rows and blocks: one table of functions for each CPU
// set.
//
// `ref` is plain scalar C and *is* the definition: every other set gives the same bits
// (docs/arithmetic.md; docs/design.md section 6). A set starts as a copy of the next lower one and
// replaces the functions that it has faster ones for, so no slot is NULL unless stated.
//
// Contract for all functions, unless stated: pointers need no alignment beyond their element's; n
// >= 0; inputs and outputs do not overlap; memory beyond n is neither read nor written; NaN and
// infinity propagate to the outputs that depend on them; the floating-point mode is that of
// base/pool.h. Threads: pure functions.
#ifndef RN_KERNELS_KERNELS_H
#define RN_KERNELS_KERNELS_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include "tensor/act_fn.h"
#include "tensor/kv_codec.h"
#include "tensor/types.h"
#include <stddef.h>
#include <stdint.h>

#define PANEL_ROWS 16 // interleaved rows (outputs) in a panel of a packed weight matrix
#define KV_BLOCK   64 // positions in a key or value block

enum cpu_set {
    CPU_REF,
    CPU_AVX2,
    CPU_AVX512,
    CPU_AVX512VNNI,
    CPU_AMX,
    CPU_NEON,
    CPU_NEONDOT,
    CPU_NEONI8MM,
    CPU_N_SETS
};

// The formats of activations that matrix products take. A row is prepared once for all matrices
// that read it.
enum act_format {
    ACT_F32,    // float[k], unchanged
    ACT_BF16,   // uint16[round_up(k, 32)], rounded to nearest even, padded with zeros
    ACT_Q8_32,  // int8 with a scale for each block of 32: struct act_q8 below
    ACT_Q8_256, // int8 with a scale for each block of 256: struct act_q8_k below
    ACT_N_FORMATS
};

// A prepared ACT_Q8_32 row, k_pad = round_up(k, 32), n_block = k_pad / 32, sections in this order,
// each padded to 64 bytes:
//   int8 a[k_pad] in [-127, 127] | float d[n_block] | float s[n_block] = d * (float)b | int32 b[n_block] = sum of a
// With amax the largest magnitude of the block: d = amax / 127; inv = 127 / amax; a =
// round-to-nearest-even(x * inv). amax < 2^-100: d = 0, a = 0. A block that holds a NaN or an
// infinity: d = s = NaN, a = 0.
struct act_q8 {
    const int8_t *a;
    const float *d, *s;
    const int32_t *b;
};
static inline size_t act_q8_pad64(size_t n) { return (n + 63) & ~(size_t)63; }
static inline struct act_q8 act_q8_view(const void *act, size_t k) {
    const size_t n_block = (k + 31) / 32, f = act_q8_pad64(4 * n_block);
    const uint8_t *p = (const uint8_t *)act + act_q8_pad64(32 * n_block);
    return (struct act_q8){(const int8_t *)act, (const float *)p, (const float *)(p + f),
                           (const int32_t *)(p + 2 * f)};
}

// A prepared ACT_Q8_256 row: the same with n_block = round_up(k, 256) / 256 blocks of 256, one
// scale each, and sums of parts in the forms that the kernels multiply:
//   int8 a[256 n_block] | float d[n_block] | int16 pairs[16 n_block][2] | int8 b16[n_block][2][16] | int8 b32[n_block][2][8]
// pairs: of each 16 numbers the sum of those at positions 0, 1 mod 4 and of those at 2, 3 mod 4.
// b16, b32: sums of each 16 and 32 as 128 * high + low, low in [-64, 63]: in each block first the
// high parts, then the low ones.
struct act_q8_k {
    const int8_t *a;
    const float *d;
    const int16_t *pairs;
    const int8_t *b16, *b32;
};
static inline struct act_q8_k act_q8_k_view(const void *act, size_t k) {
    const size_t n_block = (k + 255) / 256;
    const uint8_t *const d = (const uint8_t *)act + 256 * n_block, *const pairs = d + act_q8_pad64(4 * n_block);
    const int8_t *const b16 = (const int8_t *)pairs + 64 * n_block;
    return (struct act_q8_k){(const int8_t *)act, (const float *)(const void *)d,
                             (const int16_t *)(const void *)pairs, b16, b16 + act_q8_pad64(32 * n_block)};
}
size_t act_bytes(enum act_format f, size_t k); // a multiple of 64
// The recommended distance of prepared rows in bytes: an odd number of cache lines, so that 16 rows
// read in parallel do not share a few sets of the L1 cache (BF16 rows of 2048 numbers, 4096 bytes
// apart, would all be in one set).
static inline size_t act_row_stride(enum act_format f, size_t k) { return act_bytes(f, k) | 64; }

// The matrix product for one tensor type. W has n_out rows of k elements, in the file's layout
// (pack == NULL) or in panels of PANEL_ROWS rows made by pack(); the last panel is padded with zero
// rows.
struct matmul_ops {
    const char *set; // the set that implements it, for `info`
    enum act_format act;
    size_t (*panel_bytes)(size_t k); // NULL with pack
    // rows: n_rows (1..16) rows of the file, row_bytes apart; the panel is 64-byte aligned.
    void (*pack)(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
    // out[r * out_stride + o] = W[o] . x[r] for o in [0, n_out), r in [0, n_rows); x rows are
    // act_stride bytes apart, out_stride counts floats. w: panels (64-byte aligned), or file rows
    // row_bytes apart. The sum is the one that docs/arithmetic.md defines for the type; it does not
    // depend on n_rows, n_out or how outputs are split over threads.
    void (*matmul)(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x, size_t act_stride,
                   size_t n_rows, float *out, size_t out_stride);
    // The same for many rows: used from gemm_rows rows on (0: never; bench/kernel_ladder.c measures
    // the crossover). scratch: gemm_scratch(k) bytes that belong to this thread, 64-byte aligned.
    size_t gemm_rows;
    size_t (*gemm_scratch)(size_t k);
    void (*gemm)(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows, float *out,
                 size_t out_stride, void *scratch);
};
static inline bool matmul_by_gemm(const struct matmul_ops *ops, size_t n_rows) {
    return ops->gemm_rows && n_rows >= ops->gemm_rows;
}
// Runs gemm() or matmul(), whichever is faster for n_rows.
static inline void matmul_run(const struct matmul_ops *ops, const void *w, size_t row_bytes, size_t n_out, size_t k,
                              const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride,
                              void *scratch) {
    if (matmul_by_gemm(ops, n_rows))
        ops->gemm(w, n_out, k, x, act_stride, n_rows, out, out_stride, scratch);
    else
        ops->matmul(w, row_bytes, n_out, k, x, act_stride, n_rows, out, out_stride);
}

// Attention of n_q queries over one block of keys and values, by online softmax (docs/arithmetic.md
// section 6). Query i sees slots [lo[i], hi[i]), lo < hi; other slots may hold anything. The score
// of slot j is scale * (q . k); then, with a softcap, softcap * tanh(score / softcap); then, with
// slopes (ALiBi), fmaf(slope[i], (float)(offset[i] + j), score), or with biases score + bias[i][j].
struct attend_block {
    const void *keys, *values; // in the codec's format
    // The block that will be read next, for prefetching; this block if there is none.
    const void *next_keys, *next_values;
    size_t head_dim, v_dim; // of keys and queries; of values
    const void *q;          // rows prepared in the codec's format `act`, q_stride bytes apart
    size_t q_stride, n_q;
    const uint8_t *lo, *hi;
    float scale;
    float softcap;         // 0: none
    const float *slope;    // NULL: none
    const int32_t *offset; // with slopes; offset[i] + 63 fits
    const float *bias;     // [n_q][64], without slopes: added to the scores; NULL: none
    float *m, *l, *o;      // state of query i: m[i] (-inf at first), l[i] (0), o + i * v_dim (0)
    void *scratch;         // attend_scratch() bytes that belong to this thread, 64-byte aligned
};
// wider_dim: the larger of head_dim and v_dim. Enough for every codec: a block in float, and 32
// floats for each channel.
static inline size_t attend_scratch(size_t wider_dim) {
    return sizeof(float) * (2 * KV_BLOCK + 32) * ((wider_dim + 31) & ~(size_t)31);
}

// Keys and values as pages hold them: for each head a key block and a value block (kv_layout.h).
struct kv_codec_ops {
    enum act_format act; // the format of queries
    // The size of a block in bytes, a multiple of 64.
    size_t (*key_bytes)(size_t head_dim), (*value_bytes)(size_t v_dim);
    // Encode one position. slot: 0..63.
    void (*put_key)(void *block, size_t head_dim, int slot, const float *k);
    void (*put_value)(void *block, size_t v_dim, int slot, const float *v);
    // Copy one position between blocks (copy on write, keep(), a tree's path) without changing
    // bits.
    void (*copy_key)(void *dst, int dst_slot, const void *src, int src_slot, size_t head_dim);
    void (*copy_value)(void *dst, int dst_slot, const void *src, int src_slot, size_t v_dim);
    // Decode a block to float: keys [head_dim][64], values [64][v_dim]. Only slots [0, n_slots) of
    // the output are defined.
    void (*get_keys)(const void *block, size_t head_dim, int n_slots, float *out);
    void (*get_values)(const void *block, size_t v_dim, int n_slots, float *out);
    void (*attend)(const struct attend_block *a);
};

// One step of a recurrence, for one head of one row. docs/arithmetic.md section 7.
//
// Mamba-2's selective state space (Dao and Gu 2024, 2405.21060).
struct ssm_step {
    size_t head_dim, d_state;
    float *state;       // [d_state][head_dim]
    const float *x;     // [head_dim]
    const float *b, *c; // [d_state]
    float dt, decay, d;
    float *y; // [head_dim]
};
// Mamba's, whose decay differs from channel to channel and from state to state (Gu and Dao 2023, 2312.00752): for n channels.
struct scan_step {
    size_t n, d_state, stride;
    float *state;       // [d_state][stride]
    const float *x, *d; // [n]
    const float *dt;    // [n]
    const float *decay; // [d_state][n]
    const float *b, *c; // [d_state]
    float *held;        // [n] scratch
    float *y;           // [n]
};
// A diagonal decay, and a part of rank one besides: RWKV-7 (Peng et al. 2025, 2503.14456). What the state has at e is taken away along b
// before, or where decays_first behind, the decay.
struct rank_one_step {
    size_t head_dim, v_dim;
    bool decays_first;
    float *state;                       // [head_dim][v_dim]
    const float *q, *decay, *k, *e, *b; // [head_dim]
    const float *v;                     // [v_dim]
    float *held;                        // [v_dim] scratch
    float *y;                           // [v_dim]
};
// A diagonal decay alone: RWKV-6 (Peng et al. 2024, 2404.05892), which reads the state before, and gated linear attention (Yang et al. 2023,
// 2312.06635), which reads it behind.
struct decay_step {
    size_t head_dim, v_dim;
    float *state;               // [head_dim][v_dim]
    const float *q, *decay, *k; // [head_dim]
    const float
        *own; // [head_dim] how much of the row's own k and v is read beside the state before; NULL: the state behind
    const float *v; // [v_dim]
    float *y;       // [v_dim]
};
// The gated delta rule (Yang et al. 2024, 2412.06464).
struct delta_step {
    size_t head_dim, v_dim;
    float *state;       // [head_dim][v_dim]
    const float *q, *k; // [head_dim]
    const float *v;     // [v_dim]
    float decay, beta;
    float *held; // [v_dim] scratch
    float *y;    // [v_dim]
};

// Computes at least n_rounds * 1,024 products of int8, summed in 32 bits, from registers, with the
// fastest instructions of the set's matrix kernels. Returns the number of products. *sum: depends
// on all of them, so that none is optimized away.
typedef uint64_t (*int8_probe_fn)(uint64_t n_rounds, int32_t *sum);

struct kernel_set {
    enum cpu_set id;
    const char *name; // "avx2"
    struct matmul_ops matmul[TENSOR_N_TYPES];
    void (*prepare_act[ACT_N_FORMATS])(const float *x, size_t k, void *act);
    struct kv_codec_ops kv[KV_N_CODECS];
    struct rowmath row;

    // Functions of rows; sums as in rowmath.h, formulas in docs/arithmetic.md section 5. y may be x
    // or gate.
    //
    // y = x * (1 / sqrt(mean(x^2) + eps)) * w; w NULL: no weight.
    void (*rms_norm)(const float *x, const float *w, size_t n, float eps, float *y);
    // y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * w + bias; w, bias NULL: without.
    void (*layer_norm)(const float *x, const float *w, const float *bias, size_t n, float eps, float *y);
    void (*softmax)(float *x, size_t n);                             // in place
    void (*add)(float *y, const float *x, size_t n);                 // y += x
    void (*add_scaled)(float *y, const float *x, float s, size_t n); // y = fmaf(s, x, y)
    void (*scale)(float *y, float s, size_t n);                      // y *= s
    void (*mul)(float *y, const float *x, size_t n);                 // y *= x
    void (*softcap)(float *y, float cap, size_t n);                  // y = cap * tanh(y / cap)
    void (*activate[ACT_N_FNS])(const float *x, size_t n, float *y); // y = f(x)
    void (*activate_mul[ACT_N_FNS])(const float *gate, const float *up, size_t n, float *y); // y = f(gate) * up
    // y = (u + 1) * (g * sigmoid(alpha * g)), g = min(gate, limit), u = up clamped to [-limit,
    // limit]; limit >= 0.
    void (*swiglu_oai)(const float *gate, const float *up, size_t n, float alpha, float limit, float *y);
    // xIELU (2411.13010): y = x > 0 ? alpha_p * x^2 + beta * x : (exp(min(x, eps)) - 1 - x) * alpha_n + beta * x.
    void (*xielu)(const float *x, size_t n, struct xielu p, float *y);
    // Rotates n_head heads, stride floats apart: the first n_rot values of each in interleaved
    // pairs (2i, 2i+1), where cos_sin[2i] and cos_sin[2i+1] are the cosine and sine of pair i.  a'
    // = fmaf(a, c, -(b * s)), b' = fmaf(a, s, b * c).
    void (*rope)(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);
    // The same with pairs (i, i + n_rot / 2).
    void (*rope_halves)(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);
    // attend_merge() merges the state (m2, l2, o2) of a later split into (m, l, o); attend_finish()
    // computes out = o / l. An attention sink, a key with a given score and value 0, is the state
    // (score, 1, zeros).
    void (*attend_merge)(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim);
    void (*attend_finish)(const float *o, float l, size_t v_dim, float *out);

    // Recurrences; x and y must not overlap. conv_step: a causal convolution over time for each
    // channel, y[c] = sum over k of taps[k][c] times the input d_conv - 1 - k steps ago. state: the
    // last d_conv - 1 inputs, oldest first; rows of state and taps are `stride` floats apart.
    void (*conv_step)(const float *x, float *state, const float *taps, size_t d_conv, size_t stride, size_t n,
                      float *y);
    void (*ssm_step)(const struct ssm_step *s);
    void (*scan_step)(const struct scan_step *s);
    void (*rank_one_step)(const struct rank_one_step *s);
    void (*decay_step)(const struct decay_step *s);
    void (*delta_step)(const struct delta_step *s);

    int8_probe_fn int8_probe; // NULL: the next lower set's is used (kernels/probe.h)
};

// The best set that this machine supports, not above `highest` (CPU_N_SETS: no limit).
enum cpu_set cpu_set_detect(enum cpu_set highest);
bool cpu_set_available(enum cpu_set s);
const char *cpu_set_name(enum cpu_set s);
// The CPU feature that a set needs and this machine lacks, such as "AVX2"; NULL: none.
const char *cpu_set_lacks(enum cpu_set s);
// Writes why `best` is the best set here: the feature that the next higher set of this build lacks.
// lacks: cpu_set_lacks.
void cpu_set_reason(enum cpu_set best, const char *(*lacks)(enum cpu_set), char *out, size_t out_bytes);
// RN_E_ARG: unknown name; the message lists the known ones. RN_E_UNSUPPORTED: this machine lacks a
// feature, which is named.
rn_status cpu_set_by_name(const char *name, enum cpu_set *out, rn_error *err);
// The table of an available set; constant, never freed.
const struct kernel_set *kernel_set_get(enum cpu_set s);

#endif
