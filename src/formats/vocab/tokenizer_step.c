// formats/vocab/tokenizer_step.c - helpers to read the steps of tokenizer.json; see
// tokenizer_build.h.
#include "formats/vocab/tokenizer_build.h"
#include <stdio.h>
#include <string.h>

static bool is_listed(const char *members, const struct json_node *m) {
    const size_t n = m->n_name;
    for (const char *at = members; (at = strchr(at, '|')) && at[1]; at++)
        if (strncmp(at + 1, m->name, n) == 0 && at[1 + n] == '|') return true;
    return n == 4 && memcmp(m->name, "type", 4) == 0;
}

rn_status step_check_members(const struct json_node *step, const struct step_kind *kind, rn_error *err) {
    const struct json_node *m = json_first(step);
    for (uint32_t i = 0; i < step->n_items; i++, m = json_next(m))
        if (!memchr(m->name, '\0', m->n_name) && !is_listed(kind->members, m))
            return fail(err, RN_E_UNSUPPORTED, "%s: member \"%.*s\" is not known", kind->type, shown_bytes(m->n_name),
                        m->name);
    return RN_OK;
}

static rn_status read_sequence(struct tokenizer_build *b, const char *what, const struct step_kind *kinds,
                               size_t n_kinds, const struct json_node *sequence, const char *members, rn_error *err) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(members + 1, "|"), members + 1);
    const struct json_node *const steps = json_member(sequence, name);
    if (!steps || steps->kind != JSON_ARRAY)
        return fail(err, RN_E_FORMAT, "%s: Sequence: member %s: must be a list", what, name);
    const struct json_node *step = json_first(steps);
    rn_status st = RN_OK;
    for (uint32_t i = 0; st == RN_OK && i < steps->n_items; i++, step = json_next(step))
        st = tokenizer_read_step(b, what, kinds, n_kinds, step, err);
    return st;
}

// Recursive through read_sequence(); the JSON reader bounds the depth.
rn_status tokenizer_read_step(struct tokenizer_build *b, const char *what, const struct step_kind *kinds,
                              size_t n_kinds, const struct json_node *step, rn_error *err) {
    if (step->kind != JSON_OBJECT)
        return fail(err, RN_E_FORMAT, "%s: is %s, must be an object", what, json_kind_name(step));
    const struct json_node *const type = json_member(step, "type");
    if (!type || type->kind != JSON_STRING) return fail(err, RN_E_FORMAT, "%s: has no type", what);
    for (size_t i = 0; i < n_kinds; i++) {
        if (!json_is(type, kinds[i].type)) continue;
        rn_status st = step_check_members(step, &kinds[i], err);
        if (st == RN_OK && !kinds[i].read) return read_sequence(b, what, kinds, n_kinds, step, kinds[i].members, err);
        if (st == RN_OK && (st = kinds[i].read(b, step, err)) != RN_OK) fail_in(err, st, "%s", kinds[i].type);
        return st == RN_OK ? RN_OK : fail_in(err, st, "%s", what);
    }
    return fail(err, RN_E_UNSUPPORTED, "%s: \"%.*s\" is not supported", what, shown_bytes(type->n_text), type->text);
}

rn_status step_bool(const struct json_node *step, const char *name, bool *value, rn_error *err) {
    const struct json_node *const m = json_member(step, name);
    const rn_status st = m ? json_bool(m, value, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

rn_status step_int(const struct json_node *step, const char *name, int64_t min, int64_t max, int64_t *value,
                   rn_error *err) {
    const struct json_node *const m = json_member(step, name);
    const rn_status st = m ? json_int(m, min, max, value, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

static rn_status copy_text(struct tokenizer_build *b, const struct json_node *m, struct vocab_str *value,
                           rn_error *err) {
    *value = tokenizer_build_copy(b, m->text, m->n_text);
    return value->s ? RN_OK : fail(err, RN_E_NOMEM, "out of memory for %u bytes", m->n_text);
}

rn_status step_text(struct tokenizer_build *b, const struct json_node *step, const char *name,
                    struct vocab_str *value, rn_error *err) {
    const struct json_node *const m = json_member(step, name);
    if (!m || m->kind != JSON_STRING) return fail(err, RN_E_FORMAT, "member %s: must be a string", name);
    return copy_text(b, m, value, err);
}

rn_status step_pattern(struct tokenizer_build *b, const struct json_node *step, struct vocab_str *pattern,
                       bool *is_regex, rn_error *err) {
    const struct json_node *const p = json_member(step, "pattern");
    const struct json_node *const string = json_member(p, "String"), *regex = json_member(p, "Regex");
    const struct json_node *const text = regex ? regex : string;
    if (!text || text->kind != JSON_STRING || p->n_items != 1)
        return fail(err, RN_E_FORMAT, "member pattern: neither a String nor a Regex");
    *is_regex = regex != NULL;
    if (text->n_text == 0) return fail(err, RN_E_FORMAT, "member pattern: is empty");
    return copy_text(b, text, pattern, err);
}

rn_status step_choice(const struct json_node *step, const char *name, const char *const *names, int n, int *value,
                      rn_error *err) {
    const struct json_node *const m = json_member(step, name);
    if (!m) return RN_OK;
    for (int i = 0; i < n; i++)
        if (json_is(m, names[i])) return *value = i, RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not known", name,
                m->kind == JSON_STRING ? shown_bytes(m->n_text) : 0, m->kind == JSON_STRING ? m->text : "");
}
