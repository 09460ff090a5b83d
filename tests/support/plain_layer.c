// tests/support/plain_layer.c - see plain_layer.h.
#include "tests/support/plain_layer.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct plain_matrix plain_weights(const package *p, const char *name) {
    const struct tensor_view *t = package_tensor(p, name);
    check_note("tensor %s", name);
    if (!CHECK(t != NULL)) return (struct plain_matrix){0};
    const size_t n = (size_t)(t->ne[0] * t->ne[1]);
    struct plain_matrix m = {new_floats(n), (int32_t)t->ne[0], (int32_t)t->ne[1], t->type == TENSOR_BF16};
    tensor_type_info(t->type)->dequantize_row(t->data, m.w, n);
    return m;
}

static double as_bf16(double x) {
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

void plain_multiply(const struct plain_matrix *m, const double *x, double *out) {
    for (int32_t o = 0; o < m->n_out; o++) {
        out[o] = 0;
        for (int32_t i = 0; i < m->k; i++)
            out[o] += (double)m->w[(size_t)o * (size_t)m->k + (size_t)i] * (m->is_bf16 ? as_bf16(x[i]) : x[i]);
    }
}

void plain_rms_norm(double *x, int32_t n, const float *w, double eps) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += x[i] * x[i];
    for (int32_t i = 0; i < n; i++) x[i] = x[i] / sqrt(sum / n + eps) * (double)w[i];
}

double plain_silu(double x) { return x / (1 + exp(-x)); }

static void rotate(double *head, int32_t n, bool halves, int32_t pos, double theta) {
    for (int32_t i = 0; i < n / 2; i++) {
        double *a = &head[halves ? i : 2 * i], *b = &head[halves ? i + n / 2 : 2 * i + 1];
        const double angle = pos * pow(theta, -2.0 * i / n), c = cos(angle), s = sin(angle), was = *a;
        *a = was * c - *b * s;
        *b = was * s + *b * c;
    }
}

void plain_layer_free(struct plain_layer *l) {
    const struct plain_matrix all[] = {l->attn_norm, l->q, l->k, l->v, l->o, l->ffn_norm, l->gate, l->up, l->down};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i].w);
}

void plain_layer_run(const struct plain_layer *l, double (*attn_in)[2 * PLAIN_EMBD], double (*x)[PLAIN_EMBD],
                     int32_t n_embd) {
    static double keys[PLAIN_ROWS][PLAIN_EMBD], values[PLAIN_ROWS][PLAIN_EMBD];
    for (int32_t pos = 0; pos < PLAIN_ROWS; pos++) {
        double in[2 * PLAIN_EMBD] = {0}, q[PLAIN_EMBD], made[PLAIN_EMBD] = {0}, delta[PLAIN_EMBD], gate[PLAIN_FF],
                      up[PLAIN_FF];
        const int32_t dim = l->head_dim, shared = l->n_head / l->n_head_kv;
        memcpy(in, attn_in ? attn_in[pos] : x[pos], attn_in ? sizeof in : sizeof *x);
        if (l->attn_norm.w) plain_rms_norm(in, n_embd, l->attn_norm.w, l->eps);
        plain_multiply(&l->q, in, q), plain_multiply(&l->k, in, keys[pos]), plain_multiply(&l->v, in, values[pos]);
        for (int32_t h = 0; h < l->n_head; h++) rotate(q + h * dim, dim, l->halves, pos, l->theta);
        for (int32_t h = 0; h < l->n_head_kv; h++) rotate(keys[pos] + h * dim, dim, l->halves, pos, l->theta);
        for (int32_t h = 0; h < l->n_head; h++) {
            const int32_t from = h / shared * dim;
            double p[PLAIN_ROWS], sum = 0;
            for (int32_t j = 0; j <= pos; j++) {
                double s = 0;
                for (int32_t d = 0; d < dim; d++) s += q[h * dim + d] * keys[j][from + d];
                sum += p[j] = exp(s / sqrt(dim));
            }
            for (int32_t j = 0; j <= pos; j++)
                for (int32_t d = 0; d < dim; d++) made[h * dim + d] += p[j] / sum * values[j][from + d];
        }
        plain_multiply(&l->o, made, delta);
        for (int32_t i = 0; i < n_embd; i++) x[pos][i] += delta[i];
        memcpy(in, x[pos], sizeof *x);
        plain_rms_norm(in, n_embd, l->ffn_norm.w, l->eps);
        plain_multiply(&l->gate, in, gate), plain_multiply(&l->up, in, up);
        for (int32_t i = 0; i < l->gate.n_out; i++) gate[i] = plain_silu(gate[i]) * up[i];
        plain_multiply(&l->down, gate, delta);
        for (int32_t i = 0; i < n_embd; i++) x[pos][i] += delta[i];
    }
}

bool part_hidden_states(struct rig *base, const int32_t *tokens, float *out) {
    struct lm_row rows[PLAIN_ROWS];
    rn_error err = {0};
    const int32_t seq = rig_seq(base);
    for (int32_t i = 0; i < PLAIN_ROWS; i++) rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_HIDDEN};
    if (!CHECK_OK(lm_step(base->lm, rows, PLAIN_ROWS, NULL, &err), &err)) return false;
    for (int32_t i = 0; i < PLAIN_ROWS; i++)
        memcpy(out + (size_t)(i * base->lm->n_embd), lm_hidden(base->lm, (size_t)i),
               (size_t)base->lm->n_embd * sizeof *out);
    return true;
}

bool part_run(struct rig *part, const int32_t *tokens, const float *vectors, int32_t n_step, float *logits,
              float *hidden) {
    const int32_t seq = rig_seq(part);
    const size_t n_vocab = (size_t)part->lm->n_vocab, n_embd = (size_t)part->lm->n_embd,
                 n_vector = (size_t)part->lm->n_vector;
    const uint32_t want = LM_WANT_HIDDEN | (logits ? LM_WANT_LOGITS : 0);
    struct lm_input inputs[PLAIN_ROWS];
    rn_error err = {0};
    for (int32_t at = 0; at < PLAIN_ROWS; at += n_step) {
        struct lm_row rows[PLAIN_ROWS];
        const int32_t n = PLAIN_ROWS - at < n_step ? PLAIN_ROWS - at : n_step;
        for (int32_t i = 0; i < n; i++) {
            inputs[i] = (struct lm_input){
                .vector = vectors + (size_t)(at + i) * n_vector, .key = (uint64_t)(at + i), .see_to = -1};
            rows[i] = (struct lm_row){seq, tokens[at + i], LM_APPEND, want, &inputs[i]};
        }
        if (!CHECK_OK(lm_step(part->lm, rows, (size_t)n, NULL, &err), &err)) return false;
        for (int32_t i = 0; i < n; i++) {
            if (logits)
                memcpy(logits + (size_t)(at + i) * n_vocab, lm_logits(part->lm, (size_t)i), n_vocab * sizeof *logits);
            memcpy(hidden + (size_t)(at + i) * n_embd, lm_hidden(part->lm, (size_t)i), n_embd * sizeof *hidden);
        }
    }
    return true;
}

double plain_difference(const float *got, double (*want)[PLAIN_EMBD], int32_t n_embd) {
    double worst = 0;
    for (int32_t r = 0; r < PLAIN_ROWS; r++)
        for (int32_t i = 0; i < n_embd; i++)
            worst = fmax(worst, fabs((double)got[(size_t)(r * n_embd + i)] - want[r][i]));
    return worst;
}

double plain_head_difference(const float *got, double (*hidden)[PLAIN_EMBD], const struct plain_matrix *head) {
    double worst = 0, *logits = malloc((size_t)head->n_out * sizeof *logits);
    if (!logits) abort();
    for (int32_t r = 0; r < PLAIN_ROWS; r++) {
        plain_multiply(head, hidden[r], logits);
        for (int32_t i = 0; i < head->n_out; i++)
            worst = fmax(worst, fabs((double)got[(size_t)(r * head->n_out + i)] - logits[i]));
    }
    free(logits);
    return worst;
}
