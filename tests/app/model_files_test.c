// tests/app/model_files_test.c - which files of a repository a name means.
#include "app/models/model_files.h"
#include "app/numbers.h"
#include "tests/check.h"
#include <string.h>

enum { MOST = 16 };

// Picks from files apart by spaces; gives the chosen ones, the one that is opened first, or the reason.
static const char *pick(const char *name, const char *files) {
    static char text[4096];
    char list[1024], why[MODEL_WHY] = "";
    const char *names[MOST];
    bool chosen[MOST];
    size_t n = 0;
    model_ref ref;
    model_choice choice;
    snprintf(list, sizeof list, "%s", files);
    for (char *f = strtok(list, " "); f; f = strtok(NULL, " ")) names[n++] = f;
    CHECK(model_ref_parse(name, &ref, why));
    if (!model_files_pick(&ref, names, n, chosen, &choice, why)) {
        snprintf(text, sizeof text, "refused: %s", why);
        return text;
    }
    size_t at = (size_t)snprintf(text, sizeof text, "%s%s", choice.is_folder ? "folder " : "", names[choice.first]),
           n_chosen = 0;
    for (size_t i = 0; i < n; i++) {
        if (chosen[i] && i != choice.first) at += (size_t)snprintf(text + at, sizeof text - at, " %s", names[i]);
        n_chosen += chosen[i];
    }
    CHECK_INT(n_chosen, choice.n);
    return text;
}

TEST(a_type_is_found_as_a_word_of_the_name) {
    static const char files[] = "m-IQ4_XS.gguf m-Q4_K.gguf m-Q4_K_M.gguf m.Q5_K_M.gguf m-bf16.gguf";
    CHECK_STR(pick("hf:o/r:Q4_K_M", files), "m-Q4_K_M.gguf");
    CHECK_STR(pick("hf:o/r:Q4_K", files), "m-Q4_K.gguf");
    CHECK_STR(pick("hf:o/r:q5_k_m", files), "m.Q5_K_M.gguf");
    CHECK_STR(pick("hf:o/r:BF16", files), "m-bf16.gguf");
    CHECK_STR(
        pick("hf:o/r:Q4_XS", files),
        "refused: no GGUF file of the type Q4_XS; there are: m-IQ4_XS.gguf m-Q4_K.gguf m-Q4_K_M.gguf m.Q5_K_M.gguf m-bf16.gguf");
    CHECK_STR(pick("hf:o/r:m-Q4_K.gguf", files), "m-Q4_K.gguf");
}

TEST(of_several_files_of_a_type_the_plain_one_is_taken_and_equals_are_refused) {
    CHECK_STR(pick("hf:o/r:Q4_K_M", "m-UD-Q4_K_M.gguf m-Q4_K_M.gguf"), "m-Q4_K_M.gguf");
    CHECK_STR(pick("hf:o/r:Q4_K_M", "a-Q4_K_M.gguf b-Q4_K_M.gguf"),
              "refused: several files of the type Q4_K_M, give one of them: a-Q4_K_M.gguf b-Q4_K_M.gguf");
}

TEST(without_a_type_the_only_file_or_the_most_usual_type_is_taken) {
    CHECK_STR(pick("hf:o/r", "README.md some.gguf mmproj-f16.gguf m.imatrix.gguf"), "some.gguf");
    CHECK_STR(pick("hf:o/r", "m-F16.gguf m-Q8_0.gguf m-Q4_K_M.gguf"), "m-Q4_K_M.gguf");
    CHECK_STR(pick("hf:o/r", "m-F16.gguf m-Q8_0.gguf"), "m-Q8_0.gguf");
    CHECK_STR(pick("hf:o/r", "a.gguf b.gguf"), "refused: several GGUF files, give one of them: a.gguf b.gguf");
}

TEST(a_split_file_is_chosen_whole_or_not_at_all) {
    static const char split[] =
        "q/m-Q8_0-00002-of-00002.gguf m-F16.gguf q/m-Q8_0-00001-of-00002.gguf q/n-Q8_0-00002-of-00002.gguf";
    CHECK_STR(pick("hf:o/r", split), "q/m-Q8_0-00001-of-00002.gguf q/m-Q8_0-00002-of-00002.gguf");
    CHECK_STR(pick("hf:o/r:Q8_0", "m-Q8_0-00001-of-00003.gguf m-Q8_0-00003-of-00003.gguf"),
              "refused: m-Q8_0-00001-of-00003.gguf: part 2 of 3 is not there");
}

TEST(a_folder_is_config_weights_and_small_files_of_its_top) {
    CHECK_STR(
        pick("hf:o/r",
             "a.bin config.json model.safetensors tokenizer.json sub/x.json merges.txt consolidated.safetensors"),
        "folder config.json model.safetensors tokenizer.json merges.txt");
    CHECK_STR(pick("hf:o/r", "config.json consolidated.safetensors"), "folder config.json consolidated.safetensors");
    CHECK_HAS(pick("hf:o/r", "config.json pytorch_model.bin"), "refused: neither");
}

TEST(paths_that_leave_the_folder_are_never_chosen) {
    CHECK_HAS(pick("hf:o/r", "../m-Q8_0.gguf /m.gguf a/../m.gguf .m.gguf a\\m.gguf"), "refused: neither");
}

TEST(types_are_read_out_of_names) {
    static const struct {
        const char *name, *type;
    } rows[] = {{"Qwen3-0.6B-Q8_0.gguf", "Q8_0"},
                {"m.IQ4_XS.gguf", "IQ4_XS"},
                {"m-bf16.gguf", "bf16"},
                {"gpt-oss-20b-mxfp4.gguf", "mxfp4"},
                {"q/m-Q4_K_M-00001-of-00002.gguf", "Q4_K_M"},
                {"model-f32.gguf", "f32"},
                {"tiny.gguf", ""},
                {"a-b.gguf", ""},
                {"Q8_0.gguf", ""},
                {".gguf", ""},
                {"m-Q8_0.bin", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char type[MODEL_REF_PART] = "";
        CHECK_INT(model_file_quant(rows[i].name, type), rows[i].type[0] != '\0');
        CHECK_STR(type, rows[i].type);
    }
}
