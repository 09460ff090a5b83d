// cli/cmd_grammar.c - `runnel grammar`: checks texts against a grammar, with a model's vocabulary.
#include "app/files.h"
#include "app/grammar_options.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/term.h"
#include "cli/command.h"
#include "cli/grammar_cases.h"
#include <unistd.h>

typedef struct check {
    machine on;
    grammar_options form;
    const char *text_file;
    bool has_cases;
} check;

static const option check_rows[] = {
    {0, "check", "FILE", OPTION_TEXT, offsetof(check, text_file), .help = "check the text of FILE; - is stdin"},
    {0, "cases", NULL, OPTION_FLAG, offsetof(check, has_cases),
     .help = "check many cases, each a line of JSON from stdin"},
};

static const char *const notes =
    "A text is converted to tokens as a whole, and each token is compared with the\n"
    "mask of the tokens that may follow there. With --check the exit status is 0 if\n"
    "the text is allowed, else 1, and what could have followed is printed.\n"
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
    "  {\"id\", \"error\", \"compile_us\", \"results\": [true], \"mask_us\": [..]}";

// Bytes of a text that the grammar allows, up to the first token that it does not allow.
typedef struct finding {
    bool is_allowed, is_whole;
    size_t n_bytes;
} finding;

static rn_status look(const check *c, rn_grammar *grammar, const bytes *text, finding *f, rn_error *err) {
    int32_t *ids = NULL;
    size_t n_ids = 0, n_allowed = 0;
    rn_matcher *matcher = NULL;
    char *piece = NULL;
    bool is_over;
    rn_status st = rn_tokenize_more(c->on.model, text->data, text->n, false, &ids, &n_ids, err);
    if (st == RN_OK) st = rn_matcher_open(grammar, &matcher, err);
    f->is_allowed = true;
    while (st == RN_OK && n_allowed < n_ids && f->is_allowed) {
        st = rn_matcher_take(matcher, ids[n_allowed], &f->is_allowed, err);
        n_allowed += f->is_allowed;
    }
    if (st == RN_OK) st = rn_detokenize(c->on.model, ids, n_allowed, false, &piece, &f->n_bytes, err);
    rn_free(piece);
    if (st == RN_OK) st = rn_matcher_state(matcher, &f->is_whole, &is_over, err);
    rn_matcher_close(matcher);
    rn_free(ids);
    return st;
}

static int check_text(check *c) {
    bytes text = {0};
    rn_grammar *grammar = NULL;
    finding f = {0};
    rn_error err = {0};
    c->form.says_notes = true;
    int code = grammar_options_compile(&c->form, c->on.model, &grammar);
    if (code == EXIT_CODE_OK && !grammar) {
        say("--check: needs a grammar: --json-schema FILE, --json-mode, --regex R, --grammar FILE, --structural-tag FILE or --choice TEXT");
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK && !file_read(c->text_file, TEXT_LIMIT, &text)) code = EXIT_CODE_FAILED;
    while (text.n && (text.data[text.n - 1] == '\n' || text.data[text.n - 1] == '\r'))
        text.n--; // of the file's last line
    if (code == EXIT_CODE_OK && look(c, grammar, &text, &f, &err) != RN_OK) code = machine_failed(&err);
    if (code == EXIT_CODE_OK && !f.is_allowed) {
        say("%s: not allowed: byte %zu and what follows it", c->text_file, f.n_bytes + 1);
        code = EXIT_CODE_FAILED;
    } else if (code == EXIT_CODE_OK && !f.is_whole) {
        say("%s: not whole: more must follow its %zu bytes", c->text_file, text.n);
        code = EXIT_CODE_FAILED;
    }
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
    return c->has_cases ? grammar_cases(c->on.model, (rn_json_space)c->form.space) : check_text(c);
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
