// bench/encoder_texts.c - an encoder's texts per second, for bench/encoders.py.
//
//   encoder_texts MODEL IDS THREADS [ROWS [CPU]]
//
// IDS: a file with a text's ids a line. ROWS: most rows of a step (0: the default). CPU: kernel set. For each line of stdin the texts are evaluated once, all together, and {"ms"} is printed, the first time with
// "vectors", each the mean of its text's rows, of length 1; stdin's end is the program's.
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TEXTS = 256, MOST_IDS = 8192, MOST_LINE = 1 << 17 };

struct text {
    int32_t *ids;
    size_t n;
    rn_stream *stream;
};
static struct text texts[MOST_TEXTS];
static size_t n_texts, n_longest;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int failed(const char *what, const char *why) {
    fprintf(stderr, "encoder_texts: %s: %s\n", what, why);
    return 1;
}

// Fills texts.
static int read_texts(const char *path) {
    static char line[MOST_LINE];
    FILE *f = fopen(path, "r");
    if (!f) return failed(path, "cannot be read");
    while (n_texts < MOST_TEXTS && fgets(line, sizeof line, f)) {
        struct text *t = &texts[n_texts++];
        char *at = line, *end;
        t->ids = calloc(MOST_IDS, sizeof *t->ids);
        if (!t->ids) {
            fclose(f);
            return failed(path, "out of memory");
        }
        for (long id; t->n < MOST_IDS && (id = strtol(at, &end, 10), end != at); at = end)
            t->ids[t->n++] = (int32_t)id;
        if (t->n > n_longest) n_longest = t->n;
    }
    fclose(f);
    return n_texts ? 0 : failed(path, "holds no text");
}

static void print_vector(const rn_chunk *c) {
    printf("[");
    for (size_t k = 0; k < c->n_embedding; k++) printf("%s%.9g", k ? "," : "", (double)c->embedding[k]);
    printf("]");
}

static rn_status evaluate(rn_engine *engine, bool prints, rn_error *err) {
    rn_embed_options opt;
    rn_chunk last[MOST_TEXTS];
    rn_embed_options_init(&opt);
    opt.pooling = RN_POOLING_MEAN;
    const double begun = now_ms();
    rn_status st = RN_OK;
    for (size_t i = 0; i < n_texts && st == RN_OK; i++)
        st = rn_embed_begin(engine, 0, texts[i].ids, texts[i].n, &opt, &texts[i].stream, err);
    for (size_t i = 0; i < n_texts && st == RN_OK; i++) {
        rn_chunk_init(&last[i]);
        st = rn_stream_next(texts[i].stream, -1, &last[i], err);
        if (st == RN_OK && last[i].finish_reason != RN_FINISH_STOP)
            st = RN_E_INTERNAL, snprintf(err->text, sizeof err->text, "%s", last[i].finish_detail);
    }
    printf("{\"ms\":%.3f%s", now_ms() - begun, prints ? ",\"vectors\":[" : "");
    for (size_t i = 0; st == RN_OK && prints && i < n_texts; i++) {
        if (i) printf(",");
        print_vector(&last[i]);
    }
    printf("%s}\n", prints ? "]" : "");
    fflush(stdout);
    for (size_t i = 0; i < n_texts; i++) {
        rn_stream_close(texts[i].stream);
        texts[i].stream = NULL;
    }
    return st;
}

int main(int argc, char **argv) {
    char line[64];
    rn_error err = {0};
    rn_model *model;
    rn_engine *engine;
    rn_engine_options opt;
    if (argc < 4) return failed("usage", "encoder_texts MODEL IDS THREADS [ROWS [CPU]]");
    if (read_texts(argv[2])) return 1;
    rn_engine_options_init(&opt);
    opt.n_threads = atoi(argv[3]);
    opt.n_batch = argc > 4 ? atoi(argv[4]) : 0;
    opt.cpu = argc > 5 ? argv[5] : NULL;
    opt.n_ctx = (int32_t)n_longest;
    opt.n_streams = (int32_t)n_texts;
    opt.n_queue = MOST_TEXTS;
    if (rn_model_open(argv[1], NULL, &model, &err) != RN_OK) return failed(argv[1], err.text);
    if (rn_engine_open(&model, 1, &opt, &engine, &err) != RN_OK) return failed(argv[1], err.text);
    rn_status st = RN_OK;
    for (bool is_first = true; st == RN_OK && fgets(line, sizeof line, stdin); is_first = false)
        st = evaluate(engine, is_first, &err);
    rn_engine_close(engine);
    rn_model_close(model);
    for (size_t i = 0; i < n_texts; i++) free(texts[i].ids);
    return st == RN_OK ? 0 : failed(argv[1], err.text);
}
