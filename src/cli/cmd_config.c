// cli/cmd_config.c - `runnel config`: what the user's settings say, and where each of them comes from.
#include "app/files.h"
#include "app/models/model_cache.h"
#include "app/options.h"
#include "app/settings.h"
#include "cli/command.h"
#include <stdlib.h>
#include <string.h>

static void add_row(bytes *to, const char *name, const char *value, const char *why, int line) {
    bytes_add_format(to, "%-18s %-40s %s", name, value, why);
    if (line) bytes_add_format(to, "%d", line);
    bytes_add_text(to, "\n");
}

static const char *source_of(const char *variable, const char *otherwise) {
    const char *const v = getenv(variable);
    return v && *v ? variable : otherwise;
}

// Of several settings of an option only the one in force is shown.
static void add_options(bytes *to, const settings *s, const char *model) {
    for (size_t i = 0; i < s->n_options; i++) {
        const setting *const o = settings_find(s->options[i].name, model);
        if (o != &s->options[i]) continue;
        char *const why = o->of ? app_text("for %s, line ", o->of) : app_copy_text("line ");
        add_row(to, o->name, o->value, why, o->line);
        free(why);
    }
}

static int print_config(const options *parsed) {
    bytes text = {0};
    output out = {0};
    if (!settings_load()) return EXIT_CODE_USAGE;
    const settings *const s = settings_get();
    const char *const usual = getenv("RUNNEL_MODEL");
    const bool is_set = usual && *usual;
    const char *const model = parsed->n_positional ? parsed->positional[0] : is_set ? usual : s->model;
    char *const root = model_cache_root();
    add_row(&text, "settings", s->path ? s->path : "none",
            !s->path      ? "RUNNEL_CONFIG"
            : s->is_there ? source_of("RUNNEL_CONFIG", "")
                          : "not there",
            0);
    add_row(&text, "cache", root, source_of("RUNNEL_CACHE", "default"), 0);
    if (parsed->n_positional)
        add_row(&text, "model", model, "argument", 0);
    else
        add_row(&text, "model", model ? model : "the program's own",
                is_set     ? "RUNNEL_MODEL"
                : s->model ? "line "
                           : "default",
                is_set || !s->model ? 0 : s->model_line);
    add_options(&text, s, model);
    for (size_t i = 0; i < s->n_aliases; i++) {
        char *const name = app_text("alias %s", s->aliases[i].name);
        add_row(&text, name, s->aliases[i].value, "line ", s->aliases[i].line);
        free(name);
    }
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    free(root);
    return output_exit(&out, EXIT_CODE_OK);
}

static const char *const notes = "The file of settings is $RUNNEL_CONFIG, else ~/.config/runnel/config.toml:\n"
                                 "\n"
                                 "  model = \"qwen3-0.6b\"        # where none is given\n"
                                 "  [aliases]\n"
                                 "  small = \"hf:Qwen/Qwen3-0.6B-GGUF:Q8_0\"\n"
                                 "  [options]                   # of run, chat, infill, batch and serve\n"
                                 "  temp = 0.7\n"
                                 "  [models.\"qwen3-0.6b\"]       # for this one alone\n"
                                 "  system = \"Answer in one sentence.\"\n"
                                 "\n"
                                 "What is typed goes before it.";

int cmd_config(int n_args, char **args) {
    options parsed;
    const option_spec spec = {
        .command = "config",
        .usage = "[MODEL]",
        .about =
            "Show the settings that are in force, for MODEL or the default model, and where each of them comes from.",
        .notes = notes,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = print_config(&parsed);
    options_free(&parsed);
    return code;
}
