// tests/formats/config_bad_test.c - spoiled config.json and generation_config.json: item 17 of the list of malformed inputs.
#include "base/mem.h"
#include "formats/limits.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

// Opens the sound folder with another config.json.
static rn_status open_with(const char *config, size_t n_config, package **p, rn_error *err) {
    static uint8_t *weights;
    static size_t n_weights;
    struct st_builder b;
    if (!weights) {
        st_begin(&b);
        st_model(&b);
        weights = st_finish(&b, &n_weights);
    }
    uint8_t *exact = malloc(n_config ? n_config : 1);
    if (!exact) abort();
    memcpy(exact, config, n_config);
    const struct package_bytes files[] = {{"config.json", exact, n_config},
                                          {"model.safetensors", weights, n_weights}};
    const long live = mem_live();
    const rn_status st = package_from_folder_bytes("dir", files, 2, p, err);
    if (st != RN_OK) CHECK_INT(mem_live(), live);
    free(exact);
    return st;
}

TEST(item_17_what_is_no_json_object_is_refused) {
    static const struct {
        const char *why, *config, *want;
    } rows[] = {
        {"empty", "", "not JSON: the text ends before the value (at byte 0)"},
        {"space", " \n", "not JSON: the text ends before"},
        {"a list", "[]", "is an array, must be an object"},
        {"a text", "\"llama\"", "is a string, must be an object"},
        {"null", "null", "is null, must be an object"},
        {"a number", "1", "is a number, must be an object"},
        {"byte order mark", "\xef\xbb\xbf{}", "not JSON: begins with a byte order mark"},
        {"a comment", "{} // llama", "not JSON: text after the end of the JSON value (at byte 3)"},
        {"two of them", "{}{}", "text after the end of the JSON value"},
        {"not closed", "{\"a\": 1", "expected ',' or a closing bracket after a value"},
        {"nan", "{\"rms_norm_eps\": nan}", "expected a value"},
        {"empty object", "{}", "members architectures and model_type: both are missing"},
        {"a member twice", "{\"model_type\": \"llama\", \"model_type\": \"llama\"}",
         "member \"model_type\" is given twice"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        rn_error err = {0};
        package *p = NULL;
        check_note("%s", rows[i].why);
        CHECK_FAILS(open_with(rows[i].config, strlen(rows[i].config), &p, &err), RN_E_FORMAT, &err);
        CHECK(strncmp(err.text, "dir/config.json: ", 17) == 0);
        CHECK_HAS(err.text, rows[i].want);
    }
}

TEST(item_17_a_config_cut_at_any_byte_is_refused) {
    for (size_t cut = 0; cut < strlen(folder_config); cut++) {
        rn_error err = {0};
        package *p = NULL;
        check_note("cut at byte %zu", cut);
        CHECK_FAILS(open_with(folder_config, cut, &p, &err), RN_E_FORMAT, &err);
    }
}

TEST(item_17_depth_and_size_have_limits) {
    rn_error err = {0};
    package *p = NULL;
    char text[4 * JSON_MAX_DEPTH + 8] = "";
    for (int depth = JSON_MAX_DEPTH - 1; depth <= JSON_MAX_DEPTH; depth++) { // inside the object, which is one itself
        char *to = text + sprintf(text, "[");
        for (int i = 1; i < depth; i++) *to++ = '[';
        for (int i = 0; i < depth; i++) *to++ = ']';
        *to = 0;
        char *config = folder_config_with("\"rope_scaling\": null", "\"rope_scaling\": null, \"x\": 0");
        const size_t n = strlen(config) + strlen(text);
        char *deep = malloc(n + 1);
        if (!deep) abort();
        char *at = strstr(config, "\"x\": 0");
        snprintf(deep, n + 1, "%.*s\"x\": %s%s", (int)(at - config), config, text, at + 6);
        const rn_status st = open_with(deep, strlen(deep), &p, &err);
        check_note("depth %d", depth + 1);
        if (depth < JSON_MAX_DEPTH)
            CHECK_OK(st, &err);
        else
            CHECK_FAILS(st, RN_E_LIMIT, &err);
        package_close(p);
        free(deep);
        free(config);
    }
    CHECK_HAS(err.text, "dir/config.json: JSON: nested deeper than 64");

    char *big = malloc(FOLDER_MAX_CONFIG_BYTES + 1);
    if (!big) abort();
    memset(big, ' ', FOLDER_MAX_CONFIG_BYTES + 1);
    memcpy(big, folder_config, strlen(folder_config));
    CHECK_OK(open_with(big, FOLDER_MAX_CONFIG_BYTES, &p, &err), &err);
    package_close(p);
    CHECK_FAILS(open_with(big, FOLDER_MAX_CONFIG_BYTES + 1, &p, &err), RN_E_LIMIT, &err);
    CHECK_STR(err.text, "dir/config.json: 1048577 bytes, limit 1048576");
    free(big);
}

#define ROW(why, from, to, want) {why, NULL, NULL, NULL, from, to, NULL, want}

TEST(item_17_numbers_of_wrong_kind_or_range_are_refused) {
    static const char digits_401[] =
        "\"hidden_size\": 10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";
    static const struct bad_folder rows[] = {
        ROW("as it is", "8", "8", NULL),
        ROW("10^400", "\"hidden_size\": 8", digits_401, "member hidden_size: 1000000000000"),
        ROW("minus zero", "\"hidden_size\": 8", "\"hidden_size\": -0", "member hidden_size: -0 is outside 1..262144"),
        ROW("1e999", "1e-05", "1e999", "member rms_norm_eps: 1e999 is outside 1e-20..1"),
        ROW("an epsilon of 0", "1e-05", "0", "member rms_norm_eps: 0 is outside"),
        ROW("a tiny epsilon", "1e-05", "1e-999", "member rms_norm_eps: 1e-999 is outside"),
        ROW("a negative epsilon", "1e-05", "-1e-5", "member rms_norm_eps: -1e-5 is outside"),
        ROW("an epsilon of 65 digits", "1e-05",
            "0.000010000000000000000000000000000000000000000000000000000000000000",
            "a number of 68 characters, limit 64"),
        ROW("a number as text", "\"hidden_size\": 8", "\"hidden_size\": \"8\"",
            "member hidden_size: is a string, must be an integer"),
        ROW("a number as list", "\"hidden_size\": 8", "\"hidden_size\": [8]",
            "member hidden_size: is an array, must be an integer"),
        ROW("true for a number", "\"hidden_size\": 8", "\"hidden_size\": true",
            "member hidden_size: is true, must be an integer"),
        ROW("infinity for a count", "\"hidden_size\": 8", "\"hidden_size\": Infinity",
            "member hidden_size: is Infinity, must be an integer"),
        ROW("infinity for a number", "\"rope_theta\": 10000.0", "\"rope_theta\": Infinity",
            "member rope_theta: Infinity is outside 1..1e+12"),
        ROW("no number for a number", "\"rope_theta\": 10000.0", "\"rope_theta\": NaN",
            "member rope_theta: NaN is outside 1..1e+12"),
        ROW("a fraction", "\"hidden_size\": 8", "\"hidden_size\": 8.5",
            "member hidden_size: is 8.5, must be an integer"),
        ROW("true as text", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": \"true\"",
            "member tie_word_embeddings: is a string, must be true or false"),
        ROW("1 for true", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": 1",
            "member tie_word_embeddings: is a number"),
        ROW("no layers", "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 0",
            "member num_hidden_layers: 0 is outside 1..1024"),
        ROW("too many layers", "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 1025",
            "member num_hidden_layers: 1025 is outside"),
        ROW("no width", "\"hidden_size\": 8,", "", "member hidden_size: missing"),
        ROW("no KV heads", "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 0",
            "member num_key_value_heads: 0 is outside 1..4096"),
        ROW("heads that KV heads do not divide", "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3",
            "member num_key_value_heads: 3 does not divide the number of heads, 2"),
        ROW("a width that heads do not divide", "\"num_attention_heads\": 2", "\"num_attention_heads\": 3",
            "member num_attention_heads: 3 does not divide the embedding's width, 8"),
        ROW("a head of odd width", "\"num_attention_heads\": 2", "\"num_attention_heads\": 2, \"head_dim\": 3",
            "member head_dim: 3 is not even"),
        ROW("context 0", "\"max_position_embeddings\": 64", "\"max_position_embeddings\": 0",
            "member max_position_embeddings: 0 is outside"),
        ROW("context 2^32", "\"max_position_embeddings\": 64", "\"max_position_embeddings\": 4294967296",
            "member max_position_embeddings: 4294967296 is outside"),
        ROW("theta 0", "10000.0", "0", "member rope_theta: 0 is outside 1..1e+12"),
        ROW("part of a head rotated", "\"rope_theta\": 10000.0", "\"partial_rotary_factor\": 0.5",
            "partial_rotary_factor: 0.5 is not supported; 1 is"),
        ROW("null is absent", "\"num_key_value_heads\": 1,", "\"head_dim\": null, \"num_key_value_heads\": 1,", NULL),
        ROW("theta as an integer", "10000.0", "10000", NULL),
        ROW("theta absent", "\"rope_theta\": 10000.0,", "", NULL),
    };
    check_bad_folders(rows, N(rows));
}

TEST(item_17_architectures_and_ways_that_are_not_known_are_refused_by_name) {
    static const struct bad_folder rows[] = {
        ROW("another model", "LlamaForCausalLM", "Mamba3ForCausalLM",
            "member architectures: \"Mamba3ForCausalLM\" is not supported; nearest: MambaForCausalLM, Mamba2ForCausalLM; "
            "docs/models.md lists all"),
        ROW("another head", "LlamaForCausalLM", "LlamaForSequenceClassification",
            "\"LlamaForSequenceClassification\" is not supported"),
        ROW("no architectures", "\"architectures\": [\"LlamaForCausalLM\"],", "", NULL),
        ROW("no architectures, another type", "\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\"",
            "\"model_type\": \"t5\"", "member model_type: \"t5\" is not supported"),
        ROW("an empty list", "[\"LlamaForCausalLM\"]", "[]", "member architectures: is not a list of names"),
        ROW("a name instead of a list", "[\"LlamaForCausalLM\"]", "\"LlamaForCausalLM\"",
            "member architectures: is not a list of names"),
        ROW("a type that is none", "\"model_type\": \"llama\"", "\"model_type\": 1",
            "member model_type: is a number, must be a string"),
        ROW("a long name", "LlamaForCausalLM",
            "LlamaForCausalLMLlamaForCausalLMLlamaForCausalLMLlamaForCausalLMLlamaForCausalLMLlamaForCausalLM",
            "\"LlamaForCausalLMLlamaForCausalLMLlamaForCausalLMLlamaForCausalLMLlamaForCausalLM\" is not"),
        ROW("mish", "\"rope_scaling\"", "\"hidden_act\": \"mish\", \"rope_scaling\"",
            "member hidden_act: \"mish\" is not supported; silu is"),
        ROW("silu by another name", "\"rope_scaling\"", "\"hidden_act\": \"swish\", \"rope_scaling\"", NULL),
        ROW("quantized", "\"rope_scaling\"",
            "\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4}, \"rope_scaling\"",
            "member quantization_config: gptq is not supported"),
        ROW("quantized somehow", "\"rope_scaling\"", "\"quantization_config\": {}, \"rope_scaling\"",
            "member quantization_config: its quantization is not supported"),
        ROW("not quantized", "\"rope_scaling\"", "\"quantization_config\": null, \"rope_scaling\"", NULL),
        ROW("a window in a layer", "\"rope_scaling\"", "\"layer_types\": [\"sliding_attention\"], \"rope_scaling\"",
            "member layer_types: item 0: \"sliding_attention\", but no window is given"),
        ROW("full layers", "\"rope_scaling\"", "\"layer_types\": [\"full_attention\"], \"rope_scaling\"", NULL),
        ROW("layers as text", "\"rope_scaling\"", "\"layer_types\": \"full_attention\", \"rope_scaling\"",
            "member layer_types: is a string, must be a list"),
    };
    check_bad_folders(rows, N(rows));
}

#define ROPE(why, scaling, want) ROW(why, "\"rope_scaling\": null", "\"rope_scaling\": " scaling, want)

TEST(item_17_rope_scaling_that_is_not_known_or_not_whole_is_refused) {
    static const struct bad_folder rows[] = {
        ROPE("a text", "\"linear\"", "member rope_scaling: is a string, must be an object"),
        ROPE("empty", "{}", NULL),
        ROPE("default", "{\"rope_type\": \"default\"}", NULL),
        ROPE("type null", "{\"rope_type\": null}", NULL),
        ROPE("dynamic", "{\"type\": \"dynamic\", \"factor\": 2}", NULL),
        ROPE("dynamic with an alpha", "{\"type\": \"dynamic\", \"alpha\": 50}", NULL),
        ROPE("an alpha of 0", "{\"type\": \"dynamic\", \"alpha\": 0}",
             "member rope_scaling.alpha: 0 is outside 1..1e+06"),
        ROPE("an alpha too large", "{\"type\": \"dynamic\", \"alpha\": 1e6}",
             "member rope_scaling.alpha: 1e+06 makes a base"),
        ROPE("ntk", "{\"type\": \"ntk\", \"factor\": 2}",
             "member rope_scaling.rope_type: \"ntk\" is not supported; default, linear, llama3, longrope, "
             "proportional and yarn are"),
        ROPE("a type that is none", "{\"rope_type\": 3}",
             "member rope_scaling: member rope_type: is a number, must be a string"),
        ROPE("linear by the older name", "{\"type\": \"linear\", \"factor\": 2}", NULL),
        ROPE("linear without factor", "{\"rope_type\": \"linear\"}", "member rope_scaling.factor: missing"),
        ROPE("factor 0", "{\"rope_type\": \"linear\", \"factor\": 0}",
             "member rope_scaling.factor: 0 is outside 0.001..1e+06"),
        ROPE("factor of -1", "{\"rope_type\": \"yarn\", \"factor\": -1}",
             "member rope_scaling.factor: -1 is outside"),
        ROPE("factor null", "{\"rope_type\": \"yarn\", \"factor\": null}", "member rope_scaling.factor: missing"),
        ROPE("yarn", "{\"rope_type\": \"yarn\", \"factor\": 2.0, \"truncate\": false}", NULL),
        ROPE("yarn, rounded by a number", "{\"rope_type\": \"yarn\", \"factor\": 2.0, \"truncate\": 0}",
             "member rope_scaling.truncate: is a number, must be true or false"),
        ROPE("yarn, slow before fast",
             "{\"rope_type\": \"yarn\", \"factor\": 2, \"beta_fast\": 1, \"beta_slow\": 32}",
             "member rope_scaling.beta_fast: 1 is below beta_slow, 32"),
        ROPE("yarn over theta 1", "{\"rope_type\": \"yarn\", \"factor\": 2, \"rope_theta\": 1}",
             "member rope_scaling.rope_theta: 1, where yarn needs more than 1"),
        ROPE("yarn with an original context of 0",
             "{\"rope_type\": \"yarn\", \"factor\": 2, \"original_max_position_embeddings\": 0}",
             "member rope_scaling.original_max_position_embeddings: 0 is outside"),
        ROPE("llama3", "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4}",
             NULL),
        ROPE("llama3 without bands", "{\"rope_type\": \"llama3\", \"factor\": 8}",
             "member rope_scaling: llama3 needs low_freq_factor and high_freq_factor"),
        ROPE("llama3 with equal bands",
             "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, \"high_freq_factor\": 4}",
             "member rope_scaling.high_freq_factor: 4 is not above low_freq_factor, 4"),
        ROPE("by layer", "{\"full_attention\": {\"rope_type\": \"default\"}}", NULL),
        ROPE("by unknown layers", "{\"linear_attention\": {\"rope_type\": \"default\"}}",
             "member rope_scaling: rope by kinds of layers other than full_attention and sliding_attention"),
        ROPE("by layer, one of a kind that is not known",
             "{\"full_attention\": {\"rope_type\": \"default\"}, \"x\": {\"rope_type\": \"default\"}}",
             "member rope_scaling: rope by kinds of layers other than"),
        ROPE("scaled in windows",
             "{\"full_attention\": {\"rope_type\": \"default\"}, "
             "\"sliding_attention\": {\"rope_type\": \"linear\", \"factor\": 2}}",
             "member rope_scaling.sliding_attention.rope_type: \"linear\" is not supported; default is"),
        ROW("the newer spelling", "\"rope_scaling\": null", "\"rope_parameters\": {\"rope_type\": \"linear\"}",
            "member rope_parameters.factor: missing"),
    };
    check_bad_folders(rows, N(rows));
}

TEST(item_17_sizes_that_contradict_the_tensors_are_refused) {
    static const struct bad_folder rows[] = {
        ROW("a larger vocabulary", "\"vocab_size\": 16", "\"vocab_size\": 17",
            "member vocab_size: 17, with 0 tokens and 16 rows of token_embd.weight"),
        ROW("a smaller vocabulary", "\"vocab_size\": 16", "\"vocab_size\": 15",
            "member vocab_size: 15, with 0 tokens and 16 rows"),
        ROW("another width", "\"hidden_size\": 8", "\"hidden_size\": 16, \"head_dim\": 4",
            "tensor token_embd.weight: 2 dimensions, rows of 8"),
        ROW("more heads", "\"num_attention_heads\": 2", "\"num_attention_heads\": 4, \"head_dim\": 4",
            "tensor model.layers.0.self_attn.q_proj.weight: 8 rows, where 16 are expected"),
        ROW("more KV heads", "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 2",
            "tensor model.layers.0.self_attn.k_proj.weight: 4 rows, where 8 are expected"),
        ROW("more layers", "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2",
            "tensor model.layers.1.input_layernorm.weight: missing, where config.json says 2 layers"),
        ROW("a head of its own", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false",
            "tensor lm_head.weight: missing, where config.json says 1 layers and tie_word_embeddings false"),
        ROW("biases", "\"rope_scaling\"", "\"attention_bias\": true, \"rope_scaling\"",
            "tensor model.layers.0.self_attn.q_proj.bias: missing, where config.json says 1 layers and attention_bias true"),
    };
    check_bad_folders(rows, N(rows));
}

static void second_layer(struct st_builder *b) { st_tensor(b, "model.layers.1.mlp.up_proj.weight", 2, 12, 8); }
static void unknown(struct st_builder *b) { st_tensor(b, "model.layers.0.self_attn.q_norm.weight", 1, 4, 0); }
static void odd_layer(struct st_builder *b) { st_tensor(b, "model.layers.00.mlp.up_proj.weight", 2, 12, 8); }
static void huge_layer(struct st_builder *b) { st_tensor(b, "model.layers.4294967296.mlp.up_proj.weight", 2, 12, 8); }
static void bias(struct st_builder *b) { st_tensor(b, "model.layers.0.mlp.up_proj.bias", 1, 12, 0); }
static void head(struct st_builder *b) { st_tensor(b, "lm_head.weight", 2, 16, 8); }
static void frequencies(struct st_builder *b) {
    st_tensor(b, "model.layers.0.self_attn.rotary_emb.inv_freq", 1, 2, 0);
}

TEST(item_16_tensors_that_the_model_has_no_use_for_are_refused) {
    static const struct bad_folder rows[] = {
        {"a layer too many", .add = second_layer,
         .want = "tensor model.layers.1.mlp.up_proj.weight: LlamaForCausalLM of 1 layers does not use it"},
        {"an unknown one", .add = unknown,
         .want = "tensor model.layers.0.self_attn.q_norm.weight: LlamaForCausalLM of 1 layers does not use it"},
        {"a layer with a leading zero", .add = odd_layer,
         .want = "tensor model.layers.00.mlp.up_proj.weight: LlamaForCausalLM"},
        {"layer 2^32", .add = huge_layer,
         .want = "tensor model.layers.4294967296.mlp.up_proj.weight: LlamaForCausalLM"},
        {"a bias that config.json denies", .add = bias,
         .want = "up_proj.bias: is there, but config.json's mlp_bias is false"},
        {"a missing one", .omit = "model.norm.weight", .want = "tensor model.norm.weight: missing"},
        {"no embedding", .omit = "model.embed_tokens.weight", .want = "tensor model.embed_tokens.weight: missing"},
        {"a tied head that is there as well is left out", .add = head},
        {"written-out frequencies are left out", .add = frequencies},
    };
    check_bad_folders(rows, N(rows));
}

#define EOS(why, value, generation, want)                                                                            \
    {why, NULL, NULL, NULL, "\"eos_token_id\": 2", "\"eos_token_id\": " value, generation, want}

TEST(item_17_end_tokens_outside_the_vocabulary_are_refused) {
    static const struct bad_folder rows[] = {
        EOS("null", "null", NULL, NULL),
        EOS("the last row", "15", NULL, NULL),
        EOS("one past it", "16", NULL, "config.json: member eos_token_id: 16 is outside 0..15"),
        EOS("negative", "-1", NULL, "config.json: member eos_token_id: -1 is outside 0..15"),
        EOS("2^32", "4294967296", NULL, "4294967296 is outside 0..15"),
        EOS("a text", "\"</s>\"", NULL, "member eos_token_id: is a string, must be an integer"),
        EOS("a list", "[3, 1, 3]", NULL, NULL),
        EOS("an empty list", "[]", NULL, NULL),
        EOS("a list with a text", "[3, \"x\"]", NULL, "member eos_token_id: is a string"),
        EOS("a list of lists", "[[3]]", NULL, "member eos_token_id: is an array, must be an integer"),
        EOS("of the other file", "2", "{\"eos_token_id\": [2, 16]}",
            "generation_config.json: member eos_token_id: 16 is outside 0..15"),
        EOS("the other file is no JSON", "2", "{", "generation_config.json: not JSON: expected a member's name"),
        EOS("the other file is a list", "2", "[]", "generation_config.json: is an array, must be an object"),
        EOS("the other file is null", "2", "null", "generation_config.json: is null, must be an object"),
        EOS("the other file says nothing", "2", "{}", NULL),
    };
    check_bad_folders(rows, N(rows));
}

// A model of more rows, whose list names n of them.
static rn_status open_with_end_ids(size_t n, rn_error *err) {
    struct gb_bytes list = {0};
    struct st_builder b;
    package *p = NULL;
    char item[16];
    for (size_t i = 0; i < n; i++) gb_put(&list, item, (size_t)sprintf(item, "%s%zu", i ? "," : "", i % 64));
    gb_put(&list, "", 1);
    char *config = folder_config_with("\"vocab_size\": 16", "\"vocab_size\": 64");
    const size_t n_generation = list.n + 64;
    char *generation = malloc(n_generation);
    if (!generation) abort();
    const int n_text = snprintf(generation, n_generation, "{\"eos_token_id\": [%s]}", (const char *)list.data);
    size_t n_weights;
    st_begin(&b);
    b.omit = "model.embed_tokens.weight";
    st_model(&b);
    b.omit = NULL;
    st_tensor(&b, "model.embed_tokens.weight", 2, 64, 8);
    uint8_t *weights = st_finish(&b, &n_weights);
    const struct package_bytes files[] = {{"config.json", (const uint8_t *)config, strlen(config)},
                                          {"model.safetensors", weights, n_weights},
                                          {"generation_config.json", (const uint8_t *)generation, (size_t)n_text}};
    const rn_status st = package_from_folder_bytes("dir", files, 3, &p, err);
    if (st == RN_OK) {
        const struct vocab *v = package_vocab(p);
        CHECK_INT(v->n_end, n);
        for (int32_t i = 0; i < v->n_end; i++) CHECK_INT(v->end[i], i);
    }
    package_close(p);
    free(list.data);
    free(config);
    free(generation);
    free(weights);
    return st;
}

TEST(item_17_a_list_of_end_tokens_has_a_limit) {
    rn_error err = {0};
    CHECK_OK(open_with_end_ids(FOLDER_MAX_END_IDS - 1, &err), &err);
    CHECK_OK(open_with_end_ids(FOLDER_MAX_END_IDS, &err), &err);
    CHECK_FAILS(open_with_end_ids(FOLDER_MAX_END_IDS + 1, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "generation_config.json: member eos_token_id: more than 32 different ones");
    CHECK_FAILS(open_with_end_ids(100000, &err), RN_E_LIMIT, &err);
}
