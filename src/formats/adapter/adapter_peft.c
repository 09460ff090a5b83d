// formats/adapter/adapter_peft.c - a PEFT adapter: each module's lora_A.weight [rank, in] and lora_B.weight [out, rank], under the names
// of the base model in Hugging Face's form; of embeddings lora_embedding_A [rank, vocab] and lora_embedding_B [width, rank].
//
// The tables of hf_names.h say which GGUF tensor is made of which rows of a module's matrix, and in which order. What they do to rows of
// W they do to rows of B, what they do to columns of W to columns of A.
#include "base/mem.h"
#include "formats/adapter/adapter_build.h"
#include "formats/adapter/adapter_config.h"
#include "formats/folder/hf_names.h"
#include "formats/folder/hf_tensors.h"
#include "formats/folder/hf_wrappers.h"
#include "formats/limits.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what forms do to A and B ---------------------------------------------------------------------------------------

enum effect {
    REFUSED,
    AS_THEY_ARE,  // a matrix that converters transpose was stored transposed; its adapter is not
    ROWS_OF_B,    // the form of rows is B's
    COLUMNS_OF_A, // the form of columns is A's
    EXPERT,       // a slice of each expert
    LATENT_KEYS,  // latent attention: slices of heads, transposed: A^T and B^T change places
    LATENT_VALUES
};
static const enum effect effects[HF_N_FORMS] = {
    [HF_AS_IT_IS] = AS_THEY_ARE,          [HF_TRANSPOSED] = AS_THEY_ARE,
    [HF_QUERIES_INTERLEAVED] = ROWS_OF_B, [HF_KEYS_INTERLEAVED] = ROWS_OF_B,
    [HF_QUERIES_HALVED] = ROWS_OF_B,      [HF_KEYS_HALVED] = ROWS_OF_B,
    [HF_QKV_GROUPED] = ROWS_OF_B,         [HF_FIRST_HALF] = ROWS_OF_B,
    [HF_SECOND_HALF] = ROWS_OF_B,         [HF_QKV_OF_QKVZ] = ROWS_OF_B,
    [HF_Z_OF_QKVZ] = ROWS_OF_B,           [HF_TILED_QKV] = ROWS_OF_B,
    [HF_TILED_ROWS] = ROWS_OF_B,          [HF_TILED_HEADS] = ROWS_OF_B,
    [HF_TILED_COLUMNS] = COLUMNS_OF_A,    [HF_STACKED] = EXPERT,
    [HF_KEYS_OF_LATENT] = LATENT_KEYS,    [HF_VALUES_OF_LATENT] = LATENT_VALUES,
};

// ---- modules --------------------------------------------------------------------------------------------------------

// A module's matrices. An embedding's A has a row of numbers for each of the ranks, as of any other module.
struct module {
    const char *name; // without "base_model.model."
    const struct tensor_view *a, *b;
    bool is_embedding;
    float scale;
};

// What becomes of a module: a change of one GGUF tensor, or of one expert's slice of it.
struct part {
    const char *tensor;
    const struct module *module;
    const struct hf_tensor_row *row;
    int32_t layer, expert;
};

struct reader {
    struct adapter_file *f;
    struct adapter_config config;
    const struct hf_arch *arch;
    struct module *modules;
    size_t n_modules;
    struct part *parts; // by tensor and expert
    size_t n_parts;
    rn_error *err;
};

static const char *const fronts[] = {"base_model.model.", ""};

// The name without the front that PEFT gives it.
static const char *without_front(const char *name) {
    const size_t n = strlen(fronts[0]);
    return strncmp(name, fronts[0], n) == 0 ? name + n : name;
}

// Ends of names. With the name of the adapter in between ("lora_A.default.weight") in files that PEFT did not write itself.
static const struct {
    const char *middle;
    bool is_a, is_b, is_embedding;
} kinds[] = {{".lora_A.", true, false, false},
             {".lora_B.", false, true, false},
             {".lora_embedding_A", true, false, true},
             {".lora_embedding_B", false, true, true}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const char *name, size_t *n_module) {
    for (int i = 0; i < N_KINDS; i++) {
        const char *at = strstr(name, kinds[i].middle);
        if (!at || (!kinds[i].is_embedding && !strstr(at, "weight"))) continue;
        *n_module = (size_t)(at - name);
        return i;
    }
    return N_KINDS;
}

// PEFT copies an embedding or a head that it changes into the file. A copy of the same size is the base model's, any other one is of a
// vocabulary that has grown.
static rn_status judge_other(const struct reader *r, const struct tensor_view *t) {
    const char *name = without_front(t->name);
    const struct tensor_view *embd = package_tensor(r->f->base, "token_embd.weight");
    const bool is_copy = strstr(name, "embed_tokens.") || strstr(name, "lm_head.") || strstr(name, "wte.");
    const bool is_own = strstr(name, ".modules_to_save.") || strstr(name, "lora_magnitude_vector") || !is_copy;
    if (is_own)
        return fail(r->err, RN_E_UNSUPPORTED, "tensor %s: %s: merge the adapter into its model with PEFT", t->name,
                    strstr(name, "lora_magnitude_vector") ? "weight-decomposed adapters (DoRA) are not supported"
                                                          : "tensors other than lora_A and lora_B are not supported");
    if (embd && t->ne[0] == embd->ne[0] && t->ne[1] == embd->ne[1]) return RN_OK;
    return fail(r->err, RN_E_UNSUPPORTED,
                "tensor %s: shape [%" PRIu64 ", %" PRIu64 "], the model's is [%" PRIu64 ", %" PRIu64
                "]: a vocabulary that was resized is not supported: merge the adapter into its model with PEFT",
                t->name, t->ne[0], t->ne[1], embd ? embd->ne[0] : 0, embd ? embd->ne[1] : 0);
}

static rn_status check_view(const struct reader *r, const struct tensor_view *t) {
    if (t->n_dims == 2) return RN_OK;
    return fail(r->err, RN_E_UNSUPPORTED, "tensor %s: %d dimensions, only matrices are supported", t->name,
                t->n_dims);
}

static rn_status add_module(struct reader *r, const struct tensor_view *a, int kind, size_t n_module) {
    char name_b[SAFETENSORS_MAX_NAME_BYTES + 1];
    struct module *m = &r->modules[r->n_modules];
    const char *full = a->name;
    const size_t front = (size_t)(without_front(full) - full), at = n_module + strlen(".lora_");
    char *const name = arena_strndup(&r->f->arena, full + front, n_module - front);
    if (!name) return adapter_no_memory(r->f, r->err);
    snprintf(name_b, sizeof name_b, "%s", full);
    name_b[kinds[kind].is_embedding ? at + strlen("embedding_") : at] = 'B';
    const struct tensor_view *b = package_tensor(r->f->pkg, name_b);
    if (!b) return fail(r->err, RN_E_FORMAT, "tensor %s: missing, where %s is there", name_b, full);
    *m = (struct module){.name = name, .a = a, .b = b, .is_embedding = kinds[kind].is_embedding};
    rn_status st = check_view(r, a);
    if (st == RN_OK) st = check_view(r, b);
    if (st != RN_OK) return st;
    float rank, alpha;
    st = adapter_config_of(&r->config, name, &rank, &alpha, r->err);
    if (st != RN_OK) return st;
    if ((uint64_t)rank != a->ne[1] || b->ne[0] != a->ne[1])
        return fail(r->err, RN_E_FORMAT,
                    "tensor %s: rank %" PRIu64 ", %s has rank %" PRIu64 ", and adapter_config.json says %g", full,
                    a->ne[1], b->name, b->ne[0], (double)rank);
    m->scale = (float)((double)alpha / (r->config.by_root ? sqrt((double)rank) : (double)rank));
    r->n_modules++;
    return RN_OK;
}

static rn_status find_modules(struct reader *r) {
    const package *p = r->f->pkg;
    const size_t n = package_n_tensors(p);
    size_t n_b = 0;
    rn_status st = RN_OK;
    r->modules = arena_alloc(&r->f->arena, (n ? n : 1) * sizeof *r->modules);
    if (!r->modules) return adapter_no_memory(r->f, r->err);
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        const struct tensor_view *t = package_tensor_at(p, i);
        size_t n_module;
        const int kind = kind_of(t->name, &n_module);
        if (kind == N_KINDS)
            st = judge_other(r, t);
        else if (kinds[kind].is_a)
            st = add_module(r, t, kind, n_module);
        else
            n_b++;
    }
    if (st == RN_OK && n_b != r->n_modules)
        st = fail(r->err, RN_E_FORMAT, "%zu matrices lora_A and %zu lora_B: each needs the other", r->n_modules, n_b);
    return st;
}

// ---- targets --------------------------------------------------------------------------------------------------------

// The name of the module's matrix as the architecture's table has it.
static void table_name(const struct hf_arch *a, const struct module *m, char *out, size_t size) {
    const char *name = hf_text_name(m->name);
    const size_t n = strlen(a->prefix);
    if (strncmp(name, a->prefix, n) == 0) name += n;
    snprintf(out, size, "%s.weight", name);
}

// A matrix whose rotated rows lie otherwise in some folders has a row of the table for each way; the base says which one is its.
static bool is_of_base(const struct reader *r, const struct hf_tensor_row *row) {
    const uint32_t other = package_hparams(r->f->base)->rope_in_halves ? HF_ROPE_PAIRS : HF_ROPE_HALVES;
    return row->gguf && !(row->when & other);
}

// The parts of a module in this architecture, into `to` if it is not NULL; their number, -1: no memory.
static int find_parts(struct reader *r, const struct hf_arch *arch, const struct module *m, struct part *to) {
    char name[SAFETENSORS_MAX_NAME_BYTES + 16];
    int n = 0;
    table_name(arch, m, name, sizeof name);
    for (size_t i = 0; i < arch->n_tensors; i++) {
        const struct hf_tensor_row *row = &arch->tensors[i];
        int32_t layer, expert;
        if (!is_of_base(r, row) || !hf_row_matches(row, name, &layer, &expert)) continue;
        const struct hf_name gguf = hf_name_of(row->gguf, layer, expert);
        if (!adapter_target(r->f, gguf.text)) continue;
        if (to) {
            char *const tensor = arena_strndup(&r->f->arena, gguf.text, strlen(gguf.text));
            if (!tensor) return -1;
            to[n] = (struct part){tensor, m, row, layer, expert};
        }
        n++;
    }
    return n;
}

static size_t n_found(struct reader *r, const struct hf_arch *arch) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_modules; i++) n += find_parts(r, arch, &r->modules[i], NULL) > 0;
    return n;
}

// The class that config.json of the base model names where the adapter says it, else the first one whose table has all modules.
static rn_status find_arch(struct reader *r) {
    const char *const name = package_hparams(r->f->base)->arch;
    const struct hf_arch *a, *said = hf_arch_by_class(r->config.base_class, strlen(r->config.base_class));
    size_t best = 0;
    if (said && strcmp(said->gguf_name, name) == 0) r->arch = said;
    for (size_t i = 0; !r->arch && (a = hf_arch_at(i)); i++)
        if (strcmp(a->gguf_name, name) == 0 && n_found(r, a) == r->n_modules) r->arch = a;
    if (r->arch) return RN_OK;
    for (size_t i = 0; (a = hf_arch_at(i)); i++)
        if (strcmp(a->gguf_name, name) == 0 && (!r->arch || n_found(r, a) > best)) r->arch = a, best = n_found(r, a);
    if (r->arch) return RN_OK;
    return fail(r->err, RN_E_UNSUPPORTED,
                "architecture '%s' of the model: adapters in Hugging Face's form are not supported", name);
}

static int by_tensor(const void *a, const void *b) {
    const struct part *const p = a, *const q = b;
    const int c = strcmp(p->tensor, q->tensor);
    return c ? c : (p->expert > q->expert) - (p->expert < q->expert);
}

static rn_status list_parts(struct reader *r) {
    enum { MOST_PARTS = 4 }; // that a module is split into
    r->parts = arena_alloc(&r->f->arena, (r->n_modules ? r->n_modules : 1) * MOST_PARTS * sizeof *r->parts);
    if (!r->parts) return adapter_no_memory(r->f, r->err);
    for (size_t i = 0; i < r->n_modules; i++) {
        const struct module *m = &r->modules[i];
        const int most = find_parts(r, r->arch, m, NULL);
        if (most == 0 || most > MOST_PARTS)
            return fail(r->err, RN_E_FORMAT, "tensor %s: the model (%s, %" PRId32 " layers) has no such matrix",
                        m->a->name, r->arch->class_name, package_hparams(r->f->base)->n_layer);
        const int n = find_parts(r, r->arch, m, r->parts + r->n_parts);
        if (n < 0) return adapter_no_memory(r->f, r->err);
        r->n_parts += (size_t)n;
    }
    qsort(r->parts, r->n_parts, sizeof *r->parts, by_tensor);
    return RN_OK;
}

// ---- matrices -------------------------------------------------------------------------------------------------------

static struct hf_sizes sizes_of(const struct reader *r, const struct part *p) {
    const struct hparams *h = package_hparams(r->f->base);
    return hf_sizes_of(h, p->layer >= 0 && p->layer < h->n_layer ? &h->layers[p->layer] : NULL);
}

// t in the form of the part's row. The result has n_dims dimensions.
static rn_status put_in_form(struct reader *r, const struct part *p, const struct tensor_view *t,
                             struct tensor_view *out) {
    const struct hf_sizes sizes = sizes_of(r, p);
    const struct safetensors_record record = {.n_dims = 2, .dims = {t->ne[1], t->ne[0]}};
    struct hf_plan plan;
    const rn_status st = hf_plan(p->row->form, &sizes, &record, &plan, r->err);
    if (st != RN_OK) return fail_in(r->err, st, "tensor %s", t->name);
    if (!adapter_make(r->f, t->name, t->type, plan.n_dims, plan.ne, out)) return adapter_no_memory(r->f, r->err);
    hf_plan_run(&plan, &sizes, t->type, t->data, (uint8_t *)out->data);
    return RN_OK;
}

static rn_status transpose(struct reader *r, const struct tensor_view *t, struct tensor_view *out) {
    const size_t each = tensor_type_info(t->type)->block_bytes, rows = (size_t)t->ne[1], cols = (size_t)t->ne[0];
    if (!adapter_make(r->f, t->name, t->type, 2, (const uint64_t[]){t->ne[1], t->ne[0]}, out))
        return adapter_no_memory(r->f, r->err);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            memcpy((uint8_t *)out->data + (k * rows + i) * each, t->data + (i * cols + k) * each, each);
    return RN_OK;
}

// The same matrix for each slice.
static rn_status repeat(struct reader *r, const struct tensor_view *t, uint64_t n, struct tensor_view *out) {
    if (!adapter_make(r->f, t->name, t->type, 3, (const uint64_t[]){t->ne[0], t->ne[1], n}, out))
        return adapter_no_memory(r->f, r->err);
    for (uint64_t i = 0; i < n; i++) memcpy((uint8_t *)out->data + i * t->n_bytes, t->data, t->n_bytes);
    return RN_OK;
}

static rn_status add_part(struct reader *r, const struct part *p) {
    struct tensor_view a = *p->module->a, b = *p->module->b, other;
    rn_status st = RN_OK;
    switch (p->module->is_embedding ? AS_THEY_ARE : effects[p->row->form]) {
    case AS_THEY_ARE:
        if (p->module->is_embedding) st = transpose(r, p->module->a, &a);
        break;
    case ROWS_OF_B: st = put_in_form(r, p, p->module->b, &b); break;
    case COLUMNS_OF_A: st = put_in_form(r, p, p->module->a, &a); break;
    case LATENT_VALUES:
        st = put_in_form(r, p, p->module->b, &b);
        if (st == RN_OK) st = repeat(r, p->module->a, b.ne[2], &a);
        break;
    case LATENT_KEYS: // (B_h A)^T = A^T B_h^T
        st = put_in_form(r, p, p->module->b, &a);
        if (st == RN_OK) st = transpose(r, p->module->a, &other);
        if (st == RN_OK) st = repeat(r, &other, a.ne[2], &b);
        break;
    default:
        return fail(r->err, RN_E_UNSUPPORTED, "tensor %s: adapters of this matrix of %s are not supported",
                    p->module->a->name, r->arch->class_name);
    }
    return st == RN_OK ? adapter_add(r->f, p->tensor, &a, &b, p->module->scale, r->err) : st;
}

// Floats of an expert's matrix at its place in the stack, times a factor.
static void put_slice(const struct tensor_view *t, struct tensor_view *stack, int32_t expert, float factor) {
    float *const to = (float *)(void *)((uint8_t *)stack->data + (size_t)expert * stack->ne[1] * stack->row_bytes);
    for (uint64_t i = 0; i < t->ne[1]; i++) {
        float *const row = to + i * stack->ne[0];
        tensor_type_info(t->type)->dequantize_row(t->data + i * t->row_bytes, row, (size_t)t->ne[0]);
        for (uint64_t k = 0; factor != 1 && k < t->ne[0]; k++) row[k] *= factor;
    }
}

// Matrices of experts, [begin, end), side by side. Those that the adapter does not change, and ranks that others have more of, are zeros.
static rn_status add_experts(struct reader *r, size_t begin, size_t end) {
    const struct part *first = &r->parts[begin];
    const struct tensor_view *target = adapter_target(r->f, first->tensor);
    const uint64_t n = target->ne[2];
    struct tensor_view a, b;
    uint64_t rank = 0;
    float scale = 0; // one for all: where patterns give experts others, B has the quotient
    for (size_t i = begin; i < end; i++) {
        const struct part *p = &r->parts[i];
        if (fabsf(p->module->scale) > fabsf(scale)) scale = p->module->scale;
        const struct tensor_view *pa = p->module->a, *pb = p->module->b;
        if (p->expert < 0 || (uint64_t)p->expert >= n || (i > begin && p->expert == p[-1].expert))
            return fail(r->err, RN_E_FORMAT, "tensor %s: expert %" PRId32 " of %" PRIu64 ", or twice", pa->name,
                        p->expert, n);
        if (pa->ne[0] != target->ne[0] || pb->ne[1] != target->ne[1])
            return fail(r->err, RN_E_FORMAT,
                        "tensors %s and lora_B: %" PRIu64 " inputs and %" PRIu64
                        " outputs, the model's expert has %" PRIu64 " and %" PRIu64,
                        pa->name, pa->ne[0], pb->ne[1], target->ne[0], target->ne[1]);
        if (pa->ne[1] > rank) rank = pa->ne[1];
    }
    if (!adapter_make(r->f, first->module->a->name, TENSOR_F32, 3, (const uint64_t[]){target->ne[0], rank, n}, &a) ||
        !adapter_make(r->f, first->module->b->name, TENSOR_F32, 3, (const uint64_t[]){rank, target->ne[1], n}, &b))
        return adapter_no_memory(r->f, r->err);
    for (size_t i = begin; i < end; i++) {
        const struct part *p = &r->parts[i];
        put_slice(p->module->a, &a, p->expert, 1);
        put_slice(p->module->b, &b, p->expert, p->module->scale == scale ? 1 : p->module->scale / scale);
    }
    return adapter_add(r->f, first->tensor, &a, &b, scale, r->err);
}

static rn_status add_all(struct reader *r) {
    rn_status st = adapter_reserve(r->f, r->n_parts, r->err);
    for (size_t i = 0, end; st == RN_OK && i < r->n_parts; i = end) {
        end = i + 1;
        if (effects[r->parts[i].row->form] != EXPERT) {
            st = add_part(r, &r->parts[i]);
            continue;
        }
        while (end < r->n_parts && strcmp(r->parts[end].tensor, r->parts[i].tensor) == 0) end++;
        st = add_experts(r, i, end);
    }
    return st;
}

rn_status adapter_read_peft(struct adapter_file *f, const struct json_tree *config, rn_error *err) {
    struct reader r = {.f = f, .err = err};
    f->format = "PEFT";
    rn_status st = adapter_config_read(&r.config, config, err);
    if (st != RN_OK) st = fail_in(err, st, "adapter_config.json");
    if (st == RN_OK) st = find_modules(&r);
    if (st == RN_OK) st = find_arch(&r);
    if (st == RN_OK) st = list_parts(&r);
    if (st == RN_OK) st = add_all(&r);
    adapter_config_free(&r.config);
    return st;
}
