// engine/early_layers_api.c - the public interface of layers that DoLa looks at.
#include "engine/engine.h"

// Does the head read what the layers write?
static rn_status check_part(const rn_model *m, const struct model_part *part, rn_error *err) {
    struct model *base, *head = NULL;
    rn_status st = model_build(m->pkg, &base, err);
    if (st == RN_OK && package_hparams(m->pkg)->n_vocab == 0)
        st = fail(err, RN_E_UNSUPPORTED, "%s: the model has no head", package_path(m->pkg));
    if (st == RN_OK) st = model_build_part(NULL, &part->spec, base, &head, err);
    model_destroy(head);
    model_destroy(base);
    return st;
}

rn_status rn_model_add_early_layers(rn_model *m, const char *layers, rn_error *err) {
    static const struct model_part head = {.spec = {.kind = PART_HEAD}};
    int32_t early[EARLY_LAYERS_MOST], n;
    if (!m || !layers) return fail(err, RN_E_ARG, "rn_model_add_early_layers: NULL argument");
    if (atomic_load(&m->is_open))
        return fail(err, RN_E_STATE, "early layers: an engine has been opened with the model; add them before");
    if (m->n_early) return fail(err, RN_E_STATE, "early layers: the model has some");
    if (package_vocab_only(m->pkg)) return fail(err, RN_E_UNSUPPORTED, "early layers: the model has no weights");
    if (m->n_parts == ENGINE_MAX_PARTS)
        return fail(err, RN_E_LIMIT, "%s: more than %d parts of one model", package_path(m->pkg), ENGINE_MAX_PARTS);
    rn_status st = early_layers_read(layers, package_hparams(m->pkg)->n_layer,
                                     !package_tensor(m->pkg, "output.weight"), early, &n, err);
    if (st == RN_OK) st = check_part(m, &head, err);
    if (st != RN_OK) return st;
    m->parts[m->n_parts++] = head;
    for (int32_t i = 0; i < n; i++) m->early[i] = early[i];
    m->n_early = n;
    return RN_OK;
}
