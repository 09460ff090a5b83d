// media/orientation.c - which side of a picture is up, from EXIF and XMP data.
#include "media/picture_reader.h"
#include <stdbool.h>
#include <string.h>

// TIFF 6.0, section 2: numbers in the order of bytes that the first two say.
struct tiff {
    const uint8_t *data;
    size_t n;
    bool is_big; // endian
};

static bool read_number(const struct tiff *t, size_t at, size_t size, uint32_t *out) {
    if (at > t->n || size > t->n - at) return false;
    *out = 0;
    for (size_t i = 0; i < size; i++) *out |= (uint32_t)t->data[at + i] << 8 * (t->is_big ? size - 1 - i : i);
    return true;
}

static uint8_t checked(uint32_t orientation) { return orientation <= 8 ? (uint8_t)orientation : 0; }

uint8_t exif_orientation(const uint8_t *data, size_t n) {
    enum { TAG = 0x0112, SHORT = 3, LONG = 4, ENTRY_BYTES = 12 };
    while (n >= 6 && memcmp(data, "Exif\0", 6) == 0) data += 6, n -= 6;
    if (n < 8 || (memcmp(data, "II*", 4) != 0 && memcmp(data, "MM\0*", 4) != 0)) return 0;
    const struct tiff t = {data, n, data[0] == 'M'};
    uint32_t at = 0, n_entries = 0, tag = 0, type = 0, count = 0, value = 0;
    if (!read_number(&t, 4, 4, &at) || !read_number(&t, at, 2, &n_entries)) return 0;
    for (uint32_t i = 0; i < n_entries; i++) {
        const size_t entry = (size_t)at + 2 + (size_t)i * ENTRY_BYTES;
        if (!read_number(&t, entry, 2, &tag) || !read_number(&t, entry + 2, 2, &type) ||
            !read_number(&t, entry + 4, 4, &count) || !read_number(&t, entry + 8, type == LONG ? 4 : 2, &value))
            return 0;
        if (tag == TAG) return count == 1 && (type == SHORT || type == LONG) ? checked(value) : 0;
    }
    return 0;
}

uint8_t xmp_orientation(const uint8_t *data, size_t n) {
    static const char name[] = "tiff:Orientation";
    const size_t n_name = sizeof name - 1;
    for (size_t i = 0; i + n_name + 2 <= n; i++) {
        if (memcmp(data + i, name, n_name) != 0) continue;
        size_t at = i + n_name;
        if (data[at] == '>')
            at++;
        else if (data[at] == '=' && data[at + 1] == '"')
            at += 2;
        else
            continue;
        if (at < n && data[at] >= '0' && data[at] <= '9') return checked(data[at] - (uint32_t)'0');
    }
    return 0;
}
