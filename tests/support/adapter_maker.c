// tests/support/adapter_maker.c - see adapter_maker.h.
#include "tests/support/adapter_maker.h"
#include "tests/check.h"
#include "tests/support/gguf_builder.h"
#include <stdlib.h>
#include <string.h>

static void put(struct gguf_builder *b, const char *tensor, const char *end, const uint64_t *ne, int n_dims,
                uint64_t seed) {
    char name[160];
    size_t n = 1;
    for (int d = 0; d < n_dims; d++) n *= (size_t)ne[d];
    float *x = malloc(n * sizeof *x);
    if (!x) abort();
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)((double)(state >> 40) / (double)(1 << 24) - 0.5) * 0.4f;
    }
    snprintf(name, sizeof name, "%s%s", tensor, end);
    gb_tensor(b, name, 0, (uint32_t)n_dims, ne, x, n * sizeof *x);
    free(x);
}

uint8_t *made_adapter_bytes(const struct made_adapter *m, const package *base, size_t *n_bytes) {
    struct gguf_builder b;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", package_hparams(base)->arch);
    gb_str(&b, "general.type", "adapter");
    gb_str(&b, "adapter.type", "lora");
    if (m->alpha != 0) gb_f32(&b, "adapter.lora.alpha", m->alpha);
    for (size_t i = 0; i < package_n_tensors(base); i++) {
        const struct tensor_view *t = package_tensor_at(base, i);
        if (t->n_dims < 2 || t->n_dims > 3 || strncmp(t->name, "blk.", 4) != 0 || !strstr(t->name, ".weight"))
            continue;
        if (strstr(t->name, "norm") || (m->only && !strstr(t->name, m->only))) continue;
        const uint64_t a[] = {t->ne[0], (uint64_t)m->rank, t->ne[2]}, out[] = {(uint64_t)m->rank, t->ne[1], t->ne[2]};
        put(&b, t->name, ".lora_a", a, t->n_dims, m->seed * 1000 + i);
        put(&b, t->name, ".lora_b", out, t->n_dims, m->seed * 1000 + i + 500);
    }
    return gb_finish(&b, n_bytes);
}

bool made_adapter_write(const struct made_adapter *m, const char *model_path, const char *path) {
    package *base;
    rn_error err = {0};
    size_t n;
    if (!CHECK_OK(package_open(model_path, NULL, &base, &err), &err)) return false;
    uint8_t *bytes = made_adapter_bytes(m, base, &n);
    package_close(base);
    const bool ok = CHECK(write_file(path, bytes, n));
    free(bytes);
    return ok;
}
