// base/tiles_permission.h - Linux lets a process use AMX's tile registers only when it has asked for them.
#ifndef RN_BASE_TILES_PERMISSION_H
#define RN_BASE_TILES_PERMISSION_H

#include <stdbool.h>

// Asks, for all threads of the process, those to come included. False where the kernel refuses, or knows no tiles. Asking again is fine.
bool tiles_permitted(void);

#endif
