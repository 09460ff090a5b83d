// base/crowding.c - how many of a pool's threads to run while other programs want the cores.
#include "base/crowding.h"

static const double much =
    0.3; // measured: 0.4 to 0.55 beside a busy loop on one of two cores, below 0.2 on quiet ones
static const int64_t least_patience_ns = 160000000, most_patience_ns = 2560000000;

void crowding_init(struct crowding *c, int n_threads) {
    *c = (struct crowding){.n_threads = n_threads, .n_active = n_threads, .patience_ns = least_patience_ns};
}

void crowding_judge(struct crowding *c, int64_t now_ns, double worst) {
    const int64_t since = now_ns - c->changed_ns;
    if (worst > much && c->n_active > 1) {
        c->n_active -= (c->n_active + 3) / 4;
        c->changed_ns = now_ns;
        if (c->patience_ns < most_patience_ns) c->patience_ns *= 2;
    } else if (worst <= much && c->n_active < c->n_threads && since >= c->patience_ns) {
        c->n_active++;
        c->changed_ns = now_ns;
    } else if (c->n_active == c->n_threads && since >= most_patience_ns) {
        c->patience_ns = least_patience_ns; // the other program has gone
    }
}
