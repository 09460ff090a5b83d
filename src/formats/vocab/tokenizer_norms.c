// formats/vocab/tokenizer_norms.c - converts tokenizer.json's "normalizer" to normalization steps.
#include "formats/vocab/base64.h"
#include "formats/vocab/tokenizer_build.h"

static rn_status add(struct tokenizer_build *b, struct norm_step step, rn_error *err) {
    if (b->n_norms == VOCAB_MAX_STEPS) return fail(err, RN_E_LIMIT, "more than %d steps", VOCAB_MAX_STEPS);
    b->norms[b->n_norms++] = step;
    return RN_OK;
}

#define PLAIN(name, norm)                                                                                            \
    static rn_status name(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {                  \
        (void)step;                                                                                                  \
        return add(b, (struct norm_step){.kind = norm}, err);                                                        \
    }
PLAIN(read_nfc, NORM_NFC)
PLAIN(read_nfd, NORM_NFD)
PLAIN(read_nfkc, NORM_NFKC)
PLAIN(read_nfkd, NORM_NFKD)
PLAIN(read_lowercase, NORM_LOWERCASE)
PLAIN(read_strip_accents, NORM_STRIP_ACCENTS)

static rn_status read_strip(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct norm_step s = {.kind = NORM_STRIP, .left = true, .right = true};
    rn_status st = step_bool(step, "strip_left", &s.left, err);
    if (st == RN_OK) st = step_bool(step, "strip_right", &s.right, err);
    return st == RN_OK ? add(b, s, err) : st;
}

static rn_status read_prepend(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct norm_step s = {.kind = NORM_PREPEND, .when = NORM_ALWAYS};
    const rn_status st = step_text(b, step, "prepend", &s.content, err);
    return st == RN_OK ? add(b, s, err) : st;
}

static rn_status read_replace(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct norm_step s = {.kind = NORM_REPLACE};
    rn_status st = step_pattern(b, step, &s.pattern, &s.is_regex, err);
    if (st == RN_OK) st = step_text(b, step, "content", &s.content, err);
    return st == RN_OK ? add(b, s, err) : st;
}

static rn_status read_precompiled(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    static const char name[] = "precompiled_charsmap";
    const struct json_node *const m = json_member(step, name);
    if (!m || m->kind != JSON_STRING) return fail(err, RN_E_FORMAT, "member %s: must be a string", name);
    uint8_t *const map = arena_alloc(b->mem, BASE64_MAX_BYTES(m->n_text) + 1);
    size_t n = 0;
    if (!map) return fail(err, RN_E_NOMEM, "member %s: out of memory", name);
    if (!base64_decode(m->text, m->n_text, map, &n))
        return fail(err, RN_E_FORMAT, "member %s: no base64 at character %zu of %u", name, n, m->n_text);
    const struct vocab_str bytes = {(const char *)map, (uint32_t)n};
    return add(b, (struct norm_step){.kind = NORM_CHARSMAP, .by_graphemes = true, .pattern = bytes}, err);
}

// transformers' BertNormalizer. Where it does not say whether accents go, they go where capital letters do.
static rn_status read_bert(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    bool clean = true, han = true, lower = true;
    rn_status st = step_bool(step, "clean_text", &clean, err);
    if (st == RN_OK) st = step_bool(step, "handle_chinese_chars", &han, err);
    if (st == RN_OK) st = step_bool(step, "lowercase", &lower, err);
    bool strip = lower;
    if (st == RN_OK) st = step_bool(step, "strip_accents", &strip, err);
    const struct {
        bool is_on;
        enum norm_kind kind;
    } steps[] = {{clean, NORM_BERT_CLEAN},
                 {han, NORM_BERT_HAN},
                 {strip, NORM_NFD},
                 {strip, NORM_BERT_ACCENTS},
                 {lower, NORM_LOWERCASE}};
    for (size_t i = 0; st == RN_OK && i < sizeof steps / sizeof *steps; i++)
        if (steps[i].is_on) st = add(b, (struct norm_step){.kind = steps[i].kind}, err);
    return st;
}

static const struct step_kind kinds[] = {
    {"BertNormalizer", "|clean_text|handle_chinese_chars|strip_accents|lowercase|", read_bert},
    {"NFC", "|", read_nfc},
    {"NFD", "|", read_nfd},
    {"NFKC", "|", read_nfkc},
    {"NFKD", "|", read_nfkd},
    {"Lowercase", "|", read_lowercase},
    {"StripAccents", "|", read_strip_accents},
    {"Strip", "|strip_left|strip_right|", read_strip},
    {"Prepend", "|prepend|", read_prepend},
    {"Replace", "|pattern|content|", read_replace},
    {"Precompiled", "|precompiled_charsmap|", read_precompiled},
    {"Sequence", "|normalizers|", NULL},
};

rn_status tokenizer_read_normalizer(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    return step ? tokenizer_read_step(b, "normalizer", kinds, sizeof kinds / sizeof *kinds, step, err) : RN_OK;
}
