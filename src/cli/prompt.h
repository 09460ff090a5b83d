// cli/prompt.h - the prompt of `run`: an argument, -p, -f, --ids, or stdin when it is not a terminal.
//
// Ownership: `struct prompt` is the caller's; prompt_free().
// Threads:   one at a time.
#ifndef RN_CLI_PROMPT_H
#define RN_CLI_PROMPT_H

#include "app/bytes.h"
#include "app/numbers.h"
#include "app/options.h"

typedef struct prompt {
    const char *text_option, *file, *ids_option;
    const char *stdin_reader; // an option that stdin is for, so that it is not the prompt's; NULL: none
    bool is_ids;
    id_list ids;
    bytes text; // when not is_ids
} prompt;

extern const option prompt_rows[3];
#define PROMPT_GROUP(p) {"Prompt", prompt_rows, 3, (p)}

// Reads the prompt. What is piped into stdin goes behind a PROMPT, after an empty line, but not behind -p: a script whose stdin is for
// something else uses that. Returns an exit code; errors have been printed. One line break at the end of a file or of stdin is removed,
// because editors and echo add it. A prompt given as an argument is used unchanged.
int prompt_read(prompt *p, const options *parsed);
void prompt_free(prompt *p);

#endif
