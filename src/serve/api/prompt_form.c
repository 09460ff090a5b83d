// serve/api/prompt_form.c - see prompt_form.h.
#include "serve/api/prompt_form.h"
#include "app/infill_prompt.h"
#include "app/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_item(prompt_form *f, const json_item *value, char *why) {
    const size_t n_max = f->n_max ? f->n_max : JOB_PARTS;
    if (f->n == n_max) {
        snprintf(why, JSON_WHY / 2, "more than %zu texts", n_max);
        return false;
    }
    if ((f->n & (f->n - 1)) == 0) { // it grows to the next power of two
        prompt_item *const grown = app_realloc(f->items, (f->n ? 2 * f->n : 1) * sizeof *grown);
        if (!grown) {
            snprintf(why, JSON_WHY / 2, "the server has no memory for it");
            return false;
        }
        f->items = grown;
    }
    prompt_item *const p = &f->items[f->n++];
    *p = (prompt_item){0};
    return json_item_is_array(value) ? json_item_ids(value, &p->ids, why) : json_item_text(value, &p->text, why);
}

static bool is_ids(const json_item *array) {
    const json_item *const first = json_item_count(array) ? json_item_at(array, 0) : NULL;
    return first && !json_item_is_text(first) && !json_item_is_array(first);
}

// {"prompt_string": TEXT, "multimodal_data": [BASE64, ..]}
static bool add_media(prompt_form *f, const json_item *value, char *why) {
    const json_item *const text = json_item_member(value, "prompt_string");
    f->media = json_item_member(value, "multimodal_data");
    if (!text || (f->media && !json_item_is_array(f->media))) {
        snprintf(why, JSON_WHY / 2, ".%s", text ? "multimodal_data: must be an array" : "prompt_string: is missing");
        return false;
    }
    return add_item(f, text, why);
}

bool prompt_form_each(void *form, size_t i, const char *key, const json_item *value, char *why) {
    prompt_form *const f = form;
    char item_why[JSON_WHY / 2] = "";
    (void)i, (void)key;
    if (f->takes_media && json_item_is_object(value)) return add_media(f, value, why);
    if (!json_item_is_array(value) || is_ids(value)) return add_item(f, value, why);
    if (json_item_count(value) == 0) {
        snprintf(why, JSON_WHY / 2, "an empty array");
        return false;
    }
    f->is_several = true;
    for (size_t k = 0; k < json_item_count(value); k++)
        if (!add_item(f, json_item_at(value, k), item_why)) {
            snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", k, item_why);
            return false;
        }
    return true;
}

void prompt_form_apply(const prompt_form *f, size_t i, bool parse_special, rn_request *req, rn_part *part) {
    const prompt_item *const p = &f->items[i];
    const generation g = {.parse_special = parse_special};
    if (p->text.data)
        generation_prompt(&g, req, part, p->text.data, p->text.n);
    else
        generation_prompt_ids(req, part, p->ids.ids, p->ids.n);
}

rn_status prompt_form_ids(const prompt_form *f, size_t i, const rn_model *m, size_t max_ids, int32_t **ids, size_t *n,
                          rn_error *err) {
    const prompt_item *const p = &f->items[i];
    if (p->text.data) return rn_tokenize_at_most(m, p->text.data, p->text.n, true, false, max_ids, ids, n, err);
    *ids = p->ids.ids;
    *n = p->ids.n;
    return RN_OK;
}

static bool item_tokenize(prompt_item *p, const rn_model *m, const rn_model_info *info, bool parse_special,
                          rn_error *err) {
    int32_t *ids = NULL;
    size_t n = 0;
    if (!p->text.data) return true;
    if (rn_tokenize(m, p->text.data, p->text.n, false, parse_special, &ids, &n, err) != RN_OK) return false;
    const bool adds_bos = info->add_bos && info->bos >= 0 && (n == 0 || ids[0] != info->bos);
    p->ids.ids = app_alloc((n + 1) * sizeof *ids);
    if (p->ids.ids) {
        p->ids.ids[0] = info->bos;
        if (n) memcpy(p->ids.ids + adds_bos, ids, n * sizeof *ids);
        p->ids.n = n + adds_bos;
        p->text = (json_span){0};
    }
    rn_free(ids);
    return p->ids.ids != NULL;
}

bool prompt_form_tokenize(prompt_form *f, const rn_model *m, bool parse_special, rn_error *err) {
    rn_model_info info = {.struct_size = sizeof info};
    bool ok = rn_model_get_info(m, &info, err) == RN_OK;
    for (size_t i = 0; ok && i < f->n; i++) ok = item_tokenize(&f->items[i], m, &info, parse_special, err);
    return ok;
}

static bool item_add_suffix(prompt_item *p, const rn_model *m, const json_span *suffix, generation *g,
                            rn_error *err) {
    rn_infill_prompt made;
    rn_infill in;
    if (!p->text.data) {
        err->code = RN_E_ARG;
        snprintf(err->text, sizeof err->text, "suffix: needs a prompt that is text");
        return false;
    }
    rn_infill_init(&in);
    in.prefix = p->text.data, in.n_prefix = p->text.n;
    in.suffix = suffix->data, in.n_suffix = suffix->n;
    if (!infill_make(m, &in, "suffix", 0, g, &made, err)) return false;
    p->ids.ids = app_alloc(made.n_ids * sizeof *made.ids);
    if (p->ids.ids) {
        memcpy(p->ids.ids, made.ids, made.n_ids * sizeof *made.ids);
        p->ids.n = made.n_ids;
        p->text = (json_span){0};
    } else
        *err = (rn_error){.code = RN_E_NOMEM, .text = "suffix: out of memory for the prompt"};
    rn_free(made.ids);
    return p->ids.ids != NULL;
}

bool prompt_form_add_suffix(prompt_form *f, const rn_model *m, const json_span *suffix, generation *g,
                            rn_error *err) {
    for (size_t i = 0; i < f->n; i++)
        if (!item_add_suffix(&f->items[i], m, suffix, g, err)) return false;
    return true;
}

void prompt_form_keep_last(prompt_form *f, size_t n) {
    for (size_t i = 0; i < f->n; i++) {
        id_list *const l = &f->items[i].ids;
        if (l->n <= n) continue;
        memmove(l->ids, l->ids + l->n - n, n * sizeof *l->ids);
        l->n = n;
    }
}

void prompt_form_free(prompt_form *f) {
    for (size_t i = 0; i < f->n; i++) free(f->items[i].ids.ids);
    free(f->items);
    *f = (prompt_form){0};
}
