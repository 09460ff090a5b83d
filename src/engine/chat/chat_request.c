// engine/chat/chat_request.c - the prompt of a request's conversation, joined to the session's tokens, and the answer's parser.
#include "base/mem.h"
#include "engine/engine.h"
#include <stdio.h>
#include <string.h>

static rn_status check_format(const rn_request *r, const output_format *format, rn_error *err) {
    const bool is_parsed = strcmp(output_format_name(format), "none") != 0;
    if (is_parsed && r->special)
        return fail(err, RN_E_ARG, "special: excludes output format %s, which takes control tokens out of the text",
                    output_format_name(format));
    if (is_parsed && r->overflow == RN_OVERFLOW_DROP_OLDEST)
        return fail(err, RN_E_ARG, "overflow: dropping chunks excludes output format %s, which reads all of the text",
                    output_format_name(format));
    return RN_OK;
}

// The caller's format; that of the built-in form of tools where the prompt has it; else the template's.
static rn_status find_format(const rn_request *r, const rn_template *t, bool has_own_tools, const output_format **out,
                             rn_error *err) {
    const char *const name = r->chat->output_format;
    char names[512] = "";
    *out = name ? output_format_named(name) : has_own_tools ? t->tools->format : t->format;
    if (!*out) {
        for (size_t i = 0, n = 0; i < output_n_formats() && n < sizeof names; i++)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                                  output_format_name(output_format_at(i, NULL)));
        return fail(err, RN_E_ARG, "output_format: %.64s is unknown; known ones are %s", name, names);
    }
    return check_format(r, *out, err);
}

// The longest common prefix in token ids, used if no longer match of the text is usable.
static size_t same_ids(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b) {
    size_t n = 0;
    while (n < n_a && n < n_b && a[n] == b[n]) n++;
    return n;
}

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static bool same_but_for_blanks(const char *a, size_t n_a, const char *b, size_t n_b) {
    while (n_a && is_blank(*a)) a++, n_a--;
    while (n_b && is_blank(*b)) b++, n_b--;
    while (n_a && is_blank(a[n_a - 1])) n_a--;
    while (n_b && is_blank(b[n_b - 1])) n_b--;
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

// The continued reply may be the session's own, even if the template writes other spaces around it than the model did. Then all
// of its tokens are used, except an end token.
static rn_status match_own_reply(const rn_stream *s, const struct chat_prompt *p, size_t n_ids, struct chat_match *m,
                                 rn_error *err) {
    const rn_session *const held = s->session;
    int32_t n = held->n_tokens;
    char *text;
    size_t n_text;
    while (n > held->n_reply_from && model_is_end_token(s->model_slot->m, held->tokens[n - 1])) n--;
    if (n == held->n_reply_from || m->n_held < (size_t)held->n_reply_from || m->n_held >= (size_t)n) return RN_OK;
    const rn_status st = tokenizer_decode(s->model_slot->m->tok, held->tokens + held->n_reply_from,
                                          (size_t)(n - held->n_reply_from), true, &text, &n_text, err);
    if (st != RN_OK) return st;
    if (same_but_for_blanks(text, n_text, p->text.s + p->reply_from, p->text.n - p->reply_from)) {
        m->n_held = (size_t)n, m->n_ids = n_ids;
        m->why[0] = 0;
    }
    mem_free(text);
    return RN_OK;
}

// Uses the session's tokens as far as the text is the same, then the prompt's. So a reply keeps the tokens that were sampled,
// even if its text would tokenize differently.
static rn_status join_session(rn_stream *s, const rn_chat *chat, struct chat_prompt *p, rn_error *err) {
    struct id_list *const ids = &p->ids;
    const rn_session *const held = s->session;
    struct chat_match m;
    if (!held) return RN_OK;
    chat_match(s->model_slot->m->tok, package_vocab(s->model_slot->m->pkg), held->tokens, (size_t)held->n_tokens,
               ids->ids, ids->n, &m);
    if (chat->continue_final) {
        const rn_status st = match_own_reply(s, p, ids->n, &m, err);
        if (st != RN_OK) return st;
    }
    const size_t n_rest = ids->n - m.n_ids, n_ctx = (size_t)s->model_slot->n_ctx;
    s->prefix.miss = m.why[0] ? RN_MISS_DIFFERS : RN_MISS_NONE;
    snprintf(s->prefix.miss_text, sizeof s->prefix.miss_text, "%s", m.why);
    if (m.n_held + n_rest >= n_ctx && ids->n < n_ctx) // with the reply's own tokens it does not fit
        m.n_held = m.n_ids = same_ids(held->tokens, (size_t)held->n_tokens, ids->ids, ids->n);
    s->prefix.n_matched = (int32_t)m.n_held;
    const size_t n = m.n_held + (ids->n - m.n_ids);
    int32_t *const joined = mem_alloc(n * sizeof *joined);
    if (!joined) return fail(err, RN_E_NOMEM, "prompt: out of memory for %zu tokens", n);
    memcpy(joined, held->tokens, m.n_held * sizeof *joined);
    memcpy(joined + m.n_held, ids->ids + m.n_ids, (ids->n - m.n_ids) * sizeof *joined);
    mem_free(ids->ids);
    *ids = (struct id_list){joined, n, n};
    return RN_OK;
}

rn_status chat_prompt_plan_make(const struct model_slot *l, const rn_request *r, struct chat_prompt_plan *plan,
                                rn_error *err) {
    const rn_model *const m = l->m;
    const rn_template *const t = r->chat->tmpl ? r->chat->tmpl : m->tmpl;
    const rn_status st = model_need_tokenizer(m, err);
    if (st != RN_OK) return fail_in(err, st, "chat");
    if (!t) return fail(err, m->template_error.code, "%s", m->template_error.text);
    *plan = (struct chat_prompt_plan){.chat = r->chat,
                                      .reply = r->reply,
                                      .n_reply = r->n_reply,
                                      .tmpl = t,
                                      .vocab = package_vocab(m->pkg),
                                      .tok = m->tok,
                                      .n_ctx = l->n_ctx,
                                      .max_tokens = r->max_tokens,
                                      .puts_bos = r->add_special};
    if (r->chat->n_pictures == 0) return RN_OK;
    if (!l->vision)
        return fail(err, RN_E_UNSUPPORTED, "messages: pictures: %s takes none here (rn_model_add_vision())",
                    package_path(m->pkg));
    plan->vision = l->vision;
    picture_marks_make(&m->vision.info, plan->vocab, &plan->marks);
    return RN_OK;
}

rn_status chat_prompt_open(const struct model_slot *l, const rn_request *r, struct chat_prompt *p,
                           const output_format **format, rn_error *err) {
    struct chat_prompt_plan plan;
    rn_status st = chat_prompt_plan_make(l, r, &plan, err);
    if (st != RN_OK) return st;
    st = chat_prompt_make(&plan, p, err);
    return st == RN_OK ? find_format(r, plan.tmpl, p->has_own_tools, format, err) : st;
}

// Finds the tokens of the message that the answer continues: a grammar reads them first.
static rn_status find_continued(rn_stream *s, const struct chat_prompt *p, const struct id_list *ids, rn_error *err) {
    const size_t n_text = p->text.n - p->reply_from;
    size_t n = 0, at = ids->n;
    while (n < n_text && at > 0) {
        size_t n_piece;
        const char *const piece = model_piece(s->model_slot->m, ids->ids[--at], true, &n_piece);
        const size_t n_before = p->text.n - n;
        if (n_piece > n_before || memcmp(piece, p->text.s + n_before - n_piece, n_piece) != 0) break;
        n += n_piece;
    }
    if (n < n_text && s->session && at > (size_t)s->session->n_reply_from) { // its own reply, with other blanks
        at = (size_t)s->session->n_reply_from;
        n = n_text;
    }
    if (n < n_text || at == 0 || at > INT32_MAX)
        return fail(err, RN_E_UNSUPPORTED,
                    "continue_final: with a grammar: the prompt's tokens do not spell the last message");
    s->continued_from = (int32_t)at;
    s->n_continued_skip = n - n_text;
    return RN_OK;
}

rn_status stream_make_answer(rn_stream *s, const rn_request *r, const output_format *format,
                             const struct chat_prompt *p, const struct id_list *ids, rn_error *err) {
    const rn_model *const m = s->model_slot->m;
    rn_status st = check_format(r, format, err);
    s->text.heal_most = p->text.n - p->reply_from; // what a template writes is not taken back
    if (st == RN_OK && r->grammar) {
        const char *const source = rn_template_source(r->chat->tmpl ? r->chat->tmpl : m->tmpl);
        const rn_status begins = r->grammar->model == m ? stream_grammar_in_chat(s, r->grammar, format, source,
                                                                                 p->text.s, p->reply_from, err)
                                                        : RN_OK; // which is refused where the grammar is looked at
        if (begins != RN_OK) return begins;
        if (r->chat->continue_final && (st = find_continued(s, p, ids, err)) != RN_OK) return st;
    }
    if (st != RN_OK) return st;
    // The grammar of calls goes by its own tools.
    const struct grammar_text *const calls = r->grammar ? grammar_tools(r->grammar->g) : NULL;
    return answer_create(format, m->tok, package_vocab(m->pkg), p, calls ? calls->s : r->chat->tools,
                         calls ? calls->n : r->chat->n_tools, &s->answer, err);
}

rn_status stream_make_chat_prompt(rn_stream *s, const rn_request *r, struct id_list *ids, rn_error *err) {
    struct chat_prompt p = {0};
    const output_format *format = NULL;
    rn_status st = chat_prompt_open(s->model_slot, r, &p, &format, err);
    if (st == RN_OK && s->session && p.pictures.n)
        st = fail(err, RN_E_UNSUPPORTED, "session: keeps no pictures; give the whole conversation without one");
    if (st == RN_OK) st = join_session(s, r->chat, &p, err);
    if (st == RN_OK) st = stream_make_answer(s, r, format, &p, &p.ids, err);
    if (st == RN_OK) {
        s->pictures = p.pictures;
        p.pictures = (struct prompt_pictures){0};
        *ids = p.ids;
        p.ids = (struct id_list){0};
    }
    chat_prompt_free(&p);
    return st;
}
