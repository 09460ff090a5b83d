// decoding/strategy.h - what decides which rows are evaluated and which tokens come out: a state machine that the engine drives.
//
// The engine evaluates the prompt (prompt_from, prompt_wants), then calls propose, evaluates the proposed rows together with those of
// other streams, and calls absorb with the results, until the stream ends. A strategy never blocks, never sees other streams and
// never touches threads.
//
// A new strategy is a file of this folder and a row of the table in strategies.c (CONTRIBUTING.md).
//
// Ownership: made by strategy_create(), freed by ops->destroy(). Threads: the step thread.
#ifndef RN_DECODING_STRATEGY_H
#define RN_DECODING_STRATEGY_H

#include "base/status.h"
#include "lm/lm.h"
#include "sampling/sampler.h"

// A token that leaves the strategy.
struct emission {
    int32_t token;
    // The row that it was drawn from, [n_vocab], valid during the call; NULL: none, and then it
    // has no log-probability.
    const float *logits;
    bool drafted; // a helper proposed it
};

enum strategy_end { STRATEGY_END_STOP, STRATEGY_END_LENGTH };

// The engine's side of a stream, for the length of a call of absorb.
struct emitter_ops {
    // May a token be emitted? false: the limit is reached already (max_tokens 0), and the stream ends.
    bool (*may_emit)(void *user);
    // Takes a token and says whether the stream goes on (end tokens, stop strings, limits). Nothing after a stop may be committed.
    bool (*emit)(void *user, const struct emission *e);
    // The logits [n_vocab] of prompt row `at`, in order, each row once: they say how probable prompt token at + 1 was.
    void (*score_prompt)(void *user, int32_t at, const float *logits);
    // The strategy has nothing more to do: the stream ends.
    void (*end)(void *user, enum strategy_end why);
};
struct emitter {
    const struct emitter_ops *ops;
    void *user;
};

// Rows asked for; the engine gives room for at least `cap` >= 1.
struct row_list {
    struct lm_row *rows;
    size_t n, cap;
};

enum { RESULTS_OF_PROPOSAL = -1 };
// Results of rows of a step: row i of these is row first + i of the step.
struct row_results {
    lm *model;
    size_t first, n;
    // Of rows of the prompt: the position of the first one. They may include rows that the strategy wants nothing of.
    // RESULTS_OF_PROPOSAL: the rows that propose asked for.
    int32_t at;
};
static inline const float *results_logits(const struct row_results *r, size_t i) {
    return lm_logits(r->model, r->first + i);
}

typedef struct strategy strategy;
struct strategy_ops {
    // The first row of the prompt whose results the strategy still wants; n_prompt: none. Rows before it may come from the prefix
    // cache, and after a preemption they are evaluated again without results.
    int32_t (*prompt_from)(const strategy *s);
    // What it wants of prompt row `at` >= prompt_from(): LM_WANT_LOGITS, LM_WANT_HIDDEN or 0.
    uint32_t (*prompt_wants)(const strategy *s, int32_t at);
    // What must be evaluated next. Called only while the stream goes on, once the prompt is there. It may be called again before
    // absorb when the rows could not be evaluated, and then proposes the same rows. NULL: the strategy only reads the prompt.
    rn_status (*propose)(strategy *s, struct row_list *rows, rn_error *err);
    // Reads results, samples, commits or drops KV, emits. Called for rows of the prompt if anything of them is wanted, and for
    // proposed rows. An error ends this stream alone with finish reason `error`.
    rn_status (*absorb)(strategy *s, const struct row_results *r, const struct emitter *out, rn_error *err);
    void (*destroy)(strategy *s);
};
struct strategy {
    const struct strategy_ops *ops;
    int32_t seq;
};

// What a strategy is made from. Pointers stay the caller's and outlive the strategy.
struct strategy_spec {
    sampler *sampler; // NULL: for strategies that draw nothing
    const struct rowmath *rowmath;
    int32_t n_vocab, n_prompt;
    // Tokens of the answer that the prompt already ends with: the first token drawn has this position among the generated ones.
    int32_t n_given;
    // Of strategies that only add something to another one (prompt_scores): that other one. Theirs from a successful create on.
    strategy *inner;
    const void *params; // what the kind documents; NULL for most
};

// A kind of strategy: a row of the table.
struct strategy_kind {
    const char *name;
    rn_status (*create)(const struct strategy_spec *spec, strategy **out, rn_error *err);
};
// "sample": greedy decoding and sampling, one row in, one token out.
// "score": params is a struct score_params. "embed": params is a struct embed_params. "prompt_scores": adds to its inner strategy.
extern const struct strategy_kind strategy_kinds[];
extern const size_t strategy_n_kinds;
const struct strategy_kind *strategy_find(const char *name); // NULL: there is none
// RN_E_ARG: there is no kind of this name; the text names those there are.
rn_status strategy_create(const char *name, const struct strategy_spec *spec, strategy **out, rn_error *err);
void strategy_destroy(strategy *s); // NULL is fine

// Each row of the prompt goes to a function of the caller, in order, once. true: stop (RN_E_CANCELLED).
struct score_params {
    bool (*on_row)(void *user, size_t at, const float *logits, int32_t n_vocab);
    void *user;
};

// Hidden states of the prompt's rows, or a reranker's scores, pooled into one row of floats or kept apart.
enum embed_pooling {
    EMBED_EACH,  // one output row for each row of the prompt
    EMBED_MEAN,  // their mean
    EMBED_FIRST, // that of the first
    EMBED_LAST,  // that of the last
    EMBED_RANK   // the reranker's scores of the last
};
struct embed_params {
    enum embed_pooling pooling;
    bool softmax;   // over each output row
    bool normalize; // each output row to length 1
    size_t n_row;   // floats of an output row: n_embd, or n_rank
    float *out;     // [n_prompt][n_row] with EMBED_EACH, else [n_row]; whole once the strategy has ended
};

#endif
