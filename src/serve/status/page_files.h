// serve/status/page_files.h - the files of web/, which cmake/page.cmake puts into the program.
#ifndef RN_SERVE_STATUS_PAGE_FILES_H
#define RN_SERVE_STATUS_PAGE_FILES_H

// Its bytes are [data, gzip), and compressed [gzip, end).
typedef struct page_file {
    const char *name, *type; // below web/; content type
    const char *hash;        // of the bytes: 32 hexadecimal digits
    const unsigned char *data, *gzip, *end;
} page_file;
extern const page_file page_files[]; // terminated by a NULL name

#endif
