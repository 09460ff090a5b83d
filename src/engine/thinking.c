// engine/thinking.c - see thinking.h.
#include "engine/thinking.h"
#include "engine/engine.h"
#include "engine/token_prefix.h"
#include <string.h>

enum { MOST_BREAKS = 2 };

static int32_t control_token(const rn_model *m, const char *tag, size_t n_tag) {
    const struct vocab *const v = package_vocab(m->pkg);
    for (int32_t i = 0; i < v->n_tokens; i++)
        if (v->tokens[i].kind == TOKEN_CONTROL && v->tokens[i].text.n == n_tag &&
            memcmp(v->tokens[i].text.s, tag, n_tag) == 0)
            return i;
    return -1;
}

static bool ends_with(const char *s, size_t n, const char *tag, size_t n_tag) {
    while (n > 0 && strchr(" \t\r\n", s[n - 1])) n--;
    return n >= n_tag && memcmp(s + n - n_tag, tag, n_tag) == 0;
}

rn_status thinking_init(struct thinking *t, const output_format *format, const rn_model *m,
                        const char *template_source, const char *prompt, size_t n, rn_error *err) {
    *t = (struct thinking){.phase = THINKING_PAST, .open_id = -1, .close_id = -1};
    if (output_format_frames(format)) return RN_OK; // part of the grammar
    if (!output_format_reasoning(format, &t->open, &t->close)) return RN_OK;
    t->n_open = strlen(t->open), t->n_close = strlen(t->close);
    if (t->n_open >= THINKING_TAG_BYTES || t->n_close >= THINKING_TAG_BYTES)
        return fail(err, RN_E_UNSUPPORTED, "grammar: output format %s has tags that are too long",
                    output_format_name(format));
    t->open_id = control_token(m, t->open, t->n_open);
    t->close_id = control_token(m, t->close, t->n_close);
    // Where the template knows nothing of it, the model was not trained to reason, though the format could have it.
    const bool is_known = strstr(template_source, t->open) || strstr(template_source, t->close);
    t->first = THINKING_PAST;
    if (ends_with(prompt, n, t->open, t->n_open))
        t->first = THINKING_GOES_ON;
    else if (is_known && !ends_with(prompt, n, t->close, t->n_close))
        t->first = THINKING_MAY_BEGIN;
    thinking_restart(t);
    return RN_OK;
}

void thinking_restart(struct thinking *t) {
    t->phase = t->first;
    t->n_matched = t->n_tail = 0;
    t->n_breaks = 0;
}

static bool is_breaks(const char *piece, size_t n, int most) {
    if (n == 0 || n > (size_t)most) return false;
    for (size_t i = 0; i < n; i++)
        if (piece[i] != '\n') return false;
    return true;
}

void thinking_mask(const struct thinking *t, const rn_model *m, int32_t n_vocab, uint64_t *mask, uint64_t *scratch,
                   size_t n_words) {
    size_t n;
    switch (t->phase) {
    case THINKING_PAST: break;
    case THINKING_MAY_BEGIN:
    case THINKING_BEGINS:
        memset(scratch, 0, n_words * sizeof *scratch);
        if (t->open_id < 0)
            token_prefix_mask(m, n_vocab, t->open + t->n_matched, t->n_open - t->n_matched, scratch);
        else if (t->open_id < n_vocab)
            token_mask_add(scratch, t->open_id);
        for (size_t w = 0; w < n_words; w++)
            mask[w] = t->phase == THINKING_BEGINS ? scratch[w] : mask[w] | scratch[w];
        break;
    case THINKING_GOES_ON:
        memset(mask, 0xff, n_words * sizeof *mask);
        for (int32_t i = 0; i < m->n_end; i++)
            if ((size_t)m->end_ids[i] < n_words * 64)
                mask[m->end_ids[i] / 64] &= ~(UINT64_C(1) << m->end_ids[i] % 64);
        break;
    case THINKING_ENDED:
        for (int32_t i = 0; i < n_vocab && t->n_breaks < MOST_BREAKS; i++)
            if (is_breaks(model_piece(m, i, false, &n), n, MOST_BREAKS - t->n_breaks)) token_mask_add(mask, i);
        break;
    }
}

// The bytes of the piece up to the end of the tag that closes the reasoning; SIZE_MAX: it goes on.
static size_t find_close(struct thinking *t, const char *piece, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (t->n_tail == t->n_close) memmove(t->tail, t->tail + 1, --t->n_tail);
        t->tail[t->n_tail++] = piece[i];
        if (t->n_tail == t->n_close && memcmp(t->tail, t->close, t->n_close) == 0) return i + 1;
    }
    return SIZE_MAX;
}

static bool end_thinking(struct thinking *t, const char *piece, size_t n, size_t at, size_t *skip) {
    t->phase = THINKING_ENDED;
    while (at < n && piece[at] == '\n' && t->n_breaks < MOST_BREAKS) at++, t->n_breaks++;
    *skip = at;
    if (at < n) t->phase = THINKING_PAST;
    return at < n;
}

static bool go_on(struct thinking *t, int32_t token, const char *piece, size_t n, size_t at, size_t *skip) {
    t->phase = THINKING_GOES_ON;
    if (t->close_id >= 0) return token == t->close_id && end_thinking(t, piece, n, n, skip);
    const size_t end = find_close(t, piece + at, n - at);
    return end != SIZE_MAX && end_thinking(t, piece, n, at + end, skip);
}

bool thinking_take(struct thinking *t, const rn_model *m, int32_t token, bool allowed, size_t *skip) {
    size_t n;
    const char *const piece = model_piece(m, token, false, &n);
    *skip = 0;
    if (t->phase == THINKING_GOES_ON) return go_on(t, token, piece, n, 0, skip);
    if (t->phase == THINKING_MAY_BEGIN && !allowed && token == t->open_id) {
        t->phase = THINKING_GOES_ON;
        return false;
    }
    if (t->phase == THINKING_BEGINS || (t->phase == THINKING_MAY_BEGIN && !allowed)) {
        const size_t n_left = t->n_open - t->n_matched;
        t->phase = THINKING_BEGINS;
        t->n_matched += n < n_left ? n : n_left;
        return t->n_matched == t->n_open && go_on(t, token, piece, n, n < n_left ? n : n_left, skip);
    }
    if (t->phase == THINKING_ENDED && !allowed && is_breaks(piece, n, MOST_BREAKS - t->n_breaks)) {
        t->n_breaks += (int)n;
        return false;
    }
    t->phase = THINKING_PAST;
    return true;
}
