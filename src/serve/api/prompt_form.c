// serve/api/prompt_form.c - see prompt_form.h.
#include "serve/api/prompt_form.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_item(prompt_form *f, const json_item *value, char *why) {
    if (f->n == JOB_PARTS) {
        snprintf(why, JSON_WHY / 2, "more than %d prompts", JOB_PARTS);
        return false;
    }
    prompt_item *const p = &f->items[f->n++];
    return json_item_is_array(value) ? json_item_ids(value, &p->ids, why) : json_item_text(value, &p->text, why);
}

static bool is_ids(const json_item *array) {
    const json_item *const first = json_item_count(array) ? json_item_at(array, 0) : NULL;
    return first && !json_item_is_text(first) && !json_item_is_array(first);
}

bool prompt_form_each(void *form, size_t i, const char *key, const json_item *value, char *why) {
    prompt_form *const f = form;
    char item_why[JSON_WHY / 2] = "";
    (void)i, (void)key;
    if (!json_item_is_array(value) || is_ids(value)) return add_item(f, value, why);
    f->is_several = true;
    for (size_t k = 0; k < json_item_count(value); k++)
        if (!add_item(f, json_item_at(value, k), item_why)) {
            snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", k, item_why);
            return false;
        }
    if (f->n == 0) snprintf(why, JSON_WHY / 2, "an empty array");
    return f->n > 0;
}

void prompt_form_apply(const prompt_form *f, size_t i, bool parse_special, rn_request *req, rn_part *part) {
    const prompt_item *const p = &f->items[i];
    const generation g = {.parse_special = parse_special};
    if (p->text.data)
        generation_prompt(&g, req, part, p->text.data, p->text.n);
    else
        generation_prompt_ids(req, part, p->ids.ids, p->ids.n);
}

bool prompt_form_ids(const prompt_form *f, size_t i, const rn_model *m, int32_t **ids, size_t *n, rn_error *err) {
    const prompt_item *const p = &f->items[i];
    if (p->text.data) return rn_tokenize(m, p->text.data, p->text.n, true, false, ids, n, err) == RN_OK;
    *ids = p->ids.ids;
    *n = p->ids.n;
    return true;
}

void prompt_form_free(prompt_form *f) {
    for (size_t i = 0; i < f->n; i++) free(f->items[i].ids.ids);
    *f = (prompt_form){0};
}
