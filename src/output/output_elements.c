// output/output_elements.c - calls whose arguments are nested elements: <city>Oslo</city>,
// <list><item>1</item></list>.
//
// The form's `end` comes before every tag, so values need no escapes. Elements named `item` make a
// list, all others an object.
#include "output/output_state.h"
#include <string.h>

void elements_begin(output_parser *p) {
    struct call_state *const c = &p->call;
    c->in_value = c->in_tag = false;
    c->n_end = 0;
    c->param = NULL;
    c->n_nodes = 1;
    c->nodes[0] = NODE_NEW;
    c->places[0] = value_arguments(p);
}

static bool open_element(output_parser *p, const char *name, size_t n) {
    struct call_state *const c = &p->call;
    uint8_t *const parent = &c->nodes[c->n_nodes - 1];
    const bool is_item = c->n_nodes > 1 && n == 4 && memcmp(name, "item", 4) == 0;
    if (c->n_nodes == OUTPUT_MAX_DEPTH || *parent == NODE_LEAF || n == 0) return false;
    if (*parent != NODE_NEW && (*parent == NODE_LIST) != is_item) return false;
    call_begin(p);
    if (*parent != NODE_NEW)
        call_bytes(p, ", ", 2);
    else
        call_bytes(p, is_item ? "[" : "{", 1);
    *parent = is_item ? NODE_LIST : NODE_OBJECT;
    if (!is_item) {
        call_bytes(p, "\"", 1);
        call_string(p, name, n);
        call_bytes(p, "\": ", 3);
    }
    c->places[c->n_nodes] = value_part(p, c->places[c->n_nodes - 1], is_item ? NULL : name, n);
    c->nodes[c->n_nodes++] = NODE_NEW;
    return true;
}

static void close_element(output_parser *p) {
    struct call_state *const c = &p->call;
    static const char *const ends[] = {[NODE_NEW] = "\"\"", [NODE_OBJECT] = "}", [NODE_LIST] = "]", [NODE_LEAF] = ""};
    const char *const end = ends[c->nodes[--c->n_nodes]];
    call_bytes(p, end, strlen(end));
}

// Processes a complete tag, given without its brackets.
static enum body_result tag_ended(output_parser *p, const char *name, size_t n) {
    struct call_state *const c = &p->call;
    if (n > 0 && name[0] == '/' && c->n_nodes == 1) {
        if (n != 7 || memcmp(name, "/invoke", 7) != 0) return BODY_FAILED;
        call_begin(p);
        call_bytes(p, c->nodes[0] == NODE_NEW ? "{}" : "}", c->nodes[0] == NODE_NEW ? 2 : 1);
        c->args_done = true;
        call_end(p, false);
        p->start = p->pos;
        return BODY_DONE;
    }
    if (n > 0 && name[0] == '/')
        close_element(p);
    else if (!open_element(p, name, n))
        return BODY_FAILED;
    p->start = p->pos;
    return BODY_MORE;
}

// Processes a byte after the mark that precedes every tag.
static enum body_result tag_byte(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    const size_t n = p->pos - c->piece_at; // including this byte
    if ((n == 1) != (byte == '<') || is_break(byte) || n > OUTPUT_MAX_NAME) return BODY_FAILED;
    if (byte != '>') return BODY_MORE;
    c->in_tag = false;
    return tag_ended(p, p->bytes + c->piece_at + 1, n - 2);
}

static void begin_tag(output_parser *p) {
    p->call.in_tag = true;
    p->call.n_end = 0;
    p->call.piece_at = p->pos;
}

enum body_result elements_step(output_parser *p, unsigned char byte) {
    struct call_state *const c = &p->call;
    const char *const mark = c->form->end;
    uint8_t *const node = &c->nodes[c->n_nodes - 1];
    if (c->in_tag) return tag_byte(p, byte);
    if (c->in_value) {
        if (!value_step(p, byte, mark)) begin_tag(p);
        return BODY_MORE;
    }
    if (byte == (unsigned char)mark[c->n_end]) {
        if (!mark[++c->n_end]) begin_tag(p);
        return BODY_MORE;
    }
    const size_t n = c->n_end; // bytes that matched the start of the mark
    if (*node != NODE_NEW || c->n_nodes == 1) return n == 0 && is_space(byte) ? BODY_MORE : BODY_FAILED;
    *node = NODE_LEAF;
    value_begin(p, p->pos - 1 - n, c->places[c->n_nodes - 1]);
    for (size_t i = 0; i < n; i++) value_step(p, (unsigned char)mark[i], mark);
    value_step(p, byte, mark);
    return BODY_MORE;
}

void elements_break(output_parser *p) {
    if (p->call.in_value) value_break(p, p->call.form->end);
}
