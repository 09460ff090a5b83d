// engine/ngram_cache.c - rn_model_add_ngram_cache(): the file of an n-gram cache, in memory for drafts.
#include "base/file_map.h"
#include "decoding/draft/ngram_table.h"
#include "engine/engine.h"
#include "formats/ngram_file.h"
#include <string.h>

_Static_assert((int)NGRAM_ORDER == (int)NGRAM_FILE_ORDER, "a file's strings fit the table");

// The most frequent pairs of a record, in the table's order; returns how many.
static int32_t top_pairs(const struct ngram_record *r, struct ngram_pair *top) {
    int32_t n = 0;
    for (size_t i = 0; i < r->n_pairs; i++) {
        struct ngram_pair p;
        ngram_record_pair(r, i, &p.token, &p.count);
        int32_t at = n;
        for (;
             at > 0 && (top[at - 1].count < p.count || (top[at - 1].count == p.count && top[at - 1].token > p.token));
             at--)
            if (at < NGRAM_FOLLOWERS) top[at] = top[at - 1];
        if (at < NGRAM_FOLLOWERS) top[at] = p;
        if (n < NGRAM_FOLLOWERS) n++;
    }
    return n;
}

static size_t kept(const struct ngram_record *r) {
    return r->n_pairs < NGRAM_FOLLOWERS ? r->n_pairs : NGRAM_FOLLOWERS;
}

// Once to count and to check, once to fill.
static rn_status read_table(const char *path, const struct file_map *file, int32_t n_vocab, struct ngram_table **out,
                            rn_error *err) {
    struct ngram_reader r;
    struct ngram_record x;
    struct ngram_pair top[NGRAM_FOLLOWERS];
    struct ngram_table *table = NULL;
    size_t n_strings = 0, n_pairs = 0;
    rn_status st = ngram_reader_begin(&r, path, file->data, file->size, n_vocab, err);
    while (st == RN_OK && (st = ngram_reader_next(&r, &x, err)) == RN_OK && x.n) n_strings++, n_pairs += kept(&x);
    if (st == RN_OK) st = ngram_table_create(n_strings, n_pairs, &table, err);
    if (st == RN_OK) st = ngram_reader_begin(&r, path, file->data, file->size, n_vocab, err);
    while (st == RN_OK && (st = ngram_reader_next(&r, &x, err)) == RN_OK && x.n)
        if (!ngram_table_add(table, x.string, top, top_pairs(&x, top), x.sum))
            st = fail(err, RN_E_FORMAT, "%s: offset %zu: the same %d tokens stand further up, too", path, x.at, x.n);
    if (st == RN_OK)
        *out = table;
    else
        ngram_table_destroy(table);
    return st;
}

rn_status rn_model_add_ngram_cache(rn_model *m, const char *path, rn_error *err) {
    struct file_map file;
    if (!m || !path) return fail(err, RN_E_ARG, "rn_model_add_ngram_cache: NULL argument");
    if (atomic_load(&m->is_open))
        return fail(err, RN_E_STATE, "%s: an engine has been opened with the model; add n-gram caches before", path);
    if (m->ngrams) return fail(err, RN_E_STATE, "%s: the model has an n-gram cache", path);
    const int32_t n_rows = package_hparams(m->pkg)->n_vocab,
                  n_vocab = n_rows ? n_rows : package_vocab(m->pkg)->n_tokens;
    rn_status st = file_map_open(path, FILE_LOAD_READ, NULL, NULL, &file, err);
    if (st != RN_OK) return st;
    st = read_table(path, &file, n_vocab, &m->ngrams, err);
    file_map_close(&file);
    return st;
}
