// app/process.c - see process.h.
#include "app/process.h"
#include "app/say.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

void process_begin(void) {
    // Writing to a closed pipe or beyond the file size limit fails with an error code instead of a signal.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

// A closed pipe at stdout is not an error, as in app/files.h.
int process_end(int code) {
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE) return code;
    say("stdout: %s", strerror(errno));
    return code ? code : EXIT_CODE_FAILED;
}

char *process_folder(void) {
    // AT_EXECFN rather than /proc/self/exe: a chroot may have no /proc.
    char *const path = realpath((const char *)getauxval(AT_EXECFN), NULL);
    char *const slash = path ? strrchr(path, '/') : NULL;
    if (slash) *slash = '\0';
    return path;
}
