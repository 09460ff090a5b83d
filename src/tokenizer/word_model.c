// tokenizer/word_model.c - splits a segment into words for models that need it, and encodes them.
#include "tokenizer/word_model.h"
#include "base/mem.h"
#include "tokenizer/bpe.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/char_bpe.h"
#include "tokenizer/longest.h"
#include "tokenizer/loose_utf8.h"
#include "tokenizer/spm.h"
#include "tokenizer/unigram.h"
#include "tokenizer/wordpiece.h"

struct word_model {
    const struct vocab *v;
    struct pieces stored; // for models that work on tokens as stored
    struct token_table tokens;
    pre_tokenizer *pre; // for both kinds of BPE; NULL: a segment is one word
    struct spm spm;     // one of these six is used, as v->model says
    struct bpe bpe;
    struct char_bpe char_bpe;
    struct unigram unigram;
    struct wordpiece wordpiece;
    struct longest longest;
};

static rn_status init_on_pieces(word_model *m, const struct pieces *pieces, rn_error *err) {
    const struct vocab *const v = m->v;
    if (v->model == VOCAB_LONGEST) return longest_init(&m->longest, v, pieces, err);
    const rn_status st = token_table_init(&m->tokens, v, pieces, err);
    if (st != RN_OK) return st;
    return v->model == VOCAB_SPM ? spm_init(&m->spm, v, pieces, &m->tokens, err)
                                 : bpe_init(&m->bpe, v, &m->tokens, err);
}

static rn_status init_as_stored(word_model *m, rn_error *err) {
    const struct vocab *const v = m->v;
    rn_status st = v->n_splits > 0 ? pre_tokenizer_create(v, &m->pre, err) : RN_OK;
    if (st == RN_OK && v->model == VOCAB_UNIGRAM) return unigram_init(&m->unigram, v, err);
    if (st == RN_OK && v->model == VOCAB_WORDPIECE) return wordpiece_init(&m->wordpiece, v, err);
    if (st != RN_OK) return st;
    st = pieces_init_as_stored(&m->stored, v, err);
    if (st == RN_OK) st = token_table_init(&m->tokens, v, &m->stored, err);
    return st == RN_OK ? char_bpe_init(&m->char_bpe, v, &m->tokens, err) : st;
}

rn_status word_model_create(const struct vocab *v, const struct pieces *pieces, word_model **out, rn_error *err) {
    *out = NULL;
    word_model *m = mem_calloc(1, sizeof *m);
    if (!m) return fail(err, RN_E_NOMEM, "tokenizer: out of memory");
    m->v = v;
    const bool on_pieces = v->model == VOCAB_SPM || v->model == VOCAB_BPE || v->model == VOCAB_LONGEST;
    const rn_status st = on_pieces ? init_on_pieces(m, pieces, err) : init_as_stored(m, err);
    if (st != RN_OK)
        word_model_destroy(m);
    else
        *out = m;
    return st;
}

void word_model_destroy(word_model *m) {
    if (!m) return;
    bpe_free(&m->bpe);
    char_bpe_free(&m->char_bpe);
    unigram_free(&m->unigram);
    wordpiece_free(&m->wordpiece);
    longest_free(&m->longest);
    pre_tokenizer_destroy(m->pre);
    token_table_free(&m->tokens);
    pieces_free(&m->stored);
    mem_free(m);
}

static bool has_all(const int32_t byte_id[256]) {
    for (int i = 0; i < 256; i++)
        if (byte_id[i] < 0) return false;
    return true;
}

// Does every byte of what the model gets count in some token?
static bool covers_all(const word_model *m) {
    const struct vocab *const v = m->v;
    int32_t byte_id[256];
    for (int32_t i = 0; i < v->n_splits; i++)
        if (v->splits[i].behavior == SPLIT_REMOVED) return false;
    if (v->model == VOCAB_BPE || v->model == VOCAB_LONGEST)
        return true; // but for those that word_model_drops() tells
    byte_tokens_find(v, byte_id);
    return v->has_byte_tokens && has_all(byte_id);
}

// Does no step make the text shorter?
static bool only_grows(const struct vocab *v) {
    for (int32_t i = 0; i < v->n_norms; i++) {
        const struct norm_step *const s = &v->norms[i];
        const bool replaces = s->kind == NORM_REPLACE && !s->is_regex && s->content.n >= s->pattern.n;
        if (!replaces && s->kind != NORM_PREPEND) return false;
    }
    return true;
}

// In SPM's pieces a space stands for U+2581 too.
static size_t bytes_of(const struct vocab *v, const char *piece, uint32_t n) {
    size_t n_all = n;
    for (uint32_t i = 0; i < n && v->model == VOCAB_SPM; i++) n_all += piece[i] == ' ' ? 2 : 0;
    return n_all;
}

bool word_model_drops(const word_model *m, uint8_t byte) {
    if (m->v->model == VOCAB_LONGEST) return !longest_has(&m->longest, byte);
    return m->v->model == VOCAB_BPE && m->bpe.byte_id[byte] < 0;
}

size_t word_model_token_bytes(const word_model *m, const struct pieces *pieces) {
    enum { TAKES_SPACE = TOKEN_TAKES_SPACE_BEFORE | TOKEN_TAKES_SPACE_BEHIND };
    const struct vocab *const v = m->v;
    size_t most = 1;
    if (!covers_all(m) || !only_grows(v)) return 0;
    for (int32_t id = 0; id < v->n_tokens; id++) {
        uint32_t n = 0;
        const char *const piece = piece_of(pieces, id, &n);
        const size_t n_piece = bytes_of(v, piece, n),
                     n_stored = v->model == VOCAB_BPE || v->model == VOCAB_LONGEST ? 0 : v->tokens[id].text.n;
        if (v->tokens[id].flags & TAKES_SPACE) return 0;
        if (n_piece > most) most = n_piece;
        if (n_stored > most) most = n_stored;
    }
    return most;
}

struct job {
    const word_model *m;
    const char *text;
    struct word_work *work;
};

static rn_status encode_word(void *user, size_t pos, size_t n, rn_error *err) {
    const struct job *const j = user;
    const word_model *const m = j->m;
    const char *const word = j->text + pos;
    struct word_work *const w = j->work;
    if (w->ids.n > w->max_ids) return id_list_over(&w->ids, err);
    if (m->v->model == VOCAB_UNIGRAM) return unigram_encode(&m->unigram, word, n, &w->ids, err);
    if (m->v->model == VOCAB_WORDPIECE) return wordpiece_encode(&m->wordpiece, word, n, &w->ids, err);
    const int32_t whole = m->v->takes_whole_words ? token_table_find(&m->tokens, word, n) : -1;
    if (whole < 0) return char_bpe_encode(&m->char_bpe, word, n, &w->merger, &w->ids, &w->n_dropped, err);
    return id_list_add(&w->ids, whole) ? RN_OK
                                       : fail(err, RN_E_NOMEM, "text: out of memory for %zu tokens", w->ids.n);
}

// Patterns see another character in place of a surrogate; the model gets its three bytes.
static rn_status encode_as_stored(const word_model *m, const char *text, size_t n, struct word_work *work,
                                  rn_error *err) {
    struct loose_text t;
    if (!loose_text_init(&t, text, n)) return fail(err, RN_E_NOMEM, "text: out of memory for %zu bytes", n);
    struct job j = {m, t.bytes, work};
    const rn_status st =
        m->pre ? pre_tokenizer_split(m->pre, t.subject, t.n, encode_word, &j, err) : encode_word(&j, 0, t.n, err);
    loose_text_free(&t);
    return st;
}

rn_status word_model_encode(const word_model *m, const char *text, size_t n, bool space_before,
                            struct word_work *work, rn_error *err) {
    if (m->v->model == VOCAB_SPM)
        return spm_encode(&m->spm, text, n, space_before, work->max_ids, &work->merger, &work->ids, err);
    if (n == 0) return RN_OK;
    if (m->v->model == VOCAB_LONGEST)
        return longest_encode(&m->longest, text, n, work->max_ids, &work->ids, &work->n_dropped, err);
    if (m->v->model == VOCAB_BPE)
        return bpe_encode(&m->bpe, text, n, work->max_ids, &work->merger, &work->ids, &work->n_dropped, err);
    return encode_as_stored(m, text, n, work, err);
}
