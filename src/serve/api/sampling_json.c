// serve/api/sampling_json.c - see sampling_json.h.
#include "serve/api/sampling_json.h"
#include "app/named_settings.h"
#include <runnel/runnel.h>
#include <string.h>

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

void sampling_put_strategies(json_writer *w, const char *name, const struct server *s) {
    json_member_begin(w, name, '[');
    for (const named_settings *n = named_settings_rows; n->name; n++) {
        if (n->n_seqs >= s->n_beams || (n->needs_amateur && !s->machine.amateur) ||
            (n->needs_early_layers && !s->machine.early_layers))
            continue;
        json_put_begin(w, '{');
        json_member_string(w, "name", n->name);
        json_member_string(w, "help", n->words);
        json_put_key(w, "members");
        json_put_raw(w, n->members);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

// Texts separated by '|' as an array.
static void put_words(json_writer *w, const char *name, const char *words) {
    json_member_begin(w, name, '[');
    for (const char *at = words; at; at = strchr(at, '|'), at += at != NULL) json_put_text(w, at, strcspn(at, "|"));
    json_put_end(w, ']');
}

void sampling_put_strategy_options(json_writer *w, const char *name) {
    static const char *const kinds[] = {[RN_OPTION_REAL] = "number",
                                        [RN_OPTION_INT] = "integer",
                                        [RN_OPTION_WORD] = "word",
                                        [RN_OPTION_TEXT] = "text"};
    rn_strategy_option o;
    json_member_begin(w, name, '[');
    for (size_t i = 0; rn_strategy_option_at(i, &o); i++) {
        json_put_begin(w, '{');
        json_member_string(w, "name", o.name);
        json_member_string(w, "help", o.help);
        put_words(w, "strategies", o.strategies);
        json_member_string(w, "kind", kinds[o.kind]);
        if (o.kind == RN_OPTION_WORD) put_words(w, "words", o.words);
        for (int k = 0; k < 3 && o.kind < RN_OPTION_TEXT; k++) {
            static const char *const names[] = {"min", "max", "default"};
            json_put_key(w, names[k]);
            json_put_float(w, (float)(k == 0 ? o.min : k == 1 ? o.max : o.def));
        }
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
