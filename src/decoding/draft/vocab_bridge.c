// decoding/draft/vocab_bridge.c - see vocab_bridge.h.
#include "decoding/draft/vocab_bridge.h"
#include "base/mem.h"
#include "text/utf8.h"
#include <string.h>

enum {
    BEHIND_SEAM = 4,   // tokens of either vocabulary, at least
    MOST_BYTES = 512,  // behind the last seam, before one is made that is not before white space
    BEFORE_GUESSES = 8 // tokens of the main text that guesses are cut with, at most
};

void vocab_bridge_init(struct vocab_bridge *b, const struct bridge_side *main, const struct bridge_side *other) {
    *b = (struct vocab_bridge){.main = *main, .other = *other};
}

void vocab_bridge_free(struct vocab_bridge *b) {
    mem_free(b->ids);
    mem_free(b->seams);
    mem_free(b->bytes);
    *b = (struct vocab_bridge){0};
}

// ---- tokens and their bytes -----------------------------------------------------------------------------------------

static bool is_control(const struct bridge_side *s, int32_t id) {
    return id < s->vocab->n_tokens && s->vocab->tokens[id].kind == TOKEN_CONTROL;
}

static const char *piece_of(const struct bridge_side *s, int32_t id, size_t *n) {
    *n = 0;
    return id < s->vocab->n_tokens ? tokenizer_piece(s->tok, id, false, n) : "";
}

static rn_status no_memory(rn_error *err) { return fail(err, RN_E_NOMEM, "draft: out of memory"); }

static bool add_bytes(struct vocab_bridge *b, const char *bytes, size_t n) {
    if (n > UINT32_MAX / 2 - b->n_bytes) return false;
    if (b->n_bytes + n > b->cap_bytes) {
        const uint32_t cap = 2 * (b->n_bytes + (uint32_t)n) + 64;
        char *const more = mem_realloc(b->bytes, cap);
        if (!more) return false;
        b->bytes = more, b->cap_bytes = cap;
    }
    if (n) memcpy(b->bytes + b->n_bytes, bytes, n);
    b->n_bytes += (uint32_t)n;
    return true;
}

// All but the beginning of a character at the end.
static uint32_t n_whole(const char *bytes, uint32_t n) {
    for (uint32_t back = 1; back <= 3 && back <= n; back++)
        if (utf8_char_len(bytes + n - back, back) < 0) return n - back;
    return n;
}

// The tokens of all bytes that were added; *ids is the caller's.
static rn_status encode(struct vocab_bridge *b, const struct bridge_side *with, int32_t **ids, size_t *n,
                        rn_error *err) {
    *ids = NULL, *n = 0;
    b->n_cut += b->n_bytes;
    return b->n_bytes == 0 ? RN_OK
                           : tokenizer_encode_more(with->tok, b->bytes, b->n_bytes, false, SIZE_MAX, ids, n, err);
}

// The control token of the other side that has the same spelling or else the same role; *out -1: there is none.
static rn_status map_control(const struct bridge_side *from, const struct bridge_side *to, int32_t id, int32_t *out,
                             rn_error *err) {
    const struct vocab *const f = from->vocab, *const t = to->vocab;
    int32_t *ids = NULL;
    size_t n_spelling, n = 0;
    const char *const spelling = tokenizer_piece(from->tok, id, true, &n_spelling);
    const rn_status st = tokenizer_encode_more(to->tok, spelling, n_spelling, true, SIZE_MAX, &ids, &n, err);
    *out = st == RN_OK && n == 1 && is_control(to, ids[0]) ? ids[0] : -1;
    mem_free(ids);
    if (*out >= 0 || st != RN_OK) return st;
    if (id == f->bos && t->add_bos)
        *out = t->bos;
    else if (id == f->eot && t->eot >= 0)
        *out = t->eot;
    else if (id == f->eos || id == f->eot)
        *out = t->eos;
    return RN_OK;
}

// ---- the text -------------------------------------------------------------------------------------------------------

static struct bridge_seam last_seam(const struct vocab_bridge *b) {
    return b->n_seams ? b->seams[b->n_seams - 1] : (struct bridge_seam){0, 0};
}

static bool add_seam(struct vocab_bridge *b, struct bridge_seam seam) {
    const struct bridge_seam last = last_seam(b);
    if (seam.main <= last.main || seam.other < last.other) return true;
    if (!mem_grow(&b->seams, b->n_seams, &b->cap_seams, 16, sizeof *b->seams)) return false;
    b->seams[b->n_seams++] = seam;
    return true;
}

// Puts a token at `at`; those before stay equal to the old ones as long as *n_same is not below it.
static bool put(struct vocab_bridge *b, uint32_t at, int32_t id, uint32_t n_old, uint32_t *n_same) {
    if (at == b->cap && !mem_grow(&b->ids, b->cap, &b->cap, 64, sizeof *b->ids)) return false;
    if (*n_same == at && at < n_old && b->ids[at] == id) *n_same = at + 1;
    b->ids[at] = id;
    return true;
}

// A stretch without control tokens, in both vocabularies.
struct stretch {
    const int32_t *main, *other;
    int32_t at_main, n_main, at_other, n_other; // where it begins, and its tokens
};

// The last seam in it that may stay. As long as both have the same bytes; where they do not, or no token ends in both, the stretch's end is one if it is long.
static struct bridge_seam find_seam(const struct vocab_bridge *b, const struct stretch *s) {
    struct bridge_seam before_space = {0, 0}, any = {0, 0};
    size_t n_main_bytes = 0, n_other_bytes = 0, n_all = b->n_bytes, n_before_space = 0;
    int32_t i = 0, k = 0;
    for (bool same = true; same && i + BEHIND_SEAM < s->n_main;) {
        size_t n;
        const char *piece = piece_of(&b->main, s->main[i++], &n);
        n_main_bytes += n;
        while (same && n_other_bytes < n_main_bytes && k + BEHIND_SEAM < s->n_other) {
            piece = piece_of(&b->other, s->other[k++], &n);
            same = n <= n_all - n_other_bytes && memcmp(piece, b->bytes + n_other_bytes, n) == 0;
            n_other_bytes += n;
        }
        if (n_other_bytes < n_main_bytes) break;
        if (!same || n_other_bytes != n_main_bytes || n_main_bytes >= n_all) continue;
        any = (struct bridge_seam){s->at_main + i, s->at_other + k};
        if (b->bytes[n_main_bytes] == ' ' || b->bytes[n_main_bytes] == '\n')
            before_space = any, n_before_space = n_main_bytes;
    }
    if (n_all - n_before_space <= MOST_BYTES) return before_space;
    return any.main > 0 ? any : (struct bridge_seam){s->at_main + s->n_main, s->at_other + s->n_other};
}

// Cuts the bytes of the main tokens [from, to), which have been added, and puts them behind the *n ids.
static rn_status put_stretch(struct vocab_bridge *b, const int32_t *text, int32_t from, int32_t to, uint32_t *n,
                             uint32_t n_old, uint32_t *n_same, rn_error *err) {
    int32_t *ids;
    size_t n_ids;
    const uint32_t first = *n;
    rn_status st = encode(b, &b->other, &ids, &n_ids, err);
    for (size_t i = 0; i < n_ids && st == RN_OK; i++)
        if (!put(b, (*n)++, ids[i], n_old, n_same)) st = no_memory(err);
    if (st == RN_OK) {
        const struct stretch s = {text + from, ids, from, to - from, (int32_t)first, (int32_t)n_ids};
        if (!add_seam(b, find_seam(b, &s))) st = no_memory(err);
    }
    mem_free(ids);
    b->n_bytes = 0;
    return st;
}

rn_status vocab_bridge_follow(struct vocab_bridge *b, const int32_t *text, int32_t n, int32_t *n_same,
                              rn_error *err) {
    const struct bridge_seam seam = last_seam(b);
    const uint32_t n_old = b->n;
    uint32_t same = (uint32_t)seam.other, n_ids = same;
    int32_t from = seam.main, id;
    rn_status st = RN_OK;
    b->n_bytes = 0;
    const bool begins_itself = n > 0 && text[0] == b->main.vocab->bos && b->main.vocab->bos >= 0;
    if (from == 0 && b->other.vocab->add_bos && b->other.vocab->bos >= 0 && !begins_itself &&
        !put(b, n_ids++, b->other.vocab->bos, n_old, &same))
        st = no_memory(err);
    for (int32_t i = from; i < n && st == RN_OK; i++) {
        if (!is_control(&b->main, text[i])) {
            size_t n_piece;
            const char *const piece = piece_of(&b->main, text[i], &n_piece);
            if (!add_bytes(b, piece, n_piece)) st = no_memory(err);
            continue;
        }
        st = put_stretch(b, text, from, i, &n_ids, n_old, &same, err);
        if (st == RN_OK) st = map_control(&b->main, &b->other, text[i], &id, err);
        if (st == RN_OK && id >= 0 && !put(b, n_ids++, id, n_old, &same)) st = no_memory(err);
        from = i + 1;
        if (st == RN_OK && !add_seam(b, (struct bridge_seam){from, (int32_t)n_ids})) st = no_memory(err);
    }
    const uint32_t n_bytes = b->n_bytes;
    if (n_bytes) b->n_bytes = n_whole(b->bytes, n_bytes);
    b->n_held = n_bytes - b->n_bytes;
    if (st == RN_OK) st = put_stretch(b, text, from, n, &n_ids, n_old, &same, err);
    b->n = n_ids;
    b->n_text = n;
    *n_same = (int32_t)same;
    return st;
}

void vocab_bridge_cut(struct vocab_bridge *b, int32_t n) {
    while (b->n_seams && b->seams[b->n_seams - 1].main > n) b->n_seams--;
}

// ---- guesses --------------------------------------------------------------------------------------------------------

// The guesses' bytes, behind those of a character that the text ends within and guesses begin with: else there are none. Returns in *n how many guesses
// they are of.
static rn_status add_guesses(struct vocab_bridge *b, const int32_t *guesses, int32_t n_guesses, int32_t *n,
                             rn_error *err) {
    const uint32_t end = b->n_bytes;
    for (*n = 0; *n < n_guesses && !is_control(&b->other, guesses[*n]); ++*n) {
        size_t n_piece;
        const char *const piece = piece_of(&b->other, guesses[*n], &n_piece);
        if (!add_bytes(b, piece, n_piece)) return no_memory(err);
    }
    const uint32_t n_added = b->n_bytes - end, held = b->n_held;
    if (n_added <= held || memcmp(b->bytes + end - held, b->bytes + end, held) != 0) {
        b->n_bytes = end;
        return RN_OK;
    }
    memmove(b->bytes + end, b->bytes + end + held, n_added - held);
    b->n_bytes = end + n_whole(b->bytes + end, n_added - held);
    return RN_OK;
}

// The main text's last tokens, which guesses are cut together with.
static bool add_before(struct vocab_bridge *b, const int32_t *text) {
    int32_t from = b->n_text;
    while (from > 0 && b->n_text - from < BEFORE_GUESSES && !is_control(&b->main, text[from - 1])) from--;
    for (; from < b->n_text; from++) {
        size_t n;
        const char *const piece = piece_of(&b->main, text[from], &n);
        if (!add_bytes(b, piece, n)) return false;
    }
    return true;
}

// The first of the ids that begins behind `skipped` bytes; -1: none begins there.
static int32_t first_behind(const struct vocab_bridge *b, const int32_t *ids, size_t n, size_t skipped) {
    size_t at = 0, i = 0;
    for (; i < n && at < skipped; i++) {
        size_t n_piece;
        (void)piece_of(&b->main, ids[i], &n_piece);
        at += n_piece;
    }
    return at == skipped ? (int32_t)i : -1;
}

rn_status vocab_bridge_back(struct vocab_bridge *b, const int32_t *text, const int32_t *guesses, int32_t n_guesses,
                            struct bridge_guess *out, int32_t max, int32_t *n, rn_error *err) {
    int32_t n_cut = 0, *ids = NULL, first = 0, control = -1;
    size_t n_ids = 0;
    rn_status st = RN_OK;
    *n = 0;
    b->n_bytes = 0;
    if (!add_before(b, text)) return no_memory(err);
    const size_t n_before = b->n_bytes;
    if ((st = add_guesses(b, guesses, n_guesses, &n_cut, err)) != RN_OK) return st;
    const size_t n_new = b->n_bytes - n_before;
    if (n_new > 0) st = encode(b, &b->main, &ids, &n_ids, err);
    if (st == RN_OK && (first = first_behind(b, ids, n_ids, n_before)) < 0) { // a token goes across the text's end
        mem_free(ids);
        memmove(b->bytes, b->bytes + n_before, n_new);
        b->n_bytes = (uint32_t)n_new;
        first = 0;
        st = encode(b, &b->main, &ids, &n_ids, err);
    }
    const char *const bytes = n_new ? b->bytes + b->n_bytes - n_new : "";
    size_t at = 0, at_guess = 0; // the guesses begin n_held bytes before
    int32_t guess = 0;
    for (size_t i = (size_t)first; i < n_ids && *n < max && st == RN_OK; i++) {
        size_t n_piece;
        const char *const piece = piece_of(&b->main, ids[i], &n_piece);
        if (n_piece == 0 || n_piece > n_new - at || memcmp(piece, bytes + at, n_piece) != 0) break;
        struct bridge_guess *const g = &out[(*n)++];
        *g = (struct bridge_guess){ids[i], guess, guess};
        for (at += n_piece; guess < n_cut && at_guess < at + b->n_held; g->end = ++guess) {
            (void)piece_of(&b->other, guesses[guess], &n_piece);
            at_guess += n_piece;
        }
    }
    mem_free(ids);
    if (st == RN_OK && at == n_new && b->n_held == 0 && n_cut < n_guesses && *n < max)
        st = map_control(&b->other, &b->main, guesses[n_cut], &control, err);
    if (control >= 0) out[(*n)++] = (struct bridge_guess){control, n_cut, n_cut + 1};
    return st;
}
