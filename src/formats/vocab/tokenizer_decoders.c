// formats/vocab/tokenizer_decoders.c - converts tokenizer.json's "decoder" to replacements in the
// text of single tokens.
//
// Streams write tokens one by one, so a decoder must work on each token separately; the only
// exception is a space at the very beginning.
#include "formats/vocab/tokenizer_build.h"
#include <string.h>

static rn_status add(struct tokenizer_build *b, struct vocab_str from, struct vocab_str to, rn_error *err) {
    if (b->n_replaces == VOCAB_MAX_STEPS) return fail(err, RN_E_LIMIT, "more than %d steps", VOCAB_MAX_STEPS);
    b->replaces[b->n_replaces++] = (struct vocab_replace){from, to};
    return RN_OK;
}

static rn_status read_byte_level(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    (void)step, (void)err;
    b->writes_byte_level = true;
    return RN_OK;
}

// ByteFallback and Fuse: detokenization always decodes <0xNN> and joins tokens.
static rn_status read_nothing(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    (void)b, (void)step, (void)err;
    return RN_OK;
}

static rn_status read_replace(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct vocab_str from, to;
    bool is_regex;
    rn_status st = step_pattern(b, step, &from, &is_regex, err);
    if (st == RN_OK) st = step_text(b, step, "content", &to, err);
    if (st == RN_OK && (is_regex || to.n > from.n))
        st = fail(err, RN_E_UNSUPPORTED, "only a replacement that is not longer is supported");
    return st == RN_OK ? add(b, from, to, err) : st;
}

static rn_status read_strip(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct vocab_str content;
    int64_t start = 0, stop = 0;
    rn_status st = step_text(b, step, "content", &content, err);
    if (st == RN_OK) st = step_int(step, "start", 0, INT32_MAX, &start, err);
    if (st == RN_OK) st = step_int(step, "stop", 0, INT32_MAX, &stop, err);
    if (st != RN_OK) return st;
    if (content.n != 1 || content.s[0] != ' ' || start > 1 || stop > 0)
        return fail(err, RN_E_UNSUPPORTED, "only stripping one space at the start is supported");
    b->v->drops_space_at_start |= start == 1;
    return RN_OK;
}

static rn_status read_metaspace(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    static const char *const schemes[] = {"always", "never", "first"};
    struct vocab_str sign;
    bool add_space = true;
    int scheme = 0;
    rn_status st = step_text(b, step, "replacement", &sign, err);
    if (st == RN_OK) st = step_bool(step, "add_prefix_space", &add_space, err);
    if (st == RN_OK && !add_space) scheme = 1;
    if (st == RN_OK) st = step_choice(step, "prepend_scheme", schemes, 3, &scheme, err);
    if (st == RN_OK && sign.n == 0) st = fail(err, RN_E_FORMAT, "member replacement: is empty");
    if (st != RN_OK) return st;
    b->v->drops_space_at_start |= scheme != 1;
    return add(b, sign, (struct vocab_str){" ", 1}, err);
}

// Pieces that begin a word get a space (pieces.h). `cleanup`, which takes spaces before punctuation away again, is not done.
static rn_status read_wordpiece(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct vocab_str prefix;
    b->v->drops_space_at_start = true;
    return step_text(b, step, "prefix", &prefix, err);
}

static const struct step_kind kinds[] = {
    {"WordPiece", "|prefix|cleanup|", read_wordpiece},
    {"ByteLevel", "|add_prefix_space|trim_offsets|use_regex|", read_byte_level},
    {"ByteFallback", "|", read_nothing},
    {"Fuse", "|", read_nothing},
    {"Replace", "|pattern|content|", read_replace},
    {"Strip", "|content|start|stop|", read_strip},
    {"Metaspace", "|replacement|add_prefix_space|prepend_scheme|split|str_rep|", read_metaspace},
    {"Sequence", "|decoders|", NULL},
};

rn_status tokenizer_read_decoder(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    b->has_decoder = step != NULL;
    return step ? tokenizer_read_step(b, "decoder", kinds, sizeof kinds / sizeof *kinds, step, err) : RN_OK;
}
