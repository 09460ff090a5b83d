// grammar/tags/free_text.c - see free_text.h.
#include "grammar/tags/free_text.h"
#include "grammar/chars.h"

static expr_id units(struct exprs *e, expr_id unit, uint32_t most) {
    return expr_repeat(e, unit == EXPR_NEVER ? chars_any(e, CODING_UTF8) : unit, 0, most);
}

static expr_id anywhere(struct exprs *e, expr_id x) { return expr_cat(e, EXPR_ANY, expr_cat(e, x, EXPR_ANY)); }

expr_id free_text_without(struct exprs *e, expr_id unit, const expr_id *texts, size_t n_texts, uint32_t n) {
    const expr_id all = units(e, unit, n);
    return n_texts == 0 ? all : expr_and2(e, all, expr_not(e, anywhere(e, expr_or(e, texts, n_texts))));
}

// A text up to the first place where one of `stops` is complete, which is not that of an exclude, and ends with x.
static expr_id up_to(struct exprs *e, const struct free_text *f, expr_id x, expr_id stops, expr_id excludes) {
    const struct byte_set all = byte_set_all();
    const expr_id more = expr_cat(e, expr_bytes(e, &all), EXPR_ANY),
                  text = expr_cat(e, units(e, f->unit, EXPR_NO_MAX), x),
                  stopped = expr_cat(e, expr_or2(e, stops, excludes), more);
    return expr_and2(e, text, expr_not(e, expr_cat(e, EXPR_ANY, expr_or2(e, stopped, excludes))));
}

static bool is_first(const struct free_text *f, size_t i) { // of those with its text that lead on
    for (size_t k = 0; k < i; k++)
        if (f->triggers[k].text == f->triggers[i].text && f->triggers[k].rest != SYM_NEVER) return false;
    return true;
}

sym_id free_text_sym(struct rules *r, const struct free_text *f) {
    enum { FIRST, LAST, AGAIN, FIRST_TRIGGER };
    struct exprs *const e = r->e;
    expr_id strings[FREE_TEXT_MAX_STRINGS];
    if (e->status == RN_OK && f->n_triggers + f->n_excludes > FREE_TEXT_MAX_STRINGS) e->status = RN_E_LIMIT;
    if (e->status != RN_OK) return SYM_NEVER;
    for (size_t i = 0; i < f->n_triggers; i++) strings[i] = f->triggers[i].text;
    for (size_t i = 0; i < f->n_excludes; i++) strings[f->n_triggers + i] = f->excludes[i];
    const expr_id stops = expr_or(e, strings, f->n_triggers),
                  excludes = expr_or(e, strings + f->n_triggers, f->n_excludes);
    const sym_id tail =
        sym_term(r, free_text_without(e, f->unit, strings, f->n_triggers + f->n_excludes, EXPR_NO_MAX));
    if (f->n_triggers == 0 && !f->begins_with_one) return tail;
    const uint32_t rule = rule_new(r), next = f->ends_after_one ? LAST : AGAIN;
    for (size_t i = 0; i < f->n_triggers && e->status == RN_OK; i++) {
        const struct trigger *const t = &f->triggers[i];
        const uint32_t place = FIRST_TRIGGER + (uint32_t)i;
        if (t->rest == SYM_NEVER) continue;
        if (f->begins_with_one)
            rule_link(r, rule, FIRST, next, sym_seq(r, (sym_id[]){sym_term(r, t->text), t->rest}, 2));
        if ((f->begins_with_one && f->ends_after_one) || !is_first(f, i)) continue;
        rule_link(r, rule, AGAIN, place, sym_term(r, up_to(e, f, t->text, stops, excludes)));
        for (size_t k = i; k < f->n_triggers; k++)
            if (f->triggers[k].text == t->text) rule_link(r, rule, place, next, f->triggers[k].rest);
    }
    if (!f->begins_with_one) rule_link(r, rule, FIRST, AGAIN, SYM_EMPTY);
    if (!(f->begins_with_one && f->ends_after_one)) rule_link(r, rule, AGAIN, LAST, tail);
    return sym_rule(r, rule);
}
