// serve/api/tool_arguments.c - see tool_arguments.h.
#include "serve/api/tool_arguments.h"
#include "app/json_read.h"

void put_tool_arguments(json_writer *w, const bytes *text) {
    char why[JSON_WHY] = "";
    json_doc *doc = NULL;
    if (text->n == 0) {
        json_put_raw(w, "{}");
    } else if (json_doc_parse(text->data, text->n, &doc, why)) {
        // Line breaks stand between its tokens only; an answer may be one line of several (application/x-ndjson).
        bytes line = {0};
        bytes_add(&line, text->data, text->n);
        for (size_t i = 0; i < line.n; i++)
            if (line.data[i] == '\n' || line.data[i] == '\r') line.data[i] = ' ';
        json_put_raw(w, line.data);
        bytes_free(&line);
    } else {
        json_put_begin(w, '{');
        json_member_bytes(w, "INVALID_JSON", text);
        json_put_end(w, '}');
    }
    json_doc_free(doc);
}
