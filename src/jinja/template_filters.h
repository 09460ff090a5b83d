// jinja/template_filters.h - filters that stand in other files than their tables, and what filters have in common.
#ifndef RN_JINJA_TEMPLATE_FILTERS_H
#define RN_JINJA_TEMPLATE_FILTERS_H

#include "jinja/template_render.h"

const tval *filter_tojson(struct render *r, const tval *v, const struct call *c);
const tval *filter_wordwrap(struct render *r, const tval *v, const struct call *c);

// item.a.0.b for attribute "a.0.b"; `otherwise` in place of what is undefined, where it is not NULL. folds: strings in lower case.
const tval *filter_attribute(struct render *r, const tval *item, const tval *attribute, const tval *otherwise,
                             bool folds);

#endif
