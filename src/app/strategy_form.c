// app/strategy_form.c - see strategy_form.h.
#include "app/strategy_form.h"
#include "app/numbers.h"
#include "app/option_name.h"
#include "app/say.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void strategy_form_init(strategy_form *f) {
    *f = (strategy_form){0};
    for (size_t i = 0; i < STRATEGY_OPTIONS; i++) f->numbers[i] = NAN, f->words[i] = -1;
}

// Row i, as far as there is room.
static bool option_at(size_t i, rn_strategy_option *o) { return i < STRATEGY_OPTIONS && rn_strategy_option_at(i, o); }

// The option of that name; its row in *o. SIZE_MAX: there is none.
static size_t find_option(const char *name, rn_strategy_option *o) {
    for (size_t i = 0; option_at(i, o); i++)
        if (strcmp(o->name, name) == 0) return i;
    return SIZE_MAX;
}

static const char *name_of(const strategy_form *f) { return f->strategy ? f->strategy : rn_strategy_name(0, NULL); }

static bool is_given(const strategy_form *f, size_t i) {
    return !isnan(f->numbers[i]) || f->words[i] >= 0 || f->texts[i];
}

// Given, and not as the default.
static bool is_other(const strategy_form *f, size_t i, const rn_strategy_option *o) {
    return f->texts[i] || (f->words[i] >= 0 && f->words[i] != o->def) ||
           (!isnan(f->numbers[i]) && f->numbers[i] != o->def);
}

static bool takes(const rn_strategy_option *o, const char *strategy) {
    const size_t n = strlen(strategy);
    for (const char *at = o->strategies; at; at = strchr(at, '|'), at += at != NULL)
        if (strncmp(at, strategy, n) == 0 && (at[n] == 0 || at[n] == '|')) return true;
    return false;
}

// An option that is none of the strategy: one that was given, or of which something else than the default was.
static bool find_foreign(const strategy_form *f, bool also_defaults, rn_strategy_option *o) {
    for (size_t i = 0; option_at(i, o); i++)
        if ((also_defaults ? is_given(f, i) : is_other(f, i, o)) && !takes(o, name_of(f))) return true;
    return false;
}

static void list_strategies(char out[STRATEGY_WORDS]) {
    const char *name;
    out[0] = 0;
    for (size_t i = 0, n = 0; (name = rn_strategy_name(i, NULL)) && n < STRATEGY_WORDS; i++)
        n += (size_t)snprintf(out + n, STRATEGY_WORDS - n, "%s%s", i ? "|" : "", name);
}

static bool is_known_strategy(const char *strategy) {
    const char *name;
    for (size_t i = 0; (name = rn_strategy_name(i, NULL)); i++)
        if (strcmp(name, strategy) == 0) return true;
    return false;
}

bool strategy_form_check(const strategy_form *f) {
    rn_strategy_option o;
    char name[32], strategies[STRATEGY_WORDS];
    if (!is_known_strategy(name_of(f))) {
        list_strategies(strategies);
        say("--strategy: '%.60s' is not one of %s", name_of(f), strategies);
        return false;
    }
    if (!find_foreign(f, true, &o)) return true;
    option_name_dashed(o.name, name, sizeof name);
    say("--%s: is an option of --strategy %s, not of %s", name, o.strategies, name_of(f));
    return false;
}

static rn_status set(rn_strategy_options *out, const strategy_form *f, size_t i, const char *name, rn_error *err) {
    if (f->texts[i]) return rn_strategy_options_set_text(out, name, f->texts[i], err);
    return rn_strategy_options_set(out, name, f->words[i] >= 0 ? f->words[i] : f->numbers[i], err);
}

bool strategy_form_apply(const strategy_form *f, rn_request *req, rn_strategy_options *out, rn_error *err) {
    rn_strategy_option o;
    rn_strategy_options_init(out);
    req->strategy = name_of(f);
    req->strategy_options = out;
    if (!is_known_strategy(name_of(f))) {
        char strategies[STRATEGY_WORDS];
        list_strategies(strategies);
        *err = (rn_error){.code = RN_E_ARG};
        snprintf(err->text, sizeof err->text, "strategy: '%.60s' is not one of %s", name_of(f), strategies);
        return false;
    }
    if (find_foreign(f, false, &o)) { // clients send defaults, too
        *err = (rn_error){.code = RN_E_ARG};
        snprintf(err->text, sizeof err->text, "%s: is an option of the strategy %s, not of %s", o.name, o.strategies,
                 name_of(f));
        return false;
    }
    for (size_t i = 0; option_at(i, &o); i++)
        if (is_given(f, i) && set(out, f, i, o.name, err) != RN_OK) return false;
    return true;
}

void strategy_form_choose(strategy_form *f, const char *strategy, const char *name, double value) {
    rn_strategy_option o;
    if (!f->strategy) f->strategy = strategy;
    const size_t i = name ? find_option(name, &o) : SIZE_MAX;
    if (i != SIZE_MAX) f->numbers[i] = value;
}

const char *strategy_form_texts(const strategy_form *f, int32_t *n, bool *is_given_too) {
    const char *const name = strcmp(name_of(f), "beam") == 0      ? "num_beams"
                             : strcmp(name_of(f), "best-of") == 0 ? "best_of"
                                                                  : NULL;
    rn_strategy_option o;
    const size_t i = name ? find_option(name, &o) : SIZE_MAX;
    *is_given_too = i != SIZE_MAX && is_given(f, i);
    *n = *is_given_too ? (int32_t)f->numbers[i] : i != SIZE_MAX ? (int32_t)o.def : 1;
    return name;
}

int32_t strategy_form_n_seqs(const strategy_form *f) {
    int32_t n;
    bool is_given_too;
    (void)strategy_form_texts(f, &n, &is_given_too);
    return n - 1;
}

// One model reads one set of early layers, and an engine has one model that values texts.
static bool take(const char **own, const char *name, const char *text) {
    if (*own && strcmp(*own, text) != 0) {
        say("--%s: %.60s beside %.60s: there can be one of them", name, text, *own);
        return false;
    }
    *own = text;
    return true;
}

bool strategy_form_reserve(strategy_form *f, machine *on) {
    static const char before[] = "model:"; // a number behind it is a model of the engine
    rn_strategy_option o;
    const char **const value = &f->texts[find_option("value", &o)], *const layers =
                                                                        f->texts[find_option("dola_layers", &o)];
    on->n_seqs += strategy_form_n_seqs(f);
    if (strcmp(name_of(f), "dola") == 0 && !take(&on->early_layers, "dola-layers", layers ? layers : "low"))
        return false;
    if (!*value || strncmp(*value, before, sizeof before - 1) != 0) return true;
    const char *const name = *value + sizeof before - 1;
    if (name[strspn(name, "0123456789")] == 0) return true;
    *value = "model";
    return take(&on->value_name, "value", name);
}

bool strategy_form_draws(const strategy_form *f, const char **why_not) {
    static const struct {
        const char *name, *why_not, *unless;
    } rows[] = {
        {"beam", "with --strategy beam without --do-sample true", "do_sample"},
        {"contrastive", "with --strategy contrastive, which draws no tokens", NULL},
        {"tree", "with --strategy tree, which draws no tokens", NULL},
    };
    rn_strategy_option o;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name_of(f)) != 0) continue;
        if (rows[i].unless && f->words[find_option(rows[i].unless, &o)] > 0) continue;
        *why_not = rows[i].why_not;
        return false;
    }
    return true;
}

bool strategy_form_take_top_k(const strategy_form *f, double top_k, rn_strategy_options *out, rn_error *err) {
    rn_strategy_option o;
    if (strcmp(name_of(f), "contrastive") != 0 || !(top_k > 0) || is_given(f, find_option("num_candidates", &o)))
        return true;
    if (top_k <= o.max) return rn_strategy_options_set(out, o.name, top_k, err) == RN_OK;
    *err = (rn_error){.code = RN_E_ARG};
    snprintf(err->text, sizeof err->text,
             "top_k: %.10g is outside %g..%g with the strategy contrastive, which tries so many candidates", top_k,
             o.min, o.max);
    return false;
}

bool strategy_form_needs_amateur(const strategy_form *f) { return strcmp(name_of(f), "contrastive-decoding") == 0; }

bool strategy_form_check_amateur(const strategy_form *f, const options *parsed) {
    return strategy_form_needs_amateur(f) ||
           !options_refuse(parsed, "amateur", "without --strategy contrastive-decoding");
}

// ---- by name --------------------------------------------------------------------------------------------------------

static void explain_option(const rn_strategy_option *o, char *out, size_t n_out) {
    const size_t n = (size_t)snprintf(out, n_out, "%s: %s", o->strategies, o->help);
    if (o->kind == RN_OPTION_TEXT || n >= n_out) return;
    if (o->kind == RN_OPTION_WORD) {
        const char *word = o->words;
        for (int32_t i = (int32_t)o->def; i > 0; i--) word = strchr(word, '|') + 1;
        snprintf(out + n, n_out - n, " (default %.*s)", (int)strcspn(word, "|"), word);
    } else
        snprintf(out + n, n_out - n, " (%.10g..%.10g, default %.6g)", o->min, o->max, o->def);
}

static bool set_word(const char *words, const char *value, int32_t *word) {
    const size_t n = strlen(value);
    *word = 0;
    for (const char *at = words; at; at = strchr(at, '|'), at += at != NULL, ++*word)
        if (strncmp(at, value, n) == 0 && (at[n] == 0 || at[n] == '|')) return true;
    return false;
}

static bool set_option(strategy_form *f, size_t i, const rn_strategy_option *o, const char *value, char *why) {
    const bool is_default = strcmp(value, "default") == 0;
    if (o->kind == RN_OPTION_TEXT) {
        f->texts[i] = is_default ? NULL : value;
        return true;
    }
    if (o->kind == RN_OPTION_WORD) {
        int32_t word = -1;
        if (!is_default && !set_word(o->words, value, &word)) {
            snprintf(why, NUMBER_WHY, "'%.60s' is not one of %s", value, o->words);
            return false;
        }
        f->words[i] = word;
        return true;
    }
    double v = NAN;
    if (!is_default && (!number_read_real(value, o->min, o->max, &v, why) ||
                        !number_check(v, o->min, o->max, o->kind == RN_OPTION_INT, why)))
        return false;
    f->numbers[i] = v;
    return true;
}

bool strategy_form_set(strategy_form *f, const char *name, const char *value, bool *is_known, char *why) {
    rn_strategy_option o;
    char names[STRATEGY_WORDS];
    *is_known = true;
    if (strcmp(name, "strategy") == 0) {
        const bool is_default = strcmp(value, "default") == 0;
        if (!is_default && !is_known_strategy(value)) {
            list_strategies(names);
            snprintf(why, NUMBER_WHY, "'%.60s' is not one of %s", value, names);
            return false;
        }
        f->strategy = is_default ? NULL : value;
        return true;
    }
    const size_t i = find_option(name, &o);
    *is_known = i != SIZE_MAX;
    return *is_known && set_option(f, i, &o, value, why);
}

const char *strategy_form_show(const strategy_form *f, size_t i, const char **name, bytes *value, bytes *about) {
    rn_strategy_option o;
    char text[768];
    if (i == 0) {
        *name = "strategy";
        list_strategies(text);
        bytes_add_text(value, name_of(f));
        bytes_add_format(about, "%s  how tokens are chosen", text);
        return *name;
    }
    if (!option_at(i - 1, &o)) return NULL;
    *name = o.name;
    explain_option(&o, text, sizeof text);
    bytes_add_text(about, text);
    if (f->texts[i - 1])
        bytes_add_text(value, f->texts[i - 1]);
    else if (f->words[i - 1] >= 0) {
        const char *word = o.words;
        for (int32_t k = f->words[i - 1]; k > 0; k--) word = strchr(word, '|') + 1;
        bytes_add_format(value, "%.*s", (int)strcspn(word, "|"), word);
    } else if (!isnan(f->numbers[i - 1]))
        bytes_add_format(value, "%.9g", f->numbers[i - 1]);
    else
        bytes_add_text(value, "default");
    return *name;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

static void explain_strategies(char *out, size_t n_out) {
    const char *name, *help;
    size_t n = (size_t)snprintf(out, n_out, "how tokens are chosen: ");
    for (size_t i = 0; (name = rn_strategy_name(i, &help)) && n < n_out; i++)
        n += (size_t)snprintf(out + n, n_out - n, "%s%s (%s)", i ? "; " : "", name, help);
}

static size_t offset_of(rn_option_kind kind, size_t i) {
    static const struct {
        size_t begin, size;
    } arrays[] = {[RN_OPTION_REAL] = {offsetof(strategy_form, numbers), sizeof(double)},
                  [RN_OPTION_INT] = {offsetof(strategy_form, numbers), sizeof(double)},
                  [RN_OPTION_WORD] = {offsetof(strategy_form, words), sizeof(int32_t)},
                  [RN_OPTION_TEXT] = {offsetof(strategy_form, texts), sizeof(char *)}};
    return arrays[kind].begin + i * arrays[kind].size;
}

void strategy_rows_init(strategy_rows *rows) {
    static const struct {
        option_kind kind;
        const char *arg;
    } kinds[] = {[RN_OPTION_REAL] = {OPTION_REAL, "X"},
                 [RN_OPTION_INT] = {OPTION_WHOLE, "N"},
                 [RN_OPTION_WORD] = {OPTION_CHOICE, NULL},
                 [RN_OPTION_TEXT] = {OPTION_TEXT, "TEXT"}};
    rn_strategy_option o;
    *rows = (strategy_rows){0};
    list_strategies(rows->strategies);
    explain_strategies(rows->helps[STRATEGY_OPTIONS], sizeof *rows->helps);
    rows->rows[rows->n++] = (option){.name = "strategy",
                                     .arg = rows->strategies,
                                     .kind = OPTION_TEXT,
                                     .offset = offsetof(strategy_form, strategy),
                                     .help = rows->helps[STRATEGY_OPTIONS]};
    for (size_t i = 0; option_at(i, &o); i++) {
        option_name_dashed(o.name, rows->names[i], sizeof rows->names[i]);
        explain_option(&o, rows->helps[i], sizeof rows->helps[i]);
        rows->rows[rows->n++] = (option){.name = rows->names[i],
                                         .arg = o.words ? o.words : kinds[o.kind].arg,
                                         .kind = kinds[o.kind].kind,
                                         .offset = offset_of(o.kind, i),
                                         .min = o.min,
                                         .max = o.max,
                                         .help = rows->helps[i]};
    }
}

void strategy_members_init(strategy_members *members) {
    static const member_kind kinds[] = {[RN_OPTION_REAL] = MEMBER_REAL,
                                        [RN_OPTION_INT] = MEMBER_WHOLE,
                                        [RN_OPTION_WORD] = MEMBER_WORD,
                                        [RN_OPTION_TEXT] = MEMBER_NAME};
    rn_strategy_option o;
    *members = (strategy_members){0};
    members->rows[members->n++] =
        (member){.name = "strategy", .kind = MEMBER_NAME, .offset = offsetof(strategy_form, strategy)};
    for (size_t i = 0; option_at(i, &o); i++)
        members->rows[members->n++] = (member){.name = o.name,
                                               .kind = kinds[o.kind],
                                               .offset = offset_of(o.kind, i),
                                               .min = o.min,
                                               .max = o.max,
                                               .words = o.words};
}
