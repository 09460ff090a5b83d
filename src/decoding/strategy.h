// decoding/strategy.h - what decides which rows are evaluated and which tokens come out: a state machine with two functions.
//
// A strategy never blocks, never sees other streams, never touches threads. It owns the KV histories it makes; the sequence that
// holds the prompt is lent to it by the engine for the stream's life.
// Threads: the step thread.
#ifndef RN_DECODING_STRATEGY_H
#define RN_DECODING_STRATEGY_H

#include "base/status.h"
#include "lm/lm.h"
#include "sampling/sampler.h"

// A token that leaves the strategy.
struct emission {
    int32_t token;
    const float
        *logits; // the row it was drawn from, valid during the call; NULL: none, then it has no log-probability
    bool drafted;
};
// The engine's side: takes a token and answers at once whether the stream goes on (end tokens, stop strings, limits). Nothing
// after a stop may be committed.
struct emitter {
    bool (*emit)(void *user, const struct emission *e);
    void *user;
};

// Rows asked for; the engine gives room for at least `cap` >= 1.
struct row_list {
    struct lm_row *rows;
    size_t n, cap;
};
// Answers: row i of the strategy's rows is row first + i of the step.
struct row_results {
    lm *model;
    size_t first, n;
};

typedef struct strategy strategy;
struct strategy_ops {
    const char *name;
    // What must be evaluated next. Called only while the stream goes on.
    rn_status (*propose)(strategy *s, struct row_list *rows, rn_error *err);
    // Reads results, samples, commits or drops KV, emits. The first call of a stream brings the prompt's last row. An error ends this
    // stream alone with finish reason `error`.
    rn_status (*absorb)(strategy *s, const struct row_results *r, const struct emitter *out, rn_error *err);
    void (*destroy)(strategy *s);
};
struct strategy {
    const struct strategy_ops *ops;
    int32_t seq;
};

// Greedy and sampling: one row, one token. The sampler is lent: the stream's. position: tokens of the answer that there are already.
rn_status sample_strategy_create(sampler *s, int32_t seq, uint32_t position, strategy **out, rn_error *err);

#endif
