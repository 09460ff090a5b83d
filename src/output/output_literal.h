// output/output_literal.h - reads a value as models write it (JSON, Python, keys without quotes) byte by byte, and says it as JSON.
//
// JSON comes out as it came in, but for what JSON forbids and models write: line breaks and other control characters inside strings,
// strings in single quotes, escapes that there are not, None, True and False. White space stays.
// Ownership: none; a literal is a small state. Threads: one at a time.
#ifndef RN_OUTPUT_OUTPUT_LITERAL_H
#define RN_OUTPUT_OUTPUT_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_MAX_DEPTH 64  // of values in values
#define OUTPUT_MAX_WORD  128 // bytes of a number, or of a key or value without quotes

struct literal_dialect {
    char sep, close;   // of the outermost object: behind a key, and its end
    bool bare_keys;    // there
    bool bare_inside;  // keys inside, and strings, may lack quotes
    const char *quote; // around strings, within which nothing is escaped; NULL: only " and '
};
extern const struct literal_dialect LITERAL_JSON, LITERAL_PYTHON;

enum literal_result {
    LITERAL_MORE,
    LITERAL_AGAIN, // the byte ended a value without quotes and must be given again
    LITERAL_DONE,  // with this byte
    LITERAL_BAD,
};
enum literal_event { LITERAL_NOTHING, LITERAL_KEY, LITERAL_VALUE }; // what ended with the last byte

struct literal {
    const struct literal_dialect *d;
    uint64_t objects; // bit i: level i + 1 is an object, else a list
    uint8_t depth;
    uint8_t state;
    enum literal_event event;
    bool is_key, in_token; // the string or word that is being read; what came out belongs to one
    bool has_key;          // a key and its separator were read
    bool is_open;          // of a string: its first quote was read
    char delimiter;        // of the string: " or '; 0: the dialect's
    uint8_t n_quote;       // bytes of the dialect's that matched
    uint8_t n_escape;      // of an escape: \, u and up to three digits
    uint8_t n_word;
    char escape[8], word[OUTPUT_MAX_WORD];
};

#define LITERAL_MAX_OUT (OUTPUT_MAX_WORD + 64) // by one byte
struct literal_out {
    size_t n;
    char s[LITERAL_MAX_OUT];
};

void literal_begin(struct literal *l, const struct literal_dialect *d);
// Its `{` or what stands for it was read; out gets a `{`.
void literal_begin_inside(struct literal *l, const struct literal_dialect *d, struct literal_out *out);
// out is emptied first.
enum literal_result literal_step(struct literal *l, unsigned char c, struct literal_out *out);
// Is a value of an object next? Then literal_skip_value() takes it as read, by somebody else.
bool literal_wants_value(const struct literal *l);
void literal_skip_value(struct literal *l);
bool literal_is_whole_byte(const struct literal *l); // not within an escape
// The text ended: is it a whole value? What was still held comes out.
bool literal_finish(struct literal *l, struct literal_out *out);
// The text is broken off here: out gets what is held, as it was written.
void literal_break(const struct literal *l, struct literal_out *out);

// A byte of a string's text: appends it to out, escaped where JSON demands that.
void json_escape(struct literal_out *out, unsigned char c);

// Takes a JSON string, quotes and all, byte by byte back into its text.
struct json_unescape {
    uint8_t n; // of an escape
    char escape[8];
    uint16_t high; // the first half of a surrogate pair
};
// At most 8 bytes come out of one; half a pair alone becomes U+FFFD.
size_t json_unescape(struct json_unescape *u, unsigned char c, char out[8]);

#endif
