// serve/api/api_budget.h - a request's share of its key's tokens (--key-tokens-per-minute): reserved before the work, settled after it.
//
// Threads: any.
#ifndef RN_SERVE_API_API_BUDGET_H
#define RN_SERVE_API_API_BUDGET_H

#include "serve/api/api_request.h"

// Tokens of a text of n bytes, about: before it is tokenized, and where it never is.
uint64_t api_budget_estimate(uint64_t n_bytes);
// Reserves n tokens of the request's key, or refuses with 429 and Retry-After. *reserved: for api_budget_settle().
bool api_budget_take(api_request *r, uint64_t n, uint64_t *reserved);
void api_budget_settle(const api_request *r, uint64_t reserved, uint64_t used);

#endif
