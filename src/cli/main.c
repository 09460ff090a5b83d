// cli/main.c - finds and runs the command. Each command handles its own --help.
#include "app/options.h"
#include "app/process.h"
#include "app/wrap.h"
#include "cli/command.h"
#include <runnel/api.h>
#include <stdio.h>
#include <string.h>

static const command commands[] = {
    {"run", "continue a prompt, streaming the text", cmd_run},
    {"infill", "write what stands between two texts", cmd_infill},
    {"chat", "chat with a model at a terminal, or from a pipe", cmd_chat},
    {"chats", "list the conversations that chat kept", cmd_chats},
    {"compare", "continue a prompt in several ways, side by side", cmd_compare},
    {"serve", "serve many clients over HTTP", exec_serve},
    {"batch", "answer many requests from a file of JSON lines", cmd_batch},
    {"score", "compute how probable a text is, token by token", cmd_score},
    {"embed", "convert texts to vectors, or score them with a reranker", cmd_embed},
    {"tokenize", "convert text to token ids", cmd_tokenize},
    {"detokenize", "convert token ids to text", cmd_detokenize},
    {"watermark", "find out whether a text bears a watermark", cmd_watermark},
    {"grammar", "check texts against a JSON Schema or another form", cmd_grammar},
    {"template", "render a conversation with a chat template", cmd_template},
    {"pull", "fetch a model by name", exec_pull},
    {"list", "list the models that are fetched", cmd_list},
    {"show", "show where a fetched model came from", cmd_show},
    {"rm", "delete a fetched model", cmd_rm},
    {"config", "show the settings that are in force", cmd_config},
    {"info", "describe a model file and how it would run here", cmd_info},
    {"bench", "measure prompt and generation speed", cmd_bench},
    {"convert", "convert a Hugging Face folder to a GGUF file", cmd_convert},
    {"merge", "write a model with LoRA adapters merged into it", cmd_merge},
    {"quantize", "convert a GGUF file to fewer bits per weight", cmd_quantize},
    {"imatrix", "measure which weights matter most, for quantize", cmd_imatrix},
    {"ngram-cache", "count what follows what in texts, for guesses", cmd_ngram_cache},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const command *find_command(const char *name) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static void print_help(FILE *to) {
    fputs("usage: runnel COMMAND [options]\n\n", to);
    for (size_t i = 0; i < N_COMMANDS; i++) fprintf(to, "  %-12s%s\n", commands[i].name, commands[i].summary);
    fputs("  help        this page, or the page of a command: runnel help run\n"
          "  version     the program's version\n\n"
          "runnel COMMAND --help lists a command's options.\n"
          "Without -m the model is $RUNNEL_MODEL, else the one that comes with the program.\n\n"
          "  runnel run \"Once upon a time\"\n\n"
          "Exit: 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl+C.\n",
          to);
}

static int unknown_command(const char *name) {
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++) names[i] = commands[i].name;
    const char *near = nearest_word(name, names, N_COMMANDS);
    say("%s: unknown %s%s%s%s (runnel --help lists them)", name, name[0] == '-' ? "option" : "command",
        near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    return EXIT_CODE_USAGE;
}

static int help(const char *about) {
    if (!about) {
        print_help(stdout);
        return EXIT_CODE_OK;
    }
    const command *c = find_command(about);
    char arg[] = "--help", *args[] = {arg, NULL};
    return c ? c->run(1, args) : unknown_command(about);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_CODE_USAGE;
    }
    const char *const name = argv[1];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return help(argv[2]);
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        printf("runnel %s\n", rn_version());
        return EXIT_CODE_OK;
    }
    const command *c = find_command(name);
    return c ? c->run(argc - 2, argv + 2) : unknown_command(name);
}

int main(int argc, char **argv) {
    process_begin();
    return process_end(dispatch(argc, argv));
}
