// formats/file_kind.c - the table of file signatures; see file_kind.h.
#include "formats/file_kind.h"
#include <string.h>
#include <strings.h>

// Tried in this order. Old ggml formats stored their magic as a little-endian number, so its
// letters appear reversed.
static const struct {
    const char *bytes;
    uint8_t n;
    bool any_case;
    const char *what;
} kinds[] = {
    {"PK\x03\x04", 4, false, "a ZIP archive (perhaps a PyTorch checkpoint)"},
    {"\x1f\x8b", 2, false, "gzip-compressed data: unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, false, "zstd-compressed data: unpack it first"},
    {"<!DOCTYPE", 9, true, "a web page (HTML): the download went wrong"},
    {"<html", 5, true, "a web page (HTML): the download went wrong"},
    {"<?xml", 5, true, "an XML page: the download went wrong"},
    {"version https://git-lfs", 23, false, "a Git LFS pointer: the file itself was not fetched"},
    {"lmgg", 4, false, "an old GGML file (before GGUF): convert the model again"},
    {"fmgg", 4, false, "an old GGMF file (before GGUF): convert the model again"},
    {"tjgg", 4, false, "an old GGJT file (before GGUF): convert the model again"},
    {"algg", 4, false, "an old GGLA adapter (before GGUF): convert it again"},
    {"GGML", 4, true, "an old GGML file (before GGUF): convert the model again"},
    {"GGMF", 4, true, "an old GGMF file (before GGUF): convert the model again"},
    {"GGJT", 4, true, "an old GGJT file (before GGUF): convert the model again"},
    {"GGLA", 4, true, "an old GGLA adapter (before GGUF): convert it again"},
    {"\x80\x02", 2, false, "a Python pickle"},
    {"\x7f"
     "ELF",
     4, false, "a program (ELF)"},
    {"{", 1, false, "JSON text"},
};

// safetensors: 8 bytes with the length of the JSON header, little endian, then the header's opening
// brace.
static bool looks_like_safetensors(const uint8_t *data, size_t n) {
    return n >= 9 && data[5] == 0 && data[6] == 0 && data[7] == 0 && data[8] == '{';
}

struct file_kind file_kind_of(const uint8_t *data, size_t n) {
    if (n == 0) return (struct file_kind){"an empty file", false};
    if (n >= 4 && memcmp(data, "GGUF", 4) == 0) return (struct file_kind){"GGUF", true};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *first = (const char *)data;
        if (n < kinds[i].n) continue;
        if (kinds[i].any_case ? strncasecmp(first, kinds[i].bytes, kinds[i].n) == 0
                              : memcmp(first, kinds[i].bytes, kinds[i].n) == 0)
            return (struct file_kind){kinds[i].what, false};
    }
    if (looks_like_safetensors(data, n))
        return (struct file_kind){"a safetensors file: give the folder that holds it and its config.json", false};
    if (n < 4) return (struct file_kind){"a file of less than 4 bytes", false};
    return (struct file_kind){"of no known kind", false};
}
