// engine/vision/prompt_pictures.c - see prompt_pictures.h.
#include "engine/vision/prompt_pictures.h"
#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

static bool make_room(struct prompt_pictures *p) {
    if (!p->at) p->at = mem_calloc(PROMPT_MAX_PICTURES, sizeof *p->at);
    return p->at;
}

rn_status prompt_pictures_add(struct prompt_pictures *p, struct vision *v, const struct picture *picture,
                              bool is_alone, rn_error *err) {
    if (p->n == PROMPT_MAX_PICTURES)
        return fail(err, RN_E_LIMIT, "prompt: more than %d pictures", PROMPT_MAX_PICTURES);
    if (!make_room(p)) return fail(err, RN_E_NOMEM, "prompt: out of memory for pictures");
    struct prompt_picture *const to = &p->at[p->n];
    const struct vision_info *const info = vision_info(v);
    *to = (struct prompt_picture){0};
    rn_status st = pipeline_run(&info->pipeline, picture, is_alone, &to->pixels, err);
    if (st == RN_OK) st = vision_read_grid(vision_files(v), &to->pixels, &to->grid, err);
    if (st != RN_OK) {
        mem_free(to->pixels.values);
        to->pixels = (struct pixels){0};
        return st;
    }
    to->time_step = 1;
    if (info->video == VIDEO_BY_SECONDS)
        to->time_step = (float)info->tokens_per_second * (float)to->pixels.view_seconds;
    to->n_rows = to->grid.rows / info->n_merge, to->n_cols = to->grid.cols / info->n_merge;
    p->vision = v;
    p->n++;
    return RN_OK;
}

size_t prompt_pictures_n_of(const struct prompt_pictures *p, size_t picture) {
    const struct prompt_picture *const at = &p->at[picture];
    return picture_n_rows(vision_info(p->vision), &at->pixels, at->grid);
}

bool prompt_pictures_piece(const struct prompt_pictures *p, size_t picture, size_t i, struct picture_piece *out) {
    const struct prompt_picture *const at = &p->at[picture];
    return picture_piece_at(vision_info(p->vision), &at->pixels, at->grid, i, out);
}

rn_status prompt_pictures_place(struct prompt_pictures *p, size_t picture, int32_t first, int32_t n, rn_error *err) {
    if (!mem_grow(&p->spans, p->n_spans, &p->max_spans, 8, sizeof *p->spans))
        return fail(err, RN_E_NOMEM, "prompt: out of memory for pictures");
    const struct picture_span *const last = p->n_spans ? &p->spans[p->n_spans - 1] : NULL;
    const bool goes_on = last && last->picture == (int32_t)picture;
    p->spans[p->n_spans++] = (struct picture_span){
        .first = first, .n = n, .row = goes_on ? last->row + last->n : 0, .picture = (int32_t)picture};
    return RN_OK;
}

void prompt_pictures_take_out(struct prompt_pictures *p) { p->n_spans = 0; }

void prompt_pictures_drop(struct prompt_pictures *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        bool has_place = false;
        for (size_t k = 0; k < p->n_spans; k++)
            if (p->spans[k].picture == (int32_t)i) p->spans[k].picture = (int32_t)n, has_place = true;
        if (has_place)
            p->at[n++] = p->at[i];
        else
            mem_free(p->at[i].pixels.values);
    }
    p->n = n;
}

void prompt_pictures_move(struct prompt_pictures *p, int32_t by) {
    for (size_t i = 0; i < p->n_spans; i++) p->spans[i].first += by;
}

rn_status prompt_pictures_encode(struct prompt_pictures *p, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < p->n; i++)
        if (!p->at[i].vectors) st = vision_get(p->vision, &p->at[i].pixels, &p->at[i].vectors, err);
    return st;
}

rn_status prompt_pictures_share(const struct prompt_pictures *from, struct prompt_pictures *to, rn_error *err) {
    if (from->n == 0) return RN_OK;
    to->spans = mem_alloc(from->n_spans * sizeof *to->spans);
    if (!make_room(to) || !to->spans) return fail(err, RN_E_NOMEM, "prompt: out of memory for pictures");
    memcpy(to->spans, from->spans, from->n_spans * sizeof *to->spans);
    to->n_spans = to->max_spans = from->n_spans;
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
    mem_free(p->spans);
    *p = (struct prompt_pictures){0};
}

int32_t prompt_pictures_n_rows(const struct prompt_pictures *p) {
    int32_t n = 0;
    for (size_t i = 0; i < p->n_spans; i++) n += p->spans[i].n;
    return n;
}

int32_t prompt_pictures_end(const struct prompt_pictures *p) {
    const struct picture_span *const last = p->n_spans ? &p->spans[p->n_spans - 1] : NULL;
    return last ? last->first + last->n : 0;
}

bool prompt_pictures_cuts(const struct prompt_pictures *p, int32_t position, int32_t *first, int32_t *end) {
    if (!p->n_spans || !vision_info(p->vision)->sees_itself) return false;
    for (size_t i = 0; i < p->n_spans && p->spans[i].first < position; i++) {
        *first = p->spans[i].first, *end = p->spans[i].first + p->spans[i].n;
        if (position < *end) return true;
    }
    return false;
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

static void set_coord(struct lm_input *in, int32_t t, int32_t h, int32_t w) {
    in->has_coord = true;
    in->coord[0] = t, in->coord[1] = h, in->coord[2] = w;
}

bool prompt_pictures_input(const struct prompt_pictures *p, int32_t position, struct lm_input *out) {
    const bool has_coords = p->n_spans && vision_info(p->vision)->has_coords,
               sees_itself = p->n_spans && vision_info(p->vision)->sees_itself;
    // Of coordinates against positions: a span takes as many as the longer side of its grid, whatever its times.
    int32_t shift = 0;
    *out = (struct lm_input){.see_to = -1};
    for (size_t i = 0; i < p->n_spans && position >= p->spans[i].first; i++) {
        const struct picture_span *const span = &p->spans[i];
        const struct prompt_picture *const at = &p->at[span->picture];
        const int32_t behind = position - span->first, row = span->row + behind, start = span->first + shift;
        if (behind >= span->n) {
            shift += larger(at->n_rows, at->n_cols) - span->n;
            continue;
        }
        out->vector = at->vectors->rows.values + (size_t)row * at->vectors->rows.width;
        out->key = hash_u64((uint64_t)row, at->vectors->key);
        if (sees_itself) out->see_to = span->first + span->n - 1;
        if (has_coords) {
            const int32_t n_grid = at->n_rows * at->n_cols, in_grid = behind % n_grid;
            const int32_t time = (int32_t)((float)(behind / n_grid) * at->time_step);
            set_coord(out, start + time, start + in_grid / at->n_cols, start + in_grid % at->n_cols);
        }
        return true;
    }
    if (!has_coords || position < p->spans[0].first) return false;
    set_coord(out, position + shift, position + shift, position + shift);
    return true;
}
