// formats/folder/hf_forms.h - how a GGUF tensor is made of a folder's: what of it is taken, in which order, and what becomes of its numbers.
//
// A folder's tensor is seen as matrices of rows. Of each matrix some rows or columns are taken, put into another order, turned, or
// changed number by number. A form that takes whole rows as they lie, all in one piece, needs no copy: the tensor stays in the file.
#ifndef RN_FORMATS_FOLDER_HF_FORMS_H
#define RN_FORMATS_FOLDER_HF_FORMS_H

#include "base/status.h"
#include "formats/folder/safetensors_read.h"

enum hf_form {
    HF_AS_IT_IS,
    // Rows of queries and keys for interleaved rotation: row (h, j, i) of [heads, 2, d / 2] becomes row (h, i, j).
    HF_QUERIES_INTERLEAVED,
    HF_KEYS_INTERLEAVED,
    HF_QUERIES_HALVED, // the other way round, of the rotated rows of each head
    HF_KEYS_HALVED,
    HF_PLUS_ONE,   // weights of norms that multiply by 1 + w
    HF_PLUS_FIFTH, // by 1/5 + w, and by 5^-1.5 + w: norms behind blocks (plamo3)
    HF_PLUS_LESS,
    HF_TRANSPOSED,  // each matrix
    HF_QKV_GROUPED, // rows [key head][its queries, key, value] -> all queries, all keys, all values
    // Of such rows the queries and the keys for interleaved rotation, and the values.
    HF_GROUPED_QUERIES,
    HF_GROUPED_KEYS,
    HF_GROUPED_VALUES,
    // Of rows [all queries, all keys, all values] the queries and the keys for interleaved rotation, and the values.
    HF_PACKED_QUERIES,
    HF_PACKED_KEYS,
    HF_PACKED_VALUES,
    // Query head h reads key head h % key heads: [queries of a key head][key head] -> [key head][its queries], of rows and of columns.
    HF_SPREAD_QUERIES,
    HF_SPREAD_COLUMNS,
    HF_SPLIT_EXPERTS, // rows [expert][row]
    HF_SPLIT_EXPERTS_TURNED,
    HF_NORMED_HEAD, // rows divided by their length, where the model is one whose head does that
    HF_FIRST_HALF,  // rows of each matrix
    HF_SECOND_HALF,
    HF_EVEN, // every second number of each row, or of a vector
    HF_ODD,
    HF_TRANSPOSED_FIRST_HALF, // columns become rows, and half of them is taken
    HF_TRANSPOSED_SECOND_HALF,
    HF_TRANSPOSED_EVEN,
    HF_TRANSPOSED_ODD,
    HF_STACKED,         // "%e": matrices of all experts, one after the other
    HF_STACKED_CHUNKS,  // "%e": of what groups of experts share (grovemoe)
    HF_STACKED_QUERIES, // "%e": vectors of all heads of queries, one after the other
    HF_STACKED_MIXES, // "%m": vectors for each of r, w, k, v, a and, with gates, g (rwkv7), "%w": w, k, v, r, g (rwkv6), one after the other
    HF_STACKED_KEYS,
    HF_WITHOUT_FIRST_TWO, // rows
    HF_FLAT,              // [1, n] -> [n]
    HF_AS_VECTOR,         // whatever its shape
    HF_SQUEEZED,          // [channels, 1, taps] -> [channels, taps]
    HF_COLUMN,            // [n] -> [n, 1]
    HF_BY_GROUP,          // [d_inner] -> [groups, d_inner / groups]
    HF_MINUS_EXP,         // -exp(w)
    HF_MINUS_EXP_COLUMN,
    HF_KEYS_OF_LATENT, // rows [head][nope, value] of the latent's width -> [head][width][nope]
    HF_VALUES_OF_LATENT,
    // The rotated rows at the end of each head, of the only key: halves become pairs.
    HF_LATENT_QUERIES_INTERLEAVED,
    HF_LATENT_KEYS_INTERLEAVED,
    HF_QKV_OF_QKVZ, // rows [key head][q, k, values, gates] -> all q, all k, all v
    HF_Z_OF_QKVZ,
    // The value heads of a key head, which lie side by side, go as far apart as there are key heads: [key head][its v] -> [v][key head].
    HF_TILED_QKV,   // of rows [q, k, v] those of v
    HF_TILED_ROWS,  // of a head each
    HF_TILED_HEADS, // a row or number for each head
    HF_TILED_COLUMNS,
    HF_TILED_CONV,
    HF_TILED_MINUS_EXP,
    HF_HALVES_SWAPPED, // columns [a, b], each as wide as the model's rows -> [b, a]
    // Times factors that config.json gives (enum hf_factor), those of ssm_in section by section.
    HF_TIMES_EMBEDDING,
    HF_TIMES_HEAD,
    HF_TIMES_ATTENTION_IN,
    HF_TIMES_KEY,
    HF_TIMES_KEY_BIAS,
    HF_TIMES_ATTENTION_OUT,
    HF_TIMES_GATE,
    HF_TIMES_DOWN,
    HF_TIMES_SSM_IN,
    HF_TIMES_SSM_IN_BIAS,
    HF_TIMES_SSM_OUT,
    HF_TIMES_RESCALE, // divided by 2 for each time that what is added to has been halved (rwkv6)
    // Five blocks [r, k, v, w, g] of columns -> [w, k, v, r, g], turned, and so matrices (rwkv6qwen2)
    HF_TRANSPOSED_MIXES,
    HF_MIXES_TRANSPOSED,
    HF_MXFP4, // hf_experts.c: of the tensors NAME_blocks and NAME_scales
    HF_MXFP4_EVEN,
    HF_MXFP4_ODD,
    HF_N_FORMS
};

// Factors that a model multiplies numbers on their way by, and files of GGUF have in its matrices (falcon-h1): config_factors.c.
enum hf_factor {
    HF_FACTOR_EMBEDDING,
    HF_FACTOR_HEAD,
    HF_FACTOR_ATTENTION_IN,
    HF_FACTOR_KEY,
    HF_FACTOR_ATTENTION_OUT,
    HF_FACTOR_GATE,
    HF_FACTOR_DOWN,
    HF_FACTOR_SSM_IN,
    HF_FACTOR_SSM_OUT,
    HF_FACTOR_SSM_Z, // the sections of what a state reads: gate, input, two kinds of keys, time steps
    HF_FACTOR_SSM_X,
    HF_FACTOR_SSM_B,
    HF_FACTOR_SSM_C,
    HF_FACTOR_SSM_DT,
    HF_N_FACTORS
};

// What the forms ask about a model.
struct hf_sizes {
    uint64_t n_head, n_head_kv, head_dim, n_rot; // of all heads, or of the layer's
    uint64_t nope, value;                        // parts of a head of latent attention
    uint64_t n_expert, n_embd;
    bool head_is_normed;
    uint64_t mix_rank;                                           // rwkv6
    double rescale;                                              // rwkv6: of the layer
    const float *factors;                                        // [HF_N_FACTORS]; NULL: not known
    uint64_t key_heads, value_heads, key_dim, value_dim, groups; // of recurrent layers
};

struct hf_sizes hf_sizes_of(const struct hparams *hp,
                            const struct layer_hparams *l); // l NULL: the whole model (hf_tensors.c)

// What is done.
struct hf_plan {
    uint64_t n_mats, n_rows, n_cols; // how the folder's tensor is seen
    uint64_t row_from, row_step, rows_taken;
    uint64_t col_from, col_step, cols_taken;
    bool turned; // columns taken become rows
    uint64_t (*row_of)(const struct hf_sizes *s,
                       uint64_t row); // which of the rows taken comes as this one; NULL: itself
    bool by_column;                   // row_of is of columns
    bool by_matrix;                   // row_of is of matrices
    enum hf_change {
        HF_NUMBERS_KEPT,
        HF_NUMBERS_PLUS,
        HF_NUMBERS_MINUS_EXP,
        HF_ROWS_OF_LENGTH_1,
        HF_ROWS_TIMES
    } change;
    double (*factor_of)(const struct hf_sizes *s, uint64_t row); // of HF_ROWS_TIMES
    double plus;                                                 // of HF_NUMBERS_PLUS
    int n_dims;                                                  // of the GGUF tensor
    uint64_t ne[PACKAGE_MAX_DIMS];
};

// The plan for a tensor of these dimensions. Errors: RN_E_FORMAT, without the tensor's name.
rn_status hf_plan(enum hf_form form, const struct hf_sizes *s, const struct safetensors_record *t,
                  struct hf_plan *out, rn_error *err);
// Does the plan take numbers that lie in one piece, from number *first on?
bool hf_plan_is_view(const struct hf_plan *p, uint64_t *first);
// The type that it makes of a type: changed numbers are F32.
enum tensor_type hf_plan_type(const struct hf_plan *p, enum tensor_type type);
// src: the whole tensor of the folder; dst: room for the GGUF tensor. type: of src.
void hf_plan_run(const struct hf_plan *p, const struct hf_sizes *s, enum tensor_type type, const uint8_t *src,
                 uint8_t *dst);

#endif
