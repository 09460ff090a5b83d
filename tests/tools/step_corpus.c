// tests/tools/step_corpus.c - writes what fuzz_step begins with: step_corpus FOLDER makes a file of the keys of each subject there.
#include "tests/support/arch_subjects.h"
#include <stdio.h>
#include <string.h>

static int write_subject(const char *folder, size_t s) {
    char name[ARCH_SUBJECT_NAME], path[4096];
    arch_subject_name(s, name);
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + n - strlen(name); (slash = strchr(slash, '/'));) *slash = '_';
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "%s %s\n", name, arch_subjects[s].m.keys) < 0 || fclose(f) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: step_corpus FOLDER\n", stderr);
        return 2;
    }
    for (size_t s = 0; s < N_ARCH_SUBJECTS; s++)
        if (write_subject(argv[1], s) != 0) return 1;
    return 0;
}
