// engine/banned.h - banned strings of a stream: tokens are held back while their text may become one, and taken back when it
// does; the token that it began with is then ruled out at its place.
//
// Tokens [first, n) of the choice are held back: they are in the outbox, but in no chunk. A string that began in text that was
// already released can only be prevented by ruling out a token that is still held.
// Ownership: the stream's. Threads: the step thread; banned_rule_out() also a pool thread while the step thread waits for it.
#ifndef RN_ENGINE_BANNED_H
#define RN_ENGINE_BANNED_H

#include "engine/engine.h"
#include "text/banned_set.h"

// Tokens ruled out since the last token was released: above it the stream ends with an error.
enum { BANNED_MAX_TRIES = 1000 };

// RN_E_ARG, RN_E_UNSUPPORTED, RN_E_NOMEM; s->text.banned stays NULL if the request bans nothing. Once the stream has its strategy.
rn_status banned_create(rn_stream *s, const rn_request *r, rn_error *err);
void banned_destroy(struct banned *b); // NULL is fine
// Room of the outbox for what is held back.
void banned_add_sizes(const struct banned *b, struct outbox_sizes *z);

// The token at index c->n, whose text was passed on: does it complete a banned string before a stop string? Then *at is the index
// of the token to take back to.
bool banned_completes(rn_stream *s, const struct choice *c, const struct passed_text *p, int32_t *at);
// Takes back tokens [at, c->n) and `token` after them, and rules out the one at `at`. RN_E_LIMIT: too many were ruled out.
rn_status banned_take_back(rn_stream *s, struct choice *c, int32_t at, int32_t token, rn_error *err);
// After a token was pushed with n_text bytes of text: releases what cannot become a banned string any more. RN_E_LIMIT: more
// tokens are held back than there is room for.
rn_status banned_release(rn_stream *s, struct choice *c, size_t n_text, rn_error *err);
// At the end of the choice: releases all.
void banned_release_all(rn_stream *s, struct choice *c);
// How many tokens are ruled out at index `at`; takes them out of the mask unless it is NULL.
uint32_t banned_rule_out(const struct banned *b, int32_t at, uint64_t *mask);

#endif
