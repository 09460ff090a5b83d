// fuzz/fuzz_tokenizer_model.c - any bytes as a SentencePiece tokenizer.model, and as RWKV's vocabulary; what is accepted
// must encode texts without a crash, in tokens of its vocabulary.
#include "base/mem.h"
#include "formats/vocab/rwkv_vocab.h"
#include "formats/vocab/tokenizer_model.h"
#include "tokenizer/tokenizer.h"
#include <stdlib.h>

#define MUST(c)                                                                                                      \
    do {                                                                                                             \
        if (!(c)) abort();                                                                                           \
    } while (0)

static void encode_and_decode(const tokenizer *t, const struct vocab *v, const char *text, size_t n, int flags) {
    int32_t *ids = NULL;
    size_t n_ids = 0, n_back = 0;
    char *back = NULL;
    const rn_status st = tokenizer_encode(t, text, n, flags & 1, flags & 2, &ids, &n_ids, NULL, NULL);
    MUST(st == RN_OK || st == RN_E_LIMIT);
    for (size_t i = 0; i < n_ids; i++) {
        MUST(ids[i] >= 0 && ids[i] < v->n_tokens);
        MUST(flags != 0 || v->tokens[ids[i]].kind != TOKEN_CONTROL);
    }
    if (st == RN_OK) MUST(tokenizer_decode(t, ids, n_ids, flags & 2, &back, &n_back, NULL) == RN_OK);
    mem_free(ids);
    mem_free(back);
}

static void use(const struct vocab *v) {
    static const char text[] = "a the <s> in\n\n 12 \xC3\xA9\xF0\x9F\x98\x80\xFF</s>  ab\xE2\x96\x81"
                               "e\xCC\x81 IT'S";
    tokenizer *t = NULL;
    rn_error err = {0};
    if (tokenizer_create(v, &t, &err) != RN_OK) {
        MUST(t == NULL && err.text[0] != '\0');
        return;
    }
    for (int flags = 0; flags < 4; flags++) encode_and_decode(t, v, text, sizeof text, flags);
    encode_and_decode(t, v, "", 0, 3);
    tokenizer_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    if (tokenizer_model_load("t", data, size, &mem, &v, &err) == RN_OK)
        use(&v);
    else
        MUST(err.text[0] != '\0');
    err.text[0] = '\0';
    if (rwkv_vocab_load("t", (const char *)data, size, &mem, &v, &err) == RN_OK)
        use(&v);
    else
        MUST(err.text[0] != '\0');
    arena_free(&mem);
    MUST(mem_live() == 0);
    return 0;
}
