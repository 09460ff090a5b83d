// formats/folder/config_parts.h - functions that the readers of config.json share. Private to config_*.c.
#ifndef RN_FORMATS_FOLDER_CONFIG_PARTS_H
#define RN_FORMATS_FOLDER_CONFIG_PARTS_H

#include "formats/folder/config_json.h"

// A string member; *out NULL when absent.
rn_status config_string(const struct json_node *object, const char *name, const struct json_node **out,
                        rn_error *err);
// A list member of `kind`; *out NULL when absent.
rn_status config_list(const struct json_node *object, const char *name, enum json_kind kind,
                      const struct json_node **out, rn_error *err);
// The member of an object; "a.b": member b of its member a. NULL when absent.
const struct json_node *config_member(const struct json_node *object, const char *path);
int config_shown(const struct json_node *v); // how many bytes of a string a message shows

// config_model.c: finds the architecture; *text is the object with the text model's numbers, root itself or a member of it.
rn_status config_find_model(struct hf_config *c, const struct json_node *root, const struct json_node **text,
                            rn_error *err);

// config_unsupported.c: refuses members that would change the weights or the arithmetic of the architecture; takes the activation and
// the limits of time steps, of which there are several.
rn_status config_refuse_ways(struct hf_config *c, const struct json_node *root, const struct json_node *text,
                             rn_error *err);
// T5's activation, whose name says whether the feed-forward part has a gate. "gated-gelu" is GELU by tanh. After the traits.
rn_status config_read_gated_activation(struct hf_config *c, const struct json_node *root, rn_error *err);
bool config_says_mxfp4(const struct json_node *root);

// config_factors.c: reads c->factors, in architectures that have them. Call after the table's rows.
rn_status config_read_factors(struct hf_config *c, const struct json_node *root, rn_error *err);
// config_widths.c: widths of layers by factors (openelm) or block by block (deci). After the lists.
rn_status config_read_widths(struct hf_config *c, const struct json_node *root, rn_error *err);

// config_rope.c: finds the rope parameters; *swa: those of layers with windows, NULL if they have none of their own.
rn_status config_find_rope(struct hf_config *c, const struct json_node *root, const struct json_node **rope,
                           const struct json_node **swa, rn_error *err);
// Call after the table's rows have been read.
rn_status config_read_rope(struct hf_config *c, const struct json_node *rope, const struct json_node *swa,
                           struct package *p, rn_error *err);

// config_layers.c: reads the lists with one item per layer. Call after the table's rows, the overrides before config_read_rope().
rn_status config_read_overrides(struct hf_config *c, const struct json_node *root, rn_error *err);
// nemotron_h: the letter of a kind of layer in hybrid_override_pattern; 0: none.
char config_block_letter(const char *kind);
rn_status config_read_layers(struct hf_config *c, const struct json_node *root, rn_error *err);

#endif
