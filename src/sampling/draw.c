// sampling/draw.c - runs the chain of stages on a row of logits and draws a token.
#include "base/philox.h"
#include "sampling/chain.h"
#include "sampling/masked_row.h"
#include "sampling/token_mask.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// Finds the largest logit of those that count, or tells why the row cannot be drawn from. One pass: the maximum is NaN if any logit is.
// after: the stage that ran last, for the message; NULL: none. mask: of a row that was checked without it; NULL: all count.
static rn_status check_row(sampler *s, const float *row, const uint64_t *mask, const struct stage *after, float *max,
                           rn_error *err) {
    *max = masked_row_max(s->rm, row, mask, (size_t)s->n_vocab, &s->max_block);
    if (isfinite(*max)) return RN_OK;
    const char *logits = after ? "logits after " : "logits", *name = after ? after->name : "";
    if (*max == -INFINITY)
        return fail(err, RN_E_FORMAT, "%s%s: none of %d tokens is left, all are -inf", logits, name, s->n_vocab);
    int32_t bad = 0;
    while (bad < s->n_vocab - 1 && !isnan(row[bad]) && row[bad] != INFINITY) bad++;
    return fail(err, RN_E_FORMAT, "%s%s: token %d is %s", logits, name, bad,
                isnan(row[bad]) ? "not a number" : "+inf");
}

// Runs stages [first, end) of the chain on a copy of the row. A stage may leave NaN or infinities. To save passes over the row, they
// are looked for only before a stage that reads all of it and after the last one. check_each: after every stage, to name it.
static rn_status run_edits(sampler *s, const float *logits, size_t first, size_t end, bool check_each, float *max,
                           rn_error *err) {
    rn_status st = RN_OK;
    const size_t n = (size_t)s->n_vocab;
    const bool copy_is_masked = s->chain[first] == STAGE_MASK;
    if (check_each || sampling_stages[s->chain[first]].reads_row) st = check_row(s, logits, NULL, NULL, max, err);
    if (st) return st;
    if (copy_is_masked)
        s->rm->mask(logits, s->mask, n, s->row);
    else
        memcpy(s->row, logits, n * sizeof *s->row);
    for (size_t i = first; i < end; i++) {
        const struct stage *const stage = &sampling_stages[s->chain[i]];
        const bool is_done = i == first && copy_is_masked;
        if (!is_done && !stage->edit_row(s, *max))
            return fail(err, RN_E_CANCELLED, "%s: ended the stream", stage->name);
        if (check_each || i + 1 == end || sampling_stages[s->chain[i + 1]].reads_row)
            st = check_row(s, s->row, NULL, stage, max, err);
        if (st) return st;
    }
    return RN_OK;
}

// A row after the stages that edit it.
struct edited {
    const float *row;     // the sampler's copy, or the caller's logits if no stage edits them
    const uint64_t *mask; // of what counts in it; NULL: all
    float max;            // the largest that counts
};

// A row that is read through the mask, which no other stage edits.
static rn_status read_masked(sampler *s, const float *logits, const uint64_t *mask, bool is_checked,
                             struct edited *out, rn_error *err) {
    rn_status st = is_checked ? RN_OK : check_row(s, logits, NULL, NULL, &out->max, err);
    *out = (struct edited){.row = logits, .mask = mask};
    return st ? st : check_row(s, logits, mask, &sampling_stages[STAGE_MASK], &out->max, err);
}

// Runs the first n_edits stages of the chain, but the one of the mask only if there is a mask. is_checked: all logits are numbers.
static rn_status edit_row(sampler *s, const float *logits, const uint64_t *mask, size_t n_edits, bool is_checked,
                          struct edited *out, rn_error *err) {
    const size_t first = s->p.masked && !mask ? 1 : 0;
    s->mask = mask;
    if (mask && s->reads_masked) return read_masked(s, logits, mask, is_checked, out, err);
    *out = (struct edited){.row = n_edits > first ? s->row : logits};
    if (n_edits <= first) return check_row(s, logits, NULL, NULL, &out->max, err);
    const bool check_each =
        s->p.stage != NULL; // the caller's function runs once for a draw, also where the row fails
    const rn_status st = run_edits(s, logits, first, n_edits, check_each, &out->max, err);
    return st && !check_each ? run_edits(s, logits, first, n_edits, true, &out->max, err) : st;
}

// The first cut fills the list from the row; the stages after it change the list.
static void take_list(sampler *s, const struct edited *e) {
    const struct stage *const first = &sampling_stages[s->chain[s->first_cut]];
    s->list.mask = e->mask;
    if (first->take) {
        first->take(s, e->row, e->max);
        return;
    }
    candidates_take_from(&s->list, e->row, -INFINITY);
    first->change_list(s);
}

// Edits a list as the row in which all tokens but its own are -inf.
static rn_status edit_list(sampler *s, const struct stage *stage, rn_error *err) {
    struct candidates *const list = &s->list;
    float max;
    for (int32_t i = 0; i < s->n_vocab; i++) s->row[i] = -INFINITY;
    for (size_t i = 0; i < list->n; i++) s->row[list->ids[i]] = list->logits[i];
    stage->edit_row(s, list->logits[0]);
    const rn_status st = check_row(s, s->row, NULL, stage, &max, err);
    list->mask = NULL;
    if (st == RN_OK) candidates_take_from(list, s->row, -INFINITY);
    return st;
}

static rn_status finish_list(sampler *s, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = s->first_cut + 1; i < s->n_chain && st == RN_OK; i++) {
        const struct stage *const stage = &sampling_stages[s->chain[i]];
        if (stage->change_list)
            stage->change_list(s);
        else
            st = edit_list(s, stage, err);
    }
    return st;
}

static int32_t draw_from_list(sampler *s, double u) {
    const uint64_t total = candidates_weigh(&s->list);
    const size_t i = candidates_find(&s->list, draw_target(u, total));
    feedback_note(&s->feedback, &s->p, &s->list, total, i);
    return s->list.ids[i];
}

static int32_t draw_from_head(sampler *s, const struct edited *e, double u) {
    head_begin(&s->head, &s->list, e->row, e->max, s->temp_is_last_edit ? s->p.temp : 0);
    for (size_t i = s->first_cut; i < s->n_chain; i++)
        if (sampling_stages[s->chain[i]].cut_head) sampling_stages[s->chain[i]].cut_head(s);
    return head_draw(&s->head, s->temp_is_last_stage ? s->p.temp : 0, u);
}

// The first token that has the largest logit of the row checked last.
static int32_t first_equal(const sampler *s, const struct edited *e) {
    return (int32_t)masked_row_first(s->rm, e->row, e->mask, (size_t)s->n_vocab, e->max, s->max_block);
}

static rn_status draw_from(sampler *s, const struct edited *e, double u, int32_t *token, rn_error *err) {
    if (s->p.temp == 0 || s->is_headed) {
        *token = s->p.temp == 0 ? first_equal(s, e) : draw_from_head(s, e, u);
        return RN_OK;
    }
    take_list(s, e);
    const rn_status st = finish_list(s, err);
    if (st == RN_OK) *token = draw_from_list(s, u);
    return st;
}

// A head applies a temperature before the cuts itself.
static size_t n_edits_of_draw(const sampler *s) { return s->first_cut - (s->is_headed && s->temp_is_last_edit); }

static double uniform(const sampler *s, uint32_t position, enum philox_purpose purpose) {
    return philox_uniform_again(s->p.seed, s->p.choice, position, purpose, s->n_tried);
}

// ---- what may be drawn ----

static rn_status check_mask(const sampler *s, const uint64_t *mask, rn_error *err) {
    if (mask && !s->p.masked) return fail(err, RN_E_STATE, "token mask: the sampler was created without one");
    if (mask && token_mask_is_empty(mask, s->n_vocab))
        return fail(err, RN_E_ARG, "token mask: none of %d tokens is allowed", s->n_vocab);
    return RN_OK;
}

struct permission {
    const struct token_rule *rule; // NULL: there is a mask
    const uint64_t *mask;          // NULL: not made yet
};

static rn_status make_mask(const sampler *s, struct permission *may, rn_error *err) {
    if (may->mask) return RN_OK;
    const rn_status st = may->rule->mask(may->rule->user, &may->mask, err);
    return st ? st : check_mask(s, may->mask, err);
}

static rn_status is_allowed(const struct permission *may, int32_t token, bool *is, rn_error *err) {
    if (!may->mask) return may->rule->allows(may->rule->user, token, is, err);
    *is = token_mask_has(may->mask, token);
    return RN_OK;
}

// Is all of the list allowed?
static rn_status list_is_allowed(const sampler *s, struct permission *may, bool *is, rn_error *err) {
    enum { MOST_ASKED = 64 }; // more take longer than a mask
    const struct candidates *const list = &s->list;
    rn_status st = list->n > MOST_ASKED ? make_mask(s, may, err) : RN_OK;
    *is = true;
    for (size_t i = 0; i < list->n && *is && st == RN_OK; i++) st = is_allowed(may, list->ids[i], is, err);
    return st;
}

// ---- drawing ----

// Draws without masking the row. *is_drawn false: the token must be drawn from the masked row, with a random number of *purpose. That
// includes rows that cannot be drawn from, since the mask may hide what is wrong. *is_checked: all logits are numbers. Errors: the rule's.
static rn_status draw_and_test(sampler *s, const float *logits, uint32_t position, struct permission *may,
                               int32_t *token, enum philox_purpose *purpose, bool *is_checked, bool *is_drawn,
                               rn_error *err) {
    struct edited e;
    bool is = false;
    const double u = uniform(s, position, PHILOX_SAMPLE);
    *purpose = PHILOX_SAMPLE;
    *is_drawn = false;
    if (edit_row(s, logits, NULL, n_edits_of_draw(s), false, &e, NULL)) return RN_OK;
    *is_checked = e.row == logits;
    // The largest is in every list, and weights are rounded relative to it.
    const int32_t largest = first_equal(s, &e);
    rn_status st = is_allowed(may, largest, &is, err);
    if (st || !is) return st;
    int32_t drawn = largest;
    if (!s->is_headed) {
        take_list(s, &e);
        st = list_is_allowed(s, may, &is, err);
        if (st || !is || finish_list(s, NULL)) return st;
        drawn = draw_from_list(s, u);
    } else if (s->p.temp != 0) {
        drawn = draw_from_head(s, &e, u);
        *purpose = PHILOX_REDRAW;
        st = is_allowed(may, drawn, &is, err);
        if (st || !is) return st;
    }
    *is_drawn = true;
    *token = drawn;
    return RN_OK;
}

// may: NULL: all tokens.
static rn_status draw(sampler *s, const float *logits, uint32_t position, struct permission *may, int32_t *token,
                      rn_error *err) {
    struct edited e;
    enum philox_purpose purpose = PHILOX_SAMPLE;
    bool is_checked = false, is_drawn = false;
    rn_status st = RN_OK;
    s->position = position;
    if (may && s->mask_may_wait)
        st = draw_and_test(s, logits, position, may, token, &purpose, &is_checked, &is_drawn, err);
    if (st || is_drawn) return st;
    if (may && (st = make_mask(s, may, err)) != RN_OK) return st;
    st = edit_row(s, logits, may ? may->mask : NULL, n_edits_of_draw(s), is_checked, &e, err);
    return st ? st : draw_from(s, &e, uniform(s, position, purpose), token, err);
}

rn_status sampler_draw_masked(sampler *s, const float *logits, uint32_t position, const uint64_t *mask,
                              int32_t *token, rn_error *err) {
    rn_status st = check_mask(s, mask, err);
    if (st == RN_OK) st = draw(s, logits, position, mask ? &(struct permission){.mask = mask} : NULL, token, err);
    return st ? fail_in(err, st, "position %u", position) : RN_OK;
}

rn_status sampler_draw_ruled(sampler *s, const float *logits, uint32_t position, const struct token_rule *rule,
                             int32_t *token, rn_error *err) {
    rn_status st = RN_OK;
    if (rule && !s->p.masked) st = fail(err, RN_E_STATE, "token mask: the sampler was created without one");
    if (st == RN_OK) st = draw(s, logits, position, rule ? &(struct permission){.rule = rule} : NULL, token, err);
    return st ? fail_in(err, st, "position %u", position) : RN_OK;
}

rn_status sampler_draw(sampler *s, const float *logits, uint32_t position, int32_t *token, rn_error *err) {
    return sampler_draw_masked(s, logits, position, NULL, token, err);
}

// All that the stages leave, in order.
static rn_status fill_list(sampler *s, const struct edited *e, rn_error *err) {
    if (s->first_cut < s->n_chain) {
        take_list(s, e);
        return finish_list(s, err);
    }
    s->list.mask = e->mask;
    candidates_take_from(&s->list, e->row, -INFINITY);
    return RN_OK;
}

static rn_status distribution(sampler *s, const float *logits, const uint64_t *mask, int32_t *ids, float *probs,
                              size_t max_n, size_t *n, rn_error *err) {
    struct edited e;
    rn_status st = check_mask(s, mask, err);
    s->position = (uint32_t)s->n_accepted;
    if (st == RN_OK) st = edit_row(s, logits, mask, s->first_cut, false, &e, err);
    if (st) return st;
    *n = 0;
    if (max_n == 0) return RN_OK;
    if (s->p.temp == 0) {
        *n = 1;
        ids[0] = first_equal(s, &e);
        probs[0] = 1;
        return RN_OK;
    }
    struct candidates *list = &s->list;
    if ((st = fill_list(s, &e, err)) != RN_OK) return st;
    const double total = (double)candidates_weigh(list);
    *n = list->n < max_n ? list->n : max_n;
    for (size_t i = 0; i < *n; i++) {
        ids[i] = list->ids[i];
        probs[i] = (float)((double)candidates_weight(list, i) / total);
    }
    return RN_OK;
}

rn_status sampler_distribution_masked(sampler *s, const float *logits, const uint64_t *mask, int32_t *ids,
                                      float *probs, size_t max_n, size_t *n, rn_error *err) {
    const rn_status st = distribution(s, logits, mask, ids, probs, max_n, n, err);
    return st ? fail_in(err, st, "position %u", s->position) : RN_OK;
}

rn_status sampler_distribution(sampler *s, const float *logits, int32_t *ids, float *probs, size_t max_n, size_t *n,
                               rn_error *err) {
    return sampler_distribution_masked(s, logits, NULL, ids, probs, max_n, n, err);
}

// ---- for searches ----

bool sampler_edits_rows(const sampler *s) { return s->first_cut > (s->p.masked ? 1U : 0U); }

rn_status sampler_edit_row(sampler *s, const float *row, const float **out, rn_error *err) {
    struct edited e;
    assert(s->p.temp == 0);
    s->position = (uint32_t)s->n_accepted;
    const rn_status st = edit_row(s, row, NULL, s->first_cut, false, &e, err);
    if (st) return fail_in(err, st, "position %u", s->position);
    *out = e.row;
    return RN_OK;
}

rn_status sampler_candidates(sampler *s, const float *row, const uint64_t *mask, const int32_t **ids,
                             const float **logits, size_t *n, rn_error *err) {
    struct edited e;
    assert(s->p.temp > 0);
    rn_status st = check_mask(s, mask, err);
    s->position = (uint32_t)s->n_accepted;
    if (st == RN_OK) st = edit_row(s, row, mask, s->first_cut, false, &e, err);
    if (st == RN_OK) st = fill_list(s, &e, err);
    if (st) return fail_in(err, st, "position %u", s->position);
    *ids = s->list.ids, *logits = s->list.logits, *n = s->list.n;
    return RN_OK;
}
