// tests/lm/config_numbers_test.c - config.json of every architecture with one of its members out of order, and what opens takes steps.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include "tests/support/same_package.h"
#include "tests/support/spoiled_config.h"
#include <stdlib.h>
#include <string.h>

struct folder {
    uint8_t *weights;
    size_t n_weights;
    int n_met, stride, n_refused, n_run;
};

static bool run(package *pkg) {
    struct rig_options o = rig_defaults();
    struct model *model = NULL;
    struct rig r;
    rn_error err = {0};
    o.lm.n_windows = 4;
    const rn_status st = model_build(pkg, &model, &err);
    model_destroy(model);
    if (st != RN_OK) {
        CHECK(st != RN_E_INTERNAL && strncmp(err.text, "hostile", 7) == 0);
        package_close(pkg);
        return false;
    }
    if (rig_open_package(&r, pkg, &o)) rig_check_cut(&r, 20, 7);
    rig_close(&r);
    return true;
}

static void open_and_run(void *user, const json_t *spoiled) {
    struct folder *f = user;
    if (f->n_met++ % f->stride != 0) return;
    char *config = json_dumps(spoiled, JSON_COMPACT);
    const struct package_bytes files[] = {{"config.json", (const uint8_t *)config, strlen(config)},
                                          {"model.safetensors", f->weights, f->n_weights}};
    package *p = NULL;
    rn_error err = {0};
    const long live = mem_live();
    const rn_status st = package_from_folder_bytes("hostile", files, 2, &p, &err);
    const bool runs = st == RN_OK && run(p);
    f->n_run += runs;
    f->n_refused += !runs;
    CHECK_INT(mem_live(), live);
    free(config);
}

static json_t *load(const char *dir, const char *name) {
    char rel[128];
    snprintf(rel, sizeof rel, "goldens/%s/%s", dir, name);
    return shared_path(rel) ? json_load_file(shared_path(rel), 0, NULL) : NULL;
}

static void spoil_folder(struct folder *f, const char *dir) {
    static const char *const spellings[] = {"config.json", "config.v5.json"};
    char rel[128];
    snprintf(rel, sizeof rel, "goldens/%s/model.safetensors", dir);
    f->weights = read_file(shared_path(rel), &f->n_weights);
    for (size_t i = 0; f->weights && i < sizeof spellings / sizeof *spellings; i++) {
        json_t *config = load(dir, spellings[i]);
        const struct spoiling s = {dir, config, open_and_run, f};
        if (CHECK(config)) spoil_each_member(&s);
        json_decref(config);
    }
    free(f->weights);
}

// Every third; every 31st with sanitizers.
TEST(what_a_spoiled_member_opens_takes_steps_that_do_not_depend_on_their_cut) {
    struct folder f = {.stride = test_stride(3, 31)};
    if (!shared_path("goldens")) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    for (size_t i = 0; golden_models[i]; i++) spoil_folder(&f, golden_models[i]);
    check_note("%d run, %d refused", f.n_run, f.n_refused);
    CHECK(f.n_run > 10000 / f.stride && f.n_refused > 20000 / f.stride);
}
