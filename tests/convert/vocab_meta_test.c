// tests/convert/vocab_meta_test.c - what a vocabulary says in a GGUF file's keys, and what is refused or warned of.
#include "convert/vocab_meta.h"
#include "formats/gguf/gguf_meta.h"
#include "formats/gguf/gguf_vocab.h"
#include "tests/check.h"
#include "tokenizer/fillers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STR(s) {s, sizeof(s) - 1}

enum { N_MORE = 3 }; // rows of the embedding without a token

static const struct vocab_token tokens[] = {
    {STR("<unk>"), 0, TOKEN_UNKNOWN, 0},  {STR("<s>"), 0, TOKEN_CONTROL, 0},
    {STR("</s>"), 0, TOKEN_CONTROL, 0},   {STR("a"), -1, TOKEN_NORMAL, 0},
    {STR("<end>"), 0, TOKEN_CONTROL, 0},  {STR("<stop>"), 0, TOKEN_CONTROL, 0},
    {STR("<halt>"), 0, TOKEN_CONTROL, 0}, {STR("<mask>"), 0, TOKEN_CONTROL, TOKEN_TAKES_SPACE_BEFORE},
};
static struct vocab sound(enum vocab_model model) {
    return (struct vocab){.model = model,
                          .model_name = STR("BPE"),
                          .n_tokens = 8,
                          .tokens = tokens,
                          .bos = 1,
                          .eos = 2,
                          .eot = -1,
                          .eom = -1,
                          .unk = 0,
                          .pad = -1,
                          .add_bos = true};
}

// Warnings, one after the other.
static void note(void *user, int level, const char *text) {
    char *all = user;
    CHECK_INT(level, LOG_WARN);
    strcat(strcat(all, text), "\n");
}

// Puts the vocabulary into a file and reads its pairs. said: 1,024 bytes.
struct put {
    struct gguf g;
    uint8_t *bytes;
    char said[1024];
};
static rn_status put_vocab(struct put *p, const struct vocab *v, rn_error *err) {
    char path[512];
    gguf_writer *w;
    size_t n;
    *p = (struct put){0};
    snprintf(path, sizeof path, "%s/vocab.gguf", temp_dir());
    if (!CHECK_OK(gguf_writer_create(path, 32, &w, err), err)) return RN_E_IO;
    const log_sink log = {note, p->said, LOG_DEBUG};
    rn_status st = vocab_put(w, v, v->n_tokens + N_MORE, &log, err);
    if (st == RN_OK) st = gguf_write_head(w, err);
    if (st != RN_OK) {
        gguf_writer_abandon(w);
        return st;
    }
    CHECK_OK(gguf_writer_commit(w, err), err);
    p->bytes = read_file(path, &n);
    return gguf_read(&p->g, p->bytes, n, err);
}
static void put_free(struct put *p) {
    gguf_free(&p->g);
    free(p->bytes);
}

static int64_t id_of(const struct put *p, const char *name) {
    char key[64];
    int64_t id = -1;
    bool found;
    snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", name);
    CHECK_OK(gguf_get_int(&p->g, key, 0, 100, &id, &found, NULL), NULL);
    return id;
}
static bool text_is(const struct put *p, const char *key, const char *want) {
    struct vocab_str s = {0};
    bool found;
    CHECK_OK(gguf_get_string(&p->g, key, &s, &found, NULL), NULL);
    return s.n == strlen(want) && memcmp(s.s, want, s.n) == 0;
}

TEST(kinds_get_the_names_that_gguf_has_for_them_or_are_refused) {
    static const struct {
        enum vocab_model model;
        const char *model_name, *pre, *want, *want_pre; // want NULL: refused with want_pre
    } rows[] = {
        {VOCAB_SPM, "BPE", "", "llama", "default"},
        {VOCAB_BPE, "BPE", "smollm", "gpt2", "smollm"},
        {VOCAB_BPE, "BPE", "", NULL,
         "tokenizer: GGUF has no name for this way to split text: the folder itself runs"},
        {VOCAB_CHAR_BPE, "BPE", "", NULL, "tokenizer: GGUF has no name for this kind: add tokenizer.model"},
        {VOCAB_UNIGRAM, "unigram", "", "t5", "default"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vocab v = sound(rows[i].model);
        struct put p;
        rn_error err = {0};
        v.model_name = (struct vocab_str){rows[i].model_name, (uint32_t)strlen(rows[i].model_name)};
        v.pre = (struct vocab_str){rows[i].pre, (uint32_t)strlen(rows[i].pre)};
        check_note("row %zu", i);
        const rn_status st = put_vocab(&p, &v, &err);
        if (rows[i].want) {
            CHECK_OK(st, &err);
            CHECK(text_is(&p, "tokenizer.ggml.model", rows[i].want) &&
                  text_is(&p, "tokenizer.ggml.pre", rows[i].want_pre));
            CHECK((gguf_find(&p.g, "tokenizer.ggml.scores") != NULL) == (rows[i].model != VOCAB_BPE));
        } else {
            CHECK_FAILS(st, RN_E_UNSUPPORTED, &err);
            CHECK_HAS(err.text, rows[i].want_pre);
        }
        put_free(&p);
    }
}

TEST(rows_without_a_token_get_one_that_is_unused) {
    struct vocab v = sound(VOCAB_SPM);
    struct put p;
    rn_error err = {0};
    struct arena mem = {0};
    struct vocab got = {0};
    if (!CHECK_OK(put_vocab(&p, &v, &err), &err) || !CHECK_OK(gguf_read_vocab(&p.g, &mem, &got, &err), &err)) return;
    CHECK_INT(got.n_tokens, 8 + N_MORE);
    for (int32_t i = 8; i < got.n_tokens; i++) {
        char want[24];
        snprintf(want, sizeof want, "[PAD%d]", i);
        CHECK(got.tokens[i].text.n == strlen(want) && memcmp(got.tokens[i].text.s, want, strlen(want)) == 0);
        CHECK(got.tokens[i].kind == TOKEN_UNUSED && got.tokens[i].score == -10000);
    }
    CHECK_INT(fillers_begin(&got), 8);
    got.eot = 9; // a special token is none
    CHECK_INT(fillers_begin(&got), 10);
    arena_free(&mem);
    put_free(&p);
}

TEST(no_tokens_put_that_there_are_none) {
    struct vocab v = sound(VOCAB_SPM);
    struct put p;
    rn_error err = {0};
    v.n_tokens = 0;
    CHECK_OK(put_vocab(&p, &v, &err), &err);
    CHECK_INT(p.g.n_pairs, 1);
    CHECK(text_is(&p, "tokenizer.ggml.model", "no_vocab"));
    put_free(&p);
}

TEST(tokens_that_end_a_text_take_the_keys_that_are_free) {
    static const struct {
        const char *why;
        int32_t eos, n_end, end[4];
        int64_t want_eos, want_eot, want_eom;
        const char *said;
    } rows[] = {
        {"nothing more", 2, 0, {0}, 2, -1, -1, ""},
        {"one that is eos", 2, 1, {2}, 2, -1, -1, ""},
        {"one more", 2, 2, {2, 4}, 2, 4, -1, ""},
        {"two more", 2, 3, {2, 4, 5}, 2, 4, 5, ""},
        {"three more", 2, 4, {2, 4, 5, 6}, 2, 4, 5, "end token 6"},
        {"no eos, but a spelling", -1, 1, {2}, -1, -1, -1, ""},
        {"no eos, none of a known spelling", -1, 1, {5}, 5, -1, -1, ""},
        {"a row without a token", 2, 1, {10}, 2, 10, -1, ""},
        {"beyond the rows", 2, 1, {40}, 2, -1, -1, "end token 40"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vocab v = sound(VOCAB_SPM);
        struct put p;
        rn_error err = {0};
        v.eos = rows[i].eos, v.end = rows[i].end, v.n_end = rows[i].n_end;
        check_note("%s", rows[i].why);
        if (!CHECK_OK(put_vocab(&p, &v, &err), &err)) return;
        CHECK_INT(id_of(&p, "eos"), rows[i].want_eos);
        CHECK_INT(id_of(&p, "eot"), rows[i].want_eot);
        CHECK_INT(id_of(&p, "eom"), rows[i].want_eom);
        CHECK_INT(id_of(&p, "bos"), 1);
        CHECK_INT(id_of(&p, "padding"), -1);
        CHECK_HAS(p.said, rows[i].said);
        CHECK((strstr(p.said, "no further key") != NULL) == (rows[i].said[0] != 0));
        put_free(&p);
    }
}

TEST(what_no_key_says_is_warned_of) {
    static const struct norm_step steps[] = {
        {.kind = NORM_PREPEND, .content = STR("\xe2\x96\x81")},
        {.kind = NORM_REPLACE, .pattern = STR(" "), .content = STR("\xe2\x96\x81")},
        {.kind = NORM_NFC},
    };
    struct vocab v = sound(VOCAB_SPM);
    struct put p;
    rn_error err = {0};
    v.norms = steps;
    for (v.n_norms = 0; v.n_norms <= 3; v.n_norms++) { // the first two are SentencePiece's own
        if (!CHECK_OK(put_vocab(&p, &v, &err), &err)) return;
        check_note("%d steps", v.n_norms);
        CHECK((strstr(p.said, "a step of its normalizer (NFC) is left out") != NULL) == (v.n_norms == 3));
        CHECK_HAS(p.said, "key tokenizer.runnel.token_flags: is runnel's own");
        put_free(&p);
    }
}
