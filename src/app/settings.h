// app/settings.h - the user's file of settings: the default model, defaults of options, also for one model alone, and aliases.
//
//   model = "qwen3-0.6b"                # where a command is given none, nor $RUNNEL_MODEL
//   [aliases]
//   small = "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"
//   [options]                           # of run, chat, infill, batch and serve, by their long names
//   temp = 0.7
//   [models."qwen3-0.6b"]               # the same for this name alone; the catalogue's name, an alias and what they stand for are one
//   ctx = 8192
//
// The file is $RUNNEL_CONFIG (empty: none), else $XDG_CONFIG_HOME/runnel/config.toml, else ~/.config/runnel/config.toml. What is given on
// the command line goes before it, and what it says for a model before what it says for all.
//
// Ownership: the settings live as long as the program.
// Threads:   settings_load() first, from one; then any.
#ifndef RN_APP_SETTINGS_H
#define RN_APP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct setting {
    const char *name, *value; // value: as it would be typed behind the option; "true" for a flag that is on
    const char *of;           // the model that it is for; NULL: all. Of an alias: the name it stands for is `value`
    int line;
} setting;

typedef struct settings {
    const char *path; // NULL: none is used
    bool is_there;
    const char *model; // NULL: not set
    int model_line;
    const setting *options, *aliases;
    size_t n_options, n_aliases;
} settings;

// Reads the file once. False: it cannot be read or has a mistake, which has been printed with its line.
bool settings_load(void);
const settings *settings_get(void);

// May options of the command be set, and this one?
bool settings_has_command(const char *command);
bool settings_has_option(const char *name);
// What is in force for an option with a model (NULL: none is named); NULL: nothing.
const setting *settings_find(const char *name, const char *model);

#endif
