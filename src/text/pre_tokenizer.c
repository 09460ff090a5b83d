// text/pre_tokenizer.c - matches the patterns of a pre-tokenizer with PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pre_tokenizer.h"
#include "base/mem.h"
#include "text/pre_patterns.h"
#include <pcre2.h>
#include <string.h>

struct pre_tokenizer {
    const struct pre_row *row;
    int n_patterns;
    pcre2_code *patterns[PRE_MAX_PATTERNS];
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

const char *const *pre_tokenizer_known(void) { return pre_names(); }

static rn_status unknown_name(struct vocab_str name, rn_error *err) {
    char known[256] = "";
    for (const char *const *known_name = pre_names(); *known_name; known_name++) {
        strncat(known, known[0] ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, *known_name, sizeof known - strlen(known) - 1);
    }
    if (name.n == 0)
        return fail(err, RN_E_UNSUPPORTED, "pre-tokenizer: tokenizer.ggml.pre is absent; known ones are %s", known);
    return fail(err, RN_E_UNSUPPORTED,
                "pre-tokenizer: \"%.*s\" is not known to runnel " RUNNEL_VERSION "; known ones are %s",
                name.n < 64 ? (int)name.n : 64, name.s, known);
}

// The just-in-time compiler is only a faster way to the same matches: where the system forbids it (no executable
// memory), PCRE2 interprets. `no_memory` tells that case from a failed allocation.
static rn_status compile(const char *pattern, pcre2_compile_context *cc, const bool *no_memory, pcre2_code **out,
                         rn_error *err) {
    int code = 0;
    PCRE2_SIZE at = 0;
    *out = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK,
                         &code, &at, cc);
    if (*out) pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE);
    if (*no_memory) return fail(err, RN_E_NOMEM, "pre-tokenizer: out of memory for a pattern");
    if (*out) return RN_OK;
    char why[128] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return fail(err, RN_E_INTERNAL, "pre-tokenizer: pattern \"%.60s\": byte %zu: %s", pattern, (size_t)at, why);
}

static rn_status compile_all(pre_tokenizer *p, rn_error *err) {
    bool no_memory = false;
    rn_status st = RN_OK;
    pcre2_compile_context *cc = NULL;
    // Patterns keep a copy of this context for their own freeing; `no_memory` is written while they are made only.
    pcre2_general_context *const general = pcre2_general_context_create(pcre_alloc, pcre_free, &no_memory);
    if (general) cc = pcre2_compile_context_create(general);
    if (!cc) st = fail(err, RN_E_NOMEM, "pre-tokenizer: out of memory");
    for (int i = 0; st == RN_OK && i < PRE_MAX_PATTERNS && p->row->patterns[i]; i++) {
        st = compile(p->row->patterns[i], cc, &no_memory, &p->patterns[i], err);
        p->n_patterns = i + 1;
    }
    pcre2_compile_context_free(cc);
    pcre2_general_context_free(general);
    return st;
}

rn_status pre_tokenizer_create(struct vocab_str name, pre_tokenizer **out, rn_error *err) {
    *out = NULL;
    const struct pre_row *const row = pre_row_find(name);
    if (!row) return unknown_name(name, err);

    pre_tokenizer *p = mem_calloc(1, sizeof *p);
    if (!p) return fail(err, RN_E_NOMEM, "pre-tokenizer: out of memory");
    p->row = row;
    p->general = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    if (p->general) p->limits = pcre2_match_context_create(p->general);
    if (!p->limits) {
        pre_tokenizer_destroy(p);
        return fail(err, RN_E_NOMEM, "pre-tokenizer: out of memory");
    }
    pcre2_set_match_limit(p->limits, PRE_MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, PRE_DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, PRE_HEAP_LIMIT);
    const rn_status st = compile_all(p, err);
    if (st != RN_OK)
        pre_tokenizer_destroy(p);
    else
        *out = p;
    return st;
}

void pre_tokenizer_destroy(pre_tokenizer *p) {
    if (!p) return;
    for (int i = 0; i < p->n_patterns; i++) pcre2_code_free(p->patterns[i]);
    pcre2_match_context_free(p->limits);
    pcre2_general_context_free(p->general);
    mem_free(p);
}

bool pre_tokenizer_takes_whole_words(const pre_tokenizer *p) { return p->row->takes_whole_words; }

struct split {
    const pre_tokenizer *p;
    const char *text;
    pcre2_match_data *found;
    word_fn fn;
    void *user;
};

static rn_status match_failed(const struct split *s, int code, size_t pos, rn_error *err) {
    if (code == PCRE2_ERROR_NOMEMORY) return fail(err, RN_E_NOMEM, "text: byte %zu: out of memory in a pattern", pos);
    static const struct {
        int code;
        const char *text;
    } limits[] = {
        {PCRE2_ERROR_MATCHLIMIT, "the limit of 1,000,000 match steps"},
        {PCRE2_ERROR_DEPTHLIMIT, "the limit of 10,000 nested steps"},
        {PCRE2_ERROR_HEAPLIMIT, "the limit of 16 MiB of backtracking"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].code == code)
            return fail(err, RN_E_LIMIT, "text: byte %zu: %s of pre-tokenizer %s is reached", pos, limits[i].text,
                        s->p->row->name);
    return fail(err, RN_E_INTERNAL, "text: byte %zu: pattern of pre-tokenizer %s failed with PCRE2 error %d", pos,
                s->p->row->name, code);
}

// The subject ends where the word of the level above ends: look-ahead must not see past it. The compiled form counts
// more of its steps than the interpreter, whose count decides: so a text is refused on all systems or on none.
static int match(const struct split *s, int level, size_t pos, size_t n, size_t at) {
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    const pcre2_code *const code = s->p->patterns[level];
    const PCRE2_SPTR subject = (PCRE2_SPTR)(s->text + pos);
    int rc = pcre2_match(code, subject, n, at, options, s->found, s->p->limits);
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(code, subject, n, at, options | PCRE2_NO_JIT, s->found, s->p->limits);
    return rc;
}

// Cuts text[pos..pos+n) by the patterns from `level` on. Recursion is as deep as a row has patterns.
static rn_status split_by(const struct split *s, int level, size_t pos, size_t n, rn_error *err) {
    if (n == 0) return RN_OK;
    if (level == s->p->n_patterns) return s->fn(s->user, pos, n, err);
    for (size_t at = 0; at < n;) {
        const int rc = match(s, level, pos, n, at);
        if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) return match_failed(s, rc, pos + at, err);
        const PCRE2_SIZE *const hit = pcre2_get_ovector_pointer(s->found);
        const size_t begin = rc < 0 ? n : hit[0], end = rc < 0 ? n : hit[1];
        rn_status st = split_by(s, level + 1, pos + at, begin - at, err);
        if (st == RN_OK) st = split_by(s, level + 1, pos + begin, end - begin, err);
        if (st != RN_OK) return st;
        at = end;
    }
    return RN_OK;
}

rn_status pre_tokenizer_split(const pre_tokenizer *p, const char *text, size_t n, word_fn fn, void *user,
                              rn_error *err) {
    struct split s = {.p = p, .text = text, .fn = fn, .user = user};
    s.found = pcre2_match_data_create(1, p->general);
    if (!s.found) return fail(err, RN_E_NOMEM, "text: out of memory for matching");
    const rn_status st = split_by(&s, 0, 0, n, err);
    pcre2_match_data_free(s.found);
    return st;
}
