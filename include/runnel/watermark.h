// runnel/watermark.h - watermarks of generated text: SynthID-Text, as transformers'
// SynthIDTextWatermarkLogitsProcessor defines it (docs/sampling.md), and their detection.
#ifndef RUNNEL_WATERMARK_H
#define RUNNEL_WATERMARK_H

#include <runnel/api.h>
#include <runnel/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Whoever knows the keys can find the texts, and imitate them. Names and defaults are those of
// transformers' SynthIDTextWatermarkingConfig; on a CPU it has the same bits for them.
typedef struct rn_watermark {
    size_t struct_size;
    const int64_t *keys; // [n_keys] 1..64: one for each round of the tournament; 20 to 30 are usual
    size_t n_keys;
    int32_t ngram_len;            // tokens that a bit depends on: 2..64, default 5
    int32_t context_history_size; // contexts that are marked only once: 0..1000000, default 1024
    int32_t sampling_table_size;  // 1..1048576, default 65536
    uint64_t sampling_table_seed; // default 0
    bool skip_first_ngram_calls;  // the first ngram_len - 1 tokens are not marked
} rn_watermark;
RN_API void rn_watermark_init_sized(rn_watermark *w, size_t struct_size);
static inline void rn_watermark_init(rn_watermark *w) { rn_watermark_init_sized(w, sizeof *w); }

// Filled by rn_watermark_detect(). Begin with {sizeof score}.
typedef struct rn_watermark_score {
    size_t struct_size;
    // Tokens that count: those behind the first ngram_len - 1, but for repeated contexts.
    size_t n_scored;
    // Share of bits that are 1, and the same with weights that fall from the first key to the last:
    // SynthID-Text's mean and weighted mean score. About 0.5 without the watermark.
    double mean, weighted_mean;
    // The weighted mean's distance from what a text without the watermark has on average, in
    // standard deviations; and how probable it is that such a text has it, or more.
    double z, p_value;
} rn_watermark_score;
/**
 * Scores a text by the keys of a watermark.
 *
 * @param tokens  [n_tokens] of the answer alone, without a prompt and an end token, as they were
 *                generated. Of a text that is tokenized again a few may differ, which costs
 *                ngram_len tokens each. What was edited does not count either.
 * @param score   filled on RN_OK. n_scored 0: the text is too short, and the rest is 0, p_value 1.
 * @return RN_OK; RN_E_ARG: struct_size, NULL, or a number of the watermark is out of range;
 *         RN_E_NOMEM. Threads: any.
 */
RN_API rn_status rn_watermark_detect(const rn_watermark *w, const int32_t *tokens, size_t n_tokens,
                                     rn_watermark_score *score, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
