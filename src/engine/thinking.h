// engine/thinking.h - where an answer's reasoning begins and ends: a grammar is about what comes behind it.
//
// Reasoning stands between two tags of the output format. It may have begun in the prompt; else it may begin with the answer's first
// token. Up to two line breaks may follow it.
// Ownership: plain data; tags are the format's. Threads: one at a time.
#ifndef RN_ENGINE_THINKING_H
#define RN_ENGINE_THINKING_H

#include "output/output_parser.h"
#include <runnel/model.h>
#include <stddef.h>
#include <stdint.h>

enum thinking_phase {
    THINKING_PAST,      // the answer itself
    THINKING_MAY_BEGIN, // at the answer's beginning
    THINKING_BEGINS,    // inside the tag that opens it
    THINKING_GOES_ON,
    THINKING_ENDED // line breaks may follow
};

enum { THINKING_TAG_BYTES = 64 };
struct thinking {
    enum thinking_phase first, phase; // at the answer's beginning; now
    const char *open, *close;
    size_t n_open, n_close;
    int32_t open_id, close_id; // control tokens that are the tags; -1: the tags are text
    size_t n_matched;          // bytes of the tag that opens it
    char tail[THINKING_TAG_BYTES];
    size_t n_tail; // the last bytes of the reasoning, fewer than the tag that closes it has
    int n_breaks;
};

// prompt: n bytes, whose end may open the reasoning, or have closed it. It may begin with the answer only where the source of the
// template has one of its tags. Where the format frames answers, their grammar has the reasoning. RN_E_UNSUPPORTED: a tag is too long.
rn_status thinking_init(struct thinking *t, const output_format *format, const rn_model *m,
                        const char *template_source, const char *prompt, size_t n, rn_error *err);
void thinking_restart(struct thinking *t); // at the answer's beginning again
// Adds to a mask of what the grammar allows, or replaces it by, what the reasoning allows. scratch: as long as the mask.
void thinking_mask(const struct thinking *t, const rn_model *m, int32_t n_vocab, uint64_t *mask, uint64_t *scratch,
                   size_t n_words);
// Takes a token. True: it is the grammar's, but for its first *skip bytes.
// allowed: by the grammar.
bool thinking_take(struct thinking *t, const rn_model *m, int32_t token, bool allowed, size_t *skip);

#endif
