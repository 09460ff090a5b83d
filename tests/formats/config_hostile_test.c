// tests/formats/config_hostile_test.c - config.json of every architecture with each of its members spoiled: an error or a model.
#include "base/mem.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/same_package.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

struct folder {
    json_t *config;
    uint8_t *weights;
    size_t n_weights;
    long n_opened, n_refused;
};

static void open_folder(struct folder *f) {
    char *config = json_dumps(f->config, JSON_COMPACT);
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

static json_t *hostile(size_t i) {
    static const char *const texts[] = {"0",          "1",   "-1",    "2",      "3",     "2147483647",
                                        "4294967296", "0.5", "1e300", "-1e300", "null",  "false",
                                        "true",       "[]",  "[1]",   "{}",     "\"x\"", "[\"x\", \"x\"]"};
    return i < N(texts) ? json_loads(texts[i], JSON_DECODE_ANY, NULL) : NULL;
}

// Members of an object, and of the objects in it.
static void spoil_members(struct folder *f, json_t *object, const char *dir) {
    json_t *names = json_array();
    const char *name;
    json_t *v;
    json_object_foreach(object, name, v) json_array_append_new(names, json_string(name));
    for (size_t k = 0; k < json_array_size(names); k++) {
        name = json_string_value(json_array_get(names, k));
        json_t *before = json_incref(json_object_get(object, name)), *spoiled;
        check_note("%s: %s", dir, name);
        for (size_t i = 0; (spoiled = hostile(i)); i++) {
            json_object_set_new(object, name, spoiled);
            open_folder(f);
        }
        for (size_t item = 0; json_is_array(before) && item < json_array_size(before); item++)
            for (size_t i = 0; (spoiled = hostile(i)); i++) {
                json_t *list = json_copy(before);
                json_array_set_new(list, item, spoiled);
                json_object_set_new(object, name, list);
                open_folder(f);
            }
        json_object_del(object, name);
        open_folder(f);
        json_object_set_new(object, name, before);
        if (json_is_object(before)) spoil_members(f, before, dir);
    }
    json_decref(names);
}

static void spoil_folder(const char *dir, const char *config, long *n_opened, long *n_refused) {
    char rel[128];
    struct folder f = {0};
    snprintf(rel, sizeof rel, "goldens/%s/%s", dir, config);
    f.config = json_load_file(shared_path(rel), 0, NULL);
    snprintf(rel, sizeof rel, "goldens/%s/model.safetensors", dir);
    f.weights = read_file(shared_path(rel), &f.n_weights);
    if (CHECK(f.config && f.weights)) spoil_members(&f, f.config, dir);
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
