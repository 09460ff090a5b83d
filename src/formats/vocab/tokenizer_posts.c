// formats/vocab/tokenizer_posts.c - tokenizer.json's "post_processor": the tokens added before and
// after a text, and between the texts of a pair.
#include "formats/vocab/tokenizer_build.h"
#include <inttypes.h>
#include <string.h>

static rn_status set_id(struct tokenizer_build *b, int64_t id, int32_t *which, bool *adds, rn_error *err) {
    if (id < 0 || id >= b->v->n_tokens)
        return fail(err, RN_E_FORMAT, "token %" PRId64 " is outside 0..%d", id, b->v->n_tokens - 1);
    if (*adds) return fail(err, RN_E_UNSUPPORTED, "more than one token on a side of the text");
    *which = (int32_t)id;
    *adds = true;
    return RN_OK;
}

// {"SpecialToken": {"id": text}}; the token id is in the template's special_tokens.
static rn_status special_id(const struct json_node *template, const struct json_node *item, int64_t *id,
                            rn_error *err) {
    const struct json_node *const name = json_member(json_member(item, "SpecialToken"), "id");
    const struct json_node *const table = json_member(template, "special_tokens");
    if (!name || name->kind != JSON_STRING || !table || table->kind != JSON_OBJECT)
        return fail(err, RN_E_FORMAT, "member single: an item is neither a text nor a special token");
    const struct json_node *entry = json_first(table);
    for (uint32_t i = 0; i < table->n_items; i++, entry = json_next(entry)) {
        if (entry->n_name != name->n_text || memcmp(entry->name, name->text, name->n_text) != 0) continue;
        const struct json_node *const ids = json_member(entry, "ids");
        if (!ids || ids->kind != JSON_ARRAY || ids->n_items != 1)
            return fail(err, RN_E_UNSUPPORTED, "special token \"%.*s\" is not one id", shown_bytes(name->n_text),
                        name->text);
        return json_int(json_first(ids), INT32_MIN, INT32_MAX, id, err);
    }
    return fail(err, RN_E_FORMAT, "special token \"%.*s\" is not in special_tokens", shown_bytes(name->n_text),
                name->text);
}

// What a template of a pair says of an item: the sequence's letter or 0, the token, and the type; false: neither.
static bool read_item(const struct json_node *template, const struct json_node *item, char *letter, int64_t *id,
                      int64_t *type) {
    const struct json_node *const sequence = json_member(item, "Sequence"), *const name = json_member(sequence, "id");
    const struct json_node *const of =
        json_member(sequence ? sequence : json_member(item, "SpecialToken"), "type_id");
    *letter = 0, *type = 0;
    if (of && json_int(of, 0, 1, type, NULL) != RN_OK) return false;
    if (!sequence) return special_id(template, item, id, NULL) == RN_OK;
    *letter = json_is(name, "A") ? 'A' : json_is(name, "B") ? 'B' : 0;
    return *letter != 0;
}

// A pair is [bos] A between.. B [eos], as the single text's template has it, with one type up to B and one from B on. Any other one is
// not kept: no pair is made then.
static void read_pair_template(struct tokenizer_build *b, const struct json_node *step) {
    const struct json_node *const list = json_member(step, "pair");
    const struct vocab *const v = b->v;
    struct vocab_pair p = {.is_known = true};
    int n_texts = 0, n_before = 0, n_behind = 0;
    int64_t of_second = 0;
    if (!list || list->kind != JSON_ARRAY) return;
    const struct json_node *item = json_first(list);
    for (uint32_t i = 0; i < list->n_items && p.is_known; i++, item = json_next(item)) {
        char letter;
        int64_t id = -1, type;
        p.is_known = read_item(step, item, &letter, &id, &type);
        if (letter) {
            p.is_known &= letter == "AB"[n_texts < 1 ? 0 : 1] && n_texts < 2;
            n_texts++;
            if (letter == 'B') of_second = type;
        } else if (n_texts == 0) {
            p.is_known &= v->add_bos && id == v->bos && n_before++ == 0;
        } else if (n_texts == 2) {
            p.is_known &= v->add_eos && id == v->eos && n_behind++ == 0;
        } else if (id >= 0 && id < v->n_tokens && p.n_between < VOCAB_MAX_BETWEEN) {
            p.between[p.n_between++] = (int32_t)id;
        } else {
            p.is_known = false;
        }
        p.is_known &= type == (n_texts < 2 ? 0 : of_second);
    }
    p.has_second_kind = of_second == 1;
    if (p.is_known && n_texts == 2 && n_before == v->add_bos && n_behind == v->add_eos) b->v->pair = p;
}

static rn_status read_template(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    struct vocab *const v = b->v;
    const struct json_node *const single = json_member(step, "single");
    if (!single || single->kind != JSON_ARRAY) return fail(err, RN_E_FORMAT, "member single: must be a list");
    const struct json_node *item = json_first(single);
    bool behind = false;
    rn_status st = RN_OK;
    for (uint32_t i = 0; st == RN_OK && i < single->n_items; i++, item = json_next(item)) {
        int64_t id;
        if (json_member(item, "Sequence")) {
            if (behind) return fail(err, RN_E_UNSUPPORTED, "member single: the text occurs twice");
            behind = true;
            continue;
        }
        st = special_id(step, item, &id, err);
        if (st == RN_OK) st = set_id(b, id, behind ? &v->eos : &v->bos, behind ? &v->add_eos : &v->add_bos, err);
    }
    if (st == RN_OK && !behind) st = fail(err, RN_E_FORMAT, "member single: the text is missing");
    if (st == RN_OK) read_pair_template(b, step);
    return st;
}

// ["</s>", 2]
static rn_status read_pair(struct tokenizer_build *b, const struct json_node *step, const char *name, int32_t *which,
                           bool *adds, rn_error *err) {
    const struct json_node *const pair = json_member(step, name);
    int64_t id;
    if (!pair || pair->kind != JSON_ARRAY || pair->n_items != 2)
        return fail(err, RN_E_FORMAT, "member %s: must be a pair of text and id", name);
    const rn_status st = json_int(json_next(json_first(pair)), INT32_MIN, INT32_MAX, &id, err);
    return st == RN_OK ? set_id(b, id, which, adds, err) : fail_in(err, st, "member %s", name);
}

static rn_status read_ends(struct tokenizer_build *b, const struct json_node *step, int32_t n_between, bool has_kind,
                           rn_error *err) {
    struct vocab *const v = b->v;
    rn_status st = read_pair(b, step, "cls", &v->bos, &v->add_bos, err);
    if (st == RN_OK) st = read_pair(b, step, "sep", &v->eos, &v->add_eos, err);
    v->pair = (struct vocab_pair){st == RN_OK, has_kind, n_between, {v->eos, v->eos}};
    return st;
}

static rn_status read_bert(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    return read_ends(b, step, 1, true, err);
}

static rn_status read_roberta(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    return read_ends(b, step, 2, false, err);
}

static rn_status read_byte_level(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    (void)b, (void)step, (void)err; // changes offsets only, not tokens
    return RN_OK;
}

static const struct step_kind kinds[] = {
    {"TemplateProcessing", "|single|pair|special_tokens|", read_template},
    {"BertProcessing", "|sep|cls|", read_bert},
    {"RobertaProcessing", "|sep|cls|trim_offsets|add_prefix_space|", read_roberta},
    {"ByteLevel", "|add_prefix_space|trim_offsets|use_regex|", read_byte_level},
    {"Sequence", "|processors|", NULL},
};

rn_status tokenizer_read_post_processor(struct tokenizer_build *b, const struct json_node *step, rn_error *err) {
    return step ? tokenizer_read_step(b, "post_processor", kinds, sizeof kinds / sizeof *kinds, step, err) : RN_OK;
}
