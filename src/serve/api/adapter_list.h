// serve/api/adapter_list.h - the adapters that a request names: `lora`, a list of {"id" or "name", "scale"}, or the name of one as `model`.
#ifndef RN_SERVE_API_ADAPTER_LIST_H
#define RN_SERVE_API_ADAPTER_LIST_H

#include "app/json_read.h"
#include "serve/api/api_error.h"
#include "serve/api/api_request.h"

typedef struct adapter_list {
    rn_adapter of[RN_MAX_ADAPTERS]; // none with a scale of 0
    size_t n;
} adapter_list;

// JSON Schema of such a list (app/json_schema.h).
#define ADAPTER_LIST_SCHEMA                                                                                          \
    "{'type':'array','maxItems':64,'items':{'type':'object','properties':{'id':" SCHEMA_WHOLE(                       \
        "0", "63") ",'name':" SCHEMA_TEXT ",'scale':{'type':'number','minimum':-1000,'maximum':1000,'default':1}}}}"

// Its form alone.
bool adapter_list_check(const json_item *list, char *why);
// A list that has been checked, for a model. False: e names the item of `param`.
bool adapter_list_read(const json_item *list, const rn_model *model, const char *param, adapter_list *out,
                       api_error *e);

#endif
