// jinja/template_filters.h - filters that are not in the same file as their tables, and helpers that filters share.
#ifndef RN_JINJA_TEMPLATE_FILTERS_H
#define RN_JINJA_TEMPLATE_FILTERS_H

#include "jinja/template_render.h"

const tval *filter_tojson(struct render *r, const tval *v, const struct call *c);
const tval *filter_wordwrap(struct render *r, const tval *v, const struct call *c);

// Evaluates item.a.0.b for the attribute "a.0.b". If it is undefined and `otherwise` is not NULL, returns `otherwise`. folds: convert
// strings to lower case.
const tval *filter_attribute(struct render *r, const tval *item, const tval *attribute, const tval *otherwise,
                             bool folds);

#endif
