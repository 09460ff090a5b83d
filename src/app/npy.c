// app/npy.c - writes the header of a .npy file.
#include "app/npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Magic, version 1.0, a 16-bit length, then a Python literal, padded with spaces so that the data begins at a
// multiple of 64.
bool npy_write_head(out_file *to, const char *descr, const uint64_t *shape, size_t n_dims) {
    enum { HEAD = 192, FRONT = 10, NUMBER = 20 };
    char head[HEAD], sizes[NPY_MAX_DIMS * (NUMBER + 2) + 1];
    size_t at = 0;
    for (size_t i = 0; i < n_dims; i++) // a tuple of one has its comma behind it
        at += (size_t)snprintf(sizes + at, sizeof sizes - at, "%s%" PRIu64 "%s", i ? " " : "", shape[i],
                               i + 1 < n_dims || n_dims == 1 ? "," : "");
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\xb6\x00", FRONT); // 0xb6: HEAD - FRONT
    const int n = snprintf(head + FRONT, HEAD - FRONT, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                           descr, sizes);
    head[FRONT + n] = ' ';
    head[HEAD - 1] = '\n';
    return out_file_write(to, head, HEAD);
}
