// formats/vocab/tokenizer_json.c - combines the parts of a tokenizer.json; see tokenizer_json.h.
#include "formats/vocab/tokenizer_json.h"
#include "formats/vocab/tokenizer_build.h"
#include "tokenizer/pre_patterns.h"
#include <string.h>

// Truncation and padding are for batches of training texts and do not change a text's tokens, so
// they are ignored.
static const struct step_kind top = {
    "tokenizer", "|version|truncation|padding|added_tokens|normalizer|pre_tokenizer|post_processor|decoder|model|",
    NULL};

static void *copy(struct tokenizer_build *b, const void *list, size_t n, size_t size) {
    void *const to = arena_alloc(b->mem, n * size + 1); // both are small; + 1: not NULL for an empty list
    if (to && n > 0) memcpy(to, list, n * size);
    return to;
}

static rn_status keep_steps(struct tokenizer_build *b, rn_error *err) {
    struct vocab *const v = b->v;
    struct norm_step norms[2 * VOCAB_MAX_STEPS];
    const size_t n_own = (size_t)b->n_norms, n_norms = n_own + (size_t)b->n_pre_norms;
    memcpy(norms, b->norms, n_own * sizeof *norms);
    memcpy(norms + n_own, b->pre_norms, (size_t)b->n_pre_norms * sizeof *norms);
    v->n_norms = (int32_t)n_norms;
    v->n_norms_before = b->n_norms;
    v->n_splits = b->n_splits;
    v->n_replaces = b->n_replaces;
    v->norms = copy(b, norms, n_norms, sizeof *norms);
    v->splits = copy(b, b->splits, (size_t)b->n_splits, sizeof *b->splits);
    v->replaces = copy(b, b->replaces, (size_t)b->n_replaces, sizeof *b->replaces);
    return v->norms && v->splits && v->replaces ? RN_OK : fail(err, RN_E_NOMEM, "out of memory for its steps");
}

static rn_status check_together(struct tokenizer_build *b, rn_error *err) {
    if (!b->has_decoder) return fail(err, RN_E_UNSUPPORTED, "decoder: missing: tokens would be joined by spaces");
    if (b->is_byte_level != b->writes_byte_level)
        return fail(err, RN_E_UNSUPPORTED, "decoder: %s ByteLevel, unlike the pre_tokenizer",
                    b->writes_byte_level ? "has" : "has no");
    if (b->is_byte_level && b->n_replaces > 0)
        return fail(err, RN_E_UNSUPPORTED, "decoder: Replace together with ByteLevel is not supported");
    const struct pre_row *const row = pre_row_of(b->splits, b->n_splits, b->v->takes_whole_words);
    if (b->splits_behind_bytes && !row)
        return fail(err, RN_E_UNSUPPORTED,
                    "pre_tokenizer: steps after ByteLevel are not supported, except those of Falcon");
    if (b->is_byte_level && row) b->v->pre = (struct vocab_str){row->name, (uint32_t)strlen(row->name)};
    return RN_OK;
}

static rn_status read_all(struct tokenizer_build *b, const struct json_node *root, rn_error *err) {
    if (root->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(root));
    rn_status st = step_check_members(root, &top, err);
    if (st == RN_OK) st = tokenizer_read_normalizer(b, json_member(root, "normalizer"), err);
    if (st == RN_OK) st = tokenizer_read_pre_tokenizer(b, json_member(root, "pre_tokenizer"), err);
    if (st == RN_OK) st = tokenizer_read_model(b, json_member(root, "model"), json_member(root, "added_tokens"), err);
    if (st == RN_OK) st = tokenizer_read_decoder(b, json_member(root, "decoder"), err);
    if (st == RN_OK) st = tokenizer_read_post_processor(b, json_member(root, "post_processor"), err);
    if (st == RN_OK) st = check_together(b, err);
    return st == RN_OK ? keep_steps(b, err) : st;
}

// ---- steps alone ------------------------------------------------------------------------------------------------------

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Where a value that begins at s[at] of a sound JSON text ends.
static size_t value_end(const char *s, size_t at, size_t n) {
    size_t depth = 0;
    for (bool quoted = false; at < n; at++) {
        const char c = s[at];
        if (quoted)
            at += c == '\\', quoted = c != '"';
        else if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return at;
        else
            quoted = c == '"', depth += c == '{' || c == '[', depth -= c == '}' || c == ']';
    }
    return n;
}

// Copies s[at..end) without white space between the values.
static size_t copy_tight(const char *s, size_t at, size_t end, char *to) {
    size_t n = 0;
    for (bool quoted = false; at < end; at++) {
        if (!quoted && is_space(s[at])) continue;
        to[n++] = s[at];
        if (s[at] == '"') quoted = !quoted;
        if (quoted && s[at] == '\\' && at + 1 < end) to[n++] = s[++at];
    }
    return n;
}

// The file without its tokens: its members but `model` and `added_tokens`, and those that change no ids.
static rn_status keep_steps_text(struct tokenizer_build *b, const char *s, size_t n, rn_error *err) {
    static const char *const kept[] = {"normalizer", "pre_tokenizer", "post_processor", "decoder"};
    size_t room = 2, at = 0, n_out = 0;
    char *out = NULL;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && !(out = arena_alloc(b->mem, room)))
            return fail(err, RN_E_NOMEM, "out of memory for its steps");
        if (out) out[n_out++] = '{';
        for (at = 0; at < n && s[at] != '{';) at++;
        while (at < n && s[at] != '}') {
            const size_t from = ++at, end = value_end(s, from, n);
            size_t name = from;
            while (name < end && s[name] != '"') name++;
            for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
                const size_t n_name = strlen(kept[k]);
                if (name + n_name + 1 >= end || memcmp(s + name + 1, kept[k], n_name) != 0 ||
                    s[name + 1 + n_name] != '"')
                    continue;
                room += end - from + 1;
                if (out && n_out > 1) out[n_out++] = ',';
                if (out) n_out += copy_tight(s, from, end, out + n_out);
            }
            at = end;
        }
    }
    out[n_out++] = '}';
    b->v->steps = (struct vocab_str){out, (uint32_t)n_out};
    return RN_OK;
}

rn_status tokenizer_steps_load(const char *name, struct vocab_str json, struct arena *mem, struct vocab *v,
                               rn_error *err) {
    struct tokenizer_build b = {.mem = mem, .v = v};
    struct json_tree tree = {0};
    v->add_bos = v->add_eos = v->drops_space_at_start = false;
    v->pair = (struct vocab_pair){0};
    rn_status st = json_read(&tree, json.s, json.n, err);
    const struct json_node *const root = tree.nodes;
    if (st == RN_OK && root->kind != JSON_OBJECT)
        st = fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(root));
    if (st == RN_OK) st = step_check_members(root, &top, err);
    if (st == RN_OK) st = tokenizer_read_normalizer(&b, json_member(root, "normalizer"), err);
    if (st == RN_OK) st = tokenizer_read_pre_tokenizer(&b, json_member(root, "pre_tokenizer"), err);
    if (st == RN_OK) st = tokenizer_read_decoder(&b, json_member(root, "decoder"), err);
    if (st == RN_OK) st = tokenizer_read_post_processor(&b, json_member(root, "post_processor"), err);
    if (st == RN_OK && b.is_byte_level) st = fail(err, RN_E_UNSUPPORTED, "pre_tokenizer: ByteLevel");
    if (st == RN_OK) st = keep_steps(&b, err);
    json_free(&tree);
    arena_free(&b.work);
    return st == RN_OK ? RN_OK : fail_in(err, st, "%s", name);
}

rn_status tokenizer_json_load(const char *name, const uint8_t *data, size_t n, const char *config_json,
                              size_t n_config, struct arena *mem, struct vocab *out, rn_error *err) {
    struct tokenizer_build b = {.mem = mem, .v = out};
    struct json_tree tree = {0};
    *out = (struct vocab){.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1, .pad = -1};
    rn_status st = n <= FOLDER_MAX_TOKENIZER_BYTES
                       ? json_read(&tree, (const char *)data, n, err)
                       : fail(err, RN_E_LIMIT, "%zu bytes, limit %d", n, FOLDER_MAX_TOKENIZER_BYTES);
    if (st == RN_OK) st = read_all(&b, &tree.nodes[0], err);
    if (st == RN_OK && (out->model == VOCAB_WORDPIECE || out->model == VOCAB_UNIGRAM))
        st = keep_steps_text(&b, (const char *)data, n, err);
    json_free(&tree);
    arena_free(&b.work);
    if (st != RN_OK) {
        *out = (struct vocab){.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1, .pad = -1};
        return fail_in(err, st, "%s", name);
    }
    return config_json ? tokenizer_config_apply("tokenizer_config.json", config_json, n_config, mem, out, err)
                       : RN_OK;
}
