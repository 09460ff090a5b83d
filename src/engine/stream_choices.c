// engine/stream_choices.c - a stream's choices: delivering tokens and text, ending a choice, revising one.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/banned.h"
#include "engine/engine.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int32_t most_tokens(const rn_stream *s) { return s->n_limit - s->n_prompt; }

static int32_t n_going_on(const rn_stream *s) {
    int32_t n = 0;
    for (int32_t i = 0; i < s->text.n_choices; i++) n += s->text.choices[i].finish == RN_FINISH_NONE;
    return n;
}

static void end_stream(rn_stream *s, rn_finish why, const char *detail) {
    if (s->end.finish != RN_FINISH_NONE) return;
    s->end.finish = why;
    snprintf(s->end.detail, sizeof s->end.detail, "%s", detail);
}

// ---- text -----------------------------------------------------------------------------------------------------------

// Room was checked before the step, so a token that does not fit is a bug. The stream then ends with an error.
static rn_status out_of_room(const rn_stream *s, const struct choice *c, rn_error *err) {
    return fail(err, RN_E_INTERNAL, "stream: token %d does not fit its buffer of %zu tokens, %zu bytes", c->n,
                s->out.cap_tokens, s->out.cap_text);
}

static void end_out_of_room(rn_stream *s, const struct choice *c) {
    rn_error err;
    s->end.status = out_of_room(s, c, &err);
    end_stream(s, RN_FINISH_ERROR, err.text);
}

static const char *piece_of(const rn_stream *s, int32_t token, size_t *n) {
    const bool spelled = s->text.special || (s->answer && answer_spells(s->answer, token));
    return model_piece(s->model_slot->m, token, spelled, n);
}

static bool is_stop_id(rn_stream *s, int32_t id, const char **what) {
    *what = "stop token";
    for (size_t i = 0; i < s->text.n_stop_ids; i++)
        if (s->text.stop_ids[i] == id) return true;
    *what = "end token";
    return !s->text.ignore_eos && model_is_end_token(s->model_slot->m, id) && !stream_grammar_goes_on(s, id);
}

bool stream_ends_at(rn_stream *s, int32_t token) {
    const char *what;
    return is_stop_id(s, token, &what);
}

struct passed_text stream_pass_token(rn_stream *s, struct choice *c, int32_t token) {
    const size_t n_before = c->matcher.n_held;
    struct passed_text p = {.stop_end = SIZE_MAX};
    const char *what;
    size_t n_piece, n_stop;
    if (is_stop_id(s, token, &what)) return p;
    const char *piece = piece_of(s, token, &n_piece);
    const size_t n_left = s->text.n_heal - c->n_healed, n_known = n_piece < n_left ? n_piece : n_left;
    piece += n_known, n_piece -= n_known; // what the prompt ends with already
    c->n_healed += n_known;
    const bool had_ended = c->matcher.matched >= 0;
    p.n_text = utf8_assembler_push(&c->utf8, piece, n_piece, s->text.a);
    p.n = stop_matcher_push(&c->matcher, s->text.a, p.n_text, s->text.b);
    if (c->matcher.matched < 0 || had_ended) return p;
    (void)stop_set_string(s->text.stops, c->matcher.matched, &n_stop);
    p.stop_end = p.n + n_stop - n_before;
    return p;
}

// Delivers the text that a choice held back. Returns false if it does not fit.
static bool push_held_text(rn_stream *s, struct choice *c) {
    size_t n = c->matcher.matched >= 0 ? 0 : utf8_assembler_finish(&c->utf8, s->text.a);
    n = stop_matcher_push(&c->matcher, s->text.a, n, s->text.b);
    const bool fits = outbox_push_text(&s->out, s->text.b, n);
    n = stop_matcher_finish(&c->matcher, s->text.b);
    return outbox_push_text(&s->out, s->text.b, n) && fits;
}

// ---- the end of a choice --------------------------------------------------------------------------------------------

static void end_choice(rn_stream *s, struct choice *c, rn_finish why, const char *detail) {
    c->finish = why;
    snprintf(c->detail, sizeof s->end.detail, "%s", detail);
    outbox_end_choice(&s->out, why, c->detail);
}

// The end of the last choice ends the stream, and is delivered with its last chunk.
static void finish(rn_stream *s, struct choice *c, rn_finish why, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void finish(rn_stream *s, struct choice *c, rn_finish why, const char *fmt, ...) {
    va_list ap;
    char text[sizeof s->end.detail];
    if (c->finish != RN_FINISH_NONE || s->end.finish != RN_FINISH_NONE) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n_going_on(s) == 1) {
        end_stream(s, why, text);
        return;
    }
    if (!push_held_text(s, c)) end_out_of_room(s, c);
    end_choice(s, c, why, text);
}

rn_status stream_choices_end(rn_stream *s, rn_finish why, const char *detail, rn_error *err) {
    rn_status st = RN_OK;
    for (int32_t i = 0, n = n_going_on(s); i < s->text.n_choices; i++) {
        struct choice *c = &s->text.choices[i];
        if (c->finish != RN_FINISH_NONE) continue;
        outbox_choose(&s->out, i);
        if (s->text.banned) banned_release_all(s, c);
        if (!push_held_text(s, c)) st = out_of_room(s, c, err);
        if (--n == 0) break;
        end_choice(s, c, why, detail);
    }
    return st;
}

static void end_failed(rn_stream *s, rn_status st, const rn_error *err) {
    s->end.status = st;
    end_stream(s, RN_FINISH_ERROR, err->text);
}

// Of an answer whose last token is an end or stop token, or which ends with a stop string (-1: none): which one. False: neither.
static bool tell_stop(rn_stream *s, int32_t token, int32_t matched, char *out, size_t n_out) {
    const char *what;
    size_t n;
    if (is_stop_id(s, token, &what)) {
        const char *const spelling = model_piece(s->model_slot->m, token, true, &n);
        snprintf(out, n_out, "%s %d%s%.*s", what, token, n ? " " : "", (int)n, spelling);
        return true;
    }
    if (matched < 0) return false;
    const char *const stop = stop_set_string(s->text.stops, matched, &n);
    snprintf(out, n_out, "stop string \"%.*s\"", (int)n, stop);
    return true;
}

static void tell_limit(const rn_stream *s, char *out, size_t n_out) {
    snprintf(out, n_out, "%s %d",
             s->room_binds      ? s->room_binds
             : s->context_binds ? "context"
                                : "max_tokens",
             s->context_binds && !s->room_binds ? s->model_slot->n_ctx : most_tokens(s));
}

void stream_tell_end(rn_stream *s, int32_t token, int32_t matched, bool is_whole, char *out, size_t n_out) {
    if (!is_whole)
        tell_limit(s, out, n_out);
    else if (!tell_stop(s, token, matched, out, n_out))
        snprintf(out, n_out, "grammar");
}

static void look_for_end(rn_stream *s, struct choice *c, int32_t token) {
    char text[sizeof s->end.detail];
    rn_error err;
    bool is_over = false;
    if (tell_stop(s, token, c->matcher.matched, text, sizeof text)) {
        finish(s, c, RN_FINISH_STOP, "%s", text);
    } else if (s->grammar.g) {
        rn_status st;
        if (!s->play.walk)
            st = stream_grammar_take(s, token, &is_over, &err);
        else if ((st = stream_walk_go(s, c->tokens, c->n, &err)) == RN_OK)
            st = stream_grammar_is_over(s, &is_over, &err);
        if (st != RN_OK) end_failed(s, st, &err);
        if (is_over) finish(s, c, RN_FINISH_STOP, "grammar");
    }
    if (c->n < most_tokens(s)) return;
    tell_limit(s, text, sizeof text);
    finish(s, c, RN_FINISH_LENGTH, "%s", text);
}

// ---- tokens ---------------------------------------------------------------------------------------------------------

void stream_tell_drawn_from(const rn_stream *s, const struct drawn_from *from, int32_t token,
                            struct outbox_sampled *t, rn_top *top) {
    double entropy = 0;
    // Behind them are some with weight 0, which are never drawn.
    for (size_t i = 0; i < from->n && from->probs[i] > 0; i++, t->n_candidates++) {
        const double p = (double)from->probs[i];
        entropy -= p * log_f64(p);
        if (from->ids[i] != token) continue;
        t->sampled_logprob = (float)log_f64(p);
        t->sampled_rank = (int32_t)i + 1;
    }
    t->sampled_entropy = (float)entropy;
    t->n_sampled_top = s->scores.n_sampled < t->n_candidates ? s->scores.n_sampled : t->n_candidates;
    for (int32_t i = 0; i < t->n_sampled_top; i++)
        top[i] = (rn_top){from->ids[i], (float)log_f64((double)from->probs[i])};
}

static void push_token(rn_stream *s, const struct choice *c, const struct emission *e) {
    struct outbox_token t = {.id = e->token, .logprob = NAN, .drafted = e->drafted > 0};
    struct outbox_sampled x = {.entropy = NAN, .sampled_entropy = NAN, .sampled_logprob = NAN};
    rn_top top[2 * LOGPROBS_MAX_TOP];
    if (s->scores.n_logprobs >= 0 && e->logits) {
        const int32_t n_vocab = s->model_slot->lm->n_vocab;
        t.n_top = s->scores.n_logprobs < n_vocab ? s->scores.n_logprobs : n_vocab;
        t.logprob = token_logprobs(&s->engine->kernels->row, e->logits, n_vocab, e->token, t.n_top, s->scores.top,
                                   s->scores.scratch);
        for (int32_t i = 0; i < t.n_top; i++) top[i] = (rn_top){s->scores.top[i].id, s->scores.top[i].logprob};
        t.rank = token_rank(e->logits, n_vocab, e->token);
    } else if (s->scores.n_logprobs >= 0 && e->told) {
        t.logprob = e->told->logprob, t.rank = e->told->rank, t.n_top = e->told->n_top;
    }
    if (s->scores.n_sampled >= 0 && e->logits)
        x.entropy = (float)token_entropy(&s->engine->kernels->row, e->logits, s->model_slot->lm->n_vocab,
                                         (float *)s->scores.scratch);
    else if (s->scores.n_sampled >= 0 && e->told)
        x = (struct outbox_sampled){e->told->entropy,      e->told->sampled_entropy, e->told->sampled_logprob,
                                    e->told->sampled_rank, e->told->n_candidates,    e->told->n_sampled_top};
    for (int32_t i = 0; e->told && !e->logits && i < t.n_top + x.n_sampled_top; i++)
        top[i] = (rn_top){e->told->top[i].id, e->told->top[i].logprob};
    if (s->scores.n_sampled >= 0 && e->from) stream_tell_drawn_from(s, e->from, e->token, &x, top + t.n_top);
    t.n_top += x.n_sampled_top;
    if (!outbox_push_token(&s->out, &t, top, e->logits))
        end_out_of_room(s, c);
    else if (s->scores.n_sampled >= 0)
        outbox_push_sampled(&s->out, &x);
}

// Choice 0 is held by the main sequence and the session.
static void set_length(rn_stream *s, struct choice *c, int32_t n) {
    c->n = n;
    if (c != s->text.choices) return;
    s->n_tokens = s->n_prompt + n;
    if (!s->play.walk) stream_grammar_keep(s, c->tokens, n);
}

// Truncates the choice to its first n tokens and recomputes the state of its text.
static void go_back(rn_stream *s, struct choice *c, int32_t n) {
    uint32_t n_text = c == s->text.choices ? (uint32_t)s->text.n_echo : 0;
    c->utf8 = (utf8_assembler){.keep_invalid = c->utf8.keep_invalid};
    c->n_healed = s->text.n_heal_given;
    stop_matcher_init(&c->matcher, s->text.stops);
    for (int32_t i = 0; i < n; i++) n_text += (uint32_t)stream_pass_token(s, c, c->tokens[i]).n;
    set_length(s, c, n);
    if (c == s->text.choices) s->play.env.ops->seq_truncate(s->play.env.user, STRATEGY_MAIN, s->n_tokens);
    outbox_replace(&s->out, (int32_t)(c - s->text.choices), n, n_text);
}

static void note_time(rn_stream *s, const struct choice *c) {
    const int64_t now = clock_now_ns();
    if (!s->time.first) s->time.first = now;
    s->time.last = now;
    if (s->time.token_gap_ns)
        s->time.next_token = (s->time.next_token > now ? s->time.next_token : now) + s->time.token_gap_ns;
    if (s->time.token_ms && c == s->text.choices) s->time.token_ms[c->n] = (double)(now - s->time.begin) / 1e6;
}

// Ends the stream because its strategy broke the contract.
static bool is_wrong(rn_stream *s, const struct emission *e) {
    const bool is_choice = e->choice >= 0 && e->choice < s->text.n_choices;
    const int32_t most = is_choice && s->play.env.accepts_revisions ? s->text.choices[e->choice].n : 0;
    if (is_choice && s->text.choices[e->choice].finish != RN_FINISH_NONE)
        return false; // the choice has ended: the token is not taken
    if (is_choice && e->n_replaced >= 0 && e->n_replaced <= most) return false;
    rn_error err;
    s->end.status = fail(&err, RN_E_INTERNAL, "strategy: choice %d of %d, %d tokens replaced, limit %d", e->choice,
                         s->text.n_choices, e->n_replaced, most);
    end_stream(s, RN_FINISH_ERROR, err.text);
    return true;
}

// The token completes a banned string that begins in the one at index `at`, which is drawn again.
static enum emit_answer take_back(rn_stream *s, struct choice *c, int32_t at, int32_t token) {
    rn_error err;
    const int32_t n_back = c->n - at + 1;
    const rn_status st = banned_take_back(s, c, at, token, &err);
    set_length(s, c, at);
    if (st != RN_OK) {
        end_failed(s, st, &err);
        return EMIT_END;
    }
    s->play.rewound = (struct rewound){n_back, s->tokens[s->n_tokens - 1]};
    if (n_back > 1) s->play.env.ops->seq_truncate(s->play.env.user, STRATEGY_MAIN, s->n_tokens - 1);
    return EMIT_REWIND;
}

static enum emit_answer emit(void *user, const struct emission *e) {
    rn_stream *s = user;
    rn_error err;
    int32_t at;
    if (s->end.finish != RN_FINISH_NONE || is_wrong(s, e)) return EMIT_END;
    struct choice *c = &s->text.choices[e->choice];
    if (c->finish != RN_FINISH_NONE || c->n - e->n_replaced >= most_tokens(s)) return EMIT_END;
    if (e->n_replaced)
        go_back(s, c, c->n - e->n_replaced);
    else
        outbox_choose(&s->out, e->choice);
    const struct passed_text p = stream_pass_token(s, c, e->token);
    if (s->text.banned && banned_completes(s, c, &p, &at)) return take_back(s, c, at, e->token);
    note_time(s, c);
    c->tokens[c->n] = e->token;
    draft_counts_right(s, e->drafted);
    set_length(s, c, c->n + 1);
    push_token(s, c, e);
    if (!outbox_push_text(&s->out, s->text.b, p.n)) end_out_of_room(s, c);
    if (s->text.banned && s->end.finish == RN_FINISH_NONE) {
        const rn_status st = banned_release(s, c, p.n, &err);
        if (st != RN_OK) end_failed(s, st, &err);
    }
    look_for_end(s, c, e->token);
    const bool goes_on = s->end.finish == RN_FINISH_NONE && c->finish == RN_FINISH_NONE;
    if (goes_on && outbox_chunk_is_full(&s->out)) outbox_close_chunk(&s->out);
    return goes_on ? EMIT_NEXT : EMIT_END;
}

static struct rewound rewound(void *user) { return ((const rn_stream *)user)->play.rewound; }

static bool may_emit(void *user) {
    rn_stream *s = user;
    if (most_tokens(s) == 0) end_stream(s, RN_FINISH_LENGTH, "max_tokens 0"); // evaluated only to cache the prompt
    if (s->grammar_is_over) end_stream(s, RN_FINISH_STOP, "grammar");
    return s->end.finish == RN_FINISH_NONE;
}

static void score_prompt(void *user, int32_t at, const float *logits) { prompt_scores_take(user, at, logits); }

static void add_sequence(void *user, const struct sequence_found *q) { stream_sequences_add(user, q); }

static void end(void *user, enum strategy_end why) {
    static const rn_finish reasons[] = {
        [STRATEGY_END_STOP] = RN_FINISH_STOP, [STRATEGY_END_LENGTH] = RN_FINISH_LENGTH};
    end_stream(user, reasons[why], "");
}

struct emitter stream_emitter(rn_stream *s) {
    static const struct emitter_ops ops = {may_emit, emit, rewound, score_prompt, end, add_sequence};
    return (struct emitter){&ops, s};
}

int64_t stream_emitted(const rn_stream *s) {
    int64_t n = 0;
    for (int32_t i = 0; i < s->text.n_choices; i++) n += s->text.choices[i].n;
    return n;
}

int32_t stream_tokens_left(const rn_stream *s) {
    int64_t n = 0;
    for (int32_t i = 0; i < s->text.n_choices; i++)
        if (s->text.choices[i].finish == RN_FINISH_NONE) n += most_tokens(s) - s->text.choices[i].n;
    return n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

rn_status stream_choices_create(rn_stream *s, bool raw_bytes, bool accepts_revisions, rn_error *err) {
    const int32_t n = s->play.strategy->n_choices ? s->play.strategy->n_choices : 1;
    if (n < 0 || n > STRATEGY_MAX_CHOICES)
        return fail(err, RN_E_INTERNAL, "strategy: %d choices, limit %d", n, STRATEGY_MAX_CHOICES);
    if (n > 1 && s->answer) return fail(err, RN_E_UNSUPPORTED, "chat: takes one answer, the strategy makes %d", n);
    if ((n > 1 || accepts_revisions) && s->overflow == RN_OVERFLOW_DROP_OLDEST)
        return fail(err, RN_E_ARG, "overflow: drop-oldest excludes %s",
                    n > 1 ? "several choices, whose last chunks must not be dropped"
                          : "accept_revisions, since revisions must not be dropped");
    if (!(s->text.choices = mem_calloc((size_t)n, sizeof *s->text.choices)))
        return fail(err, RN_E_NOMEM, "stream: out of memory for %d answers", n);
    s->text.n_choices = n;
    s->play.env.accepts_revisions = accepts_revisions;
    for (int32_t i = 0; i < n; i++) {
        struct choice *c = &s->text.choices[i];
        c->utf8.keep_invalid = raw_bytes;
        c->n_healed = s->text.n_heal_given;
        stop_matcher_init(&c->matcher, s->text.stops);
        c->tokens = i == 0 ? s->tokens + s->n_prompt : mem_calloc((size_t)most_tokens(s) + 1, sizeof *c->tokens);
        if (n > 1) c->detail = mem_calloc(1, sizeof s->end.detail);
        if (!c->tokens || (n > 1 && !c->detail))
            return fail(err, RN_E_NOMEM, "stream: out of memory for %d answers", n);
    }
    return RN_OK;
}

void stream_choices_destroy(rn_stream *s) {
    for (int32_t i = 0; i < s->text.n_choices; i++) {
        if (i > 0) mem_free(s->text.choices[i].tokens);
        mem_free(s->text.choices[i].detail);
    }
    mem_free(s->text.choices);
}
