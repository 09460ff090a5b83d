// formats/folder/config_parts.h - the parts that config.json is read in. Private to config_*.c.
#ifndef RN_FORMATS_FOLDER_CONFIG_PARTS_H
#define RN_FORMATS_FOLDER_CONFIG_PARTS_H

#include "formats/folder/config_json.h"

// A string member; *out NULL when absent.
rn_status config_string(const struct json_node *object, const char *name, const struct json_node **out,
                        rn_error *err);
// A list member of `kind`; *out NULL when absent.
rn_status config_list(const struct json_node *object, const char *name, enum json_kind kind,
                      const struct json_node **out, rn_error *err);
int config_shown(const struct json_node *v); // how many bytes of a string messages show

// config_model.c: the architecture; *text is the object of the text model's numbers, root itself or a part of it.
rn_status config_find_model(struct hf_config *c, const struct json_node *root, const struct json_node **text,
                            rn_error *err);

// config_ways.c: refuses what would make the weights or the arithmetic others than the architecture's.
rn_status config_refuse_ways(const struct hf_config *c, const struct json_node *root, const struct json_node *text,
                             rn_error *err);
bool config_says_mxfp4(const struct json_node *root);

// config_rope.c: the objects that say how positions are rotated; *swa is that of layers with windows, NULL: none of their own.
rn_status config_find_rope(struct hf_config *c, const struct json_node *root, const struct json_node **rope,
                           const struct json_node **swa, rn_error *err);
// After the table's rows.
rn_status config_read_rope(struct hf_config *c, const struct json_node *rope, const struct json_node *swa,
                           struct package *p, rn_error *err);

// config_layers.c: what lists say of each layer. After the table's rows; the overrides before rotation is read.
rn_status config_read_overrides(struct hf_config *c, const struct json_node *root, rn_error *err);
rn_status config_read_layers(struct hf_config *c, const struct json_node *root, rn_error *err);

#endif
