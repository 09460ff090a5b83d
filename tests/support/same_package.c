// tests/support/same_package.c - see same_package.h.
#include "tests/support/same_package.h"
#include "formats/hparams/hparams.h"
#include "tests/check.h"
#include "tests/support/golden_folders.h"
#include <math.h>
#include <string.h>

const char *const golden_models[] = {
#define FOLDER(id, folder, arch, n_cases, tolerance) folder,
    GOLDEN_FOLDERS(FOLDER)
#undef FOLDER
        NULL};

// What cosines and sines are multiplied by: package.h.
static double magnitude(const struct hparams *h) {
    const double log_factor =
        h->rope_scaling == ROPE_SCALING_YARN && h->rope_factor > 1 ? log((double)h->rope_factor) : 0;
    return (double)h->rope_attn_factor * (1 + 0.1 * (double)h->rope_mscale * log_factor) /
           (1 + 0.1 * (double)h->rope_mscale_all * log_factor);
}

static bool is_of_magnitude(size_t at) {
    return at == offsetof(struct hparams, rope_attn_factor) || at == offsetof(struct hparams, rope_mscale) ||
           at == offsetof(struct hparams, rope_mscale_all);
}

void check_same_hparams(const struct hparams *a, const struct hparams *b) {
    CHECK_STR(a->arch, b->arch);
    CHECK_STR(a->file_type, b->file_type);
    CHECK(a->is_checked == b->is_checked && a->n_vocab == b->n_vocab && a->head_dim_v == b->head_dim_v);
    CHECK(a->rope_scaling == b->rope_scaling && a->rope_exact_ramp == b->rope_exact_ramp);
    CHECK(memcmp(a->rope_sections, b->rope_sections, sizeof a->rope_sections) == 0);
    CHECK(fabs(magnitude(a) - magnitude(b)) <= 1e-6 * magnitude(a));
    for (size_t i = 0; i < hparam_n_rows; i++) {
        const struct hparam_row *row = &hparam_rows[i];
        if (row->at >= sizeof *a || is_of_magnitude(row->at)) continue;
        const double x = hparam_get(a, row), y = hparam_get(b, row);
        if (x == y) continue;
        const char *key = row->in[HPARAMS_GGUF].names[0];
        CHECK(x == y);
        printf("  %s: %.9g, %.9g\n", key ? key : row->in[HPARAMS_CONFIG].names[0], x, y);
    }
    for (int32_t l = 0; l < a->n_layer && a->n_layer == b->n_layer; l++)
        CHECK(memcmp(&a->layers[l], &b->layers[l], sizeof a->layers[l]) == 0);
}

void check_same_tensors(const package *a, const package *b) {
    CHECK_INT(package_n_tensors(a), package_n_tensors(b));
    for (size_t i = 0; i < package_n_tensors(a); i++) {
        const struct tensor_view *x = package_tensor_at(a, i), *y = package_tensor(b, x->name);
        if (!CHECK(y != NULL)) {
            printf("  %s is missing\n", x->name);
            continue;
        }
        CHECK(x->type == y->type && x->n_dims == y->n_dims && memcmp(x->ne, y->ne, sizeof x->ne) == 0);
        CHECK(x->n_bytes == y->n_bytes && memcmp(x->data, y->data, x->n_bytes) == 0);
    }
}
