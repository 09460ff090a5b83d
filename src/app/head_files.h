// app/head_files.h - draft heads as options name them: medusa=FILE.
//
// Ownership: plain data; paths are the command line's. Threads: one at a time.
#ifndef RN_APP_HEAD_FILES_H
#define RN_APP_HEAD_FILES_H

#include <runnel/runnel.h>
#include <stddef.h>

enum { DRAFT_HEAD_KINDS = RN_DRAFT_HEAD_LAYERS + 1 };

typedef struct draft_heads {
    bool is_given[DRAFT_HEAD_KINDS]; // by rn_draft_head
    const char *file[DRAFT_HEAD_KINDS];
} draft_heads;

// Takes what begins with a kind's name: "medusa=FILE", which goes on to the end of the text. *is_kind: it does, else it is left
// alone. False: its file is missing, or the kind was given before; why [NUMBER_WHY].
bool draft_heads_take(draft_heads *h, const char *text, bool *is_kind, char *why);
// Adds them to a model before its engine is opened. NULL is fine: none.
rn_status draft_heads_add(const draft_heads *h, rn_model *model, rn_error *err);

#endif
