// output/output_tag.c - see output_tag.h.
#include "output/output_tag.h"
#include <string.h>

bool tag_begin(struct tag_match *m, const char *text, const char *then) {
    *m = (struct tag_match){.p = text ? text : "", .then = then && *then ? then : NULL};
    if (*m->p || !m->then) return *m->p != 0;
    m->p = m->then;
    m->then = NULL;
    return true;
}

size_t tag_fixed(const char *text) {
    size_t n = 0;
    while (text[n] && text[n] != '%') n++;
    return n;
}

static bool is_letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

bool tag_is_plain(const char *text) {
    const unsigned char c = (unsigned char)text[text[0] == '<'];
    return is_letter(c) || c == '/';
}

static bool is_name(unsigned char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c >= 0x80 || (c && strchr("_-.:/$@", c));
}
static bool is_id(unsigned char c) { return c > ' ' && c != 0x7f && c != '<' && c != '['; }

static bool span_add(struct tag_span *s, size_t at) {
    if (s->n == 0) s->at = at;
    return s->n++ < OUTPUT_MAX_NAME;
}

// Does c belong to the placeholder at m->p? Sets *dead if the tag can no longer match.
static bool in_hole(struct tag_match *m, unsigned char c, size_t at, bool *dead) {
    struct tag_span *span = NULL;
    switch (m->p[1]) {
    case 's': return is_space(c);
    case 'n': span = is_name(c) ? &m->name : NULL; break;
    case 'i': span = is_id(c) ? &m->id : NULL; break;
    case 'k': span = c != (unsigned char)m->p[2] && !is_break(c) ? &m->key : NULL; break;
    default: return false; // 'w' ends where the text after it begins
    }
    if (!span) return *dead = (m->p[1] == 'n' && !m->name.n) || (m->p[1] == 'k' && !m->key.n), false;
    *dead = !span_add(span, at);
    return true;
}

// Advances after the next byte of the tag's text has matched.
static enum tag_result advance(struct tag_match *m) {
    m->p++;
    if (*m->p == '%') m->gap = NULL;
    if (*m->p) return TAG_MORE;
    m->gap = NULL;
    if (!m->then) return TAG_DONE;
    m->p = m->then;
    m->then = NULL;
    m->spaces = true;
    return TAG_MORE;
}

enum tag_result tag_step(struct tag_match *m, unsigned char c, size_t at) {
    if (m->spaces && is_space(c)) return TAG_MORE;
    m->spaces = false;
    while (m->p[0] == '%') {
        bool dead = false;
        const bool inside = in_hole(m, c, at, &dead);
        if (dead) return TAG_DEAD;
        if (inside) return TAG_MORE;
        m->p += 2;
        if (m->p[-1] == 'w') m->gap = m->p, m->rest = (struct tag_span){0};
        if (!*m->p) return TAG_DONE_BEFORE;
    }
    if ((unsigned char)*m->p == c) return advance(m);
    if (!m->gap || !span_add(&m->rest, at)) return TAG_DEAD;
    m->p = m->gap;
    return (unsigned char)*m->p == c ? advance(m) : TAG_MORE; // only the first byte restarts the match
}
