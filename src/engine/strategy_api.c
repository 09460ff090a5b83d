// engine/strategy_api.c - names and options of strategies by name.
#include "decoding/strategy.h"
#include "engine/params.h"
#include "engine/public_structs.h"
#include <math.h>
#include <string.h>

// What both structs have, by the same name.
#define BOTH(name)                                                                                                   \
    {#name, offsetof(rn_strategy_options, name), offsetof(struct strategy_options, name),                            \
     sizeof((rn_strategy_options){0}.name)}
static const struct {
    const char *name;
    size_t theirs, ours, n_bytes;
} fields[] = {
    BOTH(num_beams),
    BOTH(num_beam_groups),
    BOTH(diversity_penalty),
    BOTH(length_penalty),
    BOTH(early_stopping),
    BOTH(do_sample),
    BOTH(num_return_sequences),
    BOTH(renormalize_logits),
    BOTH(penalty_alpha),
    BOTH(num_candidates),
    BOTH(amateur_model),
    BOTH(amateur_weight),
    BOTH(amateur_temperature),
    BOTH(relative_top),
    BOTH(dola_layers),
    BOTH(simulations),
    BOTH(tree_width),
    BOTH(c_puct),
    BOTH(value),
    BOTH(best_of),
    BOTH(majority),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

void strategy_options_from_public(const rn_strategy_options *from, struct strategy_options *to) {
    strategy_options_defaults(to);
    for (size_t i = 0; from && i < N_FIELDS; i++)
        memcpy((char *)to + fields[i].ours, (const char *)from + fields[i].theirs, fields[i].n_bytes);
}

const char *rn_strategy_name(size_t i, const char **help) {
    for (size_t k = 0; k < strategy_n_kinds; k++) {
        if (!strategy_kinds[k].is_for_requests || i-- > 0) continue;
        if (help) *help = strategy_kinds[k].help;
        return strategy_kinds[k].name;
    }
    return NULL;
}

bool rn_strategy_excludes(const char *name, const char *option) {
    const struct strategy_kind *const kind = name ? strategy_find(name) : &strategy_kinds[0];
    return kind && option && strategy_option_is_in(kind->excludes, option);
}

rn_status strategy_check_excluded(const struct strategy_kind *kind, const rn_request *r, rn_error *err) {
    const struct {
        const char *name;
        bool is_on;
    } rows[] = {
        {"mirostat", r->sampling->mirostat > 0},    {"adaptive_target", r->sampling->adaptive_target >= 0},
        {"watermark", r->sampling->watermark},      {"speculate", r->speculate && strcmp(r->speculate, "none") != 0},
        {"guidance_scale", r->guidance_scale != 1}, {"banned_strings", r->n_banned_strings > 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].is_on && strategy_option_is_in(kind->excludes, rows[i].name))
            return fail(err, RN_E_UNSUPPORTED, "%s: not with the strategy %s", rows[i].name, kind->name);
    return RN_OK;
}

bool rn_strategy_option_at(size_t i, rn_strategy_option *option) {
    static const rn_option_kind kinds[] = {[STRATEGY_REAL] = RN_OPTION_REAL,
                                           [STRATEGY_INT] = RN_OPTION_INT,
                                           [STRATEGY_WORD] = RN_OPTION_WORD,
                                           [STRATEGY_TEXT] = RN_OPTION_TEXT};
    if (i >= strategy_n_options || !option) return false;
    const struct strategy_option *const row = &strategy_options_table[i];
    *option = (rn_strategy_option){.name = row->name,
                                   .help = row->help,
                                   .strategies = row->strategies,
                                   .kind = kinds[row->kind],
                                   .min = row->min,
                                   .max = row->max,
                                   .def = row->def,
                                   .words = row->words};
    return true;
}

union value {
    float real;
    int32_t number;
    const char *text;
};
static void write_field(rn_strategy_options *own, const char *name, union value value) {
    for (size_t i = 0; i < N_FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0) memcpy((char *)own + fields[i].theirs, &value, fields[i].n_bytes);
}

rn_status rn_strategy_options_set(rn_strategy_options *s, const char *name, double value, rn_error *err) {
    rn_strategy_options own;
    if (!s || !name) return fail(err, RN_E_ARG, "rn_strategy_options_set: NULL argument");
    const rn_status st = sized_read(&public_strategy_options, s, &own, err);
    const struct strategy_option *const row = strategy_option_find(name);
    if (st != RN_OK) return st;
    if (!row) return fail(err, RN_E_ARG, "%s: unknown option of strategies", name);
    if (row->kind == STRATEGY_TEXT) return fail(err, RN_E_ARG, "%s: is a text, not a number", name);
    if (!(value >= row->min && value <= row->max))
        return fail(err, RN_E_ARG, "%s: %g is outside %g..%g", name, value, row->min, row->max);
    if (row->kind != STRATEGY_REAL && value != floor(value))
        return fail(err, RN_E_ARG, "%s: %g is not a whole number", name, value);
    if (row->kind == STRATEGY_REAL)
        write_field(&own, name, (union value){.real = (float)value});
    else
        write_field(&own, name, (union value){.number = (int32_t)value});
    sized_write(&public_strategy_options, &own, s);
    return RN_OK;
}

// The number of a word of a list; -1: it is none of them.
static int32_t word_number(const char *words, const char *word) {
    const size_t n = strlen(word);
    int32_t i = 0;
    for (const char *at = words; at; i++) {
        if (strncmp(at, word, n) == 0 && (at[n] == 0 || at[n] == '|')) return i;
        if ((at = strchr(at, '|'))) at++;
    }
    return -1;
}

rn_status rn_strategy_options_set_text(rn_strategy_options *s, const char *name, const char *text, rn_error *err) {
    rn_strategy_options own;
    if (!s || !name || !text) return fail(err, RN_E_ARG, "rn_strategy_options_set_text: NULL argument");
    const rn_status st = sized_read(&public_strategy_options, s, &own, err);
    const struct strategy_option *const row = strategy_option_find(name);
    if (st != RN_OK) return st;
    if (!row) return fail(err, RN_E_ARG, "%s: unknown option of strategies", name);
    if (row->kind != STRATEGY_TEXT && row->kind != STRATEGY_WORD)
        return fail(err, RN_E_ARG, "%s: is a number, not a text", name);
    const int32_t number = row->kind == STRATEGY_WORD ? word_number(row->words, text) : 0;
    if (number < 0) return fail(err, RN_E_ARG, "%s: \"%.60s\" is not one of %s", name, text, row->words);
    if (row->kind == STRATEGY_WORD)
        write_field(&own, name, (union value){.number = number});
    else
        write_field(&own, name, (union value){.text = text});
    sized_write(&public_strategy_options, &own, s);
    return RN_OK;
}
