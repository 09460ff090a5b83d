// serve/access/client_address.h - addresses of clients as text.
//
// Threads: any.
#ifndef RN_SERVE_ACCESS_CLIENT_ADDRESS_H
#define RN_SERVE_ACCESS_CLIENT_ADDRESS_H

enum { CLIENT_TEXT = 64 }; // bytes of an address as text, with its terminator

// What the addresses of one client have in common: an IPv4 address whole, also one that is written as IPv6, and the first 64 bits of
// an IPv6 address ("2001:db8::/64"), of which every customer of a provider has at least as many. Limits by address count these. Other
// text is copied. group may be address.
void client_group(const char *address, char group[CLIENT_TEXT]);

#endif
