// cli/chat/chat_model.h - which model `chat` talks with where none is named: the one of the last chat, else the only chat model that is
// fetched.
//
// Threads: one at a time.
#ifndef RN_CLI_CHAT_MODEL_H
#define RN_CLI_CHAT_MODEL_H

// A path, freed with free(); NULL: there is none, or there are several, and what to type has been printed.
char *chat_model_find(void);
// Remembers the model of this chat, in ${XDG_STATE_HOME:-~/.local/state}/runnel. A failure is not an error.
void chat_model_remember(const char *path);

// The path of a file in the folder of the program's state, whose folders are made; NULL: there is no place for it. Freed with free().
char *chat_state_path(const char *name);

#endif
