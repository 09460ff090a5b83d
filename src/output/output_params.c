// output/output_params.c - calls whose arguments are each between tags; writes the corresponding
// JSON object.
//
// A value that parses as a number, list, object or constant (including None, True and False) is
// one, unless its argument is declared to be a string and not that; any other value is a string. A
// value that may still be one of the former is held back; a string is emitted as it arrives.
#include "output/output_state.h"
#include <string.h>

// ---- values -------------------------------------------------------------------------------------

struct output_place value_arguments(const output_parser *p) {
    const struct output_place unknown = {0};
    return p->tools.arguments ? p->tools.arguments(p->tools.user, p->call.name, p->call.n_name) : unknown;
}

struct output_place value_part(const output_parser *p, struct output_place of, const char *name, size_t n) {
    return of.at ? p->tools.part(of, name, n) : of;
}

void value_begin(output_parser *p, size_t at, struct output_place place) {
    struct call_state *const c = &p->call;
    c->in_value = true;
    c->types = place.at ? p->tools.types(place) : OUTPUT_ANY;
    c->value = VALUE_NONE;
    c->value_at = at;
    c->n_value = c->n_end = 0;
    c->break_held = c->first_skipped = false;
}

// Turns a value that was held back into a string.
void value_is_string(output_parser *p) {
    struct call_state *const c = &p->call;
    if (c->value == VALUE_STRING) return;
    c->value = VALUE_STRING;
    call_bytes(p, "\"", 1);
    call_string(p, p->bytes + c->value_at, c->n_value);
}

// By the first byte. What may be a string is a value of another type only if it may be of that one, too.
static enum value_kind kind_of(const struct call_state *c, unsigned char first) {
    static const struct {
        const char *first;
        unsigned type;
    } types[] = {{"{", OUTPUT_OBJECT},
                 {"[", OUTPUT_LIST},
                 {"-0123456789", OUTPUT_NUMBER},
                 {"tTfF", OUTPUT_BOOLEAN},
                 {"nN", OUTPUT_NULL}};
    if (!first || (c->param && c->param->is_string)) return VALUE_STRING;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strchr(types[i].first, first))
            return c->types & types[i].type || !(c->types & OUTPUT_STRING) ? VALUE_MAYBE : VALUE_STRING;
    return VALUE_STRING;
}

// Processes a byte of a value, which is not part of a tag or of a line break next to one.
static void value_byte(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    if (c->value == VALUE_NONE && kind_of(c, byte) == VALUE_MAYBE) {
        literal_begin(&c->check, &LITERAL_JSON);
        c->value = VALUE_MAYBE;
    }
    if (c->value != VALUE_MAYBE) {
        value_is_string(p);
        call_string(p, (const char *)&byte, 1);
        return;
    }
    enum literal_result r = LITERAL_AGAIN;
    struct literal_out unused;
    while (r == LITERAL_AGAIN) r = literal_step(&c->check, byte, &unused);
    c->n_value++;
    if (r == LITERAL_BAD) value_is_string(p);
}

static void value_text(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    const bool first = c->value == VALUE_NONE && !c->break_held && !c->first_skipped;
    if (c->form->wraps && byte == '\n') {
        if (first) {
            c->first_skipped = true;
            c->value_at++;
            return;
        }
        if (c->break_held) value_byte(p, '\n');
        c->break_held = true;
        return;
    }
    if (c->break_held) value_byte(p, '\n');
    c->break_held = false;
    value_byte(p, byte);
}

static void value_ended(output_parser *p) {
    struct call_state *const c = &p->call;
    struct literal_out out;
    c->in_value = false;
    if (c->value != VALUE_MAYBE || !literal_finish(&c->check, &out)) {
        value_is_string(p);
        call_bytes(p, "\"", 1);
        return;
    }
    literal_begin(&c->check, &LITERAL_JSON);
    for (size_t i = 0; i < c->n_value; i++)
        for (enum literal_result r = LITERAL_AGAIN; r == LITERAL_AGAIN;) {
            r = literal_step(&c->check, (unsigned char)p->bytes[c->value_at + i], &out);
            call_bytes(p, out.s, out.n);
        }
    literal_finish(&c->check, &out);
    call_bytes(p, out.s, out.n);
}

// Returns the length of the longest prefix of `end` that is a suffix of end[0..n) followed by c.
static size_t end_matched(const char *end, size_t n, unsigned char c) {
    for (size_t k = n + 1; k > 0; k--)
        if ((unsigned char)end[k - 1] == c && memcmp(end, end + n + 1 - k, k - 1) == 0) return k;
    return 0;
}

bool value_step(output_parser *p, unsigned char byte, const char *end) {
    struct call_state *const c = &p->call;
    const size_t n = c->n_end;
    c->n_end = end_matched(end, n, byte);
    if (!end[c->n_end]) {
        value_ended(p);
        p->start = p->pos;
        return false;
    }
    for (size_t i = 0; i < n + 1 - c->n_end; i++) value_text(p, i < n ? (unsigned char)end[i] : byte);
    if (c->value == VALUE_STRING) p->start = p->pos - c->n_end - c->break_held;
    return true;
}

void value_break(output_parser *p, const char *end) {
    struct call_state *const c = &p->call;
    value_is_string(p);
    if (c->break_held) call_string(p, "\n", 1);
    call_string(p, end, c->n_end);
    p->start = p->pos;
}

// ---- parameters ---------------------------------------------------------------------------------

void params_begin(output_parser *p) {
    struct call_state *const c = &p->call;
    c->in_value = c->in_piece = false;
    c->n_params = 0;
    call_bytes(p, "{", 1);
}

static void begin_piece(output_parser *p) {
    const struct call_form *const f = p->call.form;
    p->call.in_piece = true;
    p->call.piece_at = p->pos - 1;
    p->n_live = 0;
    p->call.piece.end = 0;
    for (int i = 0; i < 3; i++) {
        const char *const text = i == 2 ? f->end : f->params[i].tag;
        struct live_tag *const t = &p->live[p->n_live];
        *t = (struct live_tag){.kind = i == 2 ? TAG_END : TAG_PARAM, .index = i};
        p->n_live += tag_begin(&t->m, text, NULL);
    }
}

static void step_piece(output_parser *p, unsigned char byte) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_live; i++) {
        struct live_tag t = p->live[i];
        const enum tag_result r = tag_step(&t.m, byte, p->pos - 1 - p->call.piece_at);
        if (r == TAG_MORE) p->live[n++] = t;
        if (r == TAG_DONE && p->call.piece.end < p->pos)
            p->call.piece = (struct accepted_tag){.tag = t, .end = p->pos};
    }
    p->n_live = n;
}

static enum body_result piece_ended(output_parser *p) {
    struct call_state *const c = &p->call;
    if (!c->piece.end) return BODY_FAILED;
    const struct live_tag *const t = &c->piece.tag;
    p->pos = c->piece.end; // bytes after it may have been tried for a longer tag
    c->in_piece = false;
    call_begin(p);
    if (t->kind == TAG_END) {
        call_bytes(p, "}", 1);
        c->args_done = true;
        call_end(p, false);
        p->start = p->pos;
        return BODY_DONE;
    }
    if (c->n_params++) call_bytes(p, ", ", 2);
    call_bytes(p, "\"", 1);
    call_string(p, p->bytes + c->piece_at + t->m.key.at, t->m.key.n);
    call_bytes(p, "\": ", 3);
    c->param = &c->form->params[t->index];
    // Where a tag is for strings, the other one is not.
    const bool is_told = c->form->params[0].is_string;
    const struct output_place none = {0}, all = is_told ? none : value_arguments(p);
    value_begin(p, p->pos, value_part(p, all, p->bytes + c->piece_at + t->m.key.at, t->m.key.n));
    p->start = p->pos;
    return BODY_AGAIN;
}

enum body_result params_step(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    if (c->in_value) return value_step(p, byte, c->param->end), BODY_MORE;
    if (!c->in_piece && is_space(byte)) return BODY_MORE;
    if (!c->in_piece) begin_piece(p);
    step_piece(p, byte);
    return p->n_live ? BODY_MORE : piece_ended(p);
}

bool params_settle(output_parser *p) {
    const struct call_state *const c = &p->call;
    return c->in_piece && c->piece.end && c->piece.tag.kind == TAG_PARAM && piece_ended(p) == BODY_AGAIN;
}

void params_break(output_parser *p) {
    if (p->call.in_value) value_break(p, p->call.param->end);
}
