// backend/cpu/cpu_schedule.c - see cpu_schedule.h.
#include "backend/cpu/cpu_schedule.h"

const struct op_traits cpu_traits[OP_N_KINDS + 1] = {
    [OP_LINEAR] = {.claimed = true},         [OP_ATTEND] = {.claimed = true},
    [OP_GATE] = {.by_columns = true},        [OP_ACTIVATE] = {.by_columns = true},
    [OP_ROPE] = {.in_place = true},          [OP_ADD] = {.in_place = true},
    [OP_SCALE] = {.in_place = true},         [OP_SOFTCAP] = {.in_place = true},
    [OP_TEMPERATURE] = {.in_place = true},   [OP_COPY] = {.in_place = true}, // writes a part of its row
    [OP_EXPERTS] = {.claimed = true},        [OP_GATE_OAI] = {.by_columns = true},
    [OP_SCALE_BY] = {.in_place = true},      [OP_SPREAD] = {.meets_rows = true},
    [OP_EXPERTS_SUM] = {.meets_rows = true}, [OP_MUL] = {.in_place = true},
    [OP_CONV] = {.claimed = true},           [OP_SSM] = {.claimed = true},
    [OP_DELTA] = {.claimed = true},          [OP_CLAMP] = {.in_place = true},
    [OP_SCAN] = {.claimed = true},           [OP_XIELU] = {.by_columns = true},
    [OP_SHIFT] = {.claimed = true},          [OP_RANK_ONE] = {.claimed = true},
    [OP_BONUS] = {.in_place = true},         [OP_ADD_VECTOR] = {.in_place = true},
    [OP_DECAY] = {.claimed = true},
};

bool cpu_keeps_dst(const struct cpu_backend *b, const struct op *o) {
    return cpu_traits[o->kind].in_place || (o->dst >= 0 && (size_t)o->width < b->p->width[o->dst]);
}

void cpu_schedules_plan(struct cpu_backend *b) {
    for (enum cpu_schedule schedule = 0; schedule < CPU_N_SCHEDULES; schedule++) {
        cpu_join_ops(b, schedule);
        cpu_plan_copies(b, schedule);
        cpu_plan_barriers(b, schedule);
    }
}

// The collector reads inputs from the shared buffers.
enum cpu_schedule cpu_schedule_of_step(const struct cpu_backend *b) {
    if (b->batch->n_rows > b->copies.n_rows || b->collect) return SCHEDULE_ROWS;
    return b->one_stores ? SCHEDULE_STORES : SCHEDULE_EACH;
}
