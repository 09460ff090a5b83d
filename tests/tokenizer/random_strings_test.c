// tests/tokenizer/random_strings_test.c - random strings have the ids that the tokenizers library gives them, for each vocabulary of
// random_strings.json (make_random_strings.py): a hash of the ids of each 50 strings. 500 strings a vocabulary; RUNNEL_TEST_FULL=1: 20,000.
//
// Characters are of blocks that Unicode has had whole for long, so that it does not matter which version PCRE2 has.
#include "base/arena.h"
#include "base/mem.h"
#include "formats/vocab/tokenizer_json.h"
#include "tests/check.h"
#include "text/utf8.h"
#include "tokenizer/tokenizer.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { PER_HASH = 50, FEW_HASHES = 10, MOST_BYTES = 1024 };

static uint64_t state;
static uint64_t draw(uint64_t n) {
    state = state * 48271 % 0x7fffffff; // minimal standard generator
    return (state >> 7) % n;
}

static size_t put_char(uint32_t c, char *out) {
    if (c >= 0xd800 && c <= 0xdfff) c = 'a';
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c < 0x800) return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
               out[2] = (char)(0x80 | (c & 63)), 3;
    out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)), out[2] = (char)(0x80 | (c >> 6 & 63));
    return out[3] = (char)(0x80 | (c & 63)), 4;
}

// String i. words, ranges: of random_strings.json.
static size_t make_string(uint64_t i, const json_t *words, const json_t *ranges, char *out) {
    size_t n = 0;
    state = (i + 1) * 7919 % 0x7fffffff;
    for (uint64_t parts = 1 + draw(12); parts > 0; parts--) {
        if (draw(10) < 3) {
            const char *const word = json_string_value(json_array_get(words, draw(json_array_size(words))));
            memcpy(out + n, word, strlen(word));
            n += strlen(word);
            continue;
        }
        const json_t *const range = json_array_get(ranges, draw(json_array_size(ranges)));
        const uint64_t lo = (uint64_t)json_integer_value(json_array_get(range, 0)),
                       hi = (uint64_t)json_integer_value(json_array_get(range, 1));
        for (uint64_t k = 1 + draw(5); k > 0; k--) n += put_char((uint32_t)(lo + draw(hi - lo + 1)), out + n);
    }
    return n;
}

static uint32_t hash_ids(uint32_t h, const int32_t *ids, size_t n) {
    for (size_t i = 0; i <= n; i++) { // -1 ends a string
        const uint32_t id = i < n ? (uint32_t)ids[i] : 0xffffffffu;
        for (int b = 0; b < 4; b++) h = (h ^ (id >> 8 * b & 255)) * 16777619u;
    }
    return h;
}

static void check_vocabulary(const char *name, const tokenizer *t, const json_t *all, const json_t *hashes) {
    const size_t n = getenv("RUNNEL_TEST_FULL") ? json_array_size(hashes) : FEW_HASHES;
    for (size_t k = 0; k < n; k++) {
        uint32_t h = 2166136261u;
        for (uint64_t i = k * PER_HASH; i < (k + 1) * PER_HASH; i++) {
            char text[MOST_BYTES];
            int32_t *ids = NULL;
            size_t n_ids = 0;
            const size_t n_text = make_string(i, json_object_get(all, "words"), json_object_get(all, "ranges"), text);
            CHECK_OK(tokenizer_encode(t, text, n_text, false, true, &ids, &n_ids, NULL, NULL), NULL);
            h = hash_ids(h, ids, n_ids);
            mem_free(ids);
        }
        check_note("%s: ids of strings %zu to %zu", name, k * PER_HASH, (k + 1) * PER_HASH - 1);
        if (!CHECK_INT(h, json_integer_value(json_array_get(hashes, k)))) return;
    }
}

// The text of a vocabulary's tokenizer.json: of the shared material, or its own. NULL: it is not there. free() it.
static char *json_of(const char *name, const json_t *vocabulary, size_t *n) {
    char rel[128], path[512], command[1200];
    const json_t *const own = json_object_get(vocabulary, "tokenizer");
    if (own) {
        char *const text = json_dumps(own, JSON_COMPACT);
        *n = strlen(text);
        return text;
    }
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/tokenizer.json.gz", name);
    const char *const packed = shared_path(rel);
    if (!packed) return NULL;
    snprintf(path, sizeof path, "%s/random-%s", temp_dir(), name);
    snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", packed, path);
    if (system(command) != 0) return NULL;
    char *const text = (char *)read_file(path, n);
    remove(path);
    return text;
}

static void run(bool shared) {
    json_t *const all = json_load_file(tests_path("tokenizer/random_strings.json"), 0, NULL), *vocabulary;
    const char *name;
    int n_seen = 0;
    CHECK(all != NULL);
    json_object_foreach(json_object_get(all, "vocabularies"), name, vocabulary) {
        if (shared == (json_object_get(vocabulary, "tokenizer") != NULL)) continue;
        size_t n;
        struct arena mem = {0};
        struct vocab v = {0};
        tokenizer *t = NULL;
        rn_error err = {0};
        char *const text = json_of(name, vocabulary, &n);
        if (!text) continue;
        check_note("%s", name);
        if (CHECK_OK(tokenizer_json_load(name, (const uint8_t *)text, n, NULL, 0, &mem, &v, &err), &err) &&
            CHECK_OK(tokenizer_create(&v, &t, &err), &err))
            check_vocabulary(name, t, all, json_object_get(vocabulary, "hashes"));
        tokenizer_destroy(t);
        arena_free(&mem);
        free(text);
        n_seen++;
    }
    json_decref(all);
    if (n_seen == 0) test_skip("no shared material: set RUNNEL_SHARED");
}

TEST(random_strings_have_the_ids_of_the_tokenizers_library_in_published_vocabularies) { run(true); }
TEST(random_strings_have_the_ids_of_the_tokenizers_library_in_trained_vocabularies) { run(false); }
