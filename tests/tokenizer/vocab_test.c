// tests/tokenizer/vocab_test.c - vocabularies that cannot work, allocations that fail, and the tokens that end a text.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tokenizer/small_vocab.h"
#include "tokenizer/tokenizer.h"
#include <math.h>

static struct small_vocab sv; // the running test's

static tokenizer *make(void) {
    tokenizer *t = NULL;
    rn_error err = {0};
    CHECK_OK(tokenizer_create(&sv.v, &t, &err), &err);
    return t;
}

// Each row spoils one thing in a good vocabulary.
static void lose_byte(void) { sv.tokens[SPM_BYTE_0 + 0x41].kind = TOKEN_NORMAL; }
static void bad_byte_negative(void) { sv.tokens[SPM_BYTE_0].text = str_of("<0x-1>"); }
static void bad_byte_digits(void) { sv.tokens[SPM_BYTE_0].text = str_of("<0xZZ>"); }
static void bad_byte_long(void) { sv.tokens[SPM_BYTE_0].text = str_of("<0x000>"); }
static void bad_score(void) { sv.tokens[SPM_SPACE].score = NAN; }
static void no_model(void) { sv.v.model = VOCAB_NONE; }
static void model_not_known(void) { sv.v.model = VOCAB_NONE, sv.v.model_name = str_of("plamo2"); }
static void no_pre(void) { sv.v.pre = (struct vocab_str){0}; }
static void unknown_pre(void) { sv.v.pre = str_of("gpt-2x"); }
static void merge_no_space(void) { sv.merges[3] = str_of("an"); }
static void merge_empty(void) { sv.merges[3] = (struct vocab_str){0}; }
static void merge_left(void) { sv.merges[3] = str_of("zz n"); }
static void merge_right(void) { sv.merges[3] = str_of("a zz"); }
static void merge_right_empty(void) { sv.merges[3] = str_of("a "); }
static void merge_result(void) { sv.merges[3] = str_of("z z"); }
static void merge_twice(void) { sv.merges[3] = sv.merges[2]; }
static void merge_into_control(void) { sv.merges[3] = str_of("a n"), sv.tokens[259].kind = TOKEN_CONTROL; }
static void merge_too_long(void) { sv.merges[3] = str_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa n"); }
static char long_spelling[513];
static void long_special(void) {
    memset(long_spelling, 'x', sizeof long_spelling);
    sv.tokens[272].text = (struct vocab_str){long_spelling, sizeof long_spelling};
}

static char long_piece[1025];
static void unigram_with(uint32_t n) {
    memset(long_piece, 'a', sizeof long_piece);
    sv.v.model = VOCAB_UNIGRAM;
    sv.tokens[SPM_SPACE + 1].text = (struct vocab_str){long_piece, n};
}
static void piece_too_long(void) { unigram_with(1025); }

TEST(a_piece_of_a_unigram_model_may_have_1024_bytes) {
    small_spm(&sv);
    unigram_with(1024);
    tokenizer_destroy(make());
}

static const struct {
    const char *why;
    bool spm;
    void (*spoil)(void);
    rn_status code;
    const char *text;
} bad_vocabs[] = {
    {"a byte without a token", true, lose_byte, RN_E_FORMAT, "vocabulary: lacks the byte token <0x41>"},
    {"a negative byte", true, bad_byte_negative, RN_E_FORMAT, "token 3: byte token \"<0x-1>\" is not of the form"},
    {"letters for digits", true, bad_byte_digits, RN_E_FORMAT, "token 3: byte token \"<0xZZ>\""},
    {"three digits", true, bad_byte_long, RN_E_FORMAT, "token 3: byte token \"<0x000>\""},
    {"a score that is no number", true, bad_score, RN_E_FORMAT, "token 259: its score is not a number"},
    {"a unigram piece of 1,025 bytes", true, piece_too_long, RN_E_LIMIT,
     "token 260: a piece of 1025 bytes, at most 1024"},
    {"no vocabulary", true, no_model, RN_E_UNSUPPORTED, "tokenizer: the model has no vocabulary"},
    {"another kind of vocabulary", true, model_not_known, RN_E_UNSUPPORTED,
     "tokenizer: model \"plamo2\" is not known"},
    {"field 2.9: no pre-tokenizer", false, no_pre, RN_E_UNSUPPORTED,
     "tokenizer.ggml.pre is absent; known ones are gpt-2, smollm"},
    {"field 2.9: an unknown one", false, unknown_pre, RN_E_UNSUPPORTED, "\"gpt-2x\" is not known to runnel"},
    {"a merge without a space", false, merge_no_space, RN_E_FORMAT, "merge 3 \"an\": no space"},
    {"an empty merge", false, merge_empty, RN_E_FORMAT, "merge 3 \"\": no space"},
    {"a merge of no token, left", false, merge_left, RN_E_FORMAT, "merge 3 \"zz n\": its left half is not a token"},
    {"right", false, merge_right, RN_E_FORMAT, "merge 3 \"a zz\": its right half is not a token"},
    {"right and empty", false, merge_right_empty, RN_E_FORMAT, "merge 3 \"a \": its right half is not a token"},
    {"into no token", false, merge_result, RN_E_FORMAT, "merge 3 \"z z\": its result is not a token"},
    {"into a control token", false, merge_into_control, RN_E_FORMAT, "merge 3 \"a n\": its result is not a token"},
    {"a merge given twice", false, merge_twice, RN_E_FORMAT, "merge 3 \"i n\": given twice"},
    {"a merge longer than any token", false, merge_too_long, RN_E_FORMAT, "longer than any two tokens"},
    {"a control token of 513 bytes", false, long_special, RN_E_LIMIT,
     "token 272: a control or user-defined token of 513 bytes"},
};

TEST(a_vocabulary_that_cannot_work_is_refused_by_name) {
    for (size_t i = 0; i < sizeof bad_vocabs / sizeof *bad_vocabs; i++) {
        if (bad_vocabs[i].spm)
            small_spm(&sv);
        else
            small_bpe(&sv, "gpt-2");
        bad_vocabs[i].spoil();
        tokenizer *t = NULL;
        rn_error err = {0};
        const long live = mem_live();
        check_note("%s", bad_vocabs[i].why);
        CHECK_FAILS(tokenizer_create(&sv.v, &t, &err), bad_vocabs[i].code, &err);
        CHECK_HAS(err.text, bad_vocabs[i].text);
        CHECK(t == NULL);
        CHECK_INT(mem_live(), live);
    }
    small_bpe(&sv, "gpt-2");
    long_special();
    sv.tokens[272].text.n = 512;
    tokenizer_destroy(make());
}

static rn_status use_once(void *user) {
    (void)user;
    tokenizer *t = NULL;
    int32_t *ids = NULL;
    char *text = NULL;
    size_t n_ids = 0, n = 0;
    rn_status st = tokenizer_create(&sv.v, &t, NULL);
    if (st == RN_OK) st = tokenizer_encode(t, "in the\xFF <s> and a word", 22, true, true, &ids, &n_ids, NULL, NULL);
    if (st == RN_OK) st = tokenizer_decode(t, ids, n_ids, true, &text, &n, NULL);
    mem_free(ids);
    mem_free(text);
    tokenizer_destroy(t);
    return st;
}

TEST(each_failed_allocation_is_reported_and_leaks_nothing) {
    small_spm(&sv);
    CHECK(check_each_failed_allocation(use_once, NULL, __FILE__, __LINE__));
    small_bpe(&sv, "smollm");
    CHECK(check_each_failed_allocation(use_once, NULL, __FILE__, __LINE__));
}

TEST(field_2_20_end_tokens_are_those_the_file_names_and_control_tokens_with_known_spellings) {
    small_bpe(&sv, "gpt-2");
    int32_t ids[8];
    CHECK_INT(vocab_end_tokens(&sv.v, ids, 8), 4); // </s> (also the file's eos), <|im_end|>, <|end|>, <|eot|>
    CHECK_MEM(ids, ((int32_t[]){273, 277, 282, 287}), 4 * sizeof *ids);
    CHECK_INT(vocab_end_tokens(&sv.v, ids, 2), 2);
    sv.tokens[282].kind = TOKEN_USER_DEFINED;    // then the spelling is text
    sv.v.eos = -1, sv.v.eot = 7, sv.v.eom = 276; // ids given in the file are used as they are
    CHECK_INT(vocab_end_tokens(&sv.v, ids, 8), 5);
    CHECK_MEM(ids, ((int32_t[]){7, 273, 276, 277, 287}), 5 * sizeof *ids);
    small_spm(&sv);
    sv.tokens[SPM_EOS].kind = TOKEN_NORMAL;
    CHECK_INT(vocab_end_tokens(&sv.v, ids, 8), 1); // named by the file
    sv.v.eos = -1;
    CHECK_INT(vocab_end_tokens(&sv.v, ids, 8), 0);
}

TEST(a_tool_call_ends_a_text_and_the_end_of_a_message_does_not_where_messages_follow) {
    int32_t ids[8];
    small_bpe(&sv, "gpt-2"); // 282: <|end|>, 287: <|eot|>
    sv.tokens[286].text = str_of("<|return|>");
    CHECK_INT(vocab_end_tokens(&sv.v, ids, 8), 5); // </s>, <|im_end|>, <|end|>, <|return|>, <|eot|>
    sv.tokens[287].text = str_of("<|call|>");
    if (CHECK_INT(vocab_end_tokens(&sv.v, ids, 8), 4)) CHECK(ids[2] == 286 && ids[3] == 287);
    sv.v.eot = 282; // the file names it: it knows better
    CHECK_INT(vocab_end_tokens(&sv.v, ids, 8), 5);
}
