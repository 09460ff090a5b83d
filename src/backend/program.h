// backend/program.h - a model as data: op records over numbered row buffers, with weights named and all shapes checked.
//
// model/ builds a program once; a backend loads it (lays weights out, takes buffers) and runs it over batches of rows. Nothing here
// belongs to one architecture or one kind of machine.
// Ownership: the builder's; it must outlive the backend that loaded it. Threads: immutable once built.
#ifndef RN_BACKEND_PROGRAM_H
#define RN_BACKEND_PROGRAM_H

#include "base/status.h"
#include "tensor/act_fn.h"
#include "tensor/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_MAX_BUFFERS 64
#define PROGRAM_MAX_GROUPS  4
#define PROGRAM_MAX_ROPES   2
#define PROGRAM_MAX_KINDS   4 // of attention
#define PROGRAM_MAX_TAPS    8
#define PROGRAM_MAX_COORDS  3  // of a row's rope coordinates beside its position
#define PROGRAM_PART_ALIGN  16 // floats: strides of parts are multiples of it

struct file_map;

// A weight matrix as the file holds it: n_out rows of k elements; or n_slices of them (experts, heads), slice_bytes from one to the next.
struct matrix {
    const char *name;
    enum tensor_type type;
    size_t k, n_out, row_bytes;
    const uint8_t *data;
    const struct file_map *file; // that data lies in; NULL: in no file
    size_t n_slices, slice_bytes;
};

// What an operation does to the row buffers of a step, row by row. program_check.c has the table of the fields that each kind uses.
//
// Heads: n_part of them, `stride` floats from one to the next. Where n_part is 1, a row is taken as one.
//
// Experts: OP_ROUTE chooses n_used of them for each row and gives each a weight. A row of choices is n_used weights, then the numbers of
// their experts, as floats, in routing order. A row of a buffer of parts has n_part = n_used parts, one for each of the row's choices,
// `stride` floats apart (a multiple of PROGRAM_PART_ALIGN, over all of the buffer's width). The order of parts over all rows of a batch is up
// to the backend: only ops that treat all parts alike (OP_GATE, OP_GATE_OAI, OP_ACTIVATE) may stand between those below.
enum op_kind {
    // What rows bring.
    // dst = the token's row of matrix, times factor. With takes_vector, a row's input vector replaces that or is added to it.
    OP_EMBED,
    OP_VECTOR,    // dst = the row's input vector, which every row must have
    OP_EMBED_POS, // dst = row `position` of matrix

    // Rows by themselves.
    OP_RMS_NORM,   // dst = norm(src) * vec, of each head its first width / n_part numbers; vec NULL: no weight
    OP_LAYER_NORM, // the same with the mean subtracted, + vec2; vec, vec2 NULL: none
    OP_LINEAR,     // dst = matrix . src (+ vec); with src_parts head i of dst = slice i of the matrix . head i of src
    OP_ROPE,       // dst, head by head, rotated in place by the row's position, from number `at` of each head on
    OP_ACTIVATE,   // dst = fn(src)
    OP_GATE,       // dst = fn(src) * src2
    OP_GATE_OAI,   // dst = gpt-oss's gate of src and src2 (docs/arithmetic.md)
    OP_ADD,        // dst += src * factor
    OP_MUL,        // dst *= src
    OP_SCALE,      // dst *= factor
    OP_SCALE_BY,   // dst *= src[0]
    OP_SOFTCAP,    // dst = factor * tanh(dst / factor)
    OP_TEMPERATURE, // dst *= 1 + factor * ln(1 + floor((position + dst_at) / at))
    OP_COPY, // head by head: dst[dst_stride * i + dst_at + j] = src[stride * i + at + j] for j < width / n_part

    // Attention.
    OP_STORE_KV, // keys src and values src2 go to the row's slot of the layer's pages
    OP_ATTEND,   // dst = attention of queries src over the layer's pages

    // Experts.
    // dst = choices by the router's logits src. vec [n_expert]: added for choosing only; vec2: what each expert's weight is multiplied by at
    // last; NULL: neither.
    OP_ROUTE,
    OP_SPREAD, // parts dst = src times the choice's weight; src2: choices
    OP_EXPERTS, // parts dst = slice of matrix of the choice's expert . src (+ its row of vec [n_slices][n_out]); src2: choices
    OP_EXPERTS_SUM, // dst = parts src, each times its weight where is_weighted, added in routing order; src2: choices

    // Recurrences: one row of a sequence after the other.
    OP_CONV,  // dst = causal convolution of src over time with taps vec [d_conv][n_channel] (+ vec2)
    OP_SSM,   // dst = state space of src = (x, b, c) with time steps src2; vec: a of each head, vec2: d
    OP_DELTA, // dst = delta rule of src = (q, k, v) by src2 = (beta, alpha of each head); vec: a, vec2: bias of alpha

    // dst[i] = src of wanted row i. Without a layer: what follows runs over the wanted rows only. Of a layer: a tap, after which the layers
    // go on.
    OP_GATHER,
    OP_N_KINDS
};

struct op {
    enum op_kind kind;
    int32_t layer;         // -1: none
    int8_t src, src2, dst; // row buffers, -1: none
    int32_t width;         // numbers of a row that the op makes
    // Where in a row: heads of src (of dst where the op has no src) and where in one of them the op begins; the same of dst.
    int32_t n_part, stride, at;
    int32_t dst_stride, dst_at;
    // Which rows: all; with wanted_rows those with results; with logits_rows of these those with logits, which are behind all others.
    bool wanted_rows, logits_rows;
    // Weights: index into matrices, -1: none; vectors, NULL: none, with vec_by_head one for each head side by side.
    int32_t matrix;
    const float *vec, *vec2;
    bool vec_by_head;
    // Of some kinds.
    enum act_fn fn;    // OP_ACTIVATE, OP_GATE
    float factor;      // 1 where an op says nothing else
    int8_t rope;       // OP_ROPE: which table
    bool src_parts;    // OP_LINEAR, OP_EXPERTS: src has heads or parts too; else the row is the same for all
    bool is_weighted;  // OP_EXPERTS_SUM
    bool takes_vector; // OP_EMBED
    size_t state_at;   // OP_CONV, OP_SSM, OP_DELTA: where in a sequence's state the op's own begins, in floats
};

// A way to attend; most models have one, those with windows on some layers two.
struct attend_kind {
    int32_t n_head, n_head_kv, head_dim, v_dim;
    float scale, softcap;      // softcap 0: none
    int32_t window;            // a row sees this many positions, its own included; 0: all
    int32_t chunk;             // > 0: in place of it, those of its own chunk of this many
    const float *alibi_slopes; // [n_head]; NULL: none
};
// How a layer attends.
struct attention {
    int8_t kind;            // -1: it does not
    int8_t group;           // of pages
    int32_t layer_in_group; // of the layer whose keys and values these are
    const float *sinks;     // [n_head] logits of a key that is always there and has no value; NULL: none
};

// Layers with their own kind of pages (kv/).
struct page_group {
    int32_t n_layer; // 0: pages without bytes
    int32_t n_head_kv, head_dim, v_dim;
    int32_t window; // positions that must be kept; 0: all
};

// The shape of recurrent layers, one for all of a model. Heads of v_dim results go by n_group pairs of keys of key_dim numbers: head h
// takes pair h % n_group where heads are tiled, else those next to each other share one.
struct recurrence {
    int32_t d_conv, n_channel; // steps that a convolution sees, and its width
    int32_t n_head, v_dim, n_group, key_dim;
    bool is_tiled;
};

// Cosines and sines of a row: pair i at angle coordinate * inv_freq[i], the coordinate being the row's position or one of its own.
struct rope_table {
    int32_t n_rot;             // rotated numbers of a head: pairs 2i and 2i + 1, or i and i + n_rot / 2
    bool halves;               // the latter
    const float *inv_freq;     // [n_rot / 2] angle of one position, scaling and factors included
    const float *inv_freq_far; // of sequences that are marked far; NULL: the same
    const uint8_t *coord; // [n_rot / 2] 0: the position, else coordinate coord[i] - 1 of the row; NULL: the position
    float magnitude;      // cosines and sines are multiplied by it; 1 without yarn
};

// How a router's logits become choices: scores, then the best n_used by score + bias within the best groups, then weights. Ties: the
// lower number first.
enum routing_scores {
    ROUTING_SOFTMAX, // over all experts
    ROUTING_SIGMOID, // of each
    ROUTING_LOGITS   // as they are, and softmax over the chosen
};
#define ROUTING_MAX_GROUP_BEST 2
struct routing {
    enum routing_scores scores;
    int32_t n_expert, n_used;
    int32_t n_group, n_group_used; // neighbours, the same number in each group; 1: no groups
    int32_t group_best;            // a group counts by the sum of so many of its best
    bool is_normalized;            // weights are divided by their sum
    float scale;                   // and multiplied by this
};

struct program {
    const struct op *ops;
    size_t n_ops;
    const struct matrix *matrices;
    size_t n_matrices;
    size_t width[PROGRAM_MAX_BUFFERS]; // floats of a row in each buffer, of the layer that wants most; 0: not used
    bool wanted_rows[PROGRAM_MAX_BUFFERS]; // holds a row for each wanted row, not for each row
    bool logits_rows[PROGRAM_MAX_BUFFERS]; // or for each whose logits are wanted
    int32_t n_buffers;
    int32_t hidden, logits; // buffers with the results: after the final norm, and the head's
    int32_t n_taps;         // layers after which the residual stream of the wanted rows is kept
    struct {
        int32_t layer, buffer;
    } taps[PROGRAM_MAX_TAPS];
    int32_t rank, n_rank; // and a reranker's scores, n_rank of a row; 0: it has no such head
    bool rank_softmax;    // scores are softmax of these
    int32_t n_vector;     // numbers of a row's input vector; 0: rows have none
    int32_t n_coords;     // of a row's further rope coordinates that some rope table reads; 0: positions alone
    bool needs_vector;    // every row must have an input vector, which is read beside the token (OP_VECTOR)
    int32_t n_layer;
    float norm_eps;
    int32_t n_kinds;
    struct attend_kind kinds[PROGRAM_MAX_KINDS];
    const struct attention *attention; // [n_layer]
    int32_t n_ropes;
    struct rope_table ropes[PROGRAM_MAX_ROPES];
    int32_t n_near;         // sequences that will hold more positions than this are to be marked far; 0: none ever
    struct routing routing; // n_expert 0: no experts
    int32_t n_groups;
    struct page_group groups[PROGRAM_MAX_GROUPS];
    // Of a sequence, in all layers with a recurrence: what a slot of state holds (kv/). 0: there are none.
    size_t state_bytes;
    struct recurrence recurrence;
};

// Does every op use the fields of its kind and no other, and do they fit the buffers? RN_E_INTERNAL names the first that does not: a defect of
// whoever built the program.
rn_status program_check(const struct program *p, rn_error *err);
const char *op_kind_name(enum op_kind k); // "linear"
// How many floats an op's vec and vec2 hold, where it has them, and how many bytes a matrix: what a backend copies to its own memory.
size_t op_vector_numbers(const struct program *p, const struct op *o);
size_t op_vector2_numbers(const struct program *p, const struct op *o);
size_t matrix_bytes(const struct matrix *m);
// Is its matrix multiplied with rows, rather than looked up?
static inline bool op_multiplies(enum op_kind k) { return k == OP_LINEAR || k == OP_EXPERTS; }

#endif
