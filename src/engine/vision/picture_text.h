// engine/vision/picture_text.h - a prompt's text with pictures in it whose family writes text around them (struct vision_marks.before): all of it
// is tokenized as one, as its processor has it. Line breaks around a picture may so join those of the text.
//
// Ownership: the caller's struct, all zero at first; picture_text_free(). Threads: one at a time.
#ifndef RN_ENGINE_VISION_PICTURE_TEXT_H
#define RN_ENGINE_VISION_PICTURE_TEXT_H

#include "engine/vision/prompt_pictures.h"
#include "text/text_buf.h"
#include "tokenizer/specials.h"

struct picture_text {
    struct text_buf text;
    struct text_range *special; // [n_special] where special tokens are understood
    uint32_t n_special, max_special;
    size_t n_places;
    size_t picture[PROMPT_MAX_PICTURES]; // of each place
};

static inline bool picture_text_is_used(const struct vision_info *v) { return v->marks && v->marks->before; }

// What does not fit is told by picture_text_tokens().
void picture_text_add(struct picture_text *t, const char *s, size_t n, bool is_special);
void picture_text_add_picture(struct picture_text *t, const struct prompt_pictures *p, size_t picture,
                              const struct vocab *v);
/**
 * The tokens of all that was added, with the rows of pictures, which get their positions.
 *
 * @param max_ids  as tokenizer_encode_marked().
 * @param to  ids are appended.
 * @return RN_E_UNSUPPORTED: the vocabulary has no special token for pictures; RN_E_LIMIT: to->n is how many there are at least; RN_E_NOMEM.
 */
rn_status picture_text_tokens(struct picture_text *t, struct prompt_pictures *p, const tokenizer *tok, size_t max_ids,
                              struct id_list *to, rn_error *err);
void picture_text_free(struct picture_text *t);

#endif
