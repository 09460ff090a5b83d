// cli/cmd_score.c - `runnel score`: the probability of each token of a text, and the text's perplexity.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/npy.h"
#include "app/numbers.h"
#include "app/term.h"
#include "cli/command.h"
#include "cli/kl_rows.h"
#include "cli/score_html.h"
#include "cli/score_rows.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct score {
    machine on;
    const char *ids_option, *text, *text_file, *logits_path, *reference, *html_path;
    bool is_json;
    const int32_t *ids;
    size_t n_ids;
    double *nll;     // [n_ids - 1]
    int32_t *argmax; // [n_ids]
    out_file logits, html;
    score_page page;
    kl_rows kl;
} score;

static const option score_rows[] = {
    {0, "ids", "LIST", OPTION_TEXT, offsetof(score, ids_option), .help = "these token ids: 1,2,3"},
    {'f', "text-file", "FILE", OPTION_TEXT, offsetof(score, text_file),
     .help = "the file's text, with the model's begin and end tokens; - is stdin"},
    {0, "logits", "OUT.npy", OPTION_TEXT, offsetof(score, logits_path),
     .help = "write all logits, float32 [tokens][vocabulary]"},
    {0, "kl", "REFERENCE", OPTION_TEXT, offsetof(score, reference),
     .help = "compare with this reference model, such as the one that MODEL was quantized from: the KL divergence of "
             "the distributions"},
    {0, "html", "FILE", OPTION_TEXT, offsetof(score, html_path),
     .help =
         "also write a page: the text coloured by probability, with what else was probable, and its loss as a plot"},
    {0, "json", NULL, OPTION_FLAG, offsetof(score, is_json),
     .help =
         "{\"nll\": [..], \"argmax\": [..], \"ppl\": ..}, with --kl also {\"kl\": {\"mean\": .., \"p99\": .., \"top1\": ..}}"},
};

static const char *const notes = "nll[i] is -log p(token i+1 given tokens 0..i) in nats: one less than there are\n"
                                 "tokens. argmax[i] is the most probable token after tokens 0..i. ppl is\n"
                                 "exp(mean of nll); null when there is only one token. kl is the divergence\n"
                                 "KL(reference || model) of the distributions after each token, in nats: its mean,\n"
                                 "its 99th percentile; top1 is the share of positions with the same argmax.";

// Callback for each row of logits; runs on the engine's thread.
static bool take_row(void *user, size_t i, const float *logits, int32_t n_vocab) {
    score *const s = user;
    s->argmax[i] = row_argmax(logits, n_vocab);
    if (i + 1 < s->n_ids) s->nll[i] = row_nll(logits, n_vocab, s->ids[i + 1]);
    if (s->html_path) score_page_take(&s->page, i, logits, n_vocab);
    if (s->logits.to) {
        if (i == 0) npy_write_head(&s->logits, "<f4", (uint64_t[]){s->n_ids, (uint64_t)n_vocab}, 2);
        out_file_write(&s->logits, logits, sizeof *logits * (size_t)n_vocab);
    }
    progress_update(&s->on.bar, "scoring", PROGRESS_COUNT, NULL, i + 1, s->n_ids);
    // Stops at a write error such as a full disk, which out_file_commit() reports.
    return interrupt_came() || s->logits.why != 0;
}

static bool take_rows(void *user, size_t i, const float *logits, const float *reference, int32_t n_vocab) {
    score *const s = user;
    kl_rows_add(&s->kl, logits, reference, n_vocab);
    return take_row(s, i, logits, n_vocab);
}

static void print_result(score *s, bytes *text) {
    const size_t n = s->n_ids - 1;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += s->nll[i];
    const double mean = n ? sum / (double)n : NAN;
    const kl_result kl = s->reference ? kl_rows_result(&s->kl) : (kl_result){0};
    if (!s->is_json) {
        bytes_add_format(text, "tokens      %zu\n", s->n_ids);
        if (n)
            bytes_add_format(text, "nll         %.4f nats a token\nperplexity  %.4f\n", mean, exp(mean));
        else
            bytes_add_text(text, "nll         none: a single token has no context\n");
        if (s->reference)
            bytes_add_format(text, "divergence  %.6f nats a token, 99%% of them at most %.6f\nsame top    %.2f%%\n",
                             kl.mean, kl.p99, 100 * kl.top1);
        return;
    }
    json_writer w = {text, false};
    json_put_begin(&w, '{');
    json_member_begin(&w, "nll", '[');
    for (size_t i = 0; i < n; i++) json_put_real(&w, s->nll[i]);
    json_put_end(&w, ']');
    json_put_key(&w, "argmax");
    json_put_ids(&w, s->argmax, s->n_ids);
    json_member_real(&w, "ppl", exp(mean));
    if (s->reference) {
        json_member_begin(&w, "kl", '{');
        json_member_real(&w, "mean", kl.mean);
        json_member_real(&w, "p99", kl.p99);
        json_member_real(&w, "top1", kl.top1);
        json_put_end(&w, '}');
    }
    json_put_end(&w, '}');
    bytes_add_text(text, "\n");
}

static bool write_page(score *s) {
    bytes text = {0};
    score_page_print(&s->page, s->on.model,
                     s->ids_option ? "token ids"
                     : s->text     ? "the text"
                                   : s->text_file,
                     s->ids, s->nll, &text);
    out_file_write(&s->html, text.data, text.n);
    bytes_free(&text);
    return out_file_commit(&s->html);
}

static int score_ids(score *s) {
    rn_error err = {0};
    bytes text = {0};
    output out = {0};
    if (s->n_ids == 0) {
        say("%s: no tokens to score", s->ids_option ? "--ids" : s->text ? "text" : s->text_file);
        return EXIT_CODE_FAILED;
    }
    if (s->logits_path && !out_file_open(&s->logits, s->logits_path)) return EXIT_CODE_FAILED;
    if (s->html_path && !out_file_open(&s->html, s->html_path)) return EXIT_CODE_FAILED;
    if (s->html_path) score_page_reserve(&s->page, s->n_ids);
    s->nll = app_alloc(s->n_ids * sizeof *s->nll);
    s->argmax = app_alloc(s->n_ids * sizeof *s->argmax);
    if (s->reference) kl_rows_reserve(&s->kl, s->n_ids);
    const rn_status st = s->reference ? rn_compare(s->on.engine, 0, 1, s->ids, s->n_ids, take_rows, s, &err)
                                      : rn_score(s->on.engine, 0, s->ids, s->n_ids, take_row, s, &err);
    progress_hide(&s->on.bar);
    const bool disk_failed = s->logits.why != 0;
    if (st != RN_OK && !disk_failed) return machine_failed(&err);
    if (s->logits.to && !out_file_commit(&s->logits)) return EXIT_CODE_FAILED;
    if (s->html_path && !write_page(s)) return EXIT_CODE_FAILED;
    print_result(s, &text);
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    return output_exit(&out, EXIT_CODE_OK);
}

// Finds the ids to score: either *list, which the caller owns, or *made, from the tokenizer, freed with rn_free().
static int find_ids(score *s, id_list *list, int32_t **made) {
    char why[NUMBER_WHY];
    rn_error err = {0};
    bytes text = {0};
    if (s->ids_option) {
        if (!id_list_read(s->ids_option, strlen(s->ids_option), list, why)) {
            say("--ids: %s", why);
            return EXIT_CODE_USAGE;
        }
        s->ids = list->ids, s->n_ids = list->n;
        return EXIT_CODE_OK;
    }
    int code = EXIT_CODE_FAILED;
    if (s->text) bytes_add_text(&text, s->text);
    const bool is_there = s->text || file_read(s->text_file, TEXT_LIMIT, &text);
    if (is_there && !s->text && !text.n) {
        say("%s: empty: there is no text to score", strcmp(s->text_file, "-") == 0 ? "stdin" : s->text_file);
    } else if (is_there) {
        const rn_status st = rn_tokenize(s->on.model, text.data, text.n, true, false, made, &s->n_ids, &err);
        code = st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
        s->ids = *made;
    }
    bytes_free(&text);
    return code;
}

static int run_score(score *s) {
    id_list list = {0};
    int32_t *made = NULL;
    int code = EXIT_CODE_USAGE;
    if ((s->ids_option != NULL) + (s->text != NULL) + (s->text_file != NULL) > 1) {
        say("score: the text is given more than once; TEXT, --text-file and --ids exclude each other");
        return code;
    }
    if (!s->ids_option && !s->text && !s->text_file) {
        if (term_is(STDIN_FILENO)) {
            say("text: none given: runnel score TEXT, --text-file FILE, --ids LIST, or pipe text into stdin");
            return code;
        }
        s->text_file = "-";
    }
    interrupt_catch();
    if ((code = machine_open_model(&s->on)) == EXIT_CODE_OK && (code = find_ids(s, &list, &made)) == EXIT_CODE_OK &&
        (!s->reference || (code = machine_open_reference(&s->on, s->reference)) == EXIT_CODE_OK) &&
        (!s->logits_path || (code = machine_check_output(&s->on, s->text_file, s->logits_path)) == EXIT_CODE_OK) &&
        (!s->html_path || (code = machine_check_output(&s->on, s->text_file, s->html_path)) == EXIT_CODE_OK) &&
        (code = machine_open_engine(&s->on)) == EXIT_CODE_OK)
        code = score_ids(s);
    kl_rows_free(&s->kl);
    out_file_drop(&s->logits);
    out_file_drop(&s->html);
    score_page_free(&s->page);
    free(s->nll);
    free(s->argmax);
    free(list.ids);
    rn_free(made);
    return code;
}

int cmd_score(int n_args, char **args) {
    score s = {0};
    options parsed;
    machine_init(&s.on);
    const option_group groups[] = {
        {"Text", score_rows, sizeof score_rows / sizeof *score_rows, &s},
        MACHINE_MODEL_GROUP(&s.on),
        MACHINE_SIZE_GROUP(&s.on),
        MACHINE_ENGINE_GROUP(&s.on),
    };
    const option_spec spec = {
        .command = "score",
        .usage = "[-m MODEL] [TEXT | -f FILE | --ids LIST] [options] < text",
        .about = "Compute how probable a text is to the model, token by token.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) {
        s.text = parsed.positional[0];
        code = run_score(&s);
    }
    options_free(&parsed);
    machine_close(&s.on);
    return code;
}
