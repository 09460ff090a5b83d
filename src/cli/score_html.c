// cli/score_html.c - see score_html.h.
#include "cli/score_html.h"
#include "app/say.h"
#include "app/stream_json.h"
#include "cli/report/report_html.h"
#include "cli/report/report_plot.h"
#include "cli/report/report_tokens.h"
#include "cli/score_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// WINDOW: tokens of the mean that is drawn over their loss. WORST: most surprising tokens that are listed. AROUND: tokens before them.
enum { WINDOW = 32, WORST = 12, AROUND = 8 };

void score_page_reserve(score_page *p, size_t n_ids) {
    *p = (score_page){.n_ids = n_ids};
    p->entropy = app_alloc(n_ids * sizeof *p->entropy);
    p->top = app_alloc(n_ids * SCORE_TOP * sizeof *p->top);
}

void score_page_free(score_page *p) {
    free(p->entropy);
    free(p->top);
}

void score_page_take(score_page *p, size_t i, const float *logits, int32_t n_vocab) {
    rn_top *const top = p->top + i * SCORE_TOP;
    int32_t n = 0;
    for (int32_t id = 0; id < n_vocab; id++) {
        if (n == SCORE_TOP && !(logits[id] > top[n - 1].logprob)) continue;
        int32_t at = n < SCORE_TOP ? n++ : n - 1;
        for (; at > 0 && logits[id] > top[at - 1].logprob; at--) top[at] = top[at - 1];
        top[at] = (rn_top){id, logits[id]};
    }
    p->n_top = n;
    const double log_sum = row_log_sum(logits, n_vocab);
    p->entropy[i] = row_entropy(logits, n_vocab, log_sum);
    for (int32_t k = 0; k < n; k++) top[k].logprob = (float)((double)top[k].logprob - log_sum);
}

// ---- the text -------------------------------------------------------------------------------------------------------

// Bytes at the end that begin a character whose rest is missing, at most 3.
static size_t open_end(const char *text, size_t n) {
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const unsigned char c = (unsigned char)text[n - back];
        const size_t whole = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        if (c >= 0xC0) return whole > back ? back : 0;
        if (c < 0x80) return 0;
    }
    return 0;
}

// The tokens with their texts in `text`: of a character that lies across tokens the last one has it.
static void make_tokens(const score_page *p, const rn_model *model, const int32_t *ids, const double *nll,
                        report_token *tokens, bytes *text) {
    size_t *const ends = app_alloc(p->n_ids * sizeof *ends);
    for (size_t i = 0; i < p->n_ids; i++) {
        size_t n;
        char *const piece = token_text(model, ids[i], &n);
        if (n) bytes_add(text, piece, n);
        rn_free(piece);
        ends[i] = text->n - (i + 1 < p->n_ids && text->n ? open_end(text->data, text->n) : 0);
        if (i > 0 && ends[i] < ends[i - 1]) ends[i] = ends[i - 1];
    }
    for (size_t i = 0; i < p->n_ids; i++) {
        const size_t from = i ? ends[i - 1] : 0;
        tokens[i] = (report_token){.text = text->data ? text->data + from : "",
                                   .n_text = ends[i] - from,
                                   .id = ids[i],
                                   .logprob = i ? -nll[i - 1] : NAN,
                                   .entropy = i ? p->entropy[i - 1] : NAN,
                                   .top = i ? p->top + (i - 1) * SCORE_TOP : NULL,
                                   .n_top = i ? p->n_top : 0};
    }
    free(ends);
}

// ---- figures --------------------------------------------------------------------------------------------------------

static double mean(const double *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i];
    return n ? sum / (double)n : NAN;
}

static void add_plot(const double *nll, size_t n, bytes *to) {
    double *const means = app_alloc((n + 1) * sizeof *means), whole = mean(nll, n);
    for (size_t i = 0; i < n; i++) {
        const size_t n_window = i + 1 < WINDOW ? i + 1 : WINDOW;
        means[i] = mean(nll + i + 1 - n_window, n_window);
    }
    const report_series series[] = {
        {.name = "-log p", .shape = REPORT_FAINT, .y = nll, .n = n, .colour = 1},
        {.name = "mean of 32 tokens", .shape = REPORT_LINE, .y = means, .n = n, .colour = 2},
        {.name = "mean of all", .shape = REPORT_LIMIT, .y = &whole, .n = 1, .colour = 3},
    };
    const report_plot plot = {.title = "Loss by token, nats", .is_tall = true, .series = series, .n = 3};
    report_add_plot(to, &plot);
    free(means);
}

static int by_loss(const void *a, const void *b, void *nll) {
    const size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const double x = ((const double *)nll)[i], y = ((const double *)nll)[k];
    return x != y ? (x < y) - (x > y) : (i > k) - (i < k);
}

static void add_worst(const score_page *p, const rn_model *model, const report_token *tokens, const double *nll,
                      bytes *to) {
    const size_t n = p->n_ids - 1;
    size_t *const order = app_alloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = i;
    qsort_r(order, n, sizeof *order, by_loss, (void *)nll);
    bytes_add_text(to,
                   "<h2>The most surprising tokens</h2>\n<div class=\"wide\"><table><thead><tr>"
                   "<th scope=\"col\">text before it</th><th scope=\"col\">token</th><th scope=\"col\">place</th>"
                   "<th scope=\"col\">loss</th><th scope=\"col\">most probable</th><th scope=\"col\">its loss</th>"
                   "</tr></thead><tbody>\n");
    for (size_t i = 0; i < n && i < WORST; i++) {
        const size_t at = order[i] + 1;
        const rn_top *const best = tokens[at].top;
        size_t n_text;
        char *const text = token_text(model, best->id, &n_text);
        bytes_add_text(to, "<tr><td>");
        for (size_t k = at < AROUND ? 0 : at - AROUND; k < at; k++) report_text(to, tokens[k].text, tokens[k].n_text);
        bytes_add_text(to, "</td><td class=\"piece\">");
        report_add_piece(to, tokens[at].text, tokens[at].n_text);
        bytes_add_format(to, "</td><td>%zu</td><td>%.2f</td><td class=\"piece\">", at, nll[order[i]]);
        report_add_piece(to, text ? text : "", n_text);
        bytes_add_format(to, "</td><td>%.2f</td></tr>\n", -(double)best->logprob);
        rn_free(text);
    }
    bytes_add_text(to, "</tbody></table></div>\n");
    free(order);
}

void score_page_print(const score_page *p, const rn_model *model, const char *title, const int32_t *ids,
                      const double *nll, bytes *to) {
    const size_t n = p->n_ids - 1;
    bytes text = {0};
    report_token *const tokens = app_alloc(p->n_ids * sizeof *tokens);
    make_tokens(p, model, ids, nll, tokens, &text);
    report_begin(to, "How probable a text is");
    bytes_add_text(to, "<p class=\"soft\">");
    report_string(to, title);
    bytes_add_format(to, ": %zu tokens", p->n_ids);
    if (n)
        bytes_add_format(to, ", %.4f nats a token, perplexity %.4f; mean entropy of the model %.4f nats",
                         mean(nll, n), exp(mean(nll, n)), mean(p->entropy, n));
    bytes_add_text(to, "</p>\n");
    if (n) add_plot(nll, n, to);
    bytes_add_text(to, "<h2>Text</h2>\n");
    report_add_scale(to);
    report_add_tokens(to, model, tokens, p->n_ids, NULL, 0);
    if (n) add_worst(p, model, tokens, nll, to);
    report_end(to);
    free(tokens);
    bytes_free(&text);
}
