// backend/program.h - a model as data: op records over numbered row buffers, weights and shapes.
//
// model/ builds a program once; a backend loads it (prepares the weights, allocates the buffers)
// and runs it over batches of rows. Nothing here is specific to an architecture or to a machine.
// Ownership: the builder's; it must outlive the backend that loaded it. Threads: immutable once
// built.
#ifndef RN_BACKEND_PROGRAM_H
#define RN_BACKEND_PROGRAM_H

#include "base/status.h"
#include "tensor/act_fn.h"
#include "tensor/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_MAX_BUFFERS  64
#define PROGRAM_MAX_GROUPS   8
#define PROGRAM_MAX_ROPES    2
#define PROGRAM_MAX_KINDS    8 // of attention
#define PROGRAM_MAX_TAPS     16
#define PROGRAM_MAX_ADAPTERS 64
#define PROGRAM_MAX_COORDS   3  // further rope coordinates of a row, in addition to its position
#define PROGRAM_PART_ALIGN   16 // floats: strides of parts are multiples of it

struct file_map;

// A weight matrix as stored in the file: n_out rows of k elements, or n_slices such matrices
// (experts, heads) that lie slice_bytes apart.
struct matrix {
    const char *name;
    enum tensor_type type;
    size_t k, n_out, row_bytes;
    const uint8_t *data;
    const struct file_map *file; // the file that holds data; NULL: none
    size_t n_slices, slice_bytes;
    // [n_slices] what the products of each slice are multiplied with, before anything is added; NULL: nothing. Of matrices that ops multiply
    // with (op_multiplies()) only.
    const float *factors;
    // of a part: it is a matrix of the model that the part stands on (backend_spec.base)
    bool is_borrowed;
};

// An adapter's change of a matrix (LoRA, Hu et al. 2021, 2106.09685): W + scale * B A, where the
// product with a row x is W x + B (scale * (A x)); docs/arithmetic.md, "Adapters".
struct op_adapter {
    // A: `rank` rows of k numbers, those of the op's matrix. For OP_EMBED: a row of `rank` numbers
    // for each token. One slice, or as many as the matrix has.
    struct matrix a;
    struct matrix b; // n_out rows of `rank` numbers; as many slices as a
    size_t rank;     // 0: the adapter does not change this op
    float scale;     // the adapter's own
};

// What an op does to the row buffers of a step, row by row. program_check.c has the table of the
// fields that each kind uses.
//
// Experts: OP_ROUTE chooses n_used experts for each row and gives each choice a weight. A row of
// choices is n_used weights, then the numbers of the experts, as floats, in routing order. A row of
// a buffer of parts has one part for each of the row's choices; the stride of parts is a multiple
// of PROGRAM_PART_ALIGN, and n_used parts fill the row. The backend decides in what order the parts
// of all rows of a batch lie: between the ops that make parts and OP_EXPERTS_SUM there may only be
// ops that treat all parts alike (OP_GATE, OP_GATE_OAI, OP_ACTIVATE).
enum op_kind {
    // What rows bring.

    // dst = the token's row of matrix, times factor (+ the row of vec [n_row_kinds] that is the
    // row's kind). With takes_vector, a row's input vector replaces that or is added to it.
    OP_EMBED,
    OP_VECTOR,     // dst = the row's input vector, which every row must have
    OP_EMBED_POS,  // dst = row `position` of matrix
    OP_ADD_VECTOR, // dst += numbers [at, at + width) of the row's input vector, in rows that have one

    // Each row by itself.
    OP_RMS_NORM,   // dst = norm(src) * vec, head by head; vec NULL: no weight
    OP_LAYER_NORM, // the same with the mean subtracted, + vec2; vec, vec2 NULL: none
    // dst = matrix . src (+ vec); by_head: head i of dst = slice i of matrix . head i of src
    OP_LINEAR,
    OP_ROPE,        // dst rotated in place by the row's position, head by head
    OP_ACTIVATE,    // dst = fn(src)
    OP_GATE,        // dst = fn(src) * src2
    OP_GATE_OAI,    // dst = gpt-oss's gate of src and src2 (docs/arithmetic.md)
    OP_ADD,         // dst += src * factor
    OP_MUL,         // dst *= src, or vec where there is no src
    OP_SCALE,       // dst *= factor
    OP_SCALE_BY,    // dst *= src[0]
    OP_SOFTCAP,     // dst = cap * tanh(dst / cap)
    OP_TEMPERATURE, // dst *= 1 + weight * ln(1 + floor((position + offset) / period))
    OP_COPY,        // dst = src, head by head

    // Attention.
    OP_STORE_KV, // keys src and values src2 go to the row's slot of the layer's pages
    OP_ATTEND,   // dst = attention of queries src over the layer's pages

    // Experts.

    // dst = choices by the router's logits src. vec [n_expert]: added for choosing only; vec2
    // [n_expert]: factors of the weights of the choices; NULL: neither.
    OP_ROUTE,
    OP_SPREAD, // parts dst = src times the choice's weight; src2: choices
    // parts dst = slice of matrix of the choice's expert . src (+ its row of vec
    // [n_slices][n_out]); src2: choices
    OP_EXPERTS,
    // dst = parts src, each times its weight where is_weighted, added in routing order (+ vec);
    // src2: choices
    OP_EXPERTS_SUM,

    // Recurrences: the rows of a sequence one after the other.

    // dst = causal convolution of src over time with taps vec [d_conv][n_channel] (+ vec2)
    OP_CONV,
    // dst = state space model of src = (x, b, c) with time steps src2; vec: a of each head, vec2: d
    OP_SSM,
    // dst = state space model of src = (x, b, c) with a time step src2 for each number of x; vec: a of each state and number, vec2: d
    OP_SCAN,
    // dst = src of the row before (+0 in the first one) - src
    OP_SHIFT,
    // dst = state with a part of rank one, of src = (q, logarithms of decays, k, e, b, v), head by head of each (struct rank_one_step)
    OP_RANK_ONE,
    // dst = state that decays key by key, of src = (q, x, k, v) with decays exp(-exp(x)); q and x head by head, k and v group by group. vec,
    // of each key: dst reads the state before, and the row's own k and v as much as it says. NULL: dst reads the state behind, to which k
    // goes as much as its number decays (struct decay_step).
    OP_DECAY,
    // dst = delta rule of src = (q, k, v) by src2 = (beta, alpha of each head); vec: a, vec2: bias
    // of alpha
    OP_DELTA,

    // dst += what a row's own key and value give beside the state: of each head, (sum of q * k * vec) * v of OP_RANK_ONE's src
    OP_BONUS,

    // dst[i] = src of wanted row i. Without a layer: the ops after it run over the wanted rows
    // only. In a layer: a tap, after which the layers go on.
    OP_GATHER,
    // dst of wanted row i = the mean of src over all rows of its sequence in this step: their sum in the order of positions, times 1 / count
    OP_GATHER_MEAN,
    OP_CLAMP, // dst = min(max(dst, least), most)
    OP_XIELU, // dst = xIELU of src (kernels/kernels.h)
    OP_N_KINDS
};

// Which rows of a batch a buffer holds, and an op runs over.
enum op_rows {
    ROWS_ALL,
    ROWS_WANTED, // those whose results are wanted
    ROWS_LOGITS  // those of the wanted rows whose logits are wanted, which come first among them
};

// Heads of a row (or the parts of its chosen experts), `stride` floats apart; the op begins at
// float `at` of each. Stride 0 of src: all heads read the same floats.
struct op_head {
    int32_t stride, at;
};

// A field means the same for every kind that uses it. Those that a kind does not use are 0 (NULL;
// -1 where said).
struct op {
    enum op_kind kind;
    int32_t layer; // -1: none
    enum op_rows rows;
    int8_t src, src2, dst; // row buffers, -1: none
    // Floats that the op computes of each row, in all heads together: of dst, or of src where there
    // is no dst.
    int32_t width;
    // Head by head: width / n floats of each of n heads. n 1: the row as a whole.
    struct {
        int32_t n;
        struct op_head src, dst;
    } heads;
    struct {
        int32_t matrix;          // index into matrices, -1: none
        const float *vec, *vec2; // NULL: none
        // each head has its own part of them, side by side; else all heads share one
        bool vec_by_head;
        // OP_LINEAR, OP_EXPERTS, OP_EMBED: [program.n_adapters] what each adapter adds to the
        // matrix, in rows of sequences that use it (batch_seq.adapters); NULL: none does
        const struct op_adapter *adapters;
    } weights;

    // Parameters that only some kinds have.

    // OP_EMBED; factor 1: none
    struct {
        float factor;
        bool takes_vector;
    } embed;
    // OP_ADD_VECTOR
    struct {
        int32_t at;
    } vector;
    // OP_LINEAR
    struct {
        bool by_head;
    } linear;
    // OP_RMS_NORM, OP_LAYER_NORM; 0: the program's norm_eps
    struct {
        float eps;
    } norm;
    // OP_ROPE: index into ropes
    struct {
        int8_t table;
    } rope;
    // OP_ACTIVATE, OP_GATE
    struct {
        enum act_fn fn;
    } activate;
    // OP_XIELU
    struct xielu xielu;
    // OP_ADD, OP_SCALE
    struct {
        float factor;
    } scale;
    // OP_SOFTCAP
    struct {
        float cap;
    } softcap;
    // OP_CLAMP
    struct {
        float least, most;
    } clamp;
    // OP_TEMPERATURE; period and offset in positions
    struct {
        float weight;
        int32_t period, offset;
    } temperature;
    // OP_EXPERTS: src is a buffer of parts; else all experts of a row read the same row. per_slice: so many consecutive experts have one
    // slice of the matrix; 0: each has its own
    struct {
        bool reads_parts;
        int32_t per_slice;
    } experts;
    // OP_EXPERTS_SUM
    struct {
        bool is_weighted;
    } experts_sum;
    // OP_CONV, OP_SSM, OP_SCAN, OP_SHIFT, OP_RANK_ONE, OP_DECAY, OP_DELTA: where in a sequence's state the op's part of it begins, in floats
    struct {
        size_t at;
    } state;
    // OP_RANK_ONE
    struct {
        bool decays_first;
    } rank_one;
};

// One form of attention. Most models have one, those with windows on some layers two.
struct attend_kind {
    int32_t n_head, n_head_kv, head_dim, v_dim;
    float scale, softcap;      // softcap 0: none
    int32_t window;            // a row attends to this many positions, its own included; 0: to all
    int32_t chunk;             // > 0: instead, to those of its own chunk of this many positions
    bool by_area;              // rows that bring an area attend to that instead (struct batch_row)
    const float *alibi_slopes; // [n_head]; NULL: none
    // Of rows that see beyond their own position.
    int32_t ahead;    // with a window: they see so many positions behind it at most
    bool is_mirrored; // ALiBi: of keys behind the row, too
};
// The attention of a layer.
struct attention {
    int8_t kind;            // index into kinds; -1: the layer has no attention
    int8_t group;           // of pages
    int32_t layer_in_group; // of the layer that stores the keys and values
    // [n_head] logits of a key without a value that every row attends to; NULL: none
    const float *sinks;
    // [n_head][2 * n_distance + 1] what is added to a score, by the key's position less the query's, from -n_distance on; beyond that
    // as at the end. NULL: nothing
    const float *distance_bias;
    int32_t n_distance;
};

// Layers that share one kind of pages (kv/).
struct page_group {
    int32_t n_layer; // 0: pages without bytes
    int32_t n_head_kv, head_dim, v_dim;
    int32_t window; // positions that must be kept; 0: all
};

// The shape of recurrent layers, the same for all of a model. n_head heads with v_dim results each
// share n_group groups of keys of key_dim floats: head h uses group h % n_group where is_tiled,
// else h / (n_head / n_group).
struct recurrence {
    int32_t d_conv, n_channel; // steps that the convolution covers, and its channels
    int32_t n_head, v_dim, n_group, key_dim;
    bool is_tiled;
};

// Rotary angles of a row: pair i is rotated by coordinate * inv_freq[i], where the coordinate is
// the row's position or one of its rope coordinates.
struct rope_table {
    int32_t n_rot; // rotated floats of a head
    bool halves;   // pairs are i and i + n_rot / 2; else 2i and 2i + 1
    // [n_rot / 2] angle of one position, with scaling and factors applied
    const float *inv_freq;
    const float *inv_freq_far; // for sequences marked as far; NULL: the same
    // [n_rot / 2] 0: the position, else coordinate coord[i] - 1 of the row; NULL: the position
    const uint8_t *coord;
    float magnitude; // factor of cosines and sines; 1 without YaRN
};

// How a router's logits become choices: scores; the best n_used by score + bias within the best
// groups; their weights. Of equal scores the lower number wins.
enum routing_scores {
    ROUTING_SOFTMAX, // over all experts
    ROUTING_SIGMOID, // of each
    ROUTING_LOGITS,  // the logits themselves; weights are the softmax over the chosen ones
    // The same logits; the weight of each choice is its softmax over it and those not chosen before it that come near: that fall short
    // of it by at most `margin`, in parts of the larger magnitude of both (SparseMixer, 2409.12136).
    ROUTING_RIVALS
};
#define ROUTING_MAX_GROUP_BEST 2
struct routing {
    enum routing_scores scores;
    int32_t n_expert, n_used;
    int32_t n_group, n_group_used; // groups of consecutive experts, all of one size; 1: no groups
    int32_t group_best;            // a group's score is the sum of this many of its best scores
    bool is_normalized;            // weights are divided by their sum
    float scale;                   // and multiplied by this
    float margin;                  // of ROUTING_RIVALS
};

struct program {
    const struct op *ops;
    size_t n_ops;
    const struct matrix *matrices;
    size_t n_matrices;
    size_t n_adapters; // that a sequence may use, by number
    // Of each row buffer: floats of a row (the widest layer's; 0: not used), and which rows it
    // holds.
    size_t width[PROGRAM_MAX_BUFFERS];
    enum op_rows rows[PROGRAM_MAX_BUFFERS];
    int32_t n_buffers;
    int32_t n_tokens; // rows have tokens 0..n_tokens-1
    // [width[logits]] the token of each logit, ascending; NULL: logit i is of token i.
    const int32_t *token_map;
    int32_t hidden, logits; // buffers with the results: after the final norm, and of the head
    int32_t n_taps;         // layers after which the residual stream of the wanted rows is kept
    struct {
        int32_t layer, buffer;
    } taps[PROGRAM_MAX_TAPS];
    int32_t rank, n_rank; // buffer with a reranker's n_rank scores of a row; n_rank 0: no such head
    bool rank_softmax;    // scores are the softmax of these
    int32_t n_vector;     // floats of a row's input vector; 0: rows have none
    int32_t n_row_kinds;  // a row's kind is below it; 0: as 1
    // further rope coordinates of a row that some rope table reads; 0: positions alone
    int32_t n_coords;
    // every row must have an input vector, which is read together with the token (OP_VECTOR)
    bool needs_vector;
    int32_t n_layer;
    float norm_eps;
    int32_t n_kinds;
    struct attend_kind kinds[PROGRAM_MAX_KINDS];
    const struct attention *attention; // [n_layer]
    int32_t n_ropes;
    struct rope_table ropes[PROGRAM_MAX_ROPES];
    // sequences that will hold more positions than this are marked as far; 0: none
    int32_t n_near;
    struct routing routing; // n_expert 0: no experts
    int32_t n_groups;
    struct page_group groups[PROGRAM_MAX_GROUPS];
    // Of a sequence's state in all recurrent layers, which a state slot holds (kv/); 0: no such
    // layers.
    size_t state_bytes;
    struct recurrence recurrence;
};

// Checks that every op uses the fields of its kind and no others, and that they fit the buffers.
// RN_E_INTERNAL names the first op that does not: a defect of whatever built the program.
rn_status program_check(const struct program *p, rn_error *err);
const char *op_kind_name(enum op_kind k); // "linear"
bool op_has_state(enum op_kind k);        // reads and writes the row's slot of state
// Floats of an op's vec and vec2, where it has them, and bytes of a matrix: what a backend copies
// to its own memory.
size_t op_vector_numbers(const struct program *p, const struct op *o);
size_t op_vector2_numbers(const struct program *p, const struct op *o);
size_t matrix_bytes(const struct matrix *m);
// The most numbers of A x that a row has in an op with these adapters: of all of them together, for
// each slice, rounded up to PROGRAM_PART_ALIGN each.
size_t op_adapter_numbers(const struct program *p, const struct op *o);
// Whether the kind multiplies its matrix with rows, rather than looking rows of it up.
static inline bool op_multiplies(enum op_kind k) { return k == OP_LINEAR || k == OP_EXPERTS; }

#endif
