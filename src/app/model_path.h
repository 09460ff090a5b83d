// app/model_path.h - where the model is: what `-m` says, $RUNNEL_MODEL, or the one that comes with the program.
#ifndef RN_APP_MODEL_PATH_H
#define RN_APP_MODEL_PATH_H

// wish: a path, or a name whose file NAME.gguf is in
// ${RUNNEL_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/runnel/models}; NULL: $RUNNEL_MODEL read the same way, else
// models/stories.gguf beside the build or share/runnel/models/stories.gguf beside the installed program.
// Returns a path of the caller's, freed with free(); NULL: there is none, which was said.
char *model_path_find(const char *wish);

#endif
