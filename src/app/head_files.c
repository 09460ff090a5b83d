// app/head_files.c - see head_files.h.
#include "app/head_files.h"
#include "app/numbers.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    bool has_file;
    const char *needs; // what stands behind the name
} kinds[DRAFT_HEAD_KINDS] = {
    [RN_DRAFT_HEAD_MTP] = {"mtp", false},
    [RN_DRAFT_HEAD_MEDUSA] = {"medusa", true, "the file of the heads: medusa=FILE"},
    [RN_DRAFT_HEAD_EAGLE] = {"eagle", true, "the file of the heads: eagle=FILE"},
    [RN_DRAFT_HEAD_LAYERS] = {"layer-skip", true,
                              "layers, the first E or all but A-B: layer-skip=E, layer-skip=A-B,C-D"}};

bool draft_heads_take(draft_heads *h, const char *text, bool *is_kind, char *why) {
    const size_t n = strcspn(text, "=,");
    size_t k = 0;
    while (k < DRAFT_HEAD_KINDS && (strlen(kinds[k].name) != n || memcmp(kinds[k].name, text, n) != 0)) k++;
    *is_kind = k < DRAFT_HEAD_KINDS;
    if (!*is_kind) return true;
    const char *const file = text[n] == '=' && text[n + 1] ? text + n + 1 : NULL;
    if (kinds[k].has_file && !file)
        snprintf(why, NUMBER_WHY, "%s needs %s", kinds[k].name, kinds[k].needs);
    else if (!kinds[k].has_file && text[n] == '=')
        snprintf(why, NUMBER_WHY, "%s has no file: its layers are the model's own", kinds[k].name);
    else if (h->is_given[k])
        snprintf(why, NUMBER_WHY, "%s is named twice", kinds[k].name);
    else {
        h->is_given[k] = true, h->file[k] = file;
        return true;
    }
    return false;
}

rn_status draft_heads_add(const draft_heads *h, rn_model *model, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t k = 0; h && k < DRAFT_HEAD_KINDS && st == RN_OK; k++)
        if (h->is_given[k]) st = rn_model_add_draft_heads(model, (rn_draft_head)k, h->file[k], err);
    return st;
}
