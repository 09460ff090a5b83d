// serve/anthropic/anthropic_models.c - see anthropic_models.h.
#include "serve/anthropic/anthropic_models.h"
#include "serve/api/api_time.h"

void anthropic_put_model(const server *s, size_t i, const char *name, json_writer *w) {
    char time[API_TIME_TEXT];
    rn_engine_info e = {.struct_size = sizeof e};
    json_put_begin(w, '{');
    json_member_string(w, "type", "model");
    json_member_string(w, "id", name);
    json_member_string(w, "display_name", name);
    json_member_string(w, "created_at", api_time_text(s->started, time));
    json_member_string(w, "lifecycle", "active");
    if (rn_engine_get_info(s->engine, i, &e, NULL) == RN_OK) {
        json_member_whole(w, "max_input_tokens", e.n_ctx);
        json_member_whole(w, "max_tokens", e.n_ctx);
    }
    json_put_end(w, '}');
}

void anthropic_put_models(const server *s, json_writer *w) {
    json_put_begin(w, '{');
    json_member_begin(w, "data", '[');
    for (size_t i = 0; i < s->n_models; i++) anthropic_put_model(s, i, s->models[i].name, w);
    for (size_t i = 0; i < s->n_aliases; i++) anthropic_put_model(s, s->aliases[i].model, s->aliases[i].name, w);
    json_put_end(w, ']');
    json_member_bool(w, "has_more", false);
    json_member_string(w, "first_id", s->models[0].name);
    json_member_string(w, "last_id",
                       s->n_aliases ? s->aliases[s->n_aliases - 1].name : s->models[s->n_models - 1].name);
    json_put_end(w, '}');
}
