// sampling/sampler.h - from a row of logits to a token: biases, penalties, the caller's own stage,
// truncation, temperature, the draw. docs/sampling.md has each method's formula and source.
//
// Stages run in the order that the parameters name; temp 0 takes the largest logit after the
// caller's stage. The definition:
// - Candidates are the tokens whose logit is not -inf, ordered by (logit descending, id ascending);
//   -0 equals 0. They are ordered at the first cut that is on, or at the draw if there is none.
//   A temperature behind a cut leaves the order as it is; penalties behind a cut order anew.
// - Temperature maps a logit l to (l - max) / temp: the distribution of l / temp, and finite for
//   any temp > 0. Where penalties come behind it, which go by the sign, max / temp is added again.
// - A candidate's weight is exp_f32(l - max) as a fixed-point number with 38 fractional bits,
//   rounded to nearest. Sums of weights are therefore exact: the same in any order, on any CPU set,
//   and for any selection algorithm. Logits 27.1 or more below the largest have weight 0 and are
//   never drawn. A probability is weight / total, where total is the weight of the candidates that
//   are left at that stage.
// - Entropies are sums in double over the candidates in order, of weight * -log(probability); the
//   logarithm is taken from the logit, not from the rounded weight.
// - top_k keeps exactly k candidates; top_p the shortest prefix of the order whose weight is >=
//   top_p * total; min_p those with l >= max + log(min_p), rounded to float. No cut keeps fewer
//   than min_keep.
// - The draw takes the first candidate at which the running sum of weights exceeds u * total; u
//   comes from Philox, keyed by (seed, choice, position, purpose).
// - XTC draws one number for each position (PHILOX_XTC). mirostat and adaptive-p go by what was
//   drawn before: accepting the token of the last draw changes their state, accepting another one
//   does not. Rewinding gives the state back that there was.
// - A watermark (sampling/watermark.h) comes last, over what is left.
//
// A mask comes before all stages: the distribution is that of the chain on a row in which every
// token that the mask forbids has the logit -inf. What the caller's stage writes for a forbidden
// token is dropped. Masking costs a pass over the row and a new draw, so it is put off where that
// gives exactly the same distribution:
//
//   stages that are on                      how a token is drawn
//   only biases, penalties and other        Without the mask; if the token is forbidden, again from
//   changes of single logits, temperature   the masked row, with a random number of its own
//   behind them, min_p with min_keep 1;     (PHILOX_REDRAW). These stages keep the ratios between
//   or temp 0                               the weights of allowed tokens. Weights are rounded
//                                           relative to the largest: if that one is forbidden,
//                                           mask first.
//   first cut top_k, or min_p with          Without the mask if all tokens that this cut keeps are
//   other cuts behind it or min_keep > 1,   allowed: it keeps the same ones of the masked row.
//   no temperature before                   Else mask first.
//   first cut any other, or one of these    Mask first: what they keep, or how it is rounded,
//   after a temperature; caller's stage;    depends on forbidden tokens; the caller's stage may run
//   a watermark without a cut before it     only once.
//
// Ownership: sampler_create() copies the parameters; sampler_destroy(). All memory is taken at
// create.
// Threads:   one at a time for each sampler; in the floating-point mode of base/pool.h.
#ifndef RN_SAMPLING_SAMPLER_H
#define RN_SAMPLING_SAMPLER_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include "sampling/watermark.h"
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

// Added to the logit of a sequence's last token where the tokens before it are the last ones seen.
struct sequence_bias {
    const int32_t *tokens; // [n_tokens], at least 1
    size_t n_tokens;
    float bias; // as of struct logit_bias
};

// Where DRY stops looking back: a token, behind which the tokens of `tail` follow.
struct dry_breaker {
    int32_t token;
    const int32_t *tail; // [n_tail]; none: the token is a breaker by itself, and never penalized
    size_t n_tail;
};

// The order of the stages, where no sequence is named.
enum sampling_order {
    SAMPLING_ORDER_LLAMA_CPP,    // truncation, then temperature
    SAMPLING_ORDER_TRANSFORMERS, // temperature, then truncation
    SAMPLING_ORDER_EXLLAMAV2,    // the same, truncation in another order
    SAMPLING_N_ORDERS
};

// A sequence of stages by name: "penalties;dry;top_k;temperature". Those that are not in it are
// off. Biases, bans, minimum and decay of the length and the caller's stage are always on; they
// come behind penalties and DRY where the sequence begins with these, else first. mirostat and
// adaptive-p, where they are on, come last.
enum { SAMPLING_MAX_SEQUENCE = 20 };
struct sampling_sequence {
    int32_t n; // 0: none, the order decides
    uint8_t stages[SAMPLING_MAX_SEQUENCE];
};
// Stages are separated by ';', each at most once. RN_E_ARG: an unknown name (the message lists the
// known ones), one twice, or none.
rn_status sampling_parse_sequence(const char *text, struct sampling_sequence *out, rn_error *err);
// The named orders by index of enum sampling_order.
struct sampling_named_order {
    const char *name, *stages; // "llama.cpp"; a sequence
};
extern const struct sampling_named_order sampling_orders[SAMPLING_N_ORDERS];

struct sampling_params {
    float temp;           // 0: greedy
    float dynatemp_range; // 0: off
    float dynatemp_exponent;
    int32_t top_k;                    // 0: off
    float top_p;                      // 1: off
    float min_p;                      // 0: off
    float typical_p;                  // 1: off
    float top_n_sigma;                // 0 and below: off
    float xtc_probability;            // 0: off
    float xtc_threshold;              // above 0.5: off
    float epsilon_cutoff;             // 0: off
    float eta_cutoff;                 // 0: off
    float top_a;                      // 0: off
    float top_h;                      // 0: off
    float tfs_z;                      // 1: off
    int32_t min_keep;                 // cuts keep at least this many candidates
    float repeat_penalty;             // 1: off
    float frequency_penalty;          // 0: off
    float presence_penalty;           // 0: off
    int32_t penalty_last_n;           // penalties apply to the last n tokens; -1: all, 0: none
    bool penalty_prompt;              // prompt tokens count too
    float encoder_repetition_penalty; // of the prompt's tokens; 1: off
    float dry_multiplier;             // 0: off
    float dry_base;
    int32_t dry_allowed_length;
    int32_t dry_penalty_last_n;   // -1: all, 0: none
    int32_t no_repeat_ngram_size; // 0: off
    int32_t min_tokens;           // generated before one of end_tokens; 0: off
    int32_t exponential_decay_start;
    float exponential_decay_factor; // 1: off
    int32_t mirostat;               // 0: off, 1 or 2
    float mirostat_tau, mirostat_eta;
    float adaptive_target; // below 0: off
    float adaptive_decay;
    enum sampling_order order;
    struct sampling_sequence sequence;
    const struct logit_bias *bias; // [n_bias]; entries for the same token add up
    size_t n_bias;
    const struct sequence_bias *sequences; // [n_sequences]
    size_t n_sequences;
    const int32_t *banned; // [n_banned] never drawn
    size_t n_banned;
    const int32_t *end_tokens; // [n_end_tokens] that min_tokens and exponential decay concern
    size_t n_end_tokens;
    const struct dry_breaker *breakers; // [n_breakers]
    size_t n_breakers;
    struct watermark_params watermark; // no keys: off
    uint64_t seed;
    uint32_t choice;
    logits_stage stage; // NULL: none
    void *stage_user;
    bool masked; // draws may be given a mask: memory for a masked row is allocated
    // Temperatures divide logits and leave zero where it is, for sums of them (sampler_candidates()).
    bool keeps_level;
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
// 0..1"), a token of a list is not in the vocabulary, or a bias is neither in -100..100 nor -inf;
// more than SAMPLING_MAX_BIAS entries of a list, or a sequence of more than SAMPLING_MAX_BIASED
// tokens; two of mirostat, adaptive-p and a watermark, or a watermark at
// temp 0.
#define SAMPLING_MAX_BIAS   1024
#define SAMPLING_MAX_BIASED 64 // tokens of a biased sequence
#define SAMPLING_MAX_TAIL   20 // tokens of a breaker behind its first
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
// Draws from now on are those of another seed.
void sampler_set_seed(sampler *s, uint64_t seed);
void sampler_destroy(sampler *s);       // NULL is fine
size_t sampler_bytes(const sampler *s); // memory that it owns, which is what a fork allocates
// The most of any parameters, but for lists of biases, tokens and breakers, and a watermark: one
// that edits rows, has no top_k, counts all tokens of the context, and has DRY and mirostat or
// adaptive-p.
size_t sampler_most_bytes(int32_t n_vocab, int32_t n_ctx);
// Adds prompt tokens [n], which may come in parts, before the first accepted token.
void sampler_see_prompt(sampler *s, const int32_t *tokens, size_t n);
// Does a draw depend on the probabilities of the tokens drawn before it (mirostat, adaptive-p)?
bool sampler_has_feedback(const sampler *s);
// Does a draw depend on the tokens before it, or on how many there are?
bool sampler_reads_tokens(const sampler *s);
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

// The same of a mask that is made where the draw needs it: one that tests tokens afterwards asks about
// these alone.
struct token_rule {
    // May this token be drawn? It is what the mask says.
    rn_status (*allows)(void *user, int32_t token, bool *is_allowed, rn_error *err);
    rn_status (*mask)(void *user, const uint64_t **mask, rn_error *err); // valid until the draw has ended
    void *user;
};
// The token of sampler_draw_masked(). rule: NULL: all of them. Errors as there, and the rule's.
rn_status sampler_draw_ruled(sampler *s, const float *logits, uint32_t position, const struct token_rule *rule,
                             int32_t *token, rn_error *err);
// The distribution that sampler_draw() draws from at the position behind the accepted tokens: ids and probabilities of the candidates in
// order. Writes at most max_n of them and sets *n to the number written; probabilities are relative
// to all candidates. Of the two distributions of XTC it is the one of that position. For verifying drafts, and for tests. Errors as for sampler_draw().
rn_status sampler_distribution(sampler *s, const float *logits, int32_t *ids, float *probs, size_t max_n, size_t *n,
                               rn_error *err);
// The distribution that sampler_draw_masked() draws from. Errors as there.
rn_status sampler_distribution_masked(sampler *s, const float *logits, const uint64_t *mask, int32_t *ids,
                                      float *probs, size_t max_n, size_t *n, rn_error *err);

// For searches, which choose by what the stages made of a row [n_vocab]: of log-probabilities, where their sums count, else of logits.
//
// A sampler with temp 0: *out is the row after all stages, the sampler's or `row` itself, valid until the next call. Without a
// mask, which the caller puts on it. Errors as for sampler_draw().
rn_status sampler_edit_row(sampler *s, const float *row, const float **out, rn_error *err);
// Would it be another row than the one that is given?
bool sampler_edits_rows(const sampler *s);
// A sampler with temp > 0: the candidates that all stages leave and their logits, in order, valid until the next call. mask: NULL:
// all tokens. Errors as for sampler_draw_masked().
rn_status sampler_candidates(sampler *s, const float *row, const uint64_t *mask, const int32_t **ids,
                             const float **logits, size_t *n, rn_error *err);

// Log-probabilities of the model's own distribution (before any stage).
struct token_logprob {
    int32_t id;
    float logprob;
};
#define LOGPROBS_MAX_TOP 20
// The rank of a token by probability, from 1: one more than the number of tokens with a larger
// logit.
int32_t token_rank(const float *logits, int32_t n_vocab, int32_t token);
// The entropy of the distribution, in nats. scratch: [n_vocab].
double token_entropy(const struct rowmath *rm, const float *logits, int32_t n_vocab, float *scratch);
// Returns the log-probability of `token`; writes the min(n_top, n_vocab) most likely tokens to top,
// in order. n_top <= LOGPROBS_MAX_TOP. logits: [n_vocab] such as sampler_draw() accepts. scratch:
// as for row_top_k() with k = n_top; NULL for n_top 0.
float token_logprobs(const struct rowmath *rm, const float *logits, int32_t n_vocab, int32_t token, int n_top,
                     struct token_logprob *top, int32_t *scratch);

#endif
