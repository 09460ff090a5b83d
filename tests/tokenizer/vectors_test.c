// tests/tokenizer/vectors_test.c - token ids against the shared vectors of published vocabularies, and the shipped model's vocabulary.
#include "base/hash.h"
#include "base/mem.h"
#include "formats/package.h"
#include "formats/vocab/tokenizer_json.h"
#include "formats/vocab/tokenizer_model.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/tokenizer.h"
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

// pre: instead of the file's pre-tokenizer; NULL: that one.
static bool open_vocab(const char *path, const char *pre, struct opened *o) {
    rn_error err = {0};
    const struct package_options opt = {.load = FILE_LOAD_READ};
    *o = (struct opened){0};
    if (!CHECK_OK(package_open(path, &opt, &o->p, &err), &err)) return false;
    o->v = *package_vocab(o->p);
    if (pre) o->v.pre = str_of(pre);
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
    if (n_dropped > 0 || parse_special || !utf8_valid(s, n) || v->model == VOCAB_WORDPIECE) return false;
    return v->model == VOCAB_BPE || !strstr(s, "\xE2\x96\x81");
}

// BERT's published tokenizer lets a text spell its control tokens; here, as in llama.cpp, they are text unless they are asked for.
static const json_t *wanted_ids(const struct opened *o, const json_t *c, bool parse) {
    static const char *const controls[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    const char *const text = json_string_value(json_object_get(c, "text"));
    const bool is_bert = o->v.model == VOCAB_WORDPIECE && text && !parse;
    for (size_t i = 0; is_bert && i < sizeof controls / sizeof *controls; i++)
        if (strstr(text, controls[i])) return json_object_get(c, "llama_cpp");
    return json_object_get(c, "ids");
}

static void check_case(const struct opened *o, const json_t *c) {
    const bool add = json_is_true(json_object_get(c, "add_special")),
               parse = json_is_true(json_object_get(c, "parse_special"));
    size_t n = 0, n_ids = 0, n_dropped = 0, n_back = 0;
    char *text = input_of(c, &n), *back = NULL;
    int32_t *ids = NULL;
    rn_error err = {0};
    if (CHECK_OK(tokenizer_encode(o->t, text, n, add, parse, &ids, &n_ids, &n_dropped, &err), &err)) {
        const bool same = same_ids(wanted_ids(o, c, parse), ids, n_ids);
        if (!same) describe(c, ids, n_ids);
        CHECK(same);
        CHECK_OK(tokenizer_decode(o->t, ids, n_ids, false, &back, &n_back, &err), &err);
        if (can_round_trip(&o->v, text, n, parse, n_dropped) && CHECK_INT(n_back, n)) CHECK_MEM(back, text, n);
    }
    mem_free(ids);
    mem_free(back);
    mem_free(text);
}

// Unpacks a file of a folder of vectors. false: it is not there, or there is no gzip, and the test is marked so.
static bool unpack(const char *folder, const char *file, char *path, size_t n_path) {
    char rel[128], command[1200];
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/%s.gz", folder, file);
    const char *packed = shared_path(rel);
    if (!packed) return test_skip("no shared material: set RUNNEL_SHARED"), false;
    snprintf(path, n_path, "%s/%s-%s", temp_dir(), folder, file);
    snprintf(command, sizeof command, "gzip -dc '%s' > '%s'", packed, path);
    if (system(command) != 0) return test_skip("no gzip"), false;
    return true;
}

static void check_cases(const char *folder, const struct opened *o,
                        void (*check)(const struct opened *, const json_t *)) {
    char rel[128];
    size_t n_file = 0, n_cases = 0;
    snprintf(rel, sizeof rel, "vectors/tokenizers/%s/cases.jsonl", folder);
    char *all = (char *)read_file(shared_path(rel), &n_file);
    for (char *line = all, *end; line && *line; line = end + 1, n_cases++) {
        end = strchr(line, '\n');
        if (!end) break;
        json_t *c = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL);
        if (CHECK(c != NULL)) check(o, c);
        json_decref(c);
    }
    CHECK(n_cases > 200);
    free(all);
}

// ---- how few tokens a text can have ---------------------------------------------------------------------------------

static uint64_t draw(uint64_t *seed, uint64_t n) { return hash_u64(++*seed, 5) % n; }

// Text with as few tokens as it can have, and what a tokenizer may shorten or drop: long tokens, spellings of control tokens, white
// space, characters that normalization composes or removes, U+2581, any bytes.
static size_t make_few(const struct opened *o, uint64_t seed, int32_t longest, char *text, size_t most) {
    static const char *const units[] = {
        " ",  "        ",     "\n\n",         "e\xCC\x81",    "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB",
        "\t", "\xE2\x96\x81", "\xE2\x84\xAA", "\xEF\xBF\xBD", "\xF0\x92\x80\x80"};
    size_t n = 0;
    const uint64_t kind = draw(&seed, 4);
    for (;;) {
        size_t n_piece = 1;
        const char byte = (char)draw(&seed, 256);
        const char *piece = &byte;
        switch (kind == 3 ? draw(&seed, 4) : kind) {
        case 0: piece = tokenizer_piece(o->t, longest, true, &n_piece); break;
        case 1: piece = tokenizer_piece(o->t, (int32_t)draw(&seed, (uint64_t)o->v.n_tokens), true, &n_piece); break;
        case 2: piece = units[draw(&seed, sizeof units / sizeof *units)], n_piece = strlen(piece); break;
        default: break;
        }
        if (n + n_piece > most) return n;
        memcpy(text + n, piece, n_piece);
        n += n_piece;
    }
}

static int32_t longest_token(const struct opened *o) {
    int32_t longest = 0;
    size_t n_most = 0;
    for (int32_t id = 0; id < o->v.n_tokens; id++) {
        size_t n;
        tokenizer_piece(o->t, id, true, &n);
        if (n > n_most) n_most = n, longest = id;
    }
    return longest;
}

// No text has fewer tokens than its length says, and one that cannot fit is refused by its length.
static void check_least(const struct opened *o, bool has_bound) {
    enum { TEXT = 1 << 14 };
    static char text[TEXT];
    const int32_t longest = longest_token(o);
    memset(text, 'a', TEXT);
    CHECK_INT(tokenizer_least(o->t, text, TEXT) > 0, has_bound);
    for (uint64_t seed = 0; seed < 60; seed++) {
        const size_t n = make_few(o, seed, longest, text, seed % 2 ? TEXT : 300),
                     least = tokenizer_least(o->t, text, n);
        int32_t *ids = NULL;
        size_t n_ids = 0;
        rn_error err = {0};
        CHECK_OK(tokenizer_encode(o->t, text, n, false, seed % 3 != 0, &ids, &n_ids, NULL, &err), &err);
        check_note("seed %d: %zu bytes, %zu tokens, at least %zu", (int)seed, n, n_ids, least);
        CHECK(n_ids >= least);
        mem_free(ids);
        if (least == 0) continue;
        CHECK_INT(tokenizer_encode_at_most(o->t, text, n, false, true, least - 1, &ids, &n_ids, &err), RN_E_LIMIT);
        CHECK_INT(n_ids, least);
        CHECK(ids == NULL);
    }
}

static void run_with(const char *cases, const char *vocab, const char *pre) {
    char path[512];
    struct opened o;
    if (!unpack(vocab, "vocab.gguf", path, sizeof path)) return;
    if (open_vocab(path, pre, &o)) {
        check_cases(cases, &o, check_case);
        check_least(&o, o.v.model != VOCAB_WORDPIECE);
        close_all(&o);
    }
    remove(path);
}
static void run_vectors(const char *name) { run_with(name, name, NULL); }

TEST(field_2_8_llama_2_gives_the_published_ids) { run_vectors("llama-2"); }
TEST(field_2_8_phi_3_gives_the_published_ids) { run_vectors("phi-3"); }
TEST(field_2_8_mistral_v3_spm_gives_the_published_ids) { run_vectors("mistral-v3-spm"); }
TEST(field_2_8_gemma_3_gives_the_published_ids) { run_vectors("gemma-3"); }
TEST(field_2_8_gemma_4_gives_the_published_ids) { run_vectors("gemma-4"); }
TEST(field_2_8_gpt_2_gives_the_published_ids) { run_vectors("gpt-2"); }
TEST(field_2_8_smollm2_gives_the_published_ids) { run_vectors("smollm2"); }
TEST(field_2_8_llama_3_gives_the_published_ids) { run_vectors("llama-3"); }
TEST(field_2_8_cl100k_gives_the_published_ids) { run_vectors("cl100k"); }
TEST(field_2_8_o200k_gives_the_published_ids) { run_vectors("o200k"); }
TEST(field_2_8_mistral_tekken_gives_the_published_ids) { run_vectors("mistral-tekken"); }
TEST(field_2_8_qwen2_gives_the_published_ids) { run_vectors("qwen2"); }
TEST(field_2_8_qwen35_gives_the_published_ids) { run_with("qwen3.5-pre", "qwen2", "qwen35"); }
TEST(field_2_8_starcoder2_gives_the_published_ids) { run_vectors("starcoder2"); }
TEST(field_2_8_command_r_gives_the_published_ids) { run_vectors("command-r"); }
TEST(field_2_8_falcon_gives_the_published_ids) { run_vectors("falcon"); }
TEST(field_2_8_deepseek_coder_gives_the_published_ids) { run_vectors("deepseek-coder"); }
TEST(field_2_8_deepseek_llm_gives_the_published_ids) { run_vectors("deepseek-llm"); }
TEST(field_2_8_bert_uncased_gives_the_published_ids) { run_vectors("bert-uncased"); }

// U+226F is > with a stroke, which is taken off before punctuation is set apart.
TEST(bert_sets_punctuation_apart_behind_its_other_steps) {
    char path[512];
    struct opened o;
    if (!unpack("bert-uncased", "vocab.gguf", path, sizeof path)) return;
    if (open_vocab(path, NULL, &o)) {
        static const char *const texts[] = {"a\xE2\x89\xAF"
                                            "b",
                                            "a > b"};
        int32_t *ids[2] = {NULL, NULL};
        size_t n[2] = {0, 0};
        for (int i = 0; i < 2; i++)
            CHECK_OK(tokenizer_encode(o.t, texts[i], strlen(texts[i]), true, false, &ids[i], &n[i], NULL, NULL),
                     NULL);
        if (CHECK_INT(n[0], n[1])) CHECK_MEM(ids[0], ids[1], n[0] * sizeof *ids[0]);
        for (int i = 0; i < 2; i++) mem_free(ids[i]);
        close_all(&o);
    }
    remove(path);
}

// ---- from tokenizer.json --------------------------------------------------------------------------------------------

// Rust's strings hold no invalid UTF-8, and these files add nothing to a text; where the file normalizes, `nfc` holds.
static void check_json_case(const struct opened *o, const json_t *c) {
    const json_t *nfc = json_object_get(c, "nfc");
    if (!json_object_get(c, "text") || json_is_true(json_object_get(c, "add_special"))) return;
    const bool parse = json_is_true(json_object_get(c, "parse_special"));
    size_t n = 0, n_ids = 0;
    char *text = input_of(c, &n);
    int32_t *ids = NULL;
    rn_error err = {0};
    if (CHECK_OK(tokenizer_encode(o->t, text, n, false, parse, &ids, &n_ids, NULL, &err), &err)) {
        const bool same = same_ids(nfc ? nfc : json_object_get(c, "ids"), ids, n_ids);
        if (!same) describe(c, ids, n_ids);
        CHECK(same);
    }
    mem_free(ids);
    mem_free(text);
}

static void run_json(const char *name, const char *pre) {
    char path[512];
    struct opened o = {0};
    struct arena mem = {0};
    rn_error err = {0};
    size_t n = 0;
    if (!unpack(name, "tokenizer.json", path, sizeof path)) return;
    uint8_t *data = read_file(path, &n);
    if (CHECK_OK(tokenizer_json_load(path, data, n, NULL, 0, &mem, &o.v, &err), &err) &&
        CHECK_OK(tokenizer_create(&o.v, &o.t, &err), &err)) {
        CHECK(o.v.pre.n == strlen(pre) && memcmp(o.v.pre.s, pre, o.v.pre.n) == 0);
        check_cases(name, &o, check_json_case);
        check_least(&o, o.v.n_norms == 0);
    }
    tokenizer_destroy(o.t);
    arena_free(&mem);
    free(data);
    remove(path);
}

TEST(field_2_8_gpt_2_gives_the_same_ids_from_tokenizer_json) { run_json("gpt-2", "gpt-2"); }
TEST(field_2_8_smollm2_gives_the_same_ids_from_tokenizer_json) { run_json("smollm2", "smollm"); }
TEST(field_2_8_llama_3_gives_the_same_ids_from_tokenizer_json) { run_json("llama-3", "llama-bpe"); }
TEST(field_2_8_qwen2_gives_the_normalized_ids_from_tokenizer_json) { run_json("qwen2", "qwen2"); }
TEST(field_2_8_falcon_gives_the_same_ids_from_tokenizer_json) { run_json("falcon", "falcon"); }
TEST(field_2_8_deepseek_llm_gives_the_same_ids_from_tokenizer_json) { run_json("deepseek-llm", "deepseek-llm"); }

// Digits and Split stand behind ByteLevel there, so they see bytes spelled as characters: 0xB2, 0xBD and four more are numbers, numbers of
// other scripts are not. Ids of the tokenizers library, 0.23.3.
static const struct {
    const char *text;
    int32_t ids[16];
} byte_digits[] = {
    {"I \xE2\x91\xA0K", {52, 2723, 223, 238, 54}},
    {"x  \xC2\xBD\xE2\x94\xA7", {99, 204, 3068, 133, 18736, 112}},
    {"  \xE2\x85\xA7 1234\xC2\xBD\x35", {204, 64184, 112, 204, 10963, 31, 136, 133, 32}},
    {"\xC2\xB2\xC2\xB3\xC2\xB9 \xD9\xA3\xD9\xA4", {136, 122, 136, 123, 136, 129, 204, 159, 108, 159, 109}},
    {"\xC3\xA9\xC2\xBD\xC3\xA9", {465, 136, 133, 465}},
};

TEST(falcons_steps_behind_bytelevel_see_bytes) {
    char path[512];
    struct opened o;
    if (!unpack("falcon", "vocab.gguf", path, sizeof path)) return;
    if (!open_vocab(path, NULL, &o)) return;
    for (size_t i = 0; i < sizeof byte_digits / sizeof *byte_digits; i++) {
        const char *text = byte_digits[i].text;
        int32_t *ids = NULL;
        size_t n_ids = 0;
        check_note("%s", text);
        CHECK_OK(tokenizer_encode(o.t, text, strlen(text), false, false, &ids, &n_ids, NULL, NULL), NULL);
        for (size_t k = 0; k < 16; k++) CHECK_INT(k < n_ids ? ids[k] : 0, byte_digits[i].ids[k]);
        mem_free(ids);
    }
    close_all(&o);
    remove(path);
}

// ---- the default model ----------------------------------------------------------------------------------------------

static const char *const stories[] = {
    "Once upon a time, there was a little girl named Lily.",
    " two  spaces,\ttabs\n\nand lines\n",
    "na\xC3\xAFve \xE2\x80\x9Cquotes\xE2\x80\x9D \xF0\x9F\x98\x80 \xE4\xBD\xA0\xE5\xA5\xBD",
    "<s></s><unk><0x41>",
};

TEST(the_shipped_models_vocabulary_gives_every_text_back) {
    struct opened o;
    if (!open_vocab(RUNNEL_SOURCE_DIR "/models/stories.gguf", NULL, &o)) return;
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
    if (!open_vocab(path, NULL, &o)) return;
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

static const char *const odd[] = {
    "",
    " ",
    "a",
    "  Once  upon\na time\t",
    "\n\n",
    "na\xC3\xAFve \xE2\x80\x9Cquotes\xE2\x80\x9D \xF0\x9F\x98\x80 \xE4\xBD\xA0\xE5\xA5\xBD",
    "\xE2\x96\x81typed\xE2\x96\x81\xE2\x96\x81 by hand\xE2\x96\x81",
    "<s>text</s> <unk><0x41>",
    "e\xCC\x81 \xEF\xAC\x81 \xC2\xA0 \xE3\x80\x80 \xE2\x80\x8D",
    "1234567890 !?'\"()[]{} --- ... x=y;",
};

static void check_same_ids(const tokenizer *a, const tokenizer *b, const char *text, bool special, const char *why) {
    int32_t *ids[2] = {NULL, NULL};
    size_t n[2] = {0, 0}, n_text[2] = {0, 0};
    char *back[2] = {NULL, NULL};
    const tokenizer *const both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tokenizer_encode(both[i], text, strlen(text), special, special, &ids[i], &n[i], NULL, NULL), NULL);
        CHECK_OK(tokenizer_decode(both[i], ids[i], n[i], false, &back[i], &n_text[i], NULL), NULL);
    }
    check_note("%s: \"%s\"", why, text);
    if (CHECK_INT(n[1], n[0])) CHECK_MEM(ids[1], ids[0], n[0] * sizeof *ids[0]);
    check_note("%s: \"%s\"", why, text);
    if (!special) CHECK_STR(back[1], back[0]);
    for (int i = 0; i < 2; i++) mem_free(ids[i]), mem_free(back[i]);
}

TEST(the_default_models_folder_gives_the_ids_of_its_file) {
    const char *json = shared_path("models/stories/hf/tokenizer.json"),
               *model = shared_path("models/stories/hf/tokenizer.model"),
               *config = shared_path("models/stories/hf/tokenizer_config.json");
    struct opened o;
    struct arena mem = {0};
    struct vocab v[2];
    tokenizer *t[2] = {NULL, NULL};
    rn_error err = {0};
    size_t n_json, n_model, n_config;
    if (!json || !model || !config) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    if (!open_vocab(RUNNEL_SOURCE_DIR "/models/stories.gguf", NULL, &o)) return;
    uint8_t *j = read_file(json, &n_json), *m = read_file(model, &n_model), *c = read_file(config, &n_config);
    CHECK_OK(tokenizer_json_load("tokenizer.json", j, n_json, (char *)c, n_config, &mem, &v[0], &err), &err);
    CHECK_OK(tokenizer_model_load("tokenizer.model", m, n_model, &mem, &v[1], &err), &err);
    CHECK_OK(tokenizer_config_apply("tokenizer_config.json", (char *)c, n_config, &mem, &v[1], &err), &err);
    for (int i = 0; i < 2; i++) {
        const char *const why = i == 0 ? "tokenizer.json" : "tokenizer.model";
        CHECK_INT(v[i].n_tokens, o.v.n_tokens);
        CHECK(v[i].bos == o.v.bos && v[i].eos == o.v.eos && v[i].unk == o.v.unk && v[i].add_bos && !v[i].add_eos);
        if (!CHECK_OK(tokenizer_create(&v[i], &t[i], &err), &err)) continue;
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
            check_same_ids(o.t, t[i], odd[k], false, why);
            check_same_ids(o.t, t[i], odd[k], true, why);
        }
        tokenizer_destroy(t[i]);
    }
    free(j), free(m), free(c);
    arena_free(&mem);
    close_all(&o);
}
