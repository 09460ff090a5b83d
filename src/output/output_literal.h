// output/output_literal.h - parses a value as models write it (JSON, Python, unquoted keys) byte by byte, and writes it as JSON.
//
// Valid JSON is passed through unchanged, white space included. Repaired is what models write and JSON forbids: line breaks and other
// control characters inside strings, single-quoted strings, unknown escapes, None, True and False.
// Ownership: none; a literal is a small state. Threads: one at a time.
#ifndef RN_OUTPUT_OUTPUT_LITERAL_H
#define RN_OUTPUT_OUTPUT_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_MAX_DEPTH 64  // of values in values
#define OUTPUT_MAX_WORD  128 // bytes of a number, or of a key or value without quotes

struct literal_dialect {
    char sep, close;   // of the outermost object: the byte after a key, and the byte that ends the object
    bool bare_keys;    // the outermost object's keys have no quotes
    bool bare_inside;  // inner keys and strings may lack quotes
    const char *quote; // a string delimiter without escapes inside; NULL: only " and '
};
extern const struct literal_dialect LITERAL_JSON, LITERAL_PYTHON;

enum literal_result {
    LITERAL_MORE,
    LITERAL_AGAIN, // the byte ended an unquoted value and must be passed again
    LITERAL_DONE,  // the value is complete with this byte
    LITERAL_BAD,
};
enum literal_event { LITERAL_NOTHING, LITERAL_KEY, LITERAL_VALUE }; // what ended with the last byte

struct literal {
    const struct literal_dialect *d;
    uint64_t objects; // bit i: level i + 1 is an object, else a list
    uint8_t depth;
    uint8_t state;
    enum literal_event event;
    bool is_key, in_token; // the string or word being read is a key; output belongs to a string or word
    bool has_key;          // a key and its separator have been read
    bool is_open;          // the string's opening quote has been read
    char delimiter;        // the string's: " or '; 0: the dialect's
    uint8_t n_quote;       // matched bytes of the dialect's delimiter
    uint8_t n_escape;      // bytes of the current escape: \, u and up to three digits
    uint8_t n_word;
    char escape[8], word[OUTPUT_MAX_WORD];
};

#define LITERAL_MAX_OUT (OUTPUT_MAX_WORD + 64) // by one byte
struct literal_out {
    size_t n;
    char s[LITERAL_MAX_OUT];
};

void literal_begin(struct literal *l, const struct literal_dialect *d);
// As literal_begin(), after the opening `{` or its equivalent has been read; writes `{` to out.
void literal_begin_inside(struct literal *l, const struct literal_dialect *d, struct literal_out *out);
// Processes one byte. out is cleared first.
enum literal_result literal_step(struct literal *l, unsigned char c, struct literal_out *out);
// Is an object's value next? literal_skip_value() then tells the literal that the caller has read the value itself.
bool literal_wants_value(const struct literal *l);
void literal_skip_value(struct literal *l);
bool literal_is_whole_byte(const struct literal *l); // not within an escape
// At the end of the text: returns whether the value is complete, and writes what was held back to out.
bool literal_finish(struct literal *l, struct literal_out *out);
// The text is cut off here: writes what was held back to out, unchanged.
void literal_break(const struct literal *l, struct literal_out *out);

// Appends a byte of a string's text to out, escaped where JSON requires it.
void json_escape(struct literal_out *out, unsigned char c);

// Decodes a JSON string, including its quotes, byte by byte.
struct json_unescape {
    uint8_t n; // bytes of the current escape
    char escape[8];
    uint16_t high; // the first half of a surrogate pair
};
// Writes at most 8 bytes for one; an unpaired surrogate becomes U+FFFD.
size_t json_unescape(struct json_unescape *u, unsigned char c, char out[8]);

#endif
