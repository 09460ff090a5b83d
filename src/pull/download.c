// pull/download.c - see download.h.
#include "pull/download.h"
#include "app/files.h"
#include "app/interrupt.h"
#include "app/say.h"
#include "pull/partial_file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 16, MOST_LOCATES = 4, ENOUGH_TO_GO_ON = 65536 };
static const int64_t SAVE_NS = 5000000000;

struct download;

typedef struct connection {
    struct download *of;
    http_transfer transfer; // easy NULL: idle
    size_t segment;
    uint64_t begin;  // the first byte that was asked for
    uint64_t at;     // where the next byte goes
    uint64_t n_came; // since the last failure that counted
    int n_failed;    // in a row without enough bytes between them
    int64_t not_before_ns;
    bool has_segment;
    char wrong[PULL_WHY]; // why what comes cannot be used; "": it can
} connection;

typedef struct download {
    const pull_file *file;
    const http_client *client;
    pull_meter *meter;
    char *path;     // of the file
    char *url;      // where redirects end
    http_head head; // of the answer there
    bool has_ranges;
    int n_locates;
    part_file part;
    CURLM *multi;
    connection connections[MOST_CONNECTIONS];
    size_t n_connections;
    bool *is_taken; // [n_segments]: done, or some connection has it
    int64_t saved_ns;
    char why[PULL_WHY]; // the download cannot go on; "": it can
} download;

static bool fail(download *d, const char *why) {
    if (!d->why[0]) snprintf(d->why, sizeof d->why, "%.*s", PULL_WHY - 1, why);
    return false;
}

// ---- where the file is ------------------------------------------------------------------------------------------------

static bool take_nothing(void *user, const http_head *head, const char *data, size_t n) {
    (void)user, (void)data, (void)n;
    return !head || head->status == 206; // the head is all that is wanted of a whole file
}

// Asks for the first byte: the answer says how long the file is, and whether the server gives parts of it.
static bool locate(download *d) {
    char why[PULL_WHY], *url = NULL;
    http_head head;
    d->n_locates++;
    http_verdict verdict = http_fetch(d->client, d->file->url, "0-0", NULL, take_nothing, NULL, &head, &url, why);
    if (verdict == HTTP_REFUSED && head.status == 416) { // an empty file has no first byte
        head.n_body = 0, head.total = NO_SIZE;
        verdict = HTTP_FINE;
    }
    free(d->url);
    d->url = url;
    d->head = head;
    d->has_ranges = head.status == 206;
    if (verdict != HTTP_FINE) return fail(d, why);
    return !d->has_ranges || (head.total != NO_SIZE && head.last == 0) ||
           fail(d, "the server sends another part of the file than was asked for");
}

static bool check_size(download *d, uint64_t *n_bytes) {
    const uint64_t due = d->file->n_bytes;
    char why[PULL_WHY];
    *n_bytes = d->has_ranges ? d->head.total : d->head.n_body;
    if (due == NO_SIZE || *n_bytes == NO_SIZE || due == *n_bytes) {
        if (*n_bytes == NO_SIZE) *n_bytes = due;
        return true;
    }
    snprintf(why, sizeof why, "the server has %" PRIu64 " bytes, and %" PRIu64 " were announced", *n_bytes, due);
    return fail(d, why);
}

// ---- connections ------------------------------------------------------------------------------------------------------

static bool refuse(connection *c, const char *fmt, uint64_t a, uint64_t b, uint64_t x) {
    snprintf(c->wrong, sizeof c->wrong, fmt, a, b, x);
    return false;
}

// Is the answer the part of the file that was asked for?
static bool check_head(connection *c, const http_head *head) {
    const download *const d = c->of;
    if (d->head.etag[0] && head->etag[0] && strcmp(head->etag, d->head.etag) != 0)
        return refuse(c, "the file has changed on the server since it was asked for", 0, 0, 0);
    if (!d->has_ranges) {
        if (head->status == 200) return true;
        return refuse(c, "the server sends a part of the file that was not asked for", 0, 0, 0);
    }
    if (head->status != 206) return refuse(c, "the server sends the whole file where a part was asked for", 0, 0, 0);
    if (head->first == c->begin && head->total == d->part.n_bytes) return true;
    if (head->total == NO_SIZE) return refuse(c, "the server does not say which part of the file it sends", 0, 0, 0);
    return refuse(c, "the server sends bytes from %" PRIu64 " of %" PRIu64 " where byte %" PRIu64 " was asked for",
                  head->first, head->total, c->begin);
}

static bool take_data(void *user, const http_head *head, const char *data, size_t n) {
    connection *const c = user;
    download *const d = c->of;
    const uint64_t end = part_segment_end(&d->part, c->segment);
    if (!check_head(c, head)) return false;
    if (n > end - c->at)
        return refuse(c, "the server sends more than the %" PRIu64 " bytes it was asked for",
                      end - c->segment * d->part.segment_bytes, 0, 0);
    if (!part_write(&d->part, c->at, data, n)) {
        snprintf(c->wrong, sizeof c->wrong, "%s", strerror(errno));
        return false;
    }
    c->at += n;
    c->n_came += n;
    d->part.done[c->segment] += n;
    d->meter->n_fetched += n;
    return true;
}

static bool take_segment(download *d, connection *c) {
    for (size_t i = 0; i < d->part.n_segments; i++) {
        if (d->is_taken[i]) continue;
        d->is_taken[i] = true;
        c->segment = i;
        c->has_segment = true;
        c->n_failed = 0, c->n_came = 0, c->not_before_ns = 0;
        return true;
    }
    return false;
}

static void begin_transfer(download *d, connection *c) {
    char range[64];
    const uint64_t end = part_segment_end(&d->part, c->segment);
    if (!d->has_ranges) d->part.done[c->segment] = 0; // from the beginning each time
    c->begin = c->at = c->segment * d->part.segment_bytes + d->part.done[c->segment];
    snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, c->at, end - 1);
    http_transfer_begin(&c->transfer, d->client, d->url, d->has_ranges ? range : NULL, NULL, take_data, c);
    curl_multi_add_handle(d->multi, c->transfer.easy);
}

static void end_transfer(download *d, connection *c) {
    if (!c->transfer.easy) return;
    curl_multi_remove_handle(d->multi, c->transfer.easy);
    http_transfer_end(&c->transfer);
}

// A transfer has ended: its segment is done, or goes on where it stopped.
static void finish(download *d, connection *c, CURLcode result) {
    char why[PULL_WHY];
    http_verdict verdict = http_judge(&c->transfer, result, why);
    const http_head head = c->transfer.head;
    const bool is_elsewhere = strcmp(d->url, d->file->url) != 0; // an address that a redirect gave may expire
    end_transfer(d, c);
    if (c->wrong[0]) {
        fail(d, c->wrong);
        return;
    }
    const bool is_end_known = d->part.n_bytes != NO_SIZE;
    const bool is_complete = is_end_known ? c->at == part_segment_end(&d->part, c->segment) : verdict == HTTP_FINE;
    if (is_complete) {
        if (!is_end_known) d->part.n_bytes = c->at;
        c->has_segment = false;
        return;
    }
    if (verdict == HTTP_FINE) { // less than was asked for, and said so
        verdict = HTTP_AGAIN;
        snprintf(why, sizeof why, "the server sent fewer bytes than it was asked for");
    }
    if (verdict == HTTP_REFUSED && is_elsewhere && d->n_locates < MOST_LOCATES &&
        (head.status == 401 || head.status == 403 || head.status == 410)) {
        locate(d);
        return;
    }
    if (c->n_came >= ENOUGH_TO_GO_ON && d->has_ranges) c->n_failed = 0;
    c->n_came = 0;
    if (verdict != HTTP_AGAIN || ++c->n_failed >= HTTP_TRIES) {
        fail(d, why);
        return;
    }
    c->not_before_ns = now_ns() + (int64_t)http_wait_ms(c->n_failed, &head) * 1000000;
}

static void begin_idle(download *d) {
    for (size_t i = 0; i < d->n_connections; i++) {
        connection *const c = &d->connections[i];
        if (c->transfer.easy || (!c->has_segment && !take_segment(d, c)) || now_ns() < c->not_before_ns) continue;
        begin_transfer(d, c);
    }
}

static bool has_work(const download *d) {
    for (size_t i = 0; i < d->n_connections; i++)
        if (d->connections[i].has_segment) return true;
    return false;
}

static void finish_ended(download *d) {
    int n_left;
    CURLMsg *m;
    while ((m = curl_multi_info_read(d->multi, &n_left))) {
        char *of = NULL;
        if (m->msg != CURLMSG_DONE) continue;
        const CURLcode result = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &of);
        for (size_t i = 0; i < d->n_connections; i++)
            if ((char *)&d->connections[i].transfer == of) {
                finish(d, &d->connections[i], result);
                break;
            }
    }
}

// Fetches what is missing. False: d->why, or Ctrl+C.
static bool fetch_segments(download *d) {
    enum { LOOK_MS = 100 };
    int n_running;
    d->multi = memory_noted(curl_multi_init());
    d->is_taken = app_alloc(d->part.n_segments * sizeof *d->is_taken);
    for (size_t i = 0; i < d->part.n_segments; i++)
        d->is_taken[i] = i * d->part.segment_bytes + d->part.done[i] == part_segment_end(&d->part, i);
    for (size_t i = 0; i < d->n_connections; i++) d->connections[i].of = d;
    d->saved_ns = now_ns();
    for (begin_idle(d); has_work(d) && !d->why[0] && !interrupt_came(); begin_idle(d)) {
        curl_multi_perform(d->multi, &n_running);
        finish_ended(d);
        pull_meter_show(d->meter, part_n_done(&d->part));
        if (now_ns() - d->saved_ns >= SAVE_NS) {
            part_save(&d->part);
            d->saved_ns = now_ns();
        }
        curl_multi_poll(d->multi, NULL, 0, LOOK_MS, NULL);
    }
    for (size_t i = 0; i < d->n_connections; i++) end_transfer(d, &d->connections[i]);
    curl_multi_cleanup(d->multi);
    free(d->is_taken);
    return !d->why[0] && !interrupt_came();
}

// ---- checked and kept -------------------------------------------------------------------------------------------------

struct check {
    pull_meter *meter;
    uint64_t n_bytes;
};
static bool show_check(void *user, uint64_t n_done) {
    const struct check *const c = user;
    pull_meter_show_check(c->meter, n_done, c->n_bytes);
    return !interrupt_came();
}

// Has the open file the sum that the source announced? True where none was.
static bool has_sum(const pull_file *f, int fd, uint64_t n_bytes, pull_meter *meter, char *sum) {
    struct check c = {meter, n_bytes};
    sum[0] = '\0';
    if (f->sha256[0]) return checksum_sha256(fd, n_bytes, show_check, &c, sum) && strcmp(sum, f->sha256) == 0;
    if (f->git_oid[0]) return checksum_git(fd, n_bytes, sum) && strcmp(sum, f->git_oid) == 0;
    return true;
}

// What is known of a file that was fetched: FOLDER/.pulled/NAME.
static char *record_path(const pull_file *f, const char *folder) {
    return app_text("%s/.pulled/%s", folder, f->name);
}

static void write_record(const pull_file *f, const char *folder, uint64_t n_bytes) {
    char *const path = record_path(f, folder), *const url = url_shown(f->url);
    bytes text = {0};
    bytes_add_format(&text, "url %s\nbytes %" PRIu64 "\n", url, n_bytes);
    if (f->sha256[0]) bytes_add_format(&text, "sha256 %s\n", f->sha256);
    if (f->git_oid[0]) bytes_add_format(&text, "git %s\n", f->git_oid);
    if (!make_folders_above(path) || !write_small_file(path, text.data, text.n)) say("%s: %s", path, strerror(errno));
    bytes_free(&text);
    free(url);
    free(path);
}

// Is the file there, as the source has it now? By its record; one without a record is read.
static bool is_there(const pull_file *f, const char *folder, const char *path, pull_meter *meter) {
    enum { RECORD_LIMIT = 1 << 16 };
    struct stat st;
    bytes text = {0};
    char sum[SHA256_HEX];
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    if (f->n_bytes != NO_SIZE && f->n_bytes != (uint64_t)st.st_size) return false;
    if (!f->sha256[0] && !f->git_oid[0]) return true;
    char *const record = record_path(f, folder);
    const bool has_record = access(record, R_OK) == 0 && file_read(record, RECORD_LIMIT, &text);
    char *const line = f->sha256[0] ? app_text("\nsha256 %s\n", f->sha256) : app_text("\ngit %s\n", f->git_oid);
    bool ok = has_record && text.data && strstr(text.data, line);
    if (!has_record) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        ok = fd >= 0 && has_sum(f, fd, (uint64_t)st.st_size, meter, sum);
        if (fd >= 0) close(fd);
        if (ok) write_record(f, folder, (uint64_t)st.st_size);
    }
    free(line);
    free(record);
    bytes_free(&text);
    return ok;
}

static download_outcome keep(download *d, const char *folder) {
    char sum[SHA256_HEX];
    if (!has_sum(d->file, d->part.fd, d->part.n_bytes, d->meter, sum)) {
        if (interrupt_came()) return DOWNLOAD_INTERRUPTED;
        progress_hide(&d->meter->bar);
        say("%s: what came is not what was announced: its %s is %s, not %s; nothing of it is kept", d->path,
            d->file->sha256[0] ? "sha256" : "git name", sum, d->file->sha256[0] ? d->file->sha256 : d->file->git_oid);
        part_drop(&d->part);
        return DOWNLOAD_FAILED;
    }
    progress_hide(&d->meter->bar);
    if (!part_commit(&d->part)) return DOWNLOAD_FAILED;
    write_record(d->file, folder, d->part.n_bytes);
    return DOWNLOAD_FETCHED;
}

static download_outcome fetch(download *d, const char *folder) {
    uint64_t n_bytes = NO_SIZE;
    if (locate(d) && check_size(d, &n_bytes)) {
        const char *const validator = d->file->sha256[0]    ? d->file->sha256
                                      : d->file->git_oid[0] ? d->file->git_oid
                                      : d->has_ranges       ? d->head.etag
                                                            : "";
        if (!part_begin(&d->part, n_bytes, validator)) return DOWNLOAD_FAILED;
        if (d->meter->total == NO_SIZE && n_bytes != NO_SIZE) d->meter->total = d->meter->n_files_done + n_bytes;
        if (!d->has_ranges) d->n_connections = 1;
        // Without ranges there is one segment, the whole file.
        if (!d->has_ranges && d->part.n_segments > 1) {
            d->part.n_segments = 1, d->part.segment_bytes = n_bytes, d->part.done[0] = 0;
            d->part.validator[0] = '\0';
        }
        if (fetch_segments(d)) return keep(d, folder);
        part_save(&d->part);
    }
    progress_hide(&d->meter->bar);
    if (interrupt_came()) return DOWNLOAD_INTERRUPTED;
    char *const shown = url_shown(d->url ? d->url : d->file->url);
    say("%s: %s: %s", d->file->name, shown, d->why);
    free(shown);
    return DOWNLOAD_FAILED;
}

download_outcome download_file(const pull_file *file, const char *folder, const http_client *client,
                               int32_t n_connections, pull_meter *meter) {
    download *const d = app_alloc(sizeof *d);
    download_outcome outcome;
    *d = (download){
        .file = file, .client = client, .meter = meter, .n_connections = (size_t)n_connections, .part.fd = -1};
    d->path = app_text("%s/%s", folder, file->name);
    meter->label = file->name;
    if (is_there(file, folder, d->path, meter)) {
        outcome = DOWNLOAD_WAS_THERE;
    } else {
        static const download_outcome of[] = {[PART_IS_THERE] = DOWNLOAD_WAS_THERE,
                                              [PART_INTERRUPTED] = DOWNLOAD_INTERRUPTED,
                                              [PART_FAILED] = DOWNLOAD_FAILED};
        const part_outcome opened = part_open(&d->part, d->path);
        outcome = opened == PART_OPEN ? fetch(d, folder) : of[opened];
    }
    part_close(&d->part);
    free(d->url);
    free(d->path);
    free(d);
    return outcome;
}
