// cli/chat/kept_chats.h - the conversations that `runnel chat` keeps: a file for each, in a folder that only its owner can read.
//
//   ${XDG_STATE_HOME:-~/.local/state}/runnel/chats/ID.jsonl, mode 0600; ID is when the conversation began, as 20261124-152301
//
// The first line is {"model": PATH}, every other one a message.
//
// Threads: one at a time.
#ifndef RN_CLI_KEPT_CHATS_H
#define RN_CLI_KEPT_CHATS_H

#include "cli/chat/dialogue.h"

typedef struct kept_chat {
    char *id, *path;
    char *model;        // NULL: not known
    int64_t changed_ns; // since 1970
    dialogue talk;
} kept_chat;

typedef struct kept_chats {
    kept_chat *items; // the one that was changed last is the first
    size_t n;
} kept_chats;

// Reads all of them. A file that is none, or cannot be read, is left out with a message.
void kept_chats_read(kept_chats *all);
void kept_chats_free(kept_chats *all);
// The one whose id is or begins with `id`; NULL id: the last one. NULL: none, or several, which has been printed.
const kept_chat *kept_chats_find(const kept_chats *all, const char *id);
// The first line of the first message of a person; not terminated.
void kept_chat_title(const kept_chat *k, const char **text, size_t *n);

// A new name in the folder, which is made; NULL: there is no place for it. Freed with free().
char *kept_chat_new_path(void);
// Writes a conversation. False: the error has been printed.
bool kept_chat_write(const char *path, const char *model, const dialogue *talk);

#endif
