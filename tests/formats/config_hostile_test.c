// tests/formats/config_hostile_test.c - config.json of every architecture with each of its members spoiled: an error or a model.
#include "base/mem.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/same_package.h"
#include "tests/support/spoiled_config.h"
#include <stdlib.h>
#include <string.h>

struct folder {
    json_t *config;
    uint8_t *weights;
    size_t n_weights;
    long n_opened, n_refused;
};

static void open_folder(void *user, const json_t *spoiled) {
    struct folder *f = user;
    char *config = json_dumps(spoiled, JSON_COMPACT);
    const struct package_bytes files[] = {{"config.json", (const uint8_t *)config, strlen(config)},
                                          {"model.safetensors", f->weights, f->n_weights}};
    package *p = NULL;
    rn_error err = {0};
    const long live = mem_live();
    const rn_status st = package_from_folder_bytes("hostile", files, 2, &p, &err);
    CHECK((st == RN_OK) == (p != NULL) && (st == RN_OK) == (err.text[0] == 0));
    f->n_opened++;
    f->n_refused += st != RN_OK;
    package_close(p);
    CHECK_INT(mem_live(), live);
    free(config);
}

static void spoil_folder(const char *dir, const char *config, long *n_opened, long *n_refused) {
    char rel[128];
    struct folder f = {0};
    snprintf(rel, sizeof rel, "goldens/%s/%s", dir, config);
    f.config = json_load_file(shared_path(rel), 0, NULL);
    snprintf(rel, sizeof rel, "goldens/%s/model.safetensors", dir);
    f.weights = read_file(shared_path(rel), &f.n_weights);
    const struct spoiling s = {dir, f.config, open_folder, &f};
    if (CHECK(f.config && f.weights)) spoil_each_member(&s);
    *n_opened += f.n_opened;
    *n_refused += f.n_refused;
    json_decref(f.config);
    free(f.weights);
}

TEST(a_spoiled_member_of_any_architecture_is_an_error_or_a_model) {
    long n_opened = 0, n_refused = 0;
    if (!shared_path("goldens")) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    for (size_t i = 0; golden_models[i]; i++) {
        spoil_folder(golden_models[i], "config.json", &n_opened, &n_refused);
        spoil_folder(golden_models[i], "config.v5.json", &n_opened, &n_refused);
    }
    CHECK(n_opened > 20000 && n_refused > n_opened / 4);
}
