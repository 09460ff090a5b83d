// cli/grammar_check.c - see grammar_check.h.
#include "cli/grammar_check.h"
#include "app/json_write.h"
#include "app/memory.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 8, CHARACTER_BYTES = 4, NO_TOKEN = -1 };

// What each token says, and a place in a text.
struct lookup {
    rn_matcher *matcher;
    bytes all;  // the texts of the tokens, one after the other
    size_t *at; // [n_vocab + 1] where each begins; control tokens are empty
    size_t n_vocab;
    int32_t of_byte[256]; // a token that is this byte alone; NO_TOKEN
    size_t n_tokens;      // of the text that were taken
    bool parse_special;   // control tokens spelled in the text are those tokens
    struct grammar_finding *f;
    // Characters found so far, terminated.
    char chars[MOST_SHOWN][CHARACTER_BYTES + 1];
    size_t n_chars;
    bool has_more;
};

// A token's own text is what it adds behind another one: at the front of a text some vocabularies leave out a space.
static rn_status read_pieces(struct lookup *l, const rn_model *model, rn_error *err) {
    int32_t *ids = NULL;
    size_t n_ids = 0, n_lead = 0;
    char *lead = NULL;
    rn_status st = rn_tokenize_more(model, "x", 1, false, &ids, &n_ids, err);
    if (st == RN_OK) st = rn_detokenize(model, ids, n_ids, false, &lead, &n_lead, err);
    int32_t *const both = app_alloc((n_ids + 1) * sizeof *both);
    if (st == RN_OK) memcpy(both, ids, n_ids * sizeof *both);
    for (size_t t = 0; t < l->n_vocab && st == RN_OK; t++) {
        char *text = NULL;
        size_t n = 0;
        both[n_ids] = (int32_t)t;
        if ((st = rn_detokenize(model, both, n_ids + 1, false, &text, &n, err)) != RN_OK) break;
        l->at[t] = l->all.n;
        if (n > n_lead) bytes_add(&l->all, text + n_lead, n - n_lead);
        if (n == n_lead + 1) l->of_byte[(unsigned char)text[n_lead]] = (int32_t)t;
        rn_free(text);
    }
    l->at[l->n_vocab] = l->all.n;
    free(both);
    rn_free(ids);
    rn_free(lead);
    return st;
}

// Takes the text from a byte on, byte by byte and as far as it may follow, to where its last whole character ends. *n_taken: where.
static rn_status take_bytes(struct lookup *l, const bytes *text, size_t from, size_t *n_taken, rn_error *err) {
    size_t n = from;
    rn_status st = RN_OK;
    for (bool is_allowed = true; st == RN_OK && n < text->n; n += is_allowed) {
        const int32_t token = l->of_byte[(unsigned char)text->data[n]];
        if (token == NO_TOKEN) break;
        st = rn_matcher_take(l->matcher, token, &is_allowed, err);
        if (!is_allowed) break;
    }
    size_t begin = n; // of the last character
    while (begin > from && ((unsigned char)text->data[--begin] & 0xC0) == 0x80) {
    }
    const size_t n_back =
        n < text->n && begin < n && character_length(text->data + begin, n - begin) == 0 ? n - begin : 0;
    rn_matcher_rewind(l->matcher, n_back);
    *n_taken = n - n_back;
    return st;
}

static void add_character(struct lookup *l, const char *text, size_t n) {
    char one[CHARACTER_BYTES + 1] = {0};
    memcpy(one, text, n);
    l->f->space_may_follow |= strchr(" \n\t\r", one[0]) != NULL;
    for (size_t i = 0; i < l->n_chars; i++)
        if (strcmp(l->chars[i], one) == 0) return;
    if (l->n_chars == MOST_SHOWN)
        l->has_more = true;
    else
        memcpy(l->chars[l->n_chars++], one, sizeof one);
}

// Characters that may follow, the first n_begun bytes of which were taken.
static rn_status find_characters(struct lookup *l, char *begun, size_t n_begun, rn_error *err) {
    const size_t n_words = (l->n_vocab + 63) / 64;
    uint64_t *const mask = app_alloc(n_words * sizeof *mask);
    rn_status st = rn_matcher_mask(l->matcher, mask, n_words, err);
    for (size_t t = 0; t < l->n_vocab && st == RN_OK && !l->has_more; t++) {
        size_t n = l->at[t + 1] - l->at[t];
        if (!(mask[t / 64] >> (t % 64) & 1) || n == 0) continue;
        if (n > CHARACTER_BYTES - n_begun) n = CHARACTER_BYTES - n_begun;
        memcpy(begun + n_begun, l->all.data + l->at[t], n);
        const size_t n_whole = character_length(begun, n_begun + n);
        bool is_allowed;
        if (n_whole)
            add_character(l, begun, n_whole);
        else if (n == 1 && n_begun + n < CHARACTER_BYTES) { // a byte of a character
            st = rn_matcher_take(l->matcher, (int32_t)t, &is_allowed, err);
            if (st == RN_OK) st = find_characters(l, begun, n_begun + n, err);
            if (st == RN_OK) rn_matcher_rewind(l->matcher, 1);
        }
    }
    free(mask);
    return st;
}

static rn_status explain(struct lookup *l, const rn_model *model, const bytes *text, rn_error *err) {
    char begun[CHARACTER_BYTES];
    bool is_over;
    size_t n = 0;
    memset(l->of_byte, 0xff, sizeof l->of_byte);
    rn_status st = read_pieces(l, model, err);
    // From the beginning: a token may end within a character. Control tokens have no bytes to be taken one by one.
    const size_t from = l->parse_special ? l->f->n_allowed : 0;
    if (from == 0) rn_matcher_rewind(l->matcher, l->n_tokens);
    if (st == RN_OK) st = take_bytes(l, text, from, &n, err);
    if (st == RN_OK && n + CHARACTER_BYTES <= l->f->n_allowed) return RN_OK; // a vocabulary without all bytes
    l->f->n_allowed = n;
    if (st == RN_OK) st = rn_matcher_state(l->matcher, &l->f->is_whole, &is_over, err);
    if (st == RN_OK) st = find_characters(l, begun, 0, err);
    json_writer w = {.out = &l->f->next};
    for (size_t i = 0; i < l->n_chars; i++) {
        if (i > 0) bytes_add_text(&l->f->next, ", ");
        w.needs_comma = false;
        json_put_string(&w, l->chars[i]);
    }
    if (l->has_more) bytes_add_text(&l->f->next, " ..");
    return st;
}

// Takes tokens of the text as long as they may follow; n_allowed is where the first other one begins.
static rn_status take_tokens(struct lookup *l, const rn_model *model, const bytes *text, rn_error *err) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    bool is_allowed = true, is_over;
    char *allowed = NULL;
    rn_status st = rn_tokenize_more(model, text->data, text->n, l->parse_special, &ids, &n_ids, err);
    while (st == RN_OK && l->n_tokens < n_ids && is_allowed) {
        st = rn_matcher_take(l->matcher, ids[l->n_tokens], &is_allowed, err);
        l->n_tokens += is_allowed;
    }
    if (st == RN_OK) st = rn_detokenize(model, ids, l->n_tokens, l->parse_special, &allowed, &l->f->n_allowed, err);
    rn_free(allowed);
    rn_free(ids);
    return st == RN_OK ? rn_matcher_state(l->matcher, &l->f->is_whole, &is_over, err) : st;
}

rn_status grammar_check(const rn_model *model, rn_grammar *grammar, const bytes *text, bool parse_special,
                        struct grammar_finding *f, rn_error *err) {
    rn_model_info info = {.struct_size = sizeof info};
    struct lookup l = {.f = f, .parse_special = parse_special};
    rn_status st = rn_model_get_info(model, &info, err);
    if (st == RN_OK) st = rn_matcher_open(grammar, &l.matcher, err);
    if (st == RN_OK) st = take_tokens(&l, model, text, err);
    if (st == RN_OK && (f->n_allowed < text->n || !f->is_whole)) {
        l.n_vocab = (size_t)info.n_vocab;
        l.at = app_alloc((l.n_vocab + 1) * sizeof *l.at);
        st = explain(&l, model, text, err);
    }
    rn_matcher_close(l.matcher);
    free(l.at);
    bytes_free(&l.all);
    return st;
}

void grammar_finding_free(struct grammar_finding *f) { bytes_free(&f->next); }
