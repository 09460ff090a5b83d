// cli/compare/compare_html.c - a comparison as a page: texts coloured by probability, where they part, plots and measures.
#include "app/say.h"
#include "app/wrap.h"
#include "cli/compare/compare_print.h"
#include "cli/report/report_html.h"
#include "cli/report/report_plot.h"
#include "cli/report/report_tokens.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- where texts part -----------------------------------------------------------------------------------------------

static size_t common_of(const comparison *c, size_t i, size_t k) {
    return text_common(compare_lane_text(&c->lanes[i]), compare_lane_text(&c->lanes[k]));
}

static bool are_equal(const comparison *c, size_t i, size_t k) {
    const size_t n = common_of(c, i, k);
    return n == c->lanes[i].text.n && n == c->lanes[k].text.n;
}

static size_t n_characters(const compare_lane *l, size_t n_bytes) {
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) n += ((unsigned char)l->text.data[i] & 0xC0) != 0x80;
    return n;
}

// The token in whose text a byte lies; the number of tokens: behind the last.
static size_t token_at(const compare_lane *l, size_t byte) {
    size_t i = 0;
    while (i < l->n_tokens && l->tokens[i].at + l->tokens[i].n_text <= byte) i++;
    return i;
}

// A sign with a lane's number, where this lane and that one part.
struct parting {
    report_sign sign;
    char label[24], title[64];
};

static int by_token(const void *a, const void *b) {
    const size_t x = ((const struct parting *)a)->sign.token, y = ((const struct parting *)b)->sign.token;
    return (x > y) - (x < y);
}

// The first lane has the signs of all others, the others have its.
static size_t find_partings(const comparison *c, size_t i, struct parting *to) {
    size_t n = 0;
    for (size_t k = 0; k < c->n; k++) {
        if (k == i || (i > 0 && k > 0) || are_equal(c, i, k)) continue;
        struct parting *const p = &to[n++];
        p->sign.token = token_at(&c->lanes[i], common_of(c, i, k));
        snprintf(p->label, sizeof p->label, "%zu", k + 1);
        snprintf(p->title, sizeof p->title, "text %zu goes on otherwise from here", k + 1);
    }
    qsort(to, n, sizeof *to, by_token);
    return n;
}

static void add_text(bytes *to, const comparison *c, size_t i) {
    const compare_lane *const l = &c->lanes[i];
    struct parting *const partings = app_alloc(c->n * sizeof *partings);
    report_sign *const signs = app_alloc(c->n * sizeof *signs);
    report_token *const tokens = app_alloc((l->n_tokens + 1) * sizeof *tokens);
    const size_t n_signs = find_partings(c, i, partings);
    for (size_t k = 0; k < n_signs; k++)
        signs[k] = (report_sign){partings[k].sign.token, partings[k].label, partings[k].title};
    for (size_t k = 0; k < l->n_tokens; k++) {
        const lane_token *const t = &l->tokens[k];
        tokens[k] = (report_token){.text = l->text.data ? l->text.data + t->at : "",
                                   .n_text = t->n_text,
                                   .id = t->id,
                                   .logprob = (double)t->logprob,
                                   .entropy = (double)t->entropy,
                                   .top = l->tops ? l->tops + t->first_top : NULL,
                                   .n_top = t->n_top};
    }
    report_add_tokens(to, l->on, tokens, l->n_tokens, signs, n_signs);
    free(tokens);
    free(signs);
    free(partings);
}

static void add_common_table(bytes *to, const comparison *c) {
    if (c->n < 2) return;
    bytes_add_text(to,
                   "<h2>Where the texts part</h2>\n<p class=\"soft\">Characters that two texts begin with. In the "
                   "texts, the signs have the number of the text that goes on otherwise.</p>\n"
                   "<div class=\"wide\"><table><thead><tr><th></th>");
    for (size_t k = 0; k < c->n; k++) bytes_add_format(to, "<th scope=\"col\">%zu</th>", k + 1);
    bytes_add_text(to, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < c->n; i++) {
        bytes_add_format(to, "<tr><th scope=\"row\">%zu ", i + 1);
        report_string(to, c->lanes[i].name);
        bytes_add_text(to, "</th>");
        for (size_t k = 0; k < c->n; k++) {
            if (k == i)
                bytes_add_text(to, "<td></td>");
            else if (are_equal(c, i, k))
                bytes_add_text(to, "<td>all</td>");
            else
                bytes_add_format(to, "<td>%zu</td>", n_characters(&c->lanes[i], common_of(c, i, k)));
        }
        bytes_add_text(to, "</tr>\n");
    }
    bytes_add_text(to, "</tbody></table></div>\n");
}

// ---- plots ----------------------------------------------------------------------------------------------------------

// Of all lanes, so that their plots compare.
struct extent {
    double tokens, nats;
};

static double surprisal(const lane_token *t) { return t->logprob < 0 ? -(double)t->logprob : 0 * (double)t->logprob; }

static struct extent extent_of(const comparison *c) {
    struct extent e = {1, 1};
    for (const compare_lane *l = c->lanes; l < c->lanes + c->n; l++) {
        if ((double)l->n_tokens > e.tokens) e.tokens = (double)l->n_tokens;
        for (size_t i = 0; i < l->n_tokens; i++) {
            if (surprisal(&l->tokens[i]) > e.nats) e.nats = surprisal(&l->tokens[i]);
            if ((double)l->tokens[i].entropy > e.nats) e.nats = (double)l->tokens[i].entropy;
        }
    }
    return e;
}

static void add_plot(bytes *to, const compare_lane *l, const struct extent *e) {
    double *const y = app_alloc((2 * l->n_tokens + 1) * sizeof *y);
    for (size_t i = 0; i < l->n_tokens; i++)
        y[i] = surprisal(&l->tokens[i]), y[l->n_tokens + i] = (double)l->tokens[i].entropy;
    const report_series series[] = {
        {.name = "-log p", .shape = REPORT_FAINT, .y = y, .n = l->n_tokens, .colour = 1},
        {.name = "entropy", .shape = REPORT_LINE, .y = y + l->n_tokens, .n = l->n_tokens, .colour = 2},
    };
    const report_plot plot = {
        .title = "nats by token", .x_most = e->tokens, .y_most = e->nats, .series = series, .n = 2};
    report_add_plot(to, &plot);
    free(y);
}

// ---- the page -------------------------------------------------------------------------------------------------------

// The other answers of a search, which are not the lane's text.
static void add_sequences(bytes *to, const compare_lane *l) {
    if (l->n_sequences < 2) return;
    bytes_add_format(to, "<details><summary>%zu answers, the best first", l->n_sequences);
    if (!isnan(l->self_bleu)) bytes_add_format(to, "; self-BLEU %.2f", l->self_bleu);
    bytes_add_text(to, "</summary><ol class=\"answers\">");
    for (const lane_sequence *q = l->sequences; q < l->sequences + l->n_sequences; q++) {
        bytes_add_format(to, "<li><span class=\"soft\">score %.4f, log-probability %.3f</span><div class=\"tokens\">",
                         q->score, q->logprob);
        report_text(to, q->text.data ? q->text.data : "", q->text.n);
        bytes_add_text(to, "</div></li>");
    }
    bytes_add_text(to, "</ol></details>");
}

static void add_lane(bytes *to, const comparison *c, size_t i, const struct extent *e) {
    const compare_lane *const l = &c->lanes[i];
    bytes_add_format(to, "<section class=\"lane\"><h3><b>%zu</b>", i + 1);
    report_string(to, l->name);
    bytes_add_text(to, "</h3><p class=\"soft\">");
    report_string(to, l->words);
    if (c->names_models) {
        bytes_add_text(to, *l->words ? "; " : "");
        report_string(to, l->model_name);
    }
    bytes_add_text(to, "</p>");
    add_text(to, c, i);
    add_plot(to, l, e);
    add_sequences(to, l);
    bytes_add_text(to, "</section>\n");
}

static void add_measures(bytes *to, const comparison *c) {
    char *const figures = app_alloc(COMPARE_FIGURES * HUMAN_BYTES);
    bytes_add_text(to, "<h2>Measures</h2>\n<div class=\"wide\"><table><thead><tr><th></th>");
    for (size_t k = 0; k < COMPARE_FIGURES; k++) bytes_add_format(to, "<th scope=\"col\">%s</th>", compare_heads[k]);
    bytes_add_text(to, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < c->n; i++) {
        bytes_add_format(to, "<tr><th scope=\"row\">%zu ", i + 1);
        report_string(to, c->lanes[i].name);
        bytes_add_text(to, "</th>");
        compare_figures(&c->lanes[i], figures);
        for (size_t k = 0; k < COMPARE_FIGURES; k++) bytes_add_format(to, "<td>%s</td>", figures + k * HUMAN_BYTES);
        bytes_add_text(to, "</tr>\n");
    }
    bytes_add_text(to,
                   "</tbody></table></div>\n<p class=\"soft\">tok/s: within the batch. logprob, entropy: means in "
                   "nats, of the model's own distribution. dist-n: different n-grams of words among all. repeat: "
                   "1 - dist-4. BLEU: with the other texts as references");
    if (!isnan(c->self_bleu)) bytes_add_format(to, "; self-BLEU %.2f", c->self_bleu);
    bytes_add_text(to, ".</p>\n");
    free(figures);
}

static void add_head(bytes *to, const comparison *c) {
    bytes_add_text(to, "<p class=\"soft\">");
    if (!c->names_models) report_string(to, c->lanes[0].model_name);
    if (compare_shares_seed(c))
        bytes_add_format(to, "%sseed %" PRIu64, c->names_models ? "" : ", ", c->lanes[0].seed);
    bytes_add_text(to, "</p>\n<p class=\"prompt\">");
    if (c->prompt)
        report_text(to, c->prompt, c->n_prompt);
    else
        for (size_t i = 0; i < c->ids->n; i++) bytes_add_format(to, "%s%d", i ? " " : "", c->ids->ids[i]);
    bytes_add_text(to, "</p>\n");
}

void compare_print_html(const comparison *c, bytes *to) {
    const struct extent e = extent_of(c);
    report_begin(to, "Texts side by side");
    add_head(to, c);
    bytes_add_text(to, "<h2>Texts</h2>\n");
    report_add_scale(to);
    bytes_add_text(to, "<div class=\"lanes\">\n");
    for (size_t i = 0; i < c->n; i++) add_lane(to, c, i, &e);
    bytes_add_text(to, "</div>\n");
    add_measures(to, c);
    add_common_table(to, c);
    report_end(to);
}
