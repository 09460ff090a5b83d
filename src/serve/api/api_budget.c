// serve/api/api_budget.c - see api_budget.h.
#include "serve/api/api_budget.h"
#include "serve/access/key_rates.h"
#include "serve/api/api.h"

uint64_t api_budget_estimate(uint64_t n_bytes) {
    enum { BYTES_OF_TOKEN = 4 };
    return n_bytes / BYTES_OF_TOKEN;
}

bool api_budget_take(api_request *r, uint64_t n, uint64_t *reserved) {
    int32_t wait_s = 0;
    if (key_rates_take(api_rates(r->server->api), r->key, n, reserved, &wait_s)) return true;
    api_fail(&r->error, API_RATE_LIMIT, NULL, "key: token limit per minute reached; try again in %d s", wait_s);
    r->error.retry_after = wait_s;
    return false;
}

void api_budget_settle(const api_request *r, uint64_t reserved, uint64_t used) {
    key_rates_settle(api_rates(r->server->api), r->key, reserved, used);
}
