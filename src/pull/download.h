// pull/download.h - one file over several connections: resumed, checked, complete or absent.
//
// Threads: one at a time.
#ifndef RN_PULL_DOWNLOAD_H
#define RN_PULL_DOWNLOAD_H

#include "pull/pull_meter.h"
#include "pull/pull_plan.h"

typedef enum download_outcome {
    DOWNLOAD_FETCHED,
    DOWNLOAD_WAS_THERE,   // the right file was there before, or another process has fetched it meanwhile
    DOWNLOAD_INTERRUPTED, // Ctrl+C; what has come is kept for the next pull
    DOWNLOAD_FAILED       // the error has been printed; what has come is kept, unless it was wrong
} download_outcome;

// Fetches the file into the folder. n_connections: 1..16.
download_outcome download_file(const pull_file *file, const char *folder, const http_client *client,
                               int32_t n_connections, pull_meter *meter);

#endif
