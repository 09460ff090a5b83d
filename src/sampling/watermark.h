// sampling/watermark.h - SynthID-Text: the draw prefers tokens by keys, so that whoever has the keys
// can find the text again. As transformers' SynthIDTextWatermarkLogitsProcessor defines it.
//
// The last ngram_len - 1 generated tokens, tokens before the first being 0, are the context. Context,
// token and key are hashed by a linear congruential generator into a table of random bits, which
// gives each token a bit g for each key. A tournament of as many rounds as there are keys multiplies
// probabilities by 1 + g - (the probability of all tokens whose g is 1). A context that was among
// the last history_size ones leaves the probabilities as they are. Averaged over keys, a draw has
// the distribution that it has without the watermark (Dathathri et al., Nature 634, 2024).
// Ownership: watermark_init() / watermark_free(); all zero is one without a table. Threads: one at a
// time; the functions on const ones any.
#ifndef RN_SAMPLING_WATERMARK_H
#define RN_SAMPLING_WATERMARK_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATERMARK_MAX_KEYS    64
#define WATERMARK_MAX_NGRAM   64
#define WATERMARK_MAX_TABLE   (1 << 20)
#define WATERMARK_MAX_HISTORY 1000000

struct watermark_params {
    const int64_t *keys; // [n_keys]; none: off
    size_t n_keys;
    int32_t ngram_len, history_size, table_size;
    uint64_t table_seed;
    bool skip_first; // the first ngram_len - 1 tokens are drawn without it
};
// RN_E_ARG: a number is out of range, or keys are NULL.
rn_status watermark_check(const struct watermark_params *p, rn_error *err);
size_t watermark_table_bytes(const struct watermark_params *p);

struct watermark {
    uint8_t *table;     // of table_size bits
    uint64_t *contexts; // [cap + 1] hashes of the contexts of each generated token
    size_t n, cap;      // contexts that are known: one more than the tokens accepted
};
// p is checked. cap: most tokens that are accepted. Errors: RN_E_NOMEM.
rn_status watermark_init(struct watermark *w, const struct watermark_params *p, size_t cap, rn_error *err);
void watermark_copy(struct watermark *to, const struct watermark *from); // initialized with the same arguments
void watermark_free(struct watermark *w);
size_t watermark_bytes(size_t cap); // memory that one of this capacity owns, but for the table

// tokens: [n] all generated ones, of which the last is new.
void watermark_accept(struct watermark *w, const struct watermark_params *p, const int32_t *tokens, size_t n);
void watermark_rewind(struct watermark *w, size_t n);
// Replaces the logits of the next token [n_vocab], whose largest is max, by logarithms of the
// probabilities after the tournament. Sums of probabilities have eight partial sums: the i-th of the
// finite logits goes to sum i mod 8.
struct watermark_scratch { // [n_vocab] each
    int32_t *ids;
    float *probs;
    uint64_t *bits;
};
void stage_watermark(float *row, int32_t n_vocab, float max, const struct watermark *w,
                     const struct watermark_params *p, const struct watermark_scratch *scratch);

// What a text shows of the keys. The first ngram_len - 1 tokens and tokens behind a repeated context
// are not counted.
struct watermark_score {
    size_t n_scored;
    double mean, weighted_mean; // of g; weights fall from 10 for the first key to 1 for the last one
    double expected, deviation; // of weighted_mean in a text that does not know the keys
};
// Errors: RN_E_NOMEM.
rn_status watermark_score(const struct watermark_params *p, const int32_t *tokens, size_t n_tokens,
                          struct watermark_score *out, rn_error *err);

#endif
