// grammar/calls/free_of_tags.c - text around calls, in which the output parser finds nothing but text.
//
// A tag that is a word counts only outside of fenced code (output/output_parser.c): a call stands behind text whose fences are closed.
#include "grammar/calls/builder.h"
#include <string.h>

size_t add_call_tags(const struct output_format *f, struct text *to, size_t n) {
    for (int i = 0; i < FORMAT_FORMS && f->forms[i].body; i++) {
        const char *const begins = f->forms[i].open && !f->forms[i].at_start ? f->forms[i].open : f->forms[i].head;
        if (begins && begins[0] != '%') to[n++] = (struct text){begins, tag_fixed(begins)};
    }
    return n;
}

static size_t add_tag(const char *tag, struct text *to, size_t n) {
    if (tag && *tag && *tag != '%') to[n++] = (struct text){tag, tag_fixed(tag)};
    return n;
}

// What text does not have: whatever the parser would take for a tag.
static expr_id without_tags(struct builder *b) {
    const struct output_format *const f = b->format;
    struct text tags[TAGS_IN_TEXT];
    size_t n = add_call_tags(f, tags, 0);
    for (int i = 0; i < FORMAT_BLOCKS; i++) {
        n = add_tag(f->reasoning[i].open, tags, n);
        n = add_tag(f->reasoning[i].close, tags, n);
    }
    for (int i = 0; i < FORMAT_TAGS; i++) n = add_tag(f->framing[i], tags, n);
    for (int i = 0; i < FORMAT_FORMS && f->forms[i].body; i++) n = add_tag(f->forms[i].close, tags, n);
    expr_id x = build_text_without(b, tags, n);
    for (int i = 0; i < FORMAT_FORMS && f->forms[i].body; i++) {
        const struct call_form *const form = &f->forms[i];
        if (!form->at_start) continue; // text does not begin as its calls do
        const bool is_list = form->body == BODY_OBJECTS || form->body == BODY_KEYED;
        const expr_id begins = build_regex(b, is_list ? "[\\s]*[\\[{][^]*" : "[\\s]*\\[[^]*");
        x = expr_and2(b->e, x, expr_not(b->e, begins));
    }
    return x;
}

sym_id build_free_text(struct builder *b) { return sym_term(b->r, without_tags(b)); }

// A line that opens or closes no fence; as the last one before a call, where a later backtick would be counted with those of its
// beginning; directly behind a call.
#define REST         "[^\\n]*"
#define LINE         " *(?:[^ `\\n]" REST "|`{1,2}(?:[^`\\n]" REST ")?)?"
#define LAST_LINE    " *(?:[^ `\\n]" REST "|`{1,2}[^`\\n]" REST ")?"
#define BEHIND_CALL  " *(?:[^ `\\n]" REST ")?"
#define FENCE        " *```" REST
#define FENCED       FENCE "\\n(?:" LINE "\\n)*" FENCE
#define WHOLE_FENCES "(?:(?:" LINE "|" FENCED ")\\n)*(?:" LAST_LINE "|" FENCED ")"

static sym_id text_like(struct builder *b, expr_id free, bool is_plain, const char *plain, const char *pattern) {
    return sym_term(b->r, expr_and2(b->e, free, build_regex(b, is_plain ? plain : pattern)));
}

static bool begins_plainly(const struct output_format *f) {
    struct text tags[TAGS_IN_TEXT];
    const size_t n = add_call_tags(f, tags, 0);
    bool is_plain = false;
    for (size_t i = 0; i < n; i++) is_plain |= tag_is_plain(tags[i].s);
    return is_plain;
}

sym_id build_text_and_calls(struct builder *b, const struct call_form *form, sym_id calls) {
    struct rules *const r = b->r;
    const expr_id free = without_tags(b);
    const bool is_plain = begins_plainly(b->format);
    if (form->at_start) return sym_alt(r, (sym_id[]){sym_term(r, free), calls}, 2);
    const sym_id first = text_like(b, free, is_plain, WHOLE_FENCES, "[^]*"),
                 next = text_like(b, free, is_plain, BEHIND_CALL "(?:\\n" WHOLE_FENCES ")?", "[^]*"),
                 last = text_like(b, free, is_plain, BEHIND_CALL "(?:\\n[^]*)?", "[^]*");
    const sym_id more = b->source->is_single || form->writes.many == MANY_NEVER
                            ? (sym_id)SYM_EMPTY
                            : sym_repeat(r, sym_seq(r, (sym_id[]){next, calls}, 2), 0, EXPR_NO_MAX);
    return sym_alt(r, (sym_id[]){sym_term(r, free), sym_seq(r, (sym_id[]){first, calls, more, last}, 4)}, 2);
}
