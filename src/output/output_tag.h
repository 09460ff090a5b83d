// output/output_tag.h - matches one spelling of a tag, byte by byte.
//
// A spelling is a text with holes: %s white space, maybe none; %n a name; %i an id; %k a key (up to the byte behind the hole);
// %w anything up to the text behind it, which is not searched further than OUTPUT_MAX_NAME bytes.
// Ownership: none. Threads: one at a time.
#ifndef RN_OUTPUT_OUTPUT_TAG_H
#define RN_OUTPUT_OUTPUT_TAG_H

#include <stdbool.h>
#include <stddef.h>

#define OUTPUT_MAX_NAME 256 // bytes of a tool's name, an id, an argument's key where tags hold it

struct tag_span {
    size_t at, n;
};

struct tag_match {
    const char *p;    // what is expected next
    const char *then; // a second spelling behind this one, with white space between; NULL: none
    const char *gap;  // the text behind %w, while it is looked for; else NULL
    struct tag_span name, id, key, rest;
    bool spaces; // white space may come before p
};

enum tag_result {
    TAG_DEAD,
    TAG_MORE,
    TAG_DONE,
    TAG_DONE_BEFORE, // it ends with a hole, and this byte is not of it any more
};

static inline bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool is_break(unsigned char c) { return c == '\n' || c == '\r'; }

// Either may be NULL or empty. false: both are, so that there is nothing to match.
bool tag_begin(struct tag_match *m, const char *text, const char *then);
// c stands at offset `at`, counted from where the caller likes: the spans count from there, too.
enum tag_result tag_step(struct tag_match *m, unsigned char c, size_t at);
// How many bytes the spelling has before its first hole.
size_t tag_fixed(const char *text);
bool tag_is_plain(const char *text); // see output/output_formats.h

#endif
