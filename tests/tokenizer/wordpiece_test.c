// tests/tokenizer/wordpiece_test.c - BERT's tokenizer from tokenizer.json, against ids of Hugging Face's tokenizers (make_wordpiece.py), and its texts.
#include "base/mem.h"
#include "formats/vocab/tokenizer_json.h"
#include "tests/check.h"
#include "tokenizer/tokenizer.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct loaded {
    struct arena mem;
    struct vocab v;
    tokenizer *t;
};

static bool load(struct loaded *o, const json_t *part) {
    rn_error err = {0};
    char *const text = json_dumps(json_object_get(part, "tokenizer"), JSON_COMPACT);
    *o = (struct loaded){0};
    const bool ok =
        CHECK_OK(tokenizer_json_load("t.json", (const uint8_t *)text, strlen(text), NULL, 0, &o->mem, &o->v, &err),
                 &err) &&
        CHECK_OK(tokenizer_create(&o->v, &o->t, &err), &err);
    free(text);
    return ok;
}

static void unload(struct loaded *o) {
    tokenizer_destroy(o->t);
    arena_free(&o->mem);
}

static json_t *parts_of_file(void) {
    size_t n = 0;
    char *const data = (char *)read_file(RUNNEL_SOURCE_DIR "/tests/tokenizer/wordpiece.json", &n);
    json_t *const parts = json_loadb(data, n, JSON_ALLOW_NUL, NULL);
    free(data);
    CHECK(parts != NULL);
    return parts;
}

TEST(texts_have_the_ids_of_the_published_library) {
    json_t *const parts = parts_of_file(), *part, *c;
    size_t i, k;
    json_array_foreach(parts, i, part) {
        struct loaded o;
        if (!load(&o, part)) continue;
        json_array_foreach(json_object_get(part, "cases"), k, c) {
            const json_t *const text = json_array_get(c, 0), *const want = json_array_get(c, 1);
            int32_t *ids = NULL;
            size_t n = 0;
            rn_error err = {0};
            CHECK_OK(tokenizer_encode(o.t, json_string_value(text), json_string_length(text), true, false, &ids, &n,
                                      NULL, &err),
                     &err);
            check_note("part %zu, text %zu: %s", i, k, json_string_value(text));
            CHECK_INT(n, json_array_size(want));
            for (size_t at = 0; at < n && at < json_array_size(want); at++)
                CHECK_INT(ids[at], json_integer_value(json_array_get(want, at)));
            mem_free(ids);
        }
        unload(&o);
    }
    CHECK_INT(i, 6);
    json_decref(parts);
}

TEST(pieces_are_words_and_what_goes_on_with_them) {
    json_t *const parts = parts_of_file();
    struct loaded o;
    if (load(&o, json_array_get(parts, 0))) {
        static const char text[] = "a b, abc";
        int32_t *ids = NULL;
        size_t n = 0, n_back = 0;
        char *back = NULL;
        CHECK_OK(tokenizer_encode(o.t, text, strlen(text), true, false, &ids, &n, NULL, NULL), NULL);
        CHECK_OK(tokenizer_decode(o.t, ids, n, false, &back, &n_back, NULL), NULL);
        CHECK_STR(back, "a b , abc"); // spaces before punctuation are not taken away
        mem_free(ids);
        mem_free(back);
        unload(&o);
    }
    json_decref(parts);
}

TEST(a_vocabulary_without_an_unknown_token_is_refused) {
    static const struct vocab_token tokens[] = {{{"a", 1}, 0, TOKEN_NORMAL, 0}};
    const struct vocab v = {.model = VOCAB_WORDPIECE,
                            .n_tokens = 1,
                            .tokens = tokens,
                            .bos = -1,
                            .eos = -1,
                            .unk = -1,
                            .subword_sign = {"##", 2}};
    tokenizer *t;
    rn_error err = {0};
    CHECK_INT(tokenizer_create(&v, &t, &err), RN_E_FORMAT);
    CHECK_STR(err.text, "vocabulary: WordPiece: has no unknown token");
}
