// tests/base/sized_struct_test.c - structs of every size between programs and a library of other versions.
#include "base/sized_struct.h"
#include "tests/check.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// As it was published, and as it is now: `third` and what follows were appended.
struct first {
    size_t struct_size;
    int32_t one;
    double two;
};
struct today {
    size_t struct_size;
    int32_t one;
    double two;
    int32_t third;
    const char *fourth;
};
static const struct today defaults = {.one = -1, .two = 0.5, .third = 33, .fourth = "four"};
static const struct sized_struct form = {"thing", "call thing_init()", SIZED_FIRST(struct today, two),
                                         sizeof(struct today), &defaults};
enum { ROOM = 2 * sizeof(struct today) };

// All bytes of a caller's memory are known, so that one written past its end is seen.
static unsigned char *caller(size_t n) {
    unsigned char *p = malloc(n ? n : 1); // the sanitizers watch its end
    if (p) memset(p, 0xAB, n);
    return p;
}

TEST(the_first_published_size_does_not_follow_what_is_appended) {
    CHECK_INT(form.first, sizeof(struct first));
    CHECK(form.first < form.size);
}

TEST(an_initializer_fills_the_callers_size_and_not_a_byte_more) {
    for (size_t n = 0; n <= ROOM; n++) {
        unsigned char *p = caller(n + 1), want[ROOM] = {0};
        struct today all = defaults;
        all.struct_size = n;
        memcpy(want, &all, sizeof all);
        if (!p) return;
        sized_init(&form, p, n);
        check_note("%zu bytes", n);
        if (n >= sizeof n) CHECK_MEM(p, want, n);
        CHECK_INT(p[n], 0xAB);
        free(p);
    }
    sized_init(&form, NULL, 0);
}

TEST(every_size_from_the_first_to_todays_is_read_and_the_rest_has_its_defaults) {
    struct today mine = {.one = 1, .two = 2, .third = 3, .fourth = "mine"};
    for (size_t n = 0; n <= ROOM; n++) {
        unsigned char *p = caller(n < sizeof n ? sizeof n : n);
        struct today got, want = defaults, untouched;
        rn_error err = {0};
        if (!p) return;
        memset(&got, 0x5A, sizeof got);
        memset(&untouched, 0x5A, sizeof untouched);
        memcpy(p, &mine, n < sizeof mine ? n : sizeof mine);
        memcpy(p, &n, sizeof n);
        check_note("%zu bytes", n);
        if (n < form.first || n > form.size) {
            CHECK_FAILS(sized_read(&form, p, &got, &err), RN_E_ARG, &err);
            CHECK_MEM(&got, &untouched, sizeof got);
        } else if (CHECK_OK(sized_read(&form, p, &got, &err), &err)) {
            memcpy(&want, &mine, n);
            want.struct_size = sizeof want;
            CHECK_MEM(&got, &want, sizeof got);
        }
        free(p);
    }
}

TEST(no_struct_at_all_is_read_as_the_defaults) {
    struct today got;
    rn_error err = {0};
    CHECK_OK(sized_read(&form, NULL, &got, &err), &err);
    CHECK_INT(got.struct_size, sizeof got);
    CHECK_INT(got.one, -1);
    CHECK_STR(got.fourth, "four");
}

TEST(a_callers_struct_is_filled_no_further_than_its_size) {
    const struct today ours = {.struct_size = sizeof ours, .one = 1, .two = 2, .third = 3, .fourth = "ours"};
    for (size_t n = form.first; n <= form.size; n++) {
        unsigned char *p = caller(n + 1);
        rn_error err = {0};
        struct today want = ours;
        if (!p) return;
        memcpy(p, &n, sizeof n);
        CHECK_OK(sized_check(&form, p, &err), &err);
        sized_write(&form, &ours, p);
        want.struct_size = n;
        check_note("%zu bytes", n);
        CHECK_MEM(p, &want, n);
        CHECK_INT(p[n], 0xAB);
        free(p);
    }
}

TEST(what_is_refused_is_named_with_both_sizes_and_the_way_out) {
    struct {
        struct today t;
        char newer[8];
    } longer = {{.struct_size = sizeof longer}, ""};
    struct today unset = {0};
    char want[256];
    rn_error err = {0};
    CHECK_FAILS(sized_check(&form, &longer, &err), RN_E_ARG, &err);
    snprintf(want, sizeof want,
             "thing: struct_size is %zu, this library (" RUNNEL_VERSION
             ") knows %zu: the program was built against a newer one",
             sizeof longer, sizeof unset);
    CHECK_STR(err.text, want);
    CHECK_FAILS(sized_check(&form, &unset, &err), RN_E_ARG, &err);
    snprintf(want, sizeof want, "thing: struct_size is 0, at least %zu: call thing_init()", sizeof(struct first));
    CHECK_STR(err.text, want);
    CHECK_FAILS(sized_check(&form, NULL, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "thing: NULL");
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

struct element {
    int32_t id;
    float value;
    const char *text; // appended
};
static const struct sized_array elements = {"list", "element_stride", "call list_init()",
                                            SIZED_FIRST(struct element, value), sizeof(struct element)};
enum { N = 5 };

TEST(elements_of_every_stride_are_read_with_zeros_for_what_they_lack) {
    for (size_t stride = 0; stride <= sizeof(struct element) + 8; stride++) {
        rn_error err = {0};
        check_note("stride %zu", stride);
        if (stride < elements.first || stride > elements.size) {
            CHECK_FAILS(sized_check_stride(&elements, stride, &err), RN_E_ARG, &err);
            CHECK_HAS(err.text, "list: element_stride is ");
            continue;
        }
        CHECK_OK(sized_check_stride(&elements, stride, &err), &err);
        unsigned char *p = caller(N * stride);
        for (int i = 0; p && i < N; i++) {
            const struct element e = {i, (float)i / 2, "text"};
            memcpy(p + (size_t)i * stride, &e, stride);
        }
        for (int i = 0; p && i < N; i++) {
            struct element got, want = {0};
            const struct element e = {i, (float)i / 2, "text"};
            memcpy(&want, &e, stride);
            sized_get_element(&elements, p, stride, (size_t)i, &got);
            CHECK_MEM(&got, &want, sizeof got);
        }
        free(p);
    }
}

TEST(elements_are_packed_to_every_stride_in_place) {
    for (size_t stride = elements.first; stride <= elements.size; stride++) {
        struct element list[N + 1], all[N];
        for (int i = 0; i < N; i++) all[i] = list[i] = (struct element){i, (float)i, i % 2 ? "odd" : "even"};
        list[N].id = 77;
        sized_pack(&elements, list, N, stride);
        for (int i = 0; i < N; i++) CHECK_MEM((const char *)list + (size_t)i * stride, &all[i], stride);
        CHECK_INT(list[N].id, 77);
        sized_pack(&elements, list, 0, stride);
    }
}
