// sampling/feedback.c - see feedback.h.
#include "sampling/feedback.h"
#include "base/mem.h"
#include "sampling/list_stages.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static const double LN2 = 0.69314718055994530942;

static bool is_adaptive(const struct sampling_params *p) { return p->adaptive_target >= 0; }
bool feedback_is_on(const struct sampling_params *p) { return p->temp > 0 && (p->mirostat != 0 || is_adaptive(p)); }

rn_status feedback_init(struct feedback *f, const struct sampling_params *p, size_t cap, rn_error *err) {
    *f = (struct feedback){.cap = cap};
    if (!(f->after = mem_alloc(feedback_bytes(cap))))
        return fail(err, RN_E_NOMEM, "sampler: out of memory for the state of %zu tokens", cap);
    f->after[0] = p->mirostat ? 2 * p->mirostat_tau : p->adaptive_target;
    return RN_OK;
}

size_t feedback_bytes(size_t cap) { return (cap + 1) * sizeof(float); }

void feedback_copy(struct feedback *to, const struct feedback *from) {
    if (!from->after) return;
    assert(to->cap == from->cap);
    memcpy(to->after, from->after, (from->n + 1) * sizeof *from->after);
    to->n = from->n;
    to->has_draw = from->has_draw;
    to->token = from->token;
    to->value = from->value;
}

void feedback_free(struct feedback *f) {
    mem_free(f->after);
    *f = (struct feedback){0};
}

void feedback_note(struct feedback *f, const struct sampling_params *p, const struct candidates *c, uint64_t total,
                   size_t i) {
    if (!f->after) return;
    f->has_draw = true;
    f->token = c->ids[i];
    f->value = p->mirostat ? list_surprise(c, list_log_total(total), i) / LN2 : (double)c->keys[i] / (double)f->total;
}

void feedback_accept(struct feedback *f, const struct sampling_params *p, int32_t token) {
    if (!f->after) return;
    assert(f->n < f->cap);
    float s = f->after[f->n];
    if (f->has_draw && f->token == token) {
        // The weights of all tokens so far, those of the beginning included, add up to 1 / (1 - decay).
        if (p->mirostat)
            s -= p->mirostat_eta * ((float)f->value - p->mirostat_tau);
        else
            s = p->adaptive_decay * s + (1 - p->adaptive_decay) * (float)f->value;
    }
    f->after[++f->n] = s;
    f->has_draw = false;
}

void feedback_rewind(struct feedback *f, size_t n) {
    if (!f->after) return;
    assert(n <= f->n);
    f->n -= n;
    f->has_draw = false;
}

// ---- mirostat -------------------------------------------------------------------------------------------------------

// The exponent of Zipf's law by the most likely candidates (2007.14966, equation 30).
static double zipf_exponent(const struct candidates *c) {
    enum { MOST = 100 };
    double products = 0, squares = 0;
    for (size_t i = 0; i + 1 < c->n && i + 1 < MOST; i++) {
        const double t = log_f64((double)(i + 2) / (double)(i + 1));
        products += t * ((double)c->logits[i] - (double)c->logits[i + 1]);
        squares += t * t;
    }
    return products / squares;
}

// How many candidates have the surprise mu on average, if they follow the law.
static size_t mirostat_k(const struct candidates *c, double mu, int32_t n_vocab) {
    const double s = zipf_exponent(c), e = s - 1, log_n = log_f64((double)n_vocab);
    const double ratio = fabs(e) < 1e-9 ? 1 / log_n : e / (1 - exp_f64(-e * log_n));
    const double log_power = log_f64(ratio) + mu * LN2; // of k^s
    if (log_power >= s * log_f64((double)c->n)) return c->n;
    return log_power > 0 ? (size_t)exp_f64(log_power / s) : 1;
}

void stage_cut_mirostat(struct candidates *c, const struct feedback *f, const struct sampling_params *p,
                        int32_t n_vocab) {
    const double mu = (double)f->after[f->n];
    if (c->n <= 1) return;
    if (p->mirostat == 2)
        list_cut_below(c, exp_f64(-mu * LN2) * (double)candidates_weigh(c), 1);
    else
        candidates_shorten(c, mirostat_k(c, mu, n_vocab), 1);
}

void stage_take_mirostat(struct candidates *c, const struct feedback *f, const float *row, float max) {
    const double mu = (double)f->after[f->n];
    list_take_above(c, row, max, exp_f64(-mu * LN2) * (double)candidates_row_weight(c, row, max), 1);
}

// ---- adaptive-p -----------------------------------------------------------------------------------------------------

static uint64_t pack(int32_t id, float logit) {
    uint32_t bits;
    memcpy(&bits, &logit, sizeof bits);
    return (uint64_t)(uint32_t)id << 32 | bits;
}

static void unpack(struct candidates *c, size_t i, uint64_t packed) {
    const uint32_t bits = (uint32_t)packed;
    memcpy(&c->logits[i], &bits, sizeof bits);
    c->ids[i] = (int32_t)(packed >> 32);
}

static float adaptive_logit(double distance) { return (float)(5 - 10 * distance * distance / (1 + distance)); }

// Candidates are ordered by probability, so those nearest to the target are a range that grows on either side.
void stage_adaptive(struct candidates *c, struct feedback *f, const struct sampling_params *p) {
    static const double WIDTH = 0.3;
    const double average = (double)f->after[f->n];
    const double target = fmin(fmax(2 * (double)p->adaptive_target - average, 0), 1);
    f->total = candidates_weigh(c);
    const double total = (double)f->total;
    size_t low = 0;
    while (low < c->n && (double)candidates_weight(c, low) >= target * total) low++;
    size_t high = low;
    for (size_t i = 0; i < c->n; i++) {
        const double before = low > 0 ? (double)candidates_weight(c, low - 1) / total - target : INFINITY;
        const double behind = high < c->n ? target - (double)candidates_weight(c, high) / total : INFINITY;
        const size_t at = before <= behind ? --low : high++;
        c->keys[i] = candidates_weight(c, at);
        c->keys_out[i] = pack(c->ids[at], adaptive_logit(fmin(before, behind) / WIDTH));
    }
    for (size_t i = 0; i < c->n; i++) unpack(c, i, c->keys_out[i]);
}
