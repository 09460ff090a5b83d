// serve/api/token_rules.c - see token_rules.h.
#include "serve/api/token_rules.h"
#include "app/memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_FORMS = 3 }; // alone, after a space, inside a line

struct token_rules {
    int32_t n_vocab;
    uint8_t *allowed; // a bit for each id; NULL: all
    id_list words[WORD_FORMS * BAD_WORDS];
    size_t n_words;
};

bool token_rules_check_ids(const json_item *ids, char *why) {
    if (!json_item_is_array(ids) || json_item_count(ids) == 0) {
        snprintf(why, JSON_WHY / 2, "must be an array of at least one token id");
        return false;
    }
    for (size_t i = 0; i < json_item_count(ids); i++) {
        char item_why[JSON_WHY / 2] = "";
        int64_t id;
        if (json_item_whole(json_item_at(ids, i), 0, INT32_MAX, &id, item_why)) continue;
        snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", i, item_why);
        return false;
    }
    return true;
}

bool token_rules_check_words(const json_item *words, char *why) {
    if (!json_item_is_array(words)) {
        snprintf(why, JSON_WHY / 2, "must be an array of strings");
        return false;
    }
    if (json_item_count(words) > BAD_WORDS) {
        snprintf(why, JSON_WHY / 2, "%zu words, limit %d", json_item_count(words), BAD_WORDS);
        return false;
    }
    for (size_t i = 0; i < json_item_count(words); i++) {
        char item_why[JSON_WHY / 2] = "";
        json_span word;
        if (!json_item_text(json_item_at(words, i), &word, item_why))
            snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", i, item_why);
        else if (word.n == 0 || word.n > BAD_WORD_BYTES)
            snprintf(why, JSON_WHY / 2, "[%zu]: %zu bytes, must have 1..%d", i, word.n, BAD_WORD_BYTES);
        else
            continue;
        return false;
    }
    return true;
}

static bool read_allowed(token_rules *r, const json_item *ids, api_error *e) {
    char why[JSON_WHY / 2];
    if (!ids) return true;
    r->allowed = app_alloc((size_t)r->n_vocab / 8 + 1);
    if (!r->allowed) return true; // the caller looks for failed allocations
    for (size_t i = 0; i < json_item_count(ids); i++) {
        int64_t id = 0;
        (void)json_item_whole(json_item_at(ids, i), 0, INT32_MAX, &id, why);
        if (id >= r->n_vocab)
            return api_fail(e, API_INVALID_TOKEN, "allowed_token_ids",
                            "allowed_token_ids[%zu]: token %d is outside 0..%d", i, (int)id, r->n_vocab - 1);
        r->allowed[id / 8] |= (uint8_t)(1u << id % 8);
    }
    return true;
}

static bool read_form(const rn_model *m, const char *text, size_t n_text, id_list *form, api_error *e) {
    rn_error err = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    const rn_status st = rn_tokenize(m, text, n_text, false, false, &ids, &n, &err);
    if (st != RN_OK) return api_fail_status(e, st, &err, "bad_words");
    form->ids = app_alloc((n + 1) * sizeof *form->ids);
    if (form->ids && n) memcpy(form->ids, ids, n * sizeof *ids);
    form->n = form->ids ? n : 0;
    rn_free(ids);
    return true;
}

// Takes the form's memory.
static void keep_form(token_rules *r, id_list *form) {
    r->words[r->n_words++] = *form;
    *form = (id_list){0};
}

// Some tokenizers put a space before a text: after a line's end they do not.
static bool read_form_inside(const rn_model *m, const char *text, size_t n_text, id_list *form, api_error *e) {
    char line[BAD_WORD_BYTES + 2] = "\n";
    id_list end = {0};
    memcpy(line + 1, text, n_text);
    const bool ok = read_form(m, "\n", 1, &end, e) && read_form(m, line, n_text + 1, form, e);
    const bool begins =
        ok && end.n < form->n && (end.n == 0 || memcmp(form->ids, end.ids, end.n * sizeof *end.ids) == 0);
    if (begins) {
        form->n -= end.n;
        memmove(form->ids, form->ids + end.n, form->n * sizeof *form->ids);
    } else
        form->n = 0;
    free(end.ids);
    return ok;
}

// As vLLM does: the word's tokens alone, and those after a space where these are as many and begin with another token. Beside
// these, the tokens that it has inside a line.
static bool add_word(token_rules *r, const rn_model *m, const json_span *word, api_error *e) {
    char spaced[BAD_WORD_BYTES + 2] = " ";
    id_list forms[WORD_FORMS] = {0};
    const char *text = word->data;
    size_t n = word->n;
    while (n > 0 && *text == ' ') text++, n--;
    memcpy(spaced + 1, text, n);
    const bool ok = read_form(m, text, n, &forms[0], e) && read_form(m, spaced, n + 1, &forms[1], e) &&
                    read_form_inside(m, text, n, &forms[2], e);
    const bool is_other = ok && forms[0].n > 0 && forms[1].n == forms[0].n && forms[1].ids[0] != forms[0].ids[0];
    for (int i = 0; i < WORD_FORMS; i++) {
        if (ok && forms[i].n > 0 && (i != 1 || is_other)) keep_form(r, &forms[i]);
        free(forms[i].ids);
    }
    return ok;
}

static bool read_words(token_rules *r, const json_item *words, const rn_model *m, api_error *e) {
    char why[JSON_WHY / 2];
    for (size_t i = 0; words && i < json_item_count(words); i++) {
        json_span word = {0};
        if (json_item_text(json_item_at(words, i), &word, why) && !add_word(r, m, &word, e)) return false;
    }
    return true;
}

bool token_rules_new(const token_rules_source *from, const rn_model *m, token_rules **rules, api_error *e) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    *rules = NULL;
    if (!from->allowed && !from->bad_words) return true;
    const rn_status st = rn_model_get_info(m, &info, &err);
    if (st != RN_OK) return api_fail_status(e, st, &err, NULL);
    token_rules *const r = app_alloc(sizeof *r);
    if (!r) return api_fail(e, API_OUT_OF_MEMORY, NULL, "%s", api_no_memory.message);
    *r = (token_rules){.n_vocab = info.n_vocab};
    bool ok = read_allowed(r, from->allowed, e) && read_words(r, from->bad_words, m, e);
    if (ok && memory_failed()) ok = api_fail(e, API_OUT_OF_MEMORY, NULL, "%s", api_no_memory.message);
    if (ok)
        *rules = r;
    else
        token_rules_free(r);
    return ok;
}

void token_rules_free(token_rules *r) {
    if (!r) return;
    for (size_t i = 0; i < r->n_words; i++) free(r->words[i].ids);
    free(r->allowed);
    free(r);
}

// Forbids the last token of a word whose other tokens the answer ends with.
static void forbid_words(const token_rules *r, float *logits, const int32_t *answer, size_t n_answer) {
    for (size_t i = 0; i < r->n_words; i++) {
        const size_t n_before = r->words[i].n - 1;
        const int32_t *const ids = r->words[i].ids;
        if (n_before <= n_answer && memcmp(ids, answer + n_answer - n_before, n_before * sizeof *ids) == 0)
            logits[ids[n_before]] = -INFINITY;
    }
}

bool token_rules_stage(void *state, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    token_state *const s = state;
    const token_rules *const r = s->rules;
    if (s->n_prompt == 0) s->n_prompt = n_tokens;
    const size_t n_answer = n_tokens - s->n_prompt;
    for (int32_t i = 0; r->allowed && i < n_vocab; i++)
        if (i >= r->n_vocab || !(r->allowed[i / 8] >> i % 8 & 1)) logits[i] = -INFINITY;
    forbid_words(r, logits, tokens + s->n_prompt, n_answer);
    return true;
}
