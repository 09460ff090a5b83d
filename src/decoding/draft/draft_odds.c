// decoding/draft/draft_odds.c - see draft_odds.h.
#include "decoding/draft/draft_odds.h"

// A share is known from about so many guesses; older ones fade.
static const float most_seen = 32.0F;
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
    static const int32_t longest[DRAFT_MATCH_CLASSES] = {1, 2, 3, 4, 6, 8, 16, 32, INT32_MAX};
    int32_t class = 0;
    while (n > longest[class]) class ++;
    return class;
}

void draft_odds_init_matches(struct draft_odds *o) {
    // Short matches are taken for chance until guesses behind them were right, which is learned without a row.
    static const float shares[DRAFT_MATCH_CLASSES] = {0.03F, 0.1F, 0.15F, 0.25F, 0.45F, 0.65F, 0.8F, 0.85F, 0.9F};
    draft_odds_init(o, shares, DRAFT_MATCH_CLASSES);
}

// ---- how many -------------------------------------------------------------------------------------------------------

// A row of a step is taken for this part of the whole at most, until such steps were measured. Prefill rows, which tell the time of larger steps
// otherwise, are dear in the first steps of a process, whose weights are not in any cache yet. What is taken for cheap is tried, and then
// known; what is taken for dear stays unknown: with 1/8 most streams never saw that 8 rows take hardly longer than 3.
static const double most_share = 1.0 / 32;
// So many larger steps are tried before their times are believed.
enum { FIRST_STEPS = 3 };

// The least that steps of n_rows + i rows or more took, 0: none were measured. Returns the last i that was measured, -1: none; *n_larger: steps of more
// than n_rows rows.
static int32_t look_back(const struct step_time *time, int32_t n_rows, double *least, uint32_t *n_larger) {
    int32_t last = -1;
    *n_larger = 0;
    for (int32_t i = DRAFT_MOST; i >= 0; i--) {
        uint32_t n_steps;
        const double ns = step_time_measured(time, (size_t)(n_rows + i), &n_steps),
                     above = i < DRAFT_MOST ? least[i + 1] : 0;
        if (i > 0) *n_larger += n_steps;
        if (n_steps > 0 && last < 0) last = i;
        least[i] = n_steps > 0 && (above == 0 || ns < above) ? ns : above;
    }
    return last;
}

// The times are those of steps with so many rows more: of every n_each-th.
static void space_out(struct draft_step *step, int32_t n_each) {
    step->most = step->most > n_each ? step->most / n_each : 1;
    if (step->most > DRAFT_MOST / n_each) step->most = DRAFT_MOST / n_each;
    for (int32_t i = 1; i <= DRAFT_MOST; i++) {
        const int32_t from = i * n_each < DRAFT_MOST ? i * n_each : DRAFT_MOST;
        step->ns[i] = step->ns[from], step->cheap_ns[i] = step->cheap_ns[from];
    }
}

void draft_step_init(struct draft_step *step, const struct step_time *time, int32_t n_rows, int32_t n_each,
                     int32_t n_streams, double n_tokens) {
    double least[DRAFT_MOST + 1];
    uint32_t n_larger;
    const int32_t last = look_back(time, n_rows, least, &n_larger), n_known = n_rows + (last < 0 ? 0 : last);
    const double base = least[0] > 0 ? least[0] : step_time_ns(time, (size_t)n_rows),
                 row = step_time_prefill_row_ns(time), cheap = base * most_share;
    step->n_streams = n_streams;
    step->n_tokens = n_tokens;
    // Rows of a step double from trial to trial; all of its streams may try at once.
    const int32_t share = (2 * n_known + 2 - n_rows) / n_streams;
    step->most = share > 1 ? share : 1;
    int32_t from = 0, to = 0; // sizes that were measured, between which i lies
    for (int32_t i = 0; i <= DRAFT_MOST; i++) {
        step->cheap_ns[i] = base + i * cheap;
        if (i == 0)
            step->ns[0] = base;
        else if (n_larger < FIRST_STEPS)
            step->ns[i] = least[i] > 0 && least[i] < step->cheap_ns[i] ? least[i] : step->cheap_ns[i];
        else if (i > last)
            step->ns[i] = step->ns[i - 1] + (row < cheap ? row : cheap);
        else { // towards the next size that was measured with this least time
            if (i > to)
                for (from = to, to = i; to < last && least[to + 1] == least[i];) to++;
            step->ns[i] = step->ns[from] + (least[i] - step->ns[from]) * (i - from) / (to - from);
        }
    }
    if (n_each > 1) space_out(step, n_each);
}

void draft_expect(const struct draft_odds *o, const struct draft *draft, double *more) {
    double reach[DRAFT_MOST], sum = 0; // reach: how probable it is that a node's path is right
    for (int32_t i = 0; i < draft->n; i++) {
        const int32_t parent = draft->parents[i];
        reach[i] = (parent == DRAFT_ROOT ? 1 : reach[parent]) * draft_odds_of(o, draft->classes[i]);
        more[i] = sum += reach[i];
    }
}

int32_t draft_length(const struct draft_odds *o, const struct draft *draft, const struct draft_step *step,
                     const double *ns) {
    if (ns[0] == 0) return 0; // no step was measured
    double more[DRAFT_MOST], best = step->n_tokens / ns[0] * DRAFT_LEAST_GAIN;
    int32_t length = 0;
    draft_expect(o, draft, more);
    for (int32_t i = 0; i < draft->n && i < step->most; i++) {
        const double rate = (step->n_tokens + more[i]) / ns[i + 1];
        if (rate > best) best = rate, length = i + 1;
    }
    return length;
}
