// output/output_live.c - finds the tags that may begin at a byte, and drops those that the next
// bytes do not match.
#include "output/output_state.h"
#include <assert.h>
#include <string.h>

static bool at_line_start(const output_parser *p) {
    return p->fresh || p->ticks == 0 || memchr(p->bytes + p->start, '\n', p->tag_at - p->start);
}

static void add_live(output_parser *p, struct live_tag t, const char *text, const char *then) {
    if (text && text[0] && text[0] != '%' && text[0] != p->bytes[p->tag_at]) return;
    assert(p->n_live < OUTPUT_MAX_LIVE);
    t.waiting = !tag_begin(&t.m, text, then);
    p->live[p->n_live++] = t;
}

static void add_blocks(output_parser *p) {
    for (int i = 0; i < FORMAT_BLOCKS && p->f->reasoning[i].open; i++) {
        const char *const open = p->f->reasoning[i].open, *const close = p->f->reasoning[i].close;
        const bool inside = p->channel == OUTPUT_REASONING && p->block == i;
        const bool plain_here = !p->in_fence && at_line_start(p);
        if (inside ? p->echo : p->channel == OUTPUT_CONTENT && (plain_here || !tag_is_plain(open)))
            add_live(p, (struct live_tag){.kind = TAG_BLOCK_OPEN, .index = i}, open, NULL);
        if (inside || !p->said) // a closing tag without an opening one: only at the very beginning
            add_live(p, (struct live_tag){.kind = TAG_BLOCK_CLOSE, .index = i}, close, NULL);
    }
}

// In reasoning and in fenced code, a call is recognized only if its tags are control tokens.
static bool form_counts(const output_parser *p, const struct call_form *f, const char *tag) {
    if (f->at_start && !(p->fresh && p->channel == OUTPUT_CONTENT)) return false;
    return !tag || !tag_is_plain(tag) || (p->channel == OUTPUT_CONTENT && !p->in_fence);
}

static void add_form(output_parser *p, const struct call_form *f) {
    const struct live_tag t = {.kind = TAG_CALL, .form = f};
    const bool named_by_itself = f->head && f->head[0] != '%'; // else any word would match
    if (f->open && form_counts(p, f, f->open)) add_live(p, t, f->open, f->head);
    if (p->items == f || (named_by_itself && form_counts(p, f, f->head)) ||
        (!f->open && !f->head && form_counts(p, f, NULL)))
        add_live(p, t, f->head, NULL);
    if (p->items != f) return;
    for (int i = 0; i < 2 && f->tails[i]; i++)
        add_live(p, (struct live_tag){.kind = TAG_TAIL, .form = f}, f->tails[i], NULL);
    if (f->close) add_live(p, (struct live_tag){.kind = TAG_CALLS_CLOSE}, f->close, NULL);
}

void live_begin(output_parser *p) {
    p->tag_at = p->pos - 1;
    p->n_live = 0;
    p->accepted.end = 0;
    add_blocks(p);
    for (int i = 0; i < FORMAT_TAGS && p->f->framing[i] && p->channel == OUTPUT_CONTENT; i++)
        if (!p->in_fence || !tag_is_plain(p->f->framing[i]))
            add_live(p, (struct live_tag){.kind = TAG_FRAMING}, p->f->framing[i], NULL);
    if (p->items) add_form(p, p->items); // before other forms with the same beginning
    for (int i = 0; i < FORMAT_FORMS && p->f->forms[i].body; i++)
        if (p->items != &p->f->forms[i]) add_form(p, &p->f->forms[i]);
}

// After a call's tag: does c, which is not white space, begin the body?
static bool body_begins(struct live_tag *t, unsigned char c) {
    switch (t->form->body) {
    case BODY_ARGUMENTS: return c == '{' || c == '"';
    case BODY_PARAMETERS: return c == (unsigned char)t->form->params[0].tag[0] || c == (unsigned char)t->form->end[0];
    case BODY_ELEMENTS: return c == (unsigned char)t->form->end[0];
    default: return c == '{';
    }
}

static enum tag_result step_one(struct live_tag *t, unsigned char c, size_t at) {
    if (!t->waiting) {
        const enum tag_result r = tag_step(&t->m, c, at);
        if (r != TAG_DONE && r != TAG_DONE_BEFORE) return r;
        if (t->kind != TAG_CALL || t->form->body == BODY_PYTHON || t->form->body == BODY_BARE) return r;
        t->waiting = true;
        if (r == TAG_DONE) return TAG_MORE;
    }
    if (is_space(c)) return TAG_MORE;
    const bool lists = t->form->body == BODY_OBJECTS || t->form->body == BODY_KEYED;
    if (lists && c == '[' && !t->in_list) return t->in_list = true, TAG_MORE;
    return body_begins(t, c) ? TAG_DONE : TAG_DEAD;
}

// A framing tag has the same text as the call's head (>>>all before what is said, >>>NAME before arguments): it is one.
static bool is_framing(const output_parser *p) {
    if (!p->accepted.end || p->accepted.tag.kind != TAG_FRAMING) return false;
    for (size_t i = p->accepted.end; i + 1 < p->pos; i++)
        if (!is_space((unsigned char)p->bytes[i])) return false;
    return true;
}

bool live_step(output_parser *p, unsigned char c, struct live_tag *call) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_live; i++) {
        struct live_tag t = p->live[i];
        const enum tag_result r = step_one(&t, c, p->pos - 1 - p->tag_at);
        if (r == TAG_MORE) p->live[n++] = t;
        if (r != TAG_DONE) continue;
        if (t.kind == TAG_CALL && is_framing(p)) continue;
        if (t.kind == TAG_CALL) return *call = t, true;
        if (p->accepted.end < p->pos) p->accepted = (struct accepted_tag){.tag = t, .end = p->pos};
    }
    p->n_live = n;
    return false;
}
