// cli/exec_serve.c - `runnel serve`: executes runnel-serve from the same folder (src/serve/serve_main.c
// explains why).
#include "app/process.h"
#include "cli/command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int exec_serve(int n_args, char **args) {
    char *const folder = process_folder();
    char *const path = app_text("%s/runnel-serve", folder ? folder : ".");
    char **const all = app_alloc(((size_t)n_args + 2) * sizeof *all);
    all[0] = path;
    for (int i = 0; i < n_args; i++) all[1 + i] = args[i];
    all[1 + n_args] = NULL;
    execv(path, all); // returns only on failure
    say("serve: %s: %s (it is installed together with runnel)", path, strerror(errno));
    free(all);
    free(path);
    free(folder);
    return EXIT_CODE_FAILED;
}
