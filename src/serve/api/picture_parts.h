// serve/api/picture_parts.h - pictures in a prompt that is a text: in place of marks, else before it.
//
// Threads: one at a time.
#ifndef RN_SERVE_API_PICTURE_PARTS_H
#define RN_SERVE_API_PICTURE_PARTS_H

#include "serve/api/chat_form.h"

enum { PICTURE_PARTS = 2 * SENT_PICTURES_MOST + 1 };

// Decodes the form's pictures, and makes the request's one part, a text, into these and the texts around them. A mark is <__media__> or <image>, for the
// next picture, or [img-ID]; a text without one has the pictures before it. parts: [PICTURE_PARTS], the caller's. False: r->error says why.
bool picture_parts_make(chat_form *c, api_request *r, rn_request *req, rn_part *parts);

#endif
