// cli/cmd_convert.c - `runnel convert`: converts a Hugging Face folder to a GGUF file.
#include "cli/command.h"
#include "cli/new_file.h"
#include <stdlib.h>

static const option convert_rows[] = {
    {0, "type", "TYPE", OPTION_TEXT, offsetof(new_file, opt.type),
     .help = "type of the matrices, see below (default: as in the folder)"},
};

static int run_convert(new_file *f, const options *parsed) {
    if (parsed->n_positional == 2) return new_file_make(f, rn_convert, parsed->positional[0], parsed->positional[1]);
    say("convert: needs a folder and an output file: runnel convert FOLDER OUT.gguf");
    return EXIT_CODE_USAGE;
}

int cmd_convert(int n_args, char **args) {
    new_file f;
    options parsed;
    new_file_init(&f);
    char *const types = new_file_types_text();
    const option_group groups[] = {
        {"Weights", convert_rows, sizeof convert_rows / sizeof *convert_rows, &f},
        {NULL, new_file_rows, NEW_FILE_ROWS, &f},
    };
    const option_spec spec = {
        .command = "convert",
        .usage = "FOLDER OUT.gguf [options]",
        .about = "Convert a Hugging Face folder to one GGUF file: weights, hyper-parameters, "
                 "tokenizer, chat template. Nothing is left behind when it fails.",
        .notes = types,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 2,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_convert(&f, &parsed);
    options_free(&parsed);
    new_file_close(&f);
    free(types);
    return code;
}
