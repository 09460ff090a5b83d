// engine/token_walk.c - texts that may become a stream's answer: what may follow in them and where they end, for strategies that follow
// several at once.
//
// The stream has one sampler and one cursor of its grammar, which move from text to text: back to what both have in common, and on.
// Emitted tokens are one of these texts (stream_walk_go()).
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/token_prefix.h"
#include "text/text_buf.h"
#include "tokenizer/pattern.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// The text behind the first tokens, as far as stop strings and healed bytes go by it.
struct walk_text {
    utf8_assembler utf8;
    stop_matcher matcher;
    size_t n_healed;
};

struct walk_state {
    int32_t *tokens; // [n_most] where the sampler and the grammar are
    int32_t n, n_most;
    struct walk_text *texts; // [n_most + 1]; NULL: the text does not matter
    pattern *votes;          // whose last match an answer says; NULL: its last line
    pattern_match *match;    // of votes
    int32_t n_unread;        // answers in which it came to its limit
};

static bool reads_text(const rn_stream *s) { return s->text.stops || s->text.n_heal > s->text.n_heal_given; }

static struct choice choice_of(const struct walk_text *t) {
    return (struct choice){.n_healed = t->n_healed, .utf8 = t->utf8, .matcher = t->matcher};
}

// The text behind token `i`, whose text goes through the buffers of the stream.
static void pass(rn_stream *s, const struct walk_text *before, int32_t token, struct walk_text *after) {
    struct choice c = choice_of(before);
    (void)stream_pass_token(s, &c, token);
    *after = (struct walk_text){c.utf8, c.matcher, c.n_healed};
}

static void go_back(rn_stream *s, int32_t n) {
    struct walk_state *const w = s->play.walk;
    if (w->n <= n) return;
    sampler_rewind(s->play.sampler, (size_t)(w->n - n));
    stream_grammar_keep(s, w->tokens, n);
    w->n = n;
}

rn_status stream_walk_go(rn_stream *s, const int32_t *tokens, int32_t n, rn_error *err) {
    struct walk_state *const w = s->play.walk;
    int32_t n_common = 0;
    bool is_over;
    while (n_common < n && n_common < w->n && w->tokens[n_common] == tokens[n_common]) n_common++;
    go_back(s, n_common);
    for (; w->n < n; w->n++) {
        const int32_t token = tokens[w->n];
        const rn_status st = s->grammar.g ? stream_grammar_take(s, token, &is_over, err) : RN_OK;
        if (st != RN_OK) return st;
        sampler_accept(s->play.sampler, token);
        if (w->texts) pass(s, &w->texts[w->n], token, &w->texts[w->n + 1]);
        w->tokens[w->n] = token;
    }
    return RN_OK;
}

static rn_status seek(void *user, const int32_t *tokens, int32_t n, rn_error *err) {
    return stream_walk_go(user, tokens, n, err);
}

static rn_status mask(void *user, const uint64_t **out, rn_error *err) {
    rn_stream *const s = user;
    const struct walk_state *const w = s->play.walk;
    const size_t n_healed = w->texts ? w->texts[w->n].n_healed : s->text.n_heal, n_left = s->text.n_heal - n_healed,
                 n_words = s->play.n_gate_words;
    *out = NULL;
    if (n_left == 0 && !s->grammar.g) return RN_OK;
    *out = s->play.gate_mask;
    memset(s->play.gate_mask, 0xff, n_words * sizeof *s->play.gate_mask);
    if (n_left > 0)
        token_prefix_mask(s->model_slot->m, s->model_slot->lm->n_vocab, s->text.heal + n_healed, n_left,
                          s->play.gate_mask);
    return s->grammar.g ? stream_grammar_mask(s, s->play.gate_mask, n_words, err) : RN_OK;
}

static rn_status ends(void *user, int32_t token, bool *is_end, rn_error *err) {
    rn_stream *const s = user;
    const struct walk_state *const w = s->play.walk;
    struct walk_text after;
    *is_end = stream_ends_at(s, token);
    if (*is_end) return RN_OK;
    if (s->text.stops) {
        pass(s, &w->texts[w->n], token, &after);
        *is_end = after.matcher.matched >= 0;
    }
    if (*is_end || !s->grammar.g) return RN_OK;
    const rn_status st = stream_grammar_take(s, token, is_end, err);
    if (st == RN_OK) stream_grammar_keep(s, w->tokens, w->n);
    return st;
}

static void tell_sampled(const rn_stream *s, const struct drawn_from *from, int32_t token, struct token_told *out) {
    struct outbox_sampled x = {.sampled_entropy = NAN, .sampled_logprob = NAN};
    rn_top top[LOGPROBS_MAX_TOP];
    stream_tell_drawn_from(s, from, token, &x, top);
    out->sampled_entropy = x.sampled_entropy, out->sampled_logprob = x.sampled_logprob;
    out->sampled_rank = x.sampled_rank, out->n_candidates = x.n_candidates, out->n_sampled_top = x.n_sampled_top;
    for (int32_t i = 0; i < x.n_sampled_top; i++)
        out->top[out->n_top + i] = (struct token_logprob){top[i].id, top[i].logprob};
}

static void tell(void *user, const float *logits, int32_t token, const struct drawn_from *from,
                 struct token_told *out) {
    rn_stream *const s = user;
    const int32_t n_vocab = s->model_slot->lm->n_vocab,
                  n_logprobs = s->scores.n_logprobs < 0 ? 0 : s->scores.n_logprobs,
                  n_top = n_logprobs < n_vocab ? n_logprobs : n_vocab;
    *out = (struct token_told){.n_top = n_top, .entropy = NAN, .sampled_entropy = NAN, .sampled_logprob = NAN};
    if (s->scores.n_sampled >= 0 && from) tell_sampled(s, from, token, out);
    if (s->scores.n_sampled >= 0)
        out->entropy = (float)token_entropy(&s->engine->kernels->row, logits, n_vocab, (float *)s->scores.scratch);
    if (s->scores.n_logprobs < 0) return;
    out->logprob =
        token_logprobs(&s->engine->kernels->row, logits, n_vocab, token, n_top, out->top, s->scores.scratch);
    out->rank = token_rank(logits, n_vocab, token);
}

// ---- what most answers say ----

// Where in a text its last line is that is not blank.
static struct pattern_hit last_line(const char *text, size_t n) {
    while (n > 0 && strchr(" \t\r\n", text[n - 1])) n--;
    size_t from = n;
    while (from > 0 && text[from - 1] != '\n') from--;
    while (from < n && strchr(" \t", text[from])) from++;
    return (struct pattern_hit){from, n, n > from};
}

// Where the expression comes to its limit the text says nothing: the other answers are there, and so may be what most of them say.
static rn_status find_answer(struct walk_state *w, const char *text, size_t n, struct pattern_hit *answer,
                             rn_error *err) {
    struct pattern_hit hit = {.found = true};
    *answer = (struct pattern_hit){0};
    if (!w->votes) {
        *answer = last_line(text, n);
        return RN_OK;
    }
    for (size_t from = 0; from <= n; from = hit.end > from ? hit.end : from + 1) {
        while (from < n && ((unsigned char)text[from] & 0xc0) == 0x80) from++; // not within a character
        const rn_status st = pattern_find(w->votes, w->match, text, n, from, &hit, err);
        if (st == RN_E_LIMIT) {
            *answer = (struct pattern_hit){0};
            w->n_unread++;
            break;
        }
        if (st != RN_OK) return fail_in(err, st, "majority");
        if (!hit.found) break;
        *answer = hit;
    }
    return RN_OK;
}

static bool says_same(const char *a, struct pattern_hit x, const char *b, struct pattern_hit y) {
    return x.found && y.found && x.end - x.begin == y.end - y.begin &&
           memcmp(a + x.begin, b + y.begin, x.end - x.begin) == 0;
}

static rn_status vote(void *user, const struct sequence_found *found, int32_t n, int32_t *groups, rn_error *err) {
    rn_stream *const s = user;
    struct text_buf texts = {0};
    struct pattern_hit answers[STRATEGY_MAX_SEQS];
    size_t begins[STRATEGY_MAX_SEQS];
    rn_status st = RN_OK;
    for (int32_t i = 0; i < n && st == RN_OK; i++) {
        begins[i] = texts.n;
        stream_sequence_text(s, found[i].tokens, (size_t)found[i].n, &texts);
        if (texts.failed)
            st = fail(err, RN_E_NOMEM, "majority: out of memory for the texts of %d answers", n);
        else
            st = find_answer(s->play.walk, texts.s + begins[i], texts.n - begins[i] - 1, &answers[i], err);
    }
    for (int32_t i = 0; i < n && st == RN_OK; i++) {
        groups[i] = answers[i].found ? i : -1;
        for (int32_t k = 0; k < i && groups[i] == i; k++)
            if (says_same(texts.s + begins[i], answers[i], texts.s + begins[k], answers[k])) groups[i] = k;
    }
    text_buf_free(&texts);
    return st;
}

void stream_walk_note(rn_stream *s) {
    const int32_t n = s->play.walk ? s->play.walk->n_unread : 0;
    const size_t at = strlen(s->end.detail);
    if (n > 0)
        snprintf(s->end.detail + at, sizeof s->end.detail - at,
                 "; majority: %d of the texts say nothing: it reached its match limit there", n);
}

static rn_status open_votes(struct walk_state *w, const char *majority, rn_error *err) {
    if (!majority || strcmp(majority, "line") == 0) return RN_OK;
    const size_t n = strlen(majority);
    rn_error own = {0};
    if (n > PATTERN_MAX_BYTES)
        return fail(err, RN_E_LIMIT, "majority: an expression of %zu bytes, limit %d", n, PATTERN_MAX_BYTES);
    const rn_status st = pattern_create((struct vocab_str){majority, (uint32_t)n}, true, &w->votes, &own);
    if (st == RN_E_FORMAT) return fail(err, RN_E_ARG, "majority: %s", own.text);
    if (st != RN_OK) return fail(err, st, "majority: %s", own.text);
    w->match = pattern_match_create();
    return w->match ? RN_OK : fail(err, RN_E_NOMEM, "majority: out of memory");
}

void stream_walk_describe(rn_stream *s) {
    const rn_model *const m = s->model_slot->m;
    int32_t n_ends = s->text.ignore_eos ? 0 : m->n_end;
    for (size_t i = 0; i < s->text.n_stop_ids; i++)
        n_ends += s->text.ignore_eos || !model_is_end_token(m, s->text.stop_ids[i]);
    s->play.walk_ops =
        (struct token_walk){.seek = seek,
                            .mask = mask,
                            .ends = ends,
                            .tell = tell,
                            .vote = vote,
                            .user = s,
                            .n_end_tokens = n_ends,
                            .padding_token = package_vocab(m->pkg)->pad,
                            .is_idle = !reads_text(s) && !s->grammar.g && !sampler_reads_tokens(s->play.sampler)};
}

rn_status stream_walk_create(rn_stream *s, const struct strategy_options *o, rn_error *err) {
    const size_t n_most = (size_t)(s->n_limit - s->n_prompt);
    struct walk_state *const w = s->play.walk = mem_calloc(1, sizeof *w);
    if (w) w->n_most = (int32_t)n_most;
    if (w && (w->tokens = mem_alloc((n_most + 1) * sizeof *w->tokens)) &&
        (!reads_text(s) || (w->texts = mem_alloc((n_most + 1) * sizeof *w->texts)))) {
        if (!w->texts) return open_votes(w, o->majority, err);
        w->texts[0] = (struct walk_text){.n_healed = s->text.n_heal_given};
        stop_matcher_init(&w->texts[0].matcher, s->text.stops);
        return open_votes(w, o->majority, err);
    }
    return fail(err, RN_E_NOMEM, "stream: out of memory for the texts of a search, of %zu tokens", n_most);
}

void stream_walk_destroy(rn_stream *s) {
    if (!s->play.walk) return;
    mem_free(s->play.walk->tokens);
    mem_free(s->play.walk->texts);
    pattern_destroy(s->play.walk->votes);
    pattern_match_destroy(s->play.walk->match);
    mem_free(s->play.walk);
}
