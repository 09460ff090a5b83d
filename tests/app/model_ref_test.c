// tests/app/model_ref_test.c - names of models that can be fetched: what each part is, and what is refused.
#include "app/models/model_ref.h"
#include "app/numbers.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

// Reads the name and writes its parts, apart by spaces, and then the name again.
static const char *parts(const char *name) {
    static char text[4096];
    char why[NUMBER_WHY] = "";
    model_ref ref;
    bytes again = {0};
    if (!model_ref_parse(name, &ref, why)) {
        snprintf(text, sizeof text, "refused: %s", why);
        return text;
    }
    model_ref_add(&ref, &again);
    snprintf(text, sizeof text, "%d %s %s %s %s %s %s = %s", (int)ref.source, ref.owner, ref.name, ref.revision,
             ref.file, ref.quant, ref.query, again.data);
    bytes_free(&again);
    return text;
}

TEST(each_form_of_a_name_has_its_parts) {
    CHECK_STR(parts("hf:org/repo"), "0 org repo main    = hf:org/repo");
    CHECK_STR(parts("hf:org/repo-1.5_GGUF:Q4_K_M"),
              "0 org repo-1.5_GGUF main  Q4_K_M  = hf:org/repo-1.5_GGUF:Q4_K_M");
    CHECK_STR(parts("hf:org/repo@refs/pr/1:q/m-00001-of-00002.gguf"),
              "0 org repo refs/pr/1 q/m-00001-of-00002.gguf   = hf:org/repo@refs/pr/1:q/m-00001-of-00002.gguf");
    CHECK_STR(parts("ollama:qwen3"), "1 library qwen3 latest    = ollama:qwen3");
    CHECK_STR(parts("ollama:me/tuned:4b-q8_0"), "1 me tuned 4b-q8_0    = ollama:me/tuned:4b-q8_0");
    CHECK_STR(parts("https://example.com:8443/a/b.gguf?x=1#part"),
              "2 example.com:8443   a/b.gguf  ?x=1 = https://example.com:8443/a/b.gguf?x=1");
    CHECK_STR(parts("http://127.0.0.1:80/b.gguf"), "2 127.0.0.1:80   b.gguf   = http://127.0.0.1:80/b.gguf");
}

TEST(links_to_files_of_the_hub_are_its_names) {
    CHECK_STR(parts("https://huggingface.co/org/repo/resolve/main/q/m-Q8_0.gguf?download=true"),
              "0 org repo main q/m-Q8_0.gguf   = hf:org/repo:q/m-Q8_0.gguf");
    CHECK_STR(parts("https://huggingface.co/org/repo/blob/v1/m.gguf"),
              "0 org repo v1 m.gguf   = hf:org/repo@v1:m.gguf");
}

TEST(what_is_no_name_is_refused_with_the_part_that_is_wrong) {
    static const struct {
        const char *name, *why;
    } rows[] = {{"hf:repo", "is not ORG/REPO: 'repo'"},
                {"hf:/repo", "is no name of an organisation: ''"},
                {"hf:org/", "is no name of a repository: ''"},
                {"hf:org/..", "is no name of a repository: '..'"},
                {"hf:org/a/b", "is no name of a repository: 'a/b'"},
                {"hf:org/repo:", "is no name of a file (.gguf) or type of weights: ''"},
                {"hf:org/repo:../m.gguf", "is no path of a file in a repository"},
                {"hf:org/repo:a//m.gguf", "is no path of a file in a repository"},
                {"hf:org/repo@:Q4_0", "is no revision"},
                {"hf:org/repo@../x", "is no revision"},
                {"hf:org/repo@a%2F..", "is no revision"},
                {"ollama:", "is no name of a model: ''"},
                {"ollama:a/b/c", "is no name of a model: 'b/c'"},
                {"ollama:a:", "is no name of a tag: ''"},
                {"https://", "is no host: ''"},
                {"https://user@host/m.gguf", "is no host: 'user@host'"},
                {"https://host/m.bin", "is no address of a .gguf file"},
                {"https://host/../m.gguf", "is no path that a file can be kept under"},
                {"http://host/m.gguf", "http:// is not encrypted"},
                {"http://localhost.example.com/m.gguf", "http:// is not encrypted"},
                {"file:///m.gguf", "is no name of a model that can be fetched"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const got = parts(rows[i].name);
        check_note("%s", rows[i].name);
        CHECK_HAS(got, "refused: ");
        CHECK_HAS(got, rows[i].why);
    }
}

TEST(a_part_may_be_as_long_as_its_limit_and_no_longer) {
    char name[1024], path[1024] = "a.gguf";
    for (int n = MODEL_REF_PART - 1; n <= MODEL_REF_PART; n++) {
        snprintf(name, sizeof name, "hf:%0*d/repo", n, 1);
        CHECK_INT(strncmp(parts(name), "refused", 7) == 0, n == MODEL_REF_PART);
    }
    for (size_t n = strlen(path); n < MODEL_REF_PATH + 10; n += 2) {
        memmove(path + 2, path, n + 1);
        memcpy(path, "b/", 2);
        CHECK_INT(model_path_is_safe(path), n + 2 < MODEL_REF_PATH);
    }
    snprintf(path, sizeof path, "%0200d", 1);
    CHECK(model_path_is_safe(path));
    snprintf(path, sizeof path, "%0201d", 1);
    CHECK(!model_path_is_safe(path));
}
