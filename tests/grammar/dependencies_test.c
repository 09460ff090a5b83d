// tests/grammar/dependencies_test.c - members that depend on each other: every object of some members, by counting.
#include "base/mem.h"
#include "formats/json/json_tree.h"
#include "grammar/automata.h"
#include "grammar/schema/schema.h"
#include "tests/check.h"
#include <stdio.h>
#include <string.h>

enum { MEMBERS = 7, N_SCHEMAS = 300, MAX_TEXT = 8192 };

struct dependent { // members by their bits
    unsigned required, impossible, wants[MEMBERS];
};

static rn_status compile(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, source, strlen(source), err);
    if (st == RN_OK) st = schema_compile(r, &tree, (struct json_texts){JSON_SPACE_COMPACT, true}, start, err);
    json_free(&tree);
    return st;
}

static rn_status open_text(struct automata *m, const char *schema, rn_error *err) {
    static const struct automata_limits limits = {1 << 17, 1 << 18, 1 << 13, 1 << 16};
    return automata_make(m, &limits, compile, schema, err);
}

static bool accepts(struct automata *m, const char *text) {
    const uint32_t config = recognizer_read(&m->recognizer, m->recognizer.first, text, strlen(text));
    return config != CONFIG_DEAD && recognizer_accepts(&m->recognizer, config);
}

static size_t print_names(char *s, size_t at, unsigned names) {
    const char *comma = "";
    for (unsigned i = 0; i < MEMBERS; i++)
        if (names >> i & 1) at += (size_t)sprintf(s + at, "%s\"%c\"", comma, 'a' + i), comma = ",";
    return at;
}

static void print_schema(char *s, const struct dependent *d) {
    size_t at = (size_t)sprintf(s, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (unsigned i = 0; i < MEMBERS; i++)
        at += (size_t)sprintf(s + at, "%s\"%c\":%s", i ? "," : "", 'a' + i,
                              d->impossible >> i & 1 ? "false" : "{\"const\":1}");
    at += (size_t)sprintf(s + at, "},\"required\":[");
    at = print_names(s, at, d->required);
    at += (size_t)sprintf(s + at, "],\"dependentRequired\":{");
    for (unsigned i = 0; i < MEMBERS; i++) {
        at += (size_t)sprintf(s + at, "%s\"%c\":[", i ? "," : "", 'a' + i);
        at = print_names(s, at, d->wants[i]);
        at += (size_t)sprintf(s + at, "]");
    }
    sprintf(s + at, "}}");
}

static void print_object(char *s, unsigned members) {
    size_t at = (size_t)sprintf(s, "{");
    for (unsigned i = 0; i < MEMBERS; i++)
        if (members >> i & 1) at += (size_t)sprintf(s + at, "%s\"%c\":1", at > 1 ? "," : "", 'a' + i);
    sprintf(s + at, "}");
}

static bool is_valid(const struct dependent *d, unsigned members) {
    if ((members & d->required) != d->required || members & d->impossible) return false;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (members >> i & 1 && (members & d->wants[i]) != d->wants[i]) return false;
    return true;
}

static uint64_t draw(uint64_t *seed) { // Knuth's multiplier
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return *seed >> 33;
}

static unsigned any_members(uint64_t *seed, uint64_t one_in) {
    unsigned x = 0;
    for (unsigned i = 0; i < MEMBERS; i++) x |= (unsigned)(draw(seed) % one_in == 0) << i;
    return x;
}

TEST(every_object_is_accepted_that_has_what_its_members_want) {
    uint64_t seed = 1;
    int n_valid = 0, n_empty = 0;
    for (int k = 0; k < N_SCHEMAS; k++) {
        struct dependent d = {any_members(&seed, 12), any_members(&seed, 12), {0}};
        char text[MAX_TEXT];
        struct automata m;
        rn_error err = {0};
        bool is_empty = true;
        for (unsigned i = 0; i < MEMBERS; i++) d.wants[i] = any_members(&seed, 5);
        for (unsigned members = 0; members < 1u << MEMBERS; members++) is_empty &= !is_valid(&d, members);
        print_schema(text, &d);
        check_note("%s", text);
        const rn_status st = open_text(&m, text, &err);
        n_empty += is_empty;
        if (is_empty) { // refused: nothing matches
            if (CHECK(st != RN_OK)) CHECK_HAS(err.text, "nothing matches");
            continue;
        }
        if (!CHECK_OK(st, &err)) continue;
        for (unsigned members = 0; members < 1u << MEMBERS; members++) {
            char object[MAX_TEXT];
            print_object(object, members);
            if (accepts(&m, object) != is_valid(&d, members)) check_note("%s: %s", text, object);
            CHECK_INT(accepts(&m, object), is_valid(&d, members));
            n_valid += is_valid(&d, members);
        }
        automata_free(&m);
    }
    check_note("%d valid, %d schemas without any", n_valid, n_empty);
    CHECK(n_valid > 1000 && n_empty > 5);
}

TEST(dependencies_that_do_not_meet_take_no_combinations) {
    static char text[64 << 10];
    size_t at = (size_t)sprintf(text, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 200; i++) at += (size_t)sprintf(text + at, "%s\"a%d\":{},\"b%d\":{}", i ? "," : "", i, i);
    at += (size_t)sprintf(text + at, "},\"dependentRequired\":{");
    for (int i = 0; i < 60; i++) // one by the next, and the other way round
        at += (size_t)sprintf(text + at, "%s\"%c%d\":[\"%c%d\"]", i ? "," : "", "ab"[i % 2], i, "ba"[i % 2], i);
    sprintf(text + at, "}}");
    struct automata m;
    rn_error err = {0};
    if (!CHECK_OK(open_text(&m, text, &err), &err)) return;
    CHECK(accepts(&m, "{\"a0\":1,\"b0\":1,\"a1\":1,\"b199\":1}"));
    CHECK(!accepts(&m, "{\"a0\":1,\"a1\":1}"));
    CHECK(!accepts(&m, "{\"b1\":1}"));
    automata_free(&m);
}

static rn_status refuse(int n_pairs, rn_error *err) { // all that want first, then all that are wanted
    static char text[64 << 10];
    size_t at = (size_t)sprintf(text, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 2 * n_pairs; i++)
        at += (size_t)sprintf(text + at, "%s\"%c%d\":{}", i ? "," : "", i < n_pairs ? 'a' : 'b', i % n_pairs);
    at += (size_t)sprintf(text + at, "},\"dependencies\":{");
    for (int i = 0; i < n_pairs; i++) at += (size_t)sprintf(text + at, "%s\"a%d\":\"b%d\"", i ? "," : "", i, i);
    sprintf(text + at, "}}");
    struct automata m;
    const rn_status st = open_text(&m, text, err);
    if (st == RN_OK) automata_free(&m);
    return st;
}

TEST(dependencies_that_multiply_are_refused_by_name) {
    rn_error err = {0};
    CHECK_OK(refuse(11, &err), &err);
    if (CHECK_FAILS(refuse(12, &err), RN_E_LIMIT, &err))
        CHECK_HAS(err.text, "dependencies between members that need more than 10000 states");
    if (CHECK_FAILS(refuse(65, &err), RN_E_LIMIT, &err))
        CHECK_HAS(err.text, "dependencies tie more than 64 members of an object to each other");
}
