// formats/folder/config_json.c - see config_json.h.
#include "formats/folder/config_json.h"
#include "formats/folder/config_parts.h"
#include "formats/limits.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct raw_hparams, field)

enum { SHOWN_TEXT_BYTES = 80 };

int config_shown(const struct json_node *v) {
    return v->n_text < SHOWN_TEXT_BYTES ? (int)v->n_text : SHOWN_TEXT_BYTES;
}

const struct json_node *config_member(const struct json_node *object, const char *path) {
    char outer[64];
    const size_t n = strcspn(path, ".");
    if (path[n] == 0 || n >= sizeof outer) return json_member(object, path);
    memcpy(outer, path, n);
    outer[n] = 0;
    return json_member(json_member(object, outer), path + n + 1);
}

rn_status config_string(const struct json_node *object, const char *name, const struct json_node **out,
                        rn_error *err) {
    *out = json_member(object, name);
    if (!*out || (*out)->kind == JSON_STRING) return RN_OK;
    return fail(err, RN_E_FORMAT, "member %s: is %s, must be a string", name, json_kind_name(*out));
}

rn_status config_list(const struct json_node *object, const char *name, enum json_kind kind,
                      const struct json_node **out, rn_error *err) {
    const struct json_node *list = *out = json_member(object, name);
    if (!list) return RN_OK;
    if (list->kind != JSON_ARRAY)
        return fail(err, RN_E_FORMAT, "member %s: is %s, must be a list", name, json_kind_name(list));
    const struct json_node *v = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v))
        if (v->kind != kind)
            return fail(err, RN_E_FORMAT, "member %s: item %" PRIu32 ": is %s, must be %s", name, i,
                        json_kind_name(v), kind == JSON_STRING ? "a string" : "a number");
    return RN_OK;
}

// ---- traits ---------------------------------------------------------------------------------------------------------

static rn_status read_traits(struct hf_config *c, const struct json_node *root, rn_error *err) {
    c->traits = c->arch->traits;
    for (size_t i = 0; i < hf_n_traits; i++) {
        const struct hf_trait *t = &hf_traits[i];
        const struct json_node *v = json_member(root, t->member);
        bool holds;
        if (!v || (t->gguf_name && strcmp(t->gguf_name, c->arch->gguf_name) != 0)) continue;
        const rn_status st = json_bool(v, &holds, err);
        if (st != RN_OK) return fail_in(err, st, "member %s", t->member);
        c->traits = holds != t->inverted ? c->traits | t->trait : c->traits & ~t->trait;
    }
    if (c->is_trunk) c->traits &= ~(uint32_t)HF_UNTIED;
    return RN_OK;
}

// Reads the traits that the top level states for the whole folder, even if the text model is in
// text_config.
static rn_status read_folder_traits(struct hf_config *c, const struct json_node *root, const struct json_node *text,
                                    rn_error *err) {
    static const char *const foreign[] = {"auto_map", "custom_pipelines", "trust_remote_code"};
    const struct json_node *const tied[] = {json_member(root, "tie_word_embeddings"),
                                            json_member(text, "tie_word_embeddings")};
    c->traits |= config_says_mxfp4(root) ? HF_IN_MXFP4 : HF_IN_FLOATS;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign && !c->foreign_code; i++)
        if (json_member(root, foreign[i])) c->foreign_code = foreign[i];
    // The two members may differ or both be absent; then the presence of the head's tensor decides.
    bool some_tied = !tied[0] && !tied[1], is_tied;
    for (int i = 0; i < 2; i++) {
        if (!tied[i]) continue;
        const rn_status st = json_bool(tied[i], &is_tied, err);
        if (st != RN_OK) return fail_in(err, st, "member tie_word_embeddings");
        some_tied = some_tied || is_tied;
    }
    c->head_by_tensor = c->is_wrapped && some_tied;
    return RN_OK;
}

// Sets the traits that follow from hyper-parameters.
static rn_status derive_traits(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct hparams *hp = &c->raw.hp;
    const struct json_node *n_norms = json_member(root, "num_ln_in_parallel_attn"); // falcon's
    int64_t n = 2;
    const rn_status st = n_norms ? json_int(n_norms, 1, 2, &n, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member num_ln_in_parallel_attn");
    if (!(c->traits & (HF_FFN_GATE | HF_NO_FFN_GATE)))
        c->traits |= c->raw.new_decoder && n == 2 ? HF_TWO_NORMS : HF_ONE_NORM;
    c->raw.hp.rope_in_halves = (c->traits & HF_ROPE_HALVES) != 0;
    c->traits |= hp->q_lora_rank > 0 ? HF_LOW_RANK_Q : HF_PLAIN_Q;
    if (hp->n_ff_shared > 0) c->traits |= HF_SHARED_EXPERTS;
    if (hp->expert_gating == EXPERT_GATING_SIGMOID) c->traits |= HF_SIGMOID;
    if (hp->n_embd_per_layer > 0) c->traits |= HF_LAYER_EMBEDDINGS;
    return RN_OK;
}

// ---- the table ------------------------------------------------------------------------------------------------------

struct objects {
    const struct json_node *root, *rope, *rope_swa;
};

static const struct json_node *find_member(const struct objects *o, const char *name) {
    static const char in_rope[] = "rope.", in_rope_swa[] = "rope_swa.";
    if (strncmp(name, in_rope, sizeof in_rope - 1) == 0) return json_member(o->rope, name + sizeof in_rope - 1);
    if (strncmp(name, in_rope_swa, sizeof in_rope_swa - 1) == 0)
        return json_member(o->rope_swa, name + sizeof in_rope_swa - 1);
    return json_member(o->root, name);
}

// Hunyuan repeats some numbers of its experts once for each layer. Returns the first item if all
// are equal, else the list, which is then refused as a number.
static const struct json_node *one_of_equal(const struct json_node *v) {
    const struct json_node *first = json_first(v), *k = first;
    for (uint32_t i = 0; i < v->n_items; i++, k = json_next(k))
        if (k->kind != JSON_NUMBER || k->n_text != first->n_text || memcmp(k->text, first->text, k->n_text) != 0)
            return v;
    return v->n_items > 0 ? first : v;
}

// A list with one number for each layer, as in GGUF files: the row's value for the whole model is the largest.
static rn_status read_by_layer(struct hf_config *c, const struct hparam_row *row, const char *name,
                               const struct json_node *list, rn_error *err) {
    const struct json_node *v = json_first(list);
    int64_t n, most = 0;
    if (list->n_items != (uint32_t)c->raw.hp.n_layer)
        return fail(err, RN_E_FORMAT, "member %s: %" PRIu32 " items for %" PRId32 " layers", name, list->n_items,
                    c->raw.hp.n_layer);
    for (int32_t l = 0; l < c->raw.hp.n_layer; l++, v = json_next(v)) {
        const rn_status st = json_int(v, (int64_t)row->min, (int64_t)row->max, &n, err);
        if (st != RN_OK) return fail_in(err, st, "member %s: item %" PRId32, name, l);
        hparam_set_layer(&c->raw.layers[l], row, (int32_t)n);
        most = n > most ? n : most;
    }
    c->raw.spelled[row - hparam_rows] = name;
    hparam_set(&c->raw, row, (double)most);
    return RN_OK;
}

static rn_status read_value(struct hf_config *c, const struct hparam_row *row, const char *name,
                            const struct json_node *v, rn_error *err) {
    if (c->arch->repeats_numbers && v->kind == JSON_ARRAY) v = one_of_equal(v);
    if (c->arch->read_widths && row->is_per_layer && v->kind == JSON_ARRAY)
        return read_by_layer(c, row, name, v, err);
    const double min = row->may_be_0 ? 0 : row->min;
    int64_t n = 0;
    float x = 0;
    bool b = false;
    rn_status st;
    if (row->kind == HPARAM_BOOL)
        st = json_bool(v, &b, err);
    else if (row->kind == HPARAM_INT)
        st = json_int(v, (int64_t)min, (int64_t)row->max, &n, err);
    else
        st = json_float(v, min, row->max, &x, err);
    if (st != RN_OK) return fail_in(err, st, "%s", hparam_name_of(&c->raw, name).text);
    c->raw.spelled[row - hparam_rows] = name;
    hparam_set(&c->raw, row, row->kind == HPARAM_BOOL ? b : row->kind == HPARAM_INT ? (double)n : (double)x);
    return RN_OK;
}

// Returns the member that only this architecture uses for the row; NULL: none. It wins over the
// row's usual names, which stand for something else there.
static const char *alias_of(const struct hf_config *c, const struct objects *o, const struct hparam_row *row) {
    for (size_t i = 0; i < c->arch->n_aliases; i++)
        if (c->arch->aliases[i].at == row->at && config_member(o->root, c->arch->aliases[i].member))
            return c->arch->aliases[i].member;
    return NULL;
}

// Does this architecture use the name for another row?
static bool is_taken(const struct hf_config *c, const struct hparam_row *row, const char *name) {
    for (size_t i = 0; i < c->arch->n_aliases; i++)
        if (c->arch->aliases[i].at != row->at && strcmp(c->arch->aliases[i].member, name) == 0) return true;
    return false;
}

// The text_config of a wrapped model may leave out values that equal its class's defaults. An
// explicit null is not absent.
static void set_class_default(struct hf_config *c, const struct objects *o, const struct hparam_row *row) {
    for (int i = 0; i < HPARAM_MAX_NAMES && row->in[HPARAMS_CONFIG].names[i]; i++)
        if (json_has_null(o->root, row->in[HPARAMS_CONFIG].names[i])) return;
    for (size_t i = 0; i < c->arch->n_defaults; i++)
        if (c->arch->defaults[i].at == row->at) hparam_set(&c->raw, row, c->arch->defaults[i].value);
}

// What configurations of the architecture call a number: norm_eps has two names.
static const char *usual_name(const struct hf_config *c, const struct hparam_row *row) {
    return row->in[HPARAMS_CONFIG].names[row->at == AT(hp.norm_eps) && c->raw.facts->has_layer_norm ? 1 : 0];
}

static rn_status read_row(struct hf_config *c, const struct objects *o, const struct hparam_row *row, rn_error *err) {
    const char *const *names = row->in[HPARAMS_CONFIG].names;
    const char *alias = alias_of(c, o, row);
    if (alias) return read_value(c, row, alias, config_member(o->root, alias), err);
    for (int i = 0; i < HPARAM_MAX_NAMES && names[i]; i++) {
        const struct json_node *v = is_taken(c, row, names[i]) ? NULL : find_member(o, names[i]);
        if (v) return read_value(c, row, names[i], v, err);
    }
    static const size_t of_classes[] = {AT(hp.norm_eps), AT(partial_rotary), AT(hp.ffn_act), AT(hp.attn_softcap),
                                        AT(hp.router_softcap)};
    bool by_class = c->is_wrapped;
    for (size_t i = 0; i < sizeof of_classes / sizeof *of_classes; i++)
        by_class = by_class || row->at == of_classes[i];
    if (by_class) set_class_default(c, o, row);
    return hparam_is_missing(&c->raw, row)
               ? fail(err, RN_E_FORMAT, "%s: missing", hparam_name_of(&c->raw, usual_name(c, row)).text)
               : RN_OK;
}

static rn_status read_table(struct hf_config *c, const struct objects *o, struct package *p, rn_error *err) {
    const struct json_node *kinds = json_member(o->root, "layers_block_type");
    const bool counts = c->raw.facts->recurrent == RECURRENT_IN_TURN && kinds && kinds->kind == JSON_ARRAY &&
                        kinds->n_items > 0 && kinds->n_items <= (uint32_t)hparam_rows[0].max &&
                        !json_member(o->root, hparam_rows[0].in[HPARAMS_CONFIG].names[0]);
    if (counts) c->raw.hp.n_layer = (int32_t)kinds->n_items; // transformers 5 leaves the number out
    rn_status st = counts ? RN_OK : read_row(c, o, &hparam_rows[0], err);
    if (st == RN_OK) st = hparams_begin_layers(&c->raw, p, err);
    for (size_t i = 1; st == RN_OK && i < hparam_n_rows; i++) st = read_row(c, o, &hparam_rows[i], err);
    return st;
}

// ---- special cases ------------------------------------------------------------------------------

// Dense models may have a config.json that states one expert.
static bool has_experts(const struct hf_arch *a) {
    for (size_t i = 0; i < a->n_tensors; i++)
        if (strstr(a->tensors[i].name, "expert")) return true;
    return false;
}

static rn_status read_routing(struct hf_config *c, const struct json_node *root, rn_error *err) {
    struct hparams *hp = &c->raw.hp;
    const struct json_node *score, *method, *block = json_member(root, "enable_moe_block");
    bool has_block = true;
    rn_status st = config_string(root, "scoring_func", &score, err);
    if (st == RN_OK) st = config_string(root, "topk_method", &method, err);
    if (st == RN_OK && block) st = json_bool(block, &has_block, err);
    if (st != RN_OK) return st;
    if (!has_block || hp->n_expert == 0 ||
        (hp->n_expert == 1 && (c->arch->layers_by_period || !has_experts(c->arch))))
        hp->n_expert = hp->n_expert_used = 0; // transformers' default for the latter is not 0
    if (c->arch->gating) hp->expert_gating = c->arch->gating;
    const struct json_node *const softmax = json_member(root, "moe_primary_router_apply_softmax"); // smallthinker's
    bool by_softmax = false;
    if (softmax && (st = json_bool(softmax, &by_softmax, err)) != RN_OK)
        return fail_in(err, st, "member moe_primary_router_apply_softmax");
    if (softmax) hp->expert_gating = by_softmax ? EXPERT_GATING_SOFTMAX : EXPERT_GATING_SIGMOID;
    if (softmax) hp->expert_weights_norm = true; // whatever norm_topk_prob says
    if (score && c->arch->gating_ignored) score = NULL;
    if (score && !json_is(score, "sigmoid") && !json_is(score, "softmax"))
        return fail(err, RN_E_UNSUPPORTED, "member scoring_func: \"%.*s\" is not supported; softmax and sigmoid are",
                    config_shown(score), score->text);
    if (score) hp->expert_gating = json_is(score, "sigmoid") ? EXPERT_GATING_SIGMOID : EXPERT_GATING_SOFTMAX;
    const bool in_groups = method ? json_is(method, "group_limited_greedy") || json_is(method, "noaux_tc")
                                  : hp->expert_gating == EXPERT_GATING_SIGMOID;
    if (method && !in_groups && !json_is(method, "greedy"))
        return fail(err, RN_E_UNSUPPORTED,
                    "member topk_method: \"%.*s\" is not supported; greedy, group_limited_greedy and noaux_tc are",
                    config_shown(method), method->text);
    if (!in_groups) hp->n_expert_group = hp->n_expert_group_used = 0;
    return RN_OK;
}

// Ranks of RWKV where none are said, as converters of its checkpoints and of ARWKV's and QRWKV6's take them.
static int32_t wkv_rank(int32_t said, int32_t n_embd, double power, double by, int32_t in_qwen) {
    const double n = round(pow((double)n_embd, power) * by / 32);
    return said ? said : in_qwen ? in_qwen : 32 * (n > 1 ? (int32_t)n : 1);
}

static void derive_wkv(struct hf_config *c) {
    struct hparams *hp = &c->raw.hp;
    const bool in_qwen = !c->raw.facts->has_layer_norm;
    const int32_t n = hp->n_embd;
    hp->n_shift = in_qwen ? 1 : 2;
    hp->n_ctx_train = 1 << 20; // whatever it was trained with, as converters have it
    if (c->raw.facts->wkv_mixes) {
        const bool is_wide = in_qwen ? n >= 4096 : n == 4096;
        if (hp->wkv_mix_rank == 0) hp->wkv_mix_rank = is_wide ? 64 : 32;
        if (hp->wkv_decay_rank == 0) hp->wkv_decay_rank = is_wide ? 128 : 64;
        if (in_qwen && hp->n_head != 0) hp->wkv_head = n / hp->n_head;
        if (!in_qwen && hp->n_ff == 0) hp->n_ff = (int32_t)((int64_t)n * 7 / 2 / 32 * 32);
        return;
    }
    hp->wkv_decay_rank = wkv_rank(hp->wkv_decay_rank, n, 0.5, 1.8, in_qwen ? 64 : 0);
    hp->wkv_rate_rank = wkv_rank(hp->wkv_rate_rank, n, 0.5, 1.8, in_qwen ? 64 : 0);
    hp->wkv_value_rank = wkv_rank(hp->wkv_value_rank, n, 0.5, 1.3, in_qwen ? 32 : 0);
    hp->wkv_gate_rank = c->traits & HF_WKV_GATE ? wkv_rank(hp->wkv_gate_rank, n, 0.8, 0.6, in_qwen ? 128 : 0) : 0;
}

// Computes n_ff in architectures where it follows from other members.
static void derive_widths(struct hf_config *c) {
    struct raw_hparams *raw = &c->raw;
    struct hparams *hp = &raw->hp;
    if (raw->ff_adjusted) { // lfm2: modeling_lfm2.py, as in the first published code of Llama
        double n = (double)(2 * (int64_t)hp->n_ff / 3);
        if (raw->ff_multiplier != 0) n = (double)(int64_t)((double)raw->ff_multiplier * n);
        const int64_t of = raw->ff_multiple ? raw->ff_multiple : 1, up = ((int64_t)n + of - 1) / of * of;
        const int64_t max = (int64_t)hparam_row_at(AT(hp.n_ff))->max;
        hp->n_ff = (int32_t)(up < max ? up : max);
    }
    if (c->arch->ff_rounding && hp->n_ff == 0) { // refact: modeling_gpt_refact.py
        const int32_t of = c->arch->ff_rounding;
        hp->n_ff = ((int32_t)(2 * (4 * (int64_t)hp->n_embd) / 3) + of - 1) / of * of; // n_embd is below 2^19
    }
    if (raw->facts->wkv) derive_wkv(c);
    // granite: without experts the shared part is the whole feed-forward layer
    if (raw->facts->logit_divisor && hp->n_expert == 0 && hp->n_ff_shared != 0) hp->n_ff = hp->n_ff_shared;
}

// Llama 4 has two switches; both are on when absent. The second is a number in some published
// files.
static rn_status read_llama4(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char norms[] = "use_qk_norm", tunes[] = "attn_temperature_tuning";
    const struct json_node *v = json_member(root, norms);
    int64_t is_tuned = 1;
    bool is_on = true;
    if (!c->raw.facts->swa_is_chunk) return RN_OK;
    rn_status st = v ? json_bool(v, &is_on, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", norms);
    c->raw.hp.qk_norm = is_on;
    if (!(v = json_member(root, tunes))) return RN_OK;
    st = v->kind == JSON_NUMBER ? json_int(v, 0, INT32_MAX, &is_tuned, err) : json_bool(v, &is_on, err);
    if (st != RN_OK) return fail_in(err, st, "member %s", tunes);
    if (is_tuned == 0 || !is_on) c->raw.hp.attn_temp_scale = 0;
    return RN_OK;
}

// Norms behind blocks (opt), and biases of attention by distance in place of rotation. Baichuan's larger model has them, whose config.json says only the longest text.
static rn_status read_switches(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct json_node *const v = json_member(root, "alibi");
    struct hparams *hp = &c->raw.hp;
    bool is_on = false;
    const rn_status st = v ? json_bool(v, &is_on, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member alibi");
    if (is_on && !c->arch->may_scale_alibi)
        return fail(err, RN_E_UNSUPPORTED, "member alibi: true is not supported in %s; false is",
                    c->arch->class_name);
    if (is_on) hp->alibi_max_bias = 8, hp->alibi_scaled = true;
    const struct json_node *const before =
        c->raw.facts->may_norm_after ? json_member(root, "do_layer_norm_before") : NULL;
    bool is_before = true;
    const rn_status of_norm = before ? json_bool(before, &is_before, err) : RN_OK;
    if (of_norm != RN_OK) return fail_in(err, of_norm, "member do_layer_norm_before");
    hp->norms_after = !is_before;
    hp->ssm_norms = c->arch->norms_scan;
    c->head_is_normed = c->raw.facts->alibi_layers && json_member(root, "z_loss_weight"); // Baichuan 2
    if (c->raw.facts->alibi_layers && !json_member(root, "max_position_embeddings")) hp->alibi_max_bias = 8;
    return RN_OK;
}

// Only the sections tell whether rotated rows are half-split or interleaved, so they are required.
static rn_status check_sections(const struct hf_config *c, rn_error *err) {
    const int32_t *s = c->raw.hp.rope_sections;
    for (size_t i = 0; i < c->arch->n_tensors; i++)
        if (c->arch->tensors[i].form == HF_QUERIES_HALVED && s[0] + s[1] + s[2] + s[3] == 0)
            return fail(err, RN_E_FORMAT, "member %s.mrope_section: missing", c->raw.rope_object);
    return RN_OK;
}

static rn_status read_deepstack(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char member[] = "deepstack_visual_indexes";
    const struct json_node *const vision = json_member(root, "vision_config"), *const list =
                                                                                   vision &&
                                                                                           vision->kind == JSON_OBJECT
                                                                                       ? json_member(vision, member)
                                                                                       : NULL;
    if (!c->arch->has_deepstack || !vision) return RN_OK;
    if (list && (list->kind != JSON_ARRAY || list->n_items > VISION_MAX_DEEPSTACK))
        return fail(err, RN_E_FORMAT, "member vision_config.%s: is no list of 0..%d layers", member,
                    VISION_MAX_DEEPSTACK);
    c->raw.hp.n_deepstack = list ? (int32_t)list->n_items : 3; // Qwen3VLVisionConfig's
    return RN_OK;
}

// Where transformers' class rotates whole heads, whatever config.json says, a part is refused.
static rn_status check_partial(const struct hf_config *c, rn_error *err) {
    if (c->raw.partial_rotary == 0 || c->raw.partial_rotary == 1 || c->arch->rotates_part) return RN_OK;
    for (size_t i = 0; i < c->arch->n_tensors; i++)
        if (c->arch->tensors[i].form == HF_QUERIES_INTERLEAVED)
            return fail(err, RN_E_UNSUPPORTED, "%s: %g is not supported; 1 is",
                        hparam_name_at(&c->raw, AT(partial_rotary)).text, (double)c->raw.partial_rotary);
    return RN_OK;
}

// RWKV-7 norms what its heads result in with an epsilon that follows from this one in folders, and is 64e-5 in files.
static rn_status check_wkv_eps(const struct hf_config *c, rn_error *err) {
    const struct hparams *hp = &c->raw.hp;
    const double eps = (double)hp->wkv_head * (double)hp->norm_eps;
    if (!c->raw.facts->wkv || c->raw.facts->wkv_mixes || !c->raw.facts->has_layer_norm || fabs(eps - 64e-5) < 1e-6)
        return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "%s: %g with heads of %" PRId32 " is not supported; %g is",
                hparam_name_at(&c->raw, AT(hp.norm_eps)).text, (double)hp->norm_eps, hp->wkv_head,
                64e-5 / hp->wkv_head);
}

// Positions that begin with the one after padding's (RoBERTa): the rows before it are counted, too.
static rn_status check_positions(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char member[] = "pad_token_id";
    const struct json_node *const pad = json_member(root, member);
    const int32_t n = c->arch->n_skipped;
    int64_t id = n - 1;
    if (n == 0) return RN_OK;
    const rn_status st = pad ? json_int(pad, 0, INT32_MAX, &id, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", member);
    if (id != n - 1)
        return fail(err, RN_E_UNSUPPORTED,
                    "member %s: %" PRId64 " is not supported; %" PRId32 " is, since positions follow it", member, id,
                    n - 1);
    if (c->raw.hp.n_ctx_train <= n)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 ", of which the first %" PRId32 " are no positions",
                    hparam_name_at(&c->raw, AT(hp.n_ctx_train)).text, c->raw.hp.n_ctx_train, n);
    c->raw.hp.n_ctx_train -= n;
    return RN_OK;
}

static bool makes_scores(const struct hf_arch *a) {
    size_t i = 0;
    while (i < a->n_tensors && !(a->tensors[i].gguf && strcmp(a->tensors[i].gguf, "cls.output.weight") == 0)) i++;
    return i < a->n_tensors;
}

// What sentence-transformers' CrossEncoder makes of a model's only score: a sigmoid where nothing is said.
static rn_status read_rank_activation(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char *const names[] = {"sentence_transformers.activation_fn",
                                        "sbert_ce_default_activation_function"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct json_node *const v = config_member(root, names[i]);
        if (!v) continue;
        const bool is_raw = json_is(v, "torch.nn.modules.linear.Identity");
        if (!is_raw && !json_is(v, "torch.nn.modules.activation.Sigmoid"))
            return fail(err, RN_E_UNSUPPORTED,
                        "member %s: %.*s is not supported; torch.nn.modules.linear.Identity and "
                        "torch.nn.modules.activation.Sigmoid are",
                        names[i], v->kind == JSON_STRING ? config_shown(v) : 2,
                        v->kind == JSON_STRING ? v->text : "it");
        if (c->raw.hp.n_class == 1) c->raw.hp.rank_raw = is_raw;
        return RN_OK;
    }
    return RN_OK;
}

// Which rows a head reads. EuroBERT: "late" where nothing is said.
static rn_status read_rank_pooling(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char *const members[] = {"classifier_pooling", "clf_pooling"};
    static const struct {
        const char *name, *arch; // arch NULL: of any
        enum rank_pooling pooling;
    } ways[] = {{"cls", NULL, RANK_FIRST_ROW},
                {"bos", "eurobert", RANK_FIRST_ROW},
                {"late", "eurobert", RANK_MEAN_OF_SCORES},
                {"mean", "eurobert", RANK_OF_MEAN},
                {"mean", "modern-bert", RANK_OF_MEAN}};
    const bool is_euro = hf_arch_is(c->arch, "eurobert");
    const struct json_node *v = NULL;
    const char *member = members[0];
    for (size_t i = 0; !v && i < sizeof members / sizeof *members; i++) v = json_member(root, member = members[i]);
    if (!v) c->raw.hp.rank_pooling = is_euro ? RANK_MEAN_OF_SCORES : RANK_FIRST_ROW;
    for (size_t i = 0; v && i < sizeof ways / sizeof *ways; i++) {
        if (!json_is(v, ways[i].name) || !hf_arch_is(c->arch, ways[i].arch)) continue;
        c->raw.hp.rank_pooling = ways[i].pooling;
        return RN_OK;
    }
    if (!v) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not supported; %s", member, config_shown(v),
                v->kind == JSON_STRING ? v->text : "",
                is_euro ? "bos, late and mean are" : "cls is, and mean in ModernBERT");
}

// How many scores a class of transformers that makes some has: one for each label, of which there are two where nothing is said.
static rn_status read_classes(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char member[] = "num_labels";
    const struct json_node *const labels = json_member(root, "id2label"), *const n = json_member(root, member);
    int64_t count = labels && labels->kind == JSON_OBJECT ? labels->n_items : 2;
    if (!makes_scores(c->arch)) return RN_OK;
    const struct json_node *const act = json_member(root, "classifier_activation");
    rn_status st = read_rank_pooling(c, root, err);
    if (st != RN_OK) return st;
    if (act && !json_is(act, "gelu"))
        return fail(err, RN_E_UNSUPPORTED, "member classifier_activation: \"%.*s\" is not supported; gelu is",
                    config_shown(act), act->kind == JSON_STRING ? act->text : "");
    st = n && !labels ? json_int(n, 1, HPARAM_MAX_CLASSES, &count, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", member);
    if (count < 1 || count > HPARAM_MAX_CLASSES)
        return fail(err, RN_E_LIMIT, "member id2label: %" PRId64 " labels, outside 1..%d", count, HPARAM_MAX_CLASSES);
    c->raw.hp.n_class = (int32_t)count;
    return read_rank_activation(c, root, err);
}

rn_status config_read(struct hf_config *c, const struct json_tree *text, struct package *p, rn_error *err) {
    struct objects o = {.root = &text->nodes[0]};
    *c = (struct hf_config){.raw = {.source = HPARAMS_CONFIG, .hp = {.file_type = "model"}}};
    if (o.root->kind != JSON_OBJECT)
        return fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(o.root));
    const struct json_node *const whole = o.root;
    rn_status st = config_find_model(c, whole, &o.root, err);
    if (st != RN_OK) return st;
    hparams_begin(&c->raw);
    st = config_refuse_ways(c, whole, o.root, err);
    if (st == RN_OK) st = read_traits(c, o.root, err);
    if (st == RN_OK) st = config_read_gated_activation(c, o.root, err);
    if (st == RN_OK) st = read_folder_traits(c, whole, o.root, err);
    if (st == RN_OK) st = config_find_rope(c, o.root, &o.rope, &o.rope_swa, err);
    if (st == RN_OK) st = read_table(c, &o, p, err);
    if (st == RN_OK) st = check_positions(c, o.root, err);
    if (st == RN_OK) st = read_classes(c, o.root, err);
    if (st == RN_OK) st = read_deepstack(c, whole, err);
    if (st == RN_OK) st = read_routing(c, o.root, err);
    if (st == RN_OK) st = read_llama4(c, o.root, err);
    if (st == RN_OK) st = read_switches(c, o.root, err);
    if (st == RN_OK) st = config_read_factors(c, o.root, err);
    if (st == RN_OK) st = config_read_overrides(c, o.root, err);
    if (st == RN_OK) st = config_read_rope(c, o.rope, o.rope_swa, p, err);
    if (st == RN_OK) st = check_partial(c, err);
    if (st == RN_OK) st = check_sections(c, err);
    if (st == RN_OK) st = config_read_layers(c, o.root, err);
    if (st == RN_OK) st = config_read_widths(c, o.root, err);
    if (st != RN_OK) return st;
    derive_widths(c);
    if ((st = check_wkv_eps(c, err)) != RN_OK) return st;
    st = hparams_check(&c->raw, err);
    if (st == RN_OK) st = derive_traits(c, o.root, err);
    return st == RN_OK ? hparams_fill_layers(&c->raw, err) : st;
}

// ---- end tokens -----------------------------------------------------------------------------------------------------

static rn_status add_end_id(const struct json_node *v, int32_t n_vocab, int32_t *ids, struct vocab *vocab,
                            rn_error *err) {
    int64_t id;
    const rn_status st = json_int(v, 0, n_vocab - 1, &id, err);
    if (st != RN_OK) return st;
    int32_t at = 0;
    while (at < vocab->n_end && ids[at] < id) at++;
    if (at < vocab->n_end && ids[at] == id) return RN_OK;
    if (vocab->n_end == FOLDER_MAX_END_IDS)
        return fail(err, RN_E_LIMIT, "more than %d different ones", FOLDER_MAX_END_IDS);
    memmove(ids + at + 1, ids + at, (size_t)(vocab->n_end - at) * sizeof *ids);
    ids[at] = (int32_t)id;
    vocab->n_end++;
    return RN_OK;
}

rn_status config_read_end_ids(const struct json_tree *text, int32_t n_vocab, int32_t *ids, struct vocab *v,
                              rn_error *err) {
    const struct json_node *root = &text->nodes[0], *member = json_member(root, "eos_token_id");
    if (root->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(root));
    if (!member) member = json_member(json_member(root, "text_config"), "eos_token_id");
    if (!member) return RN_OK;
    const bool list = member->kind == JSON_ARRAY;
    const struct json_node *id = list ? json_first(member) : member;
    for (uint32_t i = 0; i < (list ? member->n_items : 1); i++, id = json_next(id)) {
        const rn_status st = add_end_id(id, n_vocab, ids, v, err);
        if (st != RN_OK) return fail_in(err, st, "member eos_token_id");
    }
    v->end = ids;
    return RN_OK;
}
