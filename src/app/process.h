// app/process.h - start and end of each of the project's programs, and the folder they are in.
#ifndef RN_APP_PROCESS_H
#define RN_APP_PROCESS_H

// Ignores SIGPIPE: failed writes are reported where they happen.
void process_begin(void);

// Flushes stdio. Returns code, or EXIT_CODE_FAILED if code was 0 and flushing failed; the error has been printed.
int process_end(int code);

// The folder of the running program, with symbolic links resolved; freed with free(). NULL: unknown.
char *process_folder(void);

#endif
