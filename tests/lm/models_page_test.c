// tests/lm/models_page_test.c - docs/models.md is what this program writes of the tables that code and tests go by, and these tables are true.
//
// RUNNEL_WRITE_PAGE=1 writes the page anew.
#include "formats/folder/hf_names.h"
#include "formats/folder/hf_wrappers.h"
#include "formats/hparams/arch_facts.h"
#include "formats/refusals.h"
#include "model/archs.h"
#include "tests/check.h"
#include "tests/support/golden.h"
#include "tests/support/golden_folders.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *folder, *arch;
    int n_cases;
    double tolerance;
} folders[] = {
#define FOLDER(id, folder, arch, n_cases, tolerance) {folder, arch, n_cases, tolerance},
    GOLDEN_FOLDERS(FOLDER)
#undef FOLDER
};
enum { N_FOLDERS = sizeof folders / sizeof *folders };

static const char *const names[] = {
#define NAME(name, id) name,
    ARCHS(NAME)
#undef NAME
};
enum { N_NAMES = sizeof names / sizeof *names };

// ---- the page -------------------------------------------------------------------------------------------------------

static const char head[] =
    "# Models\n"
    "\n"
    "What runs, from GGUF files and from Hugging Face folders, and how each is checked. `tests/lm/models_page_test.c` writes this page\n"
    "and fails where it differs.\n"
    "\n"
    "- **GGUF**: `general.architecture` of the file. Whatever stands here also runs from GGUF, in every type of weights.\n"
    "- **folder**: the class in `architectures` of config.json. It runs as it is and `runnel convert` makes a GGUF file of it.\n"
    "- **transformers**: small models with random weights whose logits and 32 greedy tokens after each of four prompts were computed by\n"
    "  transformers 5.23 in float32. In brackets: the most that a logit may differ from those, whose deviation is about 4; the greedy\n"
    "  tokens must all be the same (`tests/lm/architectures_test.c`). Those with a star are smaller still, their weights made by a formula\n"
    "  (`tests/cli/published_archs_test.py`): 12 greedy tokens after one prompt. Where transformers has no code for\n"
    "  a class, one that computes the same was given its tensors (`OTHERS` in `tests/cli/make_published.py`), or a plain one (`tests/cli/plain_decoder.py`).\n"
    "- **converted**: the same models, converted to GGUF and read again, say the same of every number and tensor and\n"
    "  give the same bits (`tests/convert/convert_architectures_test.c`).\n"
    "- **llama.cpp**: how many types of weights were compared with llama.cpp 0.5.0, in files with random weights that it loads and that are wide\n"
    "  enough for every type: its best token is ours wherever its margin is more than rounding may move, in rows of a prompt and in what is\n"
    "  generated (`tests/cli/peer_wide_test.py`). Mixtures have all experts in use there; which ones a row is sent to is compared in the\n"
    "  converted models that it loads (`peer_archs_test.py`, five types). F32*: its logits of a starred model's file are within 0.002. A dash: it does not know the architecture, or computes another one. [Below](#where-llamacpp-reads-files-otherwise): what it does otherwise than transformers.\n"
    "\n"
    "| GGUF | folder | transformers | converted | llama.cpp |\n"
    "|---|---|---|---|---|\n";

static void put_classes(FILE *to, const char *arch) {
    int n = 0;
    for (size_t i = 0; hf_arch_at(i); i++)
        if (strcmp(hf_arch_at(i)->gguf_name, arch) == 0 && // where a class has two rows, once
            (i == 0 || strcmp(hf_arch_at(i)->class_name, hf_arch_at(i - 1)->class_name) != 0 ||
             strcmp(hf_arch_at(i - 1)->gguf_name, arch) != 0))
            fprintf(to, "%s%s", n++ ? ", " : "", hf_arch_at(i)->class_name);
    if (n == 0) fprintf(to, "-");
}

// The architecture of a row of published.json: that of its class, or of its text_config's type.
static const char *published_arch(const json_t *row) {
    const json_t *const text = json_object_get(json_object_get(row, "config"), "text_config");
    const char *const class_name = json_string_value(json_object_get(row, "class"));
    const char *const type = json_string_value(json_object_get(text, "model_type"));
    const struct hf_arch *a =
        type ? hf_arch_by_type(type, strlen(type)) : hf_arch_by_class(class_name, strlen(class_name));
    // One class, of which each kind of blocks has a name of its own.
    const json_t *const blocks = json_object_get(json_object_get(row, "config"), "layers_block_type");
    bool has_block = false;
    for (size_t i = 0; a && a->block && i < json_array_size(blocks); i++)
        has_block = has_block || strcmp(json_string_value(json_array_get(blocks, i)), a->block) == 0;
    if (a && a->block && !has_block) a++;
    return a ? a->gguf_name : "";
}

static int put_folders(FILE *to, const json_t *published, const char *arch) {
    const char *name;
    json_t *row;
    int n = 0;
    for (int i = 0; i < N_FOLDERS; i++)
        if (strcmp(folders[i].arch, arch) == 0)
            fprintf(to, "%s%s (%g)", n++ ? ", " : "", folders[i].folder, folders[i].tolerance);
    json_object_foreach(json_object_get((json_t *)(uintptr_t)published, "models"), name,
                        row) if (strcmp(published_arch(row), arch) == 0)
        fprintf(to, "%s%s* (%g)", n++ ? ", " : "", name, json_number_value(json_object_get(row, "tolerance")));
    if (n == 0) fprintf(to, "-");
    return n;
}

static const char tail[] =
    "\n"
    "Folders of these classes hold a text model and parts for pictures or sound. The text model, which is that of\n"
    "`text_config.model_type`, runs and is converted; the other parts are left alone, and `runnel info` names them:\n";

static void put_wrappers(FILE *to) {
    fputs(tail, to);
    for (size_t i = 0; hf_wrapper_at(i); i++) fprintf(to, "%s%s", i ? ", " : "", hf_wrapper_at(i)->class_name);
    fprintf(to, ".\n");
}

// Does llama.cpp give the logits of a starred model of this architecture?
static bool peer_agrees(const json_t *published, const char *arch) {
    const char *name;
    json_t *row;
    json_object_foreach(json_object_get((json_t *)(uintptr_t)published, "models"), name,
                        row) if (strcmp(published_arch(row), arch) == 0 &&
                                 json_is_real(json_object_get(row, "llama.cpp"))) return true;
    return false;
}

// How many types the first of an architecture's wide models was compared in; else what is known of a starred one.
static void put_peer(FILE *to, const json_t *wide, const json_t *published, const char *arch) {
    const json_t *const models = json_object_get(wide, "models");
    const char *name;
    json_t *of;
    json_object_foreach(json_object_get(wide, "archs"), name, of) if (strcmp(json_string_value(of), arch) == 0) {
        const size_t n = json_object_size(json_object_get(models, name));
        fprintf(to, "%zu type%s", n, n == 1 ? "" : "s");
        return;
    }
    fputs(peer_agrees(published, arch) ? "F32*" : "-", to);
}

static const char types_head[] = "\nThe types: ";
static const char parts_head[] =
    "\n"
    "The gated norm of Mamba-2 layers is one of each group of heads, not of the whole row: so mamba_ssm, which trained them, has it (`group_size =\n"
    "d_ssm // ngroups`), and transformers 5.23 and llama.cpp with it. Older releases of transformers normed the whole row. Published models where\n"
    "that differs have several groups (Codestral Mamba and Nemotron-H 8; Granite 4, Bamba and Falcon-H1 have 1): mamba2-groups and\n"
    "granite-hybrid-groups have two and three.\n"
    "\n"
    "## Where llama.cpp reads files otherwise\n"
    "\n"
    "Folder and converted file give the logits of transformers here; the file gives others in llama.cpp, or does not load. Each cause was found in\n"
    "its source; of those that it loads its logits are the same once the difference is taken away (`peer_archs_test.py`).\n"
    "\n";

static const char starred_parts[] =
    "\n"
    "Of starred models (`tests/cli/published_archs_test.py`):\n"
    "\n"
    "- baichuan: rotates in models of 32 layers and has ALiBi in those of 40; with so many its logits are these.\n"
    "- bitnet: computes SiLU, whatever the folder says; so its logits of bitnet-silu are these.\n"
    "- grok1, grok2: divides the weights of a row's experts by their sum, which the models' code does not, and caps no scores of the router.\n"
    "  Neither it nor runnel multiplies scores of Grok 2 behind position 1024 (`attn_temperature_len`), as xAI's server does.\n"
    "- grovemoe: gives what groups of experts share the experts' results to read, where the model's code gives them the row;\n"
    "  wants experts in every layer.\n"
    "- mimo2-bias: reads no factor of experts' weights in `mimo2`.\n"
    "- minicpm3-long: wants queries of a latent vector, and has factors of its own, which are those that openbmb's model has.\n"
    "- plm-untied: takes the embedding for the head.\n"
    "- deci: leaves out the attention of a layer without a feed-forward part; deci-51b has none of these.\n"
    "- falcon-alibi, falcon-alibi-one: rotates, and has no ALiBi in `falcon`.\n"
    "- mpt: looks GELU up in a table of half-precision numbers, which moves logits that deviate by 6 by up to 0.004.\n"
    "- rwkv7, arwkv7: computes others with heads that are not 64 wide, as those of every published model are; with such heads (rwkv7-ranks,\n"
    "  arwkv7-plain) its logits are these.\n"
    "- falcon-h1-bias: takes no biases in `falcon-h1`.\n"
    "- openelm-plain: wants norms of queries and keys.\n"
    "- phimoe: weighs experts by the softmax over all of them, where the model has SparseMixer.\n"
    "- smallthinker: has windows of 4096, whatever the file says, as smallthinker-4096 has.\n";

static void put_below(FILE *to, const json_t *wide, const json_t *archs) {
    const char *name, *type, *before = types_head;
    json_t *value;
    json_object_foreach(json_object_get(json_object_get(wide, "models"), "llama"), type, value) {
        fprintf(to, "%s%s", before, type);
        before = ", ";
    }
    fprintf(to, ".\n%s", parts_head);
    json_object_foreach(json_object_get(archs, "parts"), name, value)
        fprintf(to, "- %s: %s.\n", name, json_string_value(value));
    fputs(starred_parts, to);
}

static const char encoders_head[] =
    "\n"
    "## Encoders\n"
    "\n"
    "They make embeddings and scores, and write no text. Rows and scores of tiny models with random weights are those of transformers 5.23 within 2e-4,\n"
    "from folders; converted to GGUF they are the same (`tests/cli/encoders_test.py`). Where transformers has no code (jina-bert-v2, neo-bert,\n"
    "nomic-bert-moe) a plain program has the reference (`tests/cli/plain_encoders.py`). Pairs of texts, as cross-encoders score them, have token types\n"
    "where the tokenizer gives them. Decoders whose rows see their whole text (`is_causal`: false, as gte-Qwen2 and LLM2Vec have it) make embeddings\n"
    "in the same way.\n"
    "\n"
    "llama.cpp computes the same of the converted files, within what its table of GELU in half precision moves, with these exceptions: it has no\n"
    "`mpnet`, computes SiLU in `nomic-bert` (GTE has GELU), has no scores there, in `jina-bert-v3` and in `eurobert`, and does not load `modern-bert` with\n"
    "biases, nor `nomic-bert-moe` with a bias of the sum of experts, as the published model has one. It gives the second text of a pair the first\n"
    "token type, and decoders of `qwen2` no windows. In `t5encoder` it tells distances below 128 apart and takes GELU for the gate's function, whatever\n"
    "config.json says, and does not load Dense modules, as sentence-t5 and GTR have one; of T5 the encoder alone runs here, T5EncoderModel and its kin.\n"
    "\n"
    "| GGUF | folder |\n"
    "|---|---|\n";

static void put_encoders(FILE *to) {
    fputs(encoders_head, to);
    for (int i = 0; i < N_NAMES; i++) {
        if (!arch_facts_find(names[i])->is_encoder) continue;
        fprintf(to, "| `%s` | ", names[i]);
        put_classes(to, names[i]);
        fprintf(to, " |\n");
    }
}

static const char refused_head[] = "\n"
                                   "## Refused, and why\n"
                                   "\n"
                                   "| names and classes | reason |\n"
                                   "|---|---|\n";

static void put_refused(FILE *to) {
    const char *all, *reason;
    fputs(refused_head, to);
    for (size_t i = 0; (reason = refusal_at(i, &all)); i++) {
        const char *separator = "| ";
        for (const char *at = all + 1; *at; at += strcspn(at, " ") + 1) {
            fprintf(to, "%s`%.*s`", separator, (int)strcspn(at, " "), at);
            separator = ", ";
        }
        fprintf(to, " | %s |\n", reason);
    }
}

static char *page(void) {
    size_t n = 0;
    char *text = NULL;
    json_t *const wide = json_load_file(tests_path("cli/peer_wide.json"), 0, NULL);
    json_t *const archs = json_load_file(tests_path("cli/peer_archs.json"), 0, NULL);
    json_t *const published = json_load_file(tests_path("cli/published.json"), 0, NULL);
    FILE *to = open_memstream(&text, &n);
    if (!to) abort();
    CHECK(wide && archs && published);
    fputs(head, to);
    for (int i = 0; i < N_NAMES; i++) {
        if (arch_facts_find(names[i])->is_encoder) continue;
        fprintf(to, "| `%s` | ", names[i]);
        put_classes(to, names[i]);
        fprintf(to, " | ");
        const int n_folders = put_folders(to, published, names[i]);
        fprintf(to, " | %s | ", n_folders ? "same bits" : "-");
        put_peer(to, wide, published, names[i]);
        fprintf(to, " |\n");
    }
    put_below(to, wide, archs);
    put_encoders(to);
    put_wrappers(to);
    put_refused(to);
    fclose(to);
    json_decref(wide);
    json_decref(archs);
    json_decref(published);
    return text;
}

TEST(the_page_of_models_is_what_the_tables_say) {
    size_t n;
    const char *const path = RUNNEL_SOURCE_DIR "/docs/models.md";
    char *const want = page();
    if (getenv("RUNNEL_WRITE_PAGE")) CHECK(write_file(path, want, strlen(want)));
    char *const got = (char *)read_file(path, &n);
    check_note("docs/models.md: RUNNEL_WRITE_PAGE=1 writes it anew");
    if (got) CHECK(strcmp(got, want) == 0);
    free(got);
    free(want);
}

// The 126 names of architectures that GGUF's library had in 2026.
static const char gguf_names[] =
    " clip llama llama4 deci falcon baichuan grok gpt2 gptj gptneox mpt starcoder refact bert "
    "modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert bloom stablelm "
    "qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3next qwen3vl qwen3vlmoe qwen35 qwen35moe phi2 phi3 "
    "phimoe plamo plamo2 plamo3 codeshell orion internlm2 minicpm minicpm3 gemma gemma2 gemma3 gemma3n "
    "gemma4 gemma-embedding starcoder2 rwkv6 rwkv6qwen2 rwkv7 arwkv7 mamba mamba2 jamba xverse command-r "
    "cohere2 dbrx olmo olmo2 olmoe openelm arctic deepseek deepseek2 deepseek2-ocr chatglm glm4 glm4moe "
    "glm-dsa bitnet t5 t5encoder jais jais2 nemotron nemotron_h nemotron_h_moe exaone exaone4 exaone-moe "
    "granite granitemoe granitehybrid chameleon wavtokenizer-dec plm bailingmoe bailingmoe2 dots1 arcee "
    "afmoe ernie4_5 ernie4_5-moe falcon-h1 hunyuan-moe hunyuan-dense hunyuan_vl smollm3 gpt-oss lfm2 "
    "lfm2moe dream smallthinker llada llada-moe seed_oss grovemoe apertus minimax-m2 cogvlm rnd1 "
    "pangu-embedded mistral3 mistral4 paddleocr mimo2 step35 llama-embed maincoder kimi-linear ";

TEST(each_name_of_an_architecture_in_gguf_runs_or_is_refused_with_a_reason) {
    int n_all = 0, n_run = 0;
    for (const char *at = gguf_names + 1; *at; at += strcspn(at, " ") + 1) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        check_note("%s", name);
        int i = 0;
        while (i < N_NAMES && strcmp(names[i], name) != 0) i++;
        CHECK((i < N_NAMES) == !refusal_reason(name, strlen(name)));
        n_run += i < N_NAMES;
        n_all++;
    }
    CHECK_INT(n_all, 126);
    CHECK_INT(n_run, 113);
}

// ---- the tables -----------------------------------------------------------------------------------------------------

TEST(every_class_of_folders_has_an_architecture_that_runs) {
    for (size_t i = 0; hf_arch_at(i); i++) {
        check_note("%s: %s", hf_arch_at(i)->class_name, hf_arch_at(i)->gguf_name);
        CHECK(arch_find(hf_arch_at(i)->gguf_name));
    }
}

// The largest tolerance of its cases: golden_compare().
static double tolerance_of(const json_t *cases) {
    double most = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *noise = json_object_get(json_array_get(cases, i), "f64_max_abs_diff");
        most = fmax(most, fmax(2e-4, 10 * json_number_value(noise)));
    }
    return most;
}

TEST(every_class_that_holds_a_text_model_names_one_that_is_read) {
    for (size_t i = 0; hf_wrapper_at(i); i++) {
        const struct hf_wrapper *const w = hf_wrapper_at(i);
        check_note("%s: %s", w->class_name, w->text_type);
        CHECK(hf_arch_by_type(w->text_type, strlen(w->text_type)));
        CHECK(hf_wrapper_by_class(w->class_name, strlen(w->class_name)) == w);
        CHECK(hf_wrapper_by_type(w->model_type, strlen(w->model_type)) == w);
    }
}

TEST(a_golden_folder_is_of_the_architecture_and_the_tolerance_of_its_row) {
    for (int i = 0; i < N_FOLDERS; i++) {
        char rel[128];
        struct rig_options o = rig_defaults();
        struct golden g;
        snprintf(rel, sizeof rel, "goldens/%s", folders[i].folder);
        check_note("%s", folders[i].folder);
        const bool ok = golden_open(&g, true, rel, "", &o);
        if (ok) CHECK_STR(package_hparams(g.rig.pkg)->arch, folders[i].arch);
        if (ok) CHECK(fabs(tolerance_of(g.cases) - folders[i].tolerance) <= 1e-9);
        golden_close(&g);
    }
}
