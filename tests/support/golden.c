// tests/support/golden.c - see golden.h.
#include "tests/support/golden.h"
#include "tests/check.h"
#include "tests/support/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_GREEDY = 32 };

const char *golden_path(const struct golden *g, const char *file) {
    char rel[600];
    snprintf(rel, sizeof rel, "%s%s%s", g->dir, *file ? "/" : "", file);
    return g->shared ? shared_path(rel) : tests_path(rel);
}

bool golden_open(struct golden *g, bool shared, const char *dir, const char *model, const struct rig_options *o) {
    size_t n = 0;
    *g = (struct golden){.shared = shared, .dir = dir};
    if (!golden_path(g, "cases.json")) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    char *text = (char *)read_file(golden_path(g, "cases.json"), &n);
    json_t *file = text ? json_loadb(text, n, 0, NULL) : NULL;
    free(text);
    g->cases = json_incref(json_object_get(file, "cases"));
    json_decref(file);
    return CHECK(json_array_size(g->cases) > 0) &&
           rig_open_file(&g->rig, model[0] == '/' ? model : golden_path(g, model), o);
}

void golden_close(struct golden *g) {
    rig_close(&g->rig);
    json_decref(g->cases);
}

int32_t golden_ids(const json_t *c, int32_t out[GOLDEN_MAX_IDS]) {
    const json_t *list = json_object_get(c, "ids");
    const size_t n = json_array_size(list);
    if (n > GOLDEN_MAX_IDS) abort();
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return (int32_t)n;
}

// The largest difference in the positions that the file has; -1 where the file is not kept here.
static double largest_difference(struct golden *g, const json_t *c, const int32_t *ids, int32_t n) {
    const size_t n_vocab = (size_t)g->rig.lm->n_vocab;
    const json_t *positions = json_object_get(c, "positions");
    const char *file = golden_path(g, json_string_value(json_object_get(c, "logits")));
    struct npy want;
    double worst = -1;
    if (g->shared && !file) return worst;
    FILE *f = fopen(file, "rb");
    if (!f) return worst;
    fclose(f);
    if (!npy_read(file, &want)) return worst;
    float *got = new_floats((size_t)n * n_vocab);
    if (CHECK(want.shape[1] == n_vocab) && rig_eval_fresh(&g->rig, ids, n, got)) {
        for (size_t i = 0; i < want.shape[0]; i++) {
            const json_t *at = json_array_get(positions, i);
            const size_t pos = at ? (size_t)json_integer_value(at) : i;
            for (size_t v = 0; v < n_vocab; v++)
                worst = fmax(worst, fabs((double)got[pos * n_vocab + v] - (double)want.data[i * n_vocab + v]));
        }
    }
    free(got);
    npy_free(&want);
    return worst;
}

static int32_t argmax(const float *x, int32_t n) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

// Greedy tokens, up to the first step whose margin is below the given one.
static void check_greedy(struct golden *g, const json_t *c, const int32_t *ids, int32_t n, double least_margin) {
    const json_t *want = json_object_get(c, "greedy"), *margins = json_object_get(c, "margins");
    float *logits = new_floats((size_t)n * (size_t)g->rig.lm->n_vocab);
    const int32_t seq = rig_seq_for(&g->rig, n + N_GREEDY);
    bool ok = want && rig_append(&g->rig, seq, ids, n, logits);
    int32_t token = ok ? argmax(logits + (size_t)(n - 1) * (size_t)g->rig.lm->n_vocab, g->rig.lm->n_vocab) : 0;
    for (size_t i = 0; ok && i < N_GREEDY; i++) {
        if (json_number_value(json_array_get(margins, i)) < least_margin) break;
        check_note("%s: greedy token %zu", json_string_value(json_object_get(c, "name")), i);
        if (!CHECK_INT(token, json_integer_value(json_array_get(want, i)))) break;
        ok = rig_append(&g->rig, seq, &token, 1, logits);
        token = argmax(logits, g->rig.lm->n_vocab);
    }
    lm_seq_free(g->rig.lm, seq);
    free(logits);
}

void golden_compare(struct golden *g, double bound, int n_want) {
    int n_compared = 0;
    size_t i;
    json_t *c;
    json_array_foreach(g->cases, i, c) {
        int32_t ids[GOLDEN_MAX_IDS];
        const int32_t n = golden_ids(c, ids);
        const double noise = json_number_value(json_object_get(c, "f64_max_abs_diff"));
        const double tolerance = bound > 0 ? bound : fmax(2e-4, 10 * noise);
        const double worst = largest_difference(g, c, ids, n);
        check_note("%s: differs by %g, allowed %g", json_string_value(json_object_get(c, "name")), worst, tolerance);
        CHECK(worst <= tolerance);
        n_compared += worst >= 0;
        // A step may turn out otherwise where the two best logits are closer than both together may be off.
        check_greedy(g, c, ids, n, bound > 0 ? 2 * tolerance : 0);
    }
    check_note("cases compared");
    CHECK_INT(n_compared, n_want);
}
