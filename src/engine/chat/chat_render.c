// engine/chat/chat_render.c - renders a conversation with its template; leaves the last message open on request.
#include "base/clock.h"
#include "engine/chat/conversation.h"
#include <stdatomic.h>
#include <stdio.h>
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

static bool differs(const struct template_output *a, const struct template_output *b) {
    return a->text.n != b->text.n || (a->text.n && memcmp(a->text.s, b->text.s, a->text.n) != 0);
}

// Does the rendering have what the developer's messages say? It has if it differs from one in which they say nothing.
static rn_status has_developer(const struct conversation *c, const rn_template *t, struct chat_way way,
                               const struct template_output *out, bool *has, rn_error *err) {
    struct template_output without = {0};
    way.hides_developer = true;
    const rn_status st = render_forms(c, t, way, &without, err);
    *has = st != RN_OK || differs(&without, out);
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
static rn_status render_developer(const struct conversation *c, const rn_template *t, struct chat_way way,
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

// What is known of a template's tools depends on little else than whether there is a system message, and whether a user is answered.
// Variables may change it, too: then nothing is remembered.
static _Atomic(unsigned char) *remembered(const struct conversation *c, const rn_template *t) {
    const bool is_asked = json_is(json_member(c->message[c->n_messages - 1], "role"), "user");
    return c->chat->variables ? NULL : &t->tools->found[c->head > 0][is_asked];
}

// Does the rendering have the tools? The built-in form has a sentence of its own; else it differs from a rendering without tools.
static rn_status has_tools(const struct conversation *c, const rn_template *t, struct chat_way way,
                           const struct template_output *out, bool *has, rn_error *err) {
    struct template_output without = {0};
    if (way.tools != CHAT_TOOLS_GIVEN) {
        *has = count_word(out, chat_tools_sentence) > 0;
        return RN_OK;
    }
    way.hides_tools = true;
    const rn_status st = render_developer(c, t, way, &without, err);
    *has = st != RN_OK || differs(&without, out);
    template_output_free(&without);
    return st == RN_E_NOMEM ? st : RN_OK;
}

// Renders in one form of tools. *has: it shows them. RN_OK without *has leaves *out empty.
static rn_status try_tools(const struct conversation *c, const rn_template *t, const struct chat_way *way,
                           struct template_output *out, bool *has, rn_error *err) {
    rn_status st = render_developer(c, t, *way, out, err);
    if (st == RN_OK && (st = has_tools(c, t, *way, out, has, err)) != RN_OK) *has = false;
    if (!*has) template_output_free(out);
    return st;
}

// Templates that do not know tools leave them out in silence. Then they get the built-in form. A template that knows them and fails
// keeps the last word: another form would hide what is wrong with the conversation.
static rn_status render_tools(const struct conversation *c, const rn_template *t, struct chat_way *way,
                              struct template_output *out, rn_error *err) {
    rn_error last = {0};
    if (!c->chat->tools || c->tools.nodes[0].n_items == 0) return render_developer(c, t, *way, out, err);
    _Atomic(unsigned char) *const known = remembered(c, t);
    const int found = known ? atomic_load_explicit(known, memory_order_relaxed) : 0;
    way->tools = found ? (enum chat_tools)(found - 1) : CHAT_TOOLS_GIVEN;
    if (found) return render_developer(c, t, *way, out, err);
    for (int i = t->tools->are_known ? CHAT_TOOLS_GIVEN : CHAT_TOOLS_SYSTEM; i < N_CHAT_TOOLS; i++) {
        rn_error why = {0};
        bool has = false;
        way->tools = (enum chat_tools)i;
        const rn_status st = try_tools(c, t, way, out, &has, &why);
        if (st == RN_OK && has && known) atomic_store_explicit(known, (unsigned char)(i + 1), memory_order_relaxed);
        if (st == RN_OK && has) return RN_OK;
        if (st != RN_OK && ((st != RN_E_ARG && st != RN_E_UNSUPPORTED) || i == CHAT_TOOLS_GIVEN))
            return fail(err, st, "%s", why.text);
        last = why;
    }
    if (last.code != RN_OK)
        return fail(err, last.code, "tools: the chat template has none, and fails with a description of them: %s",
                    last.text);
    return fail(err, RN_E_UNSUPPORTED, "tools: the chat template leaves them out, and a description of them, too");
}

// Does the template write a content? Some of models that see write only contents in parts.
static bool writes_content(const struct conversation *c, const rn_template *t, const char *content) {
    char messages[128];
    struct conversation probe = {0};
    struct template_output o = {0};
    const int n = snprintf(messages, sizeof messages, "[{\"role\":\"user\",\"content\":%s}]", content);
    const rn_chat chat = {.messages = messages, .n_messages = (size_t)n, .add_generation_prompt = true};
    bool has = conversation_read(&chat, c->vocab, &probe, NULL) == RN_OK &&
               render(&probe, t, &(struct chat_way){0}, &o, NULL) == RN_OK && count_word(&o, marker) > 0;
    template_output_free(&o);
    conversation_free(&probe);
    return has;
}

static bool wants_parts(const struct conversation *c, const rn_template *t) {
    _Atomic(unsigned char) *const known = &t->tools->wants_parts;
    int is_known = atomic_load_explicit(known, memory_order_relaxed);
    if (is_known == 0) {
        const bool may = strstr(rn_template_source(t), "type") != NULL;
        is_known = 1 + (may && !writes_content(c, t, "\"RunnelGoesOnFromHere\"") &&
                        writes_content(c, t, "[{\"type\":\"text\",\"text\":\"RunnelGoesOnFromHere\"}]"));
        atomic_store_explicit(known, (unsigned char)is_known, memory_order_relaxed);
    }
    return is_known == 2;
}

// The first form of pictures of which the template writes as many as there are.
static rn_status render_pictures(const struct conversation *c, const rn_template *t, struct chat_way *way,
                                 struct template_output *out, rn_error *err) {
    const int32_t end = c->n_messages - (way->asks ? 1 : 0);
    const size_t n = conversation_n_pictures(c, 0, way->cut_from) + conversation_n_pictures(c, way->cut_to, end);
    struct chat_place *const places = NULL; // only their number is asked for
    bool are_tokens;
    rn_error first = {0};
    way->texts_are_parts = wants_parts(c, t);
    if (c->chat->n_pictures == 0) return render_tools(c, t, way, out, err);
    for (int i = 0; i < N_CHAT_PICTURES; i++) {
        rn_error why = {0};
        way->pictures = (enum chat_pictures)i;
        const rn_status st = render_tools(c, t, way, out, &why);
        if (st == RN_OK && chat_find_places(c->marks, out, n, places, &are_tokens)) return RN_OK;
        if (st == RN_OK) {
            template_output_free(out);
            fail(&why, RN_E_UNSUPPORTED, "messages: the chat template leaves pictures out");
        } else if (st != RN_E_ARG && st != RN_E_UNSUPPORTED)
            return fail(err, st, "%s", why.text);
        if (i == 0 || first.code == RN_E_UNSUPPORTED) first = why;
    }
    return fail(err, first.code, "%s", first.text);
}

rn_status conversation_render(const struct conversation *c, const rn_template *t, int32_t cut_from, int32_t cut_to,
                              struct template_output *out, enum chat_tools *tools, rn_error *err) {
    struct chat_way way = {cut_from, cut_to, .marker = c->chat->continue_final ? marker : NULL};
    const rn_status st = render_pictures(c, t, &way, out, err);
    if (tools) *tools = way.tools;
    return st;
}

rn_status conversation_render_open(const struct conversation *c, const rn_template *t, int32_t cut_from,
                                   int32_t cut_to, struct template_output *out, rn_error *err) {
    struct chat_way way = {cut_from, cut_to, .asks = true};
    return render_pictures(c, t, &way, out, err);
}
