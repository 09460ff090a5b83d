// cli/chat/markdown.c - see markdown.h. Blocks become styled texts, which are broken into lines behind the marks of the lists and quotes
// that they stand in.
#include "cli/chat/markdown.h"
#ifdef RUNNEL_MD4C
#include "app/term.h"
#include "cli/chat/code_colours.h"
#include "cli/chat/markdown_table.h"
#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16, LEAST_COLUMNS = 8, MARK_BYTES = 24 };

// A quote or an item of a list around what is drawn.
typedef struct container {
    char mark[MARK_BYTES];
    int columns;    // of the mark
    bool is_quote;  // its mark stands on each line
    bool is_marked; // an item's mark has been drawn
} container;

typedef struct list {
    bool is_ordered, is_tight;
    unsigned number;
    bool is_begun; // it has an item
} list;

typedef struct drawing {
    const char *source;
    bytes *to;
    int columns;
    bool has_utf8;
    container inside[MOST_DEPTH];
    list lists[MOST_DEPTH];
    int n_inside, n_lists, n_deeper; // deeper ones are drawn as if they were not there
    bool needs_gap;                  // a block stands above, in the same item
    styled_text text;                // of the block that is read
    uint8_t style;
    bool is_code;
    char language[32];
    bytes address; // of the link that is read
    size_t link_from;
    markdown_table table;
} drawing;

static void add_front(drawing *d) {
    for (int i = 0; i < d->n_inside; i++) {
        container *const c = &d->inside[i];
        if (c->is_quote)
            bytes_add_format(d->to, "\x1b[2m%s\x1b[0m", c->mark);
        else if (!c->is_marked)
            bytes_add_text(d->to, c->mark);
        else
            bytes_add_format(d->to, "%*s", c->columns, "");
        c->is_marked = true;
    }
}

static int room(const drawing *d) {
    int columns = d->columns;
    for (int i = 0; i < d->n_inside; i++) columns -= d->inside[i].columns;
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}

static void add_gap(drawing *d) {
    if (!d->needs_gap) return;
    for (int i = 0; i < d->n_inside; i++)
        if (d->inside[i].is_quote) bytes_add_format(d->to, "\x1b[2m%s\x1b[0m", d->inside[i].mark);
    bytes_add_text(d->to, "\n");
    d->needs_gap = false;
}

// Draws what was read, and forgets it.
static void draw_text(drawing *d) {
    text_line line;
    for (size_t at = 0; styled_line(&d->text, &at, room(d), &line);) {
        add_front(d);
        styled_write(&d->text, &line, d->to);
        bytes_add_text(d->to, "\n");
    }
    d->text.text.n = d->text.styles.n = 0;
}

static void draw_code(drawing *d) {
    styled_text shown = {0};
    code_colours colours;
    code_colours_begin(&colours, d->language, strlen(d->language));
    const char *const text = d->text.text.data;
    for (size_t at = 0; at < d->text.text.n;) {
        const char *const end = memchr(text + at, '\n', d->text.text.n - at);
        const size_t n = end ? (size_t)(end - text) - at : d->text.text.n - at;
        code_colours_add(&colours, text + at, n, &shown);
        styled_add(&shown, "\n", 1, 0);
        at += n + 1;
    }
    styled_text_free(&d->text);
    d->text = shown;
    draw_text(d);
}

static void draw_rule(drawing *d) {
    add_front(d);
    bytes_add_text(d->to, "\x1b[2m");
    for (int i = 0; i < room(d); i++) bytes_add_text(d->to, d->has_utf8 ? "\xe2\x94\x80" : "-");
    bytes_add_text(d->to, "\x1b[0m\n");
}

// ---- blocks ----------------------------------------------------------------------------------------------------------

static void enter(drawing *d, bool is_quote, const char *mark, int columns) {
    if (d->n_inside == MOST_DEPTH) {
        d->n_deeper++;
        return;
    }
    container *const c = &d->inside[d->n_inside++];
    *c = (container){.columns = columns, .is_quote = is_quote};
    snprintf(c->mark, sizeof c->mark, "%s", mark);
}

static void leave(drawing *d) {
    if (d->n_deeper)
        d->n_deeper--;
    else
        d->n_inside--;
}

static void enter_list(drawing *d, list l) {
    // A list below its item's text stands close to it.
    if (l.is_tight && d->n_inside) d->needs_gap = false;
    if (d->n_lists < MOST_DEPTH) d->lists[d->n_lists] = l;
    d->n_lists++;
}

static void enter_item(drawing *d, const MD_BLOCK_LI_DETAIL *item) {
    list *const l = &d->lists[d->n_lists <= MOST_DEPTH ? d->n_lists - 1 : MOST_DEPTH - 1];
    char mark[MARK_BYTES];
    if (item->is_task)
        snprintf(mark, sizeof mark, "[%c] ", item->task_mark == ' ' ? ' ' : 'x');
    else if (l->is_ordered)
        snprintf(mark, sizeof mark, "%u. ", l->number);
    else
        snprintf(mark, sizeof mark, "%s ", d->has_utf8 ? "\xe2\x80\xa2" : "*");
    if (!l->is_tight && l->is_begun)
        add_gap(d);
    else
        d->needs_gap = false;
    l->number++;
    l->is_begun = true;
    const int columns = (int)strlen(mark) - (item->is_task || l->is_ordered || !d->has_utf8 ? 0 : 2);
    enter(d, false, mark, columns);
}

// The text of an item in a tight list, which is in no paragraph.
static void draw_item_text(drawing *d) {
    draw_text(d);
    d->needs_gap = d->n_inside > 0;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user) {
    drawing *const d = user;
    const MD_BLOCK_UL_DETAIL *const ul = detail;
    const MD_BLOCK_OL_DETAIL *const ol = detail;
    const MD_BLOCK_H_DETAIL *const h = detail;
    const MD_BLOCK_CODE_DETAIL *const code = detail;
    if (d->text.text.n) draw_item_text(d);
    switch (type) {
    case MD_BLOCK_QUOTE:
        add_gap(d);
        enter(d, true, d->has_utf8 ? "\xe2\x94\x82 " : "| ", 2);
        break;
    case MD_BLOCK_UL: enter_list(d, (list){.is_tight = ul->is_tight}); break;
    case MD_BLOCK_OL: enter_list(d, (list){.is_ordered = true, .is_tight = ol->is_tight, .number = ol->start}); break;
    case MD_BLOCK_LI: enter_item(d, detail); break;
    case MD_BLOCK_HR: draw_rule(d); break;
    case MD_BLOCK_H:
        add_gap(d);
        d->style = STYLE_BOLD | (h->level == 1 ? STYLE_UNDERLINE : 0);
        break;
    case MD_BLOCK_CODE:
        add_gap(d);
        d->is_code = true;
        snprintf(d->language, sizeof d->language, "%.*s", (int)code->lang.size,
                 code->lang.size ? code->lang.text : "");
        break;
    case MD_BLOCK_P: add_gap(d); break;
    case MD_BLOCK_TABLE: add_gap(d); break;
    case MD_BLOCK_TH: d->style = STYLE_BOLD; break;
    default: break;
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user) {
    drawing *const d = user;
    const MD_BLOCK_TD_DETAIL *const cell = detail;
    bytes rows = {0};
    switch (type) {
    case MD_BLOCK_QUOTE:
        leave(d);
        d->needs_gap = d->n_inside > 0;
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL: d->n_lists--; break;
    case MD_BLOCK_LI: {
        if (d->text.text.n) draw_item_text(d);
        const container *const c = d->n_inside ? &d->inside[d->n_inside - 1] : NULL;
        if (c && !c->is_marked && !d->n_deeper) { // an empty item
            add_front(d);
            bytes_add_text(d->to, "\n");
        }
        leave(d);
        d->needs_gap = true;
        break;
    }
    case MD_BLOCK_P:
        draw_text(d);
        d->needs_gap = d->n_inside > 0;
        break;
    case MD_BLOCK_H:
        draw_text(d);
        d->style = 0;
        break;
    case MD_BLOCK_CODE:
        draw_code(d);
        d->is_code = false;
        d->needs_gap = d->n_inside > 0;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        markdown_table_take(&d->table, &d->text, (int)cell->align);
        d->style = 0;
        break;
    case MD_BLOCK_TR: markdown_table_end_row(&d->table); break;
    case MD_BLOCK_TABLE:
        markdown_table_draw(&d->table, &rows, room(d), d->columns - room(d), d->has_utf8);
        for (size_t at = 0; at < rows.n;) {
            const size_t n = strcspn(rows.data + at, "\n") + 1;
            add_front(d);
            bytes_add(d->to, rows.data + at, n);
            at += n;
        }
        bytes_free(&rows);
        break;
    default: break;
    }
    return 0;
}

// ---- what is in a block ------------------------------------------------------------------------------------------------

static const uint8_t span_styles[] = {
    [MD_SPAN_EM] = STYLE_ITALIC, [MD_SPAN_STRONG] = STYLE_BOLD, [MD_SPAN_A] = STYLE_UNDERLINE,
    [MD_SPAN_CODE] = STYLE_CYAN, [MD_SPAN_DEL] = STYLE_STRIKE,
};

static int enter_span(MD_SPANTYPE type, void *detail, void *user) {
    drawing *const d = user;
    if (type == MD_SPAN_A || type == MD_SPAN_IMG) { // both details begin with the address
        const MD_ATTRIBUTE *const address = detail;
        d->address.n = 0;
        bytes_add(&d->address, address->text, address->size);
        d->link_from = d->text.text.n;
    }
    if ((size_t)type < sizeof span_styles) d->style |= span_styles[type];
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user) {
    drawing *const d = user;
    (void)detail;
    if ((size_t)type < sizeof span_styles) d->style &= (uint8_t)~span_styles[type];
    if (type != MD_SPAN_A && type != MD_SPAN_IMG) return 0;
    // Where a link leads is shown, unless its text says so: what a model names as its target is not hidden.
    const size_t n = d->text.text.n - d->link_from;
    const bool is_same = n == d->address.n && memcmp(d->text.text.data + d->link_from, d->address.data, n) == 0;
    if (is_same || !d->address.n) return 0;
    styled_add(&d->text, " (", 2, STYLE_DIM);
    styled_add(&d->text, d->address.data, d->address.n, STYLE_DIM);
    styled_add(&d->text, ")", 1, STYLE_DIM);
    return 0;
}

// The character of a numeric entity, or of one of the five that texts have to write so; else the entity as it is written.
static void add_entity(drawing *d, const char *text, size_t n) {
    static const char *const known[][2] = {{"&amp;", "&"},   {"&lt;", "<"},   {"&gt;", ">"},
                                           {"&quot;", "\""}, {"&nbsp;", " "}, {"&apos;", "'"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == n && memcmp(known[i][0], text, n) == 0) {
            styled_add(&d->text, known[i][1], strlen(known[i][1]), d->style);
            return;
        }
    const bool is_hex = n > 3 && (text[2] == 'x' || text[2] == 'X');
    const unsigned long c = n > 3 && text[1] == '#' ? strtoul(text + (is_hex ? 3 : 2), NULL, is_hex ? 16 : 10) : 0;
    char utf8[4] = {(char)c};
    size_t n_utf8 = 1;
    if (c >= 0x80 && c < 0x800)
        utf8[0] = (char)(0xc0 | c >> 6), utf8[1] = (char)(0x80 | (c & 63)), n_utf8 = 2;
    else if (c >= 0x800 && c < 0x10000)
        utf8[0] = (char)(0xe0 | c >> 12), utf8[1] = (char)(0x80 | (c >> 6 & 63)), utf8[2] = (char)(0x80 | (c & 63)),
        n_utf8 = 3;
    bytes plain = {0}; // no control character comes in this way
    if (c < 0x20 || c >= 0x10000 || (c >= 0xd800 && c < 0xe000))
        bytes_add(&plain, text, n);
    else
        term_add_plain(&plain, utf8, n_utf8);
    styled_add(&d->text, plain.data, plain.n, d->style);
    bytes_free(&plain);
}

static int take_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE n, void *user) {
    drawing *const d = user;
    switch (type) {
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR: styled_add(&d->text, "\n", 1, 0); break;
    case MD_TEXT_ENTITY: add_entity(d, text, n); break;
    case MD_TEXT_NULLCHAR: break;
    default:
        // An escaped bracket begins or ends a formula of TeX: the backslash stays.
        if (type == MD_TEXT_NORMAL && n && strchr("()[]", text[0]) && text > d->source && text[-1] == '\\')
            styled_add(&d->text, "\\", 1, d->style);
        styled_add(&d->text, text, n, d->style);
    }
    return 0;
}

bool markdown_is_there(void) { return true; }

bool markdown_add(bytes *to, const char *text, size_t n, int columns) {
    const MD_PARSER parser = {
        .flags =
            MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML | MD_FLAG_COLLAPSEWHITESPACE,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = take_text,
    };
    drawing d = {.source = text, .to = to, .columns = columns, .has_utf8 = term_utf8()};
    const size_t n_before = to->n;
    const bool ok = md_parse(text, (MD_SIZE)n, &parser, &d) == 0;
    if (!ok) to->n = n_before;
    styled_text_free(&d.text);
    bytes_free(&d.address);
    markdown_table_free(&d.table);
    return ok;
}

#else

bool markdown_is_there(void) { return false; }

bool markdown_add(bytes *to, const char *text, size_t n, int columns) {
    (void)to, (void)text, (void)n, (void)columns;
    return false;
}

#endif
