// engine/vision/vision.c - see vision.h.
#include "engine/vision/vision.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/thread.h"
#include "engine/vision/picture_rows.h"
#include "engine/vision/vector_store.h"
#include "lm/lm_real.h"
#include "model/model.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

// A program with its memory: all rows of a picture are one step.
struct part {
    struct model *model;
    backend *backend;
    struct lm_config config;
    struct backend_plan plan;
    lm *lm;
    float *in; // [n_batch][n_vector] of the step
    struct lm_row *rows;
    struct lm_input *inputs;
};

// A block's place among the tower's rows: the block of the picture, and the rows of its window.
struct block {
    int32_t from, first, end;
};

struct vision {
    const struct vision_files *files;
    struct block *blocks; // [max_patches / n_merge^2] of a tower with windows; NULL: rows are in the picture's order
    struct part tower, projector, deepstack[VISION_MAX_DEEPSTACK];
    pool *threads;
    mutex lock;       // around a picture
    mutex store_lock; // around the store; taken after the other one
    bool has_lock, has_store_lock;
    uint64_t n_steps, n_encoded;
    struct vector_store store;
};

// ---- open and close -----------------------------------------------------------------------------------------------------

// n_taps: of info.deepstack.
static rn_status open_part(struct part *p, const package *pkg, int32_t n_rows, int32_t n_taps, const struct vision *v,
                           const struct vision_spec *spec, rn_error *err) {
    const struct backend_spec b = {.threads = v->threads, .kernels = spec->kernels, .keeps_rows = spec->keeps_rows};
    p->config = (struct lm_config){.n_ctx = n_rows,
                                   .n_batch = n_rows,
                                   .n_want = n_rows,
                                   .max_seqs = 1,
                                   .n_pages = (int32_t)ceil_div((size_t)n_rows, KV_PAGE) + 1};
    for (int32_t g = 0; g < PROGRAM_MAX_GROUPS; g++) p->config.codec[g] = KV_F32;
    rn_status st = model_build_vision(pkg, v->files->info.deepstack, n_taps, &p->model, err);
    if (st == RN_OK) st = backend_open(&b, &p->backend, err);
    if (st != RN_OK) return st;
    const struct program *const program = model_program(p->model);
    const struct backend_sizes sizes = lm_real_sizes(program, &p->config);
    st = backend_supports(p->backend, program, err);
    return st == RN_OK ? backend_get_plan(p->backend, program, &sizes, &p->plan, err) : st;
}

static rn_status load_part(struct part *p, rn_error *err) {
    const struct program *const program = model_program(p->model);
    const struct backend_sizes sizes = lm_real_sizes(program, &p->config);
    const size_t n = (size_t)p->config.n_batch;
    rn_status st = backend_load(p->backend, program, &sizes, NULL, NULL, err);
    if (st == RN_OK) st = lm_real_create(program, p->backend, &p->config, &p->lm, err);
    if (st != RN_OK) return st;
    p->in = mem_calloc(n * (size_t)program->n_vector, sizeof *p->in);
    p->rows = mem_calloc(n, sizeof *p->rows);
    p->inputs = mem_calloc(n, sizeof *p->inputs);
    return p->in && p->rows && p->inputs ? RN_OK : fail(err, RN_E_NOMEM, "vision: out of memory for %zu rows", n);
}

static void close_part(struct part *p) {
    lm_destroy(p->lm);
    backend_destroy(p->backend);
    model_destroy(p->model);
    mem_free(p->in);
    mem_free(p->rows);
    mem_free(p->inputs);
}

rn_status vision_create(const struct vision_files *files, const struct vision_spec *spec, struct vision **out,
                        rn_error *err) {
    struct vision *const v = mem_calloc(1, sizeof *v);
    *out = NULL;
    if (!v) return fail(err, RN_E_NOMEM, "vision: out of memory");
    v->files = files;
    v->store.most_bytes = spec->cache_bytes;
    v->store.seed = clock_entropy(); // so that nobody can make two pictures of one key
    rn_status st = mutex_init(&v->lock, err);
    v->has_lock = st == RN_OK;
    if (st == RN_OK) v->has_store_lock = (st = mutex_init(&v->store_lock, err)) == RN_OK;
    if (st == RN_OK) st = pool_create(spec->n_threads, &v->threads, err);
    const struct vision_info *const info = &files->info;
    if (st == RN_OK) st = open_part(&v->tower, files->tower, vision_most_rows(info), info->n_deepstack, v, spec, err);
    if (st == RN_OK) st = open_part(&v->projector, files->projector, vision_most_out(info), 0, v, spec, err);
    for (int32_t i = 0; st == RN_OK && i < info->n_deepstack; i++)
        st = open_part(&v->deepstack[i], files->deepstack[i], vision_most_out(info), 0, v, spec, err);
    if (st == RN_OK)
        *out = v;
    else
        vision_destroy(v);
    return st;
}

static uint64_t part_bytes(const struct part *p) {
    const struct program *const program = model_program(p->model);
    const struct backend_memory *const m = &p->plan.memory[0];
    uint64_t n = m->mapped_bytes + m->repacked_bytes + m->buffer_bytes +
                 (uint64_t)p->config.n_batch * (uint64_t)program->n_vector * sizeof(float);
    for (int32_t g = 0; g < program->n_groups; g++) n += m->page_bytes[g] * (uint64_t)p->config.n_pages;
    return n;
}

uint64_t vision_bytes(const struct vision *v) {
    uint64_t n = part_bytes(&v->tower) + part_bytes(&v->projector);
    for (int32_t i = 0; i < v->files->info.n_deepstack; i++) n += part_bytes(&v->deepstack[i]);
    return n;
}

rn_status vision_load(struct vision *v, rn_error *err) {
    const struct vision_info *const info = &v->files->info;
    rn_status st = load_part(&v->tower, err);
    for (int32_t i = 0; st == RN_OK && i < info->n_deepstack; i++) st = load_part(&v->deepstack[i], err);
    if (st == RN_OK && info->window) {
        const size_t n = (size_t)(info->max_patches / (info->n_merge * info->n_merge));
        v->blocks = mem_calloc(n, sizeof *v->blocks);
        if (!v->blocks) return fail(err, RN_E_NOMEM, "vision: out of memory for %zu blocks", n);
    }
    return st == RN_OK ? load_part(&v->projector, err) : st;
}

void vision_destroy(struct vision *v) {
    if (!v) return;
    vector_store_free(&v->store);
    mem_free(v->blocks);
    close_part(&v->tower);
    close_part(&v->projector);
    for (size_t i = 0; i < VISION_MAX_DEEPSTACK; i++) close_part(&v->deepstack[i]);
    pool_destroy(v->threads);
    if (v->has_store_lock) mutex_destroy(&v->store_lock);
    if (v->has_lock) mutex_destroy(&v->lock);
    mem_free(v);
}

const struct vision_info *vision_info(const struct vision *v) { return &v->files->info; }
const struct vision_files *vision_files(const struct vision *v) { return v->files; }

// ---- a picture ----------------------------------------------------------------------------------------------------------

// Pixels [3][height][width] as a row for each patch, channel by channel, behind that of the class. The last pixels, which fill no patch, are not read.
static void cut_patches(struct vision *v, const float *pixels, struct vision_grid g, size_t height, size_t width) {
    const struct vision_info *const info = &v->files->info;
    const size_t side = (size_t)info->patch_size, n_wide = side * (size_t)g.cols, n_high = side * (size_t)g.rows;
    float *to = v->tower.in;
    v->tower.rows[0].token = info->has_class;
    if (info->has_class) {
        memset(to, 0, (size_t)info->n_numbers * sizeof *to);
        to += info->n_numbers;
    }
    for (size_t top = 0; top < n_high; top += side)
        for (size_t left = 0; left < n_wide; left += side)
            for (size_t c = 0; c < 3; c++)
                for (size_t y = 0; y < side; y++, to += side)
                    memcpy(to, pixels + (c * height + top + y) * width + left, side * sizeof *to);
}

// The blocks of a grid window by window, row by row in each, as Qwen2.5-VL's tower has them.
static void order_blocks(struct vision *v, struct vision_grid g) {
    const struct vision_info *const info = &v->files->info;
    const int32_t m = info->n_merge, n_high = g.rows / m, n_wide = g.cols / m, side = info->window;
    int32_t n = 0;
    for (int32_t top = 0; top < n_high; top += side)
        for (int32_t left = 0; left < n_wide; left += side) {
            const int32_t first = n, bottom = top + side < n_high ? top + side : n_high,
                          right = left + side < n_wide ? left + side : n_wide;
            for (int32_t y = top; y < bottom; y++)
                for (int32_t x = left; x < right; x++) v->blocks[n++].from = y * n_wide + x;
            for (int32_t i = first; i < n; i++) v->blocks[i].first = first * m * m, v->blocks[i].end = n * m * m;
        }
}

// The place of a patch in a grid whose patches lie in blocks.
static void set_place(const struct vision_info *info, struct vision_grid g, int32_t i, int32_t coord[3]) {
    const int32_t m = info->n_merge, block = i / (m * m), within = i % (m * m), n_blocks = g.cols / m;
    coord[0] = 0;
    coord[1] = block / n_blocks * m + within / m;
    coord[2] = block % n_blocks * m + within % m;
}

// The row of the picture's order that row i of the step is. blocks: NULL: the same.
static int32_t row_of(const struct block *blocks, int32_t unit, int32_t i) {
    return blocks ? blocks[i / unit].from * unit + i % unit : i;
}

// The embedding of a place between the four around it, added up in the order of transformers' taps.
static void put_place(const struct vision *v, struct vision_grid g, int32_t row, int32_t col, float *to) {
    const int32_t side = v->files->info.n_places, at[2] = {row, col}, of[2] = {g.rows, g.cols};
    const size_t n = (size_t)v->tower.lm->n_embd;
    const float *const places = model_places(v->tower.model);
    int32_t taps[2][2];
    float weights[2][2];
    for (int d = 0; d < 2; d++) {
        const float place = (float)at[d] * (float)(side - 1) / (float)(of[d] > 1 ? of[d] - 1 : 1),
                    first = floorf(place), share = place - first;
        taps[d][0] = (int32_t)first, taps[d][1] = taps[d][0] + (taps[d][0] < side - 1);
        weights[d][0] = 1 - share, weights[d][1] = share;
    }
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 2; x++)
                sum += places[(size_t)(taps[0][y] * side + taps[1][x]) * n + i] * (weights[0][y] * weights[1][x]);
        to[i] = sum;
    }
}

// values: of one view, patch by patch
static void put_patches(struct vision *v, const struct pixels *p, const float *values, struct vision_grid g) {
    const struct vision_info *const info = &v->files->info;
    const size_t n_row = (size_t)v->tower.lm->n_vector, n = (size_t)info->n_numbers;
    if (info->grid) {
        cut_patches(v, values, g, p->shape[p->n_dims - 2], p->shape[p->n_dims - 1]);
        return;
    }
    if (v->blocks) order_blocks(v, g);
    for (int32_t i = 0; i < g.rows * g.cols; i++) {
        const int32_t from = row_of(v->blocks, info->n_merge * info->n_merge, i);
        float *const to = v->tower.in + (size_t)i * n_row;
        memcpy(to, values + (size_t)from * n, n * sizeof *to);
        if (info->n_places) {
            int32_t place[3];
            set_place(info, g, from, place);
            put_place(v, g, place[1], place[2], to + n);
        }
    }
}

// Where rows go: `n` of them, `stride` numbers apart.
struct to_rows {
    float *at;
    size_t n, stride;
};

// Runs the program over the first rows of p->in, which see each other, and copies their hidden states to `to`; those of taps follow, each as many. grid:
// rows have their places in it as coordinates; NULL: they have none.
static rn_status run_part(struct vision *v, struct part *p, const struct vision_grid *grid, struct to_rows to,
                          rn_error *err) {
    const size_t n_in = (size_t)p->lm->n_vector, n_out = (size_t)p->lm->n_embd, n = to.n;
    const int32_t unit = v->files->info.n_merge * v->files->info.n_merge, n_taps = p->lm->n_taps;
    const struct block *const blocks = grid ? v->blocks : NULL;
    const uint64_t step = hash_u64(++v->n_steps, 0); // no two steps have anything in common
    int32_t seq;
    rn_status st = lm_seq_new(p->lm, NULL, &seq, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < n; i++) {
        p->inputs[i] = (struct lm_input){
            .vector = p->in + i * n_in, .key = hash_u64(step, (uint64_t)i), .see_to = (int32_t)n - 1};
        if (grid) {
            p->inputs[i].has_coord = true;
            set_place(&v->files->info, *grid, row_of(blocks, unit, (int32_t)i), p->inputs[i].coord);
        }
        if (blocks) {
            const struct block *const block = &blocks[(int32_t)i / unit];
            p->inputs[i].area_first = block->first, p->inputs[i].area_end = block->end;
        }
        p->rows[i].seq = seq, p->rows[i].parent = LM_APPEND;
        p->rows[i].want = LM_WANT_HIDDEN | (n_taps ? LM_WANT_TAPS : 0);
        p->rows[i].input = &p->inputs[i];
    }
    st = lm_step(p->lm, p->rows, n, NULL, err);
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        float *const row = to.at + (size_t)row_of(blocks, unit, (int32_t)i) * to.stride;
        memcpy(row, lm_hidden(p->lm, i), n_out * sizeof *row);
        for (int32_t k = 0; k < n_taps; k++)
            memcpy(row + (size_t)(k + 1) * n * to.stride, lm_tap(p->lm, i, k), n_out * sizeof *row);
    }
    lm_seq_free(p->lm, seq);
    return st;
}

// Means of merge x merge features; what is left over is dropped. Sums go row by row, as PyTorch's.
static void put_means(const float *features, struct vision_grid g, size_t merge, size_t n, float *to) {
    const size_t cols = (size_t)g.cols, n_high = (size_t)g.rows / merge, n_wide = cols / merge;
    for (size_t i = 0; i < n_high * n_wide; i++, to += n) {
        const float *const corner = features + (i / n_wide * merge * cols + i % n_wide * merge) * n;
        for (size_t c = 0; c < n; c++) {
            float sum = 0;
            for (size_t y = 0; y < merge; y++)
                for (size_t x = 0; x < merge; x++) sum += corner[(y * cols + x) * n + c];
            to[c] = sum / (float)(merge * merge);
        }
    }
}

// Features as rows of the projector: neighbours side by side, zeros where the grid ends.
static void put_features(const struct vision *v, const struct part *p, const float *features, struct vision_grid g) {
    const struct vision_info *const info = &v->files->info;
    const size_t rows = (size_t)g.rows, cols = (size_t)g.cols, merge = (size_t)info->n_merge,
                 n = (size_t)v->tower.lm->n_embd;
    float *to = p->in;
    if (!info->grid) { // they lie in blocks
        memcpy(to, features, rows * cols * n * sizeof *to);
        return;
    }
    if (info->has_class && info->keeps_class) memcpy(to, features, n * sizeof *to), to += n;
    if (info->has_class) features += n;
    if (info->averages) {
        put_means(features, g, merge, n, to);
        return;
    }
    for (size_t by = 0; by < ceil_div(rows, merge); by++)
        for (size_t bx = 0; bx < ceil_div(cols, merge); bx++)
            for (size_t y = by * merge; y < (by + 1) * merge; y++)
                for (size_t x = bx * merge; x < (bx + 1) * merge; x++, to += n) {
                    if (y < rows && x < cols)
                        memcpy(to, features + (y * cols + x) * n, n * sizeof *to);
                    else
                        memset(to, 0, n * sizeof *to);
                }
}

rn_status vision_read_grid(const struct vision_files *v, const struct pixels *p, struct vision_grid *out,
                           rn_error *err) {
    const struct vision_info *const info = &v->info;
    const size_t patch = (size_t)info->patch_size, grid = (size_t)info->grid;
    const size_t *const shape = p->shape + (p->n_dims == 4); // of a view
    const char *const path = package_path(v->tower);
    *out = (struct vision_grid){info->grid, info->grid};
    if (info->grid) {
        if (p->n_dims >= 3 && shape[0] == 3 && shape[1] / patch == grid && shape[2] / patch == grid) return RN_OK;
        return fail(err, RN_E_FORMAT,
                    "%s: preprocessor_config.json makes %zu x %zu pixels of a picture, the tower reads %zu x %zu",
                    path, shape[2], shape[1], patch * grid, patch * grid);
    }
    if (p->n_rows * p->n_cols > (size_t)info->max_patches)
        return fail(err, RN_E_LIMIT, "%s: a picture of %zu x %zu patches, %d are read", path, p->n_cols, p->n_rows,
                    (int)info->max_patches);
    *out = (struct vision_grid){(int32_t)p->n_rows, (int32_t)p->n_cols};
    return RN_OK;
}

static rn_status check_finite(const struct vision *v, const struct vision_rows *r, rn_error *err) {
    for (size_t i = 0; i < r->n * r->width; i++)
        if (!isfinite(r->values[i]))
            return fail(err, RN_E_FORMAT,
                        "%s: the vision tower makes a number of the picture that is not finite, in row %zu",
                        package_path(v->files->tower), i / r->width);
    return RN_OK;
}

// One view. features: of the tower, then those of taps; projected: NULL, or of the projectors.
static rn_status encode_view(struct vision *v, const struct pixels *p, size_t view, struct vision_grid g,
                             float *features, float *projected, rn_error *err) {
    const struct vision_info *const info = &v->files->info;
    const bool has_places = model_program(v->tower.model)->n_coords > 0;
    const struct to_rows to = {features, (size_t)vision_n_rows(info, g), (size_t)v->tower.lm->n_embd};
    put_patches(v, p, p->values + view * pixels_of_view(p), g);
    rn_status st = run_part(v, &v->tower, has_places ? &g : NULL, to, err);
    for (int32_t i = 0; st == RN_OK && projected && i <= info->n_deepstack; i++) {
        struct part *const by = i ? &v->deepstack[i - 1] : &v->projector;
        put_features(v, by, features + (size_t)i * to.n * to.stride, g);
        st = run_part(v, by, NULL,
                      (struct to_rows){projected + i * info->n_embd_out, (size_t)vision_n_out(info, g),
                                       (size_t)vision_n_vector(info)},
                      err);
    }
    return st;
}

static void drop(struct vision_rows *r) {
    mem_free(r->values);
    *r = (struct vision_rows){0};
}

static rn_status begin_rows(struct vision_rows *out, size_t n, size_t width, rn_error *err) {
    *out = (struct vision_rows){n, width, mem_calloc(n * width, sizeof *out->values)};
    return out->values ? RN_OK : fail(err, RN_E_NOMEM, "picture: out of memory");
}

static rn_status encode_features(struct vision *v, const struct pixels *p, struct vision_grid g,
                                 struct vision_rows *out, rn_error *err) {
    const struct vision_info *const info = &v->files->info;
    const size_t n_each = (size_t)vision_n_rows(info, g), width = (size_t)v->tower.lm->n_embd;
    struct vision_rows view = {0};
    rn_status st = begin_rows(&view, n_each * (size_t)(1 + info->n_deepstack), width, err);
    if (st == RN_OK) st = begin_rows(out, p->n_views * n_each, width, err);
    for (size_t i = 0; i < p->n_views && st == RN_OK; i++) {
        st = encode_view(v, p, i, g, view.values, NULL, err);
        memcpy(out->values + i * n_each * width, view.values, n_each * width * sizeof *out->values);
    }
    drop(&view);
    return st;
}

// View by view: a step of all of them would be no faster, and takes as much more memory.
static rn_status encode_projected(struct vision *v, const struct pixels *p, struct vision_grid g,
                                  struct vision_rows *out, rn_error *err) {
    const struct vision_info *const info = &v->files->info;
    const size_t n_each = (size_t)vision_n_out(info, g), width = (size_t)vision_n_vector(info),
                 n_rows = (size_t)vision_n_rows(info, g);
    struct vision_rows features = {0}, views = {0};
    rn_status st = begin_rows(&features, n_rows * (size_t)(1 + info->n_deepstack), (size_t)v->tower.lm->n_embd, err);
    if (st == RN_OK) st = begin_rows(&views, p->n_views * n_each, width, err);
    for (size_t i = 0; i < p->n_views && st == RN_OK; i++)
        st = encode_view(v, p, i, g, features.values, views.values + i * n_each * width, err);
    if (st == RN_OK) st = begin_rows(out, picture_n_rows(info, p, g), width, err);
    if (st == RN_OK)
        picture_put_rows(info, p, g, views.values, model_newline(v->projector.model), width, out->values);
    drop(&features);
    drop(&views);
    return st;
}

// With the lock held.
static rn_status encode_locked(struct vision *v, const struct pixels *pixels, enum vision_stage stage,
                               struct vision_rows *out, rn_error *err) {
    struct vision_grid g;
    *out = (struct vision_rows){0};
    rn_status st = vision_read_grid(v->files, pixels, &g, err);
    if (st == RN_OK && stage == VISION_PROJECTED)
        st = encode_projected(v, pixels, g, out, err);
    else if (st == RN_OK)
        st = encode_features(v, pixels, g, out, err);
    return st == RN_OK ? check_finite(v, out, err) : st;
}

rn_status vision_encode(struct vision *v, const struct pixels *pixels, enum vision_stage stage,
                        struct vision_rows *out, rn_error *err) {
    mutex_lock(&v->lock);
    const rn_status st = encode_locked(v, pixels, stage, out, err);
    mutex_unlock(&v->lock);
    if (st != RN_OK) drop(out);
    return st;
}

// ---- vectors that are kept ----------------------------------------------------------------------------------------------

static struct stored_vectors *find(struct vision *v, uint64_t key, const struct pixels *pixels) {
    mutex_lock(&v->store_lock);
    struct stored_vectors *const e = vector_store_find(&v->store, key, pixels);
    mutex_unlock(&v->store_lock);
    return e;
}

static rn_status encode_and_keep(struct vision *v, uint64_t key, struct pixels *pixels, struct stored_vectors **out,
                                 rn_error *err) {
    struct vision_rows rows = {0};
    rn_status st = encode_locked(v, pixels, VISION_PROJECTED, &rows, err);
    mutex_lock(&v->store_lock);
    v->n_encoded += st == RN_OK;
    if (st == RN_OK) st = vector_store_add(&v->store, key, pixels, &rows, out, err);
    mutex_unlock(&v->store_lock);
    drop(&rows);
    return st;
}

rn_status vision_get(struct vision *v, struct pixels *pixels, const struct vision_vectors **out, rn_error *err) {
    const uint64_t key = vector_store_key(&v->store, pixels);
    struct stored_vectors *e = find(v, key, pixels);
    rn_status st = RN_OK;
    *out = NULL;
    if (!e) {
        mutex_lock(&v->lock);
        // Another thread may have encoded it meanwhile.
        if (!(e = find(v, key, pixels))) st = encode_and_keep(v, key, pixels, &e, err);
        mutex_unlock(&v->lock);
    }
    mem_free(pixels->values);
    *pixels = (struct pixels){0};
    if (st == RN_OK) *out = &e->v;
    return st;
}

void vision_use(struct vision *v, const struct vision_vectors *of) {
    mutex_lock(&v->store_lock);
    ((struct stored_vectors *)of)->n_users++;
    mutex_unlock(&v->store_lock);
}

void vision_release(struct vision *v, const struct vision_vectors *of) {
    mutex_lock(&v->store_lock);
    ((struct stored_vectors *)of)->n_users--;
    mutex_unlock(&v->store_lock);
}

void vision_get_counts(struct vision *v, struct vision_counts *out) {
    mutex_lock(&v->store_lock);
    *out = (struct vision_counts){v->n_encoded, v->store.n_found, v->store.bytes};
    mutex_unlock(&v->store_lock);
}
