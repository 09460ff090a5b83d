// serve/api/sampling_json.c - see sampling_json.h.
#include "serve/api/sampling_json.h"
#include "app/named_settings.h"
#include <runnel/runnel.h>

static void put_number(json_writer *w, const char *name, const rn_field *f, double v) {
    json_put_key(w, name);
    if (f->is_int)
        json_put_whole(w, (int64_t)v);
    else
        json_put_float(w, (float)v);
}

void sampling_put_fields(json_writer *w, const char *name) {
    rn_field f;
    json_member_begin(w, name, '[');
    for (size_t i = 0; i < rn_n_sampling_fields(); i++) {
        if (!rn_sampling_field(i, &f)) continue;
        json_put_begin(w, '{');
        json_member_string(w, "name", f.name);
        json_member_string(w, "help", f.help);
        json_member_bool(w, "is_int", f.is_int);
        put_number(w, "min", &f, f.min);
        put_number(w, "max", &f, f.max);
        put_number(w, "default", &f, f.def);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

static void put_values(json_writer *w, const char *preset) {
    rn_sampling s;
    rn_field f;
    rn_sampling_init(&s);
    json_member_begin(w, "values", '{');
    if (rn_sampling_preset(&s, preset, NULL) == RN_OK)
        for (size_t i = 0; i < rn_n_sampling_fields(); i++)
            if (rn_sampling_field(i, &f)) put_number(w, f.name, &f, rn_sampling_get(&s, f.name));
    json_put_end(w, '}');
}

void sampling_put_strategies(json_writer *w, const char *name, int32_t n_seqs) {
    json_member_begin(w, name, '[');
    for (const named_settings *s = named_settings_rows; s->name; s++) {
        if (s->n_seqs > n_seqs) continue;
        json_put_begin(w, '{');
        json_member_string(w, "name", s->name);
        json_member_string(w, "help", s->words);
        json_put_key(w, "members");
        json_put_raw(w, s->members);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

void sampling_put_presets(json_writer *w, const char *name) {
    json_member_begin(w, name, '[');
    for (size_t i = 0; i < rn_n_presets(); i++) {
        const char *help = NULL;
        const char *const preset = rn_preset_name(i, &help);
        json_put_begin(w, '{');
        json_member_string(w, "name", preset);
        json_member_string(w, "help", help);
        put_values(w, preset);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}
