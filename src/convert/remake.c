// convert/remake.c - rn_convert() and rn_quantize(): open a model, plan the tensors' types, write a
// new file.
//
// They differ in their input and in the metadata: for a folder it is made from the hyper-parameters
// that were read, for a GGUF file it is copied.
#include "base/log.h"
#include "base/paths.h"
#include "convert/convert_options.h"
#include "convert/copy_pairs.h"
#include "convert/metadata.h"
#include "convert/metadata_layers.h"
#include "convert/model_out.h"
#include "convert/tensor_order.h"
#include "formats/hparams/arch_facts.h"
#include "formats/limits.h"
#include <stdio.h>
#include <string.h>

struct remake {
    const char *in, *out;
    const rn_quantize_options *opt;
    rn_quantize_options own; // what opt points to after it was read
    bool is_convert;
    const struct mix *mix; // NULL: matrices keep their types
    package *p;
    struct imatrix imatrix;
    struct merges merges;
    struct arena arena;
    struct tensor_plan *plans;
    log_sink log;
    rn_error *err;
};

static rn_status take_options(struct remake *r) {
    const rn_quantize_options *o = &r->own;
    const rn_status st = convert_options_read(r->opt, &r->own, &r->mix, r->err);
    if (st != RN_OK) return st;
    r->opt = o;
    if (o->log) r->log = (log_sink){(void (*)(void *, int, const char *))o->log, o->log_user, LOG_DEBUG};
    if (!o->type && !r->is_convert && o->n_merges == 0) return fail(r->err, RN_E_ARG, "type: none given");
    return RN_OK;
}

static bool load_progress(void *user, uint64_t done, uint64_t total) {
    const struct remake *r = user;
    return r->opt->progress(r->opt->progress_user, RN_PHASE_LOAD, done, total);
}

// The output must not be one of the inputs.
static rn_status check_output(struct remake *r) {
    const bool is_guide = r->opt->imatrix && path_is_same_file(r->opt->imatrix, r->out);
    if (!is_guide && !package_reads(r->p, r->out)) return RN_OK;
    return fail(r->err, RN_E_ARG, "%s: is an input file too: give the output another name", r->out);
}

static rn_status open_source(struct remake *r) {
    const rn_quantize_options *o = r->opt;
    const struct package_options po = {
        .load = FILE_LOAD_MAP, .progress = o->progress ? load_progress : NULL, .progress_user = r};
    if (path_is_folder(r->in) && !r->is_convert)
        return fail(r->err, RN_E_ARG, "%s: is a folder: convert makes a GGUF file of it first", r->in);
    if (r->is_convert && !path_is_folder(r->in) && path_file_bytes(r->in) > 0)
        return fail(r->err, RN_E_ARG, "%s: is not a folder: quantize takes GGUF files", r->in);
    rn_status st = package_open(r->in, &po, &r->p, r->err);
    if (st != RN_OK) return st;
    if (package_vocab_only(r->p))
        return fail(r->err, RN_E_UNSUPPORTED, "%s: holds only a vocabulary, no weights", r->in);
    if ((st = check_output(r)) != RN_OK) return st;
    if (package_note(r->p)) log_to(&r->log, LOG_WARN, "%s", package_note(r->p));
    if (package_nextn_left_out(r->p))
        log_to(&r->log, LOG_WARN, "next-token-prediction layers are left out: %s", package_nextn_left_out(r->p));
    return RN_OK;
}

static rn_status plan(struct remake *r) {
    const rn_quantize_options *o = r->opt;
    const struct plan_request request = {.mix = r->mix,
                                         .rules = o->keep,
                                         .n_rules = o->n_keep,
                                         .is_convert = r->is_convert,
                                         .allow_requantize = o->allow_requantize,
                                         .imatrix = o->imatrix ? &r->imatrix : NULL,
                                         .merges = &r->merges};
    rn_status st = o->imatrix ? imatrix_load(&r->imatrix, o->imatrix, r->err) : RN_OK;
    if (st == RN_OK) st = merges_open(&r->merges, o->merges, o->n_merges, r->p, r->err);
    for (size_t i = 0; st == RN_OK && i < r->merges.n; i++)
        if (package_reads(adapter_file_package(r->merges.files[i]), r->out))
            st = fail(r->err, RN_E_ARG, "%s: is an input file too: give the output another name", r->out);
    if (st == RN_OK) st = plan_types(r->p, &request, &r->arena, &r->plans, r->err);
    return st;
}

// The file type of a folder converted without a requested type: that of most bytes of its matrices.
static uint32_t file_type_of(const package *p) {
    static const struct {
        enum tensor_type type;
        uint32_t file_type; // as in mixes.c
    } known[] = {{TENSOR_F32, 0}, {TENSOR_F16, 1}, {TENSOR_BF16, 32}, {TENSOR_MXFP4, 38}};
    uint64_t most = 0;
    uint32_t found = known[0].file_type;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < package_n_tensors(p); i++) {
            const struct tensor_view *t = package_tensor_at(p, i);
            if (t->type == known[k].type && t->n_dims >= 2) bytes += t->n_bytes;
        }
        if (bytes > most) found = known[k].file_type;
        most = bytes > most ? bytes : most;
    }
    return found;
}

// Lists the keys of the source that are not copied but replaced: the file type, and the head sizes
// of latent attention, which older files store for the tensors' old form.
static size_t list_replaced(const struct remake *r, struct replaced_pair list[MAX_REPLACED_PAIRS]) {
    const struct hparams *h = package_hparams(r->p);
    const struct {
        const char *name;
        int32_t value;
    } of_latent[] = {{"attention.key_length", h->head_dim},
                     {"attention.value_length", h->head_dim_v},
                     {"attention.head_count_kv", h->n_head_kv},
                     {"attention.key_length_mla", h->head_dim_nope + h->n_rot},
                     {"attention.value_length_mla", h->mla_head_dim_v}};
    size_t n = 0;
    if (r->mix) list[n++] = (struct replaced_pair){"general.file_type", r->mix->file_type};
    if (r->mix) list[n++] = (struct replaced_pair){"general.quantization_version", GGUF_QUANTIZATION_VERSION};
    const bool moved = h->kv_lora_rank > 0 && !arch_facts_find(h->arch)->whole_kv_b;
    for (size_t i = 0; moved && i < sizeof of_latent / sizeof *of_latent; i++, n++) {
        list[n].value = (uint32_t)of_latent[i].value;
        snprintf(list[n].key, sizeof list[n].key, "%s", metadata_key_of(h, of_latent[i].name).text);
    }
    return n;
}

// Creates a writer with the new file's metadata.
static rn_status begin_output(struct remake *r, gguf_writer **w) {
    if (!r->is_convert) {
        const struct file_map *first = package_file_at(r->p, 0);
        struct replaced_pair replaced[MAX_REPLACED_PAIRS];
        const size_t n = list_replaced(r, replaced);
        return pairs_copy(first->data, first->size, r->out, replaced, n, w, r->err);
    }
    rn_status st = gguf_writer_create(r->out, GGUF_DEFAULT_ALIGNMENT, w, r->err);
    if (st != RN_OK) return st;
    st = metadata_put(*w, r->p, r->mix ? r->mix->file_type : file_type_of(r->p), &r->log, r->err);
    if (st == RN_OK) return RN_OK;
    gguf_writer_abandon(*w);
    return fail_in(r->err, st, "%s", r->in);
}

static rn_status remake(struct remake *r) {
    gguf_writer *w;
    rn_status st = take_options(r);
    if (st == RN_OK) st = open_source(r);
    if (st == RN_OK) st = plan(r);
    if (st == RN_OK) st = begin_output(r, &w);
    if (st == RN_OK) {
        if (r->is_convert) tensor_order(r->plans, package_n_tensors(r->p));
        st = model_write(w, r->p, r->plans, package_n_tensors(r->p), &r->merges, r->opt, r->is_convert, r->err);
    }
    merges_close(&r->merges);
    package_close(r->p);
    imatrix_free(&r->imatrix);
    arena_free(&r->arena);
    return st;
}

static rn_status start(const char *in, const char *out, const rn_quantize_options *opt, bool is_convert,
                       rn_error *err) {
    if (!in || !out) return fail(err, RN_E_ARG, "%s: NULL argument", is_convert ? "rn_convert" : "rn_quantize");
    struct remake r = {.in = in, .out = out, .opt = opt, .is_convert = is_convert, .err = err};
    return remake(&r);
}

rn_status rn_convert(const char *dir, const char *out, const rn_quantize_options *opt, rn_error *err) {
    return start(dir, out, opt, true, err);
}

rn_status rn_quantize(const char *in, const char *out, const rn_quantize_options *opt, rn_error *err) {
    return start(in, out, opt, false, err);
}

size_t rn_n_quantizations(void) { return mix_count(); }
bool rn_quantization_at(size_t i, rn_quantization *q) {
    if (i >= mix_count() || !q) return false;
    *q = (rn_quantization){mix_at(i)->name, mix_at(i)->help};
    return true;
}
