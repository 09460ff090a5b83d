// decoding/draft/draft_odds.c - see draft_odds.h.
#include "decoding/draft/draft_odds.h"

// A share is known from about so many guesses; older ones fade.
static const float most_seen = 32.0F;
// So much more a draft must be expected to give, since times and shares are estimates.
static const double least_gain = 1.03;
// Shares before any guess was seen count as so many guesses.
static const float first_seen = 4.0F;

void draft_odds_init(struct draft_odds *o, const float *shares, int32_t n) {
    for (int32_t i = 0; i < DRAFT_CLASSES; i++)
        o->seen[i] = first_seen, o->right[i] = first_seen * shares[i < n ? i : n - 1];
}

void draft_odds_learn(struct draft_odds *o, int32_t class, bool was_right) {
    const float kept = o->seen[class] < most_seen ? 1.0F : (most_seen - 1.0F) / most_seen;
    o->seen[class] = o->seen[class] * kept + 1.0F;
    o->right[class] = o->right[class] * kept + (was_right ? 1.0F : 0.0F);
}

// ---- matches --------------------------------------------------------------------------------------------------------

int32_t draft_class_of_match(int32_t n) {
    static const int32_t longest[DRAFT_MATCH_CLASSES] = {2, 3, 4, 6, 8, 16, 32, INT32_MAX};
    int32_t class = 0;
    while (n > longest[class]) class ++;
    return class;
}

void draft_odds_init_matches(struct draft_odds *o) {
    static const float shares[DRAFT_MATCH_CLASSES] = {0.3F, 0.45F, 0.55F, 0.65F, 0.7F, 0.8F, 0.85F, 0.9F};
    draft_odds_init(o, shares, DRAFT_MATCH_CLASSES);
}

// ---- how many -------------------------------------------------------------------------------------------------------

int32_t draft_length(const struct draft_odds *o, const struct draft *draft, const struct draft_step *step) {
    const double plain_ns = step_time_ns(step->time, (size_t)step->n_rows);
    if (plain_ns == 0) return 0; // no step was measured
    double reach[DRAFT_MOST], best = step->n_streams / plain_ns * least_gain, more = 0;
    int32_t length = 0;
    for (int32_t i = 0; i < draft->n; i++) {
        const int32_t parent = draft->parents[i];
        reach[i] = (parent == DRAFT_ROOT ? 1 : reach[parent]) * draft_odds_of(o, draft->classes[i]);
        more += reach[i];
        const double rate = (step->n_streams + more) / step_time_ns(step->time, (size_t)(step->n_rows + i + 1));
        if (rate > best) best = rate, length = i + 1;
    }
    return length;
}
