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
    const struct vision_info *const info = vision_info(v);
    struct vision_grid g = {0};
    *to = (struct prompt_picture){.first = first};
    rn_status st = pipeline_run(&info->pipeline, picture, &to->pixels, err);
    if (st == RN_OK) st = vision_read_grid(v, &to->pixels, &g, err);
    if (st != RN_OK) {
        mem_free(to->pixels.values);
        to->pixels = (struct pixels){0};
        return st;
    }
    to->n = vision_n_out(info, g);
    to->n_rows = g.rows / info->n_merge, to->n_cols = g.cols / info->n_merge;
    p->vision = v;
    p->n++;
    return RN_OK;
}

void prompt_pictures_drop(struct prompt_pictures *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].first >= 0)
            p->at[n++] = p->at[i];
        else
            mem_free(p->at[i].pixels.values);
    p->n = n;
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

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

static void set_coord(struct lm_input *in, int32_t t, int32_t h, int32_t w) {
    in->has_coord = true;
    in->coord[0] = t, in->coord[1] = h, in->coord[2] = w;
}

bool prompt_pictures_input(const struct prompt_pictures *p, int32_t position, struct lm_input *out) {
    const bool has_coords = p->n && vision_info(p->vision)->has_coords;
    int32_t shift = 0; // of coordinates against positions: a picture takes as many as its longer side
    *out = (struct lm_input){.see_to = -1};
    for (size_t i = 0; i < p->n && position >= p->at[i].first; i++) {
        const struct prompt_picture *const at = &p->at[i];
        const int32_t row = position - at->first, start = at->first + shift;
        if (row >= at->n) {
            shift += larger(at->n_rows, at->n_cols) - at->n;
            continue;
        }
        out->vector = at->vectors->rows.values + (size_t)row * at->vectors->rows.width;
        out->key = hash_u64((uint64_t)row, at->vectors->key);
        if (has_coords) set_coord(out, start, start + row / at->n_cols, start + row % at->n_cols);
        return true;
    }
    if (!has_coords || position < p->at[0].first) return false;
    set_coord(out, position + shift, position + shift, position + shift);
    return true;
}
