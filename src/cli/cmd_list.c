// cli/cmd_list.c - `runnel list`: the models that are in the caches.
#include "app/files.h"
#include "app/json_write.h"
#include "app/models/model_cache.h"
#include "app/options.h"
#include "app/wrap.h"
#include "cli/command.h"
#include <stdlib.h>

typedef struct list {
    bool is_json;
} list;

static const option list_rows[] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(list, is_json), .help = "a JSON line for each model"},
};

static void add_json(bytes *to, const cached_model *m) {
    json_writer w = {to, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "name", m->name);
    json_member_u64(&w, "bytes", m->n_bytes);
    json_member_u64(&w, "files", m->n_files);
    json_member_string(&w, "cache", m->where);
    json_member_string(&w, "path", m->path);
    json_put_end(&w, '}');
    bytes_add_text(to, "\n");
}

static void add_table(bytes *to, const cached_models *all) {
    enum { N_COLUMNS = 4 };
    const char **const cells = app_alloc((all->n + 1) * N_COLUMNS * sizeof *cells);
    char(*const sizes)[HUMAN_BYTES] = app_alloc(all->n * sizeof *sizes);
    cells[0] = "name", cells[1] = "size", cells[2] = "cache of", cells[3] = "path";
    for (size_t i = 0; i < all->n; i++) {
        const char **const c = cells + (i + 1) * N_COLUMNS;
        c[0] = all->items[i].name, c[1] = human_size(all->items[i].n_bytes, sizes[i]);
        c[2] = all->items[i].where, c[3] = all->items[i].path;
    }
    table_add(to, cells, all->n + 1, N_COLUMNS);
    free(sizes);
    free(cells);
}

static int print_list(const list *l) {
    cached_models all;
    bytes text = {0};
    output out = {0};
    cached_models_read(&all);
    for (size_t i = 0; l->is_json && i < all.n; i++) add_json(&text, &all.items[i]);
    if (!l->is_json && all.n) add_table(&text, &all);
    if (!all.n) say("no model is fetched yet: `runnel pull` shows some that can be had");
    output_write(&out, text.data, text.n);
    bytes_free(&text);
    cached_models_free(&all);
    return output_exit(&out, EXIT_CODE_OK);
}

int cmd_list(int n_args, char **args) {
    list l = {0};
    options parsed;
    const option_group groups[] = {{"Output", list_rows, 1, &l}};
    const option_spec spec = {
        .command = "list",
        .usage = "[options]",
        .about =
            "List the models that are in runnel's cache, and in those of Hugging Face's tools, llama.cpp and Ollama, by the "
            "names that -m takes.",
        .groups = groups,
        .n_groups = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = print_list(&l);
    options_free(&parsed);
    return code;
}
