// cli/cmd_template.c - `runnel template`: renders a conversation with its chat template.
#include "app/chat_options.h"
#include "app/files.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "app/term.h"
#include "cli/command.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct template_job {
    machine on;
    const char *file, *builtin;
    bool has_segments;
    rn_template *tmpl;
} template_job;

static const option template_rows[] = {
    {0, "file", "FILE", OPTION_TEXT, offsetof(template_job, file), .help = "the template in a Jinja file"},
    {0, "builtin", "NAME", OPTION_TEXT, offsetof(template_job, builtin), .help = "a built-in template, by name"},
    {0, "segments", NULL, OPTION_FLAG, offsetof(template_job, has_segments),
     .help =
         "a line of JSON for each part of the text, saying whether it comes from the template or from a variable"},
};

static const char *const notes = "stdin is a JSON object of the template's variables:\n"
                                 "\n"
                                 "  {\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}],\n"
                                 "   \"add_generation_prompt\": true}\n"
                                 "\n"
                                 "and bos_token, eos_token, tools ... as the template needs them. stdout gets the\n"
                                 "rendered text and nothing else. When the template raises an error, it is printed\n"
                                 "and the exit status is 1. strftime_now() uses SOURCE_DATE_EPOCH if that is set.";

// Reads SOURCE_DATE_EPOCH, the fixed time for reproducible output, and sets the time zone to UTC. *now is -1 if
// it is not set.
static bool read_clock(int64_t *now) {
    const char *const epoch = getenv("SOURCE_DATE_EPOCH");
    char why[NUMBER_WHY];
    *now = -1;
    if (!epoch || !*epoch) return true;
    if (!number_read_whole(epoch, 0, (int64_t)1 << 40, now, why)) {
        say("SOURCE_DATE_EPOCH: %s", why);
        return false;
    }
    setenv("TZ", "UTC", 1);
    tzset();
    return true;
}

static int open_template(template_job *t) {
    rn_error err = {0};
    if (t->file) return chat_template_open(t->file, &t->tmpl);
    if (t->builtin) {
        if (rn_template_builtin(t->builtin, &t->tmpl, &err) == RN_OK) return EXIT_CODE_OK;
        return machine_failed(&err);
    }
    const int code = machine_open_model(&t->on);
    if (code != EXIT_CODE_OK) return code;
    return rn_template_of_model(t->on.model, &t->tmpl, &err) == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

static void add_segments(bytes *to, const rn_rendering *r) {
    size_t n;
    const rn_segment *const s = rn_rendering_segments(r, &n);
    for (size_t i = 0; i < n; i++) {
        json_writer w = {to, false};
        json_put_begin(&w, '{');
        json_member_string(&w, "kind", s[i].is_content ? "content" : "markup");
        json_member_text(&w, "text", s[i].text, s[i].n_text);
        json_put_end(&w, '}');
        bytes_add_text(to, "\n");
    }
}

static int render(const template_job *t, const bytes *context, int64_t now) {
    rn_rendering *r = NULL;
    rn_error err = {0};
    bytes shown = {0};
    output out = {0};
    size_t n;
    if (rn_template_render(t->tmpl, context->n ? context->data : "", context->n, now, &r, &err) != RN_OK) {
        say("%s", err.text);
        return EXIT_CODE_FAILED;
    }
    const char *const text = rn_rendering_text(r, &n);
    if (t->has_segments)
        add_segments(&shown, r);
    else
        bytes_add(&shown, text, n);
    output_write(&out, shown.data, shown.n);
    bytes_free(&shown);
    rn_rendering_free(r);
    return output_exit(&out, EXIT_CODE_OK);
}

static int run_template(template_job *t) {
    bytes context = {0};
    int64_t now;
    if ((t->on.model_name != NULL) + (t->file != NULL) + (t->builtin != NULL) > 1) {
        say("template: given more than once; -m, --file and --builtin exclude each other");
        return EXIT_CODE_USAGE;
    }
    if (term_is(STDIN_FILENO)) {
        say("context: none given: pipe a JSON object into stdin (runnel template --help shows one)");
        return EXIT_CODE_USAGE;
    }
    if (!read_clock(&now)) return EXIT_CODE_USAGE;
    int code = open_template(t);
    if (code == EXIT_CODE_OK)
        code = file_read("-", TEXT_LIMIT, &context) ? render(t, &context, now) : EXIT_CODE_FAILED;
    bytes_free(&context);
    return code;
}

int cmd_template(int n_args, char **args) {
    template_job t = {0};
    options parsed;
    machine_init(&t.on);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&t.on),
        {"Template", template_rows, sizeof template_rows / sizeof *template_rows, &t},
    };
    const option_spec spec = {
        .command = "template",
        .usage = "[-m MODEL | --file FILE | --builtin NAME] < context.json",
        .about = "Render a chat template: print the prompt made from a conversation.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_template(&t);
    options_free(&parsed);
    rn_template_close(t.tmpl);
    machine_close(&t.on);
    return code;
}
