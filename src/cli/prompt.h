// cli/prompt.h - the prompt of `run`: one of an argument, -p, -f, --ids, or stdin when it is not a terminal.
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
    bool is_ids;
    id_list ids;
    bytes text; // when not is_ids
} prompt;

extern const option prompt_rows[3];
#define PROMPT_GROUP(p) {"Prompt", prompt_rows, 3, (p)}

// Reads what was given. Returns an exit code; what is wrong was said. A file or stdin gives its text without
// one last line break: editors and echo write one that is not meant. A prompt given as an argument is taken to
// the byte.
int prompt_read(prompt *p, const options *parsed);
void prompt_free(prompt *p);

#endif
