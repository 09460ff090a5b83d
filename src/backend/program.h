// backend/program.h - a model as data: op records over numbered row buffers, with weights named and all shapes checked.
//
// model/ builds a program once; a backend loads it (lays weights out, takes buffers) and runs it over batches of rows. Nothing here
// belongs to one architecture or one kind of machine.
// Ownership: the builder's; it must outlive the backend that loaded it. Threads: immutable once built.
#ifndef RN_BACKEND_PROGRAM_H
#define RN_BACKEND_PROGRAM_H

#include "tensor/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_MAX_BUFFERS 16
#define PROGRAM_MAX_GROUPS  4

struct file_map;

// A weight matrix as the file holds it: n_out rows of k elements.
struct matrix {
    const char *name;
    enum tensor_type type;
    size_t k, n_out, row_bytes;
    const uint8_t *data;
    const struct file_map *file; // that data lies in; NULL: in no file
};

enum op_kind {
    OP_EMBED,    // dst[r] = row token[r] of matrix
    OP_RMS_NORM, // dst = norm(src) * vec
    OP_LINEAR,   // dst = matrix . src (+ vec)
    OP_ROPE,     // dst, heads of head_dim, rotated in place by the row's position
    OP_STORE_KV, // keys src and values src2 of the row go to its slot of the layer's pages
    OP_ATTEND,   // dst = attention of queries src over the layer's pages
    OP_SILU_MUL, // dst = silu(src) * src2
    OP_ADD,      // dst += src
    OP_GATHER,   // dst[i] = src[row i of those whose results are wanted]: what follows runs over these rows only
    OP_N_KINDS
};

struct op {
    enum op_kind kind;
    int32_t layer;         // -1: none
    int8_t src, src2, dst; // row buffers, -1: none
    int32_t matrix;        // index into matrices, -1: none
    const float *vec;      // norm weight or bias [width of dst], NULL: none
    int32_t n_head;        // OP_ROPE
    bool wanted_rows;      // runs over the wanted rows only: everything after OP_GATHER
};

struct program {
    const struct op *ops;
    size_t n_ops;
    const struct matrix *matrices;
    size_t n_matrices;
    size_t width[PROGRAM_MAX_BUFFERS];     // floats of a row in each buffer
    bool wanted_rows[PROGRAM_MAX_BUFFERS]; // holds a row for each wanted row, not for each row
    int32_t n_buffers;
    int32_t hidden, logits; // buffers with the results: after the final norm, and the head's
    int32_t n_layer, n_head, n_head_kv, head_dim;
    float attn_scale;
    float norm_eps;
    int32_t n_rot;
    const float *inv_freq; // [n_rot / 2] angle of one position, scaling and factors included
    float rope_magnitude;  // cosines and sines are multiplied by it; 1 without yarn
    // Layers with their own kind of pages (kv/): group of each layer, and its number within the group.
    int32_t n_groups;
    const int8_t *layer_group;
    const int32_t *layer_in_group;
    int32_t group_layers[PROGRAM_MAX_GROUPS];
    size_t
        state_bytes; // of a sequence, in all layers with a recurrence: what a slot of state holds (kv/). 0: there are none
};

const char *op_kind_name(enum op_kind k); // "linear"

#endif
