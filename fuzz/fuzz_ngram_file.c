// fuzz/fuzz_ngram_file.c - any bytes as the file of an n-gram cache: an error, or records whose tokens and counts are in range.
#include "formats/ngram_file.h"
#include "walk_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    enum { N_VOCAB = 1000 };
    struct ngram_reader r;
    struct ngram_record x = {.n = 1};
    rn_error err = {0};
    size_t end = 0;
    rn_status st = ngram_reader_begin(&r, "cache", data, n, N_VOCAB, &err);
    while (st == RN_OK && x.n && (st = ngram_reader_next(&r, &x, &err)) == RN_OK && x.n) {
        int64_t counted = 0;
        must(x.at == end && x.n >= 1 && x.n <= NGRAM_FILE_ORDER && x.n_pairs >= 1);
        for (int32_t i = 0; i < NGRAM_FILE_ORDER; i++)
            must(i < x.n ? x.string[i] >= 0 && x.string[i] < N_VOCAB : x.string[i] == -1);
        for (size_t i = 0; i < x.n_pairs; i++) {
            int32_t token, count;
            ngram_record_pair(&x, i, &token, &count);
            must(token >= 0 && token < N_VOCAB && count > 0);
            counted += count;
        }
        must(counted == x.sum);
        end = x.at + 4 * NGRAM_FILE_ORDER + 4 + 8 * x.n_pairs;
    }
    must((st == RN_OK) == (err.text[0] == 0));
    must(st != RN_OK || end == n);
    return 0;
}
