// serve/access/api_keys.c - see api_keys.h.
#include "serve/access/api_keys.h"
#include "app/files.h"
#include "app/say.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES = 256, FAILURES_PER_SECOND = 10, KEY_FILE_LIMIT = 1 << 20 };
#define SECOND_NS INT64_C(1000000000)

// Padded with zeros: comparing takes the same time for all keys.
typedef struct key_text {
    unsigned char text[API_KEY_MAX];
} key_text;
typedef struct key_set {
    key_text *keys;
    size_t n;
} key_set;

struct api_keys {
    const text_list *given;
    const char *file;
    pthread_mutex_t lock;
    // lock
    key_set set;
    struct {
        int64_t second;
        int32_t n;
    } failures[ADDRESSES]; // by a hash of the address; addresses with the same hash share a counter
};

static bool add_key(key_set *set, const char *where, size_t line, const char *text, size_t n) {
    if (n < API_KEY_MIN || n > API_KEY_MAX) {
        say("%s: key %zu has %zu bytes, a key has %d to %d", where, line, n, API_KEY_MIN, API_KEY_MAX);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~') {
            say("%s: key %zu has a character that is not allowed in a header: use printable ASCII without spaces",
                where, line);
            return false;
        }
    if (set->n == API_KEYS_MAX) {
        say("%s: more than %d keys", where, API_KEYS_MAX);
        return false;
    }
    memset(set->keys[set->n].text, 0, API_KEY_MAX);
    memcpy(set->keys[set->n++].text, text, n);
    return true;
}

static bool add_file(key_set *set, const char *file) {
    bytes text = {0};
    bool is_good = file_read(file, KEY_FILE_LIMIT, &text);
    size_t line = 1;
    for (char *at = text.data, *end; is_good && at && *at; at = end, line++) {
        end = at + strcspn(at, "\n");
        size_t n = (size_t)(end - at);
        if (n && at[n - 1] == '\r') n--;
        if (n && *at != '#') is_good = add_key(set, file, line, at, n);
        end += *end == '\n';
    }
    if (text.data) memset(text.data, 0, text.n);
    bytes_free(&text);
    return is_good;
}

static bool read_all(const api_keys *k, key_set *set) {
    *set = (key_set){.keys = app_alloc(API_KEYS_MAX * sizeof *set->keys)};
    bool is_good = set->keys != NULL;
    if (!is_good) say("keys: out of memory");
    for (size_t i = 0; is_good && i < k->given->n; i++)
        is_good = add_key(set, "--api-key", i + 1, k->given->items[i], strlen(k->given->items[i]));
    if (is_good && k->file) {
        const size_t n = set->n;
        is_good = add_file(set, k->file);
        if (is_good && set->n == n) {
            say("%s: holds no key", k->file); // an empty file must not turn authentication off
            is_good = false;
        }
    }
    if (!is_good) free(set->keys);
    return is_good;
}

bool api_keys_open(const text_list *given, const char *file, api_keys **keys) {
    api_keys *const k = app_alloc(sizeof *k);
    *keys = NULL;
    if (!k) return false;
    *k = (api_keys){.given = given, .file = file};
    if (!read_all(k, &k->set)) {
        free(k);
        return false;
    }
    pthread_mutex_init(&k->lock, NULL);
    *keys = k;
    return true;
}

bool api_keys_reload(api_keys *k) {
    key_set set;
    if (!read_all(k, &set)) return false;
    pthread_mutex_lock(&k->lock);
    key_text *const old = k->set.keys;
    k->set = set;
    pthread_mutex_unlock(&k->lock);
    free(old);
    return true;
}

bool api_keys_needed(api_keys *k) {
    pthread_mutex_lock(&k->lock);
    const bool is_needed = k->set.n > 0;
    pthread_mutex_unlock(&k->lock);
    return is_needed;
}

void api_keys_free(api_keys *k) {
    if (!k) return;
    pthread_mutex_destroy(&k->lock);
    free(k->set.keys);
    free(k);
}

// FNV-1a (Fowler, Noll, Vo), 32 bits.
static size_t row_of(const char *client) {
    uint32_t h = 2166136261u;
    for (; *client; client++) h = (h ^ (unsigned char)*client) * 16777619u;
    return h % ADDRESSES;
}

// Compares all keys over their full length, so that the time taken says nothing about the match. Returns the
// key's index; -1: unknown.
static int32_t find_key(const key_set *set, const char *given) {
    unsigned char padded[API_KEY_MAX] = {0};
    int32_t found = -1;
    const size_t n = strlen(given);
    if (n < API_KEY_MIN || n > API_KEY_MAX) return -1;
    memcpy(padded, given, n);
    for (size_t i = 0; i < set->n; i++) {
        unsigned char differs = 0;
        for (size_t j = 0; j < API_KEY_MAX; j++) differs |= (unsigned char)(padded[j] ^ set->keys[i].text[j]);
        if (!differs) found = (int32_t)i;
    }
    return found;
}

key_verdict api_keys_check(api_keys *k, const char *given, const char *client, int64_t now_ns, int32_t *index) {
    const size_t row = row_of(client);
    const int64_t second = now_ns / SECOND_NS;
    key_verdict verdict = KEY_BAD;
    *index = -1;
    pthread_mutex_lock(&k->lock);
    if (k->failures[row].second != second) {
        k->failures[row].second = second;
        k->failures[row].n = 0;
    }
    if (k->set.n == 0)
        verdict = KEY_GOOD;
    else if (k->failures[row].n >= FAILURES_PER_SECOND)
        verdict = KEY_TOO_OFTEN;
    else if (given && (*index = find_key(&k->set, given)) >= 0)
        verdict = KEY_GOOD;
    else if (given)
        k->failures[row].n++; // a request without a key is not a guess
    pthread_mutex_unlock(&k->lock);
    return verdict;
}
