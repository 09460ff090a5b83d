// output/output_calls.c - calls whose arguments are one object: within a JSON object that also has
// the name, or after the name.
#include "output/output_state.h"
#include <string.h>

static const struct {
    const char *key;
    enum member member;
} members[] = {
    {"name", MEMBER_NAME},           {"tool_name", MEMBER_NAME},       {"function", MEMBER_FUNCTION},
    {"arguments", MEMBER_ARGUMENTS}, {"parameters", MEMBER_ARGUMENTS}, {"id", MEMBER_ID},
    {"tool_call_id", MEMBER_ID},     {"type", MEMBER_OTHER},           {"index", MEMBER_OTHER},
};

static enum member member_of(const char *key, size_t n) {
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strlen(members[i].key) == n && memcmp(members[i].key, key, n) == 0) return members[i].member;
    return MEMBER_UNKNOWN;
}

// ---- arguments ----------------------------------------------------------------------------------

static enum literal_result args_step(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    enum literal_result r = LITERAL_AGAIN;
    while (r == LITERAL_AGAIN) {
        struct literal_out out;
        r = literal_step(&c->inner, byte, &out);
        if (r == LITERAL_BAD) return r;
        if (!c->dry) call_bytes(p, out.s, out.n);
    }
    // A call begins when the key of its first argument is complete, so `f(x)` in a text is not one.
    if (!c->dry && (c->inner.has_key || r == LITERAL_DONE)) call_begin(p);
    return r;
}

// Processes bytes of a JSON string that holds the arguments.
static bool args_in_string(output_parser *p, const char *s, size_t n) {
    struct call_state *const c = &p->call;
    for (size_t i = 0; i < n; i++) {
        char text[8];
        const size_t n_text = json_unescape(&c->unescape, (unsigned char)s[i], text);
        for (size_t k = 0; k < n_text; k++) {
            const unsigned char byte = (unsigned char)text[k];
            if ((c->args_done || c->inner.depth == 0) && is_space(byte)) continue;
            if (c->args_done || (c->inner.depth == 0 && byte != '{')) return false;
            const enum literal_result r = args_step(p, byte);
            if (r == LITERAL_BAD) return false;
            c->args_done = r == LITERAL_DONE;
            if (c->begun && c->args_done) p->start = p->pos; // the rest of the string is not part of the arguments
        }
    }
    return true;
}

static void begin_args(struct call_state *c, bool in_string) {
    c->in_args = !in_string;
    c->in_string = in_string;
    c->dry = c->n_name == 0;
    c->unescape = (struct json_unescape){0};
    literal_begin(&c->inner, &LITERAL_JSON);
}

// Releases the input that has been read, if it completed bytes of the arguments.
static enum body_result args_read(output_parser *p) {
    struct call_state *const c = &p->call;
    if (c->begun && !c->args_done && (!c->in_string || literal_is_whole_byte(&c->outer))) p->start = p->pos;
    return BODY_MORE;
}

static enum body_result call_done(output_parser *p) {
    call_begin(p);
    if (!p->call.args_done && !p->call.in_args) call_bytes(p, "{}", 2);
    call_end(p, false);
    p->start = p->pos;
    p->call.is_next = p->call.in_list;
    return BODY_DONE;
}

// ---- objects with name and arguments ------------------------------------------------------------

static void begin_object(output_parser *p) {
    struct call_state *const c = &p->call;
    literal_begin(&c->outer, &LITERAL_JSON);
    c->object_at = p->pos - 1;
    c->in_object = true;
    c->in_args = c->in_string = c->args_done = c->args_early = c->again = c->begun = c->id_given = false;
    c->member = MEMBER_NONE;
    c->base = 1;
    c->n_captured = c->n_name = c->n_id = c->n_out = 0;
}

static bool unquote(const char *s, size_t n, char *to, size_t *n_to) {
    struct json_unescape u = {0};
    if (n < 2 || s[0] != '"') return false;
    *n_to = 0;
    for (size_t i = 0; i < n; i++) {
        char text[8];
        const size_t n_text = json_unescape(&u, (unsigned char)s[i], text);
        if (n_text > OUTPUT_MAX_NAME - *n_to) return false;
        memcpy(to + *n_to, text, n_text);
        *n_to += n_text;
    }
    return !memchr(to, 0, *n_to);
}

static bool key_ended(struct call_state *c) {
    char key[OUTPUT_MAX_NAME];
    size_t n = 0;
    if (!unquote(c->captured, c->n_captured, key, &n)) return false;
    c->n_captured = 0;
    if (c->form->body == BODY_KEYED && !c->n_name) {
        memcpy(c->name, key, n);
        c->n_name = n;
        c->member = MEMBER_ARGUMENTS;
        return n > 0;
    }
    c->member = c->form->body == BODY_KEYED ? MEMBER_UNKNOWN : member_of(key, n);
    if (c->member == MEMBER_ARGUMENTS) return !c->args_done && !c->args_early;
    if (c->member == MEMBER_NAME) return !c->n_name || c->again;
    return c->member != MEMBER_UNKNOWN;
}

// Handles the end of a member's value. BODY_AGAIN: the arguments came before the name and are now
// read a second time.
static enum body_result member_ended(output_parser *p) {
    struct call_state *const c = &p->call;
    const enum member m = c->member;
    bool ok = true, is_name = m == MEMBER_NAME || m == MEMBER_FUNCTION;
    c->member = MEMBER_NONE;
    if (c->outer.depth < c->base) return c->base = 1, BODY_MORE; // the end of a function's object
    if (m == MEMBER_ARGUMENTS) {
        if (c->in_string)
            ok = c->args_done || c->inner.depth == 0;
        else if (!c->args_done)
            ok = c->n_captured == 4 && memcmp(c->captured, "null", 4) == 0;
        c->args_early |= c->dry && c->args_done;
        if (c->dry) c->args_done = false;
        c->in_string = c->dry = false;
    } else if (is_name && !c->n_name) {
        ok = unquote(c->captured, c->n_captured, c->name, &c->n_name) && c->n_name > 0;
    } else if (m == MEMBER_ID && !c->n_id && c->captured[0] == '"') {
        ok = unquote(c->captured, c->n_captured, c->id, &c->n_id);
    }
    c->n_captured = 0;
    if (!ok) return BODY_FAILED;
    if (!c->args_early || !c->n_name) return BODY_MORE;
    char name[OUTPUT_MAX_NAME];
    const size_t n_name = c->n_name;
    memcpy(name, c->name, n_name);
    p->pos = c->object_at + 1;
    begin_object(p);
    memcpy(c->name, name, n_name);
    c->n_name = n_name;
    c->again = true;
    literal_step(&c->outer, '{', &(struct literal_out){0});
    return BODY_AGAIN;
}

// Collects the bytes of a string or word at the depth of the call's members.
static bool capture(output_parser *p, const struct literal_out *out) {
    struct call_state *const c = &p->call;
    if (c->member == MEMBER_ARGUMENTS && !c->in_string && out->n && out->s[0] == '"') begin_args(c, true);
    if (c->in_string) return args_in_string(p, out->s, out->n);
    if (out->n > sizeof c->captured - c->n_captured) return false;
    memcpy(c->captured + c->n_captured, out->s, out->n);
    c->n_captured += out->n;
    return true;
}

static enum body_result object_step(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    enum literal_result r = LITERAL_AGAIN;
    while (r == LITERAL_AGAIN) {
        struct literal_out out;
        r = literal_step(&c->outer, byte, &out);
        if (r == LITERAL_BAD) return BODY_FAILED;
        if (c->outer.in_token && c->outer.depth == c->base && !capture(p, &out)) return BODY_FAILED;
        if (c->member == MEMBER_ARGUMENTS && c->outer.depth > c->base) return BODY_FAILED; // a list, not an object
        if (c->member == MEMBER_FUNCTION && c->outer.depth > c->base) {
            if (c->base == 2 || byte != '{') return BODY_FAILED;
            c->base = 2;
            c->member = MEMBER_NONE;
        }
        if (c->outer.event == LITERAL_KEY && c->outer.depth == c->base && !key_ended(c)) return BODY_FAILED;
        if (c->outer.event == LITERAL_VALUE && r != LITERAL_DONE && c->outer.depth <= c->base) {
            const enum body_result b = member_ended(p);
            if (b != BODY_MORE) return b;
        }
    }
    if (r != LITERAL_DONE) return args_read(p);
    if (!c->n_name) return BODY_FAILED;
    c->in_object = false;
    return call_done(p);
}

static enum body_result objects_step(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    if (!c->in_object) { // between the objects of a list
        if (is_space(byte) || byte == ',') return BODY_MORE;
        if (byte == ']') return p->start = p->pos, BODY_DONE;
        if (byte != '{') return BODY_FAILED;
        begin_object(p);
    }
    if (!c->in_args && c->member == MEMBER_ARGUMENTS && byte == '{' && literal_wants_value(&c->outer))
        begin_args(c, false);
    if (c->in_args) {
        const enum literal_result r = args_step(p, byte);
        if (r == LITERAL_BAD) return BODY_FAILED;
        if (r == LITERAL_DONE) {
            c->in_args = false;
            c->args_done = true;
            literal_skip_value(&c->outer);
            p->start = c->begun ? p->pos : p->start;
            return member_ended(p);
        }
        return args_read(p);
    }
    const enum body_result r = object_step(p, byte);
    return r == BODY_DONE && c->in_list ? BODY_MORE : r;
}

// ---- arguments after the name -------------------------------------------------------------------

static enum body_result arguments_step(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    enum literal_result r;
    if (c->in_string) {
        struct literal_out out;
        r = literal_step(&c->outer, byte, &out);
        if (r == LITERAL_BAD || !args_in_string(p, out.s, out.n)) return BODY_FAILED;
        if (r == LITERAL_DONE && !c->args_done) return BODY_FAILED;
    } else {
        r = args_step(p, byte);
        if (r == LITERAL_BAD) return BODY_FAILED;
        c->args_done = r == LITERAL_DONE;
    }
    return r == LITERAL_DONE ? call_done(p) : args_read(p);
}

void calls_begin(output_parser *p, bool in_list) {
    struct call_state *const c = &p->call;
    const enum call_body body = c->form->body;
    c->in_list = in_list;
    c->in_object = false;
    if (body == BODY_OBJECTS || body == BODY_KEYED) return begin_object(p);
    begin_args(c, body == BODY_ARGUMENTS && p->bytes[p->pos - 1] == '"');
    literal_begin(&c->outer, &LITERAL_JSON);
    if (body == BODY_ARGUMENTS) return;
    struct literal_out out;
    c->bare = (struct literal_dialect){
        .sep = ':', .close = '}', .bare_keys = true, .bare_inside = true, .quote = c->form->quote};
    literal_begin_inside(&c->inner, body == BODY_PYTHON ? &LITERAL_PYTHON : &c->bare, &out);
    call_bytes(p, out.s, out.n);
}

enum body_result calls_step(output_parser *p, unsigned char c) {
    const enum call_body body = p->call.form->body;
    return body == BODY_OBJECTS || body == BODY_KEYED ? objects_step(p, c) : arguments_step(p, c);
}

void calls_break(output_parser *p) {
    struct literal_out out;
    if (p->call.args_done) return;
    literal_break(&p->call.inner, &out);
    call_bytes(p, out.s, out.n);
}
