// tests/decoding/early_layers_test.c - the layers that DoLa looks at, against the rule of transformers' code; hidden states that are stored and
// compared.
#include "base/philox.h"
#include "decoding/early_layers.h"
#include "decoding/hidden_store.h"
#include "tests/check.h"
#include <math.h>

static void check_layers(const char *text, int32_t n_layer, bool ties, const int32_t *want, int32_t n_want) {
    int32_t layers[EARLY_LAYERS_MOST], n;
    rn_error err = {0};
    check_note("%s of %d layers%s", text, n_layer, ties ? ", tied" : "");
    if (!CHECK_OK(early_layers_read(text, n_layer, ties, layers, &n, &err), &err) || !CHECK_INT(n, n_want)) return;
    CHECK_MEM(layers, want, (size_t)n * sizeof *want);
}

// generation/utils.py of transformers, _dola_decoding: start_layer and candidate_premature_layers.
TEST(low_and_high_are_the_layers_that_transformers_takes) {
    for (int32_t n = 1; n <= 100; n++)
        for (int ties = 0; ties <= 1; ties++) {
            int32_t low[64], high[64], n_low = 0, n_high = 0;
            const int32_t start = !ties ? 0 : n > 2 ? 2 : n == 2 ? 1 : 0;
            for (int32_t l = start; l < (n <= 40 ? n / 2 : 20); l += 2) low[n_low++] = l;
            // Its list is empty for some models of few layers, which it cannot decode; here the first layer is taken.
            if (n_low == 0) low[n_low++] = start;
            for (int32_t l = n <= 40 ? n / 2 : n - 20; l < n; l += 2) high[n_high++] = l;
            check_layers("low", n, ties, low, n_low);
            check_layers("high", n, ties, high, n_high);
        }
}

TEST(a_list_of_layers_is_read_whole_or_refused_by_name) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "dola_layers: \"\" is neither low nor high nor a list of layers"},
        {"1,", "\"1,\" is neither"},
        {",1", "\",1\" is neither"},
        {"1 ,2", "\"1 ,2\" is neither"},
        {"-1", "\"-1\" is neither"},
        {"lower", "\"lower\" is neither"},
        {"3,7,3", "layer 3 is named twice"},
        {"40", "layer 40 is outside 0..39"},
        {"99999999999999999999", "is outside 0..39"},
        {"0,1,2,3,4,5,6,7,8,9,10,11,12", "more than 12 layers"},
    };
    static const int32_t some[] = {7, 0, 39}, most[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    check_layers("7,0,39", 40, true, some, 3);
    check_layers("0,1,2,3,4,5,6,7,8,9,10,11", 40, false, most, 12);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t layers[EARLY_LAYERS_MOST], n;
        rn_error err = {0};
        CHECK_FAILS(early_layers_read(rows[i].text, 40, false, layers, &n, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].why);
    }
}

enum { N_EMBD = 37, N_STATES = 50 };

static void random_state(uint64_t seed, float out[N_EMBD]) {
    for (uint32_t d = 0; d < N_EMBD; d++) out[d] = (float)(8 * philox_uniform(seed, 0, d, PHILOX_TEST) - 4);
}

static double cosine(const float *a, const float *b) {
    double ab = 0, aa = 0, bb = 0;
    for (int d = 0; d < N_EMBD; d++)
        ab += (double)a[d] * (double)b[d], aa += (double)a[d] * (double)a[d], bb += (double)b[d] * (double)b[d];
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

TEST(the_nearest_of_the_stored_states_has_the_largest_cosine) {
    static float states[N_STATES][N_EMBD];
    struct hidden_store h;
    rn_error err = {0};
    float state[N_EMBD];
    double got;
    if (!CHECK_OK(hidden_store_init(&h, N_EMBD, N_STATES, &err), &err)) return;
    random_state(1000, state);
    CHECK(hidden_store_nearest(&h, state, &got) && got == -1); // none is stored
    for (int32_t n = 0; n < N_STATES; n++) {
        double want = -1;
        random_state((uint64_t)n, states[n]);
        for (int d = 0; n == 20 && d < N_EMBD; d++) states[n][d] = 0; // it has no direction
        CHECK(hidden_store_add(&h, states[n]));
        for (int32_t i = 0; i <= n; i++) want = fmax(want, cosine(state, states[i]));
        CHECK(hidden_store_nearest(&h, state, &got) && fabs(got - want) < 1e-5);
    }
    CHECK(!hidden_store_add(&h, state)); // it is full
    hidden_store_cut(&h, 10);
    CHECK(hidden_store_add(&h, state) && hidden_store_nearest(&h, state, &got) && fabs(got - 1) < 1e-6);
    state[5] = NAN;
    CHECK(!hidden_store_nearest(&h, state, &got));
    state[5] = INFINITY;
    CHECK(!hidden_store_add(&h, state));
    hidden_store_free(&h);
}
