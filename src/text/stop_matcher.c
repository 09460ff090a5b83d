// text/stop_matcher.c - Aho-Corasick over bytes: a trie of the stop strings in which every node also links to the longest
// proper suffix of its path that is a path too.
//
// The depth of the current node is the length of the longest suffix of the text that begins a stop string: exactly the bytes
// to hold back. Children are a linked list: most nodes have one.
#include "text/stop_matcher.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

struct node {
    uint32_t child;   // first of a list, 0: none (node 0 is the root, which is no node's child)
    uint32_t sibling; // next in the parent's list, 0: none
    uint32_t suffix;  // node of the longest proper suffix
    int16_t match;    // the longest string that ends here, -1: none
    uint16_t depth;   // bytes from the root
    uint8_t byte;     // label of the edge from the parent
};

struct stop_set {
    size_t n_strings;
    size_t *offset; // [n_strings + 1] of each string in bytes
    char *bytes;
    size_t n_nodes;
    struct node *nodes;
};

static uint32_t find_child(const struct node *nodes, uint32_t parent, uint8_t byte) {
    uint32_t c = nodes[parent].child;
    while (c && nodes[c].byte != byte) c = nodes[c].sibling;
    return c;
}

static uint32_t step(const struct node *nodes, uint32_t at, uint8_t byte) {
    for (;;) {
        const uint32_t c = find_child(nodes, at, byte);
        if (c || at == 0) return c;
        at = nodes[at].suffix;
    }
}

static void add_string(stop_set *s, size_t i) {
    uint32_t at = 0;
    for (size_t k = s->offset[i]; k < s->offset[i + 1]; k++) {
        const uint8_t byte = (uint8_t)s->bytes[k];
        uint32_t c = find_child(s->nodes, at, byte);
        if (!c) {
            c = (uint32_t)s->n_nodes++;
            s->nodes[c] = (struct node){.sibling = s->nodes[at].child, .match = -1, .byte = byte};
            s->nodes[c].depth = (uint16_t)(s->nodes[at].depth + 1);
            s->nodes[at].child = c;
        }
        at = c;
    }
    if (s->nodes[at].match < 0) s->nodes[at].match = (int16_t)i; // the first of equal strings matches
}

// Sets suffix links in order of depth, since a suffix is shorter than its node. `queue` has room for all nodes.
static void link_suffixes(stop_set *s, uint32_t *queue) {
    struct node *nodes = s->nodes;
    size_t head = 0, tail = 0;
    queue[tail++] = 0;
    while (head < tail) {
        const uint32_t at = queue[head++];
        for (uint32_t c = nodes[at].child; c; c = nodes[c].sibling) {
            nodes[c].suffix = at == 0 ? 0 : step(nodes, nodes[at].suffix, nodes[c].byte);
            if (nodes[c].match < 0) nodes[c].match = nodes[nodes[c].suffix].match;
            queue[tail++] = c;
        }
    }
}

static rn_status check_strings(const struct stop_limits *limits, const size_t *n_bytes, size_t n, rn_error *err) {
    const char *const what = limits->what;
    if (n > limits->n_strings)
        return fail(err, RN_E_ARG, "%s: %zu strings, at most %zu are allowed", what, n, limits->n_strings);
    for (size_t i = 0; i < n; i++) {
        if (n_bytes[i] == 0) return fail(err, RN_E_ARG, "%s[%zu]: empty: every text begins with it", what, i);
        if (n_bytes[i] > limits->n_bytes)
            return fail(err, RN_E_ARG, "%s[%zu]: %zu bytes, at most %zu are allowed", what, i, n_bytes[i],
                        limits->n_bytes);
    }
    return RN_OK;
}

rn_status stop_set_create_within(const struct stop_limits *limits, const char *const *strings, const size_t *n_bytes,
                                 size_t n, stop_set **out, rn_error *err) {
    assert(out && (n == 0 || (strings && n_bytes)) && limits->n_strings <= INT16_MAX);
    *out = NULL;
    rn_status st = check_strings(limits, n_bytes, n, err);
    if (st != RN_OK) return st;

    uint32_t *queue = NULL;
    stop_set *s = mem_calloc(1, sizeof *s);
    if (!s || !(s->offset = mem_calloc(n + 1, sizeof *s->offset))) goto nomem;
    s->n_strings = n;
    for (size_t i = 0; i < n; i++) s->offset[i + 1] = s->offset[i] + n_bytes[i];
    const size_t n_all = s->offset[n];
    if (!(s->bytes = mem_alloc(n_all))) goto nomem;
    if (!(s->nodes = mem_alloc((n_all + 1) * sizeof *s->nodes))) goto nomem;
    if (!(queue = mem_alloc((n_all + 1) * sizeof *queue))) goto nomem;

    s->nodes[s->n_nodes++] = (struct node){.match = -1};
    for (size_t i = 0; i < n; i++) {
        memcpy(s->bytes + s->offset[i], strings[i], n_bytes[i]);
        add_string(s, i);
    }
    link_suffixes(s, queue);
    *out = s;
    s = NULL;
    goto out;
nomem:
    st = fail(err, RN_E_NOMEM, "%s: out of memory for %zu strings", limits->what, n);
out:
    mem_free(queue);
    stop_set_destroy(s);
    return st;
}

rn_status stop_set_create(const char *const *strings, const size_t *n_bytes, size_t n, stop_set **out,
                          rn_error *err) {
    static const struct stop_limits limits = {"stop", STOP_MAX_STRINGS, STOP_MAX_BYTES};
    return stop_set_create_within(&limits, strings, n_bytes, n, out, err);
}

void stop_set_destroy(stop_set *s) {
    if (!s) return;
    mem_free(s->offset);
    mem_free(s->bytes);
    mem_free(s->nodes);
    mem_free(s);
}

const char *stop_set_string(const stop_set *s, int i, size_t *n_bytes) {
    assert(i >= 0 && (size_t)i < s->n_strings);
    *n_bytes = s->offset[i + 1] - s->offset[i];
    return s->bytes + s->offset[i];
}

int32_t stop_set_step(const stop_set *s, int32_t state, uint8_t byte) {
    return (int32_t)step(s->nodes, (uint32_t)state, byte);
}
size_t stop_set_depth(const stop_set *s, int32_t state) { return s->nodes[state].depth; }
int stop_set_match(const stop_set *s, int32_t state) { return s->nodes[state].match; }

void stop_matcher_init(stop_matcher *m, const stop_set *set) { *m = (stop_matcher){.set = set, .matched = -1}; }

// Pending bytes are `held` followed by s[0..n): the first n_release of them go to out, the next n_keep stay held.
static void shift(stop_matcher *m, const char *s, size_t n_release, size_t n_keep, char *out) {
    const size_t from_held = n_release < m->n_held ? n_release : m->n_held;
    memcpy(out, m->held, from_held);
    memcpy(out + from_held, s, n_release - from_held);
    const size_t rest_held = n_keep < m->n_held - from_held ? n_keep : m->n_held - from_held;
    memmove(m->held, m->held + from_held, rest_held);
    memcpy(m->held + rest_held, s + (n_release - from_held), n_keep - rest_held);
    m->n_held = (uint16_t)n_keep;
}

size_t stop_matcher_push(stop_matcher *m, const char *s, size_t n, char *out) {
    if (m->matched >= 0 || n == 0) return 0;
    if (!m->set) {
        memcpy(out, s, n);
        return n;
    }
    const struct node *nodes = m->set->nodes;
    uint32_t at = (uint32_t)m->state;
    for (size_t i = 0; i < n; i++) {
        at = step(nodes, at, (uint8_t)s[i]);
        if (nodes[at].match < 0) continue;
        m->matched = nodes[at].match;
        size_t n_match = 0;
        stop_set_string(m->set, m->matched, &n_match);
        const size_t n_release = m->n_held + i + 1 - n_match;
        shift(m, s, n_release, 0, out);
        m->state = 0;
        return n_release;
    }
    m->state = (int32_t)at;
    const size_t n_keep = nodes[at].depth, n_release = m->n_held + n - n_keep;
    shift(m, s, n_release, n_keep, out);
    return n_release;
}

size_t stop_matcher_finish(stop_matcher *m, char *out) {
    const size_t n = m->n_held;
    memcpy(out, m->held, n);
    m->n_held = 0;
    m->state = 0;
    return n;
}
