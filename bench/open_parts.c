// bench/open_parts.c - where the time goes from opening a model to its first token, and what memory that takes.
//
//   open_parts [MODEL [THREADS [--no-repack]]]     the model that ships, all threads
//
// For each part the time that passed, the processor time of the program (in repacking: packing) and of the system for it (making and
// clearing pages, mapping the file), and resident memory after it. Run it twice: the first run brings the file into the page cache.
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct times {
    double wall_ms, user_ms, system_ms;
};

static double ms_of(struct timeval t) { return 1e3 * (double)t.tv_sec + 1e-3 * (double)t.tv_usec; }
static struct times now(void) {
    struct timespec t;
    struct rusage u;
    clock_gettime(CLOCK_MONOTONIC, &t);
    getrusage(RUSAGE_SELF, &u);
    return (struct times){1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec, ms_of(u.ru_utime), ms_of(u.ru_stime)};
}

// A number of MB from /proc/self/status.
static long status_mb(const char *key) {
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) kb = strtol(line + strlen(key) + 1, NULL, 10);
    if (f) fclose(f);
    return kb * 1024 / 1000000;
}

// A line about what happened since *last.
static struct times report(const char *part, struct times *last) {
    const struct times t = now();
    const struct times d = {t.wall_ms - last->wall_ms, t.user_ms - last->user_ms, t.system_ms - last->system_ms};
    printf("%-24s %9.1f %9.1f %9.1f %9ld %9ld\n", part, d.wall_ms, d.user_ms, d.system_ms, status_mb("VmRSS"),
           status_mb("VmHWM"));
    *last = t;
    return d;
}

static int failed(const rn_error *err) {
    fprintf(stderr, "open_parts: %s\n", err->text);
    return 1;
}

static rn_status first_token(rn_engine *engine, rn_error *err) {
    const int32_t ids[] = {0, 1, 2};
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = sizeof ids / sizeof *ids};
    rn_request req;
    rn_stream *stream;
    rn_chunk chunk;
    rn_request_init(&req);
    rn_chunk_init(&chunk);
    req.parts = &part;
    req.n_parts = 1;
    req.max_tokens = 1;
    rn_status st = rn_stream_begin(engine, &req, &stream, err);
    if (st != RN_OK) return st;
    st = rn_stream_next(stream, -1, &chunk, err);
    rn_stream_close(stream);
    return st;
}

int main(int argc, char **argv) {
    const char *const path = argc > 1 ? argv[1] : RUNNEL_SOURCE_DIR "/models/stories.gguf";
    rn_error err = {0};
    rn_model *model;
    rn_engine *engine;
    rn_engine_options opt;
    rn_engine_info info = {.struct_size = sizeof info};
    rn_engine_options_init(&opt);
    opt.n_ctx = 256;
    opt.n_threads = argc > 2 ? atoi(argv[2]) : 0;
    opt.no_repack = argc > 3 && strcmp(argv[3], "--no-repack") == 0;

    printf("%-24s %9s %9s %9s %9s %9s\n", "", "wall ms", "user ms", "system ms", "MB now", "MB most");
    struct times last = now();
    if (rn_model_open(path, NULL, &model, &err) != RN_OK) return failed(&err);
    report("file and vocabulary", &last);
    if (rn_engine_open(&model, 1, &opt, &engine, &err) != RN_OK) return failed(&err);
    const struct times repack = report(opt.no_repack ? "plan and memory" : "plan, memory, repacking", &last);
    if (first_token(engine, &err) != RN_OK) return failed(&err);
    report("first token", &last);
    if (rn_engine_get_info(engine, 0, &info, &err) != RN_OK) return failed(&err);
    if (info.repacked_bytes)
        printf("repacked %.0f MB: %.1f GB/s of processor time without the system's, %.1f with it\n",
               (double)info.repacked_bytes / 1e6, (double)info.repacked_bytes / 1e6 / repack.user_ms,
               (double)info.repacked_bytes / 1e6 / (repack.user_ms + repack.system_ms));
    rn_engine_close(engine);
    rn_model_close(model);
    return 0;
}
