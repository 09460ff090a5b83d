// app/content_part.c - see content_part.h.
#include "app/content_part.h"

void json_put_text_part(json_writer *w, const char *text, size_t n_text) {
    json_put_begin(w, '{');
    json_member_string(w, "type", "text");
    json_member_text(w, "text", text, n_text);
    json_put_end(w, '}');
}

void json_put_picture_part(json_writer *w, bool is_video) {
    json_put_begin(w, '{');
    json_member_string(w, "type", is_video ? "video" : "image");
    json_put_end(w, '}');
}
