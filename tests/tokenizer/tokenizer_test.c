// tests/tokenizer/tokenizer_test.c - both tokenizers over vocabularies that can be followed by hand.
#include "base/mem.h"
#include "base/thread.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/tokenizer.h"

static struct small_vocab sv; // the running test's

static tokenizer *make(void) {
    tokenizer *t = NULL;
    rn_error err = {0};
    CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err);
    return t;
}

// The stored texts of the ids of s, "|" between them.
static const char *shown(const tokenizer *t, const char *s, size_t n, bool add, bool parse) {
    static char out[2048];
    int32_t *ids = NULL;
    size_t n_ids = 0, n_out = 0;
    rn_error err = {0};
    out[0] = '\0';
    if (!CHECK_OK(tokenizer_encode(t, s, n, add, parse, &ids, &n_ids, NULL, &err), &err)) return out;
    for (size_t i = 0; i < n_ids; i++) {
        const struct vocab_str text = sv.tokens[ids[i]].text;
        n_out += (size_t)snprintf(out + n_out, sizeof out - n_out, "%s%.*s", i ? "|" : "", (int)text.n, text.s);
    }
    mem_free(ids);
    return out;
}

#define SP "\xE2\x96\x81" // U+2581, how SPM vocabularies write a space

static const struct {
    const char *why, *text, *want;
    bool add, parse;
} spm_rows[] = {
    {"nothing", "", "", false, false},
    {"only BOS", "", "<s>", true, false},
    {"a space goes before the text", "ab", SP "ab", false, false},
    {"behind BOS too", "ab", "<s>|" SP "ab", true, false},
    {"the best score first, not the longest", "abc", SP "|abc", false, false},
    {"of equal scores the leftmost: b c before c d", "sbcd", SP "|s|bc|d", false, false},
    {"joins build on joins", "abcd", SP "abcd", false, false},
    {"a token that no joins lead to is not taken", "das", SP "|d|a|s", false, false},
    {"spaces of the text join the one in front", " a", SP "|" SP "a", false, false},
    {"a run of spaces", "   ", SP SP SP SP, false, false},
    {"U+2581 is a space", SP, SP SP, false, false},
    {"bytes for what no token covers", "z", SP "|<0x7A>", false, false},
    {"all bytes of a character", "\xE2\x82\xAC", SP "|<0xE2>|<0x82>|<0xAC>", false, false},
    {"characters of several bytes join", "\xC3\xA9\xC3\xA9\xE4\xBD\xA0", SP "|\xC3\xA9\xC3\xA9|\xE4\xBD\xA0", false,
     false},
    {"a NUL byte", "a", SP "a", false, false},
    {"a control token is text", "<s>", SP "|<s|>", false, false},
    {"and a token where asked", "<s>ab</s>", "<s>|" SP "ab|</s>", false, true},
    {"a space behind each control token", "a<s>b<s>", SP "a|<s>|" SP "|b|<s>", false, true},
    {"no space where no text is", "<s><s>", "<s>|<s>", false, true},
    {"a byte token is never spelled", "<0x41>", SP "|<|<0x30>|<0x78>|<0x34>|<0x31>|>", false, true},
    {"an unused token is never made", "<unused>", SP "|<|<0x75>|<0x6E>|<0x75>|s|<0x65>|d|>", false, true},
    {"user-defined tokens always count", "a<tag>b", SP "a|<tag>|b", false, false},
    {"the space goes before one at the start", "<tag>a", SP "|<tag>|a", false, false},
    {"the longest counts", "<tag>s<tag>", SP "|<tag>s|<tag>", false, false},
    {"with control tokens parsed it stands apart like them", "a<tag>b", SP "a|<tag>|" SP "|b", false, true},
    {"the beginning of one at the end", "<tag", SP "|<|<0x74>|a|<0x67>", false, false},
};

TEST(spm_gives_these_tokens) {
    small_spm(&sv);
    tokenizer *t = make();
    for (size_t i = 0; i < sizeof spm_rows / sizeof *spm_rows; i++) {
        check_note("%s", spm_rows[i].why);
        CHECK_STR(shown(t, spm_rows[i].text, strlen(spm_rows[i].text), spm_rows[i].add, spm_rows[i].parse),
                  spm_rows[i].want);
    }
    CHECK_STR(shown(t, "a\0b", 3, false, false), SP "a|<0x00>|b");
    tokenizer_destroy(t);
}

TEST(spm_without_the_space_prefix_adds_none_anywhere) {
    small_spm(&sv);
    sv.v.add_space_prefix = false;
    tokenizer *t = make();
    CHECK_STR(shown(t, "ab<s>a", 6, false, true), "ab|<s>|a");
    CHECK_STR(shown(t, "<tag>a", 6, false, false), "<tag>|a");
    tokenizer_destroy(t);
}

TEST(field_2_8_a_space_behind_a_special_token_stands_only_where_the_reference_puts_it) {
    small_spm(&sv);
    tokenizer *t = make();
    CHECK_STR(shown(t, "<s>ab", 5, false, true), "<s>|" SP "ab");
    CHECK_STR(shown(t, "<s>ab", 5, true, true), "<s>|<s>|" SP "ab"); // two BOS are kept as they are
    tokenizer_destroy(t);
    small_bpe(&sv, "gpt-2");
    t = make();
    CHECK_STR(shown(t, "<s>the", 6, false, true), "<s>|t|he");
    tokenizer_destroy(t);
}

#define G "\xC4\xA0" // a space in GPT-2's alphabet

static const struct {
    const char *why, *text, *want;
    bool parse;
} bpe_rows[] = {
    {"nothing", "", "", false},
    {"merges by rank", " the and there", G "the|" G "and|" G "the|re", false},
    {"a rank is not a place: an before " G "a", " an", G "|an", false},
    {"no merge crosses a word", "in the", "in|" G "the", false},
    {"digits are letters' neighbours only", "in1 on", "in|1|" G "|on", false},
    {"spaces before a word: the last goes to it", "a   the", "a|" G "|" G "|" G "the", false},
    {"an apostrophe word", "he's", "he|'|s", false},
    {"bytes of a character", "\xC3\xA9", "\xC3\x83|\xC2\xA9", false},
    {"a control token is text", "<|eot|>", "<|||e|o|t|||>", false},
    {"and a token where asked", "in<|eot|> an", "in|<|eot|>|" G "|an", true},
};

TEST(byte_level_bpe_gives_these_tokens) {
    small_bpe(&sv, "gpt-2");
    tokenizer *t = make();
    for (size_t i = 0; i < sizeof bpe_rows / sizeof *bpe_rows; i++) {
        check_note("%s", bpe_rows[i].why);
        CHECK_STR(shown(t, bpe_rows[i].text, strlen(bpe_rows[i].text), false, bpe_rows[i].parse), bpe_rows[i].want);
    }
    tokenizer_destroy(t);
}

TEST(a_whole_word_is_taken_as_it_is_only_by_pre_tokenizers_that_say_so) {
    small_bpe(&sv, "gpt-2");
    small_add(&sv, "hello", 0, TOKEN_NORMAL);
    tokenizer *t = make();
    CHECK_STR(shown(t, "hello", 5, false, false), "he|ll|o");
    tokenizer_destroy(t);
    sv.v.pre = str_of("llama-bpe");
    t = make();
    CHECK_STR(shown(t, "hello", 5, false, false), "hello");
    CHECK_STR(shown(t, "hellon", 6, false, false), "he|ll|on");
    tokenizer_destroy(t);
}

TEST(bos_and_eos_are_added_as_the_vocabulary_says_and_only_when_asked) {
    for (int flags = 0; flags < 8; flags++) {
        small_bpe(&sv, "gpt-2");
        sv.v.add_bos = flags & 1, sv.v.add_eos = flags & 2;
        if (flags & 4) sv.v.bos = sv.v.eos = -1; // flags of a file that names no tokens
        tokenizer *t = make();
        char want[32];
        snprintf(want, sizeof want, "%sin%s", (flags & 5) == 1 ? "<s>|" : "", (flags & 6) == 2 ? "|</s>" : "");
        check_note("flags %d", flags);
        CHECK_STR(shown(t, "in", 2, true, false), want);
        CHECK_STR(shown(t, "in", 2, false, false), "in");
        tokenizer_destroy(t);
    }
}

static const struct {
    const char *why, *bytes, *bpe; // what the bytes are encoded as
} loose_rows[] = {
    {"a byte that begins nothing",
     "a\xFF"
     "b",
     "a\xEF\xBF\xBD"
     "b"},
    {"each byte of a cut character", "\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"a cut character before text", "\xC3(", "\xEF\xBF\xBD("},
    {"an overlong slash", "\xC0\xAF", "/"},
    {"a surrogate keeps its bytes",
     "a\xED\xA0\x80"
     "b",
     "a\xED\xA0\x80"
     "b"},
    {"the largest code point", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
    {"one beyond it",
     "\xF4\x90\x80\x80"
     "b",
     "\xEF\xBF\xBD"
     "b"},
    {"far beyond it", "\xF7\xBF\xBF\xBF", "\xEF\xBF\xBD"},
    {"a five-byte form", "\xF8\x88\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
};

TEST(invalid_utf_8_is_encoded_as_documented) {
    for (int spm = 0; spm < 2; spm++) {
        if (spm)
            small_spm(&sv);
        else
            small_bpe(&sv, "gpt-2");
        tokenizer *t = make();
        for (size_t i = 0; i < sizeof loose_rows / sizeof *loose_rows; i++) {
            const size_t n = strlen(loose_rows[i].bytes);
            const char *want = spm ? loose_rows[i].bytes : loose_rows[i].bpe; // SPM has a token for each byte
            int32_t *ids = NULL;
            size_t n_ids = 0, n_back = 0;
            char *back = NULL;
            CHECK_OK(tokenizer_encode(t, loose_rows[i].bytes, n, false, false, &ids, &n_ids, NULL, NULL), NULL);
            CHECK_OK(tokenizer_decode(t, ids, n_ids, false, &back, &n_back, NULL), NULL);
            check_note("%s, %s", loose_rows[i].why, spm ? "SPM" : "BPE");
            CHECK_STR(back, want);
            mem_free(ids);
            mem_free(back);
        }
        tokenizer_destroy(t);
    }
}

TEST(a_byte_without_a_token_is_dropped_and_counted_and_joins_nothing) {
    small_bpe(&sv, "gpt-2");
    sv.tokens['h'].kind = TOKEN_UNUSED;
    sv.v.n_merges = 1; // "he" can no longer be made
    tokenizer *t = make();
    int32_t *ids = NULL;
    size_t n_ids = 0, n_dropped = 0;
    CHECK_OK(tokenizer_encode(t, "htht", 4, false, false, &ids, &n_ids, &n_dropped, NULL), NULL);
    CHECK_INT(n_ids, 2);
    CHECK_INT(n_dropped, 2);
    mem_free(ids);
    tokenizer_destroy(t);
}

TEST(field_2_7_user_text_never_becomes_a_control_token_unless_asked) {
    for (int spm = 0; spm < 2; spm++) {
        if (spm)
            small_spm(&sv); // "<s" and ">" are there: joining could spell the control token <s>
        else
            small_bpe(&sv, "llama-bpe");
        tokenizer *t = make();
        for (int32_t id = 0; id < sv.v.n_tokens; id++) {
            if (sv.tokens[id].kind != TOKEN_CONTROL && sv.tokens[id].kind != TOKEN_UNKNOWN) continue;
            char text[64];
            snprintf(text, sizeof text, "a%.*sb", (int)sv.tokens[id].text.n, sv.tokens[id].text.s);
            int32_t *ids = NULL;
            size_t n_ids = 0;
            CHECK_OK(tokenizer_encode(t, text, strlen(text), false, false, &ids, &n_ids, NULL, NULL), NULL);
            for (size_t i = 0; i < n_ids; i++)
                CHECK(sv.tokens[ids[i]].kind != TOKEN_CONTROL && sv.tokens[ids[i]].kind != TOKEN_UNKNOWN);
            mem_free(ids);
            CHECK_OK(tokenizer_encode(t, text, strlen(text), false, true, &ids, &n_ids, NULL, NULL), NULL);
            CHECK(n_ids >= 3 && ids[1] == id);
            mem_free(ids);
        }
        tokenizer_destroy(t);
    }
}

TEST(pieces_of_control_tokens_are_empty_unless_asked_for) {
    small_spm(&sv);
    tokenizer *t = make();
    const struct {
        const char *why;
        int32_t id;
        const char *plain, *special;
    } rows[] = {
        {"control", SPM_BOS, "", "<s>"},
        {"unknown", SPM_UNK, "", "<unk>"},
        {"byte", SPM_BYTE_0 + 'A', "A", "A"},
        {"the space is kept", SPM_SPACE + 10, " a", " a"},
        {"user-defined", sv.v.n_tokens - 3, "<tag>", "<tag>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = 0;
        check_note("%s", rows[i].why);
        CHECK_MEM(tokenizer_piece(t, rows[i].id, false, &n), rows[i].plain, n);
        CHECK_INT(n, strlen(rows[i].plain));
        CHECK_MEM(tokenizer_piece(t, rows[i].id, true, &n), rows[i].special, n);
        CHECK_INT(n, strlen(rows[i].special));
    }
    CHECK_INT(tokenizer_max_piece(t), strlen("<unused>"));
    tokenizer_destroy(t);
}

TEST(decoding_refuses_ids_outside_the_vocabulary) {
    small_bpe(&sv, "gpt-2");
    tokenizer *t = make();
    const int32_t good[] = {0, sv.v.n_tokens - 1}, over[] = {5, sv.v.n_tokens}, under[] = {-1};
    char *text = NULL;
    size_t n = 0;
    rn_error err = {0};
    CHECK_OK(tokenizer_decode(t, good, 2, true, &text, &n, &err), &err);
    CHECK_INT(n, 1 + strlen("<|eot|>"));
    mem_free(text);
    CHECK_FAILS(tokenizer_decode(t, over, 2, true, &text, &n, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "token[1]: 288 is outside 0..287");
    CHECK(text == NULL && n == 0);
    CHECK_FAILS(tokenizer_decode(t, under, 1, true, &text, &n, &err), RN_E_ARG, &err);
    CHECK_OK(tokenizer_decode(t, NULL, 0, true, &text, &n, &err), &err);
    CHECK_STR(text, "");
    mem_free(text);
    tokenizer_destroy(t);
}

TEST(a_text_over_the_limit_is_refused_before_it_is_read) {
    small_spm(&sv);
    tokenizer *t = make();
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    CHECK_FAILS(tokenizer_encode(t, "", (size_t)TOKENIZER_MAX_TEXT + 1, false, false, &ids, &n_ids, NULL, &err),
                RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "536870913 bytes, at most 536870912");
    tokenizer_destroy(t);
}

struct shared_use {
    const tokenizer *t;
    int32_t *ids;
    size_t n_ids;
};

static void *encode_in_thread(void *user) {
    struct shared_use *const u = user;
    for (int i = 0; i < 50; i++) {
        mem_free(u->ids);
        tokenizer_encode(u->t, "in the house and there on 12\n\n again", 36, true, true, &u->ids, &u->n_ids, NULL,
                         NULL);
    }
    return NULL;
}

TEST(one_tokenizer_serves_several_threads) {
    small_bpe(&sv, "llama-bpe");
    tokenizer *t = make();
    struct shared_use uses[4];
    thread threads[4];
    for (int i = 0; i < 4; i++) {
        uses[i] = (struct shared_use){.t = t};
        CHECK_OK(thread_start(&threads[i], encode_in_thread, &uses[i], NULL), NULL);
    }
    for (int i = 0; i < 4; i++) {
        thread_join(threads[i]);
        CHECK_INT(uses[i].n_ids, uses[0].n_ids);
        CHECK_MEM(uses[i].ids, uses[0].ids, uses[0].n_ids * sizeof(int32_t));
    }
    for (int i = 0; i < 4; i++) mem_free(uses[i].ids);
    tokenizer_destroy(t);
}
