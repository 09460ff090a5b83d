// base/caches.h - how large the processor's caches are, for measurements that must reach past them.
#ifndef RN_BASE_CACHES_H
#define RN_BASE_CACHES_H

#include <stdint.h>

// Bytes of the largest cache of processor 0; 0: the system does not say. root: where /sys is looked up; "" for the real system.
uint64_t caches_largest(const char *root);

#endif
