// tests/engine/any_strategy.h - every strategy that requests may name, with options over their whole range: the one list that tests of
// what holds for all of them go over.
#ifndef RN_TESTS_ENGINE_ANY_STRATEGY_H
#define RN_TESTS_ENGINE_ANY_STRATEGY_H

#include "fixture.h"
#include "toy_random.h"
#include <math.h>

// A strategy in one of its forms: `shape` sets what makes it this form, after the other options.
struct any_strategy {
    const char *why, *name; // name: as in rn_request.strategy
    void (*shape)(rn_strategy_options *o, struct toy_random *random);
    bool draws;         // its tokens depend on the seed, where temp is above 0
    bool has_sequences; // it reports what it found with the last chunk
};

static inline void shape_beams(rn_strategy_options *o, struct toy_random *random) {
    (void)random;
    o->do_sample = 0, o->num_beam_groups = 1, o->diversity_penalty = 0;
}
static inline void shape_diverse(rn_strategy_options *o, struct toy_random *random) {
    shape_beams(o, random);
    o->num_beam_groups = 2 + toy_below(random, 2);
    o->num_beams = o->num_beam_groups * (1 + toy_below(random, 2));
    o->diversity_penalty = 0.1F + 2 * (float)toy_uniform(random);
}
static inline void shape_drawn(rn_strategy_options *o, struct toy_random *random) {
    shape_beams(o, random);
    o->do_sample = 1;
}
static inline void shape_best(rn_strategy_options *o, struct toy_random *random) {
    (void)random;
    o->majority = NULL;
}
static inline void shape_majority(rn_strategy_options *o, struct toy_random *random) {
    static const char *const texts[] = {"line", "[a-z]+", "(?<= )\\w", "."};
    o->majority = texts[toy_below(random, 4)];
}
static inline void shape_likelihood(rn_strategy_options *o, struct toy_random *random) {
    o->value = toy_below(random, 2) ? "likelihood" : NULL;
}
static inline void shape_rollout(rn_strategy_options *o, struct toy_random *random) {
    static const char *const texts[] = {"rollout:1", "rollout:2", "rollout:7", "rollout:15"};
    o->value = texts[toy_below(random, 4)];
}
static inline void shape_nothing(rn_strategy_options *o, struct toy_random *random) { (void)o, (void)random; }

static const struct any_strategy any_strategies[] = {
    {"samples", "sample", shape_nothing, .draws = true},
    {"beams", "beam", shape_beams, .has_sequences = true},
    {"diverse beams", "beam", shape_diverse, .has_sequences = true},
    {"beams that are drawn", "beam", shape_drawn, .draws = true, .has_sequences = true},
    {"the best of several", "best-of", shape_best, .draws = true, .has_sequences = true},
    {"a majority", "best-of", shape_majority, .draws = true, .has_sequences = true},
    {"contrastive search", "contrastive", shape_nothing},
    {"contrastive decoding", "contrastive-decoding", shape_nothing, .draws = true},
    {"early layers", "dola", shape_nothing, .draws = true},
    {"a tree", "tree", shape_likelihood},
    {"a tree with rollouts", "tree", shape_rollout},
};
enum { N_ANY_STRATEGIES = sizeof any_strategies / sizeof *any_strategies };

static inline bool is_of_strategy(const char *list, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, '|'), at += at != NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == 0 || at[n] == '|')) return true;
    return false;
}

// A number of the option's range: its ends now and then; whole numbers are small as a rule, since rows cost time.
static inline double any_option(const rn_strategy_option *option, struct toy_random *random) {
    const double u = toy_uniform(random), range = option->max - option->min;
    if (option->kind == RN_OPTION_WORD || (option->kind == RN_OPTION_INT && range < 2))
        return option->min + toy_below(random, (int32_t)range + 1);
    if (toy_chance(random, 0.05)) return toy_chance(random, 0.5) || range > 100 ? option->min : option->max;
    if (option->kind == RN_OPTION_INT) return fmin(option->min + toy_below(random, 6), option->max);
    if (range > 10) return fmax(option->min, fmin(option->max, option->def + (toy_chance(random, 0.3) ? -3 : 3) * u));
    return option->min + u * range;
}

// Options of a strategy, each given or not. They need not go together; the model of contrastive decoding is the engine's own.
static inline void any_strategy_options(const struct any_strategy *a, struct toy_random *random,
                                        rn_strategy_options *o) {
    static const char *const layers[] = {NULL, "low", "high", "0", "1", "1,0"};
    rn_strategy_option option;
    rn_error err = {0};
    rn_strategy_options_init(o);
    for (size_t i = 0; rn_strategy_option_at(i, &option); i++)
        if (is_of_strategy(option.strategies, a->name) && option.kind != RN_OPTION_TEXT &&
            strcmp(option.name, "amateur_model") != 0 && toy_chance(random, 0.6))
            CHECK_OK(rn_strategy_options_set(o, option.name, any_option(&option, random), &err), &err);
    if (strcmp(a->name, "dola") == 0) o->dola_layers = layers[toy_below(random, 6)];
    a->shape(o, random);
}

// The same, with numbers that go together.
static inline void valid_strategy_options(const struct any_strategy *a, struct toy_random *random,
                                          rn_strategy_options *o) {
    any_strategy_options(a, random, o);
    const int32_t most = strcmp(a->name, "beam") == 0 ? o->num_beams : o->best_of;
    if (a->has_sequences && o->num_return_sequences > most) o->num_return_sequences = most;
}

#endif
