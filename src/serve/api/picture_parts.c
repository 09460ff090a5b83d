// serve/api/picture_parts.c - see picture_parts.h.
#include "serve/api/picture_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A mark at text[0..n): its length; 0: there is none. *id: of [img-ID], else -1.
static size_t mark_at(const char *text, size_t n, int64_t *id) {
    static const char *const plain[] = {"<__media__>", "<image>"};
    static const char begins[] = "[img-";
    size_t at = sizeof begins - 1;
    *id = -1;
    for (size_t i = 0; i < 2; i++)
        if (n >= strlen(plain[i]) && memcmp(text, plain[i], strlen(plain[i])) == 0) return strlen(plain[i]);
    if (n <= at || memcmp(text, begins, at) != 0) return 0;
    *id = 0;
    while (at < n && text[at] >= '0' && text[at] <= '9' && *id < INT32_MAX) *id = *id * 10 + (text[at++] - '0');
    return at < n && at > sizeof begins - 1 && text[at] == ']' ? at + 1 : 0;
}

// The next mark from `at` on; n: there is none.
static size_t find_mark(const char *text, size_t n, size_t at, size_t *n_mark, int64_t *id) {
    for (; at < n; at++)
        if ((text[at] == '<' || text[at] == '[') && (*n_mark = mark_at(text + at, n - at, id)) > 0) return at;
    *n_mark = 0;
    return n;
}

static size_t picture_of(const chat_form *c, int64_t id, size_t i_next) {
    size_t i = 0;
    if (id < 0) return i_next;
    while (i < c->pictures.n && c->pictures.sent[i].id != id) i++;
    return i;
}

static bool refuse(api_request *r, const chat_form *c, size_t n_marks) {
    return api_fail(&r->error, API_INVALID_VALUE, "prompt",
                    "prompt: has %zu marks of pictures, not one for each of the %zu pictures", n_marks,
                    c->pictures.n);
}

bool picture_parts_make(chat_form *c, api_request *r, rn_request *req, rn_part *parts) {
    const rn_part given = req->n_parts == 1 ? req->parts[0] : (rn_part){.kind = RN_PART_IDS};
    const char *const text = given.text;
    const size_t n = given.n_text, n_pictures = c->pictures.n;
    size_t at = 0, n_mark = 0, n_marks = 0, n_parts = 0;
    int64_t id;
    if (given.kind != RN_PART_TEXT)
        return api_fail(&r->error, API_INVALID_VALUE, "prompt", "prompt: must be a text where there are pictures");
    if (!chat_form_open_pictures(c, r)) return false;
    for (at = find_mark(text, n, 0, &n_mark, &id); at < n; at = find_mark(text, n, at + n_mark, &n_mark, &id))
        if (picture_of(c, id, n_marks++) >= n_pictures) return refuse(r, c, n_marks);
    if (n_marks && n_marks != n_pictures) return refuse(r, c, n_marks);
    for (size_t i = 0; i < n_pictures && n_marks == 0; i++)
        parts[n_parts++] = (rn_part){.kind = RN_PART_PICTURE, .picture = c->pictures.open[i]};
    for (size_t from = 0, i = 0; from <= n; i++, from = at + n_mark) {
        at = find_mark(text, n, from, &n_mark, &id);
        rn_part part = given;
        part.text = text + from, part.n_text = at - from;
        if (part.n_text) parts[n_parts++] = part;
        if (at == n) break;
        parts[n_parts++] = (rn_part){.kind = RN_PART_PICTURE, .picture = c->pictures.open[picture_of(c, id, i)]};
    }
    req->parts = parts;
    req->n_parts = n_parts;
    return true;
}
