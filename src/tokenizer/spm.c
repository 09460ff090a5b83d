// tokenizer/spm.c - SentencePiece's BPE, by the shared merge loop (windows.h).
#include "tokenizer/spm.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/windows.h"
#include <math.h>
#include <string.h>

// Turns a score into a rank, lower for higher scores: the bits of a float order like an integer
// once the sign is handled.
static uint32_t rank_of_score(float score) {
    const float no_negative_zero = score + 0.0f;
    uint32_t bits = 0;
    memcpy(&bits, &no_negative_zero, sizeof bits);
    const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

static bool has_inner_space(const char *piece, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (piece[i] == ' ' && piece[i - 1] != ' ') return true;
    return false;
}

rn_status spm_init(struct spm *s, const struct vocab *v, const struct pieces *p, const struct token_table *tokens,
                   rn_error *err) {
    *s = (struct spm){.v = v, .tokens = tokens, .words_are_apart = true};
    byte_tokens_find(v, s->byte_id);
    for (int32_t id = 0; id < v->n_tokens; id++) {
        const struct vocab_token *t = &v->tokens[id];
        uint32_t n = 0;
        const char *piece = piece_of(p, id, &n);
        if (t->kind != TOKEN_NORMAL) continue;
        if (isnan(t->score)) return fail(err, RN_E_FORMAT, "vocabulary: token %d: its score is not a number", id);
        if (has_inner_space(piece, n)) s->words_are_apart = false;
    }
    if (!v->has_byte_tokens)
        return v->unk >= 0 ? RN_OK
                           : fail(err, RN_E_FORMAT, "vocabulary: has neither an unknown token nor byte tokens");
    for (int byte = 0; byte < 256; byte++)
        if (s->byte_id[byte] < 0) return fail(err, RN_E_FORMAT, "vocabulary: lacks the byte token <0x%02X>", byte);
    return RN_OK;
}

static bool joins(const void *rules, const char *word, const struct merge_symbol *left,
                  const struct merge_symbol *right, uint32_t *rank, int32_t *id) {
    const struct spm *const s = rules;
    *id = token_table_find(s->tokens, word + left->pos, (size_t)left->n + right->n);
    if (*id < 0) return false;
    *rank = rank_of_score(s->v->tokens[*id].score);
    return true;
}

// The length of a character as SentencePiece counts it, also for invalid bytes: from the lead byte only.
static size_t char_len(const char *s, size_t n) {
    static const uint8_t len_of_high_nibble[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    const size_t len = len_of_high_nibble[(uint8_t)s[0] >> 4];
    return len < n ? len : n;
}

// Without byte tokens, consecutive unknown characters of a word are one unknown token.
static bool add_unknown(const struct spm *s, const char *bytes, size_t n, bool is_run, struct id_list *ids) {
    if (!s->v->has_byte_tokens) return is_run || id_list_add(ids, s->v->unk);
    for (size_t i = 0; i < n; i++)
        if (!id_list_add(ids, s->byte_id[(uint8_t)bytes[i]])) return false;
    return true;
}

struct encoding {
    const struct spm *s;
    struct id_list *ids;
    bool after_unknown;
};

static size_t add_symbols(const void *rules, struct merger *m, const char *word, size_t begin, size_t end, size_t n) {
    (void)rules;
    size_t i = begin;
    for (size_t len; i < end; i += len) {
        len = char_len(word + i, n - i);
        merger_add(m, (uint32_t)i, (uint32_t)len, -1);
    }
    return i;
}

static bool emit(void *user, const char *word, size_t pos, size_t end, size_t n, int32_t id) {
    (void)end;
    struct encoding *const e = user;
    if (id < 0) id = token_table_find(e->s->tokens, word + pos, n);
    const bool after_unknown = e->after_unknown;
    e->after_unknown = id < 0;
    return id >= 0 ? id_list_add(e->ids, id) : add_unknown(e->s, word + pos, n, after_unknown, e->ids);
}

// false: out of memory.
static bool encode_word(const struct spm *s, const char *word, size_t n, struct merger *m, struct id_list *ids) {
    const struct window_rules rules = {s, add_symbols, joins, emit};
    struct encoding e = {.s = s, .ids = ids};
    return windows_encode(m, &rules, word, n, WINDOW_BYTES, &e);
}

static size_t copy_with_spaces(const char *text, size_t n, bool space_before, char *out) {
    size_t n_out = 0;
    if (space_before) out[n_out++] = ' ';
    for (size_t i = 0; i < n;) {
        const bool is_block = n - i >= 3 && memcmp(text + i, "\xE2\x96\x81", 3) == 0;
        out[n_out++] = is_block ? ' ' : text[i];
        i += is_block ? 3 : 1;
    }
    return n_out;
}

rn_status spm_encode(const struct spm *s, const char *text, size_t n, bool space_before, size_t max_ids,
                     struct merger *m, struct id_list *ids, rn_error *err) {
    char *const plain = mem_alloc(n + 1);
    bool ok = plain != NULL;
    const size_t n_plain = ok ? copy_with_spaces(text, n, space_before, plain) : 0;
    for (size_t begin = 0, end; ok && begin < n_plain && ids->n <= max_ids; begin = end) {
        end = s->words_are_apart ? begin + 1 : n_plain;
        while (end < n_plain && !(plain[end] == ' ' && plain[end - 1] != ' ')) end++;
        ok = encode_word(s, plain + begin, end - begin, m, ids);
    }
    mem_free(plain);
    if (ids->n > max_ids) return id_list_over(ids, err);
    return ok ? RN_OK : fail(err, RN_E_NOMEM, "text: out of memory for %zu bytes", n);
}
