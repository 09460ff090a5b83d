// cli/cmd_tokenize.c - `runnel tokenize`: writes the token ids of a text.
#include "app/files.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/term.h"
#include "cli/command.h"
#include <unistd.h>

typedef struct tokenize {
    machine on;
    const char *file; // -f; NULL: none
    bool add_special, parse_special, is_json;
} tokenize;

static const option tokenize_rows[] = {
    {'f', "file", "FILE", OPTION_TEXT, offsetof(tokenize, file), .help = "the file's text; - is stdin"},
    {0, "add-special", NULL, OPTION_FLAG, offsetof(tokenize, add_special),
     .help = "add the model's begin and end tokens"},
    {0, "parse-special", NULL, OPTION_FLAG, offsetof(tokenize, parse_special),
     .help = "parse control tokens (default: they are plain text)"},
    {0, "json", NULL, OPTION_FLAG, offsetof(tokenize, is_json),
     .help = "{\"ids\": [..]} (default: ids on one line, separated by spaces)"},
};

static void add_ids(bytes *to, const int32_t *ids, size_t n, bool is_json) {
    json_writer w = {to, false};
    if (is_json) {
        json_put_begin(&w, '{');
        json_put_key(&w, "ids");
        json_put_ids(&w, ids, n);
        json_put_end(&w, '}');
    } else {
        for (size_t i = 0; i < n; i++) bytes_add_format(to, i ? " %d" : "%d", ids[i]);
    }
    bytes_add_text(to, "\n");
}

static int tokenize_text(tokenize *t, const char *text, size_t n_text) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    bytes line = {0};
    output out = {0};
    if (rn_tokenize(t->on.model, text, n_text, t->add_special, t->parse_special, &ids, &n_ids, &err) != RN_OK)
        return machine_failed(&err);
    add_ids(&line, ids, n_ids, t->is_json);
    output_write(&out, line.data, line.n);
    bytes_free(&line);
    rn_free(ids);
    return output_exit(&out, EXIT_CODE_OK);
}

static int run_tokenize(tokenize *t, const char *text) {
    bytes input = {0};
    int code = EXIT_CODE_FAILED;
    if (text && t->file) {
        say("text: given twice: as TEXT, and with -f");
        return EXIT_CODE_USAGE;
    }
    if (!text && !t->file && term_is(STDIN_FILENO)) {
        say("text: none given: runnel tokenize TEXT, -f FILE, or pipe text into stdin");
        return EXIT_CODE_USAGE;
    }
    if (text) bytes_add_text(&input, text);
    if ((text || file_read(t->file ? t->file : "-", TEXT_LIMIT, &input)) &&
        (code = machine_open_model(&t->on)) == EXIT_CODE_OK)
        code = tokenize_text(t, input.data, input.n);
    bytes_free(&input);
    return code;
}

int cmd_tokenize(int n_args, char **args) {
    tokenize t = {0};
    options parsed;
    machine_init(&t.on);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&t.on),
        {"Tokens", tokenize_rows, sizeof tokenize_rows / sizeof *tokenize_rows, &t},
    };
    const option_spec spec = {
        .command = "tokenize",
        .usage = "[-m MODEL] [TEXT | -f FILE] [options] < text",
        .about = "Convert TEXT, a file, or all of stdin, to the model's token ids.",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_tokenize(&t, parsed.positional[0]);
    options_free(&parsed);
    machine_close(&t.on);
    return code;
}
