// app/grammar_form.c - see grammar_form.h.
#include "app/grammar_form.h"
#include "app/memory.h"
#include <stdio.h>
#include <stdlib.h>

static bool is_schema(const json_item *value, char *why) {
    char other_why[JSON_WHY / 2];
    bool is_any;
    if (json_item_is_object(value) || json_item_is_text(value) || json_item_bool(value, &is_any, other_why))
        return true;
    snprintf(why, JSON_WHY / 2, "must be a JSON Schema: an object, true or false");
    return false;
}

static bool is_text(const json_item *value, char *why) {
    json_span text;
    return json_item_text(value, &text, why);
}

static bool is_texts(const json_item *value, char *why) {
    char item_why[JSON_WHY / 2] = "";
    if (!json_item_is_array(value)) {
        snprintf(why, JSON_WHY / 2, "must be an array of strings");
        return false;
    }
    for (size_t i = 0; i < json_item_count(value); i++)
        if (!is_text(json_item_at(value, i), item_why)) {
            snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", i, item_why);
            return false;
        }
    return true;
}

static bool is_tags(const json_item *value, char *why) {
    if (json_item_is_object(value) || json_item_is_text(value)) return true;
    snprintf(why, JSON_WHY / 2, "must be a structural tag: an object, or a text that has one");
    return false;
}

static bool (*const checks[])(const json_item *value, char *why) = {
    [RN_GRAMMAR_JSON_SCHEMA] = is_schema, [RN_GRAMMAR_JSON_OBJECT] = NULL, [RN_GRAMMAR_REGEX] = is_text,
    [RN_GRAMMAR_CHOICE] = is_texts,       [RN_GRAMMAR_CFG] = is_text,      [RN_GRAMMAR_STRUCTURAL_TAG] = is_tags,
};

bool grammar_form_set(grammar_form *f, rn_grammar_kind kind, const char *name, const json_item *value, char *why) {
    if (checks[kind] && !checks[kind](value, why)) return false;
    if (f->member) {
        snprintf(why, JSON_WHY / 2, "excludes %s: an answer has one form", f->member);
        return false;
    }
    f->member = name;
    f->kind = kind;
    f->value = checks[kind] ? value : NULL;
    return true;
}

bool grammar_form_switch(grammar_form *f, const char *name, const json_item *value, char *why) {
    bool is_on = false;
    if (!json_item_bool(value, &is_on, why)) return false;
    return !is_on || grammar_form_set(f, RN_GRAMMAR_JSON_OBJECT, name, NULL, why);
}

bool grammar_form_set_text(grammar_form *f, const char *name, const json_item *value, char *why) {
    json_span text;
    if (!json_item_text(value, &text, why)) return false;
    return text.n == 0 || grammar_form_set(f, RN_GRAMMAR_CFG, name, value, why);
}

bool grammar_form_set_space(grammar_form *f, const json_item *value, char *why) {
    static const char *const words[] = {
        [RN_JSON_DUMPS] = "dumps", [RN_JSON_COMPACT] = "compact", [RN_JSON_FREE] = "free"};
    return json_item_word(value, words, 3, &f->space, why);
}

static bool make_text(const json_item *value, form_source *to) {
    json_span text;
    char why[JSON_WHY];
    if (json_item_is_text(value)) { // checked when it was read
        (void)json_item_text(value, &text, why);
        to->source.text = text.data;
        to->source.n_text = text.n;
        return true;
    }
    json_item_add(value, &to->text);
    to->source.text = to->text.data;
    to->source.n_text = to->text.n;
    return to->text.n > 0;
}

static bool make_choices(const json_item *value, form_source *to) {
    const size_t n = json_item_count(value);
    char why[JSON_WHY];
    to->choices = app_alloc((n + 1) * sizeof *to->choices);
    to->choice_bytes = app_alloc((n + 1) * sizeof *to->choice_bytes);
    if (!to->choices || !to->choice_bytes) return false;
    for (size_t i = 0; i < n; i++) {
        json_span text = {0};
        (void)json_item_text(json_item_at(value, i), &text, why);
        to->choices[i] = text.data;
        to->choice_bytes[i] = text.n;
    }
    to->source.choices = to->choices;
    to->source.choice_bytes = to->choice_bytes;
    to->source.n_choices = n;
    return true;
}

bool form_source_make(const grammar_form *f, form_source *to) {
    *to = (form_source){0};
    rn_grammar_source_init(&to->source);
    to->source.kind = f->kind;
    to->source.json_space = (rn_json_space)f->space;
    if (!f->value || (f->kind == RN_GRAMMAR_CHOICE ? make_choices(f->value, to) : make_text(f->value, to)))
        return true;
    form_source_free(to);
    return false;
}

void form_source_free(form_source *s) {
    bytes_free(&s->text);
    free(s->choices);
    free(s->choice_bytes);
    *s = (form_source){0};
}
