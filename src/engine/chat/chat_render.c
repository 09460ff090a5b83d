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

// Most templates need tool-call arguments as objects. A few accept only strings; they fail with objects, with an error that
// does not help the caller. So a failed rendering is repeated with strings.
static rn_status render_calls(const struct conversation *c, const rn_template *t, struct chat_way way,
                              struct template_output *out, rn_error *err) {
    const rn_status st = render(c, t, &way, out, err);
    if (st != RN_E_ARG || c->n_arguments == 0) return st;
    way.texts_stay = true;
    return render(c, t, &way, out, NULL) == RN_OK ? RN_OK : st;
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
