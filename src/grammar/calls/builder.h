// grammar/calls/builder.h - what the files of this folder share: texts and tags of a format as symbols.
//
// Ownership: all is borrowed. Threads: one at a time.
#ifndef RN_GRAMMAR_CALLS_BUILDER_H
#define RN_GRAMMAR_CALLS_BUILDER_H

#include "grammar/grammar.h"
#include "grammar/rules.h"
#include "output/output_formats.h"
#include "output/output_tag.h"

struct builder {
    struct rules *r;
    struct exprs *e;
    const struct grammar_source *source;
    const struct output_format *format;
    const struct grammar_tokens *tokens;
    sym_id gap; // a line break, or none
};

void builder_init(struct builder *b, struct rules *r, const struct grammar_source *source,
                  const struct grammar_tokens *tokens);

sym_id build_text(struct builder *b, const char *text); // NULL: nothing
// A tag with its placeholders filled: the name as it stands in it (NULL: none); rest: what stands for %w.
expr_id build_tag(struct builder *b, const char *tag, const char *name, const char *rest);
// An answer: reasoning, which may be left out, and what comes behind it.
sym_id build_framed(struct builder *b, sym_id behind);
sym_id build_content(struct builder *b, sym_id said);

// free_of_tags.c: text in which the parser finds no tag; such text with calls in it.
sym_id build_free_text(struct builder *b);
sym_id build_text_and_calls(struct builder *b, const struct call_form *form, sym_id calls);
// Any text that has none of these.
enum { TAGS_IN_TEXT = 64 };
expr_id build_text_without(struct builder *b, const struct text *texts, size_t n);
// The tags that calls begin with, as they are read; returns how many there are in all.
size_t add_call_tags(const struct output_format *f, struct text *to, size_t n);
expr_id build_regex(struct builder *b, const char *pattern);

#endif
