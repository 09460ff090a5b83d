// tokenizer/pattern.c - see pattern.h.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pattern.h"
#include "base/mem.h"
#include "tokenizer/pattern_syntax.h"
#include <pcre2.h>

struct pattern {
    pcre2_code *code;
    pcre2_general_context *general;
    pcre2_match_context *limits;
};

static void *pcre_alloc(size_t n, void *user) {
    void *const p = mem_alloc(n);
    if (!p && user) *(bool *)user = true;
    return p;
}
static void pcre_free(void *p, void *user) {
    (void)user;
    mem_free(p);
}

static rn_status no_memory(rn_error *err) { return fail(err, RN_E_NOMEM, "pattern: out of memory"); }

static rn_status does_not_compile(struct vocab_str text, int code, size_t at, rn_error *err) {
    char why[128] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return fail(err, RN_E_FORMAT, "pattern \"%.*s\": near byte %zu: %s", text.n < 60 ? (int)text.n : 60, text.s, at,
                why);
}

// The just-in-time compiler only makes matching faster: where the system forbids it (no executable memory), PCRE2
// interprets the pattern. `no_memory` distinguishes that from a failed allocation.
enum reading { LITERAL, REGEX, REGEX_OF_BYTES };
static const uint32_t options[] = {
    [LITERAL] = PCRE2_LITERAL | PCRE2_UTF,
    [REGEX] = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
    [REGEX_OF_BYTES] = PCRE2_MULTILINE | PCRE2_NEVER_UTF,
};

static rn_status compile(pattern *p, const char *said, size_t n, struct vocab_str text, enum reading reading,
                         rn_error *err) {
    bool out_of_memory = false;
    int code = 0;
    PCRE2_SIZE at = 0;
    // The code keeps a copy of this context to free itself; `out_of_memory` is written only while it is compiled.
    pcre2_general_context *const general = pcre2_general_context_create(pcre_alloc, pcre_free, &out_of_memory);
    pcre2_compile_context *const cc = general ? pcre2_compile_context_create(general) : NULL;
    if (cc) {
        pcre2_set_newline(cc, PCRE2_NEWLINE_LF);
        pcre2_set_compile_extra_options(cc, 0);
        p->code = pcre2_compile((PCRE2_SPTR)said, n, options[reading], &code, &at, cc);
        if (p->code) pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
    }
    pcre2_compile_context_free(cc);
    pcre2_general_context_free(general);
    if (!cc || out_of_memory) return no_memory(err);
    return p->code ? RN_OK : does_not_compile(text, code, at, err);
}

static rn_status translate_and_compile(pattern *p, struct vocab_str text, rn_error *err) {
    struct text_buf said = {0};
    rn_status st = pattern_translate(text, &said, err);
    if (st != RN_OK)
        fail_in(err, st, "pattern \"%.*s\"", text.n < 60 ? (int)text.n : 60, text.s);
    else if (said.failed)
        st = no_memory(err);
    else
        st = compile(p, said.n ? said.s : "", said.n, text, REGEX, err);
    text_buf_free(&said);
    return st;
}

static rn_status create(struct vocab_str text, enum reading reading, pattern **out, rn_error *err) {
    *out = NULL;
    if (text.n > PATTERN_MAX_BYTES)
        return fail(err, RN_E_LIMIT, "pattern \"%.40s...\": %u bytes, limit %d", text.s, text.n, PATTERN_MAX_BYTES);
    pattern *p = mem_calloc(1, sizeof *p);
    if (!p) return no_memory(err);
    p->general = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    if (p->general) p->limits = pcre2_match_context_create(p->general);
    rn_status st = p->limits ? RN_OK : no_memory(err);
    if (st == RN_OK) {
        pcre2_set_match_limit(p->limits, PATTERN_MATCH_LIMIT);
        pcre2_set_depth_limit(p->limits, PATTERN_DEPTH_LIMIT);
        pcre2_set_heap_limit(p->limits, PATTERN_HEAP_LIMIT);
        st = reading == REGEX ? translate_and_compile(p, text, err) : compile(p, text.s, text.n, text, reading, err);
    }
    if (st != RN_OK)
        pattern_destroy(p);
    else
        *out = p;
    return st;
}

rn_status pattern_create(struct vocab_str text, bool is_regex, pattern **out, rn_error *err) {
    return create(text, is_regex ? REGEX : LITERAL, out, err);
}

rn_status pattern_create_of_bytes(struct vocab_str text, pattern **out, rn_error *err) {
    return create(text, REGEX_OF_BYTES, out, err);
}

void pattern_destroy(pattern *p) {
    if (!p) return;
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    pcre2_general_context_free(p->general);
    mem_free(p);
}

pattern_match *pattern_match_create(void) {
    pcre2_general_context *const general = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    pcre2_match_data *const found = general ? pcre2_match_data_create(1, general) : NULL;
    pcre2_general_context_free(general);
    return (pattern_match *)found;
}

void pattern_match_destroy(pattern_match *m) { pcre2_match_data_free((pcre2_match_data *)m); }

static rn_status match_failed(int code, rn_error *err) {
    static const struct {
        int code;
        const char *text;
    } limits[] = {
        {PCRE2_ERROR_MATCHLIMIT, "the limit of 1,000,000 match steps is reached"},
        {PCRE2_ERROR_DEPTHLIMIT, "the limit of 10,000 nested steps is reached"},
        {PCRE2_ERROR_HEAPLIMIT, "the limit of 16 MiB of backtracking is reached"},
    };
    if (code == PCRE2_ERROR_NOMEMORY) return fail(err, RN_E_NOMEM, "out of memory in a pattern");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].code == code) return fail(err, RN_E_LIMIT, "%s", limits[i].text);
    return fail(err, RN_E_INTERNAL, "PCRE2 error %d", code);
}

// Compiled code counts more steps than the interpreter. The interpreter's count decides, so that a
// text is refused on all systems or on none.
rn_status pattern_find(const pattern *p, pattern_match *m, const char *s, size_t n, size_t from,
                       struct pattern_hit *hit, rn_error *err) {
    pcre2_match_data *const found = (pcre2_match_data *)m;
    const PCRE2_SPTR subject = (PCRE2_SPTR)s;
    *hit = (struct pattern_hit){.begin = n, .end = n};
    int rc = pcre2_match(p->code, subject, n, from, PCRE2_NO_UTF_CHECK, found, p->limits);
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, subject, n, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, found, p->limits);
    if (rc == PCRE2_ERROR_NOMATCH) return RN_OK;
    if (rc < 0) return match_failed(rc, err);
    const PCRE2_SIZE *const at = pcre2_get_ovector_pointer(found);
    *hit = (struct pattern_hit){at[0], at[1], true};
    return RN_OK;
}
