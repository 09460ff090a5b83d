// cli/bench_machine.c - describes the machine by /proc, sysconf() and uname().
#include "cli/bench_machine.h"
#include "app/wrap.h"
#include <runnel/api.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

// CPU features that our compute kernels use, by Linux's names for them (x86 and Arm).
static const char *const telling[] = {"avx2",        "f16c",        "fma",      "avx512f",  "avx512bw", "avx512vl",
                                      "avx_vnni",    "avx512_vnni", "amx_tile", "amx_int8", "amx_bf16", "avx512_bf16",
                                      "avx512_fp16", "asimd",       "asimddp",  "i8mm",     "bf16"};

static void add_features(bench_machine *m, char *list) {
    size_t n = 0;
    for (char *rest = list, *word; (word = strtok_r(rest, " \t\n", &rest));)
        for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
            if (strcmp(word, telling[i]) == 0 && n + strlen(word) + 2 < sizeof m->features)
                n += (size_t)snprintf(m->features + n, sizeof m->features - n, "%s%s", n ? " " : "", word);
}

// Reads the first processor's entries of /proc/cpuinfo.
static void read_cpuinfo(bench_machine *m) {
    char line[8192];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f) && line[0] != '\n') {
        char *value = strchr(line, ':');
        if (!value) continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        if (strncmp(line, "model name", 10) == 0) snprintf(m->processor, sizeof m->processor, "%s", value);
        if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) add_features(m, value);
    }
    if (f) fclose(f);
}

void bench_machine_read(bench_machine *m) {
    struct utsname u;
    *m = (bench_machine){.n_processors = (int32_t)sysconf(_SC_NPROCESSORS_ONLN), .load = -1};
    if (uname(&u) == 0) snprintf(m->system, sizeof m->system, "%.30s %.60s %.30s", u.sysname, u.release, u.machine);
    snprintf(m->processor, sizeof m->processor, "unknown");
    read_cpuinfo(m);
    m->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
#if defined(__clang__)
    m->compiler = "clang " __clang_version__;
#else
    m->compiler = "gcc " __VERSION__;
#endif
    double load;
    if (getloadavg(&load, 1) == 1) m->load = load;
}

void bench_machine_put(const bench_machine *m, json_writer *w) {
    json_put_begin(w, '{');
    json_member_string(w, "processor", m->processor);
    json_member_string(w, "features", m->features);
    json_member_whole(w, "processors", m->n_processors);
    json_member_u64(w, "memory_bytes", m->memory_bytes);
    json_member_string(w, "system", m->system);
    json_member_string(w, "compiler", m->compiler);
    json_put_key(w, "load");
    if (m->load < 0)
        json_put_null(w);
    else
        json_put_rounded(w, m->load, 2);
    json_put_end(w, '}');
}

void bench_machine_print(const bench_machine *m, bytes *to) {
    char memory[HUMAN_BYTES];
    bytes_add_format(to, "%s, %d processors, %s, %s; runnel %s%s%s, %s", m->processor, m->n_processors,
                     human_size(m->memory_bytes, memory), m->system, rn_version(), *runnel_commit ? " " : "",
                     runnel_commit, m->compiler);
    if (m->load >= 0) bytes_add_format(to, "; load %.2f", m->load);
}
