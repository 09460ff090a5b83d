// tests/tokenizer/longest_test.c - RWKV's tokenizer: a trie against the longest token found by looking at all of them; its vocabulary file, and
// what each spoilt line is refused with (item 19 of the list of malformed inputs).
#include "base/mem.h"
#include "base/philox.h"
#include "formats/vocab/rwkv_vocab.h"
#include "formats/vocab/tokenizer_json.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/longest.h"
#include "tokenizer/tokenizer.h"
#include <stdlib.h>
#include <string.h>

static struct small_vocab sv; // the running test's

static tokenizer *make(const struct vocab *v) {
    tokenizer *t = NULL;
    rn_error err = {0};
    CHECK_OK(tokenizer_create(v, &t, &err), &err);
    return t;
}

// ---- texts ----------------------------------------------------------------------------------------------------------

// The last of the longest normal tokens that the text begins with, -1: none. *n: its bytes, or 1.
static int32_t plain_longest(const char *text, size_t left, size_t *n) {
    int32_t id = -1;
    *n = 0;
    for (int32_t i = 0; i < sv.v.n_tokens; i++) {
        char bytes[64];
        const size_t n_bytes = (size_t)longest_unescape(sv.tokens[i].text.s, sv.tokens[i].text.n, bytes);
        if (sv.tokens[i].kind != TOKEN_NORMAL || n_bytes > left || memcmp(bytes, text, n_bytes) != 0) continue;
        if (n_bytes >= *n) id = i, *n = n_bytes;
    }
    if (id < 0) *n = 1;
    return id;
}

static size_t random_text(uint32_t round, char text[64]) {
    static const char letters[] = "the ab\\\nit's\xe2\x80\x99<s>c\0de";
    const size_t n = round % 64;
    for (size_t i = 0; i < n; i++) {
        const double x = philox_uniform(5, round, (uint32_t)i, PHILOX_TEST), y = x * 8 - (int)(x * 8);
        text[i] = x < 0.125 ? (char)(y * 256) : letters[(size_t)(y * (double)(sizeof letters - 1))];
    }
    return n;
}

// What a stream shows of the tokens, one by one, must be what it shows of the whole text.
static void check_stream(const tokenizer *t, const int32_t *ids, size_t n_ids, const char *text, size_t n) {
    char got[UTF8_ASSEMBLER_MAX_OUT(64 + 8)], want[UTF8_ASSEMBLER_MAX_OUT(64 + 8)];
    utf8_assembler by_token = {0}, at_once = {0};
    size_t n_got = 0;
    for (size_t i = 0; i < n_ids; i++) {
        size_t n_piece;
        const char *const piece = tokenizer_piece(t, ids[i], false, &n_piece);
        n_got += utf8_assembler_push(&by_token, piece, n_piece, got + n_got);
    }
    n_got += utf8_assembler_finish(&by_token, got + n_got);
    size_t n_want = utf8_assembler_push(&at_once, text, n, want);
    n_want += utf8_assembler_finish(&at_once, want + n_want);
    if (CHECK_INT(n_got, n_want)) CHECK_MEM(got, want, n_want);
}

static size_t copy_of_bytes(const char *text, size_t n, uint8_t without, char *out) {
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)text[i] != without) out[n_out++] = text[i];
    return n_out;
}

TEST(a_text_has_the_longest_tokens_from_left_to_right_and_comes_back) {
    small_longest(&sv); // which lacks the byte 255
    tokenizer *const t = make(&sv.v);
    for (uint32_t round = 0; t && round < 6400; round++) {
        char text[64], kept[64], *back = NULL;
        int32_t *ids = NULL;
        size_t n_ids = 0, n_dropped = 0, n_back = 0, k = 0;
        const size_t n = random_text(round, text), n_kept = copy_of_bytes(text, n, 255, kept);
        rn_error err = {0};
        CHECK_OK(tokenizer_encode(t, text, n, false, false, &ids, &n_ids, &n_dropped, &err), &err);
        for (size_t at = 0, len; at < n; at += len) {
            const int32_t want = plain_longest(text + at, n - at, &len);
            if (want >= 0 && (!CHECK(k < n_ids) || !CHECK_INT(ids[k++], want))) break;
        }
        CHECK_INT(n_ids, k);
        CHECK_INT(n_dropped, n - n_kept);
        CHECK(tokenizer_least(t, text, n) <= n_ids);
        CHECK_OK(tokenizer_decode(t, ids, n_ids, true, &back, &n_back, &err), &err);
        if (CHECK_INT(n_back, n_kept)) CHECK_MEM(back, kept, n_kept);
        check_stream(t, ids, n_ids, kept, n_kept);
        mem_free(ids);
        mem_free(back);
    }
    tokenizer_destroy(t);
}

static void check_ids(const tokenizer *t, const char *text, bool parse_special, const int32_t *want, size_t n_want) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    check_note("\"%s\"", text);
    CHECK_OK(tokenizer_encode(t, text, strlen(text), false, parse_special, &ids, &n_ids, NULL, NULL), NULL);
    if (CHECK_INT(n_ids, n_want)) CHECK_MEM(ids, want, n_want * sizeof *want);
    mem_free(ids);
}

// llama.cpp looks for every token in the text, those that end it and fill the embedding too.
TEST(a_text_never_becomes_a_control_token_unless_asked_for) {
    small_longest(&sv);
    tokenizer *const t = make(&sv.v);
    const int32_t parsed[] = {0}, text[] = {256 + 11, 1 + '>'}, tag[] = {1 + 255 + 14};
    const int32_t filler[] = {1 + '[', 1 + 'P', 1 + 'A', 1 + 'D', 1 + ']'};
    check_ids(t, "<s>", true, parsed, 1);
    check_ids(t, "<s>", false, text, 2);
    check_ids(t, "<tag>", false, tag, 1); // what a user defines is looked for without its escapes
    check_ids(t, "[PAD]", true, filler, 5);
    tokenizer_destroy(t);
}

// ---- spellings ------------------------------------------------------------------------------------------------------

TEST(bytes_are_spelled_as_gguf_files_spell_them_and_come_back) {
    char all[256], spelled[1024], back[1024];
    for (int i = 0; i < 256; i++) all[i] = (char)i;
    const size_t n = longest_escape(all, sizeof all, spelled);
    CHECK_INT(longest_unescape(spelled, n, back), sizeof all);
    CHECK_MEM(back, all, sizeof all);
    CHECK_INT(longest_unescape(spelled, n, spelled), sizeof all); // in place
    CHECK_MEM(spelled, all, sizeof all);
    CHECK_INT(longest_escape("\0\t\n\r\\'\x7f\xe9 a", 10, spelled), 23);
    CHECK_MEM(spelled, "\\x00\\t\\n\\r\\\\'\\x7f\\xe9 a", 23);
    CHECK_INT(longest_unescape("\\'\\q\\xE9", 8, back), 3);
    CHECK_MEM(back, "'q\xe9", 3);
}

TEST(an_escape_without_its_end_is_refused) {
    static const char *const texts[] = {"a\\", "\\x", "\\x4", "\\x4g", "\\xg4", "a\\xé"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tokenizer *t = NULL;
        rn_error err = {0};
        char want[128];
        small_longest(&sv);
        sv.tokens[7].text = str_of(texts[i]);
        snprintf(want, sizeof want, "vocabulary: token 7: an escape of \"%s\" is not of the form \\xNN", texts[i]);
        CHECK_FAILS(tokenizer_create(&sv.v, &t, &err), RN_E_FORMAT, &err);
        CHECK_STR(err.text, want);
    }
}

TEST(a_token_has_a_kibibyte_at_most) {
    static char text[4 * (LONGEST_MAX_TOKEN + 1) + 1];
    for (int n = LONGEST_MAX_TOKEN; n <= LONGEST_MAX_TOKEN + 1; n++) {
        tokenizer *t = NULL;
        rn_error err = {0};
        small_longest(&sv);
        for (int i = 0; i < n; i++) memcpy(text + (size_t)4 * (size_t)i, "\\xfe", 5);
        sv.tokens[9].text = str_of(text);
        if (n == LONGEST_MAX_TOKEN)
            CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err);
        else
            CHECK_FAILS(tokenizer_create(&sv.v, &t, &err), RN_E_LIMIT, &err);
        CHECK_STR(err.text, n == LONGEST_MAX_TOKEN ? "" : "vocabulary: token 9: 1025 bytes, at most 1024");
        tokenizer_destroy(t);
    }
}

// ---- the vocabulary file --------------------------------------------------------------------------------------------

static rn_status load(const char *text, struct arena *mem, struct vocab *v, rn_error *err) {
    return rwkv_vocab_load("v.txt", text, strlen(text), mem, v, err);
}

static const char small_file[] =
    "1 '\\x00' 1\n2 b'\\xe2\\x80' 2\n3 \"it's\" 4\r\n4 '\\u3000 \\\\' 5\n5 '\xc3\xa9' 2\n"
    "6 '\\xe9' 2\n7 '\\n\\n' 2\n8 '\\U0001f600' 4\n9 b\"'\" 1\n10 '\\'\"' 2";

TEST(the_vocabulary_file_has_strings_and_bytes) {
    static const char *const want[] = {"<|rwkv_tokenizer_end_of_text|>", "\\x00",      "\\xe2\\x80", "it's",
                                       "\\xe3\\x80\\x80 \\\\",           "\\xc3\\xa9", "\\xc3\\xa9", "\\n\\n",
                                       "\\xf0\\x9f\\x98\\x80",           "'",          "'\""};
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    if (CHECK_OK(load(small_file, &mem, &v, &err), &err) && CHECK_INT(v.n_tokens, 11)) {
        CHECK(v.bos == 0 && v.eos == 0 && v.eot == 7 && !v.add_bos && !v.add_eos);
        for (int i = 0; i < 11; i++) {
            CHECK_INT(v.tokens[i].kind, i == 0 ? TOKEN_CONTROL : TOKEN_NORMAL);
            check_note("token %d", i);
            if (CHECK_INT(v.tokens[i].text.n, strlen(want[i])))
                CHECK_MEM(v.tokens[i].text.s, want[i], strlen(want[i]));
        }
    }
    arena_free(&mem);
}

TEST(a_line_that_is_no_token_is_named) {
#define NONE "is no id, Python literal and number of bytes"
    static const struct {
        const char *text, *why;
    } rows[] = {{"", "v.txt: is empty"},
                {"\n", "v.txt: line 1: " NONE},
                {"0 'a' 1", "v.txt: line 1: has id 0, where 1 is next"},
                {"1 'a' 1\n3 'b' 1", "v.txt: line 2: has id 3, where 2 is next"},
                {"4294967297 'a' 1", "v.txt: line 1: has id 4294967297, where 1 is next"},
                {"42949672970 'a' 1", "v.txt: line 1: " NONE},
                {"-1 'a' 1", "v.txt: line 1: " NONE},
                {"1 'a' 2", "v.txt: line 1: has 1 bytes, and says 2"},
                {"1 '' 0", "v.txt: line 1: has 0 bytes, and says 0"},
                {"1 'a' 1\n\n2 'b' 1", "v.txt: line 2: " NONE},
                {"1 'a 1", "v.txt: line 1: " NONE},
                {"1 'a\" 1", "v.txt: line 1: " NONE},
                {"1 a 1", "v.txt: line 1: " NONE},
                {"1 r'a' 1", "v.txt: line 1: " NONE},
                {"1 'a''b' 2", "v.txt: line 1: " NONE},
                {"1 'a\tb' 3", "v.txt: line 1: " NONE},
                {"1 '\\q' 1", "v.txt: line 1: " NONE},
                {"1 '\\x4' 1", "v.txt: line 1: " NONE},
                {"1 '\\ud800' 3", "v.txt: line 1: " NONE},
                {"1 '\\U00110000' 4", "v.txt: line 1: " NONE},
                {"1 '\xff' 1", "v.txt: line 1: " NONE},
                {"1 b'\xc3\xa9' 2", "v.txt: line 1: " NONE},
                {"1 b'\\u3000' 3", "v.txt: line 1: " NONE},
                {"1 'a' 1 ", "v.txt: line 1: " NONE},
                {"1  'a' 1", "v.txt: line 1: " NONE},
                {"1 'a'", "v.txt: line 1: " NONE}};
#undef NONE
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena mem = {0};
        struct vocab v;
        rn_error err = {0};
        check_note("%s", rows[i].text);
        CHECK_FAILS(load(rows[i].text, &mem, &v, &err), RN_E_FORMAT, &err);
        CHECK_STR(err.text, rows[i].why);
        CHECK(v.n_tokens == 0 && v.tokens == NULL && v.eot == -1);
        arena_free(&mem);
    }
}

static void check_long_line(const char *unit, int n, const char *why) {
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    char *const text = malloc((size_t)n * strlen(unit) + 32);
    strcpy(text, "1 '");
    for (int i = 0; i < n; i++) strcat(text, unit);
    sprintf(text + strlen(text), "' %d\n", n);
    check_note("%d of %s", n, unit);
    if (why)
        CHECK_FAILS(load(text, &mem, &v, &err), RN_E_LIMIT, &err);
    else
        CHECK_OK(load(text, &mem, &v, &err), &err);
    CHECK_STR(err.text, why ? why : "");
    free(text);
    arena_free(&mem);
}

TEST(lines_and_tokens_of_the_vocabulary_file_have_limits) {
    check_long_line("a", LONGEST_MAX_TOKEN, NULL);
    check_long_line("\\x01", LONGEST_MAX_TOKEN, NULL);
    check_long_line("a", LONGEST_MAX_TOKEN + 1, "v.txt: line 1: a token of 1025 bytes, limit 1024");
    check_long_line("a", 4151, "v.txt: line 1: a token of 4151 bytes, limit 1024"); // a line of 4,160 bytes
    check_long_line("a", 4152, "v.txt: line 1: 4161 bytes, limit 4160");
}

TEST(lines_without_tokens_take_no_memory) {
    enum { N = 1 << 20 };
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    char *const text = malloc(N);
    memset(text, '\n', N);
    const long before = mem_count();
    CHECK_FAILS(rwkv_vocab_load("v.txt", text, N, &mem, &v, &err), RN_E_FORMAT, &err);
    CHECK(mem_count() - before <= 1 && mem.cap < 1 << 17);
    free(text);
    arena_free(&mem);
}

static void apply(const char *config, int32_t eot, const char *first) {
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    check_note("%s", config);
    CHECK_OK(load(small_file, &mem, &v, &err), &err);
    CHECK_OK(tokenizer_config_apply("c.json", config, strlen(config), &mem, &v, &err), &err);
    CHECK(v.bos == 0 && v.eos == 0 && v.eot == eot && !v.add_bos);
    CHECK(v.tokens[0].text.n == strlen(first) && memcmp(v.tokens[0].text.s, first, v.tokens[0].text.n) == 0);
    CHECK_INT(v.tokens[0].kind, TOKEN_CONTROL);
    arena_free(&mem);
}

TEST(token_0_is_spelled_as_tokenizer_config_json_spells_the_begin_of_a_text) {
    static const char usual[] = "<|rwkv_tokenizer_end_of_text|>";
    apply("{}", 7, usual);
    apply("{\"bos_token\": \"<|rwkv_tokenizer_end_of_text|>\", \"eos_token\": \"\\n\\n\", \"pad_token\": "
          "\"<|rwkv_tokenizer_end_of_text|>\", \"unk_token\": \"<|rwkv_tokenizer_end_of_text|>\"}",
          7, usual);
    apply("{\"bos_token\": {\"content\": \"<s>\"}, \"eos_token\": \"<s>\", \"add_bos_token\": false}", 7, "<s>");
    apply("{\"bos_token\": \"<\\\\\\n\", \"eos_token\": \"it's\"}", 3, "<\\\\\\n");
}

TEST(an_end_token_that_the_vocabulary_lacks_is_refused) {
    static const char config[] = "{\"bos_token\": \"<s>\", \"eos_token\": \"<|im_end|>\"}";
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    CHECK_OK(load(small_file, &mem, &v, &err), &err);
    CHECK_FAILS(tokenizer_config_apply("c.json", config, strlen(config), &mem, &v, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "c.json: member eos_token: \"<|im_end|>\" is not a token of the vocabulary");
    arena_free(&mem);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

static rn_status load_and_encode(void *user) {
    const char *const config = user;
    struct arena mem = {0};
    struct vocab v;
    tokenizer *t = NULL;
    int32_t *ids = NULL;
    size_t n = 0;
    rn_status st = load(small_file, &mem, &v, NULL);
    if (st == RN_OK) st = tokenizer_config_apply("c.json", config, strlen(config), &mem, &v, NULL);
    if (st == RN_OK) st = tokenizer_create(&v, &t, NULL);
    if (st == RN_OK) st = tokenizer_encode(t, "it's <s>\n\n", 10, false, true, &ids, &n, NULL, NULL);
    mem_free(ids);
    tokenizer_destroy(t);
    arena_free(&mem);
    return st;
}

TEST(each_failed_allocation_is_reported_and_leaks_nothing) {
    static char config[] = "{\"bos_token\": \"<s>\"}";
    check_each_failed_allocation(load_and_encode, config, __FILE__, __LINE__);
}
