// decoding/strategy_options.c - see strategy_options.h.
#include "decoding/strategy_options.h"
#include <math.h>
#include <string.h>

#define FIELD(member) .name = #member, .offset = offsetof(struct strategy_options, member)
#define SWITCH_WORDS  .kind = STRATEGY_WORD, .max = 1, .words = "false|true"

const struct strategy_option strategy_options_table[] = {
    {FIELD(num_beams), .strategies = "beam", .kind = STRATEGY_INT, .min = 1, .max = 32, .def = 4,
     .help = "texts that are followed at once"},
    {FIELD(num_beam_groups), .strategies = "beam", .kind = STRATEGY_INT, .min = 1, .max = 32, .def = 1,
     .help = "groups of beams, each kept away from what the groups before it choose; must divide num_beams"},
    {FIELD(diversity_penalty), .strategies = "beam", .kind = STRATEGY_REAL, .min = 0, .max = 100, .def = 0,
     .help = "taken off a token's log-probability for each beam of an earlier group that chooses it in this step"},
    {FIELD(length_penalty), .strategies = "beam", .kind = STRATEGY_REAL, .min = -100, .max = 100, .def = 1,
     .help = "scores are sums of log-probabilities / length ^ this: above 0 favours long texts, below 0 short ones"},
    {FIELD(early_stopping), .strategies = "beam", .kind = STRATEGY_WORD, .max = 2, .words = "false|true|never",
     .help =
         "end when num_beams texts are finished (true), when a longer one is unlikely to be better (false), or only "
         "when none can be (never)"},
    {FIELD(do_sample), .strategies = "beam", SWITCH_WORDS,
     .help = "draw the continuations by the sampling options, in place of the most probable ones"},
    {FIELD(renormalize_logits), .strategies = "beam", SWITCH_WORDS,
     .help = "make log-probabilities of what penalties, biases and masks leave of them"},
    {FIELD(num_return_sequences), .strategies = "beam|best-of", .kind = STRATEGY_INT, .min = 1, .max = 32, .def = 1,
     .help = "texts that are returned, best first"},
    {FIELD(penalty_alpha), .strategies = "contrastive", .kind = STRATEGY_REAL, .min = 0, .max = 1, .def = 0.6,
     .help = "how much it counts against a token that the text would go on as it did before; 0 is greedy"},
    {FIELD(num_candidates), .strategies = "contrastive", .kind = STRATEGY_INT, .min = 1, .max = CONTRASTIVE_MOST,
     .def = 4, .help = "most probable tokens that are tried for each one (top_k of generate())"},
    {FIELD(amateur_model), .strategies = "contrastive-decoding", .kind = STRATEGY_INT, .min = 0, .max = 15, .def = 0,
     .help = "the number of the model that knows less"},
    {FIELD(amateur_weight), .strategies = "contrastive-decoding", .kind = STRATEGY_REAL, .min = 0, .max = 10,
     .def = 1, .help = "how much of the amateur's log-probabilities is taken off"},
    {FIELD(amateur_temperature), .strategies = "contrastive-decoding", .kind = STRATEGY_REAL, .min = 0.1, .max = 100,
     .def = 1, .help = "of the amateur's distribution"},
    {FIELD(relative_top), .strategies = "contrastive-decoding|dola", .kind = STRATEGY_REAL, .min = 0, .max = 1,
     .def = 0.1, .help = "tokens less probable than this times the most probable one are left out"},
    {FIELD(dola_layers), .strategies = "dola", .kind = STRATEGY_TEXT,
     .help = "layers that the last one is compared with: low, high, or numbers separated by commas"},
    {FIELD(simulations), .strategies = "tree", .kind = STRATEGY_INT, .min = 1, .max = 4096, .def = 32,
     .help = "continuations that are looked into before each token"},
    {FIELD(tree_width), .strategies = "tree", .kind = STRATEGY_INT, .min = 1, .max = 16, .def = 4,
     .help = "most probable tokens that are followed behind each text"},
    {FIELD(c_puct), .strategies = "tree", .kind = STRATEGY_REAL, .min = 0, .max = 100, .def = 1.25,
     .help = "how much what the model finds probable is preferred to what was found to be good"},
    {FIELD(value), .strategies = "tree", .kind = STRATEGY_TEXT,
     .help =
         "what a text is worth: likelihood; rollout:R, its likelihood after R more tokens; or model, what another "
         "model says (model:FILE on the command line): the score of one that ranks, else the likelihood there"},
    {FIELD(best_of), .strategies = "best-of", .kind = STRATEGY_INT, .min = 1, .max = 32, .def = 4,
     .help = "samples, with the seeds seed, seed + 1, ..."},
    {FIELD(majority), .strategies = "best-of", .kind = STRATEGY_TEXT,
     .help = "choose what most samples say: in their last line (line), or in the last match of a regular expression; "
             "default: the most probable sample"},
};
const size_t strategy_n_options = sizeof strategy_options_table / sizeof *strategy_options_table;

const struct strategy_option *strategy_option_find(const char *name) {
    for (size_t i = 0; i < strategy_n_options; i++)
        if (strcmp(strategy_options_table[i].name, name) == 0) return &strategy_options_table[i];
    return NULL;
}

static void *member_of(const struct strategy_option *row, const struct strategy_options *o) {
    return (char *)o + row->offset;
}

static double number_of(const struct strategy_option *row, const struct strategy_options *o) {
    const void *const member = member_of(row, o);
    if (row->kind == STRATEGY_TEXT) return NAN;
    return row->kind == STRATEGY_REAL ? (double)*(const float *)member : (double)*(const int32_t *)member;
}

void strategy_options_defaults(struct strategy_options *o) {
    *o = (struct strategy_options){0};
    for (size_t i = 0; i < strategy_n_options; i++) {
        const struct strategy_option *const row = &strategy_options_table[i];
        void *const member = member_of(row, o);
        if (row->kind == STRATEGY_REAL)
            *(float *)member = (float)row->def;
        else if (row->kind != STRATEGY_TEXT)
            *(int32_t *)member = (int32_t)row->def;
    }
}

bool strategy_option_is_in(const char *list, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, '|'), at += at != NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == 0 || at[n] == '|')) return true;
    return false;
}

static bool is_given(const struct strategy_option *row, const struct strategy_options *o) {
    if (row->kind == STRATEGY_TEXT) return *(const char *const *)member_of(row, o) != NULL;
    const double def = row->kind == STRATEGY_REAL ? (double)(float)row->def : row->def;
    return number_of(row, o) != def;
}

rn_status strategy_options_check(const struct strategy_options *o, const char *strategy, rn_error *err) {
    for (size_t i = 0; i < strategy_n_options; i++) {
        const struct strategy_option *const row = &strategy_options_table[i];
        const double v = number_of(row, o);
        if (row->kind != STRATEGY_TEXT && !(v >= row->min && v <= row->max)) // also NaN
            return fail(err, RN_E_ARG, "%s: %.7g is outside %.7g..%.7g", row->name, v, row->min, row->max);
        if (is_given(row, o) && !strategy_option_is_in(row->strategies, strategy))
            return fail(err, RN_E_ARG, "%s: is an option of the strategy %s, not of %s", row->name, row->strategies,
                        strategy);
    }
    return RN_OK;
}
