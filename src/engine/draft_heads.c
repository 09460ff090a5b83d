// engine/draft_heads.c - draft heads of models in the public interface: which parts (model_build_part()) a file of them has.
#include "base/mem.h"
#include "base/paths.h"
#include "engine/engine.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// What a call adds to a model, until it is known to be whole.
struct added {
    package *file; // NULL: the model's own
    struct model_part parts[ENGINE_MAX_PARTS];
    size_t n;
    int32_t taps[PROGRAM_MAX_TAPS], n_taps;
    const char *text; // that names layers
    int32_t *layers;
};

static const char *path_of(const rn_model *m, const struct added *a) {
    return package_path(a->file ? a->file : m->pkg);
}

static rn_status add_part(const rn_model *m, struct added *a, enum part_kind kind, int32_t number, rn_error *err) {
    if (m->n_parts + a->n == ENGINE_MAX_PARTS)
        return fail(err, RN_E_LIMIT, "%s: more than %d draft heads of one model", path_of(m, a), ENGINE_MAX_PARTS);
    a->parts[a->n++] = (struct model_part){.pkg = a->file, .spec = {.kind = kind, .number = number}};
    return RN_OK;
}

static rn_status add_mtp(const rn_model *m, struct added *a, rn_error *err) {
    const int32_t n = package_hparams(m->pkg)->n_layer_after;
    const char *const why = package_nextn_left_out(m->pkg);
    rn_status st = RN_OK;
    if (n == 0)
        return fail(err, RN_E_UNSUPPORTED, "%s: the model has no next-token-prediction layers%s%s", path_of(m, a),
                    why ? " that can be used: " : "", why ? why : "");
    for (int32_t i = 0; st == RN_OK && i < n; i++) st = add_part(m, a, PART_NEXTN, i, err);
    return st;
}

static rn_status add_medusa(const rn_model *m, struct added *a, rn_error *err) {
    rn_status st = RN_OK;
    for (int32_t i = 0; st == RN_OK; i++) {
        char name[64];
        snprintf(name, sizeof name, "%" PRId32 ".0.linear.weight", i);
        if (!package_tensor(a->file, name) && i > 0) break; // of none at all the part says what is missing
        st = add_part(m, a, PART_MEDUSA, i, err);
    }
    return st;
}

// The layers whose outputs the head reads: the file says which layers' inputs these are, or they are those of the paper's code.
static rn_status set_taps(const rn_model *m, struct added *a, rn_error *err) {
    const struct part_options *const o = package_part_options(a->file);
    const int32_t n = package_hparams(m->pkg)->n_layer, taps[] = {1, n / 2 - 1, n - 4};
    a->n_taps = PART_TAPS;
    for (int32_t i = 0; o->has_taps && i < PART_TAPS; i++) {
        if (o->taps[i] > n)
            return fail(err, RN_E_FORMAT, "%s: reads the input of layer %" PRId32 " of a model of %" PRId32,
                        path_of(m, a), o->taps[i], n);
        a->taps[i] = o->taps[i] - 1;
    }
    if (o->has_taps) return RN_OK;
    if (taps[1] <= taps[0] || taps[2] <= taps[1])
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: EAGLE-3 reads three layers, of a model of at least 10; it has %" PRId32, path_of(m, a), n);
    memcpy(a->taps, taps, sizeof taps);
    return RN_OK;
}

static rn_status add_eagle(const rn_model *m, struct added *a, rn_error *err) {
    const bool is_3 = package_tensor(a->file, "midlayer.hidden_norm.weight") ||
                      package_tensor(a->file, "layers.0.hidden_norm.weight");
    if (!is_3) return add_part(m, a, PART_EAGLE, 0, err);
    rn_status st = set_taps(m, a, err);
    if (st == RN_OK) st = add_part(m, a, PART_EAGLE3_TAPS, 0, err);
    return st == RN_OK ? add_part(m, a, PART_EAGLE3, 0, err) : st;
}

// A number, and what stands behind it; -1: there is none.
static int32_t read_number(const char **at) {
    int32_t n = -1;
    for (; **at >= '0' && **at <= '9' && n < 100000; ++*at) n = 10 * (n < 0 ? 0 : n) + (**at - '0');
    return n;
}

// "8": the first 8 layers draft. "4-7,9-9": all but these do. Returns how many do; 0: the text is neither.
static int32_t read_layers(const char *text, int32_t n_layer, bool *drafts) {
    const char *at = text;
    const int32_t n_first = read_number(&at);
    int32_t n = 0;
    for (int32_t i = 0; i < n_layer; i++) drafts[i] = *at || i < n_first;
    if (!*at) return n_first >= 1 && n_first <= n_layer ? n_first : 0;
    for (at = text;; at++) {
        const int32_t first = read_number(&at);
        if (*at != '-') return 0;
        at++;
        const int32_t last = read_number(&at);
        if (first < 0 || last < first || last >= n_layer || (*at && *at != ',')) return 0;
        for (int32_t i = first; i <= last; i++) drafts[i] = false;
        if (!*at) break;
    }
    for (int32_t i = 0; i < n_layer; i++) n += drafts[i];
    return n;
}

static rn_status add_layers(const rn_model *m, struct added *a, rn_error *err) {
    const int32_t n_layer = package_hparams(m->pkg)->n_layer;
    bool *const drafts = mem_calloc((size_t)n_layer + 1, sizeof *drafts);
    a->layers = mem_alloc(((size_t)n_layer + 1) * sizeof *a->layers);
    if (!drafts || !a->layers) {
        mem_free(drafts);
        return fail(err, RN_E_NOMEM, "layer-skip: out of memory for %" PRId32 " layers", n_layer);
    }
    const int32_t n = read_layers(a->text, n_layer, drafts);
    int32_t n_found = 0;
    for (int32_t i = 0; n > 0 && i < n_layer; i++)
        if (drafts[i]) a->layers[n_found++] = i;
    mem_free(drafts);
    if (n == 0)
        return fail(err, RN_E_ARG,
                    "layer-skip: \"%.40s\" is neither a number of first layers that draft, 1..%" PRId32
                    ", nor ranges of layers that are left out, A-B,C-D of 0..%" PRId32 ", with a layer besides",
                    a->text, n_layer, n_layer - 1);
    const rn_status st = add_part(m, a, PART_LAYERS, 0, err);
    if (st == RN_OK) a->parts[a->n - 1].spec.layers = a->layers, a->parts[a->n - 1].spec.n_layers = n;
    return st;
}

static const struct {
    const char *name, *file; // of the heads in a folder; NULL: they are in the model's own file
    rn_status (*add)(const rn_model *m, struct added *a, rn_error *err);
    bool has_text; // in place of a file
} kinds[N_DRAFT_HEADS] = {
    [RN_DRAFT_HEAD_MTP] = {"mtp", NULL, add_mtp},
    [RN_DRAFT_HEAD_MEDUSA] = {"medusa", "medusa_lm_head.safetensors", add_medusa},
    [RN_DRAFT_HEAD_EAGLE] = {"eagle", "model.safetensors", add_eagle},
    [RN_DRAFT_HEAD_LAYERS] = {"layer-skip", NULL, add_layers, .has_text = true},
};

static rn_status open_file(const char *path, const char *name, package **out, rn_error *err) {
    char in_folder[PATH_BYTES];
    bool found;
    if (!path_is_folder(path)) return package_open_part(path, NULL, out, err);
    const rn_status st = path_in_folder(path, NULL, name, in_folder, &found, err);
    if (st != RN_OK) return st;
    if (!found)
        return fail(
            err, RN_E_IO,
            "%s: holds no %s: it is no folder of such heads, or they were saved as a Python pickle: save them "
            "as safetensors",
            path, name);
    return package_open_part(in_folder, NULL, out, err);
}

// Do all parts fit the model?
static rn_status check_parts(const rn_model *m, const struct added *a, rn_error *err) {
    struct model *base, *part;
    const struct model_spec spec = {.taps = a->taps, .n_taps = a->n_taps};
    rn_status st = model_build_with(m->pkg, &spec, &base, err);
    for (size_t i = 0; st == RN_OK && i < a->n; i++) {
        st = model_build_part(a->parts[i].pkg, &a->parts[i].spec, base, &part, err);
        model_destroy(st == RN_OK ? part : NULL);
    }
    model_destroy(base);
    return st;
}

static rn_status check_call(const rn_model *m, rn_draft_head kind, const char *path, rn_error *err) {
    if ((unsigned)kind >= N_DRAFT_HEADS) return fail(err, RN_E_ARG, "draft head: kind %d is unknown", (int)kind);
    const char *const name = kinds[kind].name;
    const bool wants_path = kinds[kind].file || kinds[kind].has_text;
    if (!path == wants_path)
        return fail(err, RN_E_ARG, "%s: %s", name,
                    kinds[kind].has_text ? "the layers are not named"
                    : path               ? "the layers are in the model's own file"
                                         : "the file of the heads is missing");
    if (atomic_load(&m->is_open))
        return fail(err, RN_E_STATE, "%s: an engine has been opened with the model; add draft heads before", name);
    if (m->has_heads[kind]) return fail(err, RN_E_STATE, "%s: the model has heads of this kind", name);
    if (package_vocab_only(m->pkg)) return fail(err, RN_E_UNSUPPORTED, "%s: the model has no weights", name);
    return RN_OK;
}

rn_status rn_model_add_draft_heads(rn_model *m, rn_draft_head kind, const char *path, rn_error *err) {
    struct added a = {.text = path};
    if (!m) return fail(err, RN_E_ARG, "rn_model_add_draft_heads: NULL argument");
    rn_status st = check_call(m, kind, path, err);
    if (st == RN_OK && kinds[kind].file) st = open_file(path, kinds[kind].file, &a.file, err);
    if (st == RN_OK) st = kinds[kind].add(m, &a, err);
    if (st == RN_OK) st = check_parts(m, &a, err);
    if (st != RN_OK) {
        package_close(a.file);
        mem_free(a.layers);
        return st;
    }
    m->has_heads[kind] = true;
    m->head_files[kind] = a.file;
    if (a.layers) m->draft_layers = a.layers;
    memcpy(m->parts + m->n_parts, a.parts, a.n * sizeof *a.parts);
    m->n_parts += a.n;
    if (a.n_taps) memcpy(m->taps, a.taps, sizeof a.taps), m->n_taps = a.n_taps;
    return RN_OK;
}

void model_close_draft_heads(rn_model *m) {
    mem_free(m->draft_layers);
    for (size_t i = 0; i < N_DRAFT_HEADS; i++) package_close(m->head_files[i]);
}
