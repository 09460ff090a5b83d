// cli/cmd_watermark.c - `runnel watermark`: does a text bear the watermark of these keys?
#include "app/files.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "app/term.h"
#include "app/watermark_form.h"
#include "cli/command.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct watermark {
    machine on;
    watermark_form form;
    const char *ids_option;
    double p_value;
    bool is_json;
} watermark;

static bool take_keys(void *target, const char *value, char *why) {
    return watermark_form_read(&((watermark *)target)->form, value, why);
}

static const option watermark_rows[] = {
    {0, "watermark", "FILE", OPTION_EACH, .each = take_keys,
     .help = "the keys, as they were given to runnel run: {\"keys\": [..], \"ngram_len\": 5, ..}"},
    {0, "ids", "LIST", OPTION_TEXT, offsetof(watermark, ids_option),
     .help = "token ids of the text, in place of the text; needs no model"},
    {0, "p-value", "P", OPTION_REAL, offsetof(watermark, p_value), 0, 1,
     .help =
         "the verdict is yes if a text without the watermark scores as high with at most this probability, 0..1 (default 0.001)"},
    {0, "json", NULL, OPTION_FLAG, offsetof(watermark, is_json), .help = "write the result as JSON"},
};

static const char *const notes = "The text is the answer alone, without its prompt. It is cut into tokens again,\n"
                                 "which gives those that were generated but for rare ones; `runnel run --json`\n"
                                 "has them for --ids. Some 100 tokens are needed, more where the model had little\n"
                                 "choice: at low temperatures, or in code.";

static void print_json(const watermark *w, const rn_watermark_score *s, size_t n_ids, bytes *to) {
    json_writer j = {to, false};
    json_put_begin(&j, '{');
    json_member_whole(&j, "tokens", (int64_t)n_ids);
    json_member_whole(&j, "scored", (int64_t)s->n_scored);
    json_member_real(&j, "mean", s->mean);
    json_member_real(&j, "weighted_mean", s->weighted_mean);
    json_member_real(&j, "z", s->z);
    json_member_real(&j, "p_value", s->p_value);
    json_member_bool(&j, "watermarked", s->p_value <= w->p_value);
    json_put_end(&j, '}');
    bytes_add_text(to, "\n");
}

static void print_result(const watermark *w, const rn_watermark_score *s, size_t n_ids, bytes *to) {
    if (w->is_json) {
        print_json(w, s, n_ids, to);
        return;
    }
    bytes_add_format(to, "tokens         %zu, of which %zu count\n", n_ids, s->n_scored);
    bytes_add_format(to, "mean           %.4f\n", s->mean);
    bytes_add_format(to, "weighted mean  %.4f, %.1f standard deviations %s a text without it\n", s->weighted_mean,
                     fabs(s->z), s->z < 0 ? "below" : "above");
    bytes_add_format(to, "p-value        %.3g\n", s->p_value);
    bytes_add_format(to, "watermark      %s\n", s->p_value <= w->p_value ? "yes" : "not found");
}

static int score_ids(const watermark *w, const int32_t *ids, size_t n_ids) {
    rn_watermark_score s = {.struct_size = sizeof s};
    rn_error err = {0};
    bytes text = {0};
    output out = {0};
    if (rn_watermark_detect(&w->form.w, ids, n_ids, &s, &err) != RN_OK) return machine_failed(&err);
    print_result(w, &s, n_ids, &text);
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    return output_exit(&out, EXIT_CODE_OK);
}

static int score_text(watermark *w, const char *text) {
    bytes input = {0};
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    int code = EXIT_CODE_FAILED;
    if (text) bytes_add_text(&input, text);
    const bool is_read = text || file_read("-", TEXT_LIMIT, &input);
    if (!text && input.n && input.data[input.n - 1] == '\n') input.n--; // what `run` ends a text with
    if (is_read && (code = machine_open_model(&w->on)) == EXIT_CODE_OK)
        code = rn_tokenize_more(w->on.model, input.data, input.n, false, &ids, &n_ids, &err) == RN_OK
                   ? score_ids(w, ids, n_ids)
                   : machine_failed(&err);
    bytes_free(&input);
    rn_free(ids);
    return code;
}

static int run_watermark(watermark *w, const char *text) {
    id_list list = {0};
    char why[NUMBER_WHY];
    if (!w->form.is_given) {
        say("watermark: needs --watermark FILE, the keys");
        return EXIT_CODE_USAGE;
    }
    if (text && w->ids_option) {
        say("watermark: takes either a text or --ids");
        return EXIT_CODE_USAGE;
    }
    if (!text && !w->ids_option && term_is(STDIN_FILENO)) {
        say("text: none given: runnel watermark --watermark FILE TEXT, or pipe text into stdin");
        return EXIT_CODE_USAGE;
    }
    if (!w->ids_option) return score_text(w, text);
    int code = EXIT_CODE_USAGE;
    if (id_list_read(w->ids_option, strlen(w->ids_option), &list, why))
        code = score_ids(w, list.ids, list.n);
    else
        say("--ids: %s", why);
    free(list.ids);
    return code;
}

int cmd_watermark(int n_args, char **args) {
    watermark w = {.p_value = 0.001};
    options parsed;
    machine_init(&w.on);
    const option_group groups[] = {
        {"Watermark", watermark_rows, sizeof watermark_rows / sizeof *watermark_rows, &w},
        MACHINE_MODEL_GROUP(&w.on),
    };
    const option_spec spec = {
        .command = "watermark",
        .usage = "--watermark FILE [-m MODEL] [TEXT] [options] < text",
        .about =
            "Find out whether TEXT, or stdin without a line break at its end, bears the watermark that `runnel run --watermark` gives a text.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_watermark(&w, parsed.positional[0]);
    options_free(&parsed);
    machine_close(&w.on);
    return code;
}
