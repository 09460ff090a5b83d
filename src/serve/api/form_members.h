// serve/api/form_members.h - the form of an answer (app/grammar_form.h) as other interfaces name it.
//
// Threads: one at a time.
#ifndef RN_SERVE_API_FORM_MEMBERS_H
#define RN_SERVE_API_FORM_MEMBERS_H

#include "app/grammar_cache.h"
#include "app/grammar_form.h"
#include "serve/api/api_request.h"

// response_format, structured_outputs, guided_*: their target is a struct api_generation.
enum { FORM_MEMBER_ROWS = 7 };
extern const member form_member_rows[FORM_MEMBER_ROWS];

// Where an object {"type": "text" | "json_object" | "json_schema" | "structural_tag", ...} stands, and its schema, as errors name them.
typedef struct format_names {
    const char *whole, *schema;
    const char *nested; // of the schema inside a member json_schema; NULL: there is none, nor a structural tag
} format_names;
// Reads such an object. Names, descriptions and `strict` change nothing: what the schema says is always enforced.
bool form_read_format(grammar_form *f, const format_names *names, const json_item *value, char *why);
// The grammar of a form for the request's model, from the cache: api_grammars(), to which it is given back. *kept is NULL where the request
// gives none. False: r->error says why.
bool form_compile(const grammar_form *f, api_request *r, kept_grammar **kept);
// The same of another source; `member` of the request holds it.
bool form_compile_source(const rn_grammar_source *source, const char *member, api_request *r, kept_grammar **kept);
#define FORMAT_PARTS(types) "'type':{'enum':[" types "]},'schema':{'type':['object','boolean','null']}"
#define FORMAT_TYPES        "'text','json_object','json_schema'"
#define FORMAT_SCHEMA       "{'type':'object','properties':{" FORMAT_PARTS(FORMAT_TYPES) "},'required':['type']}"

#endif
