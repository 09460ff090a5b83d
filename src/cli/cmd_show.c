// cli/cmd_show.c - `runnel show`: where a fetched model came from, and its files.
#include "app/files.h"
#include "app/json_write.h"
#include "app/models/catalogue.h"
#include "app/models/model_record.h"
#include "app/options.h"
#include "app/wrap.h"
#include "cli/command.h"
#include "cli/named_model.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct show {
    bool is_json;
} show;

static const option show_rows[] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(show, is_json), .help = "one JSON object"},
};

static const char *licence_of(const cached_model *m) {
    for (size_t i = 0; i < n_catalogue; i++)
        if (strcmp(catalogue[i].reference, m->name) == 0) return catalogue[i].licence;
    return NULL;
}

static uint64_t file_bytes(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void add_json(bytes *to, const cached_model *m) {
    json_writer w = {to, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "name", m->name);
    json_member_string(&w, "path", m->path);
    json_member_string(&w, "cache", m->where);
    json_member_u64(&w, "bytes", m->n_bytes);
    if (licence_of(m)) json_member_string(&w, "licence", licence_of(m));
    json_member_begin(&w, "files", '[');
    for (size_t i = 0; i < m->n_files; i++) {
        model_record r;
        model_record_read(m, i, &r);
        json_put_begin(&w, '{');
        json_member_string(&w, "path", m->files[i]);
        json_member_u64(&w, "bytes", file_bytes(m->files[i]));
        if (r.url) json_member_string(&w, "url", r.url);
        if (r.sha256) json_member_string(&w, "sha256", r.sha256);
        if (r.git) json_member_string(&w, "git", r.git);
        json_put_end(&w, '}');
        model_record_free(&r);
    }
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    bytes_add_text(to, "\n");
}

static void add_text(bytes *to, const cached_model *m) {
    char size[HUMAN_BYTES];
    bytes_add_format(to, "name     %s\npath     %s\ncache    %s\nsize     %s\n", m->name, m->path, m->where,
                     human_size(m->n_bytes, size));
    if (licence_of(m)) bytes_add_format(to, "licence  %s\n", licence_of(m));
    for (size_t i = 0; i < m->n_files; i++) {
        model_record r;
        model_record_read(m, i, &r);
        bytes_add_format(to, "\nfile     %s\nsize     %s\n", m->files[i], human_size(file_bytes(m->files[i]), size));
        if (r.url) bytes_add_format(to, "from     %s\n", r.url);
        if (r.sha256) bytes_add_format(to, "sha256   %s\n", r.sha256);
        if (r.git) bytes_add_format(to, "git      %s\n", r.git);
        model_record_free(&r);
    }
}

static int print_model(const show *s, const char *name) {
    cached_models all;
    bytes text = {0};
    output out = {0};
    const cached_model *const m = named_model_find(&all, name);
    if (m) (s->is_json ? add_json : add_text)(&text, m);
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    cached_models_free(&all);
    return output_exit(&out, m ? EXIT_CODE_OK : EXIT_CODE_FAILED);
}

int cmd_show(int n_args, char **args) {
    show s = {0};
    options parsed;
    const option_group groups[] = {{"Output", show_rows, 1, &s}};
    const option_spec spec = {
        .command = "show",
        .usage = "MODEL [options]",
        .about =
            "Show where a fetched model is and came from, and its files with their sums. `runnel info` describes what is in it.",
        .groups = groups,
        .n_groups = 1,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code))
        code = named_model_is_given(&spec, &parsed) ? print_model(&s, parsed.positional[0]) : EXIT_CODE_USAGE;
    options_free(&parsed);
    return code;
}
