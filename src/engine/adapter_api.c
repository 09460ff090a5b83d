// engine/adapter_api.c - adapters of models in the public interface: loading them, and which of them streams use.
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include <math.h>
#include <string.h>

// ---- of models ------------------------------------------------------------------------------------------------------

// The last part of a path without ".gguf": what an adapter is called where it was given no name.
static char *name_of(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') from--;
    static const char *const ends[] = {".gguf", ".safetensors"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n_end = strlen(ends[i]);
        if (n - from > n_end && memcmp(path + n - n_end, ends[i], n_end) == 0) n -= n_end;
    }
    return mem_strndup(path + from, n - from);
}

static rn_status check_name(const rn_model *m, const char *name, rn_error *err) {
    if (!name[0]) return fail(err, RN_E_ARG, "adapter: its name is empty");
    for (size_t i = 0; i < m->n_adapters; i++)
        if (strcmp(m->adapters[i].name, name) == 0)
            return fail(err, RN_E_ARG, "adapter %s: the model has one of this name (%s); give it another name", name,
                        adapter_file_path(m->adapters[i].file));
    return RN_OK;
}

rn_status rn_model_add_adapter(rn_model *m, const char *path, const char *name, rn_error *err) {
    if (!m || !path) return fail(err, RN_E_ARG, "rn_model_add_adapter: NULL argument");
    if (atomic_load(&m->is_open))
        return fail(err, RN_E_STATE, "adapter %s: an engine has been opened with the model; add adapters before",
                    path);
    if (package_vocab_only(m->pkg)) return fail(err, RN_E_UNSUPPORTED, "adapter %s: the model has no weights", path);
    if (m->n_adapters == PROGRAM_MAX_ADAPTERS)
        return fail(err, RN_E_LIMIT, "adapter %s: more than %d of one model", path, PROGRAM_MAX_ADAPTERS);
    struct model_adapter a = {.name = name ? mem_strndup(name, strlen(name)) : name_of(path)};
    rn_status st = a.name ? check_name(m, a.name, err) : fail(err, RN_E_NOMEM, "adapter %s: out of memory", path);
    if (st == RN_OK) st = adapter_file_open(path, m->pkg, NULL, &a.file, err);
    if (st != RN_OK) {
        mem_free(a.name);
        return st;
    }
    m->adapters[m->n_adapters++] = a;
    return RN_OK;
}

void model_close_adapters(rn_model *m) {
    for (size_t i = 0; i < m->n_adapters; i++) {
        adapter_file_close(m->adapters[i].file);
        mem_free(m->adapters[i].name);
    }
}

rn_status rn_model_get_adapter(const rn_model *m, size_t i, rn_adapter_info *info, rn_error *err) {
    if (!m) return fail(err, RN_E_ARG, "rn_model_get_adapter: NULL argument");
    const rn_status st = sized_check(&public_adapter_info, info, err);
    if (st != RN_OK) return st;
    if (i >= m->n_adapters) return fail(err, RN_E_ARG, "adapter: %zu, the model has %zu", i, m->n_adapters);
    const struct adapter_file *f = m->adapters[i].file;
    const rn_adapter_info own = {.name = m->adapters[i].name,
                                 .path = adapter_file_path(f),
                                 .format = adapter_file_format(f),
                                 .rank = (int32_t)adapter_file_rank(f),
                                 .n_tensors = adapter_file_n_pairs(f),
                                 .n_params = adapter_file_n_params(f)};
    sized_write(&public_adapter_info, &own, info);
    return RN_OK;
}

// ---- of streams -----------------------------------------------------------------------------------------------------

rn_status model_slot_read_adapters(const struct model_slot *l, const rn_adapter *list, size_t n,
                                   struct lm_adapters *out, rn_error *err) {
    *out = (struct lm_adapters){0};
    if (!list && n) return fail(err, RN_E_ARG, "adapters: NULL with n_adapters %zu", n);
    for (size_t i = 0; i < n; i++) {
        if (list[i].adapter >= l->m->n_adapters)
            return fail(err, RN_E_ARG, "adapters[%zu]: adapter %zu, the model has %zu", i, list[i].adapter,
                        l->m->n_adapters);
        if (!isfinite(list[i].scale) || fabsf(list[i].scale) > RN_MAX_ADAPTER_SCALE)
            return fail(err, RN_E_ARG, "adapters[%zu]: scale %g is outside -%g..%g", i, (double)list[i].scale,
                        (double)RN_MAX_ADAPTER_SCALE, (double)RN_MAX_ADAPTER_SCALE);
        const rn_status st = lm_adapters_add(out, (int32_t)list[i].adapter, list[i].scale, err);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

struct lm_adapters model_slot_adapters(rn_engine *e, const struct model_slot *l) {
    mutex_lock(&e->lock);
    const struct lm_adapters list = l->adapters;
    mutex_unlock(&e->lock);
    return list;
}

rn_status rn_engine_set_adapters(rn_engine *e, size_t model, const rn_adapter *adapters, size_t n_adapters,
                                 rn_error *err) {
    struct lm_adapters list;
    if (!e) return fail(err, RN_E_ARG, "rn_engine_set_adapters: NULL argument");
    rn_status st = check_range("model", (int64_t)model, 0, (int64_t)e->n_models - 1, err);
    if (st == RN_OK) st = model_slot_read_adapters(&e->model_slots[model], adapters, n_adapters, &list, err);
    if (st != RN_OK) return st;
    mutex_lock(&e->lock);
    e->model_slots[model].adapters = list;
    mutex_unlock(&e->lock);
    return RN_OK;
}

float rn_engine_adapter_scale(rn_engine *e, size_t model, size_t adapter) {
    if (!e || model >= e->n_models) return 0;
    const struct lm_adapters list = model_slot_adapters(e, &e->model_slots[model]);
    for (int32_t i = 0; i < list.n; i++)
        if ((size_t)list.of[i].adapter == adapter) return list.of[i].scale;
    return 0;
}
