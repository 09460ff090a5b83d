// kernels/kernels.h - the CPU's arithmetic on rows and blocks, one table for each CPU set.
//
// `ref` is plain scalar C and *is* the definition: every other set gives its bits (docs/arithmetic.md; docs/design.md section 6).
// A set starts as a copy of the one below it and overwrites what it does better; so a slot is never NULL unless said.
//
// Contract for all functions, unless stated: pointers need no alignment beyond their element's; n >= 0; inputs and outputs do
// not overlap; memory beyond n is neither read nor written; NaN and infinity propagate to the outputs that depend on them;
// the floating-point mode is that of base/pool.h. Threads: pure functions.
#ifndef RN_KERNELS_KERNELS_H
#define RN_KERNELS_KERNELS_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include "tensor/act_fn.h"
#include "tensor/kv_codec.h"
#include "tensor/types.h"
#include <stddef.h>
#include <stdint.h>

#define PANEL_ROWS 16 // outputs that lie side by side in a packed weight matrix
#define KV_BLOCK   64 // positions of a key or value block

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

// What a matrix product takes as its right side. A row of activations is prepared once and shared by every matrix that reads it.
enum act_format {
    ACT_F32,    // float[k], as it is
    ACT_BF16,   // uint16[round_up(k, 32)], rounded to nearest even, padded with zeros
    ACT_Q8_32,  // int8 with a scale for each 32: struct act_q8 below
    ACT_Q8_256, // int8 with a scale for each 256: struct act_q8_k below
    ACT_N_FORMATS
};

// A prepared ACT_Q8_32 row, k_pad = round_up(k, 32), n_block = k_pad / 32, sections in this order, each padded to 64 bytes:
//   int8 a[k_pad] in [-127, 127] | float d[n_block] | float s[n_block] = d * (float)b | int32 b[n_block] = sum of a
// With amax the largest magnitude of the block: d = amax / 127; inv = 127 / amax; a = round-to-nearest-even(x * inv).
// amax < 2^-100: d = 0, a = 0. A block that holds a NaN or an infinity: d = s = NaN, a = 0.
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

// A prepared ACT_Q8_256 row: the same with n_block = round_up(k, 256) / 256 blocks of 256, one scale each, and the sums that kernels
// for parts of 16 and 32 want, ready for their multiplications:
//   int8 a[256 n_block] | float d[n_block] | int16 pairs[16 n_block][2] | int8 b16[n_block][2][16] | int8 b32[n_block][2][8]
// pairs: of each 16 numbers the sum of those at positions 0, 1 mod 4 and of those at 2, 3 mod 4. b16, b32: sums of each 16 and 32 as
// 128 * high + low, low in [-64, 63]: in each block first the high parts, then the low ones.
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
// How far apart prepared rows are best kept: an odd number of lines, so that 16 rows read side by side do not lie in the same few sets
// of the first-level cache (BF16 rows of 2048 numbers, 4096 bytes apart, would all lie in one).
static inline size_t act_row_stride(enum act_format f, size_t k) { return act_bytes(f, k) | 64; }

// Matrix product for one tensor type. W is n_out rows of k elements, in the file's layout (pack == NULL) or in panels of
// PANEL_ROWS rows made by pack; a panel never spans the end: the last one is padded with zero rows.
struct matmul_ops {
    const char *set; // which set it is from, for `info`
    enum act_format act;
    size_t (*panel_bytes)(size_t k); // NULL with pack
    // rows: n_rows (1..16) rows of the file, row_bytes apart; the panel is 64-byte aligned.
    void (*pack)(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
    // out[r * out_stride + o] = W[o] . x[r] for o in [0, n_out), r in [0, n_rows); x rows are act_stride bytes apart, out_stride
    // counts floats. w: panels (64-byte aligned), or file rows row_bytes apart. The sum is the one that docs/arithmetic.md
    // defines for the type, whatever n_rows, n_out and the split of outputs over threads.
    void (*matmul)(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x, size_t act_stride,
                   size_t n_rows, float *out, size_t out_stride);
    // The same for many rows, where a set has something better: from gemm_rows rows on (0: never; the crossovers are measured by
    // bench/kernel_ladder.c). scratch: gemm_scratch(k) bytes of this thread's own, 64-byte aligned.
    size_t gemm_rows;
    size_t (*gemm_scratch)(size_t k);
    void (*gemm)(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows, float *out,
                 size_t out_stride, void *scratch);
};
static inline bool matmul_by_gemm(const struct matmul_ops *ops, size_t n_rows) {
    return ops->gemm_rows && n_rows >= ops->gemm_rows;
}
// By whichever of the two is the better for n_rows.
static inline void matmul_run(const struct matmul_ops *ops, const void *w, size_t row_bytes, size_t n_out, size_t k,
                              const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride,
                              void *scratch) {
    if (matmul_by_gemm(ops, n_rows))
        ops->gemm(w, n_out, k, x, act_stride, n_rows, out, out_stride, scratch);
    else
        ops->matmul(w, row_bytes, n_out, k, x, act_stride, n_rows, out, out_stride);
}

// One block of keys and values against n_q queries: online softmax, docs/arithmetic.md section 6. Query i sees slots [lo[i], hi[i]),
// lo < hi; what the other slots hold does not matter. The score of slot j is scale * (q . k); then, where there is a softcap,
// softcap * tanh(score / softcap); then, where there are slopes (ALiBi), fmaf(slope[i], (float)(offset[i] + j), score).
struct attend_block {
    const void *keys, *values; // in the codec's form
    // What will be read after this block: fetched ahead from memory. The block itself where nothing follows.
    const void *next_keys, *next_values;
    size_t head_dim, v_dim; // of keys and queries; of values
    const void *q;          // rows prepared in the codec's `act`, q_stride bytes apart
    size_t q_stride, n_q;
    const uint8_t *lo, *hi;
    float scale;
    float softcap;         // 0: none
    const float *slope;    // NULL: none
    const int32_t *offset; // with slopes; offset[i] + 63 fits
    float *m, *l, *o;      // state of query i: m[i] (-inf at first), l[i] (0), o + i * v_dim (0)
    void *scratch;         // attend_scratch() bytes of this thread's own, 64-byte aligned
};
// For head_dim or v_dim, whichever is larger: a block in float, and 32 floats a channel beside it; no codec's attend wants more.
static inline size_t attend_scratch(size_t wider_dim) {
    return sizeof(float) * (2 * KV_BLOCK + 32) * ((wider_dim + 31) & ~(size_t)31);
}

// Keys and values as pages hold them: for each head a key block and a value block (kv_layout.h).
struct kv_codec_ops {
    enum act_format act;                                                     // what queries are prepared as
    size_t (*key_bytes)(size_t head_dim), (*value_bytes)(size_t v_dim);      // of one block, multiples of 64
    void (*put_key)(void *block, size_t head_dim, int slot, const float *k); // slot 0..63
    void (*put_value)(void *block, size_t v_dim, int slot, const float *v);
    // Copy one position between blocks (copy on write, keep(), assembling a tree path): bits unchanged.
    void (*copy_key)(void *dst, int dst_slot, const void *src, int src_slot, size_t head_dim);
    void (*copy_value)(void *dst, int dst_slot, const void *src, int src_slot, size_t v_dim);
    // The block in float, keys [head_dim][64], values [64][v_dim]: slots [0, n_slots) are defined.
    void (*get_keys)(const void *block, size_t head_dim, int n_slots, float *out);
    void (*get_values)(const void *block, size_t v_dim, int n_slots, float *out);
    void (*attend)(const struct attend_block *a);
};

// A step of a recurrence: of one head of one row. docs/arithmetic.md section 7.
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
// The gated delta rule (Yang et al. 2024, 2412.06464).
struct delta_step {
    size_t head_dim, v_dim;
    float *state;       // [head_dim][v_dim]
    const float *q, *k; // [head_dim]
    const float *v;     // [v_dim]
    float decay, beta;
    float *held; // [v_dim], its contents lost
    float *y;    // [v_dim]
};

// Makes at least n_rounds * 1,024 products of bytes, added up in 32 bits, by the fastest instructions that the set's matrix kernels
// use, and out of registers; returns how many. *sum: any number, so that nothing is left out.
typedef uint64_t (*int8_probe_fn)(uint64_t n_rounds, int32_t *sum);

struct kernel_set {
    enum cpu_set id;
    const char *name; // "avx2"
    struct matmul_ops matmul[TENSOR_N_TYPES];
    void (*prepare_act[ACT_N_FORMATS])(const float *x, size_t k, void *act);
    struct kv_codec_ops kv[KV_N_CODECS];
    struct rowmath row;

    // Rows; sums as in rowmath.h, formulas in docs/arithmetic.md section 5. y may be x or gate.
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
    // y = (u + 1) * (g * sigmoid(alpha * g)), g = min(gate, limit), u = up held to [-limit, limit]; limit >= 0.
    void (*swiglu_oai)(const float *gate, const float *up, size_t n, float alpha, float limit, float *y);
    // Rotate n_head heads of head_dim (stride floats apart): the first n_rot values of each in interleaved pairs (2i, 2i+1),
    // cos_sin[2i] and [2i+1] being the cosine and sine of pair i.  a' = fmaf(a, c, -(b * s)), b' = fmaf(a, s, b * c).
    void (*rope)(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);
    // The same with pairs (i, i + n_rot / 2).
    void (*rope_halves)(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);
    // Merge the state (m2, l2, o2) of a later split into (m, l, o); then finish: out = o / l. (sink, 1, zeros) is an attention sink: a
    // key of that score whose value is 0.
    void (*attend_merge)(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim);
    void (*attend_finish)(const float *o, float l, size_t v_dim, float *out);

    // Recurrences; x and y apart. A causal convolution over time, channel by channel: y[c] = sum over k of taps[k][c] times the input
    // d_conv - 1 - k steps ago. state: the last d_conv - 1 inputs, oldest first; its rows and those of taps are `stride` apart.
    void (*conv_step)(const float *x, float *state, const float *taps, size_t d_conv, size_t stride, size_t n,
                      float *y);
    void (*ssm_step)(const struct ssm_step *s);
    void (*delta_step)(const struct delta_step *s);

    int8_probe_fn int8_probe; // NULL: that of the set below serves (kernels/probe.h)
};

// The best set that this machine has, not above `highest` (CPU_N_SETS: no bound).
enum cpu_set cpu_set_detect(enum cpu_set highest);
bool cpu_set_available(enum cpu_set s);
const char *cpu_set_name(enum cpu_set s);
// What a set needs and this machine lacks: "AVX2"; NULL: nothing.
const char *cpu_set_lacks(enum cpu_set s);
// Why `best` is the best set here, in words: what the next higher one of this build lacks. lacks: cpu_set_lacks.
void cpu_set_reason(enum cpu_set best, const char *(*lacks)(enum cpu_set), char *out, size_t out_bytes);
// RN_E_ARG: no such name (the list is named); RN_E_UNSUPPORTED: this machine lacks it (which feature).
rn_status cpu_set_by_name(const char *name, enum cpu_set *out, rn_error *err);
// The filled table of an available set; constant, lives for ever.
const struct kernel_set *kernel_set_get(enum cpu_set s);

#endif
