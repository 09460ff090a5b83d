// jinja/template_strings.h - operations that filters and methods of strings share.
//
// Every result keeps the origin of its bytes.
#ifndef RN_JINJA_TEMPLATE_STRINGS_H
#define RN_JINJA_TEMPLATE_STRINGS_H

#include "jinja/template_render.h"

enum recase { RECASE_UPPER, RECASE_LOWER, RECASE_FOLD, RECASE_SWAP, RECASE_CAPITALIZE, RECASE_TITLE, RECASE_WORDS };
const tval *tr_recase(struct render *r, const tval *s, enum recase how); // WORDS: Jinja's own filter `title`

enum { STRIP_LEFT = 1, STRIP_RIGHT = 2 };
const tval *tr_strip(struct render *r, const tval *s, const tval *chars, int sides); // chars: NULL: white space
const tval *tr_replace(struct render *r, const tval *s, const tval *old, const tval *new,
                       tv_int count); // below 0: all
const tval *tr_join(struct render *r, const tval *separator, const tval *items,
                    bool as_strings); // else TypeError for others
const tval *tr_pad(struct render *r, const tval *s, size_t width, const tval *fill, char align); // < > ^
const tval *tr_splitlines(struct render *r, const tval *s, bool keep_ends);
const tval *tr_reversed(struct render *r, const tval *s);

// The string with its Markup flag set as in `like`.
const tval *tr_like(struct render *r, const tval *s, const tval *like);

#endif
