// decoding/draft/draft_odds.c - see draft_odds.h.
#include "decoding/draft/draft_odds.h"
#include <math.h>

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

// Of rows beside the certain ones whose time is not known, each is taken for this part of the whole: so little that they are tried, and then known.
// What is taken for dear stays unknown.
static const double unknown_share = DRAFT_LEAST_REACH;
// Behind rows that are known to be dearer, each is at least this part of what these were.
static const double goes_on = 0.5;
// Where guesses do not pay, they would if a row was this part of the whole: that is tried again now and then.
static const double cheap_share = 1.0 / 32;
// What a row may take at the most: before a larger step was measured this part of the whole, or so many times the average row's; behind the largest one that
// was, so many times what its further rows took, and no less than a part of the whole.
static const double most_first = 0.5, most_of_average = 2, most_behind = 2, most_least = 1.0 / 16;
// Steps without guesses are measured again where they seem to take so many times what larger ones do.
static const double most_doubtful = 1.3;
// The first steps of so many rows are slow where their code and the rows' memory are not in any cache yet.
enum { FIRST_STEPS = 2 };
// Larger steps yet are not tried where the largest one took so much of the whole for each of its rows beside the certain ones, until it is sure to.
static const double dear_share = 0.25;

// What is known of steps of n_rows + i rows or more.
struct at_least {
    double ns;        // the least that they took; 0: none were measured
    uint32_t n;       // how many were
    bool is_measured; // some of n_rows + i rows
};

// Returns the last i that was measured, -1: none.
static int32_t look_back(const struct step_time *time, int32_t n_rows, struct at_least *known) {
    int32_t last = -1;
    for (int32_t i = DRAFT_MOST; i >= 0; i--) {
        const struct at_least above = i < DRAFT_MOST ? known[i + 1] : (struct at_least){0};
        uint32_t n_steps;
        const double ns = step_time_undisturbed(time, (size_t)(n_rows + i), &n_steps);
        if (n_steps > 0 && last < 0) last = i;
        known[i] = (struct at_least){n_steps > 0 && (above.ns == 0 || ns < above.ns) ? ns : above.ns,
                                     above.n + n_steps, n_steps > 0};
    }
    return last;
}

// Rows of the largest step that may be tried: the next power of two, since kernels work in such numbers of rows, so that the sizes that pay best are measured
// themselves.
static int32_t most_rows(int32_t n_rows, int32_t last, const struct at_least *known, double base) {
    const int32_t n_known = n_rows + (last > 0 ? last : 0);
    const bool is_dear = last > 0 && known[last].n < FIRST_STEPS && known[last].ns > base * (1 + last * dear_share);
    int32_t n = 1;
    while (n <= n_known) n *= 2;
    return is_dear ? n_known : n;
}

// The times are those of steps with so many rows more: of every n_each-th.
static void space_out(struct draft_step *step, int32_t n_each) {
    step->most = step->most > n_each ? step->most / n_each : 1;
    if (step->most > DRAFT_MOST / n_each) step->most = DRAFT_MOST / n_each;
    for (int32_t i = 1; i <= DRAFT_MOST; i++) {
        const int32_t from = i * n_each < DRAFT_MOST ? i * n_each : DRAFT_MOST;
        step->ns[i] = step->ns[from], step->cheap_ns[i] = step->cheap_ns[from],
        step->most_ns[i] = step->most_ns[from];
    }
}

// A step takes no longer than larger ones took; how much longer larger ones yet may take, those before them tell.
static void fill_most(struct draft_step *step, int32_t n_rows, int32_t last, const struct at_least *known,
                      double base) {
    const double average = base * most_of_average / n_rows, first = fmin(base * most_first, average),
                 of_each = last > 0 ? (known[last].ns - base) / last * most_behind : first,
                 more = fmax(of_each, fmin(base * most_least, average));
    step->most_ns[0] = base;
    for (int32_t i = 1; i <= DRAFT_MOST; i++)
        step->most_ns[i] = i <= last ? known[i].ns : step->most_ns[i - 1] + more;
}

void draft_step_init(struct draft_step *step, const struct step_time *time, int32_t n_rows, int32_t n_each,
                     int32_t n_streams, double n_tokens) {
    struct at_least known[DRAFT_MOST + 1];
    const int32_t last = look_back(time, n_rows, known);
    const double base = known[0].ns > 0 ? known[0].ns : step_time_ns(time, (size_t)n_rows);
    double more = base * unknown_share; // of a row of which nothing is known
    uint32_t n_plain;
    step->is_doubtful = step_time_undisturbed(time, (size_t)n_rows, &n_plain) > base * most_doubtful;
    step->n_streams = n_streams;
    step->n_tokens = n_tokens;
    // All of its streams may try at once.
    const int32_t share = (most_rows(n_rows, last, known, base) - n_rows) / n_streams;
    step->most = share > 1 ? share : 1;
    step->ns[0] = step->cheap_ns[0] = base;
    int32_t from = 0, to = 0; // sizes that were measured, between which i lies
    for (int32_t i = 1; i <= DRAFT_MOST; i++) {
        step->cheap_ns[i] = base + i * base * cheap_share;
        if (i > last || known[i].n < FIRST_STEPS) {
            step->ns[i] = step->ns[i - 1] + more;
            if (i <= last && known[i].ns < step->ns[i]) step->ns[i] = known[i].ns;
            continue;
        }
        if (i > to) { // towards the next size that was measured
            for (from = to, to = i; !known[to].is_measured;) to++;
            const double row = (known[to].ns - step->ns[from]) / (to - from);
            more = row * goes_on > base * unknown_share ? row * goes_on : base * unknown_share;
        }
        step->ns[i] = step->ns[from] + (known[i].ns - step->ns[from]) * (i - from) / (to - from);
    }
    fill_most(step, n_rows, last, known, base);
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

bool draft_could_pay(const struct draft_odds *o, const struct draft *draft, double n_tokens) {
    double more[DRAFT_MOST];
    if (draft->n == 0) return false;
    draft_expect(o, draft, more);
    return n_tokens + more[draft->n - 1] > n_tokens * DRAFT_LEAST_GAIN;
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
