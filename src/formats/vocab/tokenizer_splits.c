// formats/vocab/tokenizer_splits.c - converts tokenizer.json's "pre_tokenizer" to split steps.
//
// Some Hugging Face pre-tokenizers rewrite words in addition to splitting text: Metaspace, and
// ByteLevel with its space. In all files in use they come first, where they are equivalent to a
// normalization step; elsewhere they are refused.
#include "formats/vocab/tokenizer_build.h"
#include "tokenizer/pre_patterns.h"
#include <stdio.h>
#include <string.h>

// Behind ByteLevel a text is bytes: only the patterns of Falcon are known to mean the same there (check_together()).
static rn_status add_split(struct tokenizer_build *b, struct split_step split, rn_error *err) {
    split.on_bytes = b->is_byte_level;
    if (b->n_splits == VOCAB_MAX_STEPS) return fail(err, RN_E_LIMIT, "more than %d steps", VOCAB_MAX_STEPS);
    b->splits_behind_bytes |= b->is_byte_level;
    b->splits[b->n_splits++] = split;
    return RN_OK;
}

static rn_status add_pattern(struct tokenizer_build *b, const char *pattern, enum split_behavior behavior,
                             bool invert, rn_error *err) {
    const struct vocab_str text = {pattern, (uint32_t)strlen(pattern)};
    return add_split(
        b, (struct split_step){.pattern = text, .behavior = behavior, .is_regex = true, .invert = invert}, err);
}

static rn_status add_norm(struct tokenizer_build *b, struct norm_step step, rn_error *err) {
    if (b->n_pre_norms == VOCAB_MAX_STEPS) return fail(err, RN_E_LIMIT, "more than %d steps", VOCAB_MAX_STEPS);
    b->pre_norms[b->n_pre_norms++] = step;
    return RN_OK;
}

static rn_status read_behavior(const struct json_node *step, int *behavior, rn_error *err) {
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    return step_choice(step, "behavior", names, 5, behavior, err); // in the order of enum split_behavior
}

static rn_status read_byte_level(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    static const struct norm_step space = {.kind = NORM_PREPEND, .when = NORM_UNLESS_THERE, .content = {" ", 1}};
    bool add_space = true, use_regex = true;
    rn_status st = step_bool(step, "add_prefix_space", &add_space, err);
    if (st == RN_OK) st = step_bool(step, "use_regex", &use_regex, err);
    if (st == RN_OK && b->is_byte_level) st = fail(err, RN_E_UNSUPPORTED, "given twice");
    if (st == RN_OK && add_space && b->n_splits > 0)
        st = fail(err, RN_E_UNSUPPORTED, "member add_prefix_space: true is supported in the first step only");
    if (st == RN_OK && add_space) st = add_norm(b, space, err);
    if (st == RN_OK && use_regex) st = add_pattern(b, pre_gpt2_words, SPLIT_ISOLATED, false, err);
    b->is_byte_level = true;
    return st;
}

static rn_status read_split(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct split_step s = {0};
    int behavior = -1;
    rn_status st = step_pattern(b, step, &s.pattern, &s.is_regex, err);
    if (st == RN_OK) st = read_behavior(step, &behavior, err);
    if (st == RN_OK && behavior < 0) st = fail(err, RN_E_FORMAT, "member behavior: missing");
    if (st == RN_OK) st = step_bool(step, "invert", &s.invert, err);
    if (st != RN_OK) return st;
    s.behavior = (enum split_behavior)behavior;
    return add_split(b, s, err);
}

static rn_status read_digits(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    bool each = false;
    const rn_status st = step_bool(step, "individual_digits", &each, err);
    const char *const pattern = b->is_byte_level && !each ? pre_byte_digits : each ? pre_digit : pre_digits;
    return st == RN_OK ? add_pattern(b, pattern, SPLIT_ISOLATED, false, err) : st;
}

static rn_status read_punctuation(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    int behavior = SPLIT_ISOLATED;
    const rn_status st = read_behavior(step, &behavior, err);
    if (st != RN_OK) return st;
    if (behavior == SPLIT_CONTIGUOUS) return add_pattern(b, pre_punctuation_run, SPLIT_ISOLATED, false, err);
    return add_pattern(b, pre_punctuation, (enum split_behavior)behavior, false, err);
}

static rn_status read_whitespace(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    (void)step;
    return add_pattern(b, pre_words_and_symbols, SPLIT_REMOVED, true, err);
}

static rn_status read_whitespace_split(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    (void)step;
    return add_pattern(b, pre_white_space, SPLIT_REMOVED, false, err);
}

static rn_status read_char_delimiter(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct split_step s = {.behavior = SPLIT_REMOVED};
    const rn_status st = step_text(b, step, "delimiter", &s.pattern, err);
    if (st != RN_OK) return st;
    return s.pattern.n > 0 ? add_split(b, s, err) : fail(err, RN_E_FORMAT, "member delimiter: is empty");
}

// Words between white space, and each punctuation character for itself: they get spaces around them before the text is split.
static rn_status read_bert(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    (void)step;
    if (b->n_splits > 0 || b->n_pre_norms > 0)
        return fail(err, RN_E_UNSUPPORTED, "is supported in the first step only");
    const rn_status st = add_norm(b, (struct norm_step){.kind = NORM_BERT_PUNCTUATION}, err);
    return st == RN_OK ? add_pattern(b, pre_white_space, SPLIT_REMOVED, false, err) : st;
}

struct metaspace {
    struct vocab_str sign;
    bool split;
    int scheme;
};
enum { SCHEME_ALWAYS, SCHEME_NEVER, SCHEME_FIRST };

static rn_status read_metaspace_members(struct tokenizer_build *b, const struct json_node *step, struct metaspace *m,
                                        rn_error *err) {
    static const char *const schemes[] = {"always", "never", "first"};
    bool add_space = true; // older files have a bool instead of a scheme
    *m = (struct metaspace){.split = true};
    rn_status st = step_text(b, step, "replacement", &m->sign, err);
    if (st == RN_OK) st = step_bool(step, "add_prefix_space", &add_space, err);
    if (st == RN_OK && !add_space) m->scheme = SCHEME_NEVER;
    if (st == RN_OK) st = step_choice(step, "prepend_scheme", schemes, 3, &m->scheme, err);
    if (st == RN_OK) st = step_bool(step, "split", &m->split, err);
    if (st == RN_OK && m->sign.n == 0) st = fail(err, RN_E_FORMAT, "member replacement: is empty");
    return st;
}

// After WhitespaceSplit every word gets the sign, so white space is replaced by one sign, together
// with a sign that the next word already begins with.
static rn_status replace_white_space(struct tokenizer_build *b, const struct metaspace *m, rn_error *err) {
    static const char space[] = "\\s+";
    const uint32_t n = (uint32_t)strlen(space) + m->sign.n + 1;
    char *const pattern = arena_alloc(b->mem, n + 8);
    if (!pattern) return fail(err, RN_E_NOMEM, "out of memory");
    snprintf(pattern, n + 8, "%s(?:%.*s)?", space, (int)m->sign.n, m->sign.s);
    const struct vocab_str text = {pattern, (uint32_t)strlen(pattern)};
    b->n_splits = 0;
    rn_status st = add_norm(b, (struct norm_step){.kind = NORM_STRIP, .left = true, .right = true}, err);
    if (st != RN_OK) return st;
    return add_norm(
        b, (struct norm_step){.kind = NORM_REPLACE, .is_regex = true, .pattern = text, .content = m->sign}, err);
}

static bool is_behind_whitespace_split(const struct tokenizer_build *b) {
    return b->n_splits == 1 && b->splits[0].pattern.s == pre_white_space;
}

static rn_status read_metaspace(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct metaspace m;
    rn_status st = read_metaspace_members(b, step, &m, err);
    if (st != RN_OK) return st;
    const bool is_plain_sign = m.sign.n == 3 && memcmp(m.sign.s, "\xe2\x96\x81", 3) == 0;
    const bool for_words = is_behind_whitespace_split(b) && is_plain_sign && m.scheme == SCHEME_ALWAYS && m.split;
    if ((b->n_splits > 0 && !for_words) || b->n_pre_norms > 0 || b->is_byte_level)
        return fail(err, RN_E_UNSUPPORTED, "is supported in the first step, and after WhitespaceSplit for each word");
    const struct norm_step to_sign = {.kind = NORM_REPLACE, .pattern = {" ", 1}, .content = m.sign};
    const struct norm_step prepend = {.kind = NORM_PREPEND,
                                      .when = m.scheme == SCHEME_FIRST ? NORM_UNLESS_THERE_1 : NORM_UNLESS_THERE,
                                      .content = m.sign};
    st = for_words ? replace_white_space(b, &m, err) : add_norm(b, to_sign, err);
    if (st == RN_OK && m.scheme != SCHEME_NEVER) st = add_norm(b, prepend, err);
    if (st != RN_OK || !m.split) return st;
    return add_split(b, (struct split_step){.pattern = m.sign, .behavior = SPLIT_MERGED_WITH_NEXT}, err);
}

static const struct step_kind kinds[] = {
    {"ByteLevel", "|add_prefix_space|trim_offsets|use_regex|", read_byte_level}, // runnel has no offsets
    {"Split", "|pattern|behavior|invert|", read_split},
    {"Digits", "|individual_digits|", read_digits},
    {"Punctuation", "|behavior|", read_punctuation},
    {"Whitespace", "|", read_whitespace},
    {"WhitespaceSplit", "|", read_whitespace_split},
    {"CharDelimiterSplit", "|delimiter|", read_char_delimiter},
    {"Metaspace", "|replacement|add_prefix_space|prepend_scheme|split|str_rep|", read_metaspace},
    {"BertPreTokenizer", "|", read_bert},
    {"Sequence", "|pretokenizers|", NULL},
};

rn_status tokenizer_read_pre_tokenizer(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    return step ? tokenizer_read_step(b, "pre_tokenizer", kinds, sizeof kinds / sizeof *kinds, step, err) : RN_OK;
}
