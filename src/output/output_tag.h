// output/output_tag.h - matches one spelling of a tag, byte by byte.
//
// A spelling is a text with placeholders: %s optional white space; %n a name; %i an id; %k a key (up to the byte that follows the
// placeholder); %w anything up to the text that follows, which is searched for at most OUTPUT_MAX_NAME bytes.
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
    const char *p;    // rest of the spelling
    const char *then; // a second spelling that follows after optional white space; NULL: none
    const char *gap;  // the text after %w, while it is being searched; else NULL
    struct tag_span name, id, key, rest;
    bool spaces; // white space may come before p
};

enum tag_result {
    TAG_DEAD,
    TAG_MORE,
    TAG_DONE,
    TAG_DONE_BEFORE, // the spelling ends with a placeholder, and this byte is the first one after it
};

static inline bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool is_break(unsigned char c) { return c == '\n' || c == '\r'; }

// Either may be NULL or empty. False: both are, so there is nothing to match.
bool tag_begin(struct tag_match *m, const char *text, const char *then);
// c: the byte at offset `at`. The caller chooses the origin of offsets; spans use the same origin.
enum tag_result tag_step(struct tag_match *m, unsigned char c, size_t at);
// The number of bytes before the spelling's first placeholder.
size_t tag_fixed(const char *text);
bool tag_is_plain(const char *text); // see output/output_formats.h

#endif
