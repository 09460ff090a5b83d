// tests/support/golden.h - a model of the goldens and its cases: what transformers computed, compared with what an lm says.
#ifndef RN_TESTS_GOLDEN_H
#define RN_TESTS_GOLDEN_H

#include "tests/support/lm_rig.h"
#include <jansson.h>

enum { GOLDEN_MAX_IDS = 256 };

struct golden {
    struct rig rig;
    json_t *cases;
    const char *dir;
    bool shared;
};

// The cases of a folder below the shared material, or below tests/, and a model: a file of that folder, "" for the folder itself,
// or a path of its own. false: the test is skipped where the shared material is not there, else a failed check.
bool golden_open(struct golden *g, bool shared, const char *dir, const char *model, const struct rig_options *o);
void golden_close(struct golden *g);                               // also after a failure
const char *golden_path(const struct golden *g, const char *file); // NULL where the shared folder has none

int32_t golden_ids(const json_t *c, int32_t out[GOLDEN_MAX_IDS]); // of a case; their number

// Each case's logits within `bound` (0: the tolerance of float32 arithmetic) of the golden ones, and its greedy tokens, up to
// the first step whose margin is too small for the bound. n_want: how many cases have logits here.
void golden_compare(struct golden *g, double bound, int n_want);

#endif
