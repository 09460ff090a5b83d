// cli/embed_picture.h - `runnel embed --image`: what becomes of a picture, step by step, as a .npy file.
//
// Threads: one at a time.
#ifndef RN_CLI_EMBED_PICTURE_H
#define RN_CLI_EMBED_PICTURE_H

#include "app/machine.h"
#include "app/options.h"

typedef struct embed_picture {
    const char *image, *npy; // NULL: not given
    int32_t stage;
} embed_picture;

enum { EMBED_PICTURE_ROWS = 3 };
extern const option embed_picture_rows[EMBED_PICTURE_ROWS];
#define EMBED_PICTURE_GROUP(p) {"Pictures", embed_picture_rows, EMBED_PICTURE_ROWS, (p)}

bool embed_picture_is_asked(const embed_picture *p); // was any of the options given?
// on: the model, and threads and CPU set of its tower. Returns the exit code.
int embed_picture_run(const embed_picture *p, const machine *on, const options *parsed);
#endif
