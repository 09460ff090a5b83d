// tests/formats/gguf_limits_test.c - each limit of formats/limits.h at the limit and one past it.
#include "formats/limits.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/support/gguf_builder.h"
#include <stdlib.h>
#include <string.h>

// A model of an architecture without known keys, so that nothing but the limit can be wrong.
static void begin(struct gguf_builder *b) {
    gb_begin(b, 3);
    gb_str(b, "general.architecture", "other");
    gb_tensor(b, "t", 0, 1, (const uint64_t[]){8}, NULL, 32);
}

// want NULL: opens. The builder is finished.
static void check_opens(struct gguf_builder *b, const char *want) {
    size_t n;
    uint8_t *file = gb_finish(b, &n);
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_from_bytes("limit.gguf", file, n, &p, &err);
    if (!want) {
        CHECK_OK(st, &err);
    } else {
        CHECK_FAILS(st, RN_E_LIMIT, &err);
        CHECK_HAS(err.text, want);
    }
    package_close(p);
    free(file);
}

TEST(pairs_up_to_65536) {
    struct gguf_builder b;
    char key[16];
    for (int over = 0; over < 2; over++) {
        begin(&b);
        for (int i = 1; i < GGUF_MAX_PAIRS + over; i++) {
            snprintf(key, sizeof key, "k%d", i);
            gb_u8(&b, key, 1);
        }
        CHECK_INT(b.n_pairs, GGUF_MAX_PAIRS + over);
        check_opens(&b, over ? "header: 65537 metadata pairs, limit 65536" : NULL);
    }
}

TEST(tensors_up_to_65536) {
    struct gguf_builder b;
    char name[16];
    for (int over = 0; over < 2; over++) {
        begin(&b);
        for (int i = 1; i < GGUF_MAX_TENSORS + over; i++) {
            snprintf(name, sizeof name, "t%d", i);
            gb_tensor(&b, name, 0, 1, (const uint64_t[]){8}, NULL, 32);
        }
        CHECK_INT(b.n_tensors, GGUF_MAX_TENSORS + over);
        check_opens(&b, over ? "header: 65537 tensors, limit 65536" : NULL);
    }
}

static char *text_of(size_t n) {
    char *s = malloc(n + 1);
    if (!s) abort();
    memset(s, 'x', n);
    s[n] = 0;
    return s;
}

TEST(keys_up_to_65535_bytes) {
    for (size_t over = 0; over < 2; over++) {
        struct gguf_builder b;
        char *key = text_of(GGUF_MAX_KEY_BYTES + over);
        begin(&b);
        gb_u8(&b, key, 1);
        check_opens(&b, over ? "metadata pair 1: its name has 65536 bytes, limit 65535" : NULL);
        free(key);
    }
}

TEST(tensor_names_up_to_64_bytes) {
    for (size_t over = 0; over < 2; over++) {
        struct gguf_builder b;
        char *name = text_of(GGUF_MAX_TENSOR_NAME_BYTES + over);
        begin(&b);
        gb_tensor(&b, name, 0, 1, (const uint64_t[]){8}, NULL, 32);
        check_opens(&b, over ? "tensor record 1: its name has 65 bytes, limit 64" : NULL);
        free(name);
    }
}

TEST(strings_up_to_16_mib) {
    for (size_t over = 0; over < 2; over++) {
        struct gguf_builder b;
        char *text = text_of(GGUF_MAX_STRING_BYTES + over);
        begin(&b);
        gb_str(&b, "tokenizer.chat_template", text);
        check_opens(&b, over ? "key tokenizer.chat_template: a string of 16777217 bytes, limit 16777216" : NULL);
        free(text);
    }
}

TEST(arrays_up_to_16_mi_items) {
    for (size_t over = 0; over < 2; over++) {
        struct gguf_builder b;
        begin(&b);
        gb_array(&b, "my.array", GB_U8, NULL, GGUF_MAX_ARRAY_ITEMS + over, 1);
        check_opens(&b, over ? "key my.array: 16777217 array items, limit 16777216" : NULL);
    }
}

TEST(tokens_up_to_65535_bytes_and_merges_of_two) {
    for (size_t over = 0; over < 4; over++) {
        const size_t long_token = over == 1, long_merge = over == 3;
        struct gguf_builder b;
        char *token = text_of(VOCAB_MAX_TOKEN_BYTES + long_token);
        char *merge = text_of(VOCAB_MAX_MERGE_BYTES + long_merge);
        begin(&b);
        gb_str(&b, "tokenizer.ggml.model", "gpt2");
        gb_str_array(&b, "tokenizer.ggml.tokens", (const char *const[]){"a", token}, 2);
        gb_str_array(&b, "tokenizer.ggml.merges", (const char *const[]){merge}, 1);
        check_opens(&b, long_token   ? "key tokenizer.ggml.tokens: token 1 has 65536 bytes, limit 65535"
                        : long_merge ? "key tokenizer.ggml.merges: merge 0 has 131072 bytes, limit 131071"
                                     : NULL);
        free(token);
        free(merge);
    }
}
// Alignments: item 9 in gguf_bad_tensors_test.c. Ranges of hyper-parameters: gguf_bad_hparams_test.c.
