// formats/adapter/adapter_gguf.c - a GGUF adapter: keys general.type "adapter", adapter.type "lora" and adapter.lora.alpha; of each
// tensor X of the model it changes, X.lora_a and X.lora_b (llama.cpp, convert_lora_to_gguf.py). scale = alpha / rank, or 1 where alpha is 0.
#include "formats/adapter/adapter_build.h"
#include "formats/package_build.h"
#include <string.h>

static const char end_a[] = ".lora_a", end_b[] = ".lora_b";
enum { N_END = sizeof end_a - 1 };

static bool has_end(const char *name, const char *end) {
    const size_t n = strlen(name);
    return n > N_END && strcmp(name + n - N_END, end) == 0;
}

static rn_status check_kind(const struct adapter_file *f, rn_error *err) {
    const struct hparams *h = package_hparams(f->pkg), *base = package_hparams(f->base);
    if (strcmp(h->file_type, "adapter") != 0)
        return fail(err, RN_E_FORMAT, "key general.type: '%s', expected 'adapter': the file is not an adapter",
                    h->file_type);
    if (strcmp(f->pkg->adapter.type, "lora") != 0)
        return fail(err, RN_E_UNSUPPORTED, "key adapter.type: '%s' is not supported, 'lora' is",
                    f->pkg->adapter.type);
    if (f->pkg->adapter.is_activated)
        return fail(err, RN_E_UNSUPPORTED,
                    "key adapter.alora.invocation_tokens: adapters that begin at a token (aLoRA) are not supported");
    if (strcmp(h->arch, base->arch) != 0)
        return fail(err, RN_E_FORMAT,
                    "key general.architecture: '%s', the model's is '%s': it is another model's adapter", h->arch,
                    base->arch);
    return RN_OK;
}

static rn_status add(struct adapter_file *f, const struct tensor_view *a, rn_error *err) {
    const size_t n = strlen(a->name) - N_END;
    char *const tensor = arena_strndup(&f->arena, a->name, n), *const name_b =
                                                                   arena_strndup(&f->arena, a->name, n + N_END);
    if (!tensor || !name_b) return adapter_no_memory(f, err);
    memcpy(name_b + n, end_b, N_END);
    const struct tensor_view *b = package_tensor(f->pkg, name_b);
    if (!b) return fail(err, RN_E_FORMAT, "tensor %s: missing, where %s is there", name_b, a->name);
    const float alpha = f->pkg->adapter.alpha;
    return adapter_add(f, tensor, a, b, alpha != 0 ? alpha / (float)b->ne[0] : 1, err);
}

rn_status adapter_read_gguf(struct adapter_file *f, rn_error *err) {
    const size_t n = package_n_tensors(f->pkg);
    size_t n_a = 0, n_b = 0;
    rn_status st = check_kind(f, err);
    f->format = package_format(f->pkg);
    if (st == RN_OK) st = adapter_reserve(f, n, err);
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        const struct tensor_view *t = package_tensor_at(f->pkg, i);
        n_a += has_end(t->name, end_a), n_b += has_end(t->name, end_b);
        if (has_end(t->name, end_a))
            st = add(f, t, err);
        else if (!has_end(t->name, end_b))
            st = fail(err, RN_E_UNSUPPORTED,
                      "tensor %s: replaces a tensor of the model as a whole, which is not supported: only pairs "
                      "NAME.lora_a and NAME.lora_b are",
                      t->name);
    }
    if (st == RN_OK && n_a != n_b)
        st = fail(err, RN_E_FORMAT, "%zu tensors NAME.lora_a and %zu NAME.lora_b: each needs the other", n_a, n_b);
    return st;
}
