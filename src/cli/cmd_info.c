// cli/cmd_info.c - `runnel info`: describes a model file and how this machine would run it.
#include "app/files.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "app/machine.h"
#include "app/wrap.h"
#include "cli/command.h"
#include "cli/info_print.h"
#include "cli/other_file.h"
#include <stdlib.h>
#include <string.h>

typedef struct info {
    machine on;
    bool is_json;
} info;

static const option info_rows[] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(info, is_json), .help = "one JSON object"},
};

// Engine options have no meaning for a file that has only a vocabulary.
static bool refuse_engine_options(const options *parsed) {
    static const char *const names[] = {"ctx", "threads", "cpu", "kv-type", "no-repack"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (options_refuse(parsed, names[i], "without weights in the file")) return true;
    return false;
}

static int print_info(info *n, const options *parsed) {
    rn_model_info model = {.struct_size = sizeof model};
    rn_engine_info engine = {.struct_size = sizeof engine};
    rn_memory memory = {.struct_size = sizeof memory};
    rn_error err = {0};
    bytes text = {0};
    output out = {0};
    int code = EXIT_CODE_OK;
    if (rn_model_get_info(n->on.model, &model, &err) != RN_OK) return machine_failed(&err);
    if (!model.has_weights && refuse_engine_options(parsed)) return EXIT_CODE_USAGE;
    // A valid file that this machine cannot run is still described; the error is printed and sets the exit code.
    if (model.has_weights) code = machine_open_engine(&n->on);
    if (n->on.engine && (rn_engine_get_info(n->on.engine, 0, &engine, &err) != RN_OK ||
                         rn_engine_get_memory(n->on.engine, &memory, &err) != RN_OK))
        return machine_failed(&err);
    if (rn_model_get_info(n->on.model, &model, &err) != RN_OK)
        return machine_failed(&err); // again, for the resident bytes after the engine was opened
    rn_error none = {0};
    info_chat chat = {0};
    if (rn_template_of_model(n->on.model, &chat.tmpl, &none) != RN_OK) chat.why = none.text;
    (n->is_json ? info_add_json : info_add_text)(&text, &model, &chat, n->on.engine ? &engine : NULL, &memory);
    rn_template_close(chat.tmpl);
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    return output_exit(&out, code);
}

// "key<tab>value" lines as rows of a page or members of an object.
static void add_facts(bytes *to, json_writer *w, const bytes *facts) {
    for (size_t at = 0; at < facts->n;) {
        const char *const line = facts->data + at, *const tab = strchr(line, '\t') + 1;
        const size_t n_key = (size_t)(tab - line) - 1, n_value = strcspn(tab, "\n");
        if (w) {
            char *const key = app_text("%.*s", (int)n_key, line);
            json_member_text(w, key, tab, n_value);
            free(key);
        } else {
            bytes_add_format(to, "%-30.*s  %.*s\n", (int)n_key, line, (int)n_value, tab);
        }
        at += n_key + 1 + n_value + 1;
    }
}

static int print_kind(const info *n, const char *path, const other_file *k) {
    char size[HUMAN_BYTES];
    bytes text = {0};
    output out = {0};
    json_writer w = {&text, false};
    if (n->is_json) {
        json_put_begin(&w, '{');
        json_member_string(&w, "file", path);
        json_member_string(&w, "kind", k->name);
        json_member_u64(&w, "bytes", k->n_bytes);
        json_member_begin(&w, "facts", '{');
        add_facts(&text, &w, &k->facts);
        json_put_end(&w, '}');
        json_put_end(&w, '}');
        bytes_add_text(&text, "\n");
    } else {
        bytes_add_format(&text, "%s, %s: %s\n", path, human_size(k->n_bytes, size), k->use);
        add_facts(&text, NULL, &k->facts);
    }
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    return output_exit(&out, EXIT_CODE_OK);
}

static int run_info(info *n, const options *parsed) {
    int code;
    if (!machine_take_positional(&n->on, parsed, &code)) return code;
    interrupt_catch();
    other_file kind;
    if (n->on.model_name && other_file_read(n->on.model_name, &kind)) { // a path: such files have no names
        code = print_kind(n, n->on.model_name, &kind);
        other_file_free(&kind);
        return code;
    }
    code = machine_open_model(&n->on);
    return code == EXIT_CODE_OK ? print_info(n, parsed) : code;
}

int cmd_info(int n_args, char **args) {
    info n = {0};
    options parsed;
    machine_init(&n.on);
    const option_group groups[] = {
        MACHINE_MODEL_GROUP(&n.on),
        MACHINE_SIZE_GROUP(&n.on),
        MACHINE_ENGINE_GROUP(&n.on),
        {"Output", info_rows, 1, &n},
    };
    const option_spec spec = {
        .command = "info",
        .usage = "[MODEL] [options]",
        .about =
            "Describe a model file: architecture, types, sizes, tokenizer, end tokens, chat "
            "template; and the kernel set, threads and memory with which it would run here. Of another file that runnel "
            "reads (importance matrix, adapter, draft heads, saved session): what it is.",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = run_info(&n, &parsed);
    options_free(&parsed);
    machine_close(&n.on);
    return code;
}
