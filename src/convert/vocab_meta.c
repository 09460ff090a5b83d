// convert/vocab_meta.c - see vocab_meta.h. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "convert/vocab_meta.h"
#include "convert/metadata_layers.h"
#include "formats/gguf/gguf_vocab.h"
#include "formats/limits.h"
#include "tokenizer/fillers.h"
#include <string.h>

#define MARK "\xe2\x96\x81"

enum { MAX_END = 64, FILLER_SCORE = -10000 }; // the score: llama.cpp's converter's

static bool is_str(struct vocab_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

// The tokenizer's name in GGUF. A tokenizer without one is refused rather than stored as a similar
// one.
static rn_status gguf_kind(const struct vocab *v, const char **kind, rn_error *err) {
    static const char gemma[] = "gemma4";
    *kind = v->model == VOCAB_SPM               ? "llama"
            : v->model == VOCAB_BPE && v->pre.n ? "gpt2"
            : v->model == VOCAB_WORDPIECE       ? "bert"
            : v->model == VOCAB_UNIGRAM         ? "t5"
            : v->model == VOCAB_LONGEST         ? "rwkv"
            : is_str(v->model_name, gemma)      ? gemma
                                                : NULL;
    if (*kind) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "tokenizer: GGUF has no name for this %s: %s",
                v->model == VOCAB_BPE ? "way to split text" : "kind",
                v->model == VOCAB_CHAR_BPE ? "add tokenizer.model to the folder, it has the scores"
                                           : "the folder itself runs");
}

// WordPiece as llama.cpp has it: pieces that begin a word are marked, and those that go on with one are not. text: room for a token and 3
// bytes more.
static struct vocab_str piece_text(const struct vocab *v, int32_t i, char *text) {
    const struct vocab_token *const t = &v->tokens[i];
    const struct vocab_str more = v->subword_sign;
    if (v->model != VOCAB_WORDPIECE || t->kind != TOKEN_NORMAL || more.n == 0) return t->text;
    if (t->text.n > more.n && memcmp(t->text.s, more.s, more.n) == 0)
        return (struct vocab_str){t->text.s + more.n, t->text.n - more.n};
    memcpy(text, MARK, sizeof MARK - 1);
    memcpy(text + sizeof MARK - 1, t->text.s, t->text.n);
    return (struct vocab_str){text, t->text.n + (uint32_t)sizeof MARK - 1};
}

static rn_status check_words(const struct vocab *v, rn_error *err) {
    if (v->model != VOCAB_WORDPIECE) return RN_OK;
    if (v->max_word_chars != GGUF_WORD_CHARS)
        return fail(err, RN_E_UNSUPPORTED, "tokenizer: words of up to %d characters, where GGUF files mean %d",
                    v->max_word_chars, GGUF_WORD_CHARS);
    for (int32_t i = 0; i < v->n_tokens; i++) {
        char room[VOCAB_MAX_TOKEN_BYTES + 4];
        const struct vocab_str before = v->tokens[i].text, s = piece_text(v, i, room);
        if (s.n < before.n && s.n >= sizeof MARK - 1 && memcmp(s.s, MARK, sizeof MARK - 1) == 0)
            return fail(err, RN_E_UNSUPPORTED,
                        "tokenizer: token %d begins with the mark that GGUF files put before words", i);
    }
    return RN_OK;
}

// Fillers follow the tokens: llama.cpp takes the number of the embedding's rows from the list.
static void put_tokens(gguf_writer *w, const struct vocab *v, int32_t n_vocab) {
    const uint64_t n = (uint64_t)n_vocab;
    gguf_put_array(w, "tokenizer.ggml.tokens", GGUF_STRING, n);
    for (int32_t i = 0; i < v->n_tokens; i++) {
        char room[VOCAB_MAX_TOKEN_BYTES + 4];
        gguf_put_item_string(w, piece_text(v, i, room));
    }
    for (int32_t i = v->n_tokens; i < n_vocab; i++) {
        const struct filler f = filler_of(i);
        gguf_put_item_string(w, (struct vocab_str){f.text, (uint32_t)strlen(f.text)});
    }
    if (v->model != VOCAB_BPE && v->model != VOCAB_WORDPIECE && v->model != VOCAB_LONGEST) {
        gguf_put_array(w, "tokenizer.ggml.scores", GGUF_F32, n);
        for (int32_t i = 0; i < n_vocab; i++)
            gguf_put_item_f32(w, i < v->n_tokens ? v->tokens[i].score : FILLER_SCORE);
    }
    gguf_put_array(w, "tokenizer.ggml.token_type", GGUF_I32, n);
    for (int32_t i = 0; i < n_vocab; i++)
        gguf_put_item_i32(w, (int32_t)(i < v->n_tokens ? v->tokens[i].kind : TOKEN_UNUSED));
    if (v->n_merges == 0) return;
    gguf_put_array(w, "tokenizer.ggml.merges", GGUF_STRING, (uint64_t)v->n_merges);
    for (int32_t i = 0; i < v->n_merges; i++) gguf_put_item_string(w, v->merges[i]);
}

// ---- tokens that begin and end a text -----------------------------------------------------------

static bool ends_text(const struct vocab *v, int32_t id) {
    int32_t ids[MAX_END];
    const int n = vocab_end_tokens(v, ids, MAX_END);
    for (int i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

// A folder may list any number of end tokens, but GGUF has keys for three. End tokens that readers
// do not recognize by their spelling take the free keys.
static struct vocab with_ends_in_keys(const struct vocab *v, int32_t n_vocab, const log_sink *log) {
    struct vocab o = *v;
    o.end = NULL, o.n_end = 0;
    for (int32_t i = 0; i < v->n_end; i++) {
        int32_t *const keys[] = {&o.eos, &o.eot, &o.eom};
        size_t k = 0;
        if (ends_text(&o, v->end[i])) continue;
        while (k < 3 && *keys[k] >= 0) k++;
        if (k < 3 && v->end[i] < n_vocab)
            *keys[k] = v->end[i];
        else
            log_to(log, LOG_WARN, "tokenizer: GGUF has no further key for end token %d", v->end[i]);
    }
    return o;
}

static void put_special_ids(gguf_writer *w, const struct vocab *v) {
    const struct {
        const char *key;
        int32_t id;
    } ids[] = {
        {"tokenizer.ggml.bos_token_id", v->bos},     {"tokenizer.ggml.eos_token_id", v->eos},
        {"tokenizer.ggml.eot_token_id", v->eot},     {"tokenizer.ggml.eom_token_id", v->eom},
        {"tokenizer.ggml.unknown_token_id", v->unk}, {"tokenizer.ggml.padding_token_id", v->pad},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id >= 0) gguf_put_u32(w, ids[i].key, (uint32_t)ids[i].id);
    if (v->model == VOCAB_WORDPIECE && v->eos >= 0)
        gguf_put_u32(w, "tokenizer.ggml.seperator_token_id", (uint32_t)v->eos); // llama.cpp's spelling
}

// ---- steps before and behind the model ------------------------------------------------------------

static bool is_same_str(struct vocab_str a, struct vocab_str b) { return a.n == b.n && memcmp(a.s, b.s, a.n) == 0; }

// Are the tokenizer's steps those that a reader of a file of the kind "bert" takes for granted?
static bool is_plain_bert(const struct vocab *v) {
    struct vocab plain = *v;
    gguf_describe_bert(&plain);
    bool same = plain.n_norms == v->n_norms && plain.n_splits == v->n_splits && v->add_bos && v->add_eos &&
                v->drops_space_at_start && v->n_replaces == 0;
    for (int32_t i = 0; same && i < v->n_norms; i++) same = plain.norms[i].kind == v->norms[i].kind;
    for (int32_t i = 0; same && i < v->n_splits; i++)
        same = is_same_str(plain.splits[i].pattern, v->splits[i].pattern) &&
               plain.splits[i].behavior == v->splits[i].behavior && !v->splits[i].invert;
    return same && v->pair.is_known && v->pair.has_second_kind && v->pair.n_between == 1 &&
           v->pair.between[0] == v->eos;
}

static void put_steps(gguf_writer *w, const struct vocab *v, const log_sink *log) {
    static const char key[] = "tokenizer.runnel.steps";
    if (v->steps.n == 0 || (v->model == VOCAB_WORDPIECE && is_plain_bert(v))) return;
    gguf_put_string(w, key, v->steps);
    metadata_own(log, key);
}

// What llama.cpp reads of a unigram tokenizer's steps.
static void put_unigram(gguf_writer *w, const struct vocab *v) {
    static const char key[] = "tokenizer.ggml.precompiled_charsmap";
    bool removes = false;
    if (v->model != VOCAB_UNIGRAM) return;
    for (int32_t i = 0; i < v->n_norms; i++) {
        const struct norm_step *const s = &v->norms[i];
        removes |= s->kind == NORM_STRIP || (s->kind == NORM_REPLACE && s->is_regex);
        if (s->kind == NORM_CHARSMAP) {
            const struct gguf_pair map = {.key = key,
                                          .n_key = sizeof key - 1,
                                          .type = GGUF_ARRAY,
                                          .item_type = GGUF_U8,
                                          .n = s->pattern.n,
                                          .value = (const uint8_t *)s->pattern.s};
            gguf_put_pair(w, &map);
        }
    }
    gguf_put_bool(w, "tokenizer.ggml.remove_extra_whitespaces", removes);
}

// ---- losses -------------------------------------------------------------------------------------

// Steps that readers of GGUF files apply by themselves: replacing spaces by SentencePiece's mark,
// and prepending one.
static bool is_implied(const struct norm_step *s) {
    static const char mark[] = "\xe2\x96\x81";
    if (s->kind == NORM_PREPEND) return is_str(s->content, mark);
    return s->kind == NORM_REPLACE && !s->is_regex && is_str(s->pattern, " ") && is_str(s->content, mark);
}

// Does a key of our own say the step?
static bool is_kept(const struct vocab *v, int32_t i) {
    return v->steps.n > 0 ||
           (v->model == VOCAB_BPE && i < v->n_norms_before && norm_kind_name(v->norms[i].kind) != NULL);
}

static void put_normalizer(gguf_writer *w, const struct vocab *v, const log_sink *log) {
    static const char key[] = "tokenizer.runnel.normalizer";
    uint64_t n = 0;
    if (v->model != VOCAB_BPE) return;
    for (int32_t i = 0; i < v->n_norms; i++) n += is_kept(v, i);
    if (n == 0) return;
    gguf_put_array(w, key, GGUF_STRING, n);
    for (int32_t i = 0; i < v->n_norms; i++) {
        if (!is_kept(v, i)) continue;
        const char *name = norm_kind_name(v->norms[i].kind);
        gguf_put_item_string(w, (struct vocab_str){name, (uint32_t)strlen(name)});
    }
    metadata_own(log, key);
}

// Flags that change ids: whether a token is looked for in the normalized text matters where there is a normalizer.
static bool has_flags(const struct vocab *v, int32_t id) {
    const int places = TOKEN_TAKES_SPACE_BEFORE | TOKEN_TAKES_SPACE_BEHIND | TOKEN_ONLY_WHOLE_WORD;
    return (v->tokens[id].flags & (v->n_norms_before > 0 ? places | TOKEN_IN_NORMALIZED : places)) != 0;
}

static void put_token_flags(gguf_writer *w, const struct vocab *v, const log_sink *log) {
    static const char key[] = "tokenizer.runnel.token_flags";
    uint64_t n = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) n += has_flags(v, i);
    if (n == 0) return;
    gguf_put_array(w, key, GGUF_I32, 2 * n);
    for (int32_t i = 0; i < v->n_tokens; i++) {
        if (!has_flags(v, i)) continue;
        gguf_put_item_i32(w, i);
        gguf_put_item_i32(w, v->tokens[i].flags);
    }
    metadata_own(log, key);
}

static void warn_of_losses(const struct vocab *v, const log_sink *log) {
    static const char *const names[] = {
        [NORM_NFC] = "NFC",
        [NORM_NFD] = "NFD",
        [NORM_NFKC] = "NFKC",
        [NORM_NFKD] = "NFKD",
        [NORM_LOWERCASE] = "lower case",
        [NORM_STRIP_ACCENTS] = "no accents",
        [NORM_STRIP] = "no white space at the ends",
        [NORM_PREPEND] = "text put before it",
        [NORM_REPLACE] = "replaced text",
        [NORM_CHARSMAP] = "SentencePiece's map of characters",
        [NORM_BERT_CLEAN] = "no control characters",
        [NORM_BERT_HAN] = "Chinese characters apart",
        [NORM_BERT_ACCENTS] = "no accents",
        [NORM_BERT_PUNCTUATION] = "punctuation apart",
    };
    for (int32_t i = 0; i < v->n_norms; i++)
        if (!is_implied(&v->norms[i]) && !is_kept(v, i))
            log_to(log, LOG_WARN, "tokenizer: a step of its normalizer (%s) is left out: GGUF has no key for it",
                   names[v->norms[i].kind]);
}

rn_status vocab_put(gguf_writer *w, const struct vocab *v, int32_t n_vocab, const log_sink *log, rn_error *err) {
    const char *kind = "no_vocab"; // llama.cpp does not load a file without the key
    rn_status st = v->n_tokens > 0 ? gguf_kind(v, &kind, err) : RN_OK;
    if (st == RN_OK) st = check_words(v, err);
    if (st != RN_OK) return st;
    gguf_put_string(w, "tokenizer.ggml.model", (struct vocab_str){kind, (uint32_t)strlen(kind)});
    if (v->n_tokens == 0) return RN_OK;
    const struct vocab keyed = with_ends_in_keys(v, n_vocab, log);
    warn_of_losses(v, log);
    gguf_put_string(w, "tokenizer.ggml.pre",
                    v->pre.n ? v->pre : (struct vocab_str){"default", 7}); // SPM does not split text
    put_tokens(w, v, n_vocab);
    put_special_ids(w, &keyed);
    gguf_put_bool(w, "tokenizer.ggml.add_bos_token", v->add_bos);
    gguf_put_bool(w, "tokenizer.ggml.add_eos_token", v->add_eos);
    if (v->model == VOCAB_SPM || v->model == VOCAB_CHAR_BPE)
        gguf_put_bool(w, "tokenizer.ggml.add_space_prefix", v->add_space_prefix);
    if (v->model == VOCAB_UNIGRAM) gguf_put_bool(w, "tokenizer.ggml.add_space_prefix", v->drops_space_at_start);
    if (v->pair.is_known && v->model != VOCAB_WORDPIECE && v->add_eos)
        gguf_put_bool(w, "tokenizer.ggml.add_sep_token", v->pair.n_between == 2);
    put_unigram(w, v);
    put_steps(w, v, log);
    put_normalizer(w, v, log);
    put_token_flags(w, v, log);
    return RN_OK;
}
