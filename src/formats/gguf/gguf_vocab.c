// formats/gguf/gguf_vocab.c - see gguf_vocab.h.
#include "formats/gguf/gguf_vocab.h"
#include "formats/gguf/gguf_meta.h"
#include "formats/limits.h"
#include "formats/vocab/tokenizer_json.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define KEY(name) "tokenizer.ggml." name

static bool is_str(struct vocab_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

static rn_status read_model(const struct gguf *g, struct vocab *v, rn_error *err) {
    static const struct {
        const char *name;
        enum vocab_model model;
    } models[] = {{"llama", VOCAB_SPM},      {"gpt2", VOCAB_BPE},   {"gemma4", VOCAB_CHAR_BPE},
                  {"bert", VOCAB_WORDPIECE}, {"t5", VOCAB_UNIGRAM}, {"rwkv", VOCAB_LONGEST}};
    bool found;
    rn_status st = gguf_get_string(g, KEY("model"), &v->model_name, &found, err);
    if (st != RN_OK || !found) return st;
    if (v->model_name.n == 0) return fail(err, RN_E_FORMAT, "key %s: is empty", KEY("model"));
    if (is_str(v->model_name, "none") || is_str(v->model_name, "no_vocab")) { // says that there is no vocabulary
        v->model_name = (struct vocab_str){0};
        return RN_OK;
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (is_str(v->model_name, models[i].name)) v->model = models[i].model;
    return gguf_get_string(g, KEY("pre"), &v->pre, &found, err);
}

// Reads a list parallel to the tokens: as long as theirs, or absent where that is allowed.
static rn_status parallel_array(const struct gguf *g, const char *key, enum gguf_type type, uint64_t n_tokens,
                                const struct gguf_pair **out, rn_error *err) {
    bool found;
    *out = NULL;
    const rn_status st = gguf_get_array(g, key, type, out, &found, err);
    if (st != RN_OK || !found) return st;
    if ((*out)->n != n_tokens)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " items for %" PRIu64 " tokens", key, (*out)->n, n_tokens);
    return RN_OK;
}

// Reads token i from the three lists; *at advances through the strings.
static rn_status read_token(const uint8_t **at, const struct gguf_pair *scores, const struct gguf_pair *kinds,
                            uint64_t i, struct vocab_token *t, rn_error *err) {
    t->text = gguf_next_string(at);
    if (t->text.n == 0) return fail(err, RN_E_FORMAT, "key %s: token %" PRIu64 " is empty", KEY("tokens"), i);
    if (t->text.n > VOCAB_MAX_TOKEN_BYTES)
        return fail(err, RN_E_LIMIT, "key %s: token %" PRIu64 " has %" PRIu32 " bytes, limit %d", KEY("tokens"), i,
                    t->text.n, VOCAB_MAX_TOKEN_BYTES);
    t->score = scores ? gguf_f32_item(scores, i) : 0;
    if (!isfinite(t->score))
        return fail(err, RN_E_FORMAT, "key %s: the score of token %" PRIu64 " is %g", KEY("scores"), i,
                    (double)t->score);
    const int64_t kind = kinds ? gguf_int_item(kinds, i) : TOKEN_NORMAL;
    if (kind < TOKEN_NORMAL || kind > TOKEN_BYTE)
        return fail(err, RN_E_FORMAT, "key %s: the type of token %" PRIu64 " is %" PRId64 ", outside %d..%d",
                    KEY("token_type"), i, kind, TOKEN_NORMAL, TOKEN_BYTE);
    t->kind = (enum token_kind)kind;
    return RN_OK;
}

// Tokens that take white space or only whole words, as [id, flags, id, flags, ..]: a key of our own.
static rn_status read_token_flags(const struct gguf *g, struct vocab *v, struct vocab_token *tokens, rn_error *err) {
    static const char key[] = "tokenizer.runnel.token_flags";
    const struct gguf_pair *pair;
    bool found;
    const rn_status st = gguf_get_array(g, key, GGUF_I32, &pair, &found, err);
    if (st != RN_OK || !found) return st;
    if (pair->n % 2 != 0) return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " items are no pairs", key, pair->n);
    for (uint64_t i = 0; i + 1 < pair->n; i += 2) {
        const int64_t id = gguf_int_item(pair, i), flags = gguf_int_item(pair, i + 1);
        if (id < 0 || id >= v->n_tokens || flags < 0 || flags > TOKEN_ALL_FLAGS)
            return fail(err, RN_E_FORMAT,
                        "key %s: item %" PRIu64 ": flags %" PRId64 " of token %" PRId64 " of %" PRId32, key, i, flags,
                        id, v->n_tokens);
        tokens[id].flags = (uint8_t)flags;
    }
    return RN_OK;
}

static rn_status read_tokens(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err) {
    const struct gguf_pair *tokens = NULL, *scores, *kinds;
    bool found = false,
         *optional = v->model == VOCAB_NONE ? &found : NULL; // an unknown model may store them elsewhere
    rn_status st = gguf_get_array(g, KEY("tokens"), GGUF_STRING, &tokens, optional, err);
    if (st != RN_OK || !tokens) return st;
    if (tokens->n == 0) return fail(err, RN_E_FORMAT, "key %s: is empty", KEY("tokens"));
    st = parallel_array(g, KEY("scores"), GGUF_F32, tokens->n, &scores, err);
    if (st == RN_OK) st = parallel_array(g, KEY("token_type"), GGUF_I32, tokens->n, &kinds, err);
    if (st != RN_OK) return st;
    if (v->model == VOCAB_SPM && !scores)
        return fail(err, RN_E_FORMAT, "key %s: missing; tokenizer model \"llama\" merges by it", KEY("scores"));

    struct vocab_token *list = arena_alloc(into, tokens->n * sizeof *list); // at most GGUF_MAX_ARRAY_ITEMS
    if (!list) return fail(err, RN_E_NOMEM, "key %s: out of memory for %" PRIu64 " tokens", KEY("tokens"), tokens->n);
    const uint8_t *at = tokens->value;
    for (uint64_t i = 0; i < tokens->n; i++)
        if ((st = read_token(&at, scores, kinds, i, &list[i], err)) != RN_OK) return st;
    v->tokens = list;
    v->n_tokens = (int32_t)tokens->n;
    return read_token_flags(g, v, list, err);
}

static rn_status read_merges(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err) {
    const struct gguf_pair *merges;
    const rn_status st = gguf_get_array(g, KEY("merges"), GGUF_STRING, &merges, NULL, err);
    if (st != RN_OK) return st;
    struct vocab_str *list = arena_alloc(into, merges->n * sizeof *list);
    if (!list) return fail(err, RN_E_NOMEM, "key %s: out of memory for %" PRIu64 " merges", KEY("merges"), merges->n);
    const uint8_t *at = merges->value;
    for (uint64_t i = 0; i < merges->n; i++) {
        list[i] = gguf_next_string(&at);
        if (list[i].n > VOCAB_MAX_MERGE_BYTES)
            return fail(err, RN_E_LIMIT, "key %s: merge %" PRIu64 " has %" PRIu32 " bytes, limit %d", KEY("merges"),
                        i, list[i].n, VOCAB_MAX_MERGE_BYTES);
    }
    v->merges = list;
    v->n_merges = (int32_t)merges->n;
    return RN_OK;
}

static rn_status read_infill_ids(const struct gguf *g, struct vocab *v, rn_error *err) {
    static const struct {
        const char *key;
        enum vocab_infill role;
    } ids[] = {
        {KEY("prefix_token_id"), VOCAB_INFILL_PREFIX}, // older files
        {KEY("suffix_token_id"), VOCAB_INFILL_SUFFIX},  {KEY("middle_token_id"), VOCAB_INFILL_MIDDLE},
        {KEY("fim_pre_token_id"), VOCAB_INFILL_PREFIX}, {KEY("fim_suf_token_id"), VOCAB_INFILL_SUFFIX},
        {KEY("fim_mid_token_id"), VOCAB_INFILL_MIDDLE}, {KEY("fim_rep_token_id"), VOCAB_INFILL_REPO},
        {KEY("fim_sep_token_id"), VOCAB_INFILL_FILE},   {KEY("fim_pad_token_id"), VOCAB_INFILL_PAD},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        int64_t id;
        bool found;
        const rn_status st = gguf_get_int(g, ids[i].key, 0, v->n_tokens - 1, &id, &found, err);
        if (st != RN_OK) return st;
        if (found) v->infill[ids[i].role] = (int32_t)id + 1;
    }
    return RN_OK;
}

static rn_status read_special_ids(const struct gguf *g, struct vocab *v, rn_error *err) {
    static const struct {
        const char *key;
        size_t at;
    } ids[] = {
        {KEY("bos_token_id"), offsetof(struct vocab, bos)},
        {KEY("cls_token_id"), offsetof(struct vocab, bos)},
        {KEY("eos_token_id"), offsetof(struct vocab, eos)},
        {KEY("seperator_token_id"), offsetof(struct vocab, eos)}, // as llama.cpp spells it
        {KEY("eot_token_id"), offsetof(struct vocab, eot)},
        {KEY("eom_token_id"), offsetof(struct vocab, eom)},
        {KEY("unknown_token_id"), offsetof(struct vocab, unk)},
        {KEY("padding_token_id"), offsetof(struct vocab, pad)},
    };
    if (v->n_tokens == 0) return RN_OK; // without tokens there is nothing to refer to
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        int64_t id;
        bool found;
        const rn_status st = gguf_get_int(g, ids[i].key, 0, v->n_tokens - 1, &id, &found, err);
        if (st != RN_OK) return st;
        if (found) memcpy((char *)v + ids[i].at, &(int32_t){(int32_t)id}, sizeof(int32_t));
    }
    return read_infill_ids(g, v, err);
}

// Pre-tokenizers whose published tokenizers add BOS; files that use them often lack add_bos_token.
static bool pre_adds_bos(struct vocab_str pre) {
    static const char *const names[] = {"llama-bpe", "llama3",   "llama-v3", "falcon3",      "falcon-h1",
                                        "pixtral",   "midm-2.0", "lfm2",     "jina-v5-nano", "tekken"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_str(pre, names[i])) return true;
    return false;
}

// Gemma 4's published tokenizer as normalization steps: spaces become U+2581, text is not split,
// and byte tokens cover what other tokens do not.
static void describe_gemma4(struct vocab *v) {
    static const struct norm_step to_block = {
        .kind = NORM_REPLACE, .pattern = {" ", 1}, .content = {"\xe2\x96\x81", 3}};
    static const struct vocab_replace to_space = {{"\xe2\x96\x81", 3}, {" ", 1}};
    v->n_norms = v->n_replaces = 1;
    v->norms = &to_block;
    v->replaces = &to_space;
}

#define BLOCK {"\xe2\x96\x81", 3}

// Files do not say whether BERT's tokenizer (transformers' BertTokenizer) takes texts as they are or in small letters without accents: it
// does so where no piece has a capital letter.
void gguf_describe_bert(struct vocab *v) {
    static const struct norm_step cased[] = {
        {.kind = NORM_BERT_CLEAN}, {.kind = NORM_BERT_HAN}, {.kind = NORM_BERT_PUNCTUATION}};
    static const struct norm_step uncased[] = {{.kind = NORM_BERT_CLEAN}, {.kind = NORM_BERT_HAN},
                                               {.kind = NORM_NFD},        {.kind = NORM_BERT_ACCENTS},
                                               {.kind = NORM_LOWERCASE},  {.kind = NORM_BERT_PUNCTUATION}};
    static const struct split_step words = {.pattern = {"\\s", 2}, .behavior = SPLIT_REMOVED, .is_regex = true};
    bool is_cased = false;
    for (int32_t i = 0; i < v->n_tokens && !is_cased; i++)
        for (uint32_t k = 0; k < v->tokens[i].text.n && v->tokens[i].kind == TOKEN_NORMAL; k++)
            is_cased |=
                v->tokens[i].text.s[0] != '[' && v->tokens[i].text.s[k] >= 'A' && v->tokens[i].text.s[k] <= 'Z';
    v->word_sign = (struct vocab_str)BLOCK;
    v->max_word_chars = GGUF_WORD_CHARS;
    v->norms = is_cased ? cased : uncased;
    v->n_norms = (int32_t)(is_cased ? sizeof cased / sizeof *cased : sizeof uncased / sizeof *uncased);
    v->splits = &words;
    v->n_splits = 1;
    v->drops_space_at_start = true;
    v->pair = (struct vocab_pair){v->eos >= 0, true, 1, {v->eos}};
}

// Unigram as SentencePiece has it (formats/vocab/tokenizer_model.c): its map of characters, then spaces.
static rn_status describe_unigram(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err) {
    static const struct vocab_replace to_space = {BLOCK, {" ", 1}};
    const struct gguf_pair *map = NULL;
    bool found, removes = false, adds = v->add_space_prefix;
    int32_t n = 0;
    rn_status st = gguf_get_array(g, KEY("precompiled_charsmap"), GGUF_I32, &map, &found, err);
    if (st == RN_OK && map && map->item_type != GGUF_U8 && map->item_type != GGUF_I8)
        st = fail(err, RN_E_FORMAT, "key %s: its items are no bytes", KEY("precompiled_charsmap"));
    if (st == RN_OK) st = gguf_get_bool(g, KEY("remove_extra_whitespaces"), &removes, &found, err);
    if (st == RN_OK) st = gguf_get_bool(g, KEY("add_space_prefix"), &adds, &found, err);
    struct norm_step *const norms = st == RN_OK ? arena_alloc(into, 5 * sizeof *norms) : NULL;
    if (st != RN_OK) return st;
    if (!norms) return fail(err, RN_E_NOMEM, "vocabulary: out of memory");
    if (map && map->n > 0)
        norms[n++] =
            (struct norm_step){.kind = NORM_CHARSMAP, .pattern = {(const char *)map->value, (uint32_t)map->n}};
    if (removes) {
        norms[n++] =
            (struct norm_step){.kind = NORM_REPLACE, .is_regex = true, .pattern = {" {2,}", 5}, .content = {" ", 1}};
        norms[n++] = (struct norm_step){.kind = NORM_STRIP, .left = true, .right = true, .only_ends = true};
    }
    if (adds) norms[n++] = (struct norm_step){.kind = NORM_PREPEND, .when = NORM_AT_START, .content = {" ", 1}};
    norms[n++] = (struct norm_step){.kind = NORM_REPLACE, .pattern = {" ", 1}, .content = BLOCK};
    v->norms = norms;
    v->n_norms = v->n_norms_before = n;
    v->fuse_unk = v->as_sentencepiece = true;
    v->drops_space_at_start = adds;
    v->n_replaces = 1;
    v->replaces = &to_space;
    for (int32_t i = 0; i < v->n_tokens; i++) v->has_byte_tokens |= v->tokens[i].kind == TOKEN_BYTE;
    v->pair = (struct vocab_pair){v->eos >= 0, false, 2, {v->eos, v->eos}}; // XLM-R's
    return RN_OK;
}

// The steps of the tokenizer.json that the file was made of, a key of our own (convert/vocab_meta.c).
static rn_status read_steps(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err) {
    static const char key[] = "tokenizer.runnel.steps";
    struct vocab_str json;
    bool found;
    const rn_status st = gguf_get_string(g, key, &json, &found, err);
    if (st != RN_OK || !found) return st;
    if (v->model != VOCAB_WORDPIECE && v->model != VOCAB_UNIGRAM)
        return fail(err, RN_E_UNSUPPORTED, "key %s: is for the tokenizer models bert and t5", key);
    v->as_sentencepiece = false;
    return tokenizer_steps_load("key tokenizer.runnel.steps", json, into, v, err);
}

// Between the texts of a pair: where the file says so, one more token.
static rn_status read_pair(const struct gguf *g, struct vocab *v, rn_error *err) {
    bool found, adds = v->pair.n_between == 2;
    const rn_status st = gguf_get_bool(g, KEY("add_sep_token"), &adds, &found, err);
    if (st != RN_OK) return st;
    if (v->model == VOCAB_BPE) v->pair = (struct vocab_pair){v->eos >= 0 && v->add_eos, false, 1, {v->eos, v->eos}};
    if (v->model == VOCAB_BPE || (v->model == VOCAB_UNIGRAM && found)) v->pair.n_between = adds ? 2 : 1;
    return RN_OK;
}

static rn_status read_flags(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err) {
    bool found;
    v->add_bos = v->model == VOCAB_SPM || (v->model == VOCAB_BPE && pre_adds_bos(v->pre));
    v->add_space_prefix = v->model == VOCAB_SPM;
    v->has_byte_tokens = v->model == VOCAB_SPM || v->model == VOCAB_CHAR_BPE;
    if (v->model == VOCAB_CHAR_BPE) describe_gemma4(v);
    if (v->model == VOCAB_WORDPIECE) gguf_describe_bert(v), v->add_bos = v->add_eos = true;
    rn_status st = v->model == VOCAB_UNIGRAM ? describe_unigram(g, into, v, err) : RN_OK;
    if (v->model == VOCAB_UNIGRAM) v->add_eos = true;
    if (st == RN_OK) st = read_steps(g, into, v, err);
    if (st == RN_OK) st = gguf_get_bool(g, KEY("add_bos_token"), &v->add_bos, &found, err);
    if (st == RN_OK) st = gguf_get_bool(g, KEY("add_eos_token"), &v->add_eos, &found, err);
    if (st == RN_OK && v->model != VOCAB_UNIGRAM)
        st = gguf_get_bool(g, KEY("add_space_prefix"), &v->add_space_prefix, &found, err);
    return st == RN_OK ? read_pair(g, v, err) : st;
}

// The steps of a normalizer, a key of our own (convert/vocab_meta.c).
static rn_status read_normalizer(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err) {
    static const char key[] = "tokenizer.runnel.normalizer";
    const struct gguf_pair *pair;
    bool found;
    const rn_status st = gguf_get_array(g, key, GGUF_STRING, &pair, &found, err);
    if (st != RN_OK || !found) return st;
    if (v->model != VOCAB_BPE || pair->n > VOCAB_MAX_STEPS)
        return fail(err, RN_E_UNSUPPORTED, "key %s: %" PRIu64 " steps, where a byte-level BPE may have %d", key,
                    pair->n, VOCAB_MAX_STEPS);
    struct norm_step *const steps = arena_alloc(into, (size_t)pair->n * sizeof *steps + 1);
    if (!steps) return fail(err, RN_E_NOMEM, "key %s: out of memory", key);
    const uint8_t *at = pair->value;
    for (uint64_t i = 0; i < pair->n; i++) {
        const struct vocab_str s = gguf_next_string(&at);
        enum norm_kind kind = NORM_NFC;
        while (norm_kind_name(kind) && !is_str(s, norm_kind_name(kind))) kind++;
        if (!norm_kind_name(kind))
            return fail(err, RN_E_UNSUPPORTED, "key %s: item %" PRIu64 ": \"%.*s\" is not known", key, i,
                        gguf_shown(s.s, s.n), s.s);
        steps[i] = (struct norm_step){.kind = kind};
    }
    v->norms = steps;
    v->n_norms = v->n_norms_before = (int32_t)pair->n;
    return RN_OK;
}

rn_status gguf_read_vocab(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err) {
    v->bos = v->eos = v->eot = v->eom = v->unk = v->pad = -1;
    rn_status st = read_model(g, v, err);
    if (st != RN_OK || v->model_name.n == 0) return st;
    st = read_tokens(g, into, v, err);
    if (st == RN_OK && (v->model == VOCAB_BPE || v->model == VOCAB_CHAR_BPE)) st = read_merges(g, into, v, err);
    if (st == RN_OK) st = read_special_ids(g, v, err);
    if (st == RN_OK) st = read_flags(g, into, v, err);
    return st == RN_OK ? read_normalizer(g, into, v, err) : st;
}
