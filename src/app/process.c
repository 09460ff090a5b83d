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
    signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of write(), seen where it happens
    signal(SIGXFSZ, SIG_IGN); // so is a file that may not grow further
}

// As in app/files.h, a reader that went away is no error.
int process_end(int code) {
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE) return code;
    say("stdout: %s", strerror(errno));
    return code ? code : EXIT_CODE_FAILED;
}

char *process_folder(void) {
    // By the kernel's word rather than /proc/self/exe: a bare chroot has no /proc.
    char *const path = realpath((const char *)getauxval(AT_EXECFN), NULL);
    char *const slash = path ? strrchr(path, '/') : NULL;
    if (slash) *slash = '\0';
    return path;
}
