// tests/support/parsed_output.c - see parsed_output.h.
#include "tests/support/parsed_output.h"
#include <stdio.h>
#include <stdlib.h>

void parsed_begin(struct parsed *d) { d->n_calls = d->n_ended = 0; }

static void add(struct text_buf *b, const char *s) { text_buf_add(b, s, strlen(s)); }

// Starts another part of the output.
static void turn_to(struct parsed *d, int part) {
    if (d->open) add(&d->story, ") ");
    d->open = part;
    if (part == 1) add(&d->story, "C(");
    if (part == 2) add(&d->story, "R(");
}

static void call_event(struct parsed *d, const struct output_event *e) {
    if (e->name) {
        char head[700];
        d->wrong |= e->tool != d->n_calls || d->n_calls != d->n_ended || d->n_calls == PARSED_MAX_CALLS;
        if (d->n_calls == PARSED_MAX_CALLS) return;
        snprintf(d->name[d->n_calls], sizeof d->name[0], "%s", e->name);
        turn_to(d, 3);
        snprintf(head, sizeof head, "T%d(%s,", d->n_calls, e->name);
        add(&d->story, head);
        d->id[d->n_calls++][0] = 0;
    }
    d->wrong |= e->tool != d->n_calls - 1 || d->open != 3 || d->n_ended == d->n_calls;
    if (d->wrong || e->tool < 0) return;
    if (e->id) {
        d->wrong |= d->id[e->tool][0] != 0 || !(e->name || e->ends);
        snprintf(d->id[e->tool], sizeof d->id[0], "%s", e->id);
    }
    text_buf_add(&d->calls[e->tool], e->text, e->n_text);
    text_buf_add(&d->story, e->text, e->n_text);
    if (e->ends && d->id[e->tool][0]) {
        add(&d->story, ",");
        add(&d->story, d->id[e->tool]);
    }
    d->wrong |= e->broken && !e->ends;
    d->broken[e->tool] = e->broken;
    d->n_ended += e->ends;
    if (e->broken) add(&d->story, "!");
    if (e->ends) turn_to(d, 0);
}

void parsed_event(void *user, const struct output_event *e) {
    struct parsed *const d = user;
    if (e->channel == OUTPUT_TOOL_CALL) return call_event(d, e);
    const int part = e->channel == OUTPUT_CONTENT ? 1 : 2;
    d->wrong |=
        e->tool != -1 || e->name || e->id || e->n_text == 0 || e->ends || e->broken || d->n_ended != d->n_calls;
    if (d->open != part) turn_to(d, part);
    text_buf_add(part == 1 ? &d->content : &d->reasoning, e->text, e->n_text);
    text_buf_add(&d->story, e->text, e->n_text);
}

void parsed_end(struct parsed *d) {
    d->wrong |= d->n_ended != d->n_calls;
    turn_to(d, 0);
    while (d->story.n && d->story.s[d->story.n - 1] == ' ') d->story.n--;
    text_buf_add(&d->story, "", 1);
    d->story.n--;
}

void parsed_free(struct parsed *d) {
    text_buf_free(&d->content);
    text_buf_free(&d->reasoning);
    text_buf_free(&d->story);
    for (int i = 0; i < PARSED_MAX_CALLS; i++) text_buf_free(&d->calls[i]);
    *d = (struct parsed){0};
}

static void run(struct parsed *d, const output_format *f, const struct output_tools *tools, const char *prompt,
                const char *text, size_t n, const size_t *cuts, size_t n_cuts) {
    output_parser *p = NULL;
    parsed_begin(d);
    if (output_parser_create(f, tools, prompt, strlen(prompt), &p, NULL) != RN_OK) abort();
    size_t done = 0;
    for (size_t i = 0; i <= n_cuts; i++) {
        const size_t to = i < n_cuts ? cuts[i] : n;
        if (output_parser_push(p, text + done, to - done, parsed_event, d, NULL) != RN_OK) abort();
        done = to;
    }
    if (output_parser_finish(p, parsed_event, d, NULL) != RN_OK) abort();
    output_parser_destroy(p);
    parsed_end(d);
}

void parsed_run(struct parsed *d, const output_format *f, const char *prompt, const char *text, size_t n,
                const size_t *cuts, size_t n_cuts) {
    run(d, f, NULL, prompt, text, n, cuts, n_cuts);
}

void parsed_run_tools(struct parsed *d, const output_format *f, const struct output_tools *tools, const char *text,
                      size_t n, bool is_cut) {
    size_t *const cuts = malloc((n + 1) * sizeof *cuts);
    if (!cuts) abort();
    for (size_t i = 0; i < n; i++) cuts[i] = i;
    run(d, f, tools, "", text, n, cuts, is_cut ? n : 0);
    free(cuts);
}
