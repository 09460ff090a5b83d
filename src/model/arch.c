// model/arch.c - the table of architectures.
#include "model/arch.h"
#include <string.h>

static const struct arch *const archs[] = {&arch_llama};

const struct arch *arch_find(const char *name) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strcmp(archs[i]->name, name) == 0) return archs[i];
    return NULL;
}

const char *arch_list(void) { return "llama"; }
