// tests/lm/models_page_test.c - docs/models.md is what this program writes of the tables that code and tests go by, and these tables are true.
//
// RUNNEL_WRITE_PAGE=1 writes the page anew.
#include "formats/hf_names.h"
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
    "- **transformers**: small models with random weights whose logits and 32 greedy tokens behind each of four prompts were computed by\n"
    "  transformers 5.23 in float32. In brackets: the most that a logit may differ from those, whose deviation is about 4; the greedy\n"
    "  tokens must all be the same (`tests/lm/architectures_test.c`).\n"
    "- **converted**: the same models, converted to GGUF and read again, say the same of every number and tensor and\n"
    "  give the same bits (`tests/convert/convert_architectures_test.c`).\n"
    "- **llama.cpp**: types of weights in which a GGUF file of random weights gives the greedy tokens of llama.cpp, wherever its margin is more\n"
    "  than rounding may move (`tests/lm/peer_archs_test.c`). A dash: llama.cpp 0.5.0 does not load such a file.\n"
    "\n"
    "| GGUF | folder | transformers | converted | llama.cpp |\n"
    "|---|---|---|---|---|\n";

static void put_classes(FILE *to, const char *arch) {
    int n = 0;
    for (size_t i = 0; hf_arch_at(i); i++)
        if (strcmp(hf_arch_at(i)->gguf_name, arch) == 0)
            fprintf(to, "%s%s", n++ ? ", " : "", hf_arch_at(i)->class_name);
    if (n == 0) fprintf(to, "-");
}

static int put_folders(FILE *to, const char *arch) {
    int n = 0;
    for (int i = 0; i < N_FOLDERS; i++)
        if (strcmp(folders[i].arch, arch) == 0)
            fprintf(to, "%s%s (%g)", n++ ? ", " : "", folders[i].folder, folders[i].tolerance);
    if (n == 0) fprintf(to, "-");
    return n;
}

static void put_types(FILE *to, const json_t *types) {
    const char *name;
    json_t *row;
    int n = 0;
    json_object_foreach((json_t *)types, name, row) fprintf(to, "%s%s", n++ ? ", " : "", name);
    if (n == 0) fprintf(to, "-");
}

static char *page(void) {
    size_t n = 0;
    char *text = NULL;
    json_t *const peer = json_load_file(tests_path("lm/peer_archs.json"), 0, NULL);
    FILE *to = open_memstream(&text, &n);
    if (!to) abort();
    CHECK(peer);
    fputs(head, to);
    for (int i = 0; i < N_NAMES; i++) {
        fprintf(to, "| `%s` | ", names[i]);
        put_classes(to, names[i]);
        fprintf(to, " | ");
        const int n_folders = put_folders(to, names[i]);
        fprintf(to, " | %s | ", n_folders ? "same bits" : "-");
        put_types(to, json_object_get(json_object_get(peer, "models"), names[i]));
        fprintf(to, " |\n");
    }
    fclose(to);
    json_decref(peer);
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
