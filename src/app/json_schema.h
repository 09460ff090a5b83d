// app/json_schema.h - JSON Schema of members, for `schema` of their rows (app/json_read.h): with ' in place of ".
#ifndef RN_APP_JSON_SCHEMA_H
#define RN_APP_JSON_SCHEMA_H

#define SCHEMA_ANY             "{}"
#define SCHEMA_BOOL            "{'type':'boolean'}"
#define SCHEMA_SWITCH          "{'type':['boolean','null']}" // inside of an object: null counts as absent
#define SCHEMA_TEXT            "{'type':'string'}"
#define SCHEMA_NUMBER          "{'type':'number'}"
#define SCHEMA_OBJECT          "{'type':'object'}"
#define SCHEMA_WHOLE(min, max) "{'type':'integer','minimum':" min ",'maximum':" max "}"
#define SCHEMA_ID              SCHEMA_WHOLE("0", "2147483647")
#define SCHEMA_ARRAY_OF(item)  "{'type':'array','items':" item "}"
#define SCHEMA_SOME_OF(item)   "{'type':'array','minItems':1,'items':" item "}"
#define SCHEMA_IDS             SCHEMA_ARRAY_OF(SCHEMA_ID)
#define SCHEMA_WORDS(words)    "{'enum':[" words "]}"
#define SCHEMA_EITHER(a, b)    "{'anyOf':[" a "," b "]}"
// Forms of an answer (app/grammar_form.h): a schema, texts of which it is one.
#define SCHEMA_FORM    "{'type':['object','boolean']}"
#define SCHEMA_TAGS    "{'type':['object','string']}"
#define SCHEMA_CHOICES "{'type':'array','minItems':1,'maxItems':10000,'items':{'type':'string'}}"
// 64 bits, which a JSON number of some clients cannot hold: also as digits.
#define SCHEMA_SEED(min)                                                                                             \
    SCHEMA_EITHER(SCHEMA_WHOLE(min, "18446744073709551615"), "{'type':'string','pattern':'^[0-9]{1,20}$'}")

#endif
