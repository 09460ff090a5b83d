// tests/support/spoiled_config.h - a config.json with each of its members spoiled, one after the other.
#ifndef RN_TESTS_SPOILED_CONFIG_H
#define RN_TESTS_SPOILED_CONFIG_H

#include <jansson.h>

struct spoiling {
    const char *what; // for the note of a failed check
    json_t *config;   // is as it was afterwards, but for the order of its members
    void (*use)(void *user, const json_t *config);
    void *user;
};

// Members of the object and of the objects in it, items of lists: each becomes 0, 1, -1, numbers too large, null, a list, a word, and so on;
// and each member is left out once.
void spoil_each_member(const struct spoiling *s);

#endif
