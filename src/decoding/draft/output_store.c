// decoding/draft/output_store.c - see output_store.h.
#include "decoding/draft/output_store.h"
#include "base/hash.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

// Nodes for each token that there is room for. Answers that are like others take more, and then fewer of them stay.
enum { NODES_OF_TOKEN = 3 };
// Of the blocks, so many are emptied before they are needed.
enum { FREE_SHARE = 8 };

// An answer has the number of its first block.
struct output_text {
    int32_t n, n_added, n_removed; // tokens; of these, indexed, and no longer
    bool is_indexed;               // in the order of use; else it waits
    int32_t place;                 // of the first one that is indexed
    int32_t next_place;            // of the first one that is not indexed yet
    int32_t owner;
    int32_t newer, older; // in the order of use
    int32_t waits;        // the next one that is to be indexed
};

struct owner_record {
    struct output_owner key;
    int32_t root, n_texts;
    int32_t same_hash; // of the hash table's list; of a free record: the next free one
};

struct output_store {
    struct suffix_trie trie;
    int32_t *tokens, *next_block; // of the trie's texts
    int32_t n_blocks, n_free, first_free;
    struct output_text *texts;   // [n_blocks]
    int32_t *text_of;            // [n_blocks] whose block it is
    struct owner_record *owners; // [n_blocks]
    int32_t *heads;              // [n_heads]
    uint32_t n_heads;
    int32_t n_owners, first_free_owner;
    int32_t newest, oldest;              // in the order of use; of those that are indexed
    int32_t first_waiting, last_waiting; // to be indexed
    int32_t leaving;                     // the one that is being taken out
    struct output_store_figures figures;
};

static uint64_t block_bytes(void) {
    return SUFFIX_BLOCK * sizeof(int32_t) + 2 * sizeof(int32_t) + sizeof(struct output_text) +
           sizeof(struct owner_record) + 2 * sizeof(int32_t);
}

static uint64_t bytes_for(int32_t n_blocks) {
    return sizeof(output_store) + (uint64_t)n_blocks * block_bytes() +
           suffix_trie_bytes(n_blocks * SUFFIX_BLOCK * NODES_OF_TOKEN);
}

static int32_t blocks_for(uint64_t bytes) {
    int32_t fit = 0, too_many = INT32_MAX / (SUFFIX_BLOCK * NODES_OF_TOKEN) + 1;
    while (too_many - fit > 1) {
        const int32_t half = fit + (too_many - fit) / 2;
        if (bytes_for(half) <= bytes)
            fit = half;
        else
            too_many = half;
    }
    return fit;
}

static uint32_t power_of_two_below(int32_t n) {
    uint32_t p = 1;
    while (p <= (uint32_t)n / 2) p *= 2;
    return p;
}

rn_status output_store_create(uint64_t bytes, output_store **out, rn_error *err) {
    *out = NULL;
    if (bytes < OUTPUT_STORE_LEAST)
        return fail(err, RN_E_ARG, "output store: %llu bytes, at least %d", (unsigned long long)bytes,
                    OUTPUT_STORE_LEAST);
    const int32_t n = blocks_for(bytes);
    output_store *const s = mem_alloc(sizeof *s);
    if (!s) return fail(err, RN_E_NOMEM, "output store: out of memory");
    *s = (output_store){.n_blocks = n,
                        .n_free = n,
                        .n_heads = power_of_two_below(n),
                        .newest = SUFFIX_NONE,
                        .oldest = SUFFIX_NONE,
                        .first_waiting = SUFFIX_NONE,
                        .last_waiting = SUFFIX_NONE,
                        .leaving = SUFFIX_NONE,
                        .figures.n_most_tokens = n * SUFFIX_BLOCK};
    const size_t n_items = (size_t)n;
    s->tokens = mem_alloc(n_items * SUFFIX_BLOCK * sizeof *s->tokens);
    s->next_block = mem_alloc(n_items * sizeof *s->next_block);
    s->texts = mem_alloc(n_items * sizeof *s->texts);
    s->text_of = mem_alloc(n_items * sizeof *s->text_of);
    s->owners = mem_alloc(n_items * sizeof *s->owners);
    s->heads = mem_alloc(s->n_heads * sizeof *s->heads);
    const struct suffix_texts texts = {s->tokens, s->next_block};
    rn_status st = RN_E_NOMEM;
    if (s->tokens && s->next_block && s->texts && s->text_of && s->owners && s->heads)
        st = suffix_trie_init(&s->trie, n * SUFFIX_BLOCK * NODES_OF_TOKEN, texts, err);
    if (st != RN_OK) {
        output_store_destroy(s);
        return fail(err, st, "output store: out of memory for %llu bytes", (unsigned long long)bytes);
    }
    for (int32_t i = 0; i < n; i++) s->next_block[i] = i + 1, s->owners[i].same_hash = i + 1;
    for (uint32_t i = 0; i < s->n_heads; i++) s->heads[i] = SUFFIX_NONE;
    *out = s;
    return RN_OK;
}

void output_store_destroy(output_store *s) {
    if (!s) return;
    suffix_trie_free(&s->trie);
    mem_free(s->tokens);
    mem_free(s->next_block);
    mem_free(s->texts);
    mem_free(s->text_of);
    mem_free(s->owners);
    mem_free(s->heads);
    mem_free(s);
}

// ---- owners ----

static int32_t *owner_head(const output_store *s, const struct output_owner *key) {
    return &s->heads[hash_u64(key->model, hash_u64(key->salt, key->client)) & (s->n_heads - 1)];
}

static int32_t owner_find(const output_store *s, const struct output_owner *key) {
    int32_t i = *owner_head(s, key);
    while (i != SUFFIX_NONE && memcmp(&s->owners[i].key, key, sizeof *key) != 0) i = s->owners[i].same_hash;
    return i;
}

// Each owner has an answer, so there are records for all; and a node, of those that no answer needs yet.
static int32_t owner_make(output_store *s, const struct output_owner *key) {
    const int32_t owner = s->first_free_owner;
    int32_t *const list = owner_head(s, key);
    s->first_free_owner = s->owners[owner].same_hash;
    s->owners[owner] = (struct owner_record){*key, suffix_trie_open_root(&s->trie), 0, *list};
    *list = owner;
    s->n_owners++;
    return owner;
}

static void owner_drop(output_store *s, int32_t owner) {
    int32_t *at = owner_head(s, &s->owners[owner].key);
    while (*at != owner) at = &s->owners[*at].same_hash;
    *at = s->owners[owner].same_hash;
    suffix_trie_close_root(&s->trie, s->owners[owner].root);
    s->owners[owner].same_hash = s->first_free_owner;
    s->first_free_owner = owner;
    s->n_owners--;
}

int32_t output_store_root(const output_store *s, const struct output_owner *owner) {
    const int32_t i = owner_find(s, owner);
    return i == SUFFIX_NONE ? SUFFIX_NONE : s->owners[i].root;
}

const struct suffix_trie *output_store_trie(const output_store *s) { return &s->trie; }

// ---- the order of use ----

static void link_newest(output_store *s, int32_t text) {
    s->texts[text].newer = SUFFIX_NONE;
    s->texts[text].older = s->newest;
    if (s->newest != SUFFIX_NONE) s->texts[s->newest].newer = text;
    s->newest = text;
    if (s->oldest == SUFFIX_NONE) s->oldest = text;
}

static void unlink_text(output_store *s, int32_t text) {
    const struct output_text *const t = &s->texts[text];
    if (t->newer != SUFFIX_NONE)
        s->texts[t->newer].older = t->older;
    else
        s->newest = t->older;
    if (t->older != SUFFIX_NONE)
        s->texts[t->older].newer = t->newer;
    else
        s->oldest = t->newer;
}

void output_store_use(output_store *s, int32_t place) {
    const int32_t text = s->text_of[place / SUFFIX_BLOCK];
    if (text == s->leaving || !s->texts[text].is_indexed) return;
    unlink_text(s, text);
    link_newest(s, text);
}

// ---- answers ----

static int32_t take_block(output_store *s, int32_t text) {
    const int32_t block = s->first_free;
    s->first_free = s->next_block[block];
    s->n_free--;
    s->text_of[block] = text == SUFFIX_NONE ? block : text;
    return block;
}

void output_store_add(output_store *s, const struct output_owner *key, const int32_t *tokens, int32_t n) {
    const int32_t free_tokens = s->n_free * SUFFIX_BLOCK, quarter = s->n_blocks / 4 * SUFFIX_BLOCK;
    const int32_t room = (free_tokens < quarter ? free_tokens : quarter) - 1; // one is the text's end
    if (n > room) n = room;
    if (n < 1 || s->trie.n_free < 1) return;
    int32_t owner = owner_find(s, key);
    if (owner == SUFFIX_NONE) owner = owner_make(s, key);
    const int32_t text = take_block(s, SUFFIX_NONE), place = text * SUFFIX_BLOCK;
    int32_t block = text;
    for (int32_t i = 0; i <= n; i++) {
        if (i > 0 && i % SUFFIX_BLOCK == 0) {
            const int32_t next = take_block(s, text);
            s->next_block[block] = next;
            block = next;
        }
        s->tokens[block * SUFFIX_BLOCK + i % SUFFIX_BLOCK] = i < n ? tokens[i] : SUFFIX_TEXT_END;
    }
    s->texts[text] =
        (struct output_text){.n = n, .place = place, .next_place = place, .owner = owner, .waits = SUFFIX_NONE};
    s->owners[owner].n_texts++;
    if (s->last_waiting == SUFFIX_NONE)
        s->first_waiting = text;
    else
        s->texts[s->last_waiting].waits = text;
    s->last_waiting = text;
    s->figures.n_texts++;
    s->figures.n_tokens += n;
}

static void free_text(output_store *s, int32_t text) {
    struct output_text *const t = &s->texts[text];
    const int32_t owner = t->owner, n_blocks = t->n / SUFFIX_BLOCK + 1;
    s->figures.n_texts--;
    s->figures.n_tokens -= t->n;
    s->figures.n_left++;
    for (int32_t i = 0, block = text, next; i < n_blocks; i++, block = next) {
        next = s->next_block[block];
        s->next_block[block] = s->first_free;
        s->first_free = block;
        s->n_free++;
    }
    if (--s->owners[owner].n_texts == 0) owner_drop(s, owner);
}

// The least recently used one. false: none is indexed.
static bool choose_leaving(output_store *s) {
    if (s->oldest == SUFFIX_NONE) return false;
    s->leaving = s->oldest;
    unlink_text(s, s->leaving);
    return true;
}

static void remove_one(output_store *s) {
    struct output_text *const t = &s->texts[s->leaving];
    suffix_trie_remove(&s->trie, s->owners[t->owner].root, t->place);
    t->place = suffix_next_place(&s->trie.texts, t->place);
    if (++t->n_removed < t->n_added) return;
    free_text(s, s->leaving);
    s->leaving = SUFFIX_NONE;
}

static void stop_waiting(output_store *s) {
    const int32_t text = s->first_waiting;
    s->first_waiting = s->texts[text].waits;
    if (s->first_waiting == SUFFIX_NONE) s->last_waiting = SUFFIX_NONE;
    if (s->texts[text].n_added == 0) {
        free_text(s, text);
        return;
    }
    s->texts[text].is_indexed = true;
    link_newest(s, text);
}

static void add_one(output_store *s) {
    struct output_text *const t = &s->texts[s->first_waiting];
    suffix_trie_add(&s->trie, s->owners[t->owner].root, t->next_place);
    t->next_place = suffix_next_place(&s->trie.texts, t->next_place);
    if (++t->n_added == t->n) stop_waiting(s);
}

bool output_store_work(output_store *s, int32_t n) {
    bool did = false;
    for (; n > 0; n--, did = true) {
        const bool is_full = s->n_free < s->n_blocks / FREE_SHARE ||
                             (s->first_waiting != SUFFIX_NONE && s->trie.n_free < SUFFIX_PLACE_NODES);
        if (s->leaving != SUFFIX_NONE || (is_full && choose_leaving(s)))
            remove_one(s);
        else if (s->first_waiting == SUFFIX_NONE)
            break;
        else if (s->trie.n_free >= SUFFIX_PLACE_NODES)
            add_one(s);
        else
            stop_waiting(s); // it has filled the store by itself
    }
    return did;
}

void output_store_get_figures(const output_store *s, struct output_store_figures *out) {
    *out = s->figures;
    out->n_owners = s->n_owners;
}
