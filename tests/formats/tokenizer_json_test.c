// tests/formats/tokenizer_json_test.c - tokenizer.json: small files that must load, and each spoilt one with its sentence (item 18 of
// the list of malformed inputs).
#include "base/mem.h"
#include "formats/vocab/tokenizer_json.h"
#include "tests/check.h"
#include "tokenizer/tokenizer.h"
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

// A byte-level BPE of 12 tokens, one of them added.
static const char bpe[] =
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,"
    "\"added_tokens\":[{\"id\":11,\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
    "\"normalized\":false,\"special\":true}],"
    "\"normalizer\":null,"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},"
    "\"post_processor\":null,"
    "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},"
    "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"fuse_unk\":false,\"byte_fallback\":false,"
    "\"ignore_merges\":false,\"vocab\":{\"\xC4\xA0\":0,\"a\":1,\"b\":2,\"e\":3,\"h\":4,\"t\":5,\"1\":6,\"<\":7,"
    "\"he\":8,\"\xC4\xA0t\":9,\"\xC4\xA0the\":10},"
    "\"merges\":[\"h e\",\"\xC4\xA0 t\",\"\xC4\xA0t he\"]}}";

// Unigram with SentencePiece's space sign.
static const char unigram[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true}],\"normalizer\":{\"type\":\"NFKC\"},"
    "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"always\","
    "\"split\":true},\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\"},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"\xE2\x96\x81\",-2],[\"a\",-3.5],"
    "[\"ab\",-4],[\"b\",-3],[\"\xE2\x96\x81"
    "ab\",-5.5]]}}";

// The text with each `from` replaced by `to`; free() it. from NULL: as it is.
static char *spoilt(const char *text, const char *from, const char *to) {
    char *const out = calloc(1, strlen(text) + (from ? 64 * strlen(to) : 0) + 1);
    if (!from) return strcpy(out, text);
    const char *hit = strstr(text, from);
    if (!hit) check_note("there is no %s", from);
    CHECK(hit != NULL);
    if (hit) sprintf(out, "%.*s%s%s", (int)(hit - text), text, to, hit + strlen(from));
    return out;
}

// Loads and makes the tokenizer: what the file cannot know by itself, that refuses.
static rn_status load(const char *text, const char *config, struct arena *mem, struct vocab *v, tokenizer **t,
                      rn_error *err) {
    *t = NULL;
    const rn_status st = tokenizer_json_load("t.json", (const uint8_t *)text, strlen(text), config,
                                             config ? strlen(config) : 0, mem, v, err);
    return st == RN_OK ? tokenizer_create(v, t, err) : st;
}

static void check_ids(const tokenizer *t, const char *text, bool add, bool parse, const char *want,
                      const char *back) {
    int32_t *ids = NULL;
    size_t n_ids = 0, n = 0;
    char got[256] = "", *decoded = NULL;
    rn_error err = {0};
    if (!CHECK_OK(tokenizer_encode(t, text, strlen(text), add, parse, &ids, &n_ids, NULL, &err), &err)) return;
    for (size_t i = 0; i < n_ids && strlen(got) < 240; i++) snprintf(got + strlen(got), 12, "%d ", ids[i]);
    CHECK_STR(got, want);
    CHECK_OK(tokenizer_decode(t, ids, n_ids, false, &decoded, &n, &err), &err);
    if (back) CHECK_STR(decoded, back);
    mem_free(ids);
    mem_free(decoded);
}

// ---- what must load -------------------------------------------------------------------------------------------------

#define BLOCK     "\xE2\x96\x81"
#define REGEX(r)  "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" r "\"},"
#define BYTES     "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}"
#define PRE_GPT2  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}"
#define POST_NULL "\"post_processor\":null"
#define NORM_NULL "\"normalizer\":null"
#define TEMPLATE(items)                                                                                              \
    "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},{\"type\":"                  \
    "\"TemplateProcessing\",\"single\":[" items "],\"pair\":[],\"special_tokens\":{\"<s>\":{\"id\":\"<s>\","         \
    "\"ids\":[11],\"tokens\":[\"<s>\"]}}}]}"
#define S "{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}}"
#define A "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"

static const struct {
    const char *why, *base, *from, *to, *text, *ids, *back;
} good[] = {
    {"as it is", bpe, NULL, NULL, "a the", "1 10 ", "a the"},
    {"merges as pairs", bpe, "\"h e\",\"\xC4\xA0 t\",\"\xC4\xA0t he\"",
     "[\"h\",\"e\"],[\"\xC4\xA0\",\"t\"],[\"\xC4\xA0t\",\"he\"]", "a the", "1 10 ", "a the"},
    {"a merge that no text can need", bpe, "\"h e\",", "[\"a\",\" \"],\"h e\",", "he", "8 ", "he"},
    {"a space put before the text", bpe, "\"add_prefix_space\":false", "\"add_prefix_space\":true", "the", "10 ",
     " the"},
    {"whole words first", bpe, "\"ignore_merges\":false,\"vocab\":{", "\"ignore_merges\":true,\"vocab\":{\"ab\":12,",
     "ab", "12 ", "ab"},
    {"NFD and without accents", bpe, NORM_NULL,
     "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":\"StripAccents\"}]}",
     "\xC3\xA1", "1 ", "a"},
    {"lower case", bpe, NORM_NULL, "\"normalizer\":{\"type\":\"Lowercase\"}", "AB", "1 2 ", "ab"},
    {"stripped on the left", bpe, NORM_NULL,
     "\"normalizer\":{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false}", "\t a ", "1 0 ", "a "},
    {"a replaced pattern", bpe, NORM_NULL,
     "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\d+\"},\"content\":\"a\"}", "b12b", "2 1 2 ",
     "bab"},
    {"put before each text", bpe, NORM_NULL, "\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"b\"}", "a", "2 1 ",
     "ba"},
    {"an own pattern", bpe, PRE_GPT2, REGEX("h|e") "\"behavior\":\"Isolated\",\"invert\":false}," BYTES, "he", "4 3 ",
     "he"},
    {"matches removed", bpe, PRE_GPT2, REGEX("h+") "\"behavior\":\"Removed\",\"invert\":false}," BYTES, "ahhb",
     "1 2 ", "ab"},
    {"all but the matches removed", bpe, PRE_GPT2, REGEX("[he]+") "\"behavior\":\"Removed\",\"invert\":true}," BYTES,
     "aheb", "8 ", "he"},
    {"matches with what is before", bpe, PRE_GPT2,
     REGEX("h") "\"behavior\":\"MergedWithPrevious\",\"invert\":false}," BYTES, "ahe", "1 4 3 ", "ahe"},
    {"matches with what is behind", bpe, PRE_GPT2,
     REGEX("h") "\"behavior\":\"MergedWithNext\",\"invert\":false}," BYTES, "ahe", "1 8 ", "ahe"},
    {"neighbours together", bpe, PRE_GPT2, REGEX("h|e") "\"behavior\":\"Contiguous\",\"invert\":false}," BYTES, "ahe",
     "1 8 ", "ahe"},
    {"cut where an empty match lies", bpe, PRE_GPT2,
     REGEX("(?=e)") "\"behavior\":\"Isolated\",\"invert\":false}," BYTES, "he", "4 3 ", "he"},
    {"an id between tokens is unused", bpe, "\"\xC4\xA0the\":10", "\"\xC4\xA0the\":12", "the", "5 8 ", "the"},
    {"BOS by template", bpe, POST_NULL, TEMPLATE(S "," A), "a", "11 1 ", "a"},
    {"EOS by template", bpe, POST_NULL, TEMPLATE(A "," S), "a", "1 11 ", "a"},
    {"white space before an added token", bpe, "\"lstrip\":false", "\"lstrip\":true", "a \t<s>b", "1 11 2 ", "ab"},
    {"white space behind it", bpe, "\"rstrip\":false", "\"rstrip\":true", "a<s> b", "1 11 2 ", "ab"},
    {"only as a whole word", bpe, "\"single_word\":false", "\"single_word\":true", "a<s><s>", "1 7 11 ", "a<"},
    {"merges that make an added token", bpe, "\"added_tokens\":[",
     "\"added_tokens\":[{\"id\":8,\"content\":\"he\",\"single_word\":true,\"special\":false},", "the he", "5 8 0 8 ",
     "the he"},
    {"unigram", unigram, NULL, NULL, "ab", "5 ", "ab"},
    {"the likeliest pieces, not the longest", unigram, "-5.5", "-9", "ab", "1 3 ", "ab"},
    {"unknown characters are one", unigram, NULL, NULL, "zz a", "1 0 1 2 ", " a"},
    {"NFKC", unigram, NULL, NULL, "\xEF\xBD\x81", "1 2 ", "a"},
    {"no space before", unigram, "\"always\"", "\"never\"", "ab a", "3 1 2 ", NULL},
    {"a word each, spaces alike", unigram,
     "{\"type\":\"Metaspace\",\"replacement\":\"" BLOCK "\",\"prepend_scheme\":\"always\",\"split\":true}",
     "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},{\"type\":\"Metaspace\",\"replacement\":\"" BLOCK
     "\"}]}",
     " ab\t a", "5 1 2 ", "ab a"},
};

TEST(item_18_what_a_file_asks_for_is_done) {
    for (size_t i = 0; i < N(good); i++) {
        struct arena mem = {0};
        struct vocab v;
        tokenizer *t;
        rn_error err = {0};
        char *text = spoilt(good[i].base, good[i].from, good[i].to);
        check_note("%s: %s", good[i].why, text);
        if (CHECK_OK(load(text, NULL, &mem, &v, &t, &err), &err))
            check_ids(t, good[i].text, true, true, good[i].ids, good[i].back);
        tokenizer_destroy(t);
        arena_free(&mem);
        free(text);
    }
}

TEST(text_of_a_control_token_is_text_unless_asked_for) {
    struct arena mem = {0};
    struct vocab v;
    tokenizer *t;
    rn_error err = {0};
    if (CHECK_OK(load(bpe, NULL, &mem, &v, &t, &err), &err)) {
        check_ids(t, "<s>", false, false, "7 ", "<"); // the other two bytes have no token here
        check_ids(t, "<s>", false, true, "11 ", "");
        CHECK(v.pre.n == 5 && memcmp(v.pre.s, "gpt-2", 5) == 0); // what a GGUF file would say
    }
    tokenizer_destroy(t);
    arena_free(&mem);
}

// ---- what must be refused -------------------------------------------------------------------------------------------

static const struct {
    const char *why, *base, *from, *to;
    rn_status code;
    const char *text;
} bad[] = {
    {"unknown normalizer", bpe, NORM_NULL, "\"normalizer\":{\"type\":\"Nmt\"}", RN_E_UNSUPPORTED,
     "t.json: normalizer: \"Nmt\" is not supported"},
    {"unknown pre-tokenizer", bpe, "\"pre_tokenizer\":{\"type\":\"ByteLevel\"",
     "\"pre_tokenizer\":{\"type\":\"Bert\"", RN_E_UNSUPPORTED, "t.json: pre_tokenizer: \"Bert\" is not supported"},
    {"unknown decoder", bpe, "\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"CTC\"", RN_E_UNSUPPORTED,
     "t.json: decoder: \"CTC\" is not supported"},
    {"no decoder", unigram, "\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"" BLOCK "\"}", "\"decoder\":null",
     RN_E_UNSUPPORTED, "decoder: missing"},
    {"unknown post-processor", bpe, POST_NULL, "\"post_processor\":{\"type\":\"X\"}", RN_E_UNSUPPORTED,
     "t.json: post_processor: \"X\" is not supported"},
    {"unknown model", bpe, "\"BPE\"", "\"WordLevel\"", RN_E_UNSUPPORTED,
     "model: type \"WordLevel\" is not supported"},
    {"unknown member of a step", bpe, "\"use_regex\":true},\"post", "\"use_magic\":true},\"post", RN_E_UNSUPPORTED,
     "pre_tokenizer: ByteLevel: member \"use_magic\" is not known"},
    {"unknown member of the model", bpe, "\"dropout\":null", "\"luck\":1", RN_E_UNSUPPORTED,
     "member \"luck\" is not known"},
    {"unknown member of the file", bpe, "\"version\"", "\"verse\"", RN_E_UNSUPPORTED,
     "member \"verse\" is not known"},
    {"dropout", bpe, "\"dropout\":null", "\"dropout\":0.1", RN_E_UNSUPPORTED, "dropout above 0"},
    {"an expression that does not compile", bpe, PRE_GPT2,
     REGEX("(a") "\"behavior\":\"Isolated\",\"invert\":false}," BYTES, RN_E_FORMAT,
     "pre-tokenizer: pattern \"(a\": near byte 2: missing closing parenthesis"},
    {"one that means something else elsewhere", bpe, PRE_GPT2,
     REGEX("[a-z&&[^b]]") "\"behavior\":\"Isolated\",\"invert\":false}," BYTES, RN_E_UNSUPPORTED,
     "byte 4 \"&&\": an intersection of classes"},
    {"a step behind the bytes", bpe, PRE_GPT2,
     "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\",\"add_prefix_space\":false},{\"type\":\"Digits\"}]}",
     RN_E_UNSUPPORTED, "steps after ByteLevel"},
    {"an unknown behaviour", bpe, PRE_GPT2, REGEX("a") "\"behavior\":\"Eaten\"}," BYTES, RN_E_UNSUPPORTED,
     "pre_tokenizer: Split: member behavior: \"Eaten\" is not known"},
    {"an empty pattern", bpe, PRE_GPT2, REGEX("") "\"behavior\":\"Isolated\"}," BYTES, RN_E_FORMAT,
     "pre_tokenizer: Split: member pattern: is empty"},
    {"an id given twice", bpe, "\"b\":2", "\"b\":1", RN_E_FORMAT, "id 1 is given to \"a\" and to \"b\""},
    {"a negative id", bpe, "\"b\":2", "\"b\":-2", RN_E_FORMAT, "the id of \"b\": -2 is outside 0.."},
    {"an id of 2^31", bpe, "\"b\":2", "\"b\":2147483648", RN_E_FORMAT, "2147483648 is outside 0.."},
    {"far too many ids without a token", bpe, "\"b\":2", "\"b\":65548", RN_E_LIMIT,
     "more than 65536 ids without one"},
    {"an id that is a text", bpe, "\"b\":2", "\"b\":\"2\"", RN_E_FORMAT, "the id of \"b\": is a string"},
    {"a token named twice", bpe, "\"b\":2", "\"b\":2,\"b\":12", RN_E_FORMAT, "\"b\" is given twice"},
    {"an empty token", bpe, "\"b\":2", "\"\":2", RN_E_FORMAT, "token 2: is empty"},
    {"a merge without a space", bpe, "\"h e\"", "\"he\"", RN_E_FORMAT,
     "model: merge 0: is neither two texts nor one"},
    {"a merge of three", bpe, "\"h e\"", "[\"h\",\"e\",\"a\"]", RN_E_FORMAT,
     "model: merge 0: is neither two texts nor one"},
    {"a merge of no token", bpe, "\"h e\"", "\"h x\"", RN_E_FORMAT, "merge 0 \"h x\": its right half is not a token"},
    {"an added token without text", bpe, "\"content\":\"<s>\"", "\"content\":\"\"", RN_E_FORMAT,
     "added_tokens[0]: token 11: is empty"},
    {"an added token of another id than the model's", bpe, "\"content\":\"<s>\"", "\"content\":\"he\"", RN_E_FORMAT,
     "added_tokens[0]: \"he\" has the ids 8 and 11"},
    {"an added token with a token's id", bpe, "\"id\":11", "\"id\":8", RN_E_FORMAT,
     "added_tokens[0]: id 8 is given to \"he\" and to \"<s>\""},
    {"an added token without an id", bpe, "\"id\":11,", "", RN_E_FORMAT, "added_tokens[0]: has no id"},
    {"a template with two before", bpe, POST_NULL, TEMPLATE(S "," S "," A), RN_E_UNSUPPORTED,
     "more than one token on a side of the text"},
    {"a template of an unknown token", bpe, POST_NULL, TEMPLATE("{\"SpecialToken\":{\"id\":\"<x>\"}}," A),
     RN_E_FORMAT, "special token \"<x>\" is not in special_tokens"},
    {"a map in bad base64", bpe, NORM_NULL,
     "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA*\"}", RN_E_FORMAT,
     "normalizer: Precompiled: member precompiled_charsmap: no base64 at character 3 of 4"},
    {"a map that lies about its size", bpe, NORM_NULL,
     "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////wAA\"}", RN_E_FORMAT,
     "character map: a trie of 4294967295 bytes in a map of 6 bytes"},
    {"nothing to replace", bpe, NORM_NULL,
     "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"a\"}", RN_E_FORMAT,
     "normalizer: Replace: member pattern: is empty"},
    {"a score that is no number", unigram, "-3.5", "\"x\"", RN_E_FORMAT, "model: vocab[2]: score: is a string"},
    {"a score beyond floats", unigram, "-3.5", "-1e39", RN_E_FORMAT, "model: vocab[2]: score: -1e39 is outside"},
    {"an unknown token that is none", unigram, "\"unk_id\":0", "\"unk_id\":6", RN_E_FORMAT,
     "model: member unk_id: 6 is outside 0..5"},
    {"no unknown token", unigram, "\"unk_id\":0", "\"unk_id\":null", RN_E_FORMAT, "neither an unknown token nor"},
    {"a piece twice", unigram, "[\"b\",-3]", "[\"a\",-3]", RN_E_FORMAT, "\"a\" has the ids 2 and 4"},
    {"no pair", unigram, "[\"b\",-3]", "\"b\"", RN_E_FORMAT, "model: vocab[4]: is not a pair of text and score"},
    {"not JSON", bpe, "\"version\"", "version", RN_E_FORMAT, "t.json: not JSON"},
};

TEST(item_18_what_is_wrong_or_not_known_is_named) {
    for (size_t i = 0; i < N(bad); i++) {
        struct arena mem = {0};
        struct vocab v;
        tokenizer *t;
        rn_error err = {0};
        char *text = spoilt(bad[i].base, bad[i].from, bad[i].to);
        check_note("%s: %s", bad[i].why, text);
        CHECK_FAILS(load(text, NULL, &mem, &v, &t, &err), bad[i].code, &err);
        check_note("%s", bad[i].why);
        CHECK_HAS(err.text, bad[i].text);
        CHECK(t == NULL);
        tokenizer_destroy(t);
        arena_free(&mem);
        free(text);
    }
}

TEST(item_18_an_expression_that_goes_back_for_ever_reaches_a_limit) {
    struct arena mem = {0};
    struct vocab v;
    tokenizer *t;
    rn_error err = {0};
    char *text = spoilt(bpe, PRE_GPT2, REGEX("(a|aa)+[cd]") "\"behavior\":\"Isolated\",\"invert\":false}," BYTES);
    static const char many[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    int32_t *ids = NULL;
    size_t n_ids;
    if (CHECK_OK(load(text, NULL, &mem, &v, &t, &err), &err)) {
        CHECK_FAILS(tokenizer_encode(t, many, strlen(many), false, false, &ids, &n_ids, NULL, &err), RN_E_LIMIT,
                    &err);
        CHECK_STR(err.text, "text: byte 0: pre-tokenizer of the file: the limit of 1,000,000 match steps is reached");
    }
    tokenizer_destroy(t);
    arena_free(&mem);
    free(text);
}

#define REPLACE(from, to) "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" from "\"},\"content\":\"" to "\"}"
#define TWICE(x)          x x
#define B128              TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(TWICE("b")))))))
#define DOUBLE            "," REPLACE("a", "aa")
#define DOUBLE_64         TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(DOUBLE))))))

static rn_status encode_with(const char *normalizer, const char *added, const char *s, size_t n, rn_error *err) {
    struct arena mem = {0};
    struct vocab v;
    tokenizer *t;
    int32_t *ids = NULL;
    size_t n_ids;
    char *normalizing = spoilt(bpe, NORM_NULL, normalizer),
         *text = spoilt(normalizing, "\"normalized\":false", added);
    rn_status st = load(text, NULL, &mem, &v, &t, err);
    if (st == RN_OK) st = tokenizer_encode(t, s, n, false, false, &ids, &n_ids, NULL, err);
    mem_free(ids);
    tokenizer_destroy(t);
    arena_free(&mem);
    free(normalizing);
    free(text);
    return st;
}

TEST(a_normalizer_makes_a_text_at_most_64_times_as_long_and_1024_bytes) {
    static const char wide[] = "\"normalizer\":" REPLACE("a", B128), plain[] = "\"normalized\":false";
    static const struct {
        const char *why, *normalizer, *added;
        size_t n; // letters
        rn_status code;
        const char *text;
    } rows[] = {
        {"15 * 128, limit 1,984", wide, plain, 15, RN_OK, ""},
        {"16 * 128, limit 2,048", wide, plain, 16, RN_OK, ""},
        {"17 * 128, limit 2,112", wide, plain, 17, RN_E_LIMIT,
         "text: normalizer: a text of 17 bytes grows beyond 2112"},
        {"doubled 64 times",
         "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}" DOUBLE_64 "]}", plain, 1,
         RN_E_LIMIT, "more than 64 steps"},
        {"doubled 11 times",
         "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}" TWICE(TWICE(DOUBLE DOUBLE))
             DOUBLE DOUBLE DOUBLE "]}",
         plain, 1, RN_E_LIMIT, "a text of 1 bytes grows beyond 1088"},
        {"an added token", "\"normalizer\":" REPLACE("s", B128 B128 B128 B128), "\"normalized\":true", 1, RN_E_LIMIT,
         "tokenizer: token 11 has 514 bytes when normalized, limit 512"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        rn_error err = {0};
        char letters[32];
        memset(letters, 'a', sizeof letters);
        check_note("%s", rows[i].why);
        CHECK_FAILS(encode_with(rows[i].normalizer, rows[i].added, letters, rows[i].n, &err), rows[i].code, &err);
        check_note("%s", rows[i].why);
        CHECK_HAS(err.text, rows[i].text);
    }
}

TEST(ids_without_a_token_have_a_limit) {
    static const struct {
        const char *id;
        rn_status code;
    } rows[] = {{"\"b\":65546", RN_OK}, {"\"b\":65547", RN_OK}, {"\"b\":65548", RN_E_LIMIT}}; // 12 tokens
    for (size_t i = 0; i < N(rows); i++) {
        struct arena mem = {0};
        struct vocab v;
        rn_error err = {0};
        char *text = spoilt(bpe, "\"b\":2", rows[i].id);
        CHECK_FAILS(tokenizer_json_load("t", (const uint8_t *)text, strlen(text), NULL, 0, &mem, &v, &err),
                    rows[i].code, &err);
        arena_free(&mem);
        free(text);
    }
}

// ---- tokenizer_config.json ------------------------------------------------------------------------------------------

static const struct {
    const char *why, *config;
    rn_status code;
    const char *text; // of the error
    int32_t bos, eos;
    bool add_bos;
} configs[] = {
    {"texts", "{\"bos_token\":\"<s>\",\"eos_token\":\"he\"}", RN_OK, "", 11, 8, false},
    {"objects and null", "{\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":null}", RN_OK, "", 11, -1, false},
    {"BOS added", "{\"bos_token\":\"<s>\",\"add_bos_token\":true}", RN_OK, "", 11, -1, true},
    {"no such token", "{\"bos_token\":\"<x>\"}", RN_E_FORMAT,
     "tokenizer_config.json: member bos_token: \"<x>\" is not a token of the vocabulary", -1, -1, false},
    {"no text", "{\"bos_token\":1}", RN_E_FORMAT, "member bos_token: is a number, must be a string", -1, -1, false},
    {"no flag", "{\"add_bos_token\":\"yes\"}", RN_E_FORMAT, "member add_bos_token: is a string", -1, -1, false},
    {"no object", "[]", RN_E_FORMAT, "tokenizer_config.json: is an array, must be an object", -1, -1, false},
};

TEST(the_configuration_names_the_tokens_around_a_text) {
    for (size_t i = 0; i < N(configs); i++) {
        struct arena mem = {0};
        struct vocab v;
        tokenizer *t;
        rn_error err = {0};
        check_note("%s", configs[i].why);
        CHECK_FAILS(load(bpe, configs[i].config, &mem, &v, &t, &err), configs[i].code, &err);
        CHECK_HAS(err.text, configs[i].text);
        if (configs[i].code == RN_OK) {
            CHECK_INT(v.bos, configs[i].bos);
            CHECK_INT(v.eos, configs[i].eos);
            CHECK_INT(v.add_bos, configs[i].add_bos);
        }
        tokenizer_destroy(t);
        arena_free(&mem);
    }
}

// ---- no memory ------------------------------------------------------------------------------------------------------

static rn_status load_and_encode(void *user) {
    static const char text[] = "a the <s> \xC3\xA1 12 zz";
    struct arena mem = {0};
    struct vocab v;
    tokenizer *t;
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_status st = load(user, "{\"pad_token\":null}", &mem, &v, &t, NULL);
    if (st == RN_OK) st = tokenizer_encode(t, text, strlen(text), true, true, &ids, &n_ids, NULL, NULL);
    mem_free(ids);
    tokenizer_destroy(t);
    arena_free(&mem);
    return st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    char *text =
        spoilt(bpe, NORM_NULL,
               "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Replace\","
               "\"pattern\":{\"Regex\":\"b+\"},\"content\":\"a\"},{\"type\":\"Precompiled\","
               "\"precompiled_charsmap\":\"\"}]}");
    char *with_normalized = spoilt(text, "\"normalized\":false", "\"normalized\":true");
    check_each_failed_allocation(load_and_encode, with_normalized, __FILE__, __LINE__);
    static char copy[sizeof unigram];
    memcpy(copy, unigram, sizeof unigram);
    check_each_failed_allocation(load_and_encode, copy, __FILE__, __LINE__);
    free(text);
    free(with_normalized);
}
