// decoding/draft/draft_account.c - see draft_account.h.
#include "decoding/draft/draft_account.h"
#include <math.h>

static const double part_of_time = 0.01;
static const double part_of_step = 0.75;                 // once: so that short answers are guessed at all
static const double part_of_hope = 0.5, most_hope = 0.5; // of a step

void draft_account_step(struct draft_account *a, double plain_ns) { a->plain_ns += plain_ns; }

void draft_account_guesses(struct draft_account *a, double spared_ns, double took_ns) {
    a->gained_ns += spared_ns - took_ns;
}

double draft_account_left(const struct draft_account *a, double plain_ns) {
    return a->gained_ns + part_of_time * a->plain_ns + part_of_step * plain_ns;
}

double draft_account_hope(double spared_ns, double plain_ns) {
    return fmin(part_of_hope * spared_ns, most_hope * plain_ns);
}
