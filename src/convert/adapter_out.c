// convert/adapter_out.c - rn_convert_adapter(): an adapter as a GGUF file, as llama.cpp's convert_lora_to_gguf.py writes them.
//
// The file has one alpha, and a pair's scale is alpha / rank. Where an adapter gives matrices other scales (patterns, rsLoRA), B has the
// quotient. Matrices are F32, as that converter writes them: llama.cpp would round the rows that it multiplies with those of BF16.
#include "base/mem.h"
#include "base/paths.h"
#include "formats/adapter/adapter_file.h"
#include "formats/gguf/gguf_write.h"
#include "formats/limits.h"
#include <math.h>
#include <runnel/tools.h>
#include <stdio.h>
#include <string.h>

static struct vocab_str text_of(const char *s) { return (struct vocab_str){s, (uint32_t)strlen(s)}; }

// The factor of a pair's B.
static float factor_of(const struct adapter_pair *p, float alpha) {
    const float scale = alpha / (float)p->rank;
    return scale == p->scale ? 1 : p->scale / scale;
}

// That of the first pair whose scale is not 0; 0 would mean a scale of 1.
static float alpha_of(const struct adapter_file *f) {
    for (size_t i = 0; i < adapter_file_n_pairs(f); i++) {
        const struct adapter_pair *p = adapter_file_pair(f, i);
        const float alpha = p->scale * (float)p->rank, whole = roundf(alpha);
        // Alphas are whole numbers as a rule, which a scale of thirds does not give back exactly.
        if (p->scale != 0) return whole != 0 && whole / (float)p->rank == p->scale ? whole : alpha;
    }
    return 1;
}

// Blocks stay as they are, unless a factor has to be applied.
static bool becomes_floats(const struct tensor_view *t, float factor) {
    return t->type == TENSOR_F32 || t->type == TENSOR_F16 || t->type == TENSOR_BF16 || factor != 1;
}

static void put_matrix(gguf_writer *w, const struct adapter_pair *p, const char *end, const struct tensor_view *t,
                       float factor) {
    char name[2 * GGUF_MAX_TENSOR_NAME_BYTES]; // one that is too long is the writer's error
    snprintf(name, sizeof name, "%s%s", p->tensor, end);
    gguf_put_record(w, name, becomes_floats(t, factor) ? TENSOR_F32 : t->type, t->n_dims, t->ne);
}

static void put_head(gguf_writer *w, const struct adapter_file *f, const package *base, const char *name,
                     float alpha) {
    gguf_put_string(w, "general.architecture", text_of(package_hparams(base)->arch));
    gguf_put_string(w, "general.type", text_of("adapter"));
    gguf_put_string(w, "general.name", text_of(name));
    gguf_put_string(w, "adapter.type", text_of("lora"));
    gguf_put_f32(w, "adapter.lora.alpha", alpha);
    for (size_t i = 0; i < adapter_file_n_pairs(f); i++) {
        const struct adapter_pair *p = adapter_file_pair(f, i);
        put_matrix(w, p, ".lora_a", &p->a, 1);
        put_matrix(w, p, ".lora_b", &p->b, factor_of(p, alpha));
    }
}

static rn_status write_matrix(gguf_writer *w, const struct tensor_view *t, float factor, rn_error *err) {
    if (!becomes_floats(t, factor)) return gguf_write_data(w, t->data, t->n_bytes, err);
    const size_t n_rows = (size_t)(t->ne[1] * t->ne[2]), k = (size_t)t->ne[0];
    float *const row = mem_alloc(k * sizeof *row);
    rn_status st = row ? RN_OK : fail(err, RN_E_NOMEM, "tensor %s: out of memory", t->name);
    for (size_t i = 0; st == RN_OK && i < n_rows; i++) {
        tensor_type_info(t->type)->dequantize_row(t->data + i * t->row_bytes, row, k);
        for (size_t c = 0; factor != 1 && c < k; c++) row[c] *= factor;
        st = gguf_write_data(w, row, k * sizeof *row, err);
    }
    mem_free(row);
    return st;
}

static rn_status write_pairs(gguf_writer *w, const struct adapter_file *f, float alpha, rn_error *err) {
    rn_status st = package_check_files(adapter_file_package(f), err); // before a mapped file is accessed
    for (size_t i = 0; st == RN_OK && i < adapter_file_n_pairs(f); i++) {
        const struct adapter_pair *p = adapter_file_pair(f, i);
        st = write_matrix(w, &p->a, 1, err);
        if (st == RN_OK) st = write_matrix(w, &p->b, factor_of(p, alpha), err);
    }
    return st;
}

static rn_status write_file(const struct adapter_file *f, const package *base, const char *name, const char *out,
                            rn_error *err) {
    gguf_writer *w;
    const float alpha = alpha_of(f);
    rn_status st = gguf_writer_create(out, GGUF_DEFAULT_ALIGNMENT, &w, err);
    if (st != RN_OK) return st;
    put_head(w, f, base, name, alpha);
    st = gguf_write_head(w, err);
    if (st == RN_OK) st = write_pairs(w, f, alpha, err);
    if (st == RN_OK) return gguf_writer_commit(w, err);
    gguf_writer_abandon(w);
    return st;
}

rn_status rn_convert_adapter(const char *adapter, const char *base, const char *out, rn_error *err) {
    package *p = NULL;
    struct adapter_file *f = NULL;
    if (!adapter || !base || !out) return fail(err, RN_E_ARG, "rn_convert_adapter: NULL argument");
    rn_status st = package_open(base, NULL, &p, err);
    if (st == RN_OK) st = adapter_file_open(adapter, p, NULL, &f, err);
    if (st == RN_OK && (package_reads(p, out) || package_reads(adapter_file_package(f), out)))
        st = fail(err, RN_E_ARG, "%s: is an input file too: give the output another name", out);
    if (st == RN_OK) st = write_file(f, p, path_last_name(adapter), out, err);
    adapter_file_close(f);
    package_close(p);
    return st;
}
