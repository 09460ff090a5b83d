// engine/vision/picture_rows.c - see picture_rows.h.
#include "engine/vision/picture_rows.h"
#include "base/mem.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- a map of tiles -----------------------------------------------------------------------------------------------------

// What is left of the tiles' rows as one map: LlavaNextModel.pack_image_features().
struct map {
    int32_t tile_side;             // rows and columns of a tile
    int32_t n_wide;                // tiles
    int32_t top, left, rows, cols; // the part that is no padding
    int32_t to_rows, to_cols;      // as many, or fewer: then it is made smaller
};

// Python's a // b, of positive numbers.
static int32_t whole_times(double a, double b) {
    const double n = (a - fmod(a, b)) / b, down = floor(n);
    return (int32_t)(n - down > 0.5 ? down + 1 : down);
}

// int(round(n * cur / own, 7)): a fraction of such numbers is a whole one, or far from it.
static int32_t scaled(uint32_t n, double scale) { return (int32_t)floor(n * scale + 5e-8); }

static struct map map_of(const struct vision_info *v, const struct pixels *p, struct vision_grid g) {
    const int32_t side = (g.rows + v->n_merge - 1) / v->n_merge;
    const int32_t rows = side * (int32_t)p->tile_rows, cols = side * (int32_t)p->tile_cols;
    struct map m = {.tile_side = side, .n_wide = (int32_t)p->tile_cols, .rows = rows, .cols = cols};
    if ((double)p->width / p->height > (double)cols / rows) {
        m.top = (rows - scaled(p->height, (double)cols / p->width)) / 2;
        m.rows -= 2 * m.top;
    } else {
        m.left = (cols - scaled(p->width, (double)rows / p->height)) / 2;
        m.cols -= 2 * m.left;
    }
    m.to_rows = m.rows, m.to_cols = m.cols;
    if (v->most_tiles > 0) {
        const double ratio = sqrt((double)m.rows * m.cols / ((double)v->most_tiles * side * side));
        if (ratio > 1.1) m.to_rows = whole_times(m.rows, ratio), m.to_cols = whole_times(m.cols, ratio);
    }
    return m;
}

static const float *map_at(const struct map *m, const float *tiles, int32_t row, int32_t col, size_t width) {
    const int32_t y = m->top + row, x = m->left + col, s = m->tile_side;
    const int32_t tile = y / s * m->n_wide + x / s;
    return tiles + ((size_t)tile * (size_t)(s * s) + (size_t)(y % s * s + x % s)) * width;
}

// The place of a row in the larger map, and the share of the one behind it: PyTorch's bilinear interpolation, in floats.
struct between {
    int32_t at, next;
    float share;
};
static struct between between(int32_t i, int32_t n_from, int32_t n_to) {
    const float place = fmaxf(0, (float)n_from / (float)n_to * ((float)i + 0.5F) - 0.5F);
    const int32_t at = (int32_t)place;
    return (struct between){at, at + (at < n_from - 1), place - (float)at};
}

static void put_smaller(const struct map *m, const float *tiles, int32_t row, int32_t col, size_t width, float *out) {
    const struct between y = between(row, m->rows, m->to_rows), x = between(col, m->cols, m->to_cols);
    const float *const a = map_at(m, tiles, y.at, x.at, width), *const b = map_at(m, tiles, y.at, x.next, width),
                       *const c = map_at(m, tiles, y.next, x.at, width),
                       *const d = map_at(m, tiles, y.next, x.next, width);
    for (size_t i = 0; i < width; i++)
        out[i] = (1 - y.share) * ((1 - x.share) * a[i] + x.share * b[i]) +
                 y.share * ((1 - x.share) * c[i] + x.share * d[i]);
}

static float *put(float *out, const float *from, size_t n) {
    memcpy(out, from, n * sizeof *out);
    return out + n;
}

static float *put_map(const struct map *m, const float *tiles, const float *newline, size_t width, float *out) {
    const bool is_smaller = m->to_rows != m->rows || m->to_cols != m->cols;
    for (int32_t row = 0; row < m->to_rows; row++) {
        for (int32_t col = 0; col < m->to_cols; col++, out += width) {
            if (is_smaller)
                put_smaller(m, tiles, row, col, width, out);
            else
                put(out, map_at(m, tiles, row, col, width), width);
        }
        if (newline) out = put(out, newline, width);
    }
    return out;
}

// ---- rows ---------------------------------------------------------------------------------------------------------------

size_t picture_n_rows(const struct vision_info *v, const struct pixels *p, struct vision_grid g) {
    const size_t n_each = (size_t)vision_n_out(v, g);
    if (v->order == VISION_IN_TURN) return p->n_views * n_each;
    if (p->tile_rows == 0) return n_each + v->has_newline;
    const struct map m = map_of(v, p, g);
    return n_each + (size_t)m.to_rows * (size_t)(m.to_cols + v->has_newline);
}

void picture_put_rows(const struct vision_info *v, const struct pixels *p, struct vision_grid g, const float *views,
                      const float *newline, size_t width, float *out) {
    const size_t n_view = (size_t)vision_n_out(v, g) * width;
    assert(!newline == !v->has_newline);
    if (v->order == VISION_IN_TURN) {
        put(out, views, p->n_views * n_view);
        return;
    }
    out = put(out, views, n_view);
    if (p->tile_rows) {
        const struct map m = map_of(v, p, g);
        put_map(&m, views + n_view, newline, width, out);
    } else if (newline) {
        put(out, newline, width);
    }
}

// ---- marks --------------------------------------------------------------------------------------------------------------

static void add_text(struct picture_piece *to, const char *text) {
    const size_t at = strlen(to->text);
    if (text) snprintf(to->text + at, sizeof to->text - at, "%s", text);
}

static void add_tile(struct picture_piece *to, const char *text, size_t row, size_t col) {
    const char *const first = strstr(text, "%d"), *const second = strstr(first + 2, "%d");
    const size_t at = strlen(to->text);
    snprintf(to->text + at, sizeof to->text - at, "%.*s%zu%.*s%zu%s", (int)(first - text), text, row + 1,
             (int)(second - first - 2), first + 2, col + 1, second + 2);
}

bool picture_piece_at(const struct vision_info *v, const struct pixels *p, struct vision_grid g, size_t i,
                      struct picture_piece *out) {
    const size_t n_tiles = (size_t)p->tile_rows * p->tile_cols;
    const struct vision_marks *const marks = v->marks;
    *out =
        (struct picture_piece){.n_rows = (int32_t)picture_n_rows(v, p, g), .token = p->seconds ? v->video_token : -1};
    if (p->seconds && v->video == VIDEO_WITH_TIMES) {
        const char *const end = i > 0 ? "<|vision_end|>" : "";
        out->n_rows = i < p->n_views ? vision_n_out(v, g) : 0;
        if (i < p->n_views)
            snprintf(out->text, sizeof out->text, "%s<%.1f seconds><|vision_start|>", end, p->seconds[i]);
        else
            add_text(out, end);
        return i <= p->n_views;
    }
    if (!marks) return i == 0;
    if (marks->line_end) {
        const size_t n_lines = (size_t)(g.rows / v->n_merge);
        add_text(out, i == 0 ? "" : i < n_lines ? marks->line_end : marks->end);
        out->n_rows = i < n_lines ? g.cols / v->n_merge : 0;
        return i <= n_lines;
    }
    if (marks->open) {
        add_text(out, i == 0 ? marks->open : marks->close);
        if (i > 0) out->n_rows = 0;
        return i < 2;
    }
    out->n_rows = i < p->n_views ? vision_n_out(v, g) : 0;
    if (marks->before) {
        if (i > 0) add_text(out, i == 1 ? marks->first_tile : marks->next_tile);
        return i < p->n_views;
    }
    if (n_tiles > 0 && i > 0 && i <= n_tiles && i % p->tile_cols == 0) add_text(out, marks->row_end);
    if (i < n_tiles) {
        add_tile(out, marks->tile, i / p->tile_cols, i % p->tile_cols);
    } else if (i == n_tiles) {
        if (n_tiles) add_text(out, marks->tiles_end);
        add_text(out, marks->whole);
    } else {
        add_text(out, marks->end);
    }
    return i <= n_tiles + 1;
}

const char *picture_before(const struct vision_info *v, const struct pixels *p) {
    return p->tile_rows ? v->marks->before_tiles : v->marks->before;
}

rn_status picture_piece_add(const struct picture_piece *piece, const tokenizer *tok, int32_t token,
                            struct id_list *to, rn_error *err) {
    const size_t n_text = strlen(piece->text);
    int32_t *ids = NULL;
    size_t n = 0;
    const rn_status st =
        n_text ? tokenizer_encode_more(tok, piece->text, n_text, true, SIZE_MAX, &ids, &n, err) : RN_OK;
    bool ok = st == RN_OK && id_list_append(to, ids, n);
    for (int32_t i = 0; ok && i < piece->n_rows; i++) ok = id_list_add(to, piece->token >= 0 ? piece->token : token);
    mem_free(ids);
    return st != RN_OK || ok ? st : fail(err, RN_E_NOMEM, "picture: out of memory for its tokens");
}
