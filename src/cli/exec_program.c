// cli/exec_program.c - commands that are programs of their own, in the same folder: `runnel serve`, `runnel pull` (docs/design.md says why).
#include "app/process.h"
#include "cli/command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Returns only on failure. why: what it means that the program is not there.
static int exec_program(const char *name, const char *program, const char *why, int n_args, char **args) {
    char *const folder = process_folder();
    char *const path = app_text("%s/%s", folder ? folder : ".", program);
    char **const all = app_alloc(((size_t)n_args + 2) * sizeof *all);
    all[0] = path;
    for (int i = 0; i < n_args; i++) all[1 + i] = args[i];
    all[1 + n_args] = NULL;
    execv(path, all);
    say("%s: %s: %s (%s)", name, path, strerror(errno), why);
    free(all);
    free(path);
    free(folder);
    return EXIT_CODE_FAILED;
}

int exec_serve(int n_args, char **args) {
    return exec_program("serve", "runnel-serve", "it is installed together with runnel", n_args, args);
}

int exec_pull(int n_args, char **args) {
    return exec_program("pull", "runnel-pull", "it is built where libcurl is: Debian, Ubuntu: libcurl4-gnutls-dev",
                        n_args, args);
}
