// cli/cmd_quantize.c - `runnel quantize`: writes a GGUF file with fewer bits per weight.
#include "app/model_path.h"
#include "cli/command.h"
#include "cli/new_file.h"
#include <stdlib.h>

static int run_quantize(new_file *f, const options *parsed) {
    if (parsed->n_positional != 3) {
        say("quantize: needs a model, an output file and a type: runnel quantize IN.gguf OUT.gguf Q4_K_M");
        return EXIT_CODE_USAGE;
    }
    f->opt.type = parsed->positional[2];
    char *const in = model_path_find(parsed->positional[0]);
    const int code = in ? new_file_make(f, rn_quantize, in, parsed->positional[1]) : EXIT_CODE_FAILED;
    free(in);
    return code;
}

int cmd_quantize(int n_args, char **args) {
    new_file f;
    options parsed;
    new_file_init(&f);
    char *const types = new_file_types_text();
    const option_group groups[] = {
        {"Weights", new_file_rows, NEW_FILE_ROWS, &f},
    };
    const option_spec spec = {
        .command = "quantize",
        .usage = "IN.gguf OUT.gguf TYPE [options]",
        .about =
            "Convert the matrices of a GGUF file, or of a fetched model by name, to another type. Everything else in the file is "
            "copied. Nothing is left behind when it fails.",
        .notes = types,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 3,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_quantize(&f, &parsed);
    options_free(&parsed);
    new_file_close(&f);
    free(types);
    return code;
}
