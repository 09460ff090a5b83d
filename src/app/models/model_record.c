// app/models/model_record.c - see model_record.h.
#include "app/models/model_record.h"
#include "app/files.h"
#include "app/memory.h"
#include "app/numbers.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *model_record_path(const cached_model *m, size_t i) {
    model_ref ref;
    char why[NUMBER_WHY];
    if (!m->is_own || !model_ref_is(m->name) || !model_ref_parse(m->name, &ref, why)) return NULL;
    char *const folder = model_cache_place(&ref), *path = NULL;
    const size_t n = strlen(folder);
    if (strncmp(m->files[i], folder, n) == 0 && m->files[i][n] == '/')
        path = app_text("%s/.pulled%s", folder, m->files[i] + n);
    free(folder);
    return path;
}

void model_record_read(const cached_model *m, size_t i, model_record *r) {
    enum { RECORD_LIMIT = 1 << 16 };
    char *const path = model_record_path(m, i), *rest = NULL;
    bytes text = {0};
    *r = (model_record){0};
    const struct {
        const char *word;
        char **to;
    } rows[] = {{"url ", &r->url}, {"sha256 ", &r->sha256}, {"git ", &r->git}};
    if (path && access(path, R_OK) == 0 && file_read(path, RECORD_LIMIT, &text) && text.n)
        for (char *line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
                if (!*rows[k].to && strncmp(line, rows[k].word, strlen(rows[k].word)) == 0)
                    *rows[k].to = app_copy_text(line + strlen(rows[k].word));
    bytes_free(&text);
    free(path);
}

void model_record_free(model_record *r) {
    free(r->url);
    free(r->sha256);
    free(r->git);
    *r = (model_record){0};
}
