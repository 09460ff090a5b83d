// cli/bench_machine.h - what figures are of: the machine, and the build of the program.
#ifndef RN_CLI_BENCH_MACHINE_H
#define RN_CLI_BENCH_MACHINE_H

#include "app/bytes.h"
#include "app/json_write.h"

extern const char
    runnel_commit[]; // of the source tree when this was built, "" where there is none (cmake/commit.cmake)

typedef struct bench_machine {
    char processor[128];   // as the system names it
    char features[256];    // of its vector instructions, apart by blanks
    int32_t n_processors;  // online
    uint64_t memory_bytes; // all there is
    char system[128];      // "Linux 6.1.0 x86_64"
    const char *compiler;
    double load; // processes that wanted to run, mean of the last minute; negative: unknown
} bench_machine;

void bench_machine_read(bench_machine *m);
void bench_machine_put(const bench_machine *m, json_writer *w); // a JSON object
void bench_machine_print(const bench_machine *m, bytes *to);    // a line for people

#endif
