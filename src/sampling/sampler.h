// sampling/sampler.h - from a row of logits to a token: penalties and bias, the caller's own stage,
// truncation, temperature, the draw.
//
// Stages run in the order that the parameters name; temp 0 takes the largest logit after the
// caller's stage. The definition:
// - Candidates are the tokens whose logit is not -inf, ordered by (logit descending, id ascending);
//   -0 equals 0. They are ordered at the first cut that is on, or at the draw if there is none.
// - Temperature maps a logit l to (l - max) / temp: the distribution of l / temp, and finite for
//   any temp > 0.
// - A candidate's weight is exp_f32(l - max) as a fixed-point number with 38 fractional bits,
//   rounded to nearest. Sums of weights are therefore exact: the same in any order, on any CPU set,
//   and for any selection algorithm. Logits 27.1 or more below the largest have weight 0 and are
//   never drawn.
// - top_k keeps exactly k candidates; top_p the shortest prefix of the order whose weight is >=
//   top_p * total, where total is the weight of the remaining candidates; min_p those with l >= max
//   + log(min_p), rounded to float. None keeps fewer than min_keep.
// - The draw takes the first candidate at which the running sum of weights exceeds u * total; u
//   comes from Philox, keyed by (seed, choice, position, purpose).
//
// A mask comes before all stages: the distribution is that of the chain on a row in which every
// token that the mask forbids has the logit -inf. What the caller's stage writes for a forbidden
// token is dropped. Masking costs a pass over the row and a new draw, so it is put off where that
// gives exactly the same distribution:
//
//   stages that are on                      how a token is drawn
//   only logit bias, penalties,             Without the mask; if the token is forbidden, again from
//   temperature, min_p with min_keep 1;     the masked row, with a random number of its own
//   or temp 0                               (PHILOX_REDRAW). These stages keep the ratios between
//                                           the weights of allowed tokens. Weights are rounded
//                                           relative to the largest: if that one is forbidden,
//                                           mask first.
//   first cut top_k, or min_p with          Without the mask if all tokens that this cut keeps are
//   min_keep > 1, no temperature before     allowed: it keeps the same ones of the masked row.
//                                           Else mask first.
//   first cut top_p, or one of the others   Mask first: what they keep, or how it is rounded,
//   after a temperature; caller's stage     depends on forbidden tokens; the caller's stage may run
//                                           only once.
//
// Ownership: sampler_create() copies the parameters; sampler_destroy(). All memory is taken at
// create.
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

// A stage of the caller's own: changes logits [n_vocab] in place. tokens: [n_tokens] prompt and
// accepted tokens, in order. Called once for each draw, on the thread that draws. Returns false to
// end the stream with an error (RN_E_CANCELLED).
typedef bool (*logits_stage)(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens);

// The order of the stages that follow logit bias, penalties and the caller's stage.
enum sampling_order {
    SAMPLING_ORDER_LLAMA_CPP,    // top-k, top-p, min-p, temperature
    SAMPLING_ORDER_TRANSFORMERS, // temperature, top-k, top-p, min-p
    SAMPLING_N_ORDERS
};

struct sampling_params {
    float temp;              // 0: greedy
    int32_t top_k;           // 0: off
    float top_p;             // 1: off
    float min_p;             // 0: off
    int32_t min_keep;        // top_k, top_p and min_p keep at least this many candidates
    float repeat_penalty;    // 1: off
    float frequency_penalty; // 0: off
    float presence_penalty;  // 0: off
    int32_t penalty_last_n;  // penalties apply to the last n tokens; -1: all, 0: none
    bool penalty_prompt;     // prompt tokens count too
    enum sampling_order order;
    const struct logit_bias *bias; // [n_bias]; entries for the same token add up
    size_t n_bias;
    uint64_t seed;
    uint32_t choice;
    logits_stage stage; // NULL: none
    void *stage_user;
    bool masked; // draws may be given a mask: memory for a masked row is allocated
};

// The table of parameters: names as API, CLI and JSON spell them, ranges and defaults.
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
// Checks ranges. RN_E_ARG: a parameter is out of range or not finite ("top_p: 1.5 is outside
// 0..1"), a bias entry's token is not in the vocabulary, or its bias is neither in -100..100 nor
// -inf; more than SAMPLING_MAX_BIAS entries.
#define SAMPLING_MAX_BIAS 1024
rn_status sampling_validate(const struct sampling_params *p, int32_t n_vocab, rn_error *err);

// Presets: named values for some of the parameters.
struct sampling_preset {
    const char *name, *help;
    float temp;
    int32_t top_k;
    float top_p, min_p, repeat_penalty, frequency_penalty, presence_penalty;
};
extern const struct sampling_preset sampling_presets[];
extern const size_t sampling_n_presets;
// Sets these parameters of p and leaves the others. RN_E_ARG: no such preset; the message lists the
// names.
rn_status sampling_apply_preset(struct sampling_params *p, const char *name, rn_error *err);

typedef struct sampler sampler;
// n_vocab: logits in a row. n_ctx: context length in tokens; the sampler accepts at most n_ctx + 1
// tokens, the prompt included. rm: row functions of a CPU set; must outlive the sampler. *out is
// NULL on failure.
// Errors: those of sampling_validate(); RN_E_LIMIT: n_vocab is above 2^24, so that sums of weights
// would not fit; RN_E_NOMEM.
rn_status sampler_create(const struct sampling_params *p, const struct rowmath *rm, int32_t n_vocab, int32_t n_ctx,
                         sampler **out, rn_error *err);
// A sampler with the same parameters, choice included, that has seen the same tokens. From then on
// both are independent: they share no memory, but for stage_user, which stays the caller's. Errors:
// RN_E_NOMEM.
rn_status sampler_fork(const sampler *s, sampler **out, rn_error *err);
void sampler_destroy(sampler *s);       // NULL is fine
size_t sampler_bytes(const sampler *s); // memory that it owns, which is what a fork allocates
// The most of any parameters, but for a list of biases: one that edits rows, has no top_k, and
// counts all tokens of the context.
size_t sampler_most_bytes(int32_t n_vocab, int32_t n_ctx);
// Adds prompt tokens [n], which may come in parts, before the first accepted token.
void sampler_see_prompt(sampler *s, const int32_t *tokens, size_t n);
// Adds a generated token.
void sampler_accept(sampler *s, int32_t token);
// Removes the last n accepted tokens, such as a rejected draft.
void sampler_rewind(sampler *s, size_t n);
// How many tokens were drawn at the position of the next draws before and taken back (banned
// strings). Each try has random numbers of its own, so that draws are independent. 0 at first.
void sampler_set_tried(sampler *s, uint32_t n_tried);
// Draws a token from logits [n_vocab], which are only read. position: the token's index among the
// generated ones. Does not accept the token, and allocates nothing. *token is left as it is on
// failure. RN_E_FORMAT: NaN, +inf, or no finite logit, before or after a stage; the message names
// the stage. RN_E_CANCELLED: the caller's stage returned false.
rn_status sampler_draw(sampler *s, const float *logits, uint32_t position, int32_t *token, rn_error *err);
// The same under a mask of the tokens that may be drawn (sampling/token_mask.h); NULL: all of them.
// A mask that allows every token gives the token of sampler_draw(). RN_E_ARG: the mask allows no
// token. RN_E_STATE: params.masked was not set. RN_E_FORMAT also where all tokens that it allows
// are -inf.
rn_status sampler_draw_masked(sampler *s, const float *logits, uint32_t position, const uint64_t *mask,
                              int32_t *token, rn_error *err);
// The distribution that sampler_draw() draws from: ids and probabilities of the candidates in
// order. Writes at most max_n of them and sets *n to the number written; probabilities are relative
// to all candidates. For verifying drafts, and for tests. Errors as for sampler_draw().
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
// The rank of a token by probability, from 1: one more than the number of tokens with a larger
// logit.
int32_t token_rank(const float *logits, int32_t n_vocab, int32_t token);
// Returns the log-probability of `token`; writes the min(n_top, n_vocab) most likely tokens to top,
// in order. n_top <= LOGPROBS_MAX_TOP. logits: [n_vocab] such as sampler_draw() accepts. scratch:
// as for row_top_k() with k = n_top; NULL for n_top 0.
float token_logprobs(const struct rowmath *rm, const float *logits, int32_t n_vocab, int32_t token, int n_top,
                     struct token_logprob *top, int32_t *scratch);

#endif
