// fuzz/fuzz_adapter.c - any bytes as an adapter of a small model, GGUF or PEFT: an error, or matrices that fit the model.
//
// A GGUF file as it is; else the length of adapter_config.json in two bytes, that file, and the safetensors file.
#include "base/mem.h"
#include "formats/adapter/adapter_file.h"
#include "model/model.h"
#include "tests/support/arch_model.h"
#include "walk_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const package *base_model(void) {
    static package *p;
    static const struct arch_model m = {
        "llama",
        "block_count=2 context_length=64 embedding_length=8 feed_forward_length=12 attention.head_count=2 "
        "attention.head_count_kv=1 attention.layer_norm_rms_epsilon=1e-5",
        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight",
        .n_vocab = 16,
        .type = TENSOR_F32,
        .seed = 1,
    };
    size_t n;
    if (p) return p;
    const uint8_t *bytes = arch_model_bytes(&m, &n); // the package's: both live as long as the process
    must(package_from_bytes("base", bytes, n, &p, NULL) == RN_OK);
    return p;
}

static void walk(const struct adapter_file *f) {
    struct model *m = NULL;
    for (size_t i = 0; i < adapter_file_n_pairs(f); i++) {
        const struct adapter_pair *p = adapter_file_pair(f, i);
        must(adapter_file_find(f, p->tensor) == p && p->rank > 0);
        touch(p->a.data, p->a.n_bytes);
        touch(p->b.data, p->b.n_bytes);
    }
    const struct model_spec spec = {.adapters = &f, .n_adapters = 1};
    const rn_status st = model_build_with(base_model(), &spec, &m, NULL);
    must(st != RN_E_INTERNAL && (st == RN_OK) == (m != NULL));
    model_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct adapter_file *f = NULL;
    rn_error err = {0};
    const package *base = base_model();
    const long live = mem_live();
    const size_t n_config = n > 2 ? (size_t)data[0] | (size_t)data[1] << 8 : 0;
    rn_status st;
    if (n > 4 && memcmp(data, "GGUF", 4) == 0) {
        st = adapter_file_from_bytes("fuzz", &(struct package_bytes){"fuzz", data, n}, 1, base, &f, &err);
    } else {
        if (n < 2 || n_config > n - 2) return 0;
        const struct package_bytes files[] = {{"adapter_config.json", data + 2, n_config},
                                              {"adapter_model.safetensors", data + 2 + n_config, n - 2 - n_config}};
        st = adapter_file_from_bytes("fuzz", files, 2, base, &f, &err);
    }
    must((st == RN_OK) == (f != NULL) && (f || strncmp(err.text, "fuzz", 4) == 0));
    if (f) walk(f);
    adapter_file_close(f);
    must(mem_live() == live);
    return 0;
}
