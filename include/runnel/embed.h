// runnel/embed.h - embeddings: pooled hidden states after the model's final norm; and a reranker's
// scores.
#ifndef RUNNEL_EMBED_H
#define RUNNEL_EMBED_H

#include <runnel/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

// How a text's hidden states, one row per token, become its embedding. Attention is causal, except
// in encoders: a row depends on the tokens up to its own.
typedef enum rn_pooling {
    // as the file or the folder's modules.json states, else RN_POOLING_LAST; of encoders
    // RN_POOLING_MEAN, or RN_POOLING_RANK where they have such a head
    RN_POOLING_MODEL = 0,
    RN_POOLING_NONE = 1, // all rows, in order of positions
    RN_POOLING_MEAN = 2, // the sum of all rows, added in float in order, divided by their number
    RN_POOLING_FIRST = 3,
    RN_POOLING_LAST = 4,
    RN_POOLING_RANK = 5 // the scores of a reranker's head for the last row; of encoders the first
} rn_pooling;
RN_API const char *rn_pooling_name(rn_pooling p); // "mean"; "" for RN_POOLING_MODEL

// RN_NORMALIZE_L2: each row is divided by its Euclidean length, unless that is 0. Scores are not
// normalized.
typedef enum rn_normalize {
    RN_NORMALIZE_DEFAULT = 0,
    RN_NORMALIZE_L2 = 1,
    RN_NORMALIZE_OFF = 2
} rn_normalize;

typedef struct rn_embed_options {
    size_t struct_size;
    rn_pooling pooling;
    // Default: L2, but off for RN_POOLING_NONE and RN_POOLING_RANK, and if the folder's
    // modules.json has no Normalize module.
    rn_normalize normalize;
    // As in rn_request.
    uint64_t client, cache_salt;
    // As in rn_request.
    bool cache_whole_pages;
    // As in rn_request.
    const rn_adapter *adapters;
    size_t n_adapters;
    bool own_adapters;
    // The ids are of a pair of texts, as rn_tokenize_pair() makes it, and so many of them come
    // before the second text: these have the first token type, the others the second one where the
    // model was trained so. With RN_POOLING_RANK an encoder's only score is then put into 0..1 by a
    // sigmoid, unless its folder says otherwise, as sentence-transformers' CrossEncoder does.
    // 0: no pair.
    size_t n_first;
} rn_embed_options;
RN_API void rn_embed_options_init_sized(rn_embed_options *o, size_t struct_size);
static inline void rn_embed_options_init(rn_embed_options *o) {
    rn_embed_options_init_sized(o, sizeof *o);
}

// The shape of an embedding: n_rows rows of n_row floats.
typedef struct rn_embed_shape {
    size_t struct_size;
    rn_pooling pooling; // never RN_POOLING_MODEL
    bool is_normalized;
    size_t n_rows, n_row; // n_rows: 1, or with RN_POOLING_NONE the number of ids
} rn_embed_shape;
// Fills *shape for a text of n_ids tokens. opt NULL: defaults. RN_E_ARG; RN_E_UNSUPPORTED
// (RN_POOLING_RANK, and the model has no reranker head).
RN_API rn_status rn_embed_get_shape(rn_engine *engine, size_t model, const rn_embed_options *opt,
                                    size_t n_ids, rn_embed_shape *shape, rn_error *err);

/**
 * Begins an embedding as a stream, which shares steps with all other streams and has one chunk.
 *
 * On success that chunk has RN_FINISH_STOP and `embedding`, which is valid until the stream is
 * closed; otherwise its finish_detail has the error. The result depends only on the model, the ids
 * and the KV type, not on threads, chunking or other streams. If only the last row is needed, a
 * cached prefix is reused; otherwise all rows are evaluated.
 *
 * @param ids     the text's tokens, as rn_tokenize() returns them with add_special.
 * @param opt     NULL: defaults.
 * @param stream  set on RN_OK, else NULL. Closed with rn_stream_close().
 * @return RN_OK; RN_E_ARG (an option; an id outside the vocabulary; no ids); RN_E_LIMIT (longer
 *         than the context; names both lengths); RN_E_BUSY (as rn_stream_begin()); RN_E_UNSUPPORTED
 *         (as above); RN_E_NOMEM.
 */
RN_API rn_status rn_embed_begin(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                                const rn_embed_options *opt, rn_stream **stream, rn_error *err);

/**
 * Computes an embedding and waits for it.
 *
 * @param out    receives n_out floats; n_out must be n_rows * n_row of the shape.
 * @return as rn_embed_begin(); RN_E_FORMAT (the result is not finite); RN_E_CANCELLED (the engine
 *         is closing).
 */
RN_API rn_status rn_embed(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                          const rn_embed_options *opt, float *out, size_t n_out, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
