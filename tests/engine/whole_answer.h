// tests/engine/whole_answer.h - all that a stream says, so that two answers can be compared bit by bit: tokens, text, what is told of each
// token, the sequences of a search, and how it ended.
#ifndef RN_TESTS_ENGINE_WHOLE_ANSWER_H
#define RN_TESTS_ENGINE_WHOLE_ANSWER_H

#include "base/hash.h"
#include "fixture.h"
#include <math.h>

enum { WHOLE_TOKENS = 1024, WHOLE_SEQUENCES = 32 };

// What a search found, apart from its tokens and text, which are a hash.
struct whole_sequence {
    size_t n_tokens;
    uint64_t hash;
    double score, logprob;
    rn_finish finish;
};
struct whole_answer {
    struct outcome o;
    uint64_t told[WHOLE_TOKENS]; // a hash of what was told of each token
    bool has_numbers;            // that are numbers
    struct whole_sequence sequences[WHOLE_SEQUENCES];
    size_t n_sequences, n_last; // n_last: tokens of the last chunk
    char best[4096];            // text of the first sequence
    int n_revised;
    rn_status error;
};

static inline uint64_t hash_of(const void *bytes, size_t n, uint64_t seed) { return hash_bytes(bytes, n, seed); }

static inline uint64_t hash_top(const rn_top *top, int32_t n, uint64_t hash) {
    for (int32_t i = 0; i < n; i++)
        hash = hash_of(&top[i].id, sizeof top[i].id, hash_of(&top[i].logprob, sizeof top[i].logprob, hash));
    return hash;
}

static inline bool has_numbers(const rn_token *t, const rn_request *r) {
    bool ok = r->logprobs < 0 || (t->logprob <= 0 && t->rank >= 1);
    for (int32_t k = 1; k < t->n_top; k++) ok &= t->top[k].logprob <= t->top[k - 1].logprob;
    if (r->sampled_logprobs < 0 || !t->n_candidates) return ok; // of a search nothing is told of what was drawn from
    return ok && t->entropy >= 0 && t->sampled_entropy >= 0 && t->sampled_logprob <= 0 && t->sampled_rank >= 1 &&
           t->sampled_rank <= t->n_candidates;
}

static inline uint64_t hash_told(const rn_token *t) {
    const float numbers[] = {t->logprob, t->entropy, t->sampled_entropy, t->sampled_logprob};
    const int32_t counts[] = {t->id, t->rank, t->sampled_rank, t->n_candidates, t->n_top, t->n_sampled_top};
    const uint64_t hash = hash_of(numbers, sizeof numbers, hash_of(counts, sizeof counts, 1));
    return hash_top(t->sampled_top, t->n_sampled_top, hash_top(t->top, t->n_top, hash));
}

static inline void whole_add(struct whole_answer *a, const rn_chunk *c, const rn_request *r) {
    if (c->replace_from >= 0) {
        CHECK(r->accept_revisions);
        CHECK((size_t)c->replace_from <= a->o.n_tokens && (size_t)c->replace_text_from <= a->o.n_text);
        a->o.n_tokens = (size_t)c->replace_from, a->o.n_text = (size_t)c->replace_text_from;
        a->n_revised++;
    }
    if (c->n_dropped)
        a->o.n_dropped += a->o.n_tokens, a->o.n_tokens = a->o.n_text = 0; // of what came the end is kept
    for (size_t i = 0; c->token_data && i < c->n_tokens && a->o.n_tokens + i < WHOLE_TOKENS; i++) {
        a->told[a->o.n_tokens + i] = hash_told(&c->token_data[i]);
        a->has_numbers &= has_numbers(&c->token_data[i], r);
    }
    outcome_add(&a->o, c);
    if (c->finish_reason == RN_FINISH_NONE) return;
    a->error = c->error;
    a->n_sequences = c->n_sequences, a->n_last = c->n_tokens;
    for (size_t i = 0; i < c->n_sequences && CHECK(i < WHOLE_SEQUENCES); i++) {
        const rn_sequence *const q = &c->sequences[i];
        const uint64_t hash = hash_of(q->text, q->n_text, 1);
        if (i == 0) snprintf(a->best, sizeof a->best, "%s", q->text);
        a->has_numbers &= isfinite(q->score) && isfinite(q->logprob) && q->logprob <= 0;
        a->sequences[i] = (struct whole_sequence){.n_tokens = q->n_tokens,
                                                  .hash = hash_of(q->tokens, q->n_tokens * sizeof *q->tokens, hash),
                                                  .score = q->score,
                                                  .logprob = q->logprob,
                                                  .finish = q->finish_reason};
    }
}

// Reads to the end; false when something other than RN_OK comes before it.
static inline bool whole_read(rn_stream *s, const rn_request *r, struct whole_answer *a) {
    rn_error err = {0};
    while (a->o.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) return false;
        whole_add(a, &c, r);
    }
    return true;
}

static inline void whole_clear(struct whole_answer *a) {
    memset(a, 0, sizeof *a);
    a->has_numbers = true;
}

static inline bool whole_run(rn_engine *e, const rn_request *r, struct whole_answer *a) {
    rn_stream *s = NULL;
    rn_error err = {0};
    whole_clear(a);
    const bool ok = CHECK_OK(rn_stream_begin(e, r, &s, &err), &err) && whole_read(s, r, a);
    rn_stream_close(s);
    return ok;
}

// The end of an answer whose first n tokens were dropped, since nobody read them.
static inline bool same_end(const struct whole_answer *a, const struct whole_answer *whole, size_t n) {
    return CHECK_INT(n + a->o.n_tokens, whole->o.n_tokens) && CHECK(a->o.n_text <= whole->o.n_text) &&
           CHECK_STR(a->o.text, whole->o.text + whole->o.n_text - a->o.n_text) &&
           CHECK_MEM(a->o.tokens, whole->o.tokens + n, a->o.n_tokens * sizeof *a->o.tokens) &&
           CHECK_MEM(a->told, whole->told + n, a->o.n_tokens * sizeof *a->told);
}

static inline bool same_sequences(const struct whole_answer *a, const struct whole_answer *b) {
    bool same = CHECK_INT(a->n_sequences, b->n_sequences) && CHECK_STR(a->best, b->best);
    for (size_t i = 0; same && i < a->n_sequences; i++) {
        const struct whole_sequence *const x = &a->sequences[i], *const y = &b->sequences[i];
        same = CHECK_INT(x->n_tokens, y->n_tokens) && CHECK_INT(x->finish, y->finish) && CHECK(x->hash == y->hash) &&
               CHECK_MEM(&x->score, &y->score, sizeof x->score) &&
               CHECK_MEM(&x->logprob, &y->logprob, sizeof x->logprob);
    }
    return same;
}

static inline bool whole_same(const struct whole_answer *a, const struct whole_answer *whole) {
    return same_end(a, whole, a->o.n_dropped) && CHECK_INT(a->o.finish, whole->o.finish) &&
           CHECK_STR(a->o.detail, whole->o.detail) && CHECK_INT(a->error, whole->error) && same_sequences(a, whole);
}

#endif
