// serve/api/adapter_list.c - see adapter_list.h.
#include "serve/api/adapter_list.h"
#include <stdio.h>
#include <string.h>

enum { MOST_SCALE = 1000 };

typedef struct entry {
    int64_t id;     // -1: by its name
    json_span name; // NULL: by its number
    double scale;
} entry;

static bool read_entry(const json_item *item, entry *out, char *why) {
    const json_item *const id = json_item_member(item, "id"), *const name = json_item_member(item, "name");
    const json_item *const scale = json_item_member(item, "scale");
    *out = (entry){.id = -1, .scale = 1};
    if (!json_item_is_object(item) || !id == !name) {
        snprintf(why, JSON_WHY / 2, "must be an object with either id or name");
        return false;
    }
    return (!id || json_item_whole(id, 0, MACHINE_MAX_ADAPTERS - 1, &out->id, why)) &&
           (!name || json_item_text(name, &out->name, why)) &&
           (!scale || json_item_real(scale, -MOST_SCALE, MOST_SCALE, &out->scale, why));
}

bool adapter_list_check(const json_item *list, char *why) {
    if (!json_item_is_array(list) || json_item_count(list) > MACHINE_MAX_ADAPTERS) {
        snprintf(why, JSON_WHY / 2, "must be an array of at most %d adapters", MACHINE_MAX_ADAPTERS);
        return false;
    }
    for (size_t i = 0; i < json_item_count(list); i++) {
        char item_why[JSON_WHY / 2] = "";
        entry e;
        if (read_entry(json_item_at(list, i), &e, item_why)) continue;
        snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", i, item_why);
        return false;
    }
    return true;
}

static size_t n_adapters(const rn_model *model) {
    rn_model_info m = {.struct_size = sizeof m};
    return rn_model_get_info(model, &m, NULL) == RN_OK ? m.n_adapters : 0;
}

// The number of a model's adapter of this name; -1: it has none.
static int32_t find(const rn_model *model, const char *name, size_t n_name) {
    rn_adapter_info a = {.struct_size = sizeof a};
    for (size_t i = 0; rn_model_get_adapter(model, i, &a, NULL) == RN_OK; i++)
        if (strlen(a.name) == n_name && memcmp(a.name, name, n_name) == 0) return (int32_t)i;
    return -1;
}

bool adapter_list_read(const json_item *list, const rn_model *model, const char *param, adapter_list *out,
                       api_error *e) {
    const size_t n = n_adapters(model);
    bool is_named[MACHINE_MAX_ADAPTERS] = {false};
    out->n = 0;
    for (size_t i = 0; i < json_item_count(list); i++) {
        char why[JSON_WHY / 2] = "";
        entry at;
        if (!read_entry(json_item_at(list, i), &at, why))
            return api_fail(e, API_INVALID_VALUE, param, "%s: %s", param, why);
        const int64_t id = at.name.data ? find(model, at.name.data, at.name.n) : at.id;
        if (id < 0 || (size_t)id >= n)
            return api_fail(e, API_INVALID_VALUE, param,
                            "%s[%zu]: there is no such adapter; the model has %zu (GET /lora-adapters lists them)",
                            param, i, n);
        if (is_named[id])
            return api_fail(e, API_INVALID_VALUE, param, "%s[%zu]: adapter %d is named twice", param, i, (int)id);
        is_named[id] = true;
        if (at.scale == 0) continue;
        if (out->n == RN_MAX_ADAPTERS)
            return api_fail(e, API_INVALID_VALUE, param, "%s: more than %d adapters at a time", param,
                            RN_MAX_ADAPTERS);
        out->of[out->n++] = (rn_adapter){(size_t)id, (float)at.scale};
    }
    return true;
}
