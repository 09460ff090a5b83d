// backend/cpu/cpu_attend.h - a step's attention as tasks and units of work; shared by cpu_attend*.c.
#ifndef RN_BACKEND_CPU_ATTEND_H
#define RN_BACKEND_CPU_ATTEND_H

#include "backend/cpu/cpu_private.h"

int32_t attend_heads(const struct program *p);       // query heads that share a key head
size_t attend_most_queries(const struct program *p); // of one task and key head

#endif
