// engine/stream_grammar.c - the form of a stream's answer: what may follow, and where it ends.
#include "engine/engine.h"

// Takes a token of the answer: the reasoning's, or the grammar's.
static rn_status take(rn_stream *s, int32_t token, bool *is_allowed, rn_error *err) {
    struct thinking *const t = &s->thinking;
    size_t skip;
    rn_status st = RN_OK;
    *is_allowed = true;
    if (t->phase == THINKING_PAST) return grammar_take(&s->grammar, token, is_allowed, err);
    if (t->phase != THINKING_GOES_ON) st = grammar_allows(&s->grammar, token, is_allowed, err);
    if (st != RN_OK) return st;
    const bool is_of_grammar = thinking_take(t, s->model_slot->m, token, *is_allowed, &skip);
    *is_allowed = true;
    if (!is_of_grammar) {
        s->grammar.skip = 0;
        s->n_thought++;
        return RN_OK;
    }
    if (skip) s->grammar.skip = skip; // the grammar has taken none before
    return grammar_take(&s->grammar, token, is_allowed, err);
}

// Where the answer begins: in the request's reply, or in a message that it continues. Token healing takes back tokens at the end of such
// a message; those of a reply begin with what was taken back of the prompt.
static void find_given(rn_stream *s, const rn_request *r) {
    if (s->continued_from == 0) {
        s->n_grammar_given = (int32_t)r->n_reply;
        s->n_grammar_skip = s->text.n_heal;
    } else if (s->continued_from < s->n_prompt) {
        s->n_grammar_given = s->n_prompt - s->continued_from;
        s->n_grammar_skip = s->n_continued_skip;
    }
}

static rn_status take_given(rn_stream *s, rn_error *err) {
    const int32_t *const tokens = s->tokens + s->n_prompt - s->n_grammar_given;
    s->grammar.skip = s->n_grammar_skip;
    for (int32_t i = 0; i < s->n_grammar_given; i++) {
        bool is_allowed;
        const rn_status st = take(s, tokens[i], &is_allowed, err);
        if (st != RN_OK) return fail_in(err, st, "grammar");
        if (is_allowed) continue;
        return s->continued_from
                   ? fail(err, RN_E_ARG,
                          "continue_final: the last message does not follow the grammar, from its token "
                          "%d on (%d)",
                          i, tokens[i])
                   : fail(err, RN_E_ARG, "reply[%d]: token %d does not follow the grammar", i, tokens[i]);
    }
    return RN_OK;
}

rn_status stream_grammar_create(rn_stream *s, const rn_request *r, rn_error *err) {
    bool is_whole;
    if (!r->grammar) return RN_OK;
    if (r->grammar->model != s->model_slot->m) return fail(err, RN_E_ARG, "grammar: belongs to another model");
    if (r->accept_revisions) return fail(err, RN_E_ARG, "accept_revisions: excludes a grammar");
    rn_status st = grammar_cursor_init(&s->grammar, r->grammar->g, err);
    if (st != RN_OK) return st;
    grammar_ref(s->grammar.g);
    find_given(s, r);
    st = take_given(s, err);
    if (st != RN_OK) return st;
    return grammar_state(&s->grammar, &is_whole, &s->grammar_is_over, err);
}

void stream_grammar_destroy(rn_stream *s) {
    grammar_unref(s->grammar.g);
    grammar_cursor_free(&s->grammar);
}

static void add_ends(const rn_stream *s, uint64_t *mask, size_t n_words) {
    const rn_model *const m = s->model_slot->m;
    for (int32_t i = 0; i < m->n_end && !s->text.ignore_eos; i++)
        if ((size_t)m->end_ids[i] < n_words * 64) token_mask_add(mask, m->end_ids[i]);
    for (size_t i = 0; i < s->text.n_stop_ids; i++) token_mask_add(mask, s->text.stop_ids[i]);
}

rn_status stream_grammar_mask(rn_stream *s, uint64_t *mask, size_t n_words, rn_error *err) {
    bool is_whole;
    const rn_status st = grammar_mask(&s->grammar, mask, n_words, &is_whole, err);
    if (st != RN_OK) return fail_in(err, st, "grammar");
    if (is_whole) add_ends(s, mask, n_words);
    if (s->thinking.phase != THINKING_PAST)
        thinking_mask(&s->thinking, s->model_slot->m, s->model_slot->lm->n_vocab, mask, s->play.gate_mask + n_words,
                      n_words);
    return RN_OK;
}

rn_status stream_grammar_take(rn_stream *s, int32_t token, bool *is_over, rn_error *err) {
    bool is_allowed, is_whole;
    rn_status st = take(s, token, &is_allowed, err);
    if (st == RN_OK && !is_allowed) st = fail(err, RN_E_INTERNAL, "token %d does not follow", token);
    if (st == RN_OK) st = grammar_state(&s->grammar, &is_whole, is_over, err);
    *is_over &= s->thinking.phase == THINKING_PAST;
    return st == RN_OK ? RN_OK : fail_in(err, st, "grammar");
}

// What was taken once is taken again without an error.
void stream_grammar_keep(rn_stream *s, int32_t n) {
    const int32_t n_taken = (int32_t)s->grammar.n + s->n_thought, n_all = s->n_grammar_given + n;
    if (!s->grammar.g || n_taken <= n_all) return;
    if (n_all >= s->n_thought) {
        grammar_rewind(&s->grammar, (uint32_t)(n_taken - n_all));
        if (s->n_thought == 0 || n_all > s->n_thought) return;
    }
    // Into the reasoning, or to its end: read again from the answer's beginning.
    const int32_t *const tokens = s->tokens + s->n_prompt - s->n_grammar_given;
    grammar_rewind(&s->grammar, s->grammar.n);
    s->grammar.skip = s->n_grammar_skip;
    s->n_thought = 0;
    thinking_restart(&s->thinking);
    for (int32_t i = 0; i < n_all; i++) {
        bool is_allowed;
        (void)take(s, tokens[i], &is_allowed, NULL);
    }
}
