// fuzz/fuzz_imatrix.c - reads any bytes as an importance matrix and touches every number of it.
#include "base/mem.h"
#include "convert/imatrix_file.h"
#include "walk_package.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const long live = mem_live();
    struct imatrix m = {0};
    rn_error err = {0};
    const rn_status st = imatrix_read(&m, data, n, &err);
    must((st == RN_OK) == (err.text[0] == 0));
    must(st != RN_OK || m.n_entries > 0);
    for (size_t i = 0; st == RN_OK && i < m.n_entries; i++) {
        const struct imatrix_entry *e = &m.entries[i];
        touch(e->name, e->n_name);
        for (uint64_t k = 0; k < e->k * e->n; k++) must(isfinite(e->mean[k]) && e->mean[k] >= 0);
    }
    imatrix_free(&m);
    must(mem_live() == live);
    return 0;
}
