// fuzz/fuzz_gguf.c - opens any bytes as a model file and walks everything that the package promises.
#include "base/mem.h"
#include "formats/package.h"
#include "tokenizer/tokenizer.h"
#include "walk_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use_tokenizer(const struct vocab *v) {
    static const char text[] = "The <|im_end|> caf\xc3\xa9 <s>\xff 12";
    tokenizer *t = NULL;
    if (tokenizer_create(v, &t, NULL) != RN_OK) return;
    int32_t *ids = NULL;
    size_t n_ids = 0, n_text = 0, n_dropped;
    char *back = NULL;
    if (tokenizer_encode(t, text, sizeof text - 1, true, true, &ids, &n_ids, &n_dropped, NULL) == RN_OK) {
        for (size_t i = 0; i < n_ids; i++) must(ids[i] >= 0 && ids[i] < v->n_tokens);
        must(tokenizer_decode(t, ids, n_ids, true, &back, &n_text, NULL) == RN_OK);
        touch(back, n_text);
    }
    mem_free(back);
    mem_free(ids);
    tokenizer_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const long live = mem_live();
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_from_bytes("fuzz.gguf", data, n, &p, &err);
    must((st == RN_OK) == (p != NULL));
    if (p) {
        walk_package(p);
        use_tokenizer(package_vocab(p));
    } else {
        must(strncmp(err.text, "fuzz.gguf: ", 11) == 0);
    }
    package_close(p);
    must(mem_live() == live);
    return 0;
}
