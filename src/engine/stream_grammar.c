// engine/stream_grammar.c - the form of a stream's answer: what may follow, and where it ends.
#include "base/mem.h"
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

static rn_status begin_grammar(rn_stream *s, grammar *g, rn_error *err) {
    const rn_status st = grammar_cursor_init(&s->grammar, g, err);
    if (st == RN_OK) grammar_ref(g);
    return st;
}

// What the prompt has of the answer's frame: the end of its text.
static rn_status give_prompt(rn_stream *s, const char *text, size_t n, rn_error *err) {
    enum { MOST = 2048 };
    const tokenizer *const tok = s->model_slot->m->tok;
    const size_t skip = n > MOST ? n - MOST : 0;
    int32_t *ids = NULL;
    size_t n_ids = 0, from = skip;
    while (from < n && ((unsigned char)text[from] & 0xc0) == 0x80) from++; // not within a character
    rn_status st = tokenizer_encode(tok, text + from, n - from, false, true, &ids, &n_ids, NULL, err);
    if (st == RN_OK) st = grammar_cursor_give(&s->grammar, ids, n_ids, err);
    mem_free(ids);
    return st;
}

rn_status stream_grammar_in_chat(rn_stream *s, const rn_grammar *of, const output_format *format, const char *source,
                                 const char *prompt, size_t n, rn_error *err) {
    grammar *g;
    s->grammar_is_moot = of->is_optional && !output_format_has_calls(format);
    if (s->grammar_is_moot) return RN_OK;
    rn_status st = thinking_init(&s->thinking, format, s->model_slot->m, source, prompt, n, err);
    if (st == RN_OK) st = grammar_of_answer(of, format, source, &g, err);
    if (st == RN_OK) st = begin_grammar(s, g, err);
    s->grammar_frames = output_format_frames(format);
    if (st == RN_OK && s->grammar_frames) st = give_prompt(s, prompt, n, err);
    return st == RN_OK ? st : fail_in(err, st, "grammar");
}

rn_status stream_grammar_create(rn_stream *s, const rn_request *r, rn_error *err) {
    bool is_whole;
    if (!r->grammar || s->grammar_is_moot) return RN_OK;
    if (r->grammar->model != s->model_slot->m) return fail(err, RN_E_ARG, "grammar: belongs to another model");
    rn_status st = s->grammar.g ? RN_OK : begin_grammar(s, r->grammar->g, err);
    if (st != RN_OK) return st;
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

bool stream_grammar_knows(const rn_stream *s, int32_t token) {
    for (size_t i = 0; i < s->text.n_stop_ids; i++)
        if (s->text.stop_ids[i] == token) return false;
    return (s->thinking.phase == THINKING_PAST || s->thinking.phase == THINKING_GOES_ON) &&
           !model_is_end_token(s->model_slot->m, token);
}

rn_status stream_grammar_allows(rn_stream *s, int32_t token, bool *is_allowed, rn_error *err) {
    *is_allowed = s->thinking.phase == THINKING_GOES_ON;
    if (*is_allowed) return RN_OK;
    const rn_status st = grammar_allows(&s->grammar, token, is_allowed, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "grammar");
}

bool stream_grammar_goes_on(rn_stream *s, int32_t end_token) {
    bool is_tag = false;
    return s->grammar_frames && grammar_allows(&s->grammar, end_token, &is_tag, NULL) == RN_OK && is_tag;
}

rn_status stream_grammar_is_over(rn_stream *s, bool *is_over, rn_error *err) {
    bool is_whole;
    const rn_status st = grammar_state(&s->grammar, &is_whole, is_over, err);
    *is_over &= s->thinking.phase == THINKING_PAST;
    return st == RN_OK ? RN_OK : fail_in(err, st, "grammar");
}

rn_status stream_grammar_take(rn_stream *s, int32_t token, bool *is_over, rn_error *err) {
    bool is_allowed;
    rn_status st = take(s, token, &is_allowed, err);
    if (st == RN_OK && !is_allowed) st = fail(err, RN_E_INTERNAL, "token %d does not follow", token);
    return st == RN_OK ? stream_grammar_is_over(s, is_over, err) : fail_in(err, st, "grammar");
}

// What was taken once is taken again without an error.
void stream_grammar_keep(rn_stream *s, const int32_t *answer, int32_t n) {
    const int32_t n_taken = (int32_t)s->grammar.n + s->n_thought, n_all = s->n_grammar_given + n;
    if (!s->grammar.g || n_taken <= n_all) return;
    if (n_all >= s->n_thought) {
        grammar_rewind(&s->grammar, (uint32_t)(n_taken - n_all));
        if (s->n_thought == 0 || n_all > s->n_thought) return;
    }
    // Into the reasoning, or to its end: read again from the answer's beginning.
    const int32_t *const given = s->tokens + s->n_prompt - s->n_grammar_given;
    grammar_rewind(&s->grammar, s->grammar.n);
    s->grammar.skip = s->n_grammar_skip;
    s->n_thought = 0;
    thinking_restart(&s->thinking);
    for (int32_t i = 0; i < n_all; i++) {
        bool is_allowed;
        (void)take(s, i < s->n_grammar_given ? given[i] : answer[i - s->n_grammar_given], &is_allowed, NULL);
    }
}
