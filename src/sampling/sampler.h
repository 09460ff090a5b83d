// sampling/sampler.h - from a row of logits to a token: penalties and bias, the caller's own stage, truncation, temperature,
// the draw.
//
// Stages run in the order that the parameters name; temp 0 takes the largest after the caller's stage. The definition:
// - Candidates are ordered by (logit descending, id ascending); -inf is no candidate; -0 equals 0. The order is taken when the
//   first cut that is on is made, else at the draw.
// - Temperature maps a logit l to (l - max) / temp: the distribution of l / temp, and finite for any temp > 0.
// - A candidate's weight is exp_f32(l - max) as a fixed-point number with 38 bits behind the point, rounded to nearest. Sums of
//   weights are therefore exact: the same in any order, on any CPU set, and for any way of selecting. What lies 27.1 or more
//   below the largest has weight 0 and is never drawn.
// - top_k keeps exactly k; top_p the shortest head of the order whose weight is >= top_p * total, the total being that of the
//   candidates still there; min_p those with l >= max + log(min_p), rounded to float. None keeps fewer than min_keep.
// - The draw takes the first candidate whose running weight exceeds u * total, u from Philox keyed by (seed, choice, position).
//
// A mask comes before all stages: the distribution is that of the chain on a row in which every token that the mask forbids
// has the logit -inf. What the caller's stage writes for a forbidden token is dropped. Masking costs a pass over the row and
// a new draw, so it is put off where that gives exactly the same distribution:
//
//   stages that are on                              how a token is drawn
//   only logit bias, penalties, temperature,        Without the mask; if the token is forbidden, again from the masked row,
//   min_p with min_keep 1, or temp 0                with a random number of its own (PHILOX_REDRAW). These stages keep the
//                                                   ratios between the weights of allowed tokens. Weights are rounded
//                                                   relative to the largest: where that one is forbidden, mask first.
//   first cut top_k, or min_p with min_keep > 1,    Without the mask if all tokens that this cut keeps are allowed: it keeps
//   and no temperature before it                    the same ones of the masked row. Else mask first.
//   first cut top_p, or one of the others after a   Mask first: what they keep, or how it is rounded, depends on forbidden
//   temperature; the caller's stage                 tokens; the caller's stage may run only once.
//
// Ownership: sampler_create() copies the parameters; sampler_destroy(). All memory is taken at create.
// Threads:   one at a time for each sampler; in the floating-point mode of base/pool.h.
#ifndef RN_SAMPLING_SAMPLER_H
#define RN_SAMPLING_SAMPLER_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logit_bias {
    int32_t token;
    float bias; // -100..100 logits, or -inf: never
};

// Changes logits [n_vocab] in place. tokens: what the sampler has seen, the prompt first. Returns false to end the stream with an
// error (RN_E_CANCELLED).
typedef bool (*logits_stage)(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens);

// Which stages come after which; all begin with logit bias, penalties, caller's stage.
enum sampling_order {
    SAMPLING_ORDER_LLAMA_CPP,    // top-k, top-p, min-p, temperature
    SAMPLING_ORDER_TRANSFORMERS, // temperature, top-k, top-p, min-p
    SAMPLING_N_ORDERS
};
extern const char *const sampling_order_names[SAMPLING_N_ORDERS]; // "llama.cpp", "transformers"

struct sampling_params {
    float temp;              // 0: greedy
    int32_t top_k;           // 0: off
    float top_p;             // 1: off
    float min_p;             // 0: off
    int32_t min_keep;        // candidates that every cut leaves at least
    float repeat_penalty;    // 1: off
    float frequency_penalty; // 0: off
    float presence_penalty;  // 0: off
    int32_t penalty_last_n;  // tokens the penalties look back; -1: all, 0: none
    bool penalty_prompt;     // do the prompt's tokens count?
    enum sampling_order order;
    const struct logit_bias *bias; // a repeated token adds up
    size_t n_bias;
    uint64_t seed;
    uint32_t choice;
    logits_stage stage; // NULL: none
    void *stage_user;
    bool masked; // draws may be given a mask: memory for a masked row is taken
};

// The table of parameters: names (as the API, CLI and JSON spell them), ranges, defaults; one place for all surfaces.
struct sampling_field {
    const char *name; // "top_p"
    size_t offset;    // in struct sampling_params
    enum { SAMPLING_FLOAT, SAMPLING_INT } kind;
    double min, max, def; // inclusive
    const char *help;
};
extern const struct sampling_field sampling_fields[];
extern const size_t sampling_n_fields;
void sampling_defaults(struct sampling_params *p);
// RN_E_ARG: "top_p: 1.5 is outside 0..1", NaN and infinity included; bias entries: token range, -100..100 or -inf.
// RN_E_LIMIT: more than SAMPLING_MAX_BIAS entries.
#define SAMPLING_MAX_BIAS 1024
rn_status sampling_validate(const struct sampling_params *p, int32_t n_vocab, rn_error *err);

// Presets: named rows that set some of the fields.
struct sampling_preset {
    const char *name, *help;
    float temp;
    int32_t top_k;
    float top_p, min_p, repeat_penalty, frequency_penalty, presence_penalty;
};
extern const struct sampling_preset sampling_presets[];
extern const size_t sampling_n_presets;
// RN_E_ARG: no such preset; the text names those there are.
rn_status sampling_apply_preset(struct sampling_params *p, const char *name, rn_error *err);

typedef struct sampler sampler;
// Bytes for each token of the vocabulary, at most: in a sampler that edits or masks rows and has no top_k.
enum { SAMPLER_TOKEN_BYTES = 32 };
// n_ctx bounds the history: at most n_ctx + 1 tokens are shown to it. n_vocab > 2^24 is RN_E_LIMIT: the sum of weights must fit.
// Errors: also those of sampling_validate, RN_E_NOMEM.
rn_status sampler_create(const struct sampling_params *p, const struct rowmath *rm, int32_t n_vocab, int32_t n_ctx,
                         sampler **out, rn_error *err);
// A sampler with the same parameters, choice included, that has seen the same tokens. From then on both are independent:
// they share no memory, but for stage_user, which stays the caller's. Errors: RN_E_NOMEM.
rn_status sampler_fork(const sampler *s, sampler **out, rn_error *err);
void sampler_destroy(sampler *s);       // NULL is fine
size_t sampler_bytes(const sampler *s); // of the memory it owns; what a fork will take
// tokens: [n] of the prompt, or of its next part; before the first accepted token.
void sampler_see_prompt(sampler *s, const int32_t *tokens, size_t n);
void sampler_accept(sampler *s, int32_t token);
// Forget the last n accepted tokens (a draft that was not kept).
void sampler_rewind(sampler *s, size_t n);
// Draws the token for `position` (index of the token among the generated ones). logits is only read, no memory is taken.
// NaN anywhere, +inf, or no finite logit, before or after any stage, give RN_E_FORMAT with the reason; the caller's stage that
// returns false gives RN_E_CANCELLED.
rn_status sampler_draw(sampler *s, const float *logits, uint32_t position, int32_t *token, rn_error *err);
// The same under a mask of the tokens that may be drawn (sampling/token_mask.h); NULL: all of them. A mask that allows every
// token gives the token of sampler_draw(). RN_E_ARG: the mask allows no token. RN_E_STATE: params.masked was not set.
// RN_E_FORMAT also where all tokens that it allows are -inf.
rn_status sampler_draw_masked(sampler *s, const float *logits, uint32_t position, const uint64_t *mask,
                              int32_t *token, rn_error *err);
// The distribution that sampler_draw would draw from: candidates in order with probabilities (of all candidates, also where
// max_n cuts the list); *n is the number written, at most max_n. For verification of drafts, and for tests.
rn_status sampler_distribution(sampler *s, const float *logits, int32_t *ids, float *probs, size_t max_n, size_t *n,
                               rn_error *err);
// The distribution that sampler_draw_masked() draws from. Errors as there.
rn_status sampler_distribution_masked(sampler *s, const float *logits, const uint64_t *mask, int32_t *ids,
                                      float *probs, size_t max_n, size_t *n, rn_error *err);

// Log-probabilities of the model's own distribution (before any stage).
struct token_logprob {
    int32_t id;
    float logprob;
};
#define LOGPROBS_MAX_TOP 20
// logprob of `token`, and the min(n_top, n_vocab) best into top (ordered), n_top <= LOGPROBS_MAX_TOP. logits as sampler_draw
// accepts them. scratch as for row_top_k with k = n_top; not needed (NULL) for n_top 0.
// How many tokens are more probable than this one, and one.
int32_t token_rank(const float *logits, int32_t n_vocab, int32_t token);
float token_logprobs(const struct rowmath *rm, const float *logits, int32_t n_vocab, int32_t token, int n_top,
                     struct token_logprob *top, int32_t *scratch);

#endif
