// tests/grammar/tags_property_test.c - random structural tags against the definition of what they allow, read off each text.
//
// Two letters and at most seven of them make 255 texts; a format's language is the set of those that it allows.
#include "base/philox.h"
#include "grammar/tags/structural_tag.h"
#include "tests/grammar/text_match.h"

enum { MAX_LEN = 7, N_TEXTS = 255, MAX_STRINGS = 3, MAX_DEPTH = 3 };
typedef struct lang {
    bool has[N_TEXTS];
} lang;

static int number_of(const char *s, size_t n) { // of a text, -1: too long
    int bits = 0;
    for (size_t i = 0; i < n && i <= MAX_LEN; i++) bits = bits * 2 + (s[i] == 'b');
    return n > MAX_LEN ? -1 : (1 << n) - 1 + bits;
}
static size_t text_of(int t, char *s) {
    int n = 0;
    for (; t >= 1 << n; n++) t -= 1 << n;
    for (int i = 0; i < n; i++) s[i] = t >> (n - 1 - i) & 1 ? 'b' : 'a';
    s[n] = 0;
    return (size_t)n;
}
static bool has(const lang *l, const char *s, size_t n) { return l->has[number_of(s, n)]; }

static void cat(const lang *a, const lang *b, lang *to) {
    char s[MAX_LEN + 1];
    lang c = {0};
    for (int t = 0; t < N_TEXTS; t++) {
        const size_t n = text_of(t, s);
        for (size_t k = 0; k <= n; k++) c.has[t] |= has(a, s, k) && has(b, s + k, n - k);
    }
    *to = c;
}
static void unite(const lang *a, lang *to) {
    for (int t = 0; t < N_TEXTS; t++) to->has[t] |= a->has[t];
}
static void one_text(const char *s, lang *to) {
    *to = (lang){0};
    if (strlen(s) <= MAX_LEN) to->has[number_of(s, strlen(s))] = true;
}

struct random {
    uint64_t seed;
    uint32_t n;
    char text[1 << 16]; // the structural tag
};
static int roll(struct random *g, int below) {
    return (int)(philox_uniform(g->seed, 0, g->n++, PHILOX_SAMPLE) * below);
}
static void put(struct random *g, const char *s) { strcat(g->text, s); }

struct strings {
    char s[MAX_STRINGS + 1][4];
    int n;
};
static void any_string(struct random *g, char *to, int min) {
    const int n = min + roll(g, 3 - (min > 1));
    for (int i = 0; i < n; i++) to[i] = "ab"[roll(g, 2)];
    to[n] = 0;
}
static void any_strings(struct random *g, struct strings *l, int min) {
    l->n = min + roll(g, MAX_STRINGS - min + 1);
    for (int i = 0; i < l->n; i++) any_string(g, l->s[i], 1);
}
static void put_string(struct random *g, const char *s) { put(g, "\""), put(g, s), put(g, "\""); }
static void put_strings(struct random *g, const struct strings *l) {
    put(g, "[");
    for (int i = 0; i < l->n; i++) put(g, i ? "," : ""), put_string(g, l->s[i]);
    put(g, "]");
}

static bool stands_in(const struct strings *l, const char *s, size_t n) { // any of them, anywhere
    for (int i = 0; i < l->n; i++)
        for (size_t k = 0; k + strlen(l->s[i]) <= n; k++)
            if (memcmp(s + k, l->s[i], strlen(l->s[i])) == 0) return true;
    return false;
}
static bool ends_with(const char *s, size_t n, const char *end) {
    return strlen(end) <= n && memcmp(s + n - strlen(end), end, strlen(end)) == 0;
}

struct tag {
    char begin[8];
    lang rest; // content and end
};

static void any_format(struct random *g, int depth, const struct strings *end, lang *to);

// Content and end; its begin is in the text already.
static void any_rest(struct random *g, int depth, lang *to) {
    struct strings ends;
    lang content, end = {0};
    any_strings(g, &ends, 1);
    put(g, ",\"content\":");
    any_format(g, depth - 1, &ends, &content);
    put(g, ",\"end\":");
    if (ends.n == 1)
        put_string(g, ends.s[0]);
    else
        put_strings(g, &ends);
    put(g, "}");
    for (int i = 0; i < ends.n; i++) {
        lang one;
        one_text(ends.s[i], &one);
        unite(&one, &end);
    }
    cat(&content, &end, to);
}

static void any_tag(struct random *g, int depth, const struct strings *triggers, struct tag *t) {
    *t->begin = 0;
    if (triggers) strcpy(t->begin, triggers->s[roll(g, triggers->n)]);
    any_string(g, t->begin + strlen(t->begin), triggers ? 0 : 1);
    put(g, "{\"type\":\"tag\",\"begin\":");
    put_string(g, t->begin);
    any_rest(g, depth, &t->rest);
}

// The definition: free text is read until a trigger or exclude is complete.
static bool reads(const struct strings *triggers, const struct strings *excludes, const struct tag *tags, int n_tags,
                  bool first, bool last, const char *s, size_t n) {
    bool reached[MAX_LEN + 1] = {false}, over[MAX_LEN + 1] = {false};
    for (int k = 0; k < n_tags && first; k++)
        for (size_t e = strlen(tags[k].begin); e <= n; e++)
            if (memcmp(s, tags[k].begin, strlen(tags[k].begin)) == 0 &&
                has(&tags[k].rest, s + strlen(tags[k].begin), e - strlen(tags[k].begin)))
                *(last ? &over[e] : &reached[e]) = true;
    if (!first) reached[0] = true;
    for (size_t at = 0; at <= n; at++) {
        bool stopped = false;
        for (size_t i = at; reached[at] && i <= n && !stopped; i++) {
            const char *const free = s + at;
            for (int k = 0; k < excludes->n; k++) stopped |= ends_with(free, i - at, excludes->s[k]);
            if (stopped) break;
            for (int k = 0; k < triggers->n; k++) {
                const size_t n_trigger = strlen(triggers->s[k]);
                if (!ends_with(free, i - at, triggers->s[k])) continue;
                stopped = true;
                for (int t = 0; t < n_tags; t++) {
                    const size_t n_begin = strlen(tags[t].begin), from = i - n_trigger + n_begin;
                    if (strncmp(tags[t].begin, triggers->s[k], n_trigger) != 0 || from > n ||
                        memcmp(s + i - n_trigger, tags[t].begin, n_begin) != 0)
                        continue;
                    for (size_t e = from; e <= n; e++)
                        if (has(&tags[t].rest, s + from, e - from)) *(last ? &over[e] : &reached[e]) = true;
                }
            }
            if (!stopped && i == n) return true;
        }
    }
    return over[n];
}

static void put_flag(struct random *g, const char *name, bool is_on) {
    put(g, ",\""), put(g, name), put(g, is_on ? "\":true" : "\":false");
}

static void triggered(struct random *g, int depth, const struct strings *end, lang *to) {
    struct strings triggers, excludes = {.n = 0}, own = {.n = 0}, all = {.n = 0};
    static struct tag stack[MAX_DEPTH + 1][2];
    struct tag *const tags = stack[depth];
    char s[MAX_LEN + 1];
    const int n_tags = 1 + roll(g, 2);
    const bool first = roll(g, 3) == 0, last = roll(g, 3) == 0;
    any_strings(g, &triggers, 1);
    if (roll(g, 3) == 0) own.n = 1, any_string(g, own.s[0], 2);
    excludes = *end;
    put(g, "{\"type\":\"triggered_tags\",\"triggers\":");
    put_strings(g, &triggers);
    put(g, ",\"excludes\":");
    put_strings(g, &own);
    put_flag(g, "at_least_one", first);
    put_flag(g, "stop_after_first", last);
    put(g, ",\"tags\":[");
    for (int i = 0; i < n_tags; i++) put(g, i ? "," : ""), any_tag(g, depth, &triggers, &tags[i]);
    put(g, "]}");
    if (own.n) strcpy(excludes.s[excludes.n++], own.s[0]);
    all = excludes;
    for (int t = 0; t < N_TEXTS; t++) {
        const size_t n = text_of(t, s);
        to->has[t] = reads(&triggers, &all, tags, n_tags, first, last, s, n);
    }
}

static void any_format(struct random *g, int depth, const struct strings *end, lang *to) {
    char s[MAX_LEN + 1];
    lang a, b;
    struct tag tag;
    *to = (lang){0};
    switch (depth == 0 ? roll(g, 2) : roll(g, 8)) {
    case 0:
        any_string(g, s, 0);
        put(g, "{\"type\":\"const_string\",\"value\":");
        put_string(g, s);
        put(g, "}");
        one_text(s, to);
        break;
    case 1: {
        struct strings own = {.n = 0}, all = *end;
        own.n = 1, any_string(g, own.s[0], 2), strcpy(all.s[all.n++], own.s[0]);
        put(g, "{\"type\":\"any_text\",\"excludes\":");
        put_strings(g, &own);
        put(g, "}");
        for (int t = 0; t < N_TEXTS; t++) {
            const size_t n = text_of(t, s);
            to->has[t] = !stands_in(&all, s, n);
        }
        break;
    }
    case 2:
    case 3: {
        const bool is_or = roll(g, 2);
        put(g, is_or ? "{\"type\":\"or\",\"elements\":[" : "{\"type\":\"sequence\",\"elements\":[");
        any_format(g, depth - 1, end, &a);
        put(g, ",");
        any_format(g, depth - 1, end, &b);
        put(g, "]}");
        if (is_or)
            *to = a, unite(&b, to);
        else
            cat(&a, &b, to);
        break;
    }
    case 4:
        put(g, "{\"type\":\"star\",\"content\":");
        any_format(g, depth - 1, end, &a);
        put(g, "}");
        one_text("", to);
        for (int i = 0; i < MAX_LEN; i++) cat(to, &a, &b), unite(&b, to);
        break;
    case 5:
        any_tag(g, depth, NULL, &tag);
        one_text(tag.begin, &a);
        cat(&a, &tag.rest, to);
        break;
    default: triggered(g, depth, end, to);
    }
}

static rn_status compile(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                         uint32_t *start, rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, s, n, err);
    if (st == RN_OK) st = structural_tag_compile(r, &tree, o, start, err);
    json_free(&tree);
    return st;
}

TEST(random_structural_tags_allow_what_their_definition_says) {
    static struct random g;
    static const struct grammar_text_options o = {.json = {JSON_SPACE_DUMPS, false}};
    int n_whole = 0, n_refused = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct automata m;
        rn_error err = {0};
        lang want;
        g.seed = seed, g.n = 0;
        strcpy(g.text, "{\"format\":");
        any_format(&g, MAX_DEPTH, &(struct strings){.n = 0}, &want);
        put(&g, "}");
        check_note("seed %llu: %s", (unsigned long long)seed, g.text);
        const rn_status st = text_match_open(&m, compile, g.text, strlen(g.text), &o, &err);
        if (!CHECK_OK(st, &err)) return;
        for (int t = 0; t < N_TEXTS; t++) {
            char s[MAX_LEN + 1];
            const size_t n = text_of(t, s);
            check_note("seed %llu, text '%s': %s", (unsigned long long)seed, s, g.text);
            if (!CHECK_INT(text_match_verdict(&m, s, n) == '+', want.has[t])) return;
            n_whole += want.has[t];
            for (size_t k = 0; k < n && want.has[t]; k++)
                if (!CHECK(text_match_verdict(&m, s, k) != '-')) return;
        }
        n_refused += m.exprs.status != RN_OK;
        automata_free(&m);
    }
    check_note("%d texts are whole, %d tags reached a limit", n_whole, n_refused);
    CHECK(n_whole > 100000 && n_refused == 0);
}
