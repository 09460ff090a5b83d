// app/watermark_form.h - a watermark from JSON: the object of transformers' SynthIDTextWatermarkingConfig, in a request or in a file.
//
// Ownership: plain data, copied by watermark_form_copy(), as it points into itself.
// Threads:   one at a time.
#ifndef RN_APP_WATERMARK_FORM_H
#define RN_APP_WATERMARK_FORM_H

#include "app/json_read.h"
#include <runnel/watermark.h>

enum { WATERMARK_KEYS = 64 };
typedef struct watermark_form {
    bool is_given;
    rn_watermark w;
    int64_t keys[WATERMARK_KEYS];
} watermark_form;

void watermark_form_copy(watermark_form *to, const watermark_form *from);
// {"keys": [..], "ngram_len": 5, ...}. A reason of at most JSON_WHY / 2 bytes in why.
bool watermark_form_set(watermark_form *f, const json_item *value, char *why);
// The same from a file of at most 64 KiB. The reason names it.
bool watermark_form_read(watermark_form *f, const char *path, char *why);

// Keys are numbers that JSON of all clients holds exactly.
#define SCHEMA_WATERMARK_RANGE(min) "{'type':'integer','minimum':" min ",'maximum':9007199254740991}"
#define SCHEMA_WATERMARK                                                                                               \
    "{'type':'object','required':['keys'],'additionalProperties':false,'properties':{"                                 \
    "'keys':{'type':'array','minItems':1,'maxItems':64,'items':" SCHEMA_WATERMARK_RANGE(                               \
        "-9007199254740991") "},"                                                                                      \
                             "'ngram_len':{'type':'integer','minimum':2,'maximum':64,'default':5},"                    \
                             "'context_history_size':{'type':'integer','minimum':0,'maximum':1000000,'default':1024}," \
                             "'sampling_table_size':{'type':'integer','minimum':1,'maximum':1048576,'default':65536}," \
                             "'sampling_table_seed':" SCHEMA_WATERMARK_RANGE(                                          \
                                 "0") ","                                                                              \
                                      "'skip_first_ngram_calls':{'type':'boolean'},'debug_mode':{'const':false}}}"

#endif
