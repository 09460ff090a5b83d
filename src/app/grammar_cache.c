// app/grammar_cache.c - see grammar_cache.h.
#include "app/grammar_cache.h"
#include "app/bytes.h"
#include "app/memory.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept_grammar {
    const rn_model *model;
    uint64_t salt;
    bytes source; // what it was compiled from, in one
    rn_grammar *grammar;
    // The cache's lock:
    kept_grammar *next;
    size_t n_users;
    bool is_kept; // it is in the list
};

struct grammar_cache {
    pthread_mutex_t lock;
    uint64_t most_bytes;
    kept_grammar *first; // the most recently used one first
};

grammar_cache *grammar_cache_open(int32_t mib) {
    grammar_cache *const c = app_alloc(sizeof *c);
    if (c) pthread_mutex_init(&c->lock, NULL);
    if (c) c->most_bytes = (uint64_t)mib << 20;
    return c;
}

static void free_list(kept_grammar *first) {
    for (kept_grammar *k = first, *next; k; k = next) {
        next = k->next;
        rn_grammar_close(k->grammar);
        bytes_free(&k->source);
        free(k);
    }
}

void grammar_cache_close(grammar_cache *c) {
    if (!c) return;
    free_list(c->first);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static void add_part(bytes *to, const char *data, size_t n) {
    bytes_add(to, &n, sizeof n);
    if (n) bytes_add(to, data, n);
}

static void join_source(const rn_grammar_source *s, bytes *to) {
    const int32_t numbers[] = {(int32_t)s->kind, (int32_t)s->json_space, s->single_call, s->optional_calls};
    bytes_add(to, numbers, sizeof numbers);
    add_part(to, s->text, s->n_text);
    for (size_t i = 0; i < s->n_choices; i++)
        add_part(to, s->choices[i], s->choice_bytes ? s->choice_bytes[i] : strlen(s->choices[i]));
}

static bool is_same(const kept_grammar *a, const kept_grammar *b) {
    return a->model == b->model && a->salt == b->salt && a->source.n == b->source.n &&
           memcmp(a->source.data, b->source.data, a->source.n) == 0;
}

// With the lock held. Finds one of the same source, moves it to the front and counts a user.
static kept_grammar *find(grammar_cache *c, const kept_grammar *like) {
    for (kept_grammar **at = &c->first; *at; at = &(*at)->next)
        if (is_same(*at, like)) {
            kept_grammar *const k = *at;
            *at = k->next;
            k->next = c->first;
            c->first = k;
            k->n_users++;
            return k;
        }
    return NULL;
}

// With the lock held. Takes out what is beyond the limits; what nobody uses is returned, for free_list().
static kept_grammar *drop_most(grammar_cache *c) {
    kept_grammar *unused = NULL;
    uint64_t n_bytes = 0;
    size_t n = 0;
    for (kept_grammar **at = &c->first; *at;) {
        kept_grammar *const k = *at;
        const uint64_t n_more = sizeof *k + k->source.n + rn_grammar_memory(k->grammar);
        if (n < GRAMMAR_CACHE_GRAMMARS && n_bytes + n_more <= c->most_bytes) {
            n++;
            n_bytes += n_more;
            at = &k->next;
            continue;
        }
        *at = k->next;
        k->is_kept = false;
        if (k->n_users) continue;
        k->next = unused;
        unused = k;
    }
    return unused;
}

// What another thread has compiled meanwhile is taken in its place.
static kept_grammar *add(grammar_cache *c, kept_grammar *made) {
    pthread_mutex_lock(&c->lock);
    kept_grammar *const other = find(c, made);
    if (!other) {
        made->n_users = 1;
        made->is_kept = true;
        made->next = c->first;
        c->first = made;
    }
    kept_grammar *const unused = drop_most(c);
    pthread_mutex_unlock(&c->lock);
    free_list(unused);
    if (other) free_list(made);
    return other ? other : made;
}

rn_status grammar_cache_get(grammar_cache *c, const rn_model *model, uint64_t salt, const rn_grammar_source *source,
                            kept_grammar **kept, rn_error *err) {
    kept_grammar like = {.model = model, .salt = salt};
    *kept = NULL;
    join_source(source, &like.source);
    kept_grammar *const made = memory_failed() ? NULL : app_alloc(sizeof *made);
    if (!made) {
        bytes_free(&like.source);
        err->code = RN_E_NOMEM;
        snprintf(err->text, sizeof err->text, "grammar: out of memory");
        return RN_E_NOMEM;
    }
    *made = like;
    pthread_mutex_lock(&c->lock);
    *kept = find(c, made);
    pthread_mutex_unlock(&c->lock);
    const rn_status st = *kept ? RN_OK : rn_grammar_compile(model, source, &made->grammar, err);
    if (*kept || st != RN_OK)
        free_list(made);
    else
        *kept = add(c, made);
    return st;
}

const rn_grammar *kept_grammar_of(const kept_grammar *kept) { return kept ? kept->grammar : NULL; }

void grammar_cache_give_back(grammar_cache *c, kept_grammar *kept) {
    if (!kept) return;
    pthread_mutex_lock(&c->lock);
    kept_grammar *unused = drop_most(c); // it has grown while it was used
    if (--kept->n_users == 0 && !kept->is_kept) {
        kept->next = unused;
        unused = kept;
    }
    pthread_mutex_unlock(&c->lock);
    free_list(unused);
}
