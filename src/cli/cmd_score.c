// cli/cmd_score.c - `runnel score`: the probability of each token of a text, and the text's perplexity.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/npy.h"
#include "app/numbers.h"
#include "app/pictures.h"
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
    const char *ids_option, *text, *text_option, *text_file, *logits_path, *reference, *html_path;
    bool is_json, parse_special;
    const int32_t *ids;
    size_t n_ids;
    pictures seen;
    int32_t picture_token, video_token; // -1: there are none
    double *nll;                        // [n_ids - 1]
    int32_t *argmax;                    // [n_ids]
    out_file logits, html;
    score_page page;
    kl_rows kl;
    rn_request request; // of a text with pictures
    bytes all_text;     // that its parts point into
} score;

static const option score_rows[] = {
    {'p', "prompt", "TEXT", OPTION_TEXT, offsetof(score, text_option),
     .help = "the text, like TEXT (for one that begins with a dash)"},
    {0, "ids", "LIST", OPTION_TEXT, offsetof(score, ids_option), .help = "these token ids: 1,2,3"},
    {'f', "text-file", "FILE", OPTION_TEXT, offsetof(score, text_file),
     .help = "the file's text, with the model's begin and end tokens; - is stdin"},
    {0, "parse-special", NULL, OPTION_FLAG, offsetof(score, parse_special),
     .help = "control tokens spelled in the text become those tokens"},
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
                                 "its 99th percentile; top1 is the share of positions with the same argmax.\n"
                                 "Rows of pictures (--image) are no tokens that could be probable: nll is null\n"
                                 "there, and ppl leaves them out.";

static bool is_seen(const score *s, int32_t id) {
    return (id == s->picture_token || id == s->video_token) && id >= 0;
}

// Callback for each row of logits; runs on the engine's thread.
static bool take_row(void *user, size_t i, const float *logits, int32_t n_vocab) {
    score *const s = user;
    s->argmax[i] = row_argmax(logits, n_vocab);
    if (i + 1 < s->n_ids) s->nll[i] = is_seen(s, s->ids[i + 1]) ? NAN : row_nll(logits, n_vocab, s->ids[i + 1]);
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
    size_t n_scored = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(s->nll[i])) sum += s->nll[i], n_scored++;
    const double mean = n_scored ? sum / (double)n_scored : NAN;
    const kl_result kl = s->reference ? kl_rows_result(&s->kl) : (kl_result){0};
    if (!s->is_json) {
        bytes_add_format(text, "tokens      %zu\n", s->n_ids);
        if (n_scored)
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
                         : s->seen.n  ? rn_score_prompt(s->on.engine, &s->request, take_row, s, &err)
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
        if (s->seen.n) {
            s->all_text = text;
            return EXIT_CODE_OK;
        }
        const rn_status st =
            rn_tokenize(s->on.model, text.data, text.n, true, s->parse_special, made, &s->n_ids, &err);
        code = st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
        s->ids = *made;
    }
    bytes_free(&text);
    return code;
}

// The same with pictures in it, once the engine is open: which tokens they take is the model's to say.
static int place_pictures(score *s, int32_t **made) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (rn_model_get_info(s->on.model, &info, &err) != RN_OK) return machine_failed(&err);
    s->picture_token = info.picture_token, s->video_token = info.video_token;
    const rn_part text = {
        .kind = RN_PART_TEXT, .text = s->all_text.data, .n_text = s->all_text.n, .parse_special = s->parse_special};
    const int code =
        s->ids_option ? pictures_in_ids(&s->seen, s->on.model, s->ids, s->n_ids) : pictures_in_text(&s->seen, &text);
    if (code != EXIT_CODE_OK) return code;
    rn_request_init(&s->request);
    s->request.parts = s->seen.parts, s->request.n_parts = s->seen.n_parts;
    s->request.add_special = !s->ids_option;
    if (rn_request_tokens(s->on.engine, &s->request, made, &s->n_ids, &err) != RN_OK) return machine_failed(&err);
    s->ids = *made;
    return EXIT_CODE_OK;
}

static bool check_options(score *s, const options *parsed) {
    if (s->text_option && s->text) {
        say("score: the text is given more than once; TEXT and --prompt exclude each other");
        return false;
    }
    if (s->text_option) s->text = s->text_option;
    if (s->ids_option && options_refuse(parsed, "parse-special", "with --ids, which are not parsed")) return false;
    if (s->seen.n && (options_refuse(parsed, "kl", s->seen.are_videos[0] ? "with --video" : "with --image") ||
                      options_refuse(parsed, "html", s->seen.are_videos[0] ? "with --video" : "with --image")))
        return false;
    const char *const of_stdin = pictures_read_stdin(&s->seen);
    if (of_stdin && !s->text && !s->ids_option) {
        say("--%s -: stdin is what the text is read from", of_stdin);
        return false;
    }
    return pictures_check(&s->seen, parsed);
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
    s->picture_token = s->video_token = -1;
    s->on.sees = s->seen.n > 0;
    if ((code = pictures_open(&s->seen)) != EXIT_CODE_OK) return code;
    interrupt_catch();
    if ((code = machine_open_model(&s->on)) == EXIT_CODE_OK &&
        (code = pictures_open_videos(&s->seen, s->on.model)) == EXIT_CODE_OK &&
        (code = find_ids(s, &list, &made)) == EXIT_CODE_OK &&
        (!s->reference || (code = machine_open_reference(&s->on, s->reference)) == EXIT_CODE_OK) &&
        (!s->logits_path || (code = machine_check_output(&s->on, s->text_file, s->logits_path)) == EXIT_CODE_OK) &&
        (!s->html_path || (code = machine_check_output(&s->on, s->text_file, s->html_path)) == EXIT_CODE_OK) &&
        (code = machine_open_engine(&s->on)) == EXIT_CODE_OK &&
        (s->seen.n == 0 || (code = place_pictures(s, &made)) == EXIT_CODE_OK))
        code = score_ids(s);
    pictures_free(&s->seen);
    bytes_free(&s->all_text);
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
        PICTURES_GROUP(&s.seen),
        MACHINE_MODEL_GROUP(&s.on),
        MACHINE_SIZE_GROUP(&s.on),
        MACHINE_ENGINE_GROUP(&s.on),
        MACHINE_MMPROJ_GROUP(&s.on),
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
        code = check_options(&s, &parsed) ? run_score(&s) : EXIT_CODE_USAGE;
    }
    options_free(&parsed);
    machine_close(&s.on);
    return code;
}
