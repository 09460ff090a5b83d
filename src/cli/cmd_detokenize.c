// cli/cmd_detokenize.c - `runnel detokenize`: writes the text of token ids.
#include "app/files.h"
#include "app/json_read.h"
#include "app/machine.h"
#include "app/numbers.h"
#include "app/term.h"
#include "cli/command.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct detokenize {
    machine on;
    bool is_special;
} detokenize;

static const option detokenize_rows[] = {
    {0, "special", NULL, OPTION_FLAG, offsetof(detokenize, is_special),
     .help = "show control tokens (default: they have no text)"},
};

// Reads the output of `tokenize`, with or without --json.
static bool read_ids(const char *text, size_t n, id_list *list) {
    static const member rows[] = {{"ids", MEMBER_IDS, .offset = 0}};
    char why[JSON_WHY] = "";
    json_doc *doc = NULL;
    bool ok;
    if (n && text[strspn(text, " \t\r\n")] == '{') {
        const member_group group = {rows, 1, list};
        ok = json_doc_parse(text, n, &doc, why) && json_doc_read(doc, &group, 1, why);
    } else {
        ok = id_list_read(text ? text : "", n, list, why);
    }
    if (!ok) say("ids: %s", why);
    json_doc_free(doc);
    return ok;
}

static int detokenize_ids(detokenize *d, const id_list *list) {
    char *text = NULL;
    size_t n_text = 0;
    rn_error err = {0};
    output out = {0};
    if (rn_detokenize(d->on.model, list->ids, list->n, d->is_special, &text, &n_text, &err) != RN_OK)
        return machine_failed(&err);
    output_write(&out, text, n_text);
    rn_free(text);
    return output_exit(&out, EXIT_CODE_OK);
}

static int run_detokenize(detokenize *d, const char *const *args) {
    bytes input = {0};
    id_list list = {0};
    int code = EXIT_CODE_USAGE;
    if (!args[0] && term_is(STDIN_FILENO)) {
        say("ids: none given: runnel detokenize 1 2 3, or a pipe into stdin");
        return code;
    }
    for (; *args; args++) bytes_add_format(&input, "%s ", *args);
    if (!input.n && !file_read("-", 4 * TEXT_LIMIT, &input))
        code = EXIT_CODE_FAILED;
    else if (read_ids(input.data, input.n, &list) && (code = machine_open_model(&d->on)) == EXIT_CODE_OK)
        code = detokenize_ids(d, &list);
    free(list.ids);
    bytes_free(&input);
    return code;
}

int cmd_detokenize(int n_args, char **args) {
    detokenize d = {0};
    options parsed;
    machine_init(&d.on);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&d.on),
        {"Text", detokenize_rows, 1, &d},
    };
    const option_spec spec = {
        .command = "detokenize",
        .usage = "[-m MODEL] [ID...] [options] < ids",
        .about = "Convert token ids to text. Ids are separated by spaces, line breaks or commas; the "
                 "output of tokenize --json is accepted too.",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = SIZE_MAX,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_detokenize(&d, parsed.positional);
    options_free(&parsed);
    machine_close(&d.on);
    return code;
}
