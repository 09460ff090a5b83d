// cli/compare/compare_lane.c - collects a lane's chunks, and measures lanes that have ended.
#include "cli/compare/compare_lane.h"
#include "app/say.h"
#include "app/stream_json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void grow(void **items, size_t *room, size_t n, size_t item_bytes) {
    if (n <= *room) return;
    *room = n < 2 * *room ? 2 * *room : n + 64;
    *items = app_realloc(*items, *room * item_bytes);
}

static void add_token(compare_lane *l, const rn_chunk *c, size_t i, size_t at, size_t n_text) {
    const rn_token *const t = c->token_data ? &c->token_data[i] : NULL;
    const int32_t n_top = t ? t->n_top : 0;
    grow((void **)&l->tokens, &l->room_tokens, l->n_tokens + 1, sizeof *l->tokens);
    grow((void **)&l->tops, &l->room_tops, l->n_tops + (size_t)n_top, sizeof *l->tops);
    l->tokens[l->n_tokens++] = (lane_token){.id = c->tokens[i],
                                            .rank = t ? t->rank : 0,
                                            .logprob = t ? t->logprob : NAN,
                                            .entropy = t ? t->entropy : NAN,
                                            .at = at,
                                            .n_text = n_text,
                                            .first_top = l->n_tops,
                                            .n_top = n_top};
    if (n_top) memcpy(l->tops + l->n_tops, t->top, (size_t)n_top * sizeof *l->tops);
    l->n_tops += (size_t)n_top;
}

// Cuts the text of a chunk with several tokens by the tokens' own texts; n [n_tokens] is filled. False: they are not this text, since
// characters lie across tokens or text is held back.
static bool cut_text(const compare_lane *l, const rn_chunk *c, size_t *n) {
    size_t at = 0;
    for (size_t i = 0; i < c->n_tokens; i++) {
        char *const piece = token_text(l->on, c->tokens[i], &n[i]);
        const bool fits = n[i] <= c->n_text - at && memcmp(piece ? piece : "", c->text + at, n[i]) == 0;
        rn_free(piece);
        if (!fits) return false;
        at += n[i];
    }
    return at == c->n_text;
}

static void add_tokens(compare_lane *l, const rn_chunk *c) {
    size_t *const n = app_alloc((c->n_tokens + 1) * sizeof *n);
    size_t at = l->text.n;
    const bool is_cut = c->n_tokens > 1 && c->n_text > 0 && cut_text(l, c, n);
    for (size_t i = 0; i < c->n_tokens; i++) {
        if (!is_cut) n[i] = i == 0 ? c->n_text : 0;
        add_token(l, c, i, at, n[i]);
        at += n[i];
    }
    // Text that was held back comes with the last chunk, which may have no token of its own.
    if (c->n_tokens == 0 && l->n_tokens > 0) l->tokens[l->n_tokens - 1].n_text += c->n_text;
    free(n);
}

// The chunk begins in the middle of what the lane has: what is behind that place goes.
static void go_back(compare_lane *l, const rn_chunk *c) {
    const size_t n_text = (size_t)c->replace_text_from;
    l->n_revisions++;
    l->text.n = n_text;
    if (l->n_tokens > (size_t)c->replace_from) {
        l->n_tokens = (size_t)c->replace_from;
        l->n_tops = l->tokens[l->n_tokens].first_top;
    }
    // Text that is held back belongs to the token that comes.
    for (size_t i = l->n_tokens; i > 0; i--) {
        lane_token *const t = &l->tokens[i - 1];
        if (t->at + t->n_text <= n_text) break;
        t->at = t->at < n_text ? t->at : n_text;
        t->n_text = n_text - t->at;
    }
}

static void keep_sequences(compare_lane *l, const rn_chunk *last) {
    l->sequences = app_alloc((last->n_sequences + 1) * sizeof *l->sequences);
    for (; l->n_sequences < last->n_sequences; l->n_sequences++) {
        const rn_sequence *const from = &last->sequences[l->n_sequences];
        lane_sequence *const to = &l->sequences[l->n_sequences];
        *to = (lane_sequence){.score = from->score, .logprob = from->logprob, .finish = from->finish_reason};
        bytes_add(&to->text, from->text, from->n_text);
        to->tokens = (id_list){app_alloc((from->n_tokens + 1) * sizeof *to->tokens.ids), from->n_tokens};
        if (from->n_tokens) memcpy(to->tokens.ids, from->tokens, from->n_tokens * sizeof *to->tokens.ids);
    }
}

static void end(compare_lane *l, const rn_chunk *last) {
    keep_sequences(l, last);
    l->is_done = true;
    l->finish = last->finish_reason;
    l->detail = app_copy_text(last->finish_detail);
    l->seed = last->seed;
    l->usage = *last->usage;
    l->read_ms = last->timing->queue_ms + last->timing->prefill_ms;
    l->first_ms = last->timing->first_token_ms;
    l->decode_ms = last->timing->decode_ms;
}

bool compare_lane_read(compare_lane *l) {
    rn_chunk chunk;
    rn_error err = {0};
    rn_chunk_init(&chunk);
    while (!l->is_done) {
        const rn_status st = rn_stream_next(l->stream, 0, &chunk, &err);
        if (st == RN_E_AGAIN) return true;
        if (st != RN_OK) {
            say("%s: %s", l->label, err.text);
            return false;
        }
        if (chunk.replace_from >= 0) go_back(l, &chunk);
        add_tokens(l, &chunk);
        bytes_add(&l->text, chunk.text, chunk.n_text);
        if (chunk.finish_reason != RN_FINISH_NONE) end(l, &chunk);
    }
    return true;
}

double compare_lane_rate(const compare_lane *l) {
    const double n = (double)l->usage.completion_tokens - 1, ms = l->first_ms - l->read_ms + l->decode_ms;
    return n > 0 && ms > 0 ? n * 1000 / ms : NAN;
}

text_span compare_lane_text(const compare_lane *l) { return (text_span){l->text.data, l->text.n}; }

void compare_lane_free(compare_lane *l) {
    rn_stream_close(l->stream);
    rn_grammar_close(l->grammar);
    json_doc_free(l->doc);
    bytes_free(&l->text);
    free(l->g);
    free(l->name);
    free(l->label);
    free(l->words);
    free(l->settings);
    free(l->detail);
    free(l->tokens);
    free(l->tops);
    for (size_t i = 0; i < l->n_sequences; i++) {
        bytes_free(&l->sequences[i].text);
        free(l->sequences[i].tokens.ids);
    }
    free(l->sequences);
}

// ---- measures -------------------------------------------------------------------------------------------------------

static double mean_of(const compare_lane *l, double (*of)(const lane_token *)) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < l->n_tokens; i++) {
        const double v = of(&l->tokens[i]);
        if (isfinite(v)) sum += v, n++;
    }
    return n ? sum / (double)n : NAN;
}

static double logprob_of(const lane_token *t) { return (double)t->logprob; }
static double entropy_of(const lane_token *t) { return (double)t->entropy; }

// The mean BLEU of texts, each with the others as references; NaN: none has one.
static double self_bleu(const text_words *words, size_t n) {
    double sum = 0;
    size_t n_bleu = 0;
    for (size_t i = 0; i < n; i++) {
        const double bleu = text_bleu(words, n, i);
        if (!isnan(bleu)) sum += bleu, n_bleu++;
    }
    return n_bleu ? sum / (double)n_bleu : NAN;
}

static double self_bleu_of_sequences(const compare_lane *l) {
    const size_t n = l->n_sequences;
    text_span *const texts = app_alloc((n + 1) * sizeof *texts);
    text_words *const words = app_alloc((n + 1) * sizeof *words);
    for (size_t i = 0; i < n; i++) texts[i] = (text_span){l->sequences[i].text.data, l->sequences[i].text.n};
    text_words_make(texts, n, words);
    const double mean = self_bleu(words, n);
    text_words_free(words, n);
    free(words);
    free(texts);
    return mean;
}

double compare_measure(compare_lane *lanes, size_t n) {
    text_span *const texts = app_alloc(n * sizeof *texts);
    text_words *const words = app_alloc(n * sizeof *words);
    for (size_t i = 0; i < n; i++) texts[i] = compare_lane_text(&lanes[i]);
    text_words_make(texts, n, words);
    for (size_t i = 0; i < n; i++) {
        compare_lane *const l = &lanes[i];
        l->logprob = mean_of(l, logprob_of);
        l->entropy = mean_of(l, entropy_of);
        for (size_t k = 0; k < 3; k++) l->distinct[k] = text_distinct(&words[i], k + 1);
        l->repetition = text_repetition(&words[i]);
        l->bleu = text_bleu(words, n, i);
        l->self_bleu = self_bleu_of_sequences(l);
    }
    const double mean = self_bleu(words, n);
    text_words_free(words, n);
    free(words);
    free(texts);
    return mean;
}
