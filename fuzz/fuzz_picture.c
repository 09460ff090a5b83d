// fuzz/fuzz_picture.c - any bytes as a picture.
#include "base/mem.h"
#include "media/picture.h"
#include "walk_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const long live = mem_live();
    struct picture p = {0};
    rn_error err = {0};
    const rn_status st = picture_decode(data, n, &p, &err);
    must((st == RN_OK) == (p.rgb != NULL));
    must(st == RN_OK || err.text[0] != 0);
    uint64_t total = 0;
    for (size_t i = 0; i < (size_t)3 * p.width * p.height; i++) total += p.rgb[i]; // all of them are there
    must(total <= (uint64_t)255 * 3 * p.width * p.height);
    picture_free(&p);
    must(mem_live() == live);
    return 0;
}
