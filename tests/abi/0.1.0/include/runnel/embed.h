// runnel/embed.h - texts as vectors: hidden states after the model's final norm, pooled; and a reranker's scores.
#ifndef RUNNEL_EMBED_H
#define RUNNEL_EMBED_H

#include <runnel/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

// What of a text's rows is its embedding. Rows see what stands before them and nothing behind: the first one sees itself alone.
typedef enum rn_pooling {
    RN_POOLING_MODEL = 0, // what the file says, or the folder's modules.json, else RN_POOLING_LAST
    RN_POOLING_NONE = 1,  // every row, in order of positions
    RN_POOLING_MEAN = 2,  // their sum, taken in float in order of positions, divided by their number
    RN_POOLING_FIRST = 3,
    RN_POOLING_LAST = 4,
    RN_POOLING_RANK = 5 // scores: the last row through the reranker's head that some files have
} rn_pooling;
RN_API const char *rn_pooling_name(rn_pooling p); // "mean"; "" for RN_POOLING_MODEL

// L2: each row is divided by its length; one of length 0 stays. Scores are not divided.
typedef enum rn_normalize { RN_NORMALIZE_DEFAULT = 0, RN_NORMALIZE_L2 = 1, RN_NORMALIZE_OFF = 2 } rn_normalize;

typedef struct rn_embed_options {
    size_t struct_size;
    rn_pooling pooling;
    rn_normalize
        normalize; // default: L2, but off for RN_POOLING_NONE and RN_POOLING_RANK, and where the folder's modules.json
                   // has no Normalize
    uint64_t client, cache_salt; // as rn_request has them
} rn_embed_options;
RN_API void rn_embed_options_init_sized(rn_embed_options *o, size_t struct_size);
static inline void rn_embed_options_init(rn_embed_options *o) { rn_embed_options_init_sized(o, sizeof *o); }

// What an embedding will be: n_rows rows of n_row floats.
typedef struct rn_embed_shape {
    size_t struct_size;
    rn_pooling pooling; // never RN_POOLING_MODEL
    bool is_normalized;
    size_t n_rows, n_row; // n_rows: 1, or with RN_POOLING_NONE the number of ids
} rn_embed_shape;
// opt NULL: defaults. RN_E_ARG; RN_E_UNSUPPORTED (RN_POOLING_RANK and the file has no reranker head).
RN_API rn_status rn_embed_get_shape(rn_engine *engine, size_t model, const rn_embed_options *opt, size_t n_ids,
                                    rn_embed_shape *shape, rn_error *err);

/**
 * Begin an embedding: a stream that shares steps with all others, and whose only chunk is its last.
 *
 * That chunk has RN_FINISH_STOP and `embedding`, which is valid until the stream is closed; else its finish_detail says what went
 * wrong. The bits depend on the model, the ids and the KV type alone: not on chunks, threads or what runs beside it. Where only the
 * last row counts, a cached prefix is taken over and the last row evaluated; otherwise all rows are evaluated.
 *
 * @param ids     the text's tokens, as rn_tokenize() makes them with add_special.
 * @param opt     NULL: defaults.
 * @param stream  on RN_OK the caller's, closed with rn_stream_close(); else NULL.
 * @return RN_OK; RN_E_ARG (an option; an id outside the vocabulary; no ids); RN_E_LIMIT (longer than the context: both figures);
 *         RN_E_BUSY (as rn_stream_begin()); RN_E_UNSUPPORTED (as above); RN_E_NOMEM.
 */
RN_API rn_status rn_embed_begin(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                                const rn_embed_options *opt, rn_stream **stream, rn_error *err);

/**
 * The same in one call: waits for the end.
 *
 * @param out    n_out floats, which must be n_rows * n_row of the shape.
 * @return as rn_embed_begin(); RN_E_FORMAT (what came out is not finite); RN_E_CANCELLED (the engine closes).
 */
RN_API rn_status rn_embed(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                          const rn_embed_options *opt, float *out, size_t n_out, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
