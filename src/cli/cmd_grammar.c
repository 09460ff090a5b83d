// cli/cmd_grammar.c - `runnel grammar`: checks texts against a grammar, with a model's vocabulary.
#include "app/files.h"
#include "app/grammar_options.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/term.h"
#include "cli/command.h"
#include "cli/grammar_cases.h"
#include "cli/grammar_check.h"
#include <string.h>
#include <unistd.h>

typedef struct check {
    machine on;
    grammar_options form;
    const char *text_file;
    bool has_cases, parse_special;
} check;

static const option check_rows[] = {
    {0, "check", "FILE", OPTION_TEXT, offsetof(check, text_file), .help = "check the text of FILE; - is stdin"},
    {0, "cases", NULL, OPTION_FLAG, offsetof(check, has_cases),
     .help = "check many cases, each a line of JSON from stdin"},
    {0, "parse-special", NULL, OPTION_FLAG, offsetof(check, parse_special),
     .help = "control tokens spelled in a text become those tokens"},
};

static const char *const notes =
    "A text is converted to tokens as a whole, and each token is compared with the\n"
    "mask of the tokens that may follow there. With --check the exit status is 0 if\n"
    "the text is allowed, else 1, and the line and column where it is not are printed\n"
    "with what may follow there.\n"
    "\n"
    "  runnel grammar --check answer.json --json-schema schema.json\n"
    "\n"
    "A line of --cases is\n"
    "\n"
    "  {\"id\": .., \"schema\", \"regex\", \"grammar\", \"structural_tag\" or \"choice\": ..,\n"
    "   \"tests\": [{\"text\": ..}]}\n"
    "\n"
    "and is answered with a line, where results are of the tests, and times are in\n"
    "microseconds: of compiling, and of each mask.\n"
    "\n"
    "  {\"id\", \"error\", \"compile_us\", \"results\": [true], \"mask_us\": [..]}\n"
    "\n"
    "So is a line that is no case, with an error; the exit status is then 1.";

// Says where the text leaves the grammar, as a place in the file and what may follow there.
static void say_refusal(const check *c, const bytes *text, const struct grammar_finding *f) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < f->n_allowed; i++) {
        const unsigned char b = (unsigned char)text->data[i];
        if (b == '\n')
            line++, column = 1;
        else
            column += (b & 0xC0) != 0x80; // characters, not bytes
    }
    bytes next = {0};
    bytes_add(&next, f->next.data, f->next.n);
    if (f->is_whole) bytes_add_text(&next, next.n ? " or the end" : "the end");
    if (f->space_may_follow && c->form.space != RN_JSON_FREE)
        bytes_add_text(&next, "; --json-space says what white space there is");
    say("%s: %zu:%zu: not %s%s%s", c->text_file, line, column, f->n_allowed < text->n ? "allowed" : "whole",
        next.n ? "; here may follow: " : "", next.n ? next.data : "");
    bytes_free(&next);
}

static int check_text(check *c) {
    bytes text = {0};
    rn_grammar *grammar = NULL;
    struct grammar_finding f = {0};
    rn_error err = {0};
    const char *const reader = grammar_options_stdin(&c->form);
    if (reader && strcmp(c->text_file, "-") == 0) {
        say("--check -: stdin is what %s reads", reader);
        return EXIT_CODE_USAGE;
    }
    c->form.says_notes = c->form.judges = true;
    int code = grammar_options_compile(&c->form, c->on.model, &grammar);
    if (code == EXIT_CODE_OK && !grammar) {
        say("--check: needs a grammar: --json-schema FILE, --json-mode, --regex R, --grammar FILE, --structural-tag FILE or --choice TEXT");
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK && !file_read(c->text_file, TEXT_LIMIT, &text)) code = EXIT_CODE_FAILED;
    while (text.n && (text.data[text.n - 1] == '\n' || text.data[text.n - 1] == '\r'))
        text.n--; // of the file's last line
    if (code == EXIT_CODE_OK && grammar_check(c->on.model, grammar, &text, c->parse_special, &f, &err) != RN_OK)
        code = machine_failed(&err);
    if (code == EXIT_CODE_OK && (f.n_allowed < text.n || !f.is_whole)) {
        say_refusal(c, &text, &f);
        code = EXIT_CODE_FAILED;
    }
    grammar_finding_free(&f);
    bytes_free(&text);
    rn_grammar_close(grammar);
    return code;
}

static int run_check(check *c) {
    if (c->has_cases == (c->text_file != NULL)) {
        say("grammar: give either --check FILE or --cases");
        return EXIT_CODE_USAGE;
    }
    if (c->has_cases && term_is(STDIN_FILENO)) {
        say("cases: none given: runnel grammar --cases < cases.jsonl");
        return EXIT_CODE_USAGE;
    }
    const int code = machine_open_model(&c->on);
    if (code != EXIT_CODE_OK) return code;
    return c->has_cases ? grammar_cases(c->on.model, (rn_json_space)c->form.space, c->parse_special) : check_text(c);
}

int cmd_grammar(int n_args, char **args) {
    check c = {0};
    options parsed;
    machine_init(&c.on);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&c.on),
        {"Check", check_rows, sizeof check_rows / sizeof *check_rows, &c},
        GRAMMAR_OPTIONS_GROUP(&c.form),
    };
    const option_spec spec = {
        .command = "grammar",
        .usage = "[-m MODEL] --check FILE FORM | --cases < cases.jsonl",
        .about = "Check texts against a JSON Schema or another form of answers.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 0,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_check(&c);
    options_free(&parsed);
    grammar_options_free(&c.form);
    machine_close(&c.on);
    return code;
}
