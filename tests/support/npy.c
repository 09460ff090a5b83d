// tests/support/npy.c - see npy.h. Format: numpy.lib.format, version 1.0.
#include "tests/support/npy.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

enum { PREAMBLE = 10 }; // magic, version, length of the header

// "(3, 288)" or "(7,)"
static bool read_shape(const char *header, struct npy *out) {
    const char *at = strstr(header, "'shape': (");
    if (!at) return false;
    at += strlen("'shape': (");
    while (out->n_dims < NPY_MAX_DIMS && *at != ')') {
        char *end;
        out->shape[out->n_dims] = strtoul(at, &end, 10);
        if (end == at) return false;
        out->n_dims++;
        at = end + strspn(end, ", ");
    }
    return *at == ')';
}

static bool parse(const uint8_t *bytes, size_t n, struct npy *out) {
    if (n < PREAMBLE || memcmp(bytes, "\x93NUMPY\x01\x00", 8) != 0) return false;
    const size_t n_header = bytes[8] | (size_t)bytes[9] << 8;
    char header[1024];
    if (n_header >= sizeof header || n_header > n - PREAMBLE) return false;
    memcpy(header, bytes + PREAMBLE, n_header);
    header[n_header] = 0;
    if (!strstr(header, "'descr': '<f4'") || !strstr(header, "'fortran_order': False")) return false;
    for (int d = 0; d < NPY_MAX_DIMS; d++) out->shape[d] = 1;
    if (!read_shape(header, out)) return false;
    size_t n_bytes = sizeof(float);
    for (int d = 0; d < out->n_dims; d++) n_bytes *= out->shape[d];
    if (n - PREAMBLE - n_header != n_bytes) return false;
    out->data = malloc(n_bytes ? n_bytes : 1);
    if (!out->data) abort();
    memcpy(out->data, bytes + PREAMBLE + n_header, n_bytes);
    return true;
}

bool npy_read(const char *path, struct npy *out) {
    size_t n;
    *out = (struct npy){0};
    uint8_t *bytes = read_file(path, &n);
    const bool ok = bytes && parse(bytes, n, out);
    free(bytes);
    check_note("%s", path);
    return CHECK(ok);
}

void npy_free(struct npy *a) {
    free(a->data);
    *a = (struct npy){0};
}
