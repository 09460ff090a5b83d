// app/json_write.h - writes JSON piece by piece into a byte buffer, without building a tree.
//
// Commas are added automatically. Each invalid UTF-8 byte is written as U+FFFD, so that an answer never fails for its content.
// Numbers that JSON cannot represent (NaN, infinities) become null.
//
// Threads: one at a time.
#ifndef RN_APP_JSON_WRITE_H
#define RN_APP_JSON_WRITE_H

#include "app/bytes.h"
#include <stdint.h>

typedef struct json_writer {
    bytes *out;       // appended to
    bool needs_comma; // before the next value or key
} json_writer;

void json_put_begin(json_writer *w, char bracket); // '{' or '['
void json_put_end(json_writer *w, char bracket);   // '}' or ']'
void json_put_key(json_writer *w, const char *name);
void json_put_text(json_writer *w, const char *text, size_t n_text);
void json_put_string(json_writer *w, const char *text); // terminated; NULL: null
void json_put_whole(json_writer *w, int64_t v);
void json_put_real(json_writer *w, double v);                  // the fewest digits that read back as v
void json_put_float(json_writer *w, float v);                  // the fewest digits that read back as v, as a float
void json_put_rounded(json_writer *w, double v, int n_digits); // that many digits after the point
void json_put_null(json_writer *w);
void json_put_raw(json_writer *w, const char *json); // a value that is JSON already
void json_put_ids(json_writer *w, const int32_t *ids, size_t n);

// A key and its value.
void json_member_begin(json_writer *w, const char *name, char bracket);
void json_member_text(json_writer *w, const char *name, const char *text,
                      size_t n_text); // text may be NULL where n_text is 0
void json_member_bytes(json_writer *w, const char *name, const bytes *text);
void json_member_string(json_writer *w, const char *name, const char *text);
void json_member_whole(json_writer *w, const char *name, int64_t v);
void json_member_u64(json_writer *w, const char *name, uint64_t v);
void json_member_real(json_writer *w, const char *name, double v);
void json_member_rounded(json_writer *w, const char *name, double v, int n_digits);
void json_member_bool(json_writer *w, const char *name, bool v);

#endif
