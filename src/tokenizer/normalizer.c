// tokenizer/normalizer.c - the normalization steps, each a function from a text to a buffer.
#include "tokenizer/normalizer.h"
#include "text/utf8.h"
#include "tokenizer/bert_text.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/pattern.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trie.h"
#include "tokenizer/unicode_forms.h"
#include "tokenizer/unicode_late.h"

struct norm_tool {
    pattern *pattern;         // NORM_REPLACE with an expression
    struct charsmap map;      // NORM_CHARSMAP
    struct trie user_defined; // NORM_CHARSMAP as in SentencePiece: tokens that the map leaves unchanged
};

struct job {
    const struct norm_step *step;
    const struct norm_tool *tool;
    struct norm_place place;
    const char *s;
    size_t n;
    struct text_buf *out;
};

static rn_status run_form(const struct job *j, rn_error *err) {
    (void)err;
    unicode_normalize((enum unicode_form)(j->step->kind - NORM_NFC), j->s, j->n, j->out);
    return RN_OK;
}

static rn_status run_lowercase(const struct job *j, rn_error *err) {
    (void)err;
    for (size_t i = 0, len; i < j->n; i += len) {
        const uint32_t cp = unicode_char_at(j->s + i, j->n - i, &len);
        uint32_t lower[2];
        char bytes[8];
        size_t n = 0;
        if (cp == UINT32_MAX) {
            text_buf_add(j->out, j->s + i, 1);
            continue;
        }
        const int n_lower = unicode_lower(cp, lower);
        for (int k = 0; k < n_lower; k++) n += (size_t)utf8_encode(lower[k], bytes + n);
        text_buf_add(j->out, bytes, n);
    }
    return RN_OK;
}

static rn_status run_strip_accents(const struct job *j, rn_error *err) {
    (void)err;
    for (size_t i = 0, len; i < j->n; i += len) {
        const uint32_t cp = unicode_char_at(j->s + i, j->n - i, &len);
        if (cp == UINT32_MAX || !unicode_is_mark(cp) || unicode_is_late(cp)) text_buf_add(j->out, j->s + i, len);
    }
    return RN_OK;
}

enum { BLOCK = 0x2581 };

static bool is_stripped(const struct norm_step *step, uint32_t cp) {
    return step->only_ends ? cp == ' ' : unicode_is_space(cp);
}

static rn_status run_strip(const struct job *j, rn_error *err) {
    (void)err;
    const struct norm_step *const step = j->step;
    const bool left = step->left && (!step->only_ends || (j->place.is_first && !j->place.goes_on));
    const bool right = step->right && (!step->only_ends || j->place.is_last);
    size_t begin = 0, end = j->n, len = 0;
    while (left && begin < end && is_stripped(step, unicode_char_at(j->s + begin, end - begin, &len))) begin += len;
    while (right && begin < end) {
        size_t last = end - 1;
        while (last > begin && end - last < 4 && ((uint8_t)j->s[last] & 0xC0) == 0x80) last--;
        const uint32_t cp = unicode_char_at(j->s + last, end - last, &len);
        // SentencePiece strips the beginning before spaces become U+2581, and the end afterwards.
        if ((!is_stripped(step, cp) && !(step->only_ends && cp == BLOCK)) || last + len != end) break;
        end = last;
    }
    text_buf_add(j->out, j->s + begin, end - begin);
    return RN_OK;
}

static bool prepends(const struct job *j) {
    const struct vocab_str c = j->step->content;
    const bool is_there = j->n >= c.n && memcmp(j->s, c.s, c.n) == 0;
    if (j->place.goes_on) return false;
    switch (j->step->when) {
    case NORM_ALWAYS: return j->n > 0;
    case NORM_UNLESS_THERE: return j->n > 0 && !is_there;
    case NORM_UNLESS_THERE_1: return j->n > 0 && !is_there && j->place.is_first;
    case NORM_AT_START: break;
    }
    return j->n > 0 && j->place.at_start;
}

static rn_status run_prepend(const struct job *j, rn_error *err) {
    (void)err;
    if (prepends(j)) text_buf_add(j->out, j->step->content.s, j->step->content.n);
    text_buf_add(j->out, j->s, j->n);
    return RN_OK;
}

static rn_status replace_pattern(const struct job *j, rn_error *err) {
    if (!utf8_valid(j->s, j->n)) return text_buf_add(j->out, j->s, j->n), RN_OK; // patterns need valid UTF-8
    pattern_match *const m = pattern_match_create();
    if (!m) return fail(err, RN_E_NOMEM, "out of memory for matching");
    size_t done = 0;
    rn_status st = RN_OK;
    for (size_t from = 0; st == RN_OK && from <= j->n && !j->out->failed;) {
        struct pattern_hit hit;
        st = pattern_find(j->tool->pattern, m, j->s, j->n, from, &hit, err);
        if (st != RN_OK || !hit.found) break;
        text_buf_add(j->out, j->s + done, hit.begin - done);
        text_buf_add(j->out, j->step->content.s, j->step->content.n);
        done = from = hit.end;
        if (hit.begin != hit.end || done == j->n) {
            from += done == j->n; // an empty match at the very end does not count
            continue;
        }
        size_t len = 0; // after an empty match, the search goes on one character later
        unicode_char_at(j->s + done, j->n - done, &len);
        text_buf_add(j->out, j->s + done, len);
        done = from = done + len;
    }
    text_buf_add(j->out, j->s + done, j->n - done);
    pattern_match_destroy(m);
    return st;
}

static rn_status run_replace(const struct job *j, rn_error *err) {
    if (j->step->is_regex) return replace_pattern(j, err);
    const struct vocab_str from = j->step->pattern, to = j->step->content;
    text_buf_replace(j->out, j->s, j->n, from.s, from.n, to.s, to.n);
    return RN_OK;
}

// The map as Hugging Face applies it (spm_precompiled): a grapheme of less than 6 bytes that begins
// with an entry is replaced as a whole by the shortest such entry; otherwise each character is
// looked up on its own.
static void map_grapheme(const struct job *j, const char *s, size_t n) {
    struct vocab_str to;
    if (n < 6 && charsmap_find(&j->tool->map, s, n, false, &to)) {
        text_buf_add(j->out, to.s, to.n);
        return;
    }
    for (size_t i = 0, len; i < n; i += len) {
        unicode_char_at(s + i, n - i, &len);
        if (charsmap_find(&j->tool->map, s + i, len, false, &to))
            text_buf_add(j->out, to.s, to.n);
        else
            text_buf_add(j->out, s + i, len);
    }
}

static size_t longest_user_defined(const struct norm_tool *tool, const char *s, size_t n) {
    size_t longest = 0;
    uint32_t node = TRIE_ROOT;
    for (size_t i = 0; i < n && (node = trie_step(&tool->user_defined, node, (uint8_t)s[i])) != TRIE_NONE; i++)
        if (trie_id(&tool->user_defined, node) >= 0) longest = i + 1;
    return longest;
}

static rn_status run_charsmap(const struct job *j, rn_error *err) {
    (void)err;
    struct vocab_str to;
    for (size_t i = 0, len; i < j->n; i += len) {
        const bool is_char = unicode_char_at(j->s + i, j->n - i, &len) != UINT32_MAX;
        if (is_char && j->step->by_graphemes) {
            len = unicode_grapheme_len(j->s + i, j->n - i);
            map_grapheme(j, j->s + i, len);
            continue;
        }
        const size_t n_kept = longest_user_defined(j->tool, j->s + i, j->n - i);
        const size_t n = is_char && !n_kept ? charsmap_find(&j->tool->map, j->s + i, j->n - i, true, &to) : 0;
        if (n_kept) len = n_kept;
        text_buf_add(j->out, n ? to.s : j->s + i, n ? to.n : len);
        if (n) len = n;
    }
    return RN_OK;
}

#define RUN_BERT(name, function)                                                                                     \
    static rn_status name(const struct job *j, rn_error *err) {                                                      \
        (void)err;                                                                                                   \
        function(j->s, j->n, j->out);                                                                                \
        return RN_OK;                                                                                                \
    }
RUN_BERT(run_bert_clean, bert_clean)
RUN_BERT(run_bert_han, bert_space_han)
RUN_BERT(run_bert_accents, bert_strip_accents)
RUN_BERT(run_bert_punctuation, bert_space_punctuation)

static rn_status (*const runs[N_NORM_KINDS])(const struct job *j, rn_error *err) = {
    [NORM_NFC] = run_form,
    [NORM_NFD] = run_form,
    [NORM_NFKC] = run_form,
    [NORM_NFKD] = run_form,
    [NORM_LOWERCASE] = run_lowercase,
    [NORM_STRIP_ACCENTS] = run_strip_accents,
    [NORM_STRIP] = run_strip,
    [NORM_PREPEND] = run_prepend,
    [NORM_REPLACE] = run_replace,
    [NORM_CHARSMAP] = run_charsmap,
    [NORM_BERT_CLEAN] = run_bert_clean,
    [NORM_BERT_HAN] = run_bert_han,
    [NORM_BERT_ACCENTS] = run_bert_accents,
    [NORM_BERT_PUNCTUATION] = run_bert_punctuation,
};

const char *norm_kind_name(enum norm_kind kind) {
    static const char *const names[] = {[NORM_NFC] = "NFC",
                                        [NORM_NFD] = "NFD",
                                        [NORM_NFKC] = "NFKC",
                                        [NORM_NFKD] = "NFKD",
                                        [NORM_LOWERCASE] = "Lowercase",
                                        [NORM_STRIP_ACCENTS] = "StripAccents"};
    return kind <= NORM_STRIP_ACCENTS ? names[kind] : NULL;
}

static rn_status gather_user_defined(struct norm_tool *tool, const struct vocab *v, rn_error *err) {
    uint32_t n = 0;
    struct spelling *const list = mem_alloc((size_t)v->n_tokens * sizeof *list);
    for (int32_t i = 0; list && i < v->n_tokens; i++)
        if (v->tokens[i].kind == TOKEN_USER_DEFINED && v->tokens[i].text.n > 0)
            list[n++] = (struct spelling){v->tokens[i].text, i};
    const bool ok = list && trie_init(&tool->user_defined, list, n);
    mem_free(list);
    return ok ? RN_OK : fail(err, RN_E_NOMEM, "out of memory for user-defined tokens");
}

static rn_status init_tool(struct norm_tool *tool, const struct norm_step *step, const struct vocab *v,
                           rn_error *err) {
    if (step->kind == NORM_CHARSMAP) {
        const rn_status st = charsmap_init(&tool->map, step->pattern, err);
        return st == RN_OK && !step->by_graphemes ? gather_user_defined(tool, v, err) : st;
    }
    if (step->kind != NORM_REPLACE) return RN_OK;
    if (step->pattern.n == 0) return fail(err, RN_E_FORMAT, "nothing to replace");
    return step->is_regex ? pattern_create(step->pattern, true, &tool->pattern, err) : RN_OK;
}

rn_status normalizer_init(struct normalizer *z, const struct vocab *v, rn_error *err) {
    *z = (struct normalizer){0};
    if (v->n_norms == 0) return RN_OK;
    *z = (struct normalizer){.steps = v->norms, .n_steps = v->n_norms};
    z->tools = mem_calloc((size_t)v->n_norms, sizeof *z->tools);
    rn_status st = z->tools ? RN_OK : fail(err, RN_E_NOMEM, "out of memory");
    for (int32_t i = 0; st == RN_OK && i < v->n_norms; i++) st = init_tool(&z->tools[i], &v->norms[i], v, err);
    if (st == RN_OK) return RN_OK;
    normalizer_free(z);
    return fail_in(err, st, "normalizer");
}

void normalizer_free(struct normalizer *z) {
    for (int32_t i = 0; i < z->n_steps && z->tools; i++) {
        pattern_destroy(z->tools[i].pattern);
        trie_free(&z->tools[i].user_defined);
    }
    mem_free(z->tools);
    *z = (struct normalizer){0};
}

static size_t longest_result(size_t n) {
    const size_t most = (TOKENIZER_MAX_TEXT - NORMALIZER_MAX_EXTRA) / NORMALIZER_MAX_GROWTH;
    return n < most ? n * NORMALIZER_MAX_GROWTH + NORMALIZER_MAX_EXTRA : TOKENIZER_MAX_TEXT;
}

// Two buffers alternate; the last result is swapped into `out`.
rn_status normalizer_run(const struct normalizer *z, int32_t from, int32_t to, const char *text, size_t n,
                         struct norm_place place, struct text_buf *out, rn_error *err) {
    struct text_buf other = {.max = longest_result(n)};
    struct job j = {.place = place, .s = n ? text : "", .n = n};
    rn_status st = RN_OK;
    out->max = other.max;
    for (int32_t i = from; st == RN_OK && i < to; i++) {
        j.step = &z->steps[i], j.tool = &z->tools[i];
        j.out = (i - from) % 2 == 0 ? out : &other;
        j.out->n = 0;
        st = runs[j.step->kind](&j, err);
        if (st == RN_OK && j.out->is_full)
            st = fail(err, RN_E_LIMIT, "a text of %zu bytes grows beyond %zu", n, longest_result(n));
        else if (st == RN_OK && j.out->failed)
            st = fail(err, RN_E_NOMEM, "out of memory for %zu bytes", j.n);
        j.s = j.out->n ? j.out->s : "", j.n = j.out->n;
    }
    if (j.out == &other) {
        const struct text_buf last = other;
        other = *out;
        *out = last;
    }
    text_buf_free(&other);
    return st == RN_OK ? RN_OK : fail_in(err, st, "text: normalizer");
}
