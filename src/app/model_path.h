// app/model_path.h - finds the model: `-m`, $RUNNEL_MODEL, or the one that comes with the program.
#ifndef RN_APP_MODEL_PATH_H
#define RN_APP_MODEL_PATH_H

// name: a path; a name that `runnel pull` takes (app/models/), if a cache has it; the name of a file NAME.gguf in the cache's folder models/;
// or that of any other file or folder that a cache has. NULL: $RUNNEL_MODEL read the same way, else models/stories.gguf next to the
// build, or share/runnel/models/stories.gguf of the installation. Nothing is fetched.
// Returns a path to be freed with free(); NULL: there is none, and the error has been printed.
char *model_path_find(const char *name);

#endif
