// cli/prompt.c - finds the prompt, or explains how to give one.
#include "cli/prompt.h"
#include "app/files.h"
#include "app/say.h"
#include "app/term.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const option prompt_rows[3] = {
    {'p', "prompt", "TEXT", OPTION_TEXT, offsetof(prompt, text_option),
     .help = "the prompt, like PROMPT (for one that begins with a dash)"},
    {'f', "file", "FILE", OPTION_TEXT, offsetof(prompt, file),
     .help = "the prompt is the file's text without its last line break; - is stdin"},
    {0, "ids", "LIST", OPTION_TEXT, offsetof(prompt, ids_option), .help = "the prompt is these token ids: 1,2,3"},
};

static int read_ids(prompt *p) {
    char why[NUMBER_WHY];
    p->is_ids = true;
    if (id_list_read(p->ids_option, strlen(p->ids_option), &p->ids, why)) return EXIT_CODE_OK;
    say("--ids: %s", why);
    return EXIT_CODE_USAGE;
}

static int read_file(prompt *p, const char *path) {
    if (!file_read(path, TEXT_LIMIT, &p->text)) return EXIT_CODE_FAILED;
    if (p->text.n && p->text.data[p->text.n - 1] == '\n') p->text.n--;
    if (p->text.n && p->text.data[p->text.n - 1] == '\r') p->text.n--;
    return EXIT_CODE_OK;
}

// Adds what comes through a pipe, or from a file that stdin is, behind a prompt that was given as an argument. A device (/dev/null) or a
// terminal adds nothing.
static int add_piped(prompt *p) {
    struct stat st;
    if (fstat(STDIN_FILENO, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode))) return EXIT_CODE_OK;
    prompt piped = {0};
    const int code = read_file(&piped, "-");
    if (code == EXIT_CODE_OK && piped.text.n) {
        bytes_add_text(&p->text, "\n\n");
        bytes_add(&p->text, piped.text.data, piped.text.n);
    }
    bytes_free(&piped.text);
    return code;
}

int prompt_read(prompt *p, const options *parsed) {
    const char *const text = parsed->n_positional ? parsed->positional[0] : p->text_option;
    if ((parsed->n_positional != 0) + (p->text_option != NULL) + (p->file != NULL) + (p->ids_option != NULL) > 1) {
        say("prompt: given more than once; PROMPT, -p, -f and --ids exclude each other");
        return EXIT_CODE_USAGE;
    }
    if (p->ids_option) return read_ids(p);
    if (p->stdin_reader && (p->file ? strcmp(p->file, "-") == 0 : !text)) {
        say("prompt: %s: stdin is what %s reads", p->file ? "-f -" : "none given", p->stdin_reader);
        return EXIT_CODE_USAGE;
    }
    if (p->file) return read_file(p, p->file);
    if (text) {
        bytes_add_text(&p->text, text);
        return parsed->n_positional && !p->stdin_reader ? add_piped(p) : EXIT_CODE_OK;
    }
    if (!term_is(STDIN_FILENO)) return read_file(p, "-");
    say("prompt: none given: runnel run \"Once upon a time\", or -p, -f, --ids, or a pipe into stdin");
    return EXIT_CODE_USAGE;
}

void prompt_free(prompt *p) {
    free(p->ids.ids);
    bytes_free(&p->text);
    p->ids = (id_list){0};
}
