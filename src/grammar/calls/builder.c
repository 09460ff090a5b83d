// grammar/calls/builder.c - see builder.h: texts, tags, and the frame of an answer.
#include "grammar/calls/builder.h"
#include "grammar/calls/calls.h"
#include "grammar/regex.h"
#include "grammar/tags/free_text.h"
#include "grammar/tags/token_text.h"
#include <string.h>

void builder_init(struct builder *b, struct rules *r, const struct grammar_source *source,
                  const struct grammar_tokens *tokens) {
    *b = (struct builder){.r = r, .e = r->e, .source = source, .format = source->format, .tokens = tokens};
    b->gap = sym_term(r, expr_optional(b->e, expr_byte(b->e, '\n')));
}

sym_id build_text(struct builder *b, const char *text) {
    return text ? sym_term(b->r, token_text_expr(b->e, b->tokens, text, strlen(text))) : (sym_id)SYM_EMPTY;
}

// ---- tags ----

expr_id build_regex(struct builder *b, const char *pattern) {
    expr_id x = EXPR_NEVER;
    const rn_status st = regex_expr(b->e, pattern, strlen(pattern), REGEX_WHOLE, CODING_UTF8, &x, NULL);
    if (b->e->status == RN_OK) b->e->status = st; // no memory for the pattern's tree
    return x;
}

static expr_id hole(struct builder *b, char c, const char *name, const char *rest) {
    switch (c) {
    case 's': return expr_optional(b->e, expr_byte(b->e, '\n'));
    case 'n': return name ? expr_text(b->e, name, strlen(name)) : (expr_id)EXPR_NEVER;
    case 'i': return build_regex(b, "[0-9A-Za-z]{9}");
    case 'd': return build_regex(b, "0|[1-9][0-9]{0,2}");
    case 'w': return rest ? build_tag(b, rest, name, NULL) : (expr_id)EXPR_EMPTY;
    default: return EXPR_NEVER;
    }
}

expr_id build_tag(struct builder *b, const char *tag, const char *name, const char *rest) {
    if (!tag || !*tag) return EXPR_EMPTY;
    if (*tag == '%') return expr_cat(b->e, hole(b, tag[1], name, rest), build_tag(b, tag + 2, name, rest));
    const size_t n = tag_fixed(tag);
    return expr_cat(b->e, token_text_expr(b->e, b->tokens, tag, n), build_tag(b, tag + n, name, rest));
}

expr_id build_text_without(struct builder *b, const struct text *texts, size_t n) {
    expr_id all[FREE_TEXT_MAX_STRINGS];
    for (size_t i = 0; i < n; i++) all[i] = expr_text(b->e, texts[i].s, texts[i].n);
    return free_text_without(b->e, EXPR_NEVER, all, n, EXPR_NO_MAX);
}

// ---- frames ----

// Reasoning has neither its closing tag nor a call's.
static expr_id reasoning(struct builder *b) {
    const char *const close = b->format->reasoning[0].close;
    struct text tags[TAGS_IN_TEXT] = {{close, strlen(close)}};
    return build_text_without(b, tags, add_call_tags(b->format, tags, 1));
}

sym_id build_framed(struct builder *b, sym_id behind) {
    const struct output_format *const f = b->format;
    struct rules *const r = b->r;
    if (!output_format_frames(f)) return behind;
    sym_id thought = SYM_EMPTY;
    if (f->reasoning[0].open)
        thought = sym_repeat(r,
                             sym_seq(r,
                                     (sym_id[]){build_text(b, f->reasoning[0].open), sym_term(r, reasoning(b)),
                                                build_text(b, f->reasoning[0].close), build_text(b, f->frame.again)},
                                     4),
                             0, 1);
    return sym_seq(r, (sym_id[]){build_text(b, f->frame.start), thought, behind}, 3);
}

// Control tokens in the text.
static size_t n_controls(const struct builder *b, const char *text) {
    size_t n = 0, n_token;
    for (size_t left = strlen(text); b->tokens->match && left > 0; text++, left--)
        n += b->tokens->match(b->tokens->user, text, left, &n_token) >= 0;
    return n;
}

// The pair of tags that the vocabulary has control tokens for.
sym_id build_content(struct builder *b, sym_id said) {
    const struct output_format *const f = b->format;
    size_t best = 0, most = 0;
    if (!output_format_frames(f)) return said;
    for (size_t i = 0; i < sizeof f->frame.content / sizeof *f->frame.content && f->frame.content[i].open; i++) {
        const size_t n = n_controls(b, f->frame.content[i].open);
        if (n > most) best = i, most = n;
    }
    return sym_seq(
        b->r,
        (sym_id[]){build_text(b, f->frame.content[best].open), said, build_text(b, f->frame.content[best].close)}, 3);
}

rn_status frame_compile(struct rules *r, const struct grammar_source *source, const struct grammar_tokens *tokens,
                        uint32_t *start, rn_error *err) {
    struct builder b;
    builder_init(&b, r, source, tokens);
    const uint32_t whole = rule_new(r);
    rule_define(r, whole, build_framed(&b, build_content(&b, sym_rule(r, *start))));
    *start = whole;
    return exprs_status(r->e, err);
}
