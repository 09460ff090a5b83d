// engine/chat/chat_render.c - renders a conversation with its template; leaves the last message open on request.
#include "base/clock.h"
#include "engine/chat/conversation.h"
#include <string.h>

// A marker appended to the last message: what the template writes after it closes the message, and is cut off. It is a plain
// word, so that templates leave it intact. The last occurrence counts, as other messages may contain it.
static const char marker[] = "RunnelGoesOnFromHere";

static const char *find_last(const char *text, size_t n, const char *what, size_t n_what) {
    for (size_t at = n < n_what ? 0 : n - n_what + 1; at > 0; at--)
        if (memcmp(text + at - 1, what, n_what) == 0) return text + at - 1;
    return NULL;
}

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// True if text[0..n) ends with the message's text. Templates may strip leading white space or reasoning; both keep the end.
static bool ends_with(const char *text, size_t n, struct vocab_str said) {
    static const char thought_ends[] = "</think>";
    const char *const thought = find_last(said.s, said.n, thought_ends, sizeof thought_ends - 1);
    size_t from = thought ? (size_t)(thought - said.s) + sizeof thought_ends - 1 : 0;
    while (from < said.n && is_space(said.s[from])) from++;
    const size_t n_said = said.n - from;
    return n_said <= n && memcmp(text + n - n_said, said.s + from, n_said) == 0;
}

// Cuts the rendering after the last message's text.
static rn_status cut_at_marker(const struct conversation *c, struct template_output *o, rn_error *err) {
    const char *const at = find_last(o->text.s, o->text.n, marker, sizeof marker - 1);
    const int32_t last = c->n_messages - 1;
    if (!at)
        return fail(err, RN_E_UNSUPPORTED,
                    "continue_final: the chat template leaves out the text of messages[%d], so it cannot "
                    "be continued",
                    last);
    const size_t n = (size_t)(at - o->text.s);
    if (!ends_with(o->text.s, n, conversation_last_text(c)))
        return fail(err, RN_E_UNSUPPORTED,
                    "continue_final: the chat template changes the text of messages[%d], so it cannot be "
                    "continued",
                    last);
    o->text.n = n;
    while (o->n_segments > 0 && (o->n_segments > 1 ? o->segments[o->n_segments - 2].end : 0) >= n) o->n_segments--;
    if (o->n_segments > 0) o->segments[o->n_segments - 1].end = n;
    return RN_OK;
}

static rn_status render(const struct conversation *c, const rn_template *t, const struct chat_way *way,
                        struct template_output *out, rn_error *err) {
    struct arena made = {0};
    const struct template_value *variables = NULL;
    rn_status st = conversation_values(c, way, &made, &variables, err);
    if (st == RN_OK)
        st = template_render(t->compiled, &(struct template_env){.variables = variables, .now = clock_wall_s()}, out,
                             err);
    if (st == RN_OK && way->marker && (st = cut_at_marker(c, out, err)) != RN_OK) template_output_free(out);
    arena_free(&made);
    return st;
}

static size_t count_word(const struct template_output *o, const char *word) {
    size_t n = 0;
    const size_t n_word = strlen(word);
    for (size_t i = 0; i + n_word <= o->text.n; i++) n += memcmp(o->text.s + i, word, n_word) == 0;
    return n;
}

// A template that prints a content without looking at it writes the word None, as Jinja does: then the content becomes empty.
static rn_status replace_none(const struct conversation *c, const rn_template *t, struct chat_way way,
                              struct template_output *out, rn_error *err) {
    static const char none[] = "None";
    struct template_output empty = {0};
    const size_t n = count_word(out, none);
    if (n == 0 || way.content != CHAT_CONTENT_NONE || c->n_no_content == 0) return RN_OK;
    way.content = CHAT_CONTENT_EMPTY;
    const rn_status st = render(c, t, &way, &empty, err);
    if (st == RN_OK && count_word(&empty, none) < n) {
        template_output_free(out);
        *out = empty;
        return RN_OK;
    }
    template_output_free(&empty);
    return st == RN_E_NOMEM ? st : RN_OK;
}

// What clients send in one form and templates want in another, with errors that do not help the caller. A content that is not
// there: none, an empty text, or no member at all. Arguments of tool calls: an object, or a text, which a few want. The first
// form with which the template succeeds is taken; if none does, the error is that of the first.
static rn_status render_forms(const struct conversation *c, const rn_template *t, struct chat_way way,
                              struct template_output *out, rn_error *err) {
    const int n_contents = c->n_no_content ? N_CHAT_CONTENTS : 1, n_arguments = c->n_arguments ? 2 : 1;
    rn_error first = {0};
    for (int i = 0; i < n_contents * n_arguments; i++) {
        rn_error why = {0};
        way.content = (enum chat_content)(i / n_arguments);
        way.texts_stay = i % n_arguments == 1;
        rn_status st = render(c, t, &way, out, &why);
        if (st == RN_OK && (st = replace_none(c, t, way, out, &why)) != RN_OK) template_output_free(out);
        if (st == RN_OK) return RN_OK;
        if (st != RN_E_ARG) return fail(err, st, "%s", why.text);
        if (i == 0) first = why;
    }
    return fail(err, RN_E_ARG, "%s", first.text);
}

// Does the rendering have what the developer's messages say? It has if it differs from one in which they say nothing.
static rn_status has_developer(const struct conversation *c, const rn_template *t, struct chat_way way,
                               const struct template_output *out, bool *has, rn_error *err) {
    struct template_output without = {0};
    way.hides_developer = true;
    const rn_status st = render_forms(c, t, way, &without, err);
    *has = st != RN_OK || without.text.n != out->text.n ||
           (out->text.n && memcmp(without.text.s, out->text.s, out->text.n) != 0);
    template_output_free(&without);
    return st == RN_E_NOMEM ? st : RN_OK;
}

static bool is_blank_developer(const struct conversation *c) {
    for (int32_t i = 0; i < c->n_messages; i++) {
        const struct json_node *const content = json_member(c->message[i], "content");
        if (!json_is(json_member(c->message[i], "role"), "developer") || !content) continue;
        if (content->kind != JSON_STRING) return false;
        for (uint32_t k = 0; k < content->n_text; k++)
            if (!is_space(content->text[k])) return false;
    }
    return true;
}

// Templates that do not know the role developer fail or, worse, leave its messages out. Then they are system messages.
static rn_status render_calls(const struct conversation *c, const rn_template *t, struct chat_way way,
                              struct template_output *out, rn_error *err) {
    rn_error first = {0};
    if (c->n_developer == 0) return render_forms(c, t, way, out, err);
    const bool is_blank = is_blank_developer(c);
    for (int i = 0; i < N_CHAT_DEVELOPERS; i++) {
        rn_error why = {0};
        bool has = true;
        way.developer = (enum chat_developer)i;
        rn_status st = render_forms(c, t, way, out, &why);
        if (st == RN_OK && !is_blank && (st = has_developer(c, t, way, out, &has, &why)) != RN_OK)
            template_output_free(out);
        if (st == RN_OK && has) return RN_OK;
        if (st == RN_OK) {
            template_output_free(out);
            fail(&why, RN_E_UNSUPPORTED, "messages: the chat template leaves out those of the role developer");
        } else if (st != RN_E_ARG)
            return fail(err, st, "%s", why.text);
        if (i == 0 || first.code == RN_E_ARG) first = why;
    }
    return fail(err, first.code, "%s", first.text);
}

rn_status conversation_render(const struct conversation *c, const rn_template *t, int32_t cut_from, int32_t cut_to,
                              struct template_output *out, rn_error *err) {
    const struct chat_way way = {cut_from, cut_to, .marker = c->chat->continue_final ? marker : NULL};
    return render_calls(c, t, way, out, err);
}

rn_status conversation_render_open(const struct conversation *c, const rn_template *t, int32_t cut_from,
                                   int32_t cut_to, struct template_output *out, rn_error *err) {
    return render_calls(c, t, (struct chat_way){cut_from, cut_to, .asks = true}, out, err);
}
