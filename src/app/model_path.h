// app/model_path.h - finds the model: `-m`, $RUNNEL_MODEL, or the one that comes with the program.
#ifndef RN_APP_MODEL_PATH_H
#define RN_APP_MODEL_PATH_H

// name: a path, or a name whose file NAME.gguf is in
// ${RUNNEL_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/runnel/models}; NULL: $RUNNEL_MODEL read the same way, else
// models/stories.gguf next to the build, or share/runnel/models/stories.gguf of the installation.
// Returns a path to be freed with free(); NULL: there is none, and the error has been printed.
char *model_path_find(const char *name);

#endif
