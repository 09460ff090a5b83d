// serve/native/infill_form.h - the prompt of POST /infill, llama-server's: a text with a hole.
//
// Ownership: `struct infill` is the caller's; infill_begin() first, infill_free() last; its texts belong to the request.
// Threads:   one at a time.
#ifndef RN_SERVE_NATIVE_INFILL_FORM_H
#define RN_SERVE_NATIVE_INFILL_FORM_H

#include "app/infill_prompt.h"
#include "app/json_read.h"
#include "serve/native/native_generate.h"

enum { INFILL_EXTRA = 64 };

typedef struct infill {
    json_span prefix, suffix, repo_name, file_name;
    int32_t order; // of rn_infill_order
    rn_infill_file extra[INFILL_EXTRA];
    size_t n_extra;
    rn_infill_prompt made;
    rn_part part; // of the request
} infill;

// For `member` rows whose target is an infill.
extern const member infill_rows[];
enum { INFILL_ROWS = 6 };
// Makes the prompt of a request that was read. Its member `prompt` stands in the hole already. False: the error says why.
bool infill_read(infill *f, native_request *q);
void infill_free(infill *f);

#endif
