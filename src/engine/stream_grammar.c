// engine/stream_grammar.c - the form of a stream's answer: what may follow, and where it ends.
#include "engine/engine.h"

rn_status stream_grammar_create(rn_stream *s, const rn_request *r, rn_error *err) {
    bool is_allowed;
    if (!r->grammar) return RN_OK;
    if (r->grammar->model != s->model_slot->m) return fail(err, RN_E_ARG, "grammar: belongs to another model");
    if (r->accept_revisions) return fail(err, RN_E_ARG, "accept_revisions: excludes a grammar");
    rn_status st = grammar_cursor_init(&s->grammar, r->grammar->g, err);
    if (st != RN_OK) return st;
    grammar_ref(s->grammar.g);
    s->grammar.skip = s->text.n_heal;
    for (size_t i = 0; i < r->n_reply; i++) {
        st = grammar_take(&s->grammar, r->reply[i], &is_allowed, err);
        if (st != RN_OK) return fail_in(err, st, "grammar");
        if (!is_allowed)
            return fail(err, RN_E_ARG, "reply[%zu]: token %d does not follow the grammar", i, r->reply[i]);
    }
    s->n_grammar_given = (uint32_t)r->n_reply;
    return grammar_state(&s->grammar, &is_allowed, &s->grammar_is_over, err);
}

void stream_grammar_destroy(rn_stream *s) {
    grammar_unref(s->grammar.g);
    grammar_cursor_free(&s->grammar);
}

rn_status stream_grammar_mask(rn_stream *s, uint64_t *mask, size_t n_words, rn_error *err) {
    const rn_model *const m = s->model_slot->m;
    bool is_whole;
    const rn_status st = grammar_mask(&s->grammar, mask, n_words, &is_whole, err);
    if (st != RN_OK) return fail_in(err, st, "grammar");
    if (!is_whole) return RN_OK;
    for (int32_t i = 0; i < m->n_end && !s->text.ignore_eos; i++)
        if ((size_t)m->end_ids[i] < n_words * 64) token_mask_add(mask, m->end_ids[i]);
    for (size_t i = 0; i < s->text.n_stop_ids; i++) token_mask_add(mask, s->text.stop_ids[i]);
    return RN_OK;
}

rn_status stream_grammar_take(rn_stream *s, int32_t token, bool *is_over, rn_error *err) {
    bool is_allowed, is_whole;
    rn_status st = grammar_take(&s->grammar, token, &is_allowed, err);
    if (st == RN_OK && !is_allowed) st = fail(err, RN_E_INTERNAL, "token %d does not follow", token);
    if (st == RN_OK) st = grammar_state(&s->grammar, &is_whole, is_over, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "grammar");
}

void stream_grammar_keep(rn_stream *s, int32_t n) {
    const uint32_t want = s->n_grammar_given + (uint32_t)n;
    if (s->grammar.g && s->grammar.n > want) grammar_rewind(&s->grammar, s->grammar.n - want);
}
