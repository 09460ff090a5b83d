// app/embed_form.c - see embed_form.h.
#include "app/embed_form.h"
#include <math.h>
#include <string.h>

const char *embed_prompt_find(const rn_model_info *info, const char *name, bytes *why) {
    const char *const wanted = name ? name : info->default_prompt;
    if (!wanted) return "";
    for (size_t i = 0; i < info->n_prompts; i++)
        if (strcmp(info->prompts[i].name, wanted) == 0) return info->prompts[i].text;
    bytes_add_format(why, "the model has no prompt '%.40s'; it has ", wanted);
    if (info->n_prompts == 0) bytes_add_text(why, "none");
    for (size_t i = 0; i < info->n_prompts; i++)
        bytes_add_format(why, "%s%.40s", i > 0 ? ", " : "", info->prompts[i].name);
    return NULL;
}

rn_status embed_tokenize(const rn_model *model, const char *prompt, const char *text, size_t n_text, size_t max_ids,
                         int32_t **ids, size_t *n_ids, rn_error *err) {
    bytes whole = {0};
    if (!*prompt) return rn_tokenize_at_most(model, text, n_text, true, false, max_ids, ids, n_ids, err);
    bytes_add_text(&whole, prompt);
    bytes_add(&whole, text, n_text);
    const rn_status st = rn_tokenize_at_most(model, whole.data, whole.n, true, false, max_ids, ids, n_ids, err);
    bytes_free(&whole);
    return st;
}

size_t embed_cut(float *x, size_t n, size_t n_dimensions, bool is_normalized) {
    double sum = 0;
    if (n_dimensions == 0 || n_dimensions >= n) return n;
    for (size_t i = 0; i < n_dimensions; i++) sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n_dimensions && is_normalized && sum != 0; i++) x[i] = (float)((double)x[i] / sqrt(sum));
    return n_dimensions;
}
