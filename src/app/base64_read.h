// app/base64_read.h - the bytes of a base64 text (RFC 4648, section 4), and of a data: URL (RFC 2397).
//
// Threads: any.
#ifndef RN_APP_BASE64_READ_H
#define RN_APP_BASE64_READ_H

#include "app/bytes.h"

enum { BASE64_WHY = 200 };

// Adds the bytes. Line breaks are skipped, and the padding may be missing; everything else is refused, with its place. False: why has the reason
// in at most BASE64_WHY bytes, and `to` is as before.
bool base64_read(const char *text, size_t n, bytes *to, char *why);
bool is_data_url(const char *text, size_t n);
// One of a kind, "image" or "video": `data:image/...;base64,...`. What the type says beyond that is not looked at, as the bytes tell what they are.
bool data_url_read(const char *kind, const char *text, size_t n, bytes *to, char *why);

#endif
