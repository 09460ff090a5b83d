// engine/vision/picture_text.c - see picture_text.h.
#include "engine/vision/picture_text.h"
#include "base/mem.h"
#include <inttypes.h>
#include <string.h>

static bool make_room(struct picture_text *t) {
    if (mem_grow(&t->special, t->n_special, &t->max_special, 8, sizeof *t->special)) return true;
    t->text.failed = true;
    return false;
}

void picture_text_add(struct picture_text *t, const char *s, size_t n, bool is_special) {
    struct text_range *const last = t->n_special ? &t->special[t->n_special - 1] : NULL;
    if (n == 0) return;
    if (is_special && last && last->end == t->text.n)
        last->end += n;
    else if (is_special && make_room(t))
        t->special[t->n_special++] = (struct text_range){t->text.n, t->text.n + n};
    text_buf_add(&t->text, s, n);
}

static int32_t token_of(const struct prompt_pictures *p) { return vision_info(p->vision)->image_token; }

void picture_text_add_picture(struct picture_text *t, const struct prompt_pictures *p, size_t picture,
                              const struct vocab *v) {
    const struct vision_info *const info = vision_info(p->vision);
    const char *const before = picture_before(info, &p->at[picture].pixels);
    const int32_t token = token_of(p);
    picture_text_add(t, before, strlen(before), true);
    if (token >= 0 && token < v->n_tokens)
        picture_text_add(t, v->tokens[token].text.s, v->tokens[token].text.n, true);
    picture_text_add(t, info->marks->after, strlen(info->marks->after), true);
    t->picture[t->n_places++] = picture;
}

static rn_status add_picture(struct prompt_pictures *p, size_t picture, const tokenizer *tok, struct id_list *to,
                             rn_error *err) {
    struct picture_piece piece;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && prompt_pictures_piece(p, picture, i, &piece); i++) {
        st = picture_piece_add(&piece, tok, token_of(p), to, err);
        if (st == RN_OK) st = prompt_pictures_place(p, picture, (int32_t)to->n - piece.n_rows, piece.n_rows, err);
    }
    return st;
}

rn_status picture_text_tokens(struct picture_text *t, struct prompt_pictures *p, const tokenizer *tok, size_t max_ids,
                              struct id_list *to, rn_error *err) {
    const int32_t token = token_of(p);
    int32_t *ids = NULL;
    size_t n = 0, n_places = 0, place = 0;
    if (t->text.failed) return fail(err, RN_E_NOMEM, "prompt: out of memory");
    rn_status st =
        tokenizer_encode_marked(tok, t->text.s, t->text.n, t->special, t->n_special, max_ids, &ids, &n, err);
    if (st == RN_E_LIMIT) to->n += n;
    for (size_t i = 0; st == RN_OK && i < n; i++) n_places += ids[i] == token;
    if (st == RN_OK && n_places != t->n_places)
        st = fail(err, RN_E_UNSUPPORTED, "prompt: the vocabulary has no special token for pictures (%" PRId32 ")",
                  token);
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        if (ids[i] == token)
            st = add_picture(p, t->picture[place++], tok, to, err);
        else if (!id_list_add(to, ids[i]))
            st = fail(err, RN_E_NOMEM, "prompt: out of memory for %zu tokens", to->n);
    }
    mem_free(ids);
    return st;
}

void picture_text_free(struct picture_text *t) {
    text_buf_free(&t->text);
    mem_free(t->special);
    *t = (struct picture_text){0};
}
