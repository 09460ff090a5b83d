// tests/formats/tokenizer_model_test.c - SentencePiece's tokenizer.model: small files that must load, and each spoilt one with its
// sentence (item 19 of the list of malformed inputs).
#include "base/mem.h"
#include "formats/vocab/tokenizer_model.h"
#include "tests/check.h"
#include "tokenizer/tokenizer.h"
#include <math.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))
#define BLOCK   "\xE2\x96\x81"

// ---- a writer of protobuf -------------------------------------------------------------------------------------------

struct message {
    uint8_t bytes[8192];
    size_t n;
};

static void put_varint(struct message *m, uint64_t x) {
    for (; x >= 0x80; x >>= 7) m->bytes[m->n++] = (uint8_t)(x | 0x80);
    m->bytes[m->n++] = (uint8_t)x;
}
static void put_number(struct message *m, uint32_t field, uint64_t x) {
    put_varint(m, field << 3);
    put_varint(m, x);
}
static void put_bytes(struct message *m, uint32_t field, const void *s, size_t n) {
    put_varint(m, field << 3 | 2);
    put_varint(m, n);
    memcpy(m->bytes + m->n, s, n);
    m->n += n;
}
static void put_float(struct message *m, uint32_t field, float x) {
    put_varint(m, field << 3 | 5);
    memcpy(m->bytes + m->n, &x, 4);
    m->n += 4;
}
static void put_message(struct message *m, uint32_t field, const struct message *inner) {
    put_bytes(m, field, inner->bytes, inner->n);
}
static void put_piece(struct message *m, const char *text, float score, enum token_kind kind) {
    struct message piece = {0};
    put_bytes(&piece, 1, text, strlen(text));
    put_float(&piece, 2, score);
    if (kind != TOKEN_NORMAL) put_number(&piece, 3, kind);
    put_message(m, 1, &piece);
}
static void put_specs(struct message *m, uint64_t model_type, bool removes_spaces) {
    struct message trainer = {0}, normalizer = {0};
    put_number(&trainer, 3, model_type);
    put_message(m, 2, &trainer);
    put_number(&normalizer, 4, removes_spaces);
    put_message(m, 3, &normalizer);
}

// <unk> 0, <s> 1, </s> 2, then the pieces.
static void put_pieces(struct message *m) {
    put_piece(m, "<unk>", 0, TOKEN_UNKNOWN);
    put_piece(m, "<s>", 0, TOKEN_CONTROL);
    put_piece(m, "</s>", 0, TOKEN_CONTROL);
    put_piece(m, BLOCK, -2, TOKEN_NORMAL);
    put_piece(m, "a", -3, TOKEN_NORMAL);
    put_piece(m, "b", -3.25f, TOKEN_NORMAL);
    put_piece(m, "ab", -4, TOKEN_NORMAL);
    put_piece(m, BLOCK "a", -4.5f, TOKEN_NORMAL);
}

enum { UNIGRAM = 1, BPE = 2 };

static rn_status load(const struct message *m, struct arena *mem, struct vocab *v, tokenizer **t, rn_error *err) {
    *t = NULL;
    const rn_status st = tokenizer_model_load("t.model", m->bytes, m->n, mem, v, err);
    return st == RN_OK ? tokenizer_create(v, t, err) : st;
}

// ---- what must load -------------------------------------------------------------------------------------------------

static void user_defined(struct message *m) { put_piece(m, "bb", 0, TOKEN_USER_DEFINED); }
static void nothing(struct message *m) { (void)m; }
static void extension(struct message *m) { put_number(m, 200, 7); }

static const struct {
    const char *why;
    int model_type;
    bool removes_spaces;
    void (*more)(struct message *m);
    const char *text, *ids, *back;
} good[] = {
    {"BPE joins by score", BPE, false, nothing, "ab", "3 6 ", "ab"},
    {"unigram takes the likeliest", UNIGRAM, false, nothing, "ab", "3 6 ", "ab"},
    {"spaces stay", BPE, false, nothing, " a  b", "3 7 3 3 5 ", " a  b"},
    {"spaces are removed", BPE, true, nothing, "  a  b ", "7 3 5 ", "a b"},
    {"spaces are removed", UNIGRAM, true, nothing, "  a  b ", "7 3 5 ", "a b"},
    {"unknown characters in a row are one", BPE, false, nothing, "zza", "3 0 4 ", NULL},
    {"unknown characters in a row are one", UNIGRAM, false, nothing, "zza", "3 0 4 ", NULL},
    {"a user-defined piece wins", UNIGRAM, false, user_defined, "abb", "7 8 ", "abb"},
    {"a user-defined piece wins", BPE, false, user_defined, "abb", "7 8 ", "abb"},
    {"a control token's text is text", UNIGRAM, false, nothing, "<s>", "3 0 ", NULL},
    {"what is not known to the format is skipped", BPE, false, extension, "ab", "3 6 ", "ab"},
    {"no text", UNIGRAM, true, nothing, "  ", "", ""},
};

TEST(item_19_a_model_gives_the_pieces_that_sentencepiece_does) {
    for (size_t i = 0; i < N(good); i++) {
        struct message m = {0};
        struct arena mem = {0};
        struct vocab v;
        tokenizer *t;
        rn_error err = {0};
        int32_t *ids = NULL;
        size_t n_ids = 0, n = 0;
        char got[128] = "", *back = NULL;
        check_note("%s (%d)", good[i].why, good[i].model_type);
        put_pieces(&m);
        good[i].more(&m);
        put_specs(&m, (uint64_t)good[i].model_type, good[i].removes_spaces);
        if (CHECK_OK(load(&m, &mem, &v, &t, &err), &err)) {
            CHECK(v.bos == 1 && v.eos == 2 && v.unk == 0 && v.pad == -1);
            CHECK_INT(v.add_bos, good[i].model_type == BPE);
            CHECK_OK(tokenizer_encode(t, good[i].text, strlen(good[i].text), false, false, &ids, &n_ids, NULL, &err),
                     &err);
            for (size_t k = 0; k < n_ids; k++) snprintf(got + strlen(got), 12, "%d ", ids[k]);
            CHECK_STR(got, good[i].ids);
            CHECK_OK(tokenizer_decode(t, ids, n_ids, false, &back, &n, &err), &err);
            if (good[i].back) CHECK_STR(back, good[i].back);
        }
        mem_free(ids);
        mem_free(back);
        tokenizer_destroy(t);
        arena_free(&mem);
    }
}

// ---- what must be refused -------------------------------------------------------------------------------------------

static void put_raw(struct message *m, const char *bytes, size_t n) { memcpy(m->bytes + m->n, bytes, n), m->n += n; }
#define RAW(m, bytes) put_raw(m, bytes, sizeof bytes - 1)

static void varint_of_11_bytes(struct message *m) { RAW(m, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"); }
static void varint_over_64_bits(struct message *m) { RAW(m, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"); }
static void varint_cut(struct message *m) { RAW(m, "\x08\xff"); }
static void length_past_end(struct message *m) { RAW(m, "\x0a\x7f"); }
static void length_of_2_64(struct message *m) { RAW(m, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"); }
static void fixed_cut(struct message *m) { RAW(m, "\x0d\x01\x02"); }
static void pieces_of_numbers(struct message *m) { put_number(m, 1, 3); }
static void spec_of_numbers(struct message *m) { put_number(m, 2, 3); }
static void group_begins(struct message *m) { RAW(m, "\x0b\x0c"); }
static void wire_type_6(struct message *m) { RAW(m, "\x0e"); }
static void field_0(struct message *m) { RAW(m, "\x02\x01"); }
static void trailing_garbage(struct message *m) { RAW(m, "\xff\xff\xff"); }
static void piece_with(struct message *m, const char *raw, size_t n) { put_bytes(m, 1, raw, n); }
static void piece_cut(struct message *m) {
    piece_with(m,
               "\x0a\x05"
               "ab",
               4);
}
static void piece_without_text(struct message *m) { piece_with(m, "\x15\x00\x00\x00\x00", 5); }
static void piece_of_bad_utf8(struct message *m) { put_piece(m, "a\xC3", -1, TOKEN_NORMAL); }
static void piece_text_as_number(struct message *m) { piece_with(m, "\x08\x01", 2); }
static void score_as_number(struct message *m) {
    piece_with(m,
               "\x0a\x01"
               "c\x10\x01",
               5);
}
static void score_nan(struct message *m) { put_piece(m, "c", NAN, TOKEN_NORMAL); }
static void score_inf(struct message *m) { put_piece(m, "c", -INFINITY, TOKEN_NORMAL); }
static void type_0(struct message *m) { put_piece(m, "c", 0, (enum token_kind)0); }
static void type_7(struct message *m) { put_piece(m, "c", 0, (enum token_kind)7); }
static void two_unknown(struct message *m) { put_piece(m, "<u>", 0, TOKEN_UNKNOWN); }
static void deep_inside(struct message *m) { // nested messages where a text is expected
    struct message inner = {0};
    put_piece(&inner, "c", -1, TOKEN_NORMAL);
    for (int i = 0; i < 200; i++) {
        struct message outer = {0};
        put_message(&outer, 1, &inner);
        inner = outer;
    }
    put_message(m, 1, &inner);
    RAW(m, "\x0b");
}
static void spec(struct message *m, uint32_t which, uint32_t field, uint64_t x) {
    struct message s = {0};
    put_number(&s, field, x);
    put_message(m, which, &s);
}
static void word_model(struct message *m) { spec(m, 2, 3, 3); }
static void spaces_behind(struct message *m) { spec(m, 2, 24, 1); }
static void spaces_as_they_are(struct message *m) { spec(m, 3, 5, 0); }
static void denormalizer(struct message *m) {
    struct message s = {0};
    put_bytes(&s, 2, "x", 1);
    put_message(m, 5, &s);
}
static void bad_map(struct message *m) {
    struct message s = {0};
    put_bytes(&s, 2, "\xff\xff\xff\xff", 4);
    put_message(m, 3, &s);
}
static void bytes_missing(struct message *m) {
    spec(m, 2, 35, 1);
    put_piece(m, "<0x41>", 0, TOKEN_BYTE);
}
static void byte_of_bad_form(struct message *m) { put_piece(m, "<0xZZ>", 0, TOKEN_BYTE); }

static const struct {
    const char *why;
    void (*spoil)(struct message *m);
    rn_status code;
    const char *text;
} bad[] = {
    {"a varint of 11 bytes", varint_of_11_bytes, RN_E_FORMAT, "a number of more than 64 bits"},
    {"a varint over 64 bits", varint_over_64_bits, RN_E_FORMAT, "a number of more than 64 bits"},
    {"a varint that does not end", varint_cut, RN_E_FORMAT, "a number without an end"},
    {"a length past the end", length_past_end, RN_E_FORMAT, "a length beyond the end of its message"},
    {"a length of 2^64 - 1", length_of_2_64, RN_E_FORMAT, "a length beyond the end of its message"},
    {"a number cut short", fixed_cut, RN_E_FORMAT, "cut short"},
    {"pieces that are numbers", pieces_of_numbers, RN_E_FORMAT, "field 1: wire type 0, must be 2"},
    {"a specification that is a number", spec_of_numbers, RN_E_FORMAT,
     "trainer_spec: field 2: wire type 0, must be 2"},
    {"a group", group_begins, RN_E_FORMAT, "a group"},
    {"wire type 6", wire_type_6, RN_E_FORMAT, "an invalid wire type"},
    {"field 0", field_0, RN_E_FORMAT, "an invalid field number"},
    {"trailing garbage", trailing_garbage, RN_E_FORMAT, "t.model: not a SentencePiece model: byte "},
    {"messages 200 deep", deep_inside, RN_E_FORMAT, "a group"},
    {"a piece cut short", piece_cut, RN_E_FORMAT, "piece 8: byte 1: a length beyond the end of its message"},
    {"a piece without text", piece_without_text, RN_E_FORMAT, "piece 8: is empty"},
    {"a piece of invalid UTF-8", piece_of_bad_utf8, RN_E_FORMAT, "piece 8: its text is not UTF-8"},
    {"a text that is a number", piece_text_as_number, RN_E_FORMAT, "piece 8: field 1: wire type 0, must be 2"},
    {"a score that is an integer", score_as_number, RN_E_FORMAT, "piece 8: field 2: wire type 0, must be 5"},
    {"a score that is no number", score_nan, RN_E_FORMAT, "piece 8: its score is"},
    {"an infinite score", score_inf, RN_E_FORMAT, "piece 8: its score is -inf"},
    {"type 0", type_0, RN_E_FORMAT, "piece 8: type 0 is outside 1..6"},
    {"type 7", type_7, RN_E_FORMAT, "piece 8: type 7 is outside 1..6"},
    {"two unknown tokens", two_unknown, RN_E_FORMAT, "piece 8: a second unknown token, besides 0"},
    {"a model of words", word_model, RN_E_UNSUPPORTED, "model type 3 is not supported"},
    {"spaces behind words", spaces_behind, RN_E_UNSUPPORTED, "treat_whitespace_as_suffix"},
    {"spaces as they are", spaces_as_they_are, RN_E_UNSUPPORTED, "escape_whitespaces"},
    {"a denormalizer", denormalizer, RN_E_UNSUPPORTED, "denormalizer_spec"},
    {"a map that lies about its size", bad_map, RN_E_FORMAT, "character map: a trie of 4294967295 bytes"},
    {"bytes for some only", bytes_missing, RN_E_FORMAT, "lacks the byte token <0x00>"},
    {"a byte of bad form", byte_of_bad_form, RN_E_FORMAT, "byte token \"<0xZZ>\" is not of the form"},
};

TEST(item_19_what_is_wrong_or_not_known_is_named) {
    for (size_t i = 0; i < N(bad); i++) {
        struct message m = {0};
        struct arena mem = {0};
        struct vocab v;
        tokenizer *t;
        rn_error err = {0};
        put_pieces(&m);
        put_specs(&m, BPE, false);
        bad[i].spoil(&m);
        check_note("%s", bad[i].why);
        CHECK_FAILS(load(&m, &mem, &v, &t, &err), bad[i].code, &err);
        check_note("%s", bad[i].why);
        CHECK_HAS(err.text, bad[i].text);
        CHECK(t == NULL);
        arena_free(&mem);
    }
}

TEST(item_19_a_model_without_an_unknown_token_or_any_is_refused) {
    struct message m = {0};
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    CHECK_FAILS(tokenizer_model_load("t", m.bytes, 0, &mem, &v, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "t: not a SentencePiece model: it has no pieces");
    put_piece(&m, "a", -1, TOKEN_NORMAL);
    CHECK_FAILS(tokenizer_model_load("t", m.bytes, m.n, &mem, &v, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "t: the unknown token is missing");
    arena_free(&mem);
}

TEST(item_19_of_a_field_given_twice_the_last_counts) {
    struct message m = {0}, piece = {0};
    struct arena mem = {0};
    struct vocab v;
    rn_error err = {0};
    put_pieces(&m);
    put_bytes(&piece, 1, "x", 1);
    put_bytes(&piece, 1, "y", 1);
    put_message(&m, 1, &piece);
    if (CHECK_OK(tokenizer_model_load("t", m.bytes, m.n, &mem, &v, &err), &err))
        CHECK(v.n_tokens == 9 && v.tokens[8].text.n == 1 && v.tokens[8].text.s[0] == 'y');
    arena_free(&mem);
}

TEST(item_19_a_model_cut_at_any_byte_loads_or_is_refused) {
    struct message m = {0};
    put_pieces(&m);
    put_specs(&m, UNIGRAM, true);
    const long live = mem_live();
    for (size_t n = 0; n < m.n; n++) {
        struct arena mem = {0};
        struct vocab v;
        rn_error err = {0};
        const rn_status st = tokenizer_model_load("t", m.bytes, n, &mem, &v, &err);
        CHECK(st == RN_OK || (st == RN_E_FORMAT && err.text[0] != '\0'));
        arena_free(&mem);
    }
    CHECK_INT(mem_live(), live);
}

static rn_status load_and_encode(void *user) {
    static const char text[] = "  ab zz abb";
    struct arena mem = {0};
    struct vocab v;
    tokenizer *t;
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_status st = load(user, &mem, &v, &t, NULL);
    if (st == RN_OK) st = tokenizer_encode(t, text, strlen(text), true, true, &ids, &n_ids, NULL, NULL);
    mem_free(ids);
    tokenizer_destroy(t);
    arena_free(&mem);
    return st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    for (uint64_t type = UNIGRAM; type <= BPE; type++) {
        struct message m = {0};
        put_pieces(&m);
        user_defined(&m);
        put_specs(&m, type, true);
        check_each_failed_allocation(load_and_encode, &m, __FILE__, __LINE__);
    }
}
