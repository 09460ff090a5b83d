// convert/heads_out.c - rn_convert_draft_heads(): draft heads as a GGUF file, whose tensors have the names of the checkpoint.
#include "base/paths.h"
#include "convert/convert_options.h"
#include "convert/copy_pairs.h"
#include "convert/model_out.h"
#include "formats/gguf/gguf_part.h"
#include "formats/limits.h"
#include <string.h>

static struct vocab_str text_of(const char *s) { return (struct vocab_str){s, (uint32_t)strlen(s)}; }

// The kind of heads as general.architecture has it; NULL: the file has none.
static const char *arch_of(const package *p) {
    if (package_tensor(p, "0.0.linear.weight")) return "medusa";
    if (!package_tensor(p, "fc.weight")) return NULL;
    return package_tensor(p, "midlayer.hidden_norm.weight") || package_tensor(p, "layers.0.hidden_norm.weight")
               ? "eagle3"
               : "eagle";
}

static rn_status open_heads(const char *path, package **out, rn_error *err) {
    static const char *const names[] = {"medusa_lm_head.safetensors", "model.safetensors"};
    char in_folder[PATH_BYTES];
    bool found = false;
    if (!path_is_folder(path)) return package_open_part(path, NULL, out, err);
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        const rn_status st = path_in_folder(path, NULL, names[i], in_folder, &found, err);
        if (st != RN_OK) return st;
    }
    if (found) return package_open_part(in_folder, NULL, out, err);
    return fail(err, RN_E_IO, "%s: holds neither %s nor %s", path, names[0], names[1]);
}

static void put_metadata(gguf_writer *w, const package *p, const char *arch, const struct mix *mix) {
    size_t n;
    const int32_t *const tokens = package_token_map(p, &n);
    gguf_put_string(w, "general.architecture", text_of(arch));
    if (mix) gguf_put_u32(w, "general.file_type", mix->file_type);
    if (mix) gguf_put_u32(w, "general.quantization_version", GGUF_QUANTIZATION_VERSION);
    const struct part_options *const o = package_part_options(p);
    if (o->has_taps) gguf_put_array(w, GGUF_EAGLE3_LAYERS, GGUF_I32, PART_TAPS);
    for (size_t i = 0; o->has_taps && i < PART_TAPS; i++) gguf_put_item_i32(w, o->taps[i]);
    if (o->norm_before_residual) gguf_put_bool(w, GGUF_EAGLE3_RESIDUAL, true);
    if (o->norm_before_fc) gguf_put_bool(w, GGUF_EAGLE3_FC, true);
    if (tokens) gguf_put_array(w, GGUF_DRAFT_TOKENS, GGUF_I32, n);
    for (size_t i = 0; tokens && i < n; i++) gguf_put_item_i32(w, tokens[i]);
}

static rn_status write_heads(const package *p, const char *heads, const char *out, const rn_quantize_options *o,
                             const struct mix *mix, rn_error *err) {
    const char *const arch = arch_of(p);
    const struct plan_request request = {.mix = mix,
                                         .rules = o->keep,
                                         .n_rules = o->n_keep,
                                         .is_convert = true,
                                         .allow_requantize = o->allow_requantize};
    struct arena into = {0};
    struct tensor_plan *plans;
    gguf_writer *w;
    if (!arch) return fail(err, RN_E_FORMAT, "%s: holds neither Medusa heads nor an EAGLE head", heads);
    if (package_reads(p, out))
        return fail(err, RN_E_ARG, "%s: is an input file too: give the output another name", out);
    rn_status st = plan_types(p, &request, &into, &plans, err);
    if (st == RN_OK) st = gguf_writer_create(out, GGUF_DEFAULT_ALIGNMENT, &w, err);
    if (st == RN_OK) {
        put_metadata(w, p, arch, mix);
        st = model_write(w, p, plans, package_n_tensors(p), NULL, o, false, err);
    }
    arena_free(&into);
    return st;
}

rn_status rn_convert_draft_heads(const char *heads, const char *out, const rn_quantize_options *opt, rn_error *err) {
    rn_quantize_options o;
    const struct mix *mix;
    package *p = NULL;
    if (!heads || !out) return fail(err, RN_E_ARG, "rn_convert_draft_heads: NULL argument");
    rn_status st = convert_options_read(opt, &o, &mix, err);
    if (st == RN_OK && (o.imatrix || o.n_merges))
        st = fail(err, RN_E_ARG, "%s: not of draft heads", o.imatrix ? "imatrix" : "merges");
    if (st == RN_OK) st = open_heads(heads, &p, err);
    if (st == RN_OK) st = write_heads(p, heads, out, &o, mix, err);
    package_close(p);
    return st;
}
