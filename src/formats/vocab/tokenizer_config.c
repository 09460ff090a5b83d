// formats/vocab/tokenizer_config.c - tokenizer_config.json: the tokens that begin and end a text;
// see tokenizer_json.h.
#include "formats/json/json_tree.h"
#include "formats/limits.h"
#include "formats/vocab/tokenizer_json.h"
#include "tokenizer/longest.h"
#include <string.h>

// Its text is as in JSON, and in a vocabulary of longest tokens escaped.
static int32_t find(const struct vocab *v, const struct json_node *text) {
    char escaped[4 * LONGEST_MAX_TOKEN];
    struct vocab_str want = {text->text, text->n_text};
    if (v->model == VOCAB_LONGEST && want.n <= LONGEST_MAX_TOKEN)
        want = (struct vocab_str){escaped, (uint32_t)longest_escape(text->text, text->n_text, escaped)};
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_str s = v->tokens[i].text;
        if (s.n == want.n && memcmp(s.s, want.s, s.n) == 0) return i;
    }
    return -1;
}

// The member is "text", {"content": "text"} or null.
static const struct json_node *token_text(const struct json_node *root, const char *name) {
    const struct json_node *const m = json_member(root, name);
    return m && m->kind == JSON_OBJECT ? json_member(m, "content") : m;
}

static rn_status read_token(const struct json_node *root, const char *name, const struct vocab *v, int32_t *id,
                            rn_error *err) {
    const struct json_node *const m = token_text(root, name);
    if (!m) return RN_OK;
    if (m->kind != JSON_STRING)
        return fail(err, RN_E_FORMAT, "member %s: is %s, must be a string", name, json_kind_name(m));
    const int32_t found = find(v, m);
    if (found < 0)
        return fail(err, RN_E_FORMAT, "member %s: \"%.*s\" is not a token of the vocabulary", name,
                    m->n_text < 60 ? (int)m->n_text : 60, m->text);
    *id = found;
    return RN_OK;
}

// tokenizer.json may put another token at the end of a text than the one that ends a model's answer (Qwen3-Embedding): both end texts.
static void keep_put(struct vocab *v, int32_t put) {
    if (!v->add_eos || put < 0 || put == v->eos) return;
    if (v->eot < 0) v->eot = v->eos;
    v->eos = put;
}

static rn_status read_flag(const struct json_node *root, const char *name, bool *flag, rn_error *err) {
    const struct json_node *const m = json_member(root, name);
    const rn_status st = m ? json_bool(m, flag, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// RWKV's token 0, which its vocabulary file lacks, is spelled as bos_token.
static rn_status spell_first(const struct json_node *root, struct arena *mem, struct vocab *v, rn_error *err) {
    const struct json_node *const m = token_text(root, "bos_token");
    if (!m || m->kind != JSON_STRING || m->n_text == 0 || m->n_text > LONGEST_MAX_TOKEN || find(v, m) >= 0)
        return RN_OK;
    struct vocab_token *const tokens = arena_alloc(mem, (size_t)v->n_tokens * sizeof *tokens);
    char *const spelled = arena_alloc(mem, 4 * (size_t)m->n_text);
    if (!tokens || !spelled) return fail(err, RN_E_NOMEM, "out of memory for %d tokens", v->n_tokens);
    memcpy(tokens, v->tokens, (size_t)v->n_tokens * sizeof *tokens);
    tokens[0].text = (struct vocab_str){spelled, (uint32_t)longest_escape(m->text, m->n_text, spelled)};
    v->tokens = tokens;
    return RN_OK;
}

static rn_status apply(const struct json_node *root, struct arena *mem, struct vocab *v, rn_error *err) {
    const int32_t bos = v->bos, eos = v->eos;
    if (root->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(root));
    rn_status st = v->model == VOCAB_LONGEST ? spell_first(root, mem, v, err) : RN_OK;
    if (st == RN_OK) st = read_token(root, "bos_token", v, &v->bos, err);
    if (st == RN_OK) st = read_token(root, "eos_token", v, &v->eos, err);
    if (st == RN_OK) st = read_token(root, "pad_token", v, &v->pad, err);
    if (st == RN_OK && v->unk < 0) st = read_token(root, "unk_token", v, &v->unk, err);
    if (v->add_bos && bos >= 0) v->bos = bos; // what tokenizer.json puts before a text
    keep_put(v, eos);
    if (v->model == VOCAB_LONGEST && v->eos != eos) v->eot = v->eos, v->eos = eos;
    if (st == RN_OK) st = read_flag(root, "add_bos_token", &v->add_bos, err);
    if (st == RN_OK) st = read_flag(root, "add_eos_token", &v->add_eos, err);
    return st;
}

rn_status tokenizer_config_apply(const char *name, const char *json, size_t n, struct arena *mem, struct vocab *v,
                                 rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = n <= FOLDER_MAX_TOKENIZER_CONFIG_BYTES
                       ? json_read(&tree, json, n, err)
                       : fail(err, RN_E_LIMIT, "%zu bytes, limit %d", n, FOLDER_MAX_TOKENIZER_CONFIG_BYTES);
    if (st == RN_OK) st = apply(&tree.nodes[0], mem, v, err);
    json_free(&tree);
    return st == RN_OK ? RN_OK : fail_in(err, st, "%s", name);
}
