// serve/access/api_keys.c - see api_keys.h.
#include "serve/access/api_keys.h"
#include "app/files.h"
#include "app/say.h"
#include "serve/access/client_address.h"
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { ADDRESSES = 256, FAILURES_PER_SECOND = 10, KEY_FILE_LIMIT = 1 << 20, SECRET_BYTES = 32 };
#define SECOND_NS INT64_C(1000000000)
#define LETTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

typedef struct key_entry {
    uint8_t digest[SHA256_DIGEST_SIZE]; // of the key
    uint64_t id;                        // its first bytes
    uint32_t number;
    char name[API_KEY_NAME + 1]; // "": none
} key_entry;
typedef struct key_set {
    key_entry *keys;
    size_t n;
} key_set;

struct api_keys {
    const text_list *given;
    const char *file;
    uint8_t secret[SECRET_BYTES]; // fixed
    pthread_mutex_t lock;
    // lock
    key_set set;
    uint32_t last_number;
    struct {
        int64_t second;
        int32_t n;
    } failures[ADDRESSES]; // by a hash of the address; addresses with the same hash share a counter
};

// ---- reading --------------------------------------------------------------------------------------------------------

// Where a key was given, for messages: "--api-key 2", "keys.txt: line 2".
typedef struct key_place {
    const char *what;
    size_t n;
} key_place;

static bool refuse(const key_place *at, const char *why) {
    say("%s %zu: %s", at->what, at->n, why);
    return false;
}

static void digest_of(const api_keys *k, const char *key, size_t n, uint8_t *digest) {
    struct hmac_sha256_ctx hmac;
    hmac_sha256_set_key(&hmac, sizeof k->secret, k->secret);
    hmac_sha256_update(&hmac, n, (const uint8_t *)key);
    hmac_sha256_digest(&hmac, SHA256_DIGEST_SIZE, digest);
}

static bool read_name(const key_place *at, const char *text, size_t n, char *name) {
    if (n == 0 || n > API_KEY_NAME || !strchr(LETTERS, *text))
        return refuse(at, "the name before `:` must begin with a letter and have 1 to 64 characters");
    memcpy(name, text, n);
    name[n] = '\0';
    return strspn(name, LETTERS "0123456789-_.@") == n ||
           refuse(at, "the name before `:` may have letters, digits and - _ . @");
}

static bool check_key(const key_place *at, const char *key, size_t n) {
    if (n < API_KEY_MIN || n > API_KEY_MAX) {
        say("%s %zu: the key has %zu bytes, a key has %d to %d", at->what, at->n, n, API_KEY_MIN, API_KEY_MAX);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (key[i] <= ' ' || key[i] > '~' || key[i] == ':')
            return refuse(
                at, "the key has a character that is not allowed: use printable ASCII without spaces and colons");
    return true;
}

// text: KEY or NAME:KEY.
static bool add_key(const api_keys *k, key_set *set, const key_place *at, const char *text, size_t n) {
    key_entry e = {0};
    const char *const colon = memchr(text, ':', n), *const key = colon ? colon + 1 : text;
    const size_t n_key = n - (size_t)(key - text);
    if (colon && !read_name(at, text, (size_t)(colon - text), e.name)) return false;
    if (!check_key(at, key, n_key)) return false;
    if (set->n == API_KEYS_MAX) {
        say("%s %zu: more than %d keys", at->what, at->n, API_KEYS_MAX);
        return false;
    }
    digest_of(k, key, n_key, e.digest);
    memcpy(&e.id, e.digest, sizeof e.id);
    e.id |= e.id == 0;
    for (size_t i = 0; i < set->n; i++) {
        if (set->keys[i].id == e.id) return refuse(at, "this key was given before");
        if (*e.name && strcmp(set->keys[i].name, e.name) == 0) return refuse(at, "another key has this name");
    }
    set->keys[set->n++] = e;
    return true;
}

static bool add_file(const api_keys *k, key_set *set) {
    char what[320];
    bytes text = {0};
    key_place at = {what, 1};
    bool is_good = file_read(k->file, KEY_FILE_LIMIT, &text);
    snprintf(what, sizeof what, "%s: line", k->file);
    for (char *line = text.data, *end; is_good && line && *line; line = end, at.n++) {
        end = line + strcspn(line, "\n");
        size_t n = (size_t)(end - line);
        if (n && line[n - 1] == '\r') n--;
        if (n && *line != '#') is_good = add_key(k, set, &at, line, n);
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
        is_good = add_key(k, set, &(key_place){"--api-key", i + 1}, k->given->items[i], strlen(k->given->items[i]));
    if (is_good && k->file) {
        const size_t n = set->n;
        is_good = add_file(k, set);
        if (is_good && set->n == n) {
            say("%s: holds no key", k->file); // an empty file must not turn authentication off
            is_good = false;
        }
    }
    if (!is_good) free(set->keys);
    return is_good;
}

static const key_entry *find_id(const key_set *set, uint64_t id) {
    for (size_t i = 0; i < set->n; i++)
        if (set->keys[i].id == id) return &set->keys[i];
    return NULL;
}

// With the lock held, or before others know k. A key that was there before keeps its number.
static void take_set(api_keys *k, const key_set *set) {
    for (size_t i = 0; i < set->n; i++) {
        const key_entry *const before = find_id(&k->set, set->keys[i].id);
        set->keys[i].number = before ? before->number : ++k->last_number;
    }
    free(k->set.keys);
    k->set = *set;
}

bool api_keys_open(const text_list *given, const char *file, api_keys **keys) {
    api_keys *const k = app_alloc(sizeof *k);
    key_set set;
    *keys = NULL;
    if (!k) return false;
    *k = (api_keys){.given = given, .file = file};
    if (getrandom(k->secret, sizeof k->secret, 0) != (ssize_t)sizeof k->secret) {
        say("keys: no random numbers");
        free(k);
        return false;
    }
    if (!read_all(k, &set)) {
        free(k);
        return false;
    }
    take_set(k, &set);
    pthread_mutex_init(&k->lock, NULL);
    *keys = k;
    return true;
}

bool api_keys_reload(api_keys *k) {
    key_set set;
    if (!read_all(k, &set)) return false;
    pthread_mutex_lock(&k->lock);
    take_set(k, &set);
    pthread_mutex_unlock(&k->lock);
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

// ---- checking -------------------------------------------------------------------------------------------------------

// FNV-1a (Fowler, Noll, Vo), 32 bits.
static size_t row_of(const char *client) {
    char group[CLIENT_TEXT];
    uint32_t h = 2166136261u;
    client_group(client, group);
    for (const char *at = group; *at; at++) h = (h ^ (unsigned char)*at) * 16777619u;
    return h % ADDRESSES;
}

// Compares with all keys, so that the time taken says nothing about the match. NULL: unknown.
static const key_entry *find_key(const api_keys *k, const uint8_t *digest) {
    const key_entry *found = NULL;
    for (size_t i = 0; i < k->set.n; i++)
        if (memeql_sec(digest, k->set.keys[i].digest, SHA256_DIGEST_SIZE)) found = &k->set.keys[i];
    return found;
}

static void write_label(const key_entry *e, char *label) {
    if (*e->name)
        snprintf(label, API_KEY_LABEL, "%s", e->name);
    else
        snprintf(label, API_KEY_LABEL, "%u", (unsigned)e->number);
}

// With the lock held. Counts a wrong key; false: this address has given too many in this second.
static bool count_failure(api_keys *k, const char *client, int64_t now_ns) {
    const size_t row = row_of(client);
    const int64_t second = now_ns / SECOND_NS;
    if (k->failures[row].second != second) {
        k->failures[row].second = second;
        k->failures[row].n = 0;
    }
    if (k->failures[row].n >= FAILURES_PER_SECOND) return false;
    k->failures[row].n++;
    return true;
}

key_verdict api_keys_check(api_keys *k, const char *given, const char *client, int64_t now_ns, key_owner *owner) {
    const size_t n = given ? strlen(given) : 0;
    const bool may_be_one = n >= API_KEY_MIN && n <= API_KEY_MAX;
    uint8_t digest[SHA256_DIGEST_SIZE];
    key_verdict verdict = KEY_GOOD;
    *owner = (key_owner){0};
    if (may_be_one) digest_of(k, given, n, digest);
    pthread_mutex_lock(&k->lock);
    const key_entry *const e = may_be_one ? find_key(k, digest) : NULL;
    if (e) {
        owner->id = e->id;
        write_label(e, owner->label);
    } else if (k->set.n > 0) {
        // A request without a key is not a guess.
        verdict = !given || count_failure(k, client, now_ns) ? KEY_BAD : KEY_TOO_OFTEN;
    }
    pthread_mutex_unlock(&k->lock);
    return verdict;
}

bool api_keys_label(api_keys *k, uint64_t id, char label[API_KEY_LABEL]) {
    pthread_mutex_lock(&k->lock);
    const key_entry *const e = find_id(&k->set, id);
    if (e) write_label(e, label);
    pthread_mutex_unlock(&k->lock);
    return e != NULL;
}

bool api_keys_is_valid(api_keys *k, uint64_t id) {
    if (!k || id == 0) return true;
    pthread_mutex_lock(&k->lock);
    const bool is_valid = find_id(&k->set, id) != NULL;
    pthread_mutex_unlock(&k->lock);
    return is_valid;
}
