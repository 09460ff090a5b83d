// base/alike.h - the names of a list that begin as an unknown name does, for the message that refuses it.
//
// Lifetime: names are borrowed until alike_text(). Threads: one at a time.
#ifndef RN_BASE_ALIKE_H
#define RN_BASE_ALIKE_H

#include <stddef.h>

enum { ALIKE_MAX = 4 };

struct alike {
    const char *wanted;
    size_t n_wanted, n_common; // n_common: the most characters that a name has in common with wanted
    size_t n_names, n_offered;
    const char *names[ALIKE_MAX]; // those with that many, as many as there is room for
};

void alike_init(struct alike *a, const char *wanted, size_t n_wanted);
void alike_offer(struct alike *a, const char *name);
// "nearest: qwen3, qwen3moe; " written to text, or "" if fewer than three characters are alike.
const char *alike_text(const struct alike *a, char *text, size_t size);

#endif
