// base/crowding.c - how many of a pool's threads to run, and where, while other programs want the cores.
#include "base/crowding.h"

static const double much =
    0.3; // measured: 0.4 to 0.55 beside a busy loop on one of two cores, below 0.2 on quiet ones
static const int64_t least_patience_ns = 160000000, most_patience_ns = 2560000000;
static const int64_t least_apart_ns = 640000000, most_apart_ns = 40960000000;

void crowding_init(struct crowding *c, int n_threads, bool can_part) {
    *c = (struct crowding){.n_threads = n_threads,
                           .n_active = n_threads,
                           .can_part = can_part,
                           .patience_ns = least_patience_ns,
                           .apart_ns = least_apart_ns};
}

static void part(struct crowding *c, int64_t since) {
    c->apart = true;
    if (since >= c->apart_ns)
        c->apart_ns = least_apart_ns;
    else if (c->apart_ns < most_apart_ns)
        c->apart_ns *= 2; // they were let go too early
}

static void leave_out(struct crowding *c) {
    c->n_active -= (c->n_active + 3) / 4;
    c->apart = false; // fewer threads than cores: the scheduler knows better which
    if (c->patience_ns < most_patience_ns) c->patience_ns *= 2;
}

void crowding_judge(struct crowding *c, int64_t now_ns, double worst) {
    const int64_t since = now_ns - c->changed_ns;
    const bool lost = worst > much && c->n_active > 1, all = c->n_active == c->n_threads;
    if (all && !lost && since >= most_patience_ns) c->patience_ns = least_patience_ns; // the other program has gone
    if (lost && c->can_part && !c->apart)
        part(c, since);
    else if (lost)
        leave_out(c);
    else if (worst <= much && !all && since >= c->patience_ns) {
        c->n_active++;
        c->apart = c->can_part;
    } else if (all && c->apart && since >= c->apart_ns)
        c->apart = false;
    else
        return;
    c->changed_ns = now_ns;
}
