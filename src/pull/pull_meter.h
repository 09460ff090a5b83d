// pull/pull_meter.h - how far a pull is: the progress bar with speed and time left.
//
// Threads: one at a time.
#ifndef RN_PULL_PULL_METER_H
#define RN_PULL_PULL_METER_H

#include "app/progress.h"
#include "pull/http_fetch.h"

enum { METER_SAMPLES = 32 };

typedef struct pull_meter {
    progress bar;
    const char *label;            // the file's name
    uint64_t n_files_done, total; // bytes of the files before this one, and of all; total NO_SIZE: unknown
    uint64_t n_fetched;           // bytes that came over the network in this run
    int64_t begin_ns;
    struct {
        int64_t ns;
        uint64_t n_fetched;
    } samples[METER_SAMPLES]; // of the last seconds, a ring
    size_t n_samples;
    char note[64];
} pull_meter;

void pull_meter_begin(pull_meter *m, uint64_t total);
// n_done: bytes of this file that are there.
void pull_meter_show(pull_meter *m, uint64_t n_done);
// While the file is checked.
void pull_meter_show_check(pull_meter *m, uint64_t n_done, uint64_t n_bytes);

#endif
