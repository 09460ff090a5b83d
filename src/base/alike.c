// base/alike.c - the names of a list that begin as an unknown name does: names of one family differ at their ends.
#include "base/alike.h"
#include <ctype.h>
#include <stdio.h>

enum { LEAST_COMMON = 3 };

void alike_init(struct alike *a, const char *wanted, size_t n_wanted) {
    *a = (struct alike){.wanted = wanted, .n_wanted = n_wanted};
}

static int lower(char c) { return tolower((unsigned char)c); }

void alike_offer(struct alike *a, const char *name) {
    size_t n = 0;
    while (n < a->n_wanted && name[n] && lower(name[n]) == lower(a->wanted[n])) n++;
    a->n_offered++;
    if (n > a->n_common) a->n_common = n, a->n_names = 0;
    if (n == a->n_common && a->n_names < ALIKE_MAX) a->names[a->n_names++] = name;
}

const char *alike_text(const struct alike *a, char *text, size_t size) {
    size_t n = 0;
    text[0] = 0;
    if (a->n_common < LEAST_COMMON) return text;
    for (size_t i = 0; i < a->n_names && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "nearest: ", a->names[i]);
    if (n < size) snprintf(text + n, size - n, "; ");
    return text;
}
