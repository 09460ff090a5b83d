// decoding/draft/draft_pay.c - see draft_pay.h.
#include "decoding/draft/draft_pay.h"
#include "decoding/draft/draft_account.h"

static const float weight = 0.125F; // of the last draft in the mean

bool draft_pays(const struct draft_pay *p, double cost_ns, const struct draft_ask *ask) {
    const struct draft_step *const s = ask->step;
    const double least = DRAFT_LEAST_GAIN * s->n_tokens / s->ns[0];
    if (ask->least > 0) return true;
    if (s->ns[0] == 0) return false;
    const double hope = draft_account_hope((double)p->more[0] * s->ns[0] / s->n_tokens, s->ns[0] / s->n_streams);
    if (cost_ns + s->most_ns[1] - s->ns[0] > ask->lose_ns + hope) return false;
    if (!p->is_known || cost_ns <= ask->probe_ns) return true;
    for (int32_t i = 0; i < ask->most && i < s->most; i++)
        if ((s->n_tokens + (double)p->more[i]) / (s->ns[i + 1] + cost_ns) > least) return true;
    return false;
}

double draft_share_ns(const struct strategy_slot *slot, int32_t n_rows, int32_t n_streams) {
    return step_time_least_ns(slot->time, (size_t)(n_rows * n_streams)) / n_streams;
}

double draft_most_share_ns(const struct strategy_slot *slot, int32_t n_rows, int32_t n_streams) {
    const size_t n = (size_t)(n_rows * n_streams), n_known = slot->time->n_largest;
    if (n <= n_known || n_known == 0) return step_time_ns(slot->time, n) / n_streams;
    return step_time_ns(slot->time, n_known) * (double)n / (double)n_known / n_streams;
}

void draft_pay_learn(struct draft_pay *p, const struct draft_odds *odds, const struct draft *draft) {
    double more[DRAFT_MOST];
    draft_expect(odds, draft, more);
    for (int32_t i = 0; i < DRAFT_MOST; i++) {
        const float m = draft->n == 0 ? 0 : (float)more[i < draft->n ? i : draft->n - 1];
        p->more[i] = p->is_known ? p->more[i] + weight * (m - p->more[i]) : m;
    }
    p->is_known = true;
}
