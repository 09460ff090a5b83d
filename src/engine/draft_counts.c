// engine/draft_counts.c - what a stream's drafts brought: guesses by depth, and the time of its steps against that of steps without guesses.
//
// Steps are compared with those of as many streams: what a stream takes beside its rows (sampling, text) is not small beside a small model's rows, so that
// as many rows of fewer streams are no measure.
#include "decoding/draft/drafter.h"
#include "engine/engine.h"
#include <string.h>

_Static_assert((int)DRAFTERS_MOST == (int)RN_MAX_DRAFTERS, "rn_usage counts each of them");

static size_t place_of(int32_t depth) { return (size_t)(depth < RN_DRAFT_DEPTHS ? depth : RN_DRAFT_DEPTHS) - 1; }

static void count(const rn_stream *s, int32_t depth, int64_t *at_depth, int64_t *by_drafter) {
    const int32_t *const by = s->play.strategy->drafter;
    at_depth[place_of(depth)]++;
    if (by) by_drafter[*by]++;
}

void draft_counts_evaluated(rn_stream *s, int32_t depth) {
    struct draft_counts *const f = &s->play.draft_counts;
    count(s, depth, f->drafted, f->drafted_by);
}

void draft_counts_right(rn_stream *s, int32_t depth) {
    struct draft_counts *const f = &s->play.draft_counts;
    if (depth == 0) return;
    f->n_right++;
    count(s, depth, f->accepted, f->accepted_by);
}

// ---- time -----------------------------------------------------------------------------------------------------------

// The time without guesses of a step of so many streams. 0: not measured.
static double plain_ns(const struct model_slot *l, size_t n_streams) {
    const struct running_median *const m = n_streams <= PLAIN_STREAMS ? &l->plain_ns[n_streams - 1] : NULL;
    if (!m || m->n == 0) return 0;
    // Of the first two the shorter one: the very first steps of a process are slow.
    return m->n == 2 && m->last[1] < m->last[0] ? m->last[1] : m->n == 2 ? m->last[0] : running_median_of(m);
}

// A row for each stream, with guidance two, after no step of a drafter's model.
static bool is_plain(const struct model_slot *l) {
    if (l->helper_ns > 0 || l->n_parts > PLAIN_STREAMS) return false;
    for (size_t i = 0; i < l->n_parts; i++) {
        const struct strategy_needs *const needs = &l->parts[i].s->play.strategy->needs;
        if (l->parts[i].n != (size_t)(needs->n_results > 1 ? needs->n_results : 1)) return false;
    }
    return true;
}

// All streams of the model that it works for wait for a step of a drafter's model, once.
static void wait_for_helper(const struct model_slot *l, int64_t ns) {
    for (size_t i = 0, k; i < l->n_parts; i++) {
        struct model_slot *const own = l->parts[i].s->model_slot;
        for (k = 0; l->parts[k].s->model_slot != own;) k++;
        if (k == i) own->helper_ns += (double)ns;
    }
}

// The tokens that a stream's step gave would have taken a plain step for each draw: one, and one for each guess that was right.
static void compare(rn_stream *s, double plain, double ns) {
    struct draft_counts *const f = &s->play.draft_counts;
    const int64_t n_tokens = stream_emitted(s);
    if (plain > 0 && n_tokens > f->n_seen)
        f->plain_ns += plain * (double)(1 + f->n_right - f->n_right_seen), f->ns += ns;
    f->n_seen = n_tokens, f->n_right_seen = f->n_right;
}

void draft_counts_count_step(struct model_slot *l, int64_t ns) {
    const bool is_helper = l->n_parts > 0 && l->parts[0].s->model_slot != l && !l->parts[0].fills,
               is_mixed = l->n_rows != l->n_decode_rows;
    if (is_helper) {
        wait_for_helper(l, ns);
        return;
    }
    const bool learns = l->n_parts > 0 && !is_mixed && is_plain(l);
    double plain = is_mixed || l->n_parts == 0 ? 0 : plain_ns(l, l->n_parts);
    if (plain > 0 && learns) plain = (double)ns; // it is as fast as without guesses, whatever delayed it
    for (size_t i = 0; i < l->n_parts; i++)
        if (l->parts[i].s->model_slot == l) compare(l->parts[i].s, plain, l->helper_ns + (double)ns);
    if (learns) running_median_add(&l->plain_ns[l->n_parts - 1], (double)ns);
    l->helper_ns = 0;
}

void draft_counts_tell(const struct draft_counts *f, rn_usage *u) {
    for (int i = 0; i < RN_DRAFT_DEPTHS; i++) {
        u->drafted_at_depth[i] = f->drafted[i], u->accepted_at_depth[i] = f->accepted[i];
        u->drafted_tokens += f->drafted[i], u->accepted_tokens += f->accepted[i];
    }
    memcpy(u->drafted_by, f->drafted_by, sizeof u->drafted_by);
    memcpy(u->accepted_by, f->accepted_by, sizeof u->accepted_by);
    u->lookahead_rows = f->n_more_rows;
    if (u->drafted_tokens + f->n_more_rows > 0 && f->ns > 0) u->speed_up = f->plain_ns / f->ns;
}
