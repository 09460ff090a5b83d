// fuzz/fuzz_compare.c - `runnel compare` behind what strangers give it: the first line is what -s says, and behind it come texts, each behind a NUL.
// Settings that are taken are taken again alike. Measures are within their ranges, and no text gets out of the page or of the JSON.
#include "app/json_read.h"
#include "cli/compare/compare_print.h"
#include "cli/compare/compare_settings.h"
#include "cli/report/report_html.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MOST = 8192, MOST_TEXTS = 5 };

static void must(bool holds) {
    if (!holds) abort();
}

static void must_be_share(double v) { must(isnan(v) || (v >= 0 && v <= 1 + 1e-9)); }

static void read_settings(const char *text) {
    static generation defaults;
    static generation_members members;
    static bool is_made;
    if (!is_made) generation_init(&defaults), generation_members_init(&members);
    is_made = true;
    compare_lane lanes[2] = {{0}, {0}};
    if (compare_settings_read(&lanes[0], text, &defaults, &members)) {
        must(compare_settings_read(&lanes[1], text, &defaults, &members));
        must(strcmp(lanes[0].name, lanes[1].name) == 0 && strcmp(lanes[0].settings, lanes[1].settings) == 0);
        const int32_t n_seqs = strategy_form_n_seqs(&lanes[0].g->strategy);
        must(n_seqs >= 0 && n_seqs < 1024);
    }
    for (int i = 0; i < 2; i++) compare_lane_free(&lanes[i]);
}

static void measure(const text_span *texts, size_t n) {
    text_words words[MOST_TEXTS];
    text_words_make(texts, n, words);
    for (size_t i = 0; i < n; i++) {
        must(words[i].n <= texts[i].n);
        for (size_t order = 1; order <= 4; order++) must_be_share(text_distinct(&words[i], order));
        must_be_share(text_repetition(&words[i]));
        must_be_share(text_bleu(words, n, i));
        for (size_t k = 0; k < n; k++) {
            const size_t common = text_common(texts[i], texts[k]);
            must(common == text_common(texts[k], texts[i]) && common <= texts[i].n);
            must(!common || memcmp(texts[i].text, texts[k].text, common) == 0);
        }
    }
    text_words_free(words, n);
}

static void must_be_escaped(const text_span *text) {
    bytes out = {0};
    report_text(&out, text->text, text->n);
    for (size_t i = 0; i < out.n; i++) {
        const unsigned char c = (unsigned char)out.data[i];
        must(!strchr("<>\"'", c) || c == '\0');
        must(c >= 0x20 || c == '\n' || c == '\t');
        must(c != 0x7F && (c != '&' || (i + 2 < out.n && out.data[i + 1] == '#')));
    }
    bytes_free(&out);
}

static void print(const text_span *texts, size_t n) {
    compare_lane lanes[MOST_TEXTS] = {{0}};
    lane_sequence sequences[MOST_TEXTS] = {{.score = 0}};
    bytes out = {0};
    json_doc *doc = NULL;
    char why[JSON_WHY];
    for (size_t i = 0; i < n; i++) {
        sequences[i].finish = RN_FINISH_STOP;
        bytes_add(&sequences[i].text, texts[i].text, texts[i].n);
        lanes[i] = (compare_lane){.name = (char *)texts[i].text, // terminated
                                  .label = (char *)texts[i].text,
                                  .words = (char *)texts[n - 1 - i].text,
                                  .settings = (char *)"{}",
                                  .model_name = texts[i].text,
                                  .detail = (char *)texts[i].text,
                                  .finish = RN_FINISH_STOP,
                                  .sequences = sequences,
                                  .n_sequences = i + 1};
        bytes_add(&lanes[i].text, texts[i].text, texts[i].n);
    }
    comparison c = {.prompt = texts[0].text, .n_prompt = texts[0].n, .lanes = lanes, .n = n, .names_models = n > 1};
    c.self_bleu = compare_measure(lanes, n);
    compare_print_json(&c, &out);
    must(json_doc_parse(out.data, out.n - 1, &doc, why));
    json_doc_free(doc);
    out.n = 0;
    compare_print_html(&c, &out);
    must(!memmem(out.data, out.n, "<x", 2) && !memmem(out.data, out.n, "</x", 3)); // no tag of the page is called so
    out.n = 0;
    for (int width = 1; width < 300; width = 3 * width + 1) compare_print_table(&c, width, &out);
    bytes_free(&out);
    for (size_t i = 0; i < n; i++) {
        bytes_free(&lanes[i].text);
        bytes_free(&sequences[i].text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static char text[MOST + 1];
    text_span texts[MOST_TEXTS];
    size_t n_texts = 0;
    if (n > MOST) return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    char *const end = memchr(text, '\n', n);
    if (end) *end = '\0';
    read_settings(text);
    for (char *at = end; at && at < text + n && n_texts < MOST_TEXTS;
         at = memchr(at, '\0', (size_t)(text + n - at))) {
        at++;
        texts[n_texts++] = (text_span){at, strlen(at)};
    }
    if (n_texts == 0) return 0;
    measure(texts, n_texts);
    for (size_t i = 0; i < n_texts; i++) must_be_escaped(&texts[i]);
    print(texts, n_texts);
    return 0;
}
