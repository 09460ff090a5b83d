// serve/access/key_rates.h - tokens per minute of each API key: token buckets in whole nanosecond-tokens.
//
// A request reserves the most tokens it may need from its key's bucket; what it did not use is returned when it ends.
//
// Ownership: key_rates_close(). Threads: internally locked.
#ifndef RN_SERVE_ACCESS_KEY_RATES_H
#define RN_SERVE_ACCESS_KEY_RATES_H

#include <stdbool.h>
#include <stdint.h>

struct key_rates;

enum { KEY_RATE_MAX = 100000000 }; // so that a bucket in nanosecond-tokens is a 64-bit number
struct key_rates *key_rates_open(int32_t tokens_per_minute); // 0: no limit. A bucket holds a minute's worth
void key_rates_close(struct key_rates *r);
// key: api_keys.h; requests without one share a bucket. False: try again in *wait_s seconds. *reserved: tokens taken, at most a full bucket.
bool key_rates_take(struct key_rates *r, uint64_t key, uint64_t n_tokens, uint64_t *reserved, int32_t *wait_s);
void key_rates_settle(struct key_rates *r, uint64_t key, uint64_t reserved, uint64_t used);

#endif
