// app/numbers.h - parses numbers strictly: the whole text must be a number within range, else there is a reason.
//
// A reason is written to `why` (NUMBER_WHY bytes) without the name of what was read: `'abc' is not a whole
// number (0..10)`.
// Threads: any.
#ifndef RN_APP_NUMBERS_H
#define RN_APP_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_WHY 256

bool number_read_whole(const char *text, int64_t min, int64_t max, int64_t *value, char *why);
bool number_read_u64(const char *text, uint64_t *value, char *why);
// Decimal only; not NaN and not infinite.
bool number_read_real(const char *text, double min, double max, double *value, char *why);
// Checks a number that is already parsed, for example from a JSON document. Same reasons.
bool number_check(double value, double min, double max, bool is_whole, char *why);

// A list of token ids.
typedef struct id_list {
    int32_t *ids; // freed with free()
    size_t n;
} id_list;
// n_text bytes of ids apart by commas or white space, in brackets or not: "1,2,3", "1 2 3", "[1, 2, 3]". At
// most 4,194,304. An empty list is no error. On failure nothing is held.
bool id_list_read(const char *text, size_t n_text, id_list *list, char *why);

#endif
