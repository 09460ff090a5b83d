// engine/request_drafters.c - the drafters that a request names, and which model may draft for which, or help it else.
#include "decoding/draft/drafts.h"
#include "decoding/draft/ngram_index.h"
#include "decoding/draft/suffix_automaton.h"
#include "engine/engine.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rn_drafter_name(size_t i) { return i < drafter_n_kinds ? drafter_kinds[i].name : NULL; }

// ---- vocabularies ---------------------------------------------------------------------------------------------------

static bool is_special(const struct model_slot *l, int32_t id) {
    const struct vocab *const v = package_vocab(l->m->pkg);
    return id < v->n_tokens && v->tokens[id].kind == TOKEN_CONTROL;
}

// The models' common ids have the same bytes, and are control tokens in both or in none. A head that is wider has rows that nothing names.
static bool is_same_vocab(const struct model_slot *target, const struct model_slot *draft) {
    const int32_t n = draft->lm->n_vocab < target->lm->n_vocab ? draft->lm->n_vocab : target->lm->n_vocab;
    for (int32_t i = 0; i < n && draft->m != target->m; i++) {
        size_t n_own, n_other;
        const char *const own = model_piece(target->m, i, true, &n_own);
        const char *const other = model_piece(draft->m, i, true, &n_other);
        if (n_own != n_other || memcmp(own, other, n_own) != 0 || is_special(target, i) != is_special(draft, i))
            return false;
    }
    return true;
}

// Two vocabularies, between which guesses go through text.
static rn_status take_sides(const struct model_slot *target, const struct model_slot *draft,
                            struct bridge_side *sides, rn_error *err) {
    const rn_model *const models[] = {target->m, draft->m};
    for (int i = 0; i < 2; i++) {
        const rn_status st = model_need_tokenizer(models[i], err);
        if (st != RN_OK) return fail_in(err, st, "speculate: draft");
        sides[i] = (struct bridge_side){models[i]->tok, package_vocab(models[i]->pkg)};
    }
    return RN_OK;
}

// ---- the list -------------------------------------------------------------------------------------------------------

static rn_status unknown(const char *name, size_t n, rn_error *err) {
    char names[256] = "";
    for (size_t i = 0, at = 0; i < drafter_n_kinds && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", drafter_kinds[i].name);
    return fail(err, RN_E_ARG, "speculate: \"%.*s\" is unknown; known: %s", (int)(n < 64 ? n : 64), name, names);
}

// The number behind a name, up to its comma.
static rn_status read_model(const rn_engine *e, const struct drafter_kind *kind, const char *text, size_t *model,
                            rn_error *err) {
    char *end = NULL;
    const unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : ULONG_MAX;
    if (!end || (*end && *end != ',') || number >= e->n_models)
        return fail(err, RN_E_ARG, "speculate: %s=%.*s: is no model, 0..%zu", kind->name, (int)strcspn(text, ","),
                    text, e->n_models - 1);
    *model = (size_t)number;
    return RN_OK;
}

// W:N:G behind a name, up to its comma.
static rn_status read_sizes(const char *text, struct lookahead_sizes *s, rn_error *err) {
    int32_t *const numbers[] = {&s->width, &s->length, &s->candidates};
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        const unsigned long n = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        const bool is_last = i == 2;
        *numbers[i] = n > 999 ? 999 : (int32_t)n;
        if (!end || !(is_last ? *end == 0 || *end == ',' : *end == ':')) {
            *numbers[i] = 0;
            break;
        }
        at = end + 1;
    }
    if (s->width >= 1 && s->width <= LOOKAHEAD_WIDTH && s->length >= 2 && s->length <= LOOKAHEAD_LENGTH &&
        s->candidates >= 1 && s->candidates <= LOOKAHEAD_CANDIDATES && s->width * (s->length - 1) <= LOOKAHEAD_ROWS)
        return RN_OK;
    return fail(
        err, RN_E_ARG,
        "speculate: lookahead=%.*s: is not W:N:G, a window of 1..%d columns, n-grams of 2..%d tokens, 1..%d of them "
        "at once, W * (N - 1) at most %d",
        (int)(strcspn(text, ",") < 40 ? strcspn(text, ",") : 40), text, LOOKAHEAD_WIDTH, LOOKAHEAD_LENGTH,
        LOOKAHEAD_CANDIDATES, LOOKAHEAD_ROWS);
}

// As stream_slot() counts.
static int32_t slot_number(size_t own, size_t model) { return (int32_t)(model < own ? model + 1 : model); }

static rn_status choose_slot(const rn_engine *e, struct model_slot *own, const struct drafter_kind *kind,
                             const char *number, struct drafter_choice *out, rn_error *err) {
    const size_t at = (size_t)(own - e->model_slots);
    size_t model = e->opt.draft_model;
    rn_status st = RN_OK;
    if (!number && model == 0)
        return fail(err, RN_E_ARG, "speculate: %s needs a model: open the engine with one, draft_model", kind->name);
    if (number) st = read_model(e, kind, number, &model, err);
    if (st == RN_OK && model == at)
        st = fail(err, RN_E_ARG, "speculate: %s: model %zu is the request's own", kind->name, model);
    if (st == RN_OK && !is_same_vocab(own, &e->model_slots[model]))
        st = take_sides(own, &e->model_slots[model], out->sides, err);
    out->slot = slot_number(at, model);
    return st;
}

// Options of the request, and what an engine has one by: of the programs, and of the library.
static const struct {
    const char *name, *how;
} helpers[STRATEGY_N_HELPERS] = {
    [STRATEGY_AMATEUR] = {"amateur_model", "--amateur MODEL, or rn_engine_options.amateur_model"},
    [STRATEGY_VALUE] = {"value", "--value model:FILE or --value-model FILE, or rn_engine_options.value_model"}};

rn_status request_find_helper(const rn_engine *e, const struct model_slot *own, const struct strategy_kind *kind,
                              const struct strategy_options *o, int32_t *slot, rn_error *err) {
    const size_t at = (size_t)(own - e->model_slots),
                 defaults[STRATEGY_N_HELPERS] = {
                     [STRATEGY_AMATEUR] = e->opt.amateur_model, [STRATEGY_VALUE] = e->opt.value_model};
    const char *const name = helpers[kind->helper].name;
    int32_t model = kind->helper_model ? kind->helper_model(o) : -1;
    *slot = 0;
    if (model < 0) return RN_OK;
    if (model == 0) model = (int32_t)defaults[kind->helper];
    if (model == 0)
        return fail(err, RN_E_ARG, "%s: the strategy needs the number of another model, or an engine with one (%s)",
                    name, helpers[kind->helper].how);
    if ((size_t)model >= e->n_models)
        return fail(err, RN_E_ARG, "%s: %d is no model, 1..%zu", name, model, e->n_models - 1);
    if ((size_t)model == at) return fail(err, RN_E_ARG, "%s: model %d is the request's own", name, model);
    if (!is_same_vocab(own, &e->model_slots[model]))
        return fail(err, RN_E_ARG, "%s: model %d has another vocabulary than %s", name, model,
                    package_path(own->m->pkg));
    *slot = slot_number(at, (size_t)model);
    return RN_OK;
}

// The slots of the parts of a kind, which are side by side; false: the model has none.
static bool find_parts(const struct model_slot *own, struct drafter_choice *c) {
    c->slot = c->n_slots = 0;
    for (int32_t i = 1; i < STRATEGY_MAX_SLOTS; i++) {
        if (!(c->kind->parts >> own->slots[i].part & 1)) continue;
        if (c->n_slots++ == 0) c->slot = i;
    }
    return c->n_slots > 0;
}

static rn_status no_heads(const struct model_slot *own, const struct drafter_kind *kind, rn_error *err) {
    return fail(err, RN_E_UNSUPPORTED, "speculate: %s: no such draft heads were added to %s", kind->name,
                package_path(own->m->pkg));
}

// The drafters without a model, which cost next to nothing.
static const char *default_list(const rn_engine *e, const rn_request *r) {
    if (e->opt.no_speculate) return NULL;
    return e->outputs || r->n_prediction ? "suffix" : "ngram";
}

size_t request_default_drafter_bytes(const rn_engine *e, int32_t n_text_most) {
    if (e->opt.no_speculate) return 0;
    return drafts_bytes() +
           (e->opt.output_store_bytes ? suffix_automaton_bytes(n_text_most) : ngram_index_bytes(n_text_most));
}

rn_status request_read_drafters(rn_engine *e, struct model_slot *own, const rn_request *r, struct drafter_choice *out,
                                int32_t *n, rn_error *err) {
    const char *const list = !r->speculate ? default_list(e, r) : strcmp(r->speculate, "none") ? r->speculate : NULL;
    rn_status st = RN_OK;
    *n = 0;
    for (const char *at = list, *end; at && st == RN_OK; at = *end ? end + 1 : NULL) {
        const size_t n_name = strcspn(at, ",=");
        const char *const number = at[n_name] == '=' ? at + n_name + 1 : NULL;
        const struct drafter_kind *const kind = drafter_find(at, n_name);
        end = at + strcspn(at, ",");
        if (!kind || (number && !kind->needs_model && !kind->has_sizes)) return unknown(at, (size_t)(end - at), err);
        for (int32_t i = 0; i < *n; i++)
            if (out[i].kind == kind) return fail(err, RN_E_ARG, "speculate: %s is named twice", kind->name);
        if (*n == ENGINE_MAX_DRAFTERS)
            return fail(err, RN_E_ARG, "speculate: more than %d drafters", ENGINE_MAX_DRAFTERS);
        struct drafter_choice *const choice = &out[(*n)++];
        *choice = (struct drafter_choice){.kind = kind};
        if (kind->has_sizes && number) st = read_sizes(number, &choice->lookahead, err);
        if (kind->has_sizes && st == RN_OK && model_slot_room(e, own).n_states > 0)
            st = fail(err, RN_E_UNSUPPORTED,
                      "speculate: %s: not with a recurrent model, each of whose scratch rows takes a slot of state",
                      kind->name);
        if (kind->needs_model) st = choose_slot(e, own, kind, number, choice, err);
        if (kind->parts && !find_parts(own, choice)) st = no_heads(own, kind, err);
    }
    return st;
}

void stream_show_outputs(rn_stream *s, const struct drafter_choice *drafters, int32_t n) {
    rn_engine *const e = s->engine;
    for (int32_t i = 0; i < n; i++)
        if (e->outputs && drafters[i].kind->reads_outputs) s->play.keeps_output = true;
    s->play.outputs = (struct output_view){
        e->outputs, {(uint64_t)(s->model_slot - e->model_slots), s->prefix.salt, s->turn.client}};
}

void stream_keep_output(rn_stream *s) {
    if (s->play.keeps_output)
        output_store_add(s->engine->outputs, &s->play.outputs.owner, s->tokens + s->n_prompt,
                         s->n_tokens - s->n_prompt);
}
