// cli/report/report_tokens.c - see report_tokens.h.
#include "cli/report/report_tokens.h"
#include "app/stream_json.h"
#include "cli/report/report_html.h"
#include <math.h>
#include <string.h>

enum { STEPS = 10 };
static const char open_box[] = "\u2423", return_sign[] = "\u23ce", tab_sign[] = "\u21e5", empty_set[] = "\u2205";

// Tenths of probability.
static int step_of(double logprob) {
    const int step = (int)floor(exp(logprob) * STEPS);
    return step < STEPS ? step : STEPS - 1;
}

void report_add_piece(bytes *to, const char *text, size_t n) {
    bytes plain = {0};
    if (n == 0) bytes_add_text(&plain, empty_set);
    for (size_t i = 0; i < n; i++) {
        const bool is_edge = i == 0 || i + 1 == n;
        const char *const sign = text[i] == '\n'             ? return_sign
                                 : text[i] == '\t'           ? tab_sign
                                 : text[i] == ' ' && is_edge ? open_box
                                                             : NULL;
        if (sign)
            bytes_add_text(&plain, sign);
        else
            bytes_add(&plain, text + i, 1);
    }
    report_text(to, plain.data, plain.n);
    bytes_free(&plain);
}

static void add_percent(bytes *to, double logprob) {
    const double percent = 100 * exp(logprob);
    if (percent < 0.1)
        bytes_add_text(to, "&lt; 0.1 %");
    else
        bytes_add_format(to, "%.*f %%", percent < 9.95 ? 1 : 0, percent);
}

static void add_alternative(bytes *to, const rn_model *model, const rn_top *top, bool is_own) {
    size_t n;
    char *const text = token_text(model, top->id, &n);
    bytes_add_format(to, "<span%s><code>", is_own ? " class=\"own\"" : "");
    report_add_piece(to, text, n);
    bytes_add_text(to, "</code>");
    report_bar(to, exp((double)top->logprob));
    bytes_add_text(to, "<i>");
    add_percent(to, (double)top->logprob);
    bytes_add_text(to, "</i></span>");
    rn_free(text);
}

static void add_alternatives(bytes *to, const rn_model *model, const report_token *t) {
    if (!isfinite(t->logprob)) return;
    bytes_add_text(to, "<span class=\"alt\"><em>");
    add_percent(to, t->logprob);
    bytes_add_format(to, ", %.2f nats", t->logprob < 0 ? -t->logprob : 0);
    if (isfinite(t->entropy)) bytes_add_format(to, "; entropy %.2f", t->entropy);
    bytes_add_format(to, "; token %d</em>", t->id);
    for (int32_t k = 0; k < t->n_top; k++) add_alternative(to, model, &t->top[k], t->top[k].id == t->id);
    bytes_add_text(to, "</span>");
}

static void add_sign(bytes *to, const report_sign *sign) {
    bytes_add_text(to, "<i class=\"parts\" title=\"");
    report_string(to, sign->title);
    bytes_add_text(to, "\">");
    report_string(to, sign->label);
    bytes_add_text(to, "</i>");
}

void report_add_tokens(bytes *to, const rn_model *model, const report_token *tokens, size_t n,
                       const report_sign *signs, size_t n_signs) {
    size_t i_sign = 0;
    bytes_add_text(to, "<div class=\"tokens\" role=\"group\" aria-label=\"Tokens: the arrow keys move\">");
    for (size_t i = 0; i <= n; i++) {
        while (i_sign < n_signs && signs[i_sign].token <= i) add_sign(to, &signs[i_sign++]);
        if (i == n) break;
        const report_token *const t = &tokens[i];
        bytes_add_format(to, "<span class=\"t%s", t->n_text ? "" : " none");
        if (isfinite(t->logprob)) bytes_add_format(to, " p%d", step_of(t->logprob));
        bytes_add_format(to, "\" tabindex=\"%d\">", i == 0 ? 0 : -1);
        if (t->n_text)
            report_text(to, t->text, t->n_text);
        else
            bytes_add_text(to, empty_set);
        add_alternatives(to, model, t);
        bytes_add_text(to, "</span>");
    }
    bytes_add_text(to, "</div>\n");
}

void report_add_scale(bytes *to) {
    bytes_add_text(to, "<p class=\"scale\">Probability of each token: 0 <span>");
    for (int i = 0; i < STEPS; i++) bytes_add_format(to, "<i class=\"p%d\"></i>", i);
    bytes_add_text(to,
                   "</span> 100 %. Point at a token, or move with the arrow keys, for what else was probable.</p>\n");
}
