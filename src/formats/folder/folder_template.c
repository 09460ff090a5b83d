// formats/folder/folder_template.c - the chat template of a Hugging Face folder; see folder.h.
//
// transformers now writes it to chat_template.jinja. Older versions stored it in
// tokenizer_config.json, as a text or as a list of named templates, of which "default" is used.
#include "formats/folder/folder.h"
#include "formats/limits.h"
#include <inttypes.h>

static rn_status keep(struct package *p, const char *text, size_t n, rn_error *err) {
    if (n > FOLDER_MAX_TEMPLATE_BYTES)
        return fail(err, RN_E_LIMIT, "chat_template: %zu bytes, limit %d", n, FOLDER_MAX_TEMPLATE_BYTES);
    p->chat_template = (struct vocab_str){arena_strndup(&p->arena, text, n), (uint32_t)n};
    return p->chat_template.s ? RN_OK : fail(err, RN_E_NOMEM, "chat_template: out of memory");
}

static rn_status from_config(struct package *p, const struct json_node *root, rn_error *err) {
    const struct json_node *t = json_member(root, "chat_template");
    if (t && t->kind == JSON_ARRAY) {
        const struct json_node *v = json_first(t);
        const uint32_t n = t->n_items;
        t = NULL;
        for (uint32_t i = 0; i < n; i++, v = json_next(v))
            if (json_is(json_member(v, "name"), "default")) t = json_member(v, "template");
    }
    if (!t) return RN_OK;
    if (t->kind != JSON_STRING)
        return fail(err, RN_E_FORMAT, "member chat_template: is %s, must be a string", json_kind_name(t));
    return keep(p, t->text, t->n_text, err);
}

rn_status folder_read_template(const struct folder *f, rn_error *err) {
    static const char jinja[] = "chat_template.jinja", config[] = "tokenizer_config.json";
    struct package_file file;
    struct json_tree tree = {0};
    bool found;
    rn_status st = folder_open_text(f, jinja, FOLDER_MAX_TEMPLATE_BYTES, &file, &found, err);
    if (st != RN_OK) return st;
    if (found) {
        st = package_in_file(file.path, keep(f->p, (const char *)file.map.data, file.map.size, err), err);
    } else {
        st = folder_open_json(f, config, FOLDER_MAX_TOKENIZER_CONFIG_BYTES, &file, &tree, &found, err);
        if (st == RN_OK && found) st = package_in_file(file.path, from_config(f->p, &tree.nodes[0], err), err);
    }
    json_free(&tree);
    package_file_close(&file);
    return st;
}
