// tests/kernels/check_recur.h - a part of check_test.c: steps of recurrences, of every set against ref.

enum { RECUR_STEPS = 3 }; // in a row, each from the state that the one before left

// Outputs of all steps, then the state, of one set; the inputs are those of the case's seed.
static struct output conv_case(const struct kernel_set *set, size_t i_case, size_t d_conv, size_t n, enum data kind) {
    const size_t stride = n + i_case % 3, n_state = (d_conv - 1) * stride;
    struct output out = output_new(4 * (RECUR_STEPS * n + n_state));
    float *const y = (float *)(void *)out.data, *const state = y + RECUR_STEPS * n;
    struct guarded x = guarded_new(4 * n, 0), taps = guarded_new(4 * d_conv * stride, 4 * (i_case % 16));
    rng_start("conv_step", i_case);
    fill_floats((float *)(void *)taps.data, d_conv * stride, DATA_NOISE);
    fill_floats(state, n_state, kind);
    for (size_t step = 0; step < RECUR_STEPS; step++) {
        fill_floats((float *)(void *)x.data, n, kind);
        maybe_poison((float *)(void *)x.data, n);
        set->conv_step((const float *)(const void *)x.data, state, (const float *)(const void *)taps.data, d_conv,
                       stride, n, y + step * n);
    }
    guarded_free(&x);
    guarded_free(&taps);
    return out;
}

static struct output ssm_case(const struct kernel_set *set, size_t i_case, size_t head_dim, size_t d_state,
                              enum data kind) {
    const size_t n_state = head_dim * d_state, n_x = head_dim + 2 * d_state;
    struct output out = output_new(4 * (RECUR_STEPS * head_dim + n_state));
    float *const y = (float *)(void *)out.data, *const state = y + RECUR_STEPS * head_dim;
    struct guarded in = guarded_new(4 * n_x, 0);
    float *const x = (float *)(void *)in.data;
    rng_start("ssm_step", i_case);
    fill_floats(state, n_state, kind);
    for (size_t step = 0; step < RECUR_STEPS; step++) {
        fill_floats(x, n_x, kind);
        maybe_poison(x, n_x);
        set->ssm_step(&(struct ssm_step){.head_dim = head_dim,
                                         .d_state = d_state,
                                         .state = state,
                                         .x = x + 2 * d_state,
                                         .b = x,
                                         .c = x + d_state,
                                         .dt = fabsf(uniform()),
                                         .decay = fabsf(uniform()),
                                         .d = uniform(),
                                         .y = y + step * head_dim});
    }
    guarded_free(&in);
    return out;
}

static struct output scan_case(const struct kernel_set *set, size_t i_case, size_t n, size_t d_state,
                               enum data kind) {
    const size_t stride = n + i_case % 3, n_state = d_state * stride, n_x = 3 * n + 2 * d_state;
    struct output out = output_new(4 * (RECUR_STEPS * n + n_state));
    float *const y = (float *)(void *)out.data, *const state = y + RECUR_STEPS * n;
    struct guarded in = guarded_new(4 * n_x, 0), held = guarded_new(4 * n, 4 * (i_case % 16)),
                   decay = guarded_new(4 * n * d_state, 0);
    float *const x = (float *)(void *)in.data;
    rng_start("scan_step", i_case);
    fill_floats(state, n_state, kind);
    for (size_t step = 0; step < RECUR_STEPS; step++) {
        fill_floats(x, n_x, kind);
        maybe_poison(x, n_x);
        for (size_t k = 0; k < n * d_state; k++) ((float *)(void *)decay.data)[k] = fabsf(uniform());
        set->scan_step(&(struct scan_step){.n = n,
                                           .d_state = d_state,
                                           .stride = stride,
                                           .state = state,
                                           .x = x,
                                           .d = x + n,
                                           .dt = x + 2 * n,
                                           .decay = (const float *)(const void *)decay.data,
                                           .b = x + 3 * n,
                                           .c = x + 3 * n + d_state,
                                           .held = (float *)(void *)held.data,
                                           .y = y + step * n});
    }
    guarded_free(&in);
    guarded_free(&held);
    guarded_free(&decay);
    return out;
}

static struct output delta_case(const struct kernel_set *set, size_t i_case, size_t head_dim, size_t v_dim,
                                enum data kind) {
    const size_t n_state = head_dim * v_dim, n_x = 2 * head_dim + v_dim;
    struct output out = output_new(4 * (RECUR_STEPS * v_dim + n_state));
    float *const y = (float *)(void *)out.data, *const state = y + RECUR_STEPS * v_dim;
    struct guarded in = guarded_new(4 * n_x, 0), held = guarded_new(4 * v_dim, 4 * (i_case % 16));
    float *const x = (float *)(void *)in.data;
    rng_start("delta_step", i_case);
    fill_floats(state, n_state, kind);
    for (size_t step = 0; step < RECUR_STEPS; step++) {
        fill_floats(x, n_x, kind);
        maybe_poison(x, n_x);
        set->delta_step(&(struct delta_step){.head_dim = head_dim,
                                             .v_dim = v_dim,
                                             .state = state,
                                             .q = x,
                                             .k = x + head_dim,
                                             .v = x + 2 * head_dim,
                                             .decay = fabsf(uniform()),
                                             .beta = fabsf(uniform()),
                                             .held = (float *)(void *)held.data,
                                             .y = y + step * v_dim});
    }
    guarded_free(&in);
    guarded_free(&held);
    return out;
}

static struct output rank_one_case(const struct kernel_set *set, size_t i_case, size_t head_dim, size_t v_dim,
                                   enum data kind) {
    const size_t n_state = head_dim * v_dim, n_x = 5 * head_dim + v_dim;
    struct output out = output_new(4 * (RECUR_STEPS * v_dim + n_state));
    float *const y = (float *)(void *)out.data, *const state = y + RECUR_STEPS * v_dim;
    struct guarded in = guarded_new(4 * n_x, 0), held = guarded_new(4 * v_dim, 4 * (i_case % 16));
    float *const x = (float *)(void *)in.data;
    rng_start("rank_one_step", i_case);
    fill_floats(state, n_state, kind);
    for (size_t step = 0; step < RECUR_STEPS; step++) {
        fill_floats(x, n_x, kind);
        maybe_poison(x, n_x);
        for (size_t k = 0; k < head_dim; k++) x[k] = fabsf(uniform());
        set->rank_one_step(&(struct rank_one_step){.head_dim = head_dim,
                                                   .v_dim = v_dim,
                                                   .decays_first = i_case % 2,
                                                   .state = state,
                                                   .decay = x,
                                                   .q = x + head_dim,
                                                   .k = x + 2 * head_dim,
                                                   .e = x + 3 * head_dim,
                                                   .b = x + 4 * head_dim,
                                                   .v = x + 5 * head_dim,
                                                   .held = (float *)(void *)held.data,
                                                   .y = y + step * v_dim});
    }
    guarded_free(&in);
    guarded_free(&held);
    return out;
}

static struct output decay_case(const struct kernel_set *set, size_t i_case, size_t head_dim, size_t v_dim,
                                enum data kind) {
    const size_t n_state = head_dim * v_dim, n_x = 4 * head_dim + v_dim;
    struct output out = output_new(4 * (RECUR_STEPS * v_dim + n_state));
    float *const y = (float *)(void *)out.data, *const state = y + RECUR_STEPS * v_dim;
    struct guarded in = guarded_new(4 * n_x, 4 * (i_case % 16));
    float *const x = (float *)(void *)in.data;
    rng_start("decay_step", i_case);
    fill_floats(state, n_state, kind);
    for (size_t step = 0; step < RECUR_STEPS; step++) {
        fill_floats(x, n_x, kind);
        maybe_poison(x, n_x);
        for (size_t k = 0; k < head_dim; k++) x[k] = fabsf(uniform());
        set->decay_step(&(struct decay_step){.head_dim = head_dim,
                                             .v_dim = v_dim,
                                             .state = state,
                                             .decay = x,
                                             .q = x + head_dim,
                                             .k = x + 2 * head_dim,
                                             .own = i_case % 2 ? x + 3 * head_dim : NULL,
                                             .v = x + 4 * head_dim,
                                             .y = y + step * v_dim});
    }
    guarded_free(&in);
    return out;
}

static void check_recur(const struct kernel_set *set) {
    static const struct {
        const char *name;
        struct output (*run)(const struct kernel_set *, size_t i_case, size_t a, size_t b, enum data kind);
        size_t a[4];
    } ops[] = {{"conv_step", conv_case, {1, 2, 3, 4}},      {"ssm_step", ssm_case, {1, 24, 33, 64}},
               {"scan_step", scan_case, {1, 24, 33, 64}},   {"rank_one_step", rank_one_case, {1, 8, 24, 128}},
               {"decay_step", decay_case, {1, 8, 24, 128}}, {"delta_step", delta_case, {1, 8, 24, 128}}};
    static const size_t widths[] = {1, 2, 7, 8, 15, 16, 17, 33, 64, 70};
    COVER(conv_step);
    COVER(ssm_step);
    COVER(scan_step);
    COVER(rank_one_step);
    COVER(decay_step);
    COVER(delta_step);
    for (size_t o = 0; o < COUNT(ops); o++)
        for (size_t i = 0; i < 4 * DATA_N * COUNT(widths) && op_wanted(ops[o].name); i += every()) {
            const enum data kind = (enum data)(i % DATA_N);
            const size_t a = ops[o].a[i / DATA_N % 4], b = widths[i / DATA_N / 4];
            NOTE(set, ops[o].name, "%s %zu by %zu", data_names[kind], a, b);
            struct output got = ops[o].run(set, i, a, b, kind), want = ops[o].run(ref, i, a, b, kind);
            const bool same = CHECK(same_floats(&got, &want));
            output_free(&got);
            output_free(&want);
            if (!same) break;
        }
}
