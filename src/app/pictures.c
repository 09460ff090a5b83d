// app/pictures.c - see pictures.h.
#include "app/pictures.h"
#include "app/files.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "app/say.h"
#include <stdio.h>
#include <string.h>

static const char placeholder[] = "<image>";
enum { N_PLACEHOLDER = sizeof placeholder - 1 };

static bool take_image(void *target, const char *value, char *why) {
    pictures *const p = target;
    if (p->n == PICTURES_MOST) {
        snprintf(why, NUMBER_WHY, "more than %d pictures", PICTURES_MOST);
        return false;
    }
    p->paths[p->n++] = value;
    return true;
}

const option pictures_rows[1] = {
    {0, "image", "FILE", OPTION_EACH, .each = take_image,
     .help =
         "a picture in the prompt, for models that see: PNG, JPEG, WebP, GIF or BMP; repeatable, - is stdin. It stands in "
         "place of \"<image>\", each in its turn, or before the prompt where that has none"},
};

bool pictures_read_stdin(const pictures *p) {
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->paths[i], "-") == 0) return true;
    return false;
}

bool picture_file_open(const char *path, rn_picture **out) {
    bytes file = {0};
    rn_error err = {0};
    if (!file_read(path, PICTURE_FILE_LIMIT, &file)) return false;
    const rn_status st = rn_picture_open(file.data, file.n, out, &err);
    bytes_free(&file);
    if (st != RN_OK) say("%s: %s", path, err.text);
    return st == RN_OK;
}

int pictures_open(pictures *p) {
    for (size_t i = 0; i < p->n; i++)
        if (!picture_file_open(p->paths[i], &p->open[i])) return EXIT_CODE_FAILED;
    return EXIT_CODE_OK;
}

static void add_part(pictures *p, rn_part part) { p->parts[p->n_parts++] = part; }
static void add_picture(pictures *p, size_t i) {
    add_part(p, (rn_part){.kind = RN_PART_PICTURE, .picture = p->open[i]});
}

static const char *find_placeholder(const char *at, const char *end) {
    return memmem(at, (size_t)(end - at), placeholder, N_PLACEHOLDER);
}

static int refuse_count(const pictures *p, const char *where, size_t n) {
    say("%s: has %zu places for pictures (%s), and there are %zu of --image", where, n, placeholder, p->n);
    return EXIT_CODE_USAGE;
}

int pictures_in_text(pictures *p, const rn_part *text) {
    const char *at = text->text, *const end = at + text->n_text;
    size_t n_places = 0, n = 0;
    p->n_parts = 0;
    for (const char *c = at; (c = find_placeholder(c, end)) != NULL; c += N_PLACEHOLDER) n_places++;
    if (n_places && n_places != p->n) return refuse_count(p, "prompt", n_places);
    for (; !n_places && n < p->n; n++) add_picture(p, n);
    for (;; n++) {
        const char *const next = n < p->n ? find_placeholder(at, end) : NULL;
        rn_part part = *text;
        part.text = at, part.n_text = (size_t)((next ? next : end) - at);
        if (part.n_text || p->n == 0) add_part(p, part);
        if (!next) return EXIT_CODE_OK;
        add_picture(p, n);
        at = next + N_PLACEHOLDER;
    }
}

// What of ids at `at`, where the token for pictures stands, is the picture: all of its tokens, marks included, or the token alone.
struct place {
    size_t from, n;
};
static bool find_place(const rn_model *model, const rn_picture *picture, size_t n_pictures, int32_t token,
                       const int32_t *ids, size_t n, size_t at, struct place *out, rn_error *err) {
    int32_t *own = NULL;
    size_t n_own = 0, n_before = 0;
    *out = (struct place){at, 1};
    if (rn_picture_tokens(model, picture, n_pictures, &own, &n_own, err) != RN_OK) return false;
    while (n_before < n_own && own[n_before] != token) n_before++;
    if (n_before <= at && n_own <= n - (at - n_before) && memcmp(ids + at - n_before, own, n_own * sizeof *own) == 0)
        *out = (struct place){at - n_before, n_own};
    rn_free(own);
    return true;
}

int pictures_in_ids(pictures *p, const rn_model *model, const int32_t *ids, size_t n) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    size_t i_picture = 0, from = 0;
    p->n_parts = 0;
    if (rn_model_get_info(model, &info, &err) != RN_OK) return machine_failed(&err);
    for (size_t i = 0; i < n && p->n;) {
        struct place place;
        if (ids[i] != info.picture_token) {
            i++;
            continue;
        }
        if (i_picture == p->n) return refuse_count(p, "--ids", i_picture + 1);
        if (!find_place(model, p->open[i_picture], p->n, info.picture_token, ids, n, i, &place, &err))
            return machine_failed(&err);
        if (place.from > from)
            add_part(p, (rn_part){.kind = RN_PART_IDS, .ids = ids + from, .n_ids = place.from - from});
        add_picture(p, i_picture++);
        i = from = place.from + place.n;
    }
    if (i_picture != p->n) return refuse_count(p, "--ids", i_picture);
    if (n > from) add_part(p, (rn_part){.kind = RN_PART_IDS, .ids = ids + from, .n_ids = n - from});
    return EXIT_CODE_OK;
}

void pictures_free(pictures *p) {
    for (size_t i = 0; i < p->n; i++) rn_picture_close(p->open[i]);
}
