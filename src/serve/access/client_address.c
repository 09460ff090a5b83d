// serve/access/client_address.c - see client_address.h.
#include "serve/access/client_address.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

void client_group(const char *address, char group[CLIENT_TEXT]) {
    enum { NETWORK_BYTES = 8 };
    struct in6_addr v6;
    if (inet_pton(AF_INET6, address, &v6) != 1) {
        if (group != address) snprintf(group, CLIENT_TEXT, "%s", address);
    } else if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        inet_ntop(AF_INET, v6.s6_addr + 12, group, CLIENT_TEXT);
    } else {
        memset(v6.s6_addr + NETWORK_BYTES, 0, sizeof v6.s6_addr - NETWORK_BYTES);
        inet_ntop(AF_INET6, &v6, group, CLIENT_TEXT);
        strcat(group, "/64"); // an address takes at most INET6_ADDRSTRLEN (46)
    }
}
