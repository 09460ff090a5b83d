// engine/draft_counts.c - what a stream's drafts brought: guesses by depth, and the time of its steps against that of steps without guesses.
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
    if (depth > 0) count(s, depth, f->accepted, f->accepted_by);
}

// Steps with prefill rows are not compared, nor are those whose time without guesses was never measured.
void draft_counts_count_step(const struct model_slot *l, const struct stream_rows *part, int64_t ns) {
    rn_stream *const s = part->s;
    struct draft_counts *const f = &s->play.draft_counts;
    const int64_t n_tokens = stream_emitted(s), n_new = n_tokens - f->n_seen;
    uint32_t n_steps;
    if (part->fills || l->n_rows != l->n_decode_rows) {
        f->n_seen = n_tokens;
        return;
    }
    if (l != s->model_slot) {
        f->helper_ns += (double)ns; // of the step that follows
        return;
    }
    const double plain_ns = step_time_measured(&l->step_time, l->n_parts, &n_steps);
    if (n_steps > 0 && n_new > 0) f->plain_ns += (double)n_new * plain_ns, f->ns += f->helper_ns + (double)ns;
    f->helper_ns = 0;
    f->n_seen = n_tokens;
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
