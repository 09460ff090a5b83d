// cli/command.h - the program's commands: each has a row in a table, a function and a file.
#ifndef RN_CLI_COMMAND_H
#define RN_CLI_COMMAND_H

#include "app/say.h"

// args: the arguments after the command's name. Returns the exit code (app/say.h); errors have been printed.
typedef int (*command_fn)(int n_args, char **args);
typedef struct command {
    const char *name, *summary;
    command_fn run;
} command;

int cmd_run(int n_args, char **args);
int cmd_infill(int n_args, char **args);
int cmd_chat(int n_args, char **args);
int cmd_chats(int n_args, char **args);
int exec_serve(int n_args, char **args); // executes the program runnel-serve
int cmd_compare(int n_args, char **args);
int exec_pull(int n_args, char **args); // executes the program runnel-pull
int cmd_list(int n_args, char **args);
int cmd_show(int n_args, char **args);
int cmd_rm(int n_args, char **args);
int cmd_config(int n_args, char **args);
int cmd_batch(int n_args, char **args);
int cmd_score(int n_args, char **args);
int cmd_embed(int n_args, char **args);
int cmd_tokenize(int n_args, char **args);
int cmd_detokenize(int n_args, char **args);
int cmd_convert(int n_args, char **args);
int cmd_merge(int n_args, char **args);
int cmd_quantize(int n_args, char **args);
int cmd_imatrix(int n_args, char **args);
int cmd_ngram_cache(int n_args, char **args);
int cmd_watermark(int n_args, char **args);
int cmd_grammar(int n_args, char **args);
int cmd_template(int n_args, char **args);
int cmd_info(int n_args, char **args);
int cmd_bench(int n_args, char **args);

#endif
