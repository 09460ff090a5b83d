// engine/chat/chat_picture_tokens.c - the token ids of a rendering with pictures: each place becomes the rows of its picture.
#include "base/mem.h"
#include "engine/chat/conversation.h"
#include "engine/vision/picture_text.h"
#include <string.h>

struct making {
    const struct chat_prompt_plan *plan;
    const struct template_output *o;
    const struct text_range *markup;
    size_t n_markup, max_ids;
    struct chat_kept_pictures kept;
    const struct chat_place *at; // [kept.n]
    bool are_tokens;             // the places
    struct prompt_pictures *pictures;
    struct id_list *ids; // made
};

static rn_status add_ids(struct making *m, const int32_t *ids, size_t n, rn_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!id_list_add(m->ids, ids[i]))
            return fail(err, RN_E_NOMEM, "prompt: out of memory for %zu tokens", m->ids->n);
    return RN_OK;
}

static rn_status add_piece_of(struct making *m, size_t picture, const struct picture_piece *piece, rn_error *err) {
    const rn_status st = picture_piece_add(piece, m->plan->tok, m->plan->marks.row_token, m->ids, err);
    if (st != RN_OK || piece->n_rows == 0) return st;
    return prompt_pictures_place(m->pictures, picture, (int32_t)m->ids->n - piece->n_rows, piece->n_rows, err);
}

static bool is_video(const struct making *m, size_t place) {
    return m->pictures->at[chat_kept_picture(m->kept, place)].pixels.seconds != NULL;
}

static rn_status add_picture(struct making *m, size_t place, rn_error *err) {
    const struct picture_marks *const marks = &m->plan->marks;
    const size_t picture = chat_kept_picture(m->kept, place);
    struct picture_piece piece;
    rn_status st = add_ids(m, marks->before, marks->n_before, err);
    for (size_t i = 0; st == RN_OK && prompt_pictures_piece(m->pictures, picture, i, &piece); i++)
        st = add_piece_of(m, picture, &piece, err);
    return st == RN_OK ? add_ids(m, marks->after, marks->n_after, err) : st;
}

static rn_status encode(const struct making *m, const char *text, size_t n, const struct text_range *markup,
                        size_t n_markup, int32_t **ids, size_t *n_ids, rn_error *err) {
    return tokenizer_encode_marked(m->plan->tok, n ? text : "", n, markup, n_markup, m->max_ids, ids, n_ids, err);
}

static bool is_place(const struct picture_marks *m, int32_t id) {
    return id == m->token || (id == m->video_token && id >= 0);
}

// As transformers: the places are tokens among others, in a text that is tokenized as a whole. *done: false: they are not all tokens, or a
// content spells one.
static rn_status make_whole(struct making *m, bool *done, rn_error *err) {
    const struct picture_marks *const marks = &m->plan->marks;
    int32_t *ids = NULL;
    size_t n = 0, n_places = 0;
    *done = false;
    if (!m->are_tokens) return RN_OK;
    rn_status st = encode(m, m->o->text.s, m->o->text.n, m->markup, m->n_markup, &ids, &n, err);
    for (size_t i = 0; st == RN_OK && i < n; i++) n_places += is_place(marks, ids[i]);
    *done = st != RN_OK || n_places == m->kept.n;
    for (size_t i = 0, place = 0; st == RN_OK && *done && i < n; i++)
        st = is_place(marks, ids[i]) ? add_picture(m, place++, err) : add_ids(m, ids + i, 1, err);
    if (st == RN_E_LIMIT) m->ids->n = n; // at least so many
    mem_free(ids);
    return st;
}

// A piece of the rendering, range by range.
static void add_marked(const struct making *m, size_t from, size_t to, struct picture_text *t) {
    const char *const s = m->o->text.s;
    for (size_t i = 0; i <= m->n_markup && from < to; i++) {
        const struct text_range r = i < m->n_markup ? m->markup[i] : (struct text_range){to, to};
        const size_t begin = r.begin < from ? from
                             : r.begin > to ? to
                                            : r.begin,
                     end = r.end < begin ? begin
                           : r.end > to  ? to
                                         : r.end;
        picture_text_add(t, s + from, begin - from, false);
        picture_text_add(t, s + begin, end - begin, true);
        from = end;
    }
}

// With what the family writes around pictures.
static rn_status make_joined(struct making *m, rn_error *err) {
    struct picture_text t = {0};
    size_t from = 0;
    for (size_t i = 0; i < m->kept.n; from = m->at[i].at + m->at[i].n, i++) {
        add_marked(m, from, m->at[i].at, &t);
        picture_text_add_picture(&t, m->pictures, chat_kept_picture(m->kept, i), m->plan->vocab);
    }
    add_marked(m, from, m->o->text.n, &t);
    const rn_status st = picture_text_tokens(&t, m->pictures, m->plan->tok, m->max_ids, m->ids, err);
    picture_text_free(&t);
    return st;
}

// The text between two places.
static rn_status add_piece(struct making *m, size_t from, size_t to, rn_error *err) {
    struct text_range *const markup = mem_calloc(m->n_markup + 1, sizeof *markup);
    int32_t *ids = NULL;
    size_t n_markup = 0, n = 0;
    if (!markup) return fail(err, RN_E_NOMEM, "prompt: out of memory for %zu segments", m->n_markup);
    for (size_t i = 0; i < m->n_markup; i++) {
        struct text_range r = m->markup[i];
        if (r.begin < from) r.begin = from;
        if (r.end > to) r.end = to;
        if (r.begin < r.end) markup[n_markup++] = (struct text_range){r.begin - from, r.end - from};
    }
    rn_status st = from < to ? encode(m, m->o->text.s + from, to - from, markup, n_markup, &ids, &n, err) : RN_OK;
    if (st == RN_OK) st = add_ids(m, ids, n, err);
    if (st == RN_E_LIMIT) m->ids->n += n;
    mem_free(ids);
    mem_free(markup);
    return st;
}

static rn_status make_cut(struct making *m, rn_error *err) {
    size_t from = 0;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < m->kept.n; from = m->at[i].at + m->at[i].n, i++) {
        st = add_piece(m, from, m->at[i].at, err);
        if (st == RN_OK) st = add_picture(m, i, err);
    }
    return st == RN_OK ? add_piece(m, from, m->o->text.n, err) : st;
}

rn_status chat_tokens_with_pictures(const struct chat_prompt_plan *plan, const struct template_output *o,
                                    const struct text_range *markup, size_t n_markup, size_t max_ids,
                                    struct chat_kept_pictures kept, struct prompt_pictures *pictures,
                                    struct id_list *ids, rn_error *err) {
    struct chat_place at[PROMPT_MAX_PICTURES];
    struct making m = {plan, o, markup, n_markup, max_ids, kept, at, false, pictures, ids};
    bool done = false;
    prompt_pictures_take_out(pictures);
    if (kept.n > PROMPT_MAX_PICTURES || !chat_find_places(&plan->marks, o, kept.n, at, &m.are_tokens))
        return fail(err, RN_E_UNSUPPORTED, "messages: the chat template leaves pictures out");
    for (size_t i = 0; i < kept.n; i++)
        if (at[i].is_video != is_video(&m, i))
            return fail(err, RN_E_UNSUPPORTED,
                        "messages: the chat template writes pictures and videos in another order");
    if (picture_text_is_used(vision_info(plan->vision))) return make_joined(&m, err);
    rn_status st = make_whole(&m, &done, err);
    if (st == RN_OK && !done) st = make_cut(&m, err);
    return st;
}
