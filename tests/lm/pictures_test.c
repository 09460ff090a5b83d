// tests/lm/pictures_test.c - a text with pictures in it, as vectors with coordinates of their own, against what transformers computed.
#include "tests/check.h"
#include "tests/support/golden.h"
#include "tests/support/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_TOKEN = 278, MOST_PICTURES = 2 };

// The case's rows: an image token takes the next vector of the case's pictures, and every row three coordinates.
struct picture_rows {
    struct lm_row rows[GOLDEN_MAX_IDS];
    struct lm_input inputs[GOLDEN_MAX_IDS];
    struct npy pictures[MOST_PICTURES];
    int32_t n;
};

static bool read_pictures(const struct golden *g, const json_t *c, struct picture_rows *p) {
    const json_t *names = json_object_get(c, "images");
    for (size_t i = 0; i < json_array_size(names); i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.projected.npy", json_string_value(json_array_get(names, i)));
        if (!npy_read(golden_path(g, file), &p->pictures[i])) return false;
    }
    return true;
}

static bool make_rows(const struct golden *g, const json_t *c, int32_t seq, struct picture_rows *p) {
    const json_t *thw = json_object_get(c, "positions_thw");
    int32_t ids[GOLDEN_MAX_IDS];
    size_t picture = 0, vector = 0;
    p->n = golden_ids(c, ids);
    if (!read_pictures(g, c, p)) return false;
    for (int32_t i = 0; i < p->n; i++) {
        struct lm_input *in = &p->inputs[i];
        *in = (struct lm_input){.has_coord = true, .see_to = -1};
        for (size_t k = 0; k < 3; k++)
            in->coord[k] = (int32_t)json_integer_value(json_array_get(json_array_get(thw, k), (size_t)i));
        if (ids[i] == IMAGE_TOKEN) {
            if (vector == p->pictures[picture].shape[0]) picture++, vector = 0;
            in->vector = p->pictures[picture].data + vector++ * p->pictures[picture].shape[1];
        }
        p->rows[i] = (struct lm_row){seq, ids[i], LM_APPEND, LM_WANT_LOGITS, in};
    }
    return true;
}

static double largest_difference(struct golden *g, const json_t *c, const struct picture_rows *p) {
    struct npy want;
    double worst = 0;
    if (!npy_read(golden_path(g, json_string_value(json_object_get(c, "logits"))), &want)) return INFINITY;
    CHECK_INT(want.shape[0], p->n);
    for (size_t i = 0; i < want.shape[0]; i++)
        for (size_t v = 0; v < want.shape[1]; v++)
            worst = fmax(worst, fabs((double)lm_logits(g->rig.lm, i)[v] - (double)want.data[i * want.shape[1] + v]));
    npy_free(&want);
    return worst;
}

TEST(pictures_as_vectors_with_coordinates_give_the_logits_of_transformers) {
    struct rig_options o = rig_defaults();
    struct golden g;
    o.codec = KV_F32;
    if (golden_open(&g, true, "goldens/qwen2-vl", "", &o)) {
        int n_with_pictures = 0;
        for (size_t i = 0; i < json_array_size(g.cases); i++) {
            const json_t *c = json_array_get(g.cases, i);
            static struct picture_rows p;
            rn_error err = {0};
            p = (struct picture_rows){0};
            if (json_array_size(json_object_get(c, "positions_thw")) == 0) continue;
            check_note("%s", json_string_value(json_object_get(c, "name")));
            if (make_rows(&g, c, rig_seq(&g.rig), &p) &&
                CHECK_OK(lm_step(g.rig.lm, p.rows, (size_t)p.n, NULL, &err), &err)) {
                const double d = largest_difference(&g, c, &p);
                const double allowed = fmax(2e-4, 10 * json_number_value(json_object_get(c, "f64_max_abs_diff")));
                check_note("%s: differs by %g, allowed %g", json_string_value(json_object_get(c, "name")), d,
                           allowed);
                CHECK(d <= allowed); // as golden_compare() says
                n_with_pictures++;
            }
            for (size_t k = 0; k < MOST_PICTURES; k++) npy_free(&p.pictures[k]);
        }
        CHECK_INT(n_with_pictures, 2);
    }
    golden_close(&g);
}
