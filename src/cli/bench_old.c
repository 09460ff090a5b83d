// cli/bench_old.c - reads the rates of an earlier run, each under a key.
#include "cli/bench_old.h"
#include "app/bytes.h"
#include "app/files.h"
#include "app/json_read.h"
#include "app/say.h"
#include <stdlib.h>
#include <string.h>

typedef struct old_figure {
    char *key;
    double tok_s;
    bool was_asked;
} old_figure;

struct bench_old {
    char *path, *processor;
    old_figure *figures;
    size_t n;
};

// A row of the file, as bench_json.c writes it.
typedef struct old_row {
    const char *model, *cpu, *kv_type, *processor;
    int32_t n_threads, depth, n_batch, n_prompt, n_gen;
    double rates[BENCH_N_KINDS];
} old_row;
static const old_row no_row = {.n_batch = 1}; // older files have no n_batch

static bool take_machine(void *target, size_t i, const char *key, const json_item *value, char *why) {
    json_span text;
    (void)i;
    if (strcmp(key, "processor") != 0 || !json_item_is_text(value)) return true;
    if (!json_item_text(value, &text, why)) return false;
    ((old_row *)target)->processor = text.data;
    return true;
}

#define MOST_NUMBER 2147483647
static const member old_members[] = {
    {"model", MEMBER_NAME, offsetof(old_row, model)},
    {"cpu", MEMBER_NAME, offsetof(old_row, cpu)},
    {"kv_type", MEMBER_NAME, offsetof(old_row, kv_type)},
    {"machine", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = take_machine},
    {"threads", MEMBER_INT, offsetof(old_row, n_threads), 1, MOST_NUMBER},
    {"depth", MEMBER_INT, offsetof(old_row, depth), 0, MOST_NUMBER},
    {"batch", MEMBER_INT, offsetof(old_row, n_batch), 1, MOST_NUMBER},
    {"n_prompt", MEMBER_INT, offsetof(old_row, n_prompt), 0, MOST_NUMBER},
    {"n_gen", MEMBER_INT, offsetof(old_row, n_gen), 0, MOST_NUMBER},
    {"prefill_tok_s", MEMBER_REAL, offsetof(old_row, rates[BENCH_PROMPT]), 0, 1e12},
    {"decode_tok_s", MEMBER_REAL, offsetof(old_row, rates[BENCH_GENERATION]), 0, 1e12},
};

static char *key_of(bench_kind kind, const old_row *r) {
    const bool is_prompt = kind == BENCH_PROMPT;
    char *text = app_text("%s %d, %s, cpu %s, threads %d, keys and values %s, depth %d, batch %d",
                          bench_kind_name(kind), is_prompt ? r->n_prompt : r->n_gen, bench_base_name(r->model),
                          r->cpu, r->n_threads, r->kv_type, r->depth, is_prompt ? 1 : r->n_batch);
    return text;
}

static old_figure *find(const bench_old *o, const char *key) {
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->figures[i].key, key) == 0) return &o->figures[i];
    return NULL;
}

// The user data of take_row(): the row just read and where to add it.
typedef struct reading {
    bench_old *o;
    old_row row;
} reading;

static bool take_row(void *user, char *why) {
    reading *const r = user;
    bench_old *const o = r->o;
    if (!r->row.model || !r->row.cpu || !r->row.kv_type || !r->row.n_threads) {
        snprintf(why, JSON_WHY / 2, "model, cpu, kv_type or threads is missing");
        return false;
    }
    for (bench_kind k = 0; k < BENCH_N_KINDS; k++) {
        if (!(r->row.rates[k] > 0)) continue;
        char *key = key_of(k, &r->row);
        if (find(o, key)) { // the same prompt is listed with each generation length
            free(key);
            continue;
        }
        o->figures = app_realloc(o->figures, (o->n + 1) * sizeof *o->figures);
        o->figures[o->n++] = (old_figure){key, r->row.rates[k], false};
    }
    if (r->row.processor && !o->processor) o->processor = app_copy_text(r->row.processor);
    r->row = no_row;
    return true;
}

bench_old *bench_old_read(const char *path) {
    bytes text = {0};
    char why[JSON_WHY] = "";
    bench_old *o = app_alloc(sizeof *o);
    reading r = {o, no_row};
    const member_group group = {old_members, sizeof old_members / sizeof *old_members, &r.row};
    o->path = app_copy_text(path);
    bool ok = file_read(path, TEXT_LIMIT, &text);
    if (ok && !json_read_rows(text.data ? text.data : "", text.n, &group, take_row, &r, why)) {
        say("%s: %s", path, why);
        ok = false;
    }
    bytes_free(&text);
    if (ok) return o;
    bench_old_free(o);
    return NULL;
}

void bench_old_find(bench_old *o, bench_row *row) {
    const old_row r = {.model = row->model,
                       .cpu = row->cpu,
                       .kv_type = row->kv_type,
                       .n_threads = row->n_threads,
                       .depth = row->c.depth,
                       .n_batch = row->c.n_batch,
                       .n_prompt = row->c.n_prompt,
                       .n_gen = row->c.n_gen};
    for (bench_kind k = 0; k < BENCH_N_KINDS; k++) {
        if (!row->figures[k].n_values) continue;
        char *key = key_of(k, &r);
        old_figure *f = find(o, key);
        if (f)
            f->was_asked = true, row->old[k] = f->tok_s;
        else
            say("%s: has no %s", o->path, key);
        free(key);
    }
}

void bench_old_say_rest(const bench_old *o, const char *processor) {
    for (size_t i = 0; i < o->n; i++)
        if (!o->figures[i].was_asked) say("%s: not measured now: %s", o->path, o->figures[i].key);
    if (o->processor && strcmp(o->processor, processor) != 0)
        say("%s: was measured on another processor (%s), so the ratios compare machines", o->path, o->processor);
}

void bench_old_free(bench_old *o) {
    if (!o) return;
    for (size_t i = 0; i < o->n; i++) free(o->figures[i].key);
    free(o->figures);
    free(o->path);
    free(o->processor);
    free(o);
}
