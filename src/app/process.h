// app/process.h - what each of the project's programs does first and last, and where it lies.
#ifndef RN_APP_PROCESS_H
#define RN_APP_PROCESS_H

// Failures of writing are seen where they happen, not as signals.
void process_begin(void);

// Did all that went through stdio arrive? code, or EXIT_CODE_FAILED where it was 0 and did not, which was said.
int process_end(int code);

// The folder that the running program lies in, symbolic links followed; the caller's. NULL: the system does not say.
char *process_folder(void);

#endif
