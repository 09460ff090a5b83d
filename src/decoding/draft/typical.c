// decoding/draft/typical.c - see typical.h.
#include "decoding/draft/typical.h"
#include <math.h>

// Medusa's posterior_threshold and posterior_alpha.
static const double most_needed = 0.09, share_needed = 0.3;

double typical_least(const float *probs, size_t n) {
    double entropy = 0;
    for (size_t i = 0; i < n; i++)
        if (probs[i] > 0) entropy -= (double)probs[i] * log((double)probs[i]);
    const double least = share_needed * exp(-entropy);
    return least < most_needed ? least : most_needed;
}

// What is known of the guesses. Of the node that the search begins at, depth and sum are 0.
struct search {
    const struct typical_rows *rows;
    int32_t from;
    int32_t depths[DRAFT_MOST]; // of those on a path of typical guesses; 0: no such one
    double sums[DRAFT_MOST];    // of log p along the path
};

static bool is_behind(const struct search *s, int32_t node, int32_t parent) {
    return s->rows->draft->parents[node] == parent && s->rows->has(s->rows->user, node);
}

static bool has_guesses(const struct search *s, int32_t parent) {
    for (int32_t i = parent + 1; i < s->rows->draft->n; i++)
        if (is_behind(s, i, parent)) return true;
    return false;
}

static int32_t depth_of(const struct search *s, int32_t node) { return node == s->from ? 0 : s->depths[node]; }

// The nodes from behind `from` to `node`.
static void write_path(const struct search *s, int32_t node, struct typical_path *out) {
    out->n = depth_of(s, node);
    for (int32_t i = out->n; i > 0; i--, node = s->rows->draft->parents[node]) out->nodes[i - 1] = node;
}

static void take_typical(struct search *s, int32_t parent, const struct typical_law *law) {
    const struct draft *const d = s->rows->draft;
    const double least = typical_least(law->probs, law->n), sum = parent == s->from ? 0 : s->sums[parent];
    for (int32_t i = parent + 1; i < d->n; i++) {
        if (!is_behind(s, i, parent)) continue;
        for (size_t k = 0; k < law->n; k++)
            if (law->ids[k] == d->tokens[i] && (double)law->probs[k] > least)
                s->depths[i] = depth_of(s, parent) + 1, s->sums[i] = sum + log((double)law->probs[k]);
    }
}

// Parents come before their children, so each node's path is known when it is looked behind.
rn_status typical_find(const struct typical_rows *rows, int32_t from, struct typical_path *out, rn_error *err) {
    struct search s = {.rows = rows, .from = from};
    int32_t best = from, tokens[DRAFT_MOST];
    for (int32_t node = from; node < rows->draft->n; node++) {
        if ((node != from && s.depths[node] == 0) || !has_guesses(&s, node)) continue;
        struct typical_law law = {.n = 0};
        write_path(&s, node, out);
        for (int32_t i = 0; i < out->n; i++) tokens[i] = rows->draft->tokens[out->nodes[i]];
        const rn_status st = rows->law(rows->user, node, tokens, out->n, &law, err);
        if (st != RN_OK) return st;
        take_typical(&s, node, &law);
    }
    for (int32_t i = from + 1; i < rows->draft->n; i++) {
        const int32_t longer = s.depths[i] - depth_of(&s, best);
        if (longer > 0 || (longer == 0 && s.depths[i] > 0 && s.sums[i] > s.sums[best])) best = i;
    }
    write_path(&s, best, out);
    return RN_OK;
}
