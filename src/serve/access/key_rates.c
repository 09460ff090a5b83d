// serve/access/key_rates.c - one token bucket for each key.
//
// A bucket's level is kept as time: the nanoseconds it takes to fill to that level. n tokens cost n * 60e9 /
// (tokens per minute) ns. A full bucket holds one minute. This way rounding errors do not add up.
#include "serve/access/key_rates.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/access/api_keys.h"
#include <pthread.h>
#include <stdlib.h>

#define MINUTE_NS INT64_C(60000000000)

typedef struct bucket {
    uint64_t key;
    // at_ns: when level_ns was computed; 0: unused.
    int64_t level_ns, at_ns;
} bucket;
// As many as there can be keys, those that were revoked a minute ago, and one for requests without a key.
enum { BUCKETS = 2 * API_KEYS_MAX + 1 };
struct key_rates {
    int64_t tokens_per_minute;
    pthread_mutex_t lock;
    bucket buckets[BUCKETS];
};

struct key_rates *key_rates_open(int32_t tokens_per_minute) {
    struct key_rates *const r = app_alloc(sizeof *r);
    *r = (struct key_rates){.tokens_per_minute = tokens_per_minute};
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void key_rates_close(struct key_rates *r) {
    pthread_mutex_destroy(&r->lock);
    free(r);
}

// The key's bucket, else an unused one, else the one that was used least lately. Any bucket of a minute ago is full, as a new one is.
static bucket *find(struct key_rates *r, uint64_t key) {
    bucket *oldest = &r->buckets[0];
    for (bucket *b = r->buckets; b < r->buckets + BUCKETS; b++) {
        if (b->at_ns && b->key == key) return b;
        if (b->at_ns < oldest->at_ns) oldest = b;
    }
    *oldest = (bucket){.key = key};
    return oldest;
}

static bucket *bucket_of(struct key_rates *r, uint64_t key) {
    bucket *const b = find(r, key);
    const int64_t now = now_ns(), level = b->at_ns ? b->level_ns + (now - b->at_ns) : MINUTE_NS;
    b->level_ns = level < MINUTE_NS ? level : MINUTE_NS;
    b->at_ns = now;
    return b;
}

static int64_t cost_of(const struct key_rates *r, uint64_t n) {
    const uint64_t most = (uint64_t)r->tokens_per_minute;
    return (int64_t)(n < most ? n : most) * MINUTE_NS / r->tokens_per_minute;
}

bool key_rates_take(struct key_rates *r, uint64_t key, uint64_t n_tokens, uint64_t *reserved, int32_t *wait_s) {
    *reserved = 0;
    if (r->tokens_per_minute == 0) return true;
    const int64_t cost = cost_of(r, n_tokens);
    pthread_mutex_lock(&r->lock);
    bucket *const b = bucket_of(r, key);
    const bool is_there = b->level_ns >= cost;
    if (is_there) b->level_ns -= cost;
    *wait_s = (int32_t)((cost - b->level_ns + INT64_C(999999999)) / INT64_C(1000000000));
    pthread_mutex_unlock(&r->lock);
    if (is_there) *reserved = n_tokens;
    return is_there;
}

void key_rates_settle(struct key_rates *r, uint64_t key, uint64_t reserved, uint64_t used) {
    if (r->tokens_per_minute == 0) return;
    pthread_mutex_lock(&r->lock);
    bucket *const b = bucket_of(r, key);
    const int64_t level = b->level_ns + cost_of(r, reserved) - cost_of(r, used);
    b->level_ns = level < MINUTE_NS ? level : MINUTE_NS;
    pthread_mutex_unlock(&r->lock);
}
