// cli/bench_machine.h - the machine and the build that benchmark figures were taken with.
#ifndef RN_CLI_BENCH_MACHINE_H
#define RN_CLI_BENCH_MACHINE_H

#include "app/bytes.h"
#include "app/json_write.h"

// The commit of the source tree at build time; "" if it was not a git checkout (cmake/commit.cmake).
extern const char runnel_commit[];

typedef struct bench_machine {
    char processor[128];   // the system's name for it
    char features[256];    // vector instruction sets, separated by spaces
    int32_t n_processors;  // online
    uint64_t memory_bytes; // total
    char system[128];      // "Linux 6.1.0 x86_64"
    const char *compiler;
    double load; // load average of the last minute; negative: unknown
} bench_machine;

void bench_machine_read(bench_machine *m);
void bench_machine_put(const bench_machine *m, json_writer *w); // a JSON object
void bench_machine_print(const bench_machine *m, bytes *to);    // a line for people

#endif
