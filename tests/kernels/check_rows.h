// tests/kernels/check_rows.h - a part of check_test.c: functions of rows, of every set against ref.

// One call: x and w are inputs, v a third one, out has n + 1 floats; t: some number.
struct row_call {
    const float *x, *w, *v;
    size_t n;
    float t;
    int which; // of the ways that an operation has
    float *out;
};
typedef void (*row_fn)(const struct kernel_set *set, const struct row_call *c);

static void call_max(const struct kernel_set *set, const struct row_call *c) { c->out[0] = set->row.max(c->x, c->n); }
static void call_sum_squares(const struct kernel_set *set, const struct row_call *c) {
    c->out[0] = set->row.sum_squares(c->x, c->n);
}
static void call_sum_exp(const struct kernel_set *set, const struct row_call *c) {
    c->out[0] = set->row.sum_exp(c->x, c->n, c->t);
}
static void call_exp(const struct kernel_set *set, const struct row_call *c) {
    set->row.exp(c->x, c->n, c->t, c->out);
}
static void call_select(const struct kernel_set *set, const struct row_call *c) {
    const size_t room = c->n / 2, count = set->row.select_ge(c->x, c->n, c->t, (int32_t *)(void *)c->out, room);
    if (count > room) memset(c->out, 0, 4 * room); // then only the count is right
    c->out[c->n] = (float)count;
}
static void call_select_between(const struct kernel_set *set, const struct row_call *c) {
    const float other = c->n ? c->x[c->n / 2] : 0, lo = fminf(c->t, other), hi = fmaxf(c->t, other);
    const size_t room = c->which ? c->n : c->n / 4;
    const size_t count = set->row.select_between(c->x, c->n, lo, hi, (int32_t *)(void *)c->out, room);
    if (count > room) memset(c->out, 0, 4 * room);
    c->out[c->n] = (float)count;
}
// The bits are those of the second input.
static void call_mask(const struct kernel_set *set, const struct row_call *c) {
    uint64_t bits[32] = {0};
    for (size_t i = 0; i < c->n; i++) bits[i / 64] |= (uint64_t)(c->w[i] > c->t) << i % 64;
    set->row.mask(c->x, bits, c->n, c->out);
}
static void call_rms_norm(const struct kernel_set *set, const struct row_call *c) {
    set->rms_norm(c->x, c->which ? c->w : NULL, c->n, 1e-5f, c->out);
}
static void call_layer_norm(const struct kernel_set *set, const struct row_call *c) {
    set->layer_norm(c->x, c->which & 1 ? c->w : NULL, c->which & 2 ? c->v : NULL, c->n, 1e-5f, c->out);
}
static void call_softmax(const struct kernel_set *set, const struct row_call *c) { set->softmax(c->out, c->n); }
static void call_add(const struct kernel_set *set, const struct row_call *c) { set->add(c->out, c->w, c->n); }
static void call_add_scaled(const struct kernel_set *set, const struct row_call *c) {
    set->add_scaled(c->out, c->w, c->t, c->n);
}
static void call_scale(const struct kernel_set *set, const struct row_call *c) { set->scale(c->out, c->t, c->n); }
static void call_mul(const struct kernel_set *set, const struct row_call *c) { set->mul(c->out, c->w, c->n); }
static void call_softcap(const struct kernel_set *set, const struct row_call *c) { set->softcap(c->out, c->t, c->n); }
static void call_activate(const struct kernel_set *set, const struct row_call *c) {
    set->activate[c->which](c->x, c->n, c->out);
}
static void call_activate_mul(const struct kernel_set *set, const struct row_call *c) {
    set->activate_mul[c->which](c->x, c->w, c->n, c->out);
}
static void call_swiglu_oai(const struct kernel_set *set, const struct row_call *c) {
    set->swiglu_oai(c->x, c->w, c->n, 1.702f, fabsf(c->t), c->out);
}

static void call_xielu(const struct kernel_set *set, const struct row_call *c) {
    set->xielu(c->x, c->n, (struct xielu){0.8f, 1.3f, 0.5f, c->which ? c->t : -1e-6f}, c->out);
}

static const struct row_op {
    const char *name;
    row_fn call;
    int n_ways;
    enum { APART = 1, IN_PLACE = 2, EITHER = 3 } where;
} row_ops[] = {
    {"row_max", call_max, 1, APART},
    {"row_sum_squares", call_sum_squares, 1, APART},
    {"row_sum_exp", call_sum_exp, 1, APART},
    {"row_exp", call_exp, 1, EITHER},
    {"row_select_ge", call_select, 1, APART},
    {"row_select_between", call_select_between, 2, APART},
    {"row_mask", call_mask, 1, EITHER},
    {"rms_norm", call_rms_norm, 2, EITHER},
    {"layer_norm", call_layer_norm, 4, EITHER},
    {"softmax", call_softmax, 1, IN_PLACE},
    {"add", call_add, 1, IN_PLACE},
    {"add_scaled", call_add_scaled, 1, IN_PLACE},
    {"scale", call_scale, 1, IN_PLACE},
    {"mul", call_mul, 1, IN_PLACE},
    {"softcap", call_softcap, 1, IN_PLACE},
    {"activate", call_activate, ACT_N_FNS, EITHER},
    {"activate_mul", call_activate_mul, ACT_N_FNS, EITHER},
    {"swiglu_oai", call_swiglu_oai, 1, EITHER},
    {"xielu", call_xielu, 2, EITHER},
};

static void call_row_op(const struct kernel_set *set, const struct row_op *op, bool in_place, struct row_call c) {
    if (in_place && c.n) memcpy(c.out, c.x, 4 * c.n);
    if (in_place) c.x = c.out;
    op->call(set, &c);
}

static bool row_case(const struct kernel_set *set, const struct row_op *op, int which, bool in_place, size_t n,
                     enum data kind) {
    struct guarded in[3];
    struct output got = output_new(4 * n + 4), want = output_new(4 * n + 4);
    for (int i = 0; i < 3; i++) {
        in[i] = guarded_new(4 * n, 4 * below(16));
        fill_floats((float *)(void *)in[i].data, n, kind);
    }
    float *const x = (float *)(void *)in[0].data;
    maybe_poison(x, n);
    const float t = n && below(2) ? x[below(n)] : any_float(kind);
    struct row_call c = {x, (float *)(void *)in[1].data, (float *)(void *)in[2].data, n, t, which, NULL};
    c.out = (float *)(void *)got.data;
    call_row_op(set, op, in_place, c);
    c.out = (float *)(void *)want.data;
    call_row_op(ref, op, in_place, c);
    const bool same = CHECK(same_floats(&got, &want));
    for (int i = 0; i < 3; i++) guarded_free(&in[i]);
    output_free(&got);
    output_free(&want);
    return same;
}

static void check_row_op(const struct kernel_set *set, const struct row_op *op, int which, bool in_place) {
    static const size_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 49, 100, 576, 1027};
    for (size_t i = 0; i < 9 * COUNT(sizes); i++) {
        const enum data kind = (enum data)(i % DATA_N);
        rng_start(op->name, i);
        NOTE(set, op->name, "way %d%s %s n %zu", which, in_place ? " in place" : "", data_names[kind], sizes[i / 9]);
        if (!row_case(set, op, which, in_place, sizes[i / 9], kind)) return;
    }
}

static void check_rows(const struct kernel_set *set) {
    COVER(row);
    COVER(rms_norm);
    COVER(layer_norm);
    COVER(softmax);
    COVER(add);
    COVER(add_scaled);
    COVER(scale);
    COVER(mul);
    COVER(softcap);
    COVER(activate);
    COVER(activate_mul);
    COVER(swiglu_oai);
    COVER(xielu);
    for (const struct row_op *op = row_ops; op < row_ops + COUNT(row_ops); op++)
        for (int which = 0; which < op->n_ways && op_wanted(op->name); which++) {
            if (op->where & APART) check_row_op(set, op, which, false);
            if (op->where & IN_PLACE) check_row_op(set, op, which, true);
        }
}

// Every 8,191st float through each function: all magnitudes, both sides of every limit that a function has.
static void check_functions(const struct kernel_set *set) {
    enum { N = 1024 };
    const uint64_t step = 8191 * every();
    for (int f = 0; f <= ACT_N_FNS && op_wanted("activate_everywhere"); f++) {
        for (uint64_t u = 0; u <= UINT32_MAX; u += step * N) {
            struct output x = output_new(4 * N), got = output_new(4 * N), want = output_new(4 * N);
            float *const from = (float *)(void *)x.data, *const to[2] = {(float *)(void *)got.data,
                                                                         (float *)(void *)want.data};
            for (size_t i = 0; i < N; i++) from[i] = f32_from_bits((uint32_t)(u + step * i));
            for (int i = 0; i < 2; i++) {
                const struct kernel_set *const k = i ? ref : set;
                memcpy(to[i], from, 4 * N);
                if (f < ACT_N_FNS)
                    k->activate[f](from, N, to[i]);
                else
                    k->softcap(to[i], 1, N); // tanh itself
            }
            NOTE(set, "activate_everywhere", "function %d from %08x", f, (unsigned)u);
            const bool same = CHECK(same_floats(&got, &want));
            output_free(&x), output_free(&got), output_free(&want);
            if (!same) break;
        }
    }
}

// Sums of weights by bin; rows as they must be: no NaN, nothing above the largest.
static bool bins_case(const struct kernel_set *set, size_t n, struct row_depth d, enum data kind) {
    struct guarded x = guarded_new(4 * n, 4 * below(16));
    struct output sums[2] = {output_new(8 * ROW_N_BINS), output_new(8 * ROW_N_BINS)};
    float *const row = (float *)(void *)x.data;
    fill_floats(row, n, kind);
    for (size_t i = 0; i < n; i++)
        if (below(16) == 0) row[i] = -INFINITY;
    d.max = n ? ref->row.max(row, n) : 0;
    if (d.max == -INFINITY) d.max = 0;
    for (int i = 0; i < 2; i++) {
        const struct rowmath *const rm = i ? &ref->row : &set->row;
        rm->weigh(row, n, d, (uint64_t *)(void *)sums[i].data); // adds to what is there
    }
    const bool same = same_bytes(&sums[0], &sums[1]);
    for (int i = 0; i < 2; i++) output_free(&sums[i]);
    guarded_free(&x);
    return CHECK(same);
}

static void check_bins(const struct kernel_set *set) {
    static const size_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 33, 100, 1027};
    static const struct row_depth depths[] = {{0, 1, 32, 1023},   {0, 0.7f, 32, 320}, {0, 1, 65536, 1023},
                                              {0, 1e-30f, 64, 1}, {0, 1, 1024, 1},    {0, 90, 256, 1023},
                                              {0, 1, 32, 0}};
    for (size_t i = 0; i < 30 * COUNT(sizes) && op_wanted("row_weigh"); i++) {
        const enum data kind = (enum data)(i % DATA_N);
        const struct row_depth d = depths[i % COUNT(depths)];
        rng_start("row_weigh", i);
        NOTE(set, "row_weigh", "%s n %zu temp %g scale %g last %d", data_names[kind], sizes[i / 30], (double)d.temp,
             (double)d.scale, d.last);
        if (!bins_case(set, sizes[i / 30], d, kind)) break;
    }
}

static void check_rope(const struct kernel_set *set) {
    static const size_t n_rots[] = {0, 2, 4, 6, 8, 10, 14, 16, 18, 30, 32, 34, 36, 46, 48, 62, 64, 66, 80, 128};
    COVER(rope);
    COVER(rope_halves);
    for (size_t i = 0; i < 9 * COUNT(n_rots) && op_wanted("rope"); i++) {
        const size_t n_rot = n_rots[i / 9], n_head = i % 4, stride = n_rot + below(20);
        const enum data kind = (enum data)(i % DATA_N);
        rng_start("rope", i);
        NOTE(set, "rope", "%s n_rot %zu n_head %zu stride %zu", data_names[kind], n_rot, n_head, stride);
        struct guarded cos_sin = guarded_new(4 * n_rot, 4 * below(16));
        fill_floats((float *)(void *)cos_sin.data, n_rot, DATA_NOISE);
        for (int halves = 0; halves < 2; halves++) {
            struct output got = output_new(4 * stride * n_head), want = output_new(4 * stride * n_head);
            float *const g = (float *)(void *)got.data, *const w = (float *)(void *)want.data;
            fill_floats(g, stride * n_head, kind);
            maybe_poison(g, stride * n_head);
            memcpy(w, g, got.n);
            const float *const cs = (const float *)(const void *)cos_sin.data;
            (halves ? set->rope_halves : set->rope)(g, n_head, stride, n_rot, cs);
            (halves ? ref->rope_halves : ref->rope)(w, n_head, stride, n_rot, cs);
            CHECK(same_floats(&got, &want));
            output_free(&got);
            output_free(&want);
        }
        guarded_free(&cos_sin);
    }
}
