// tests/text/vectors_test.c - token ids against the shared vectors of published vocabularies, and the shipped model's vocabulary.
#include "base/mem.h"
#include "formats/package.h"
#include "tests/check.h"
#include "tests/text/small_vocab.h"
#include "text/tokenizer.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct opened {
    package *p;
    struct vocab v;
    tokenizer *t;
};

static void close_all(struct opened *o) {
    tokenizer_destroy(o->t);
    package_close(o->p);
}

static bool open_vocab(const char *path, struct opened *o) {
    rn_error err = {0};
    const struct package_options opt = {.load = FILE_LOAD_READ};
    *o = (struct opened){0};
    if (!CHECK_OK(package_open(path, &opt, &o->p, &err), &err)) return false;
    o->v = *package_vocab(o->p);
    if (CHECK_OK(tokenizer_create(&o->v, &o->t, &err), &err)) return true;
    close_all(o);
    return false;
}

// A case's input: "text" (JSON text may hold any code point) or "hex" for bytes that are no UTF-8. mem_free() it.
static char *input_of(const json_t *c, size_t *n) {
    const json_t *text = json_object_get(c, "text");
    if (text) {
        *n = json_string_length(text);
        return mem_strndup(json_string_value(text), *n);
    }
    const char *hex = json_string_value(json_object_get(c, "hex"));
    *n = strlen(hex) / 2;
    char *bytes = mem_alloc(*n + 1);
    for (size_t i = 0; bytes && i < *n; i++) {
        const char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (char)strtol(two, NULL, 16);
    }
    return bytes;
}

static bool same_ids(const json_t *want, const int32_t *ids, size_t n) {
    if (json_array_size(want) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (json_integer_value(json_array_get(want, i)) != ids[i]) return false;
    return true;
}

static void describe(const json_t *c, const int32_t *ids, size_t n) {
    char *shown = json_dumps(c, JSON_COMPACT);
    char got[200] = "";
    for (size_t i = 0; i < n && strlen(got) < 180; i++) snprintf(got + strlen(got), 12, "%d,", ids[i]);
    check_note("got [%s] for %.300s", got, shown);
    free(shown);
}

// U+2581 is how SPM vocabularies write a space, so such a text comes back with spaces. Parsed control tokens are not
// written back.
static bool can_round_trip(const struct vocab *v, const char *s, size_t n, bool parse_special, size_t n_dropped) {
    if (n_dropped > 0 || parse_special || !utf8_valid(s, n)) return false;
    return v->model != VOCAB_SPM || !strstr(s, "\xE2\x96\x81");
}

static void check_case(const struct opened *o, const json_t *c) {
    const bool add = json_is_true(json_object_get(c, "add_special")),
               parse = json_is_true(json_object_get(c, "parse_special"));
    size_t n = 0, n_ids = 0, n_dropped = 0, n_back = 0;
    char *text = input_of(c, &n), *back = NULL;
    int32_t *ids = NULL;
    rn_error err = {0};
    if (CHECK_OK(tokenizer_encode(o->t, text, n, add, parse, &ids, &n_ids, &n_dropped, &err), &err)) {
        const bool same = same_ids(json_object_get(c, "ids"), ids, n_ids);
        if (!same) describe(c, ids, n_ids);
        CHECK(same);
        CHECK_OK(tokenizer_decode(o->t, ids, n_ids, false, &back, &n_back, &err), &err);
        if (can_round_trip(&o->v, text, n, parse, n_dropped) && CHECK_INT(n_back, n)) CHECK_MEM(back, text, n);
    }
    mem_free(ids);
    mem_free(back);
    mem_free(text);
}

static void run_vectors(const char *name) {
    char rel[128], path[512], command[1200];
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/vocab.gguf.gz", name);
    const char *packed = shared_path(rel);
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/cases.jsonl", name);
    const char *cases = shared_path(rel);
    if (!packed || !cases) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), name);
    snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", packed, path);
    if (system(command) != 0) {
        test_skip("no gzip");
        return;
    }
    struct opened o;
    if (!open_vocab(path, &o)) return;
    size_t n_file = 0, n_cases = 0;
    char *all = (char *)read_file(cases, &n_file);
    for (char *line = all, *end; line && *line; line = end + 1, n_cases++) {
        end = strchr(line, '\n');
        if (!end) break;
        json_t *c = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL);
        if (CHECK(c != NULL)) check_case(&o, c);
        json_decref(c);
    }
    CHECK(n_cases > 200);
    free(all);
    close_all(&o);
    remove(path);
}

TEST(field_2_8_llama_2_gives_the_published_ids) { run_vectors("llama-2"); }
TEST(field_2_8_phi_3_gives_the_published_ids) { run_vectors("phi-3"); }
TEST(field_2_8_mistral_v3_spm_gives_the_published_ids) { run_vectors("mistral-v3-spm"); }
TEST(field_2_8_gpt_2_gives_the_published_ids) { run_vectors("gpt-2"); }
TEST(field_2_8_smollm2_gives_the_published_ids) { run_vectors("smollm2"); }
TEST(field_2_8_llama_3_gives_the_published_ids) { run_vectors("llama-3"); }
TEST(field_2_8_cl100k_gives_the_published_ids) { run_vectors("cl100k"); }

static const char *const stories[] = {
    "Once upon a time, there was a little girl named Lily.",
    " two  spaces,\ttabs\n\nand lines\n",
    "na\xC3\xAFve \xE2\x80\x9Cquotes\xE2\x80\x9D \xF0\x9F\x98\x80 \xE4\xBD\xA0\xE5\xA5\xBD",
    "<s></s><unk><0x41>",
};

TEST(the_shipped_models_vocabulary_gives_every_text_back) {
    struct opened o;
    if (!open_vocab(RUNNEL_SOURCE_DIR "/models/stories.gguf", &o)) return;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        const size_t n = strlen(stories[i]);
        int32_t *ids = NULL;
        size_t n_ids = 0, n_back = 0;
        char *back = NULL;
        CHECK_OK(tokenizer_encode(o.t, stories[i], n, true, false, &ids, &n_ids, NULL, NULL), NULL);
        CHECK(n_ids > 1 && ids[0] == o.v.bos);
        CHECK_OK(tokenizer_decode(o.t, ids, n_ids, false, &back, &n_back, NULL), NULL);
        CHECK_STR(back, stories[i]);
        mem_free(ids);
        mem_free(back);
    }
    int32_t end[4];
    CHECK_INT(vocab_end_tokens(&o.v, end, 4), 1);
    CHECK_INT(end[0], o.v.eos);
    close_all(&o);
}

TEST(the_small_vocabulary_of_the_tests_is_that_of_the_shared_small_models) {
    const char *path = shared_path("goldens/small-llama/model-f32.gguf");
    struct opened o;
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    if (!open_vocab(path, &o)) return;
    static struct small_vocab small;
    small_bpe(&small, "gpt-2");
    CHECK_INT(o.v.n_tokens, small.v.n_tokens);
    CHECK_INT(o.v.n_merges, small.v.n_merges);
    for (int32_t i = 0; i < small.v.n_tokens && i < o.v.n_tokens; i++) {
        CHECK_INT(o.v.tokens[i].kind, small.tokens[i].kind);
        if (CHECK_INT(o.v.tokens[i].text.n, small.tokens[i].text.n))
            CHECK_MEM(o.v.tokens[i].text.s, small.tokens[i].text.s, small.tokens[i].text.n);
    }
    for (int32_t i = 0; i < small.v.n_merges && i < o.v.n_merges; i++)
        if (CHECK_INT(o.v.merges[i].n, small.merges[i].n))
            CHECK_MEM(o.v.merges[i].s, small.merges[i].s, small.merges[i].n);
    close_all(&o);
}
