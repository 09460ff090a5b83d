// decoding/draft/draft_odds.c - see draft_odds.h.
#include "decoding/draft/draft_odds.h"

// A share is known from about so many guesses; older ones fade.
static const float most_seen = 32.0F;
// So much more a draft must be expected to give, since times and shares are estimates.
static const double least_gain = 1.03;

// Of guesses behind a match of 2, 3, 4, up to 6, 8, 16, 32 tokens, and more: before any was seen, they count as four.
static const struct {
    int32_t longest;
    float share;
} classes_of_matches[DRAFT_CLASSES] = {{2, 0.3F}, {3, 0.45F}, {4, 0.55F},  {6, 0.65F},
                                       {8, 0.7F}, {16, 0.8F}, {32, 0.85F}, {INT32_MAX, 0.9F}};
static const float first_seen = 4.0F;

int32_t draft_class_of_match(int32_t n) {
    int32_t class = 0;
    while (n > classes_of_matches[class].longest) class ++;
    return class;
}

void draft_odds_init(struct draft_odds *o) {
    for (int i = 0; i < DRAFT_CLASSES; i++)
        o->seen[i] = first_seen, o->right[i] = first_seen * classes_of_matches[i].share;
}

void draft_odds_learn(struct draft_odds *o, int32_t class, bool was_right) {
    const float kept = o->seen[class] < most_seen ? 1.0F : (most_seen - 1.0F) / most_seen;
    o->seen[class] = o->seen[class] * kept + 1.0F;
    o->right[class] = o->right[class] * kept + (was_right ? 1.0F : 0.0F);
}

static float odds_of(const struct draft_odds *o, int32_t class) { return o->right[class] / o->seen[class]; }

int32_t draft_length(const struct draft_odds *o, const int32_t *classes, int32_t most,
                     const struct draft_step *step) {
    const double plain_ns = step_time_ns(step->time, (size_t)step->n_rows);
    if (plain_ns == 0) return 0; // no step was measured
    double best = step->n_streams / plain_ns * least_gain, reach = 1, more = 0;
    int32_t length = 0;
    for (int32_t i = 0; i < most; i++) {
        reach *= odds_of(o, classes[i]);
        more += reach;
        const double rate = (step->n_streams + more) / step_time_ns(step->time, (size_t)(step->n_rows + i + 1));
        if (rate > best) best = rate, length = i + 1;
    }
    return length;
}
