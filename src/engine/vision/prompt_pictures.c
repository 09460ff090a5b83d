// engine/vision/prompt_pictures.c - see prompt_pictures.h.
#include "engine/vision/prompt_pictures.h"
#include "base/hash.h"
#include "base/mem.h"

static bool make_room(struct prompt_pictures *p) {
    if (!p->at) p->at = mem_calloc(PROMPT_MAX_PICTURES, sizeof *p->at);
    return p->at;
}

rn_status prompt_pictures_add(struct prompt_pictures *p, struct vision *v, const struct picture *picture,
                              int32_t first, rn_error *err) {
    if (p->n == PROMPT_MAX_PICTURES)
        return fail(err, RN_E_LIMIT, "prompt: more than %d pictures", PROMPT_MAX_PICTURES);
    if (!make_room(p)) return fail(err, RN_E_NOMEM, "prompt: out of memory for pictures");
    struct prompt_picture *const to = &p->at[p->n];
    *to = (struct prompt_picture){.first = first, .n = vision_n_out(vision_info(v))};
    const rn_status st = pipeline_run(&vision_info(v)->pipeline, picture, &to->pixels, err);
    if (st != RN_OK) return st;
    p->vision = v;
    p->n++;
    return RN_OK;
}

void prompt_pictures_move(struct prompt_pictures *p, int32_t by) {
    for (size_t i = 0; i < p->n; i++) p->at[i].first += by;
}

rn_status prompt_pictures_encode(struct prompt_pictures *p, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < p->n; i++)
        if (!p->at[i].vectors) st = vision_get(p->vision, &p->at[i].pixels, &p->at[i].vectors, err);
    return st;
}

rn_status prompt_pictures_share(const struct prompt_pictures *from, struct prompt_pictures *to, rn_error *err) {
    if (from->n == 0) return RN_OK;
    if (!make_room(to)) return fail(err, RN_E_NOMEM, "prompt: out of memory for pictures");
    to->vision = from->vision;
    for (; to->n < from->n; to->n++) {
        to->at[to->n] = from->at[to->n];
        vision_use(to->vision, to->at[to->n].vectors);
    }
    return RN_OK;
}

void prompt_pictures_free(struct prompt_pictures *p) {
    for (size_t i = 0; i < p->n; i++) {
        mem_free(p->at[i].pixels.values);
        if (p->at[i].vectors) vision_release(p->vision, p->at[i].vectors);
    }
    mem_free(p->at);
    *p = (struct prompt_pictures){0};
}

int32_t prompt_pictures_n_rows(const struct prompt_pictures *p) {
    int32_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->at[i].n;
    return n;
}

int32_t prompt_pictures_end(const struct prompt_pictures *p) {
    return p->n ? p->at[p->n - 1].first + p->at[p->n - 1].n : 0;
}

bool prompt_pictures_input(const struct prompt_pictures *p, int32_t position, struct lm_input *out) {
    for (size_t i = 0; i < p->n; i++) {
        const struct prompt_picture *const at = &p->at[i];
        const int32_t row = position - at->first;
        if (row < 0 || row >= at->n) continue;
        *out = (struct lm_input){.vector = at->vectors->rows.values + (size_t)row * at->vectors->rows.width,
                                 .key = hash_u64((uint64_t)row, at->vectors->key),
                                 .see_to = -1};
        return true;
    }
    return false;
}
