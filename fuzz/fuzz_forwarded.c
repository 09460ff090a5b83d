// fuzz/fuzz_forwarded.c - X-Forwarded-For and Forwarded. A list that ends with a trusted proxy's own entry gives that entry, whatever
// stands before it; any other gives an address that trusted_proxies_has() can read.
#include "serve/access/trusted_proxies.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    enum { MOST = 4096 };
    static char list[MOST + 64];
    char client[CLIENT_TEXT], why[128];
    trusted_proxies all = {.n = 0}, one = {.n = 0};
    if (n > MOST) return 0;
    must(trusted_proxies_add(&all, "::/0", why, sizeof why));
    must(trusted_proxies_add(&one, "10.0.0.1", why, sizeof why));
    memcpy(list, data, n);
    list[n] = '\0';
    n = strlen(list);
    (void)trusted_proxies_add(&one, list, why, sizeof why);
    one.n = 1;
    trusted_proxies_client(&one, "10.0.0.1", list, NULL, client);
    must(trusted_proxies_has(&all, client));
    trusted_proxies_client(&all, "10.0.0.1", NULL, list, client);
    must(trusted_proxies_has(&all, client));
    strcpy(list + n, ",192.0.2.1");
    trusted_proxies_client(&one, "10.0.0.1", list, NULL, client);
    must(strcmp(client, "192.0.2.1") == 0);
    strcpy(list + n, ",for=192.0.2.1");
    trusted_proxies_client(&one, "10.0.0.1", NULL, list, client);
    must(strcmp(client, "192.0.2.1") == 0);
    return 0;
}
