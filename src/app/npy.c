// app/npy.c - writes the header of a .npy file.
#include "app/npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Magic, version 1.0, a 16-bit length, then a Python literal, padded with spaces so that the data begins at a
// multiple of 64.
bool npy_write_head(out_file *to, uint64_t n_rows, uint64_t n_columns) {
    enum { HEAD = 128, FRONT = 10 };
    char head[HEAD];
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", FRONT); // 0x76: HEAD - FRONT
    const int n = snprintf(head + FRONT, HEAD - FRONT,
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu64 "), }", n_rows,
                           n_columns);
    head[FRONT + n] = ' ';
    head[HEAD - 1] = '\n';
    return out_file_write(to, head, HEAD);
}
