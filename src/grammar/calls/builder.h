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

#endif
