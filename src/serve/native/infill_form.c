// serve/native/infill_form.c - see infill_form.h.
#include "serve/native/infill_form.h"
#include <stdio.h>
#include <string.h>

static bool each_extra(void *target, size_t i, const char *key, const json_item *value, char *why) {
    infill *const f = target;
    const json_item *const text = json_item_member(value, "text"), *const name = json_item_member(value, "filename");
    json_span text_of = {0}, name_of = {0};
    (void)i, (void)key;
    if (f->n_extra == INFILL_EXTRA) {
        snprintf(why, JSON_WHY / 2, "more than %d texts", INFILL_EXTRA);
        return false;
    }
    if (!text) {
        snprintf(why, JSON_WHY / 2, "must be objects with a text");
        return false;
    }
    if (!json_item_text(text, &text_of, why) || (name && !json_item_text(name, &name_of, why))) return false;
    f->extra[f->n_extra++] =
        (rn_infill_file){.name = name_of.data, .text = text_of.data, .n_name = name_of.n, .n_text = text_of.n};
    return true;
}

static bool each_order(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return json_item_word(value, infill_orders, N_INFILL_ORDERS, &((infill *)target)->order, why);
}

#define EXTRA_SCHEMA                                                                                                 \
    "{'type':'array','maxItems':64,'items':{'type':'object','properties':{'text':{'type':'string'},"                 \
    "'filename':{'type':'string'}},'required':['text']}}"

const member infill_rows[] = {
    {"input_prefix", MEMBER_TEXT, offsetof(infill, prefix)},
    {"input_suffix", MEMBER_TEXT, offsetof(infill, suffix)},
    {"input_extra", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_extra, .schema = EXTRA_SCHEMA},
    {"repo_name", MEMBER_TEXT, offsetof(infill, repo_name)},
    {"file_name", MEMBER_TEXT, offsetof(infill, file_name)},
    {"infill_order", MEMBER_EACH, .each = each_order, .schema = "{'enum':['published','psm','spm']}"},
};

static bool make(infill *f, native_request *q, const json_span *between) {
    const struct server *const s = q->r.server;
    api_error *const e = &q->r.error;
    rn_engine_info info = {.struct_size = sizeof info};
    rn_infill in;
    rn_error err = {0};
    rn_infill_init(&in);
    in.prefix = f->prefix.data, in.n_prefix = f->prefix.n;
    in.suffix = f->suffix.data, in.n_suffix = f->suffix.n;
    in.files = f->extra, in.n_files = f->n_extra;
    in.repo_name = f->repo_name.data, in.n_repo_name = f->repo_name.n;
    in.file_name = f->file_name.data, in.n_file_name = f->file_name.n;
    in.order = (rn_infill_order)f->order;
    if (between) in.middle = between->data, in.n_middle = between->n;
    const rn_status st = rn_engine_get_info(s->engine, q->r.model, &info, &err);
    if (st != RN_OK) return api_fail_status(e, st, &err, NULL);
    if (!infill_make(s->models[q->r.model].model, &in, "input_suffix", info.n_ctx, &q->g.g, &f->made, &err))
        return api_fail_status(e, err.code, &err, err.code == RN_E_UNSUPPORTED ? "input_suffix" : NULL);
    f->part = (rn_part){.kind = RN_PART_IDS, .ids = f->made.ids, .n_ids = f->made.n_ids};
    q->parts = &f->part;
    q->n_parts = 1;
    return true;
}

bool infill_read(infill *f, native_request *q) {
    api_error *const e = &q->r.error;
    const prompt_item *const between = q->prompt.n ? &q->prompt.items[0] : NULL;
    if (q->chat.has_messages)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "messages", "messages: use /v1/chat/completions");
    if (!f->prefix.data || !f->suffix.data) {
        const char *const name = f->prefix.data ? "input_suffix" : "input_prefix";
        return api_fail(e, API_MISSING_PARAMETER, name, "%s: is missing", name);
    }
    if (between && (!between->text.data || q->prompt.n > 1))
        return api_fail(e, API_INVALID_VALUE, "prompt", "prompt: must be a single text");
    if (q->g.n_prompt_kept)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "truncate_prompt_tokens",
                        "truncate_prompt_tokens: would leave out the tokens that mark the hole");
    return make(f, q, between ? &between->text : NULL);
}

void infill_free(infill *f) { rn_free(f->made.ids); }
