// serve/native/infill.h - the prompt of POST /infill, llama-server's: a text with a hole, in the control tokens of the model.
//
// Ownership: `struct infill` is the caller's; {0} is empty; its texts belong to the request.
// Threads:   one at a time.
#ifndef RN_SERVE_NATIVE_INFILL_H
#define RN_SERVE_NATIVE_INFILL_H

#include "app/json_read.h"
#include "serve/api/api_error.h"
#include <runnel/runnel.h>

enum { INFILL_EXTRA = 64, INFILL_PARTS = 4 * INFILL_EXTRA + 7, INFILL_IDS = INFILL_EXTRA + 4 };

typedef struct infill {
    json_span prefix, suffix;
    struct {
        json_span name, text;
    } extra[INFILL_EXTRA]; // of other files
    size_t n_extra, n_parts, n_ids;
    rn_part parts[INFILL_PARTS];
    int32_t ids[INFILL_IDS]; // of the parts
} infill;

// An object of `input_extra`. False: why says what is wrong.
bool infill_add_extra(infill *f, const json_item *value, char *why);
// Makes the parts of a request. between: what stands in the hole already; NULL: nothing. False: the error says why, as where the model has
// no such tokens.
bool infill_make(infill *f, const rn_model *model, const json_span *between, api_error *e);

#endif
