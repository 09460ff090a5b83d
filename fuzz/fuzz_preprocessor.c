// fuzz/fuzz_preprocessor.c - any text as preprocessor_config.json; what is read runs on a small picture.
#include "base/mem.h"
#include "formats/folder/preprocessor.h"
#include "walk_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static uint8_t rgb[5 * 3 * 3];
    const struct picture picture = {.width = 5, .height = 3, .rgb = rgb};
    const long live = mem_live();
    struct pipeline p;
    struct pixels out;
    rn_error err = {0};
    for (size_t i = 0; i < sizeof rgb; i++) rgb[i] = (uint8_t)(i * 37);
    if (preprocessor_read((const char *)data, n, &p, &err) != RN_OK) {
        must(err.text[0] != 0);
    } else if (pipeline_run(&p, &picture, true, &out, &err) != RN_OK) {
        must(err.text[0] != 0 && !out.values);
    } else {
        size_t n_values = 1;
        for (size_t i = 0; i < out.n_dims; i++) n_values *= out.shape[i];
        must(n_values > 0 && out.values[0] == out.values[0] && out.values[n_values - 1] == out.values[n_values - 1]);
        mem_free(out.values);
    }
    must(mem_live() == live);
    return 0;
}
