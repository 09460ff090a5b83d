// formats/ngram_file.h - files of n-gram caches as llama.cpp's "lookup" programs write them: which tokens followed a string of 1 to 4, and how often.
//
// Little endian, records until the end: int32[4] the string, -1 behind a shorter one; int32 the number of pairs; pairs of int32 token, int32
// count. Untrusted. Ownership: the bytes are the caller's and outlive the reader. Threads: one at a time.
#ifndef RN_FORMATS_NGRAM_FILE_H
#define RN_FORMATS_NGRAM_FILE_H

#include "base/cursor.h"
#include "base/status.h"

enum { NGRAM_FILE_ORDER = 4 };

struct ngram_reader {
    const char *name; // begins messages
    cursor c;
    int32_t n_vocab; // tokens are below it
};

struct ngram_record {
    size_t at; // offset in the file
    int32_t string[NGRAM_FILE_ORDER];
    int32_t n;            // tokens of the string; 0: the file has ended
    size_t n_pairs;       // at least 1
    const uint8_t *pairs; // [n_pairs] of eight bytes
    int64_t sum;          // of their counts
};

// RN_E_LIMIT: larger than NGRAM_FILE_MAX_BYTES.
rn_status ngram_reader_begin(struct ngram_reader *r, const char *name, const uint8_t *data, size_t n, int32_t n_vocab,
                             rn_error *err);
// The next record, checked: RN_E_FORMAT says what is wrong where.
rn_status ngram_reader_next(struct ngram_reader *r, struct ngram_record *out, rn_error *err);
void ngram_record_pair(const struct ngram_record *r, size_t i, int32_t *token, int32_t *count);

#endif
