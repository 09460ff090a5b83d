// tests/formats/gguf_bad_vocab_test.c - broken vocabularies: item 12 of the list of malformed inputs. What the package cannot
// know by itself, the tokenizer made from it must refuse.
#include "tests/check.h"
#include "tests/support/bad_gguf.h"
#include "tokenizer/tokenizer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N(rows)     (sizeof(rows) / sizeof *(rows))
#define KEY(name)   "tokenizer.ggml." name
#define N_SOUND     280 // tokens of the sound model
#define FIRST_PIECE 259 // of its SPM vocabulary behind the bytes

static rn_status make_tokenizer(const package *p, rn_error *err) {
    tokenizer *t = NULL;
    const rn_status st = tokenizer_create(package_vocab(p), &t, err);
    tokenizer_destroy(t);
    return st;
}
static void check_rows(enum tiny_vocab vocab, const struct bad_gguf *rows, size_t n) {
    const struct tiny_model sound = bad_gguf_model(vocab);
    check_bad_gguf(&sound, rows, n, make_tokenizer);
}

static void kinds_279(struct gguf_builder *b) { gb_array(b, KEY("token_type"), GB_I32, NULL, N_SOUND - 1, 4); }
static void kinds_281(struct gguf_builder *b) { gb_array(b, KEY("token_type"), GB_I32, NULL, N_SOUND + 1, 4); }
static void kinds_of(struct gguf_builder *b, int32_t kind) {
    int32_t kinds[N_SOUND];
    for (int i = 0; i < N_SOUND; i++) kinds[i] = TOKEN_NORMAL;
    kinds[200] = kind;
    gb_array(b, KEY("token_type"), GB_I32, kinds, N_SOUND, 4);
}
static void kind_0(struct gguf_builder *b) { kinds_of(b, 0); }
static void kind_7(struct gguf_builder *b) { kinds_of(b, 7); }
static void kind_minus_1(struct gguf_builder *b) { kinds_of(b, -1); }
static void scores_279(struct gguf_builder *b) { gb_array(b, KEY("scores"), GB_F32, NULL, N_SOUND - 1, 4); }
static void scores_281(struct gguf_builder *b) { gb_array(b, KEY("scores"), GB_F32, NULL, N_SOUND + 1, 4); }
static void score_of(struct gguf_builder *b, float score) {
    float scores[N_SOUND] = {0};
    scores[N_SOUND - 1] = score;
    gb_array(b, KEY("scores"), GB_F32, scores, N_SOUND, 4);
}
static void score_nan(struct gguf_builder *b) { score_of(b, NAN); }
static void score_inf(struct gguf_builder *b) { score_of(b, -INFINITY); }

#define NORMALIZER "tokenizer.runnel.normalizer"
#define FLAGS      "tokenizer.runnel.token_flags"
static void step_nfc(struct gguf_builder *b) {
    gb_str_array(b, NORMALIZER, (const char *const[]){"NFC", "Lowercase"}, 2);
}
static void step_unknown(struct gguf_builder *b) {
    gb_str_array(b, NORMALIZER, (const char *const[]){"NFC", "Nmt"}, 2);
}
static void flags_of(struct gguf_builder *b, int32_t id, int32_t flags, size_t n) {
    gb_array(b, FLAGS, GB_I32, (const int32_t[]){id, flags}, n, 4);
}
static void flags_sound(struct gguf_builder *b) { flags_of(b, N_SOUND - 1, 31, 2); }
static void flags_beyond(struct gguf_builder *b) { flags_of(b, N_SOUND, 1, 2); }
static void flags_negative(struct gguf_builder *b) { flags_of(b, -1, 1, 2); }
static void flags_32(struct gguf_builder *b) { flags_of(b, 0, 32, 2); }
static void flags_odd(struct gguf_builder *b) { flags_of(b, 0, 1, 1); }

TEST(item_12_lists_of_unequal_length_and_impossible_values_are_refused) {
    static const struct bad_gguf bpe[] = {
        {"as it is", NULL, NULL, NULL, NULL},
        {"a type less than tokens", KEY("token_type"), kinds_279, NULL,
         "key tokenizer.ggml.token_type: 279 items for 280 tokens"},
        {"a type more than tokens", KEY("token_type"), kinds_281, NULL, "281 items for 280 tokens"},
        {"no tokens", KEY("tokens"), NULL, NULL, "key tokenizer.ggml.tokens: missing"},
        {"no merges", KEY("merges"), NULL, NULL, "key tokenizer.ggml.merges: missing"},
        {"type 0", KEY("token_type"), kind_0, NULL,
         "key tokenizer.ggml.token_type: the type of token 200 is 0, outside 1..6"},
        {"type 7", KEY("token_type"), kind_7, NULL, "the type of token 200 is 7, outside 1..6"},
        {"type -1", KEY("token_type"), kind_minus_1, NULL, "the type of token 200 is -1, outside 1..6"},
        {"a normalizer", NULL, step_nfc, NULL, NULL},
        {"one with an unknown step", NULL, step_unknown, NULL,
         "key tokenizer.runnel.normalizer: item 1: \"Nmt\" is not known"},
        {"flags", NULL, flags_sound, NULL, NULL},
        {"flags of no token", NULL, flags_beyond, NULL,
         "key tokenizer.runnel.token_flags: item 0: flags 1 of token 280 of 280"},
        {"flags of token -1", NULL, flags_negative, NULL, "item 0: flags 1 of token -1 of 280"},
        {"unknown flags", NULL, flags_32, NULL, "item 0: flags 32 of token 0 of 280"},
        {"half a pair of flags", NULL, flags_odd, NULL, "1 items are no pairs"},
    };
    static const struct bad_gguf spm[] = {
        {"as it is", NULL, NULL, NULL, NULL},
        {"a score less than tokens", KEY("scores"), scores_279, NULL,
         "key tokenizer.ggml.scores: 279 items for 280 tokens"},
        {"a score more than tokens", KEY("scores"), scores_281, NULL, "281 items for 280 tokens"},
        {"no scores", KEY("scores"), NULL, NULL, "key tokenizer.ggml.scores: missing; tokenizer model \"llama\""},
        {"score NaN", KEY("scores"), score_nan, NULL, "key tokenizer.ggml.scores: the score of token 279 is nan"},
        {"score infinite", KEY("scores"), score_inf, NULL, "the score of token 279 is -inf"},
    };
    check_rows(TINY_BYTES, bpe, N(bpe));
    check_rows(TINY_SPM, spm, N(spm));
}

static void merges_of(struct gguf_builder *b, const char *second) {
    gb_str_array(b, KEY("merges"), (const char *const[]){"t h", second}, 2);
}
static void merge_known(struct gguf_builder *b) { merges_of(b, "h e"); }
static void merge_without_space(struct gguf_builder *b) { merges_of(b, "he"); }
static void merge_empty(struct gguf_builder *b) { merges_of(b, ""); }
static void merge_only_space(struct gguf_builder *b) { merges_of(b, " "); }
static void merge_left_empty(struct gguf_builder *b) { merges_of(b, " e"); }
static void merge_right_empty(struct gguf_builder *b) { merges_of(b, "h "); }
static void merge_unknown(struct gguf_builder *b) { merges_of(b, "hq e"); }
static void merge_makes_nothing(struct gguf_builder *b) { merges_of(b, "q q"); }
static void merge_twice(struct gguf_builder *b) { merges_of(b, "t h"); }

TEST(item_12_merges_that_are_not_two_tokens_making_a_third_are_refused) {
    static const struct bad_gguf rows[] = {
        {"two that make a third", KEY("merges"), merge_known, NULL, NULL},
        {"without a space", KEY("merges"), merge_without_space, NULL, "merge 1 \"he\": "},
        {"empty", KEY("merges"), merge_empty, NULL, "merge 1 \"\": "},
        {"only a space", KEY("merges"), merge_only_space, NULL, "merge 1 \" \": "},
        {"nothing on the left", KEY("merges"), merge_left_empty, NULL, "merge 1 \" e\": "},
        {"nothing on the right", KEY("merges"), merge_right_empty, NULL, "merge 1 \"h \": "},
        {"an unknown token", KEY("merges"), merge_unknown, NULL, "merge 1 \"hq e\": "},
        {"making none", KEY("merges"), merge_makes_nothing, NULL, "merge 1 \"q q\": "},
        {"given twice", KEY("merges"), merge_twice, NULL, "merge 1 \"t h\": "},
    };
    check_rows(TINY_BYTES, rows, N(rows));
}

static void bos_280(struct gguf_builder *b) { gb_u32(b, KEY("bos_token_id"), N_SOUND); }
static void bos_279(struct gguf_builder *b) { gb_u32(b, KEY("bos_token_id"), N_SOUND - 1); }
static void eos_2_32(struct gguf_builder *b) { gb_u32(b, KEY("eos_token_id"), UINT32_MAX); }
static void eos_minus_1(struct gguf_builder *b) { gb_i32(b, KEY("eos_token_id"), -1); }
static void eos_2_63(struct gguf_builder *b) { gb_u64(b, KEY("eos_token_id"), 1ull << 63); }
static void pad_280(struct gguf_builder *b) { gb_u32(b, KEY("padding_token_id"), N_SOUND); }
static void unk_280(struct gguf_builder *b) { gb_u32(b, KEY("unknown_token_id"), N_SOUND); }
static void eot_280(struct gguf_builder *b) { gb_u32(b, KEY("eot_token_id"), N_SOUND); }
static void eom_280(struct gguf_builder *b) { gb_u32(b, KEY("eom_token_id"), N_SOUND); }

TEST(item_12_special_ids_beyond_the_table_are_refused) {
    static const struct bad_gguf rows[] = {
        {"BOS one past the end", KEY("bos_token_id"), bos_280, NULL,
         "key tokenizer.ggml.bos_token_id: 280 is outside 0..279"},
        {"BOS the last", KEY("bos_token_id"), bos_279, NULL, NULL},
        {"EOS 2^32-1", KEY("eos_token_id"), eos_2_32, NULL, "4294967295 is outside 0..279"},
        {"EOS -1", KEY("eos_token_id"), eos_minus_1, NULL, "-1 is outside 0..279"},
        {"EOS 2^63", KEY("eos_token_id"), eos_2_63, NULL, "is outside 0..279"},
        {"padding", KEY("padding_token_id"), pad_280, NULL, "key tokenizer.ggml.padding_token_id: 280 is outside"},
        {"unknown", NULL, unk_280, NULL, "key tokenizer.ggml.unknown_token_id: 280 is outside"},
        {"end of turn", NULL, eot_280, NULL, "key tokenizer.ggml.eot_token_id: 280 is outside"},
        {"end of message", NULL, eom_280, NULL, "key tokenizer.ggml.eom_token_id: 280 is outside"},
    };
    check_rows(TINY_BYTES, rows, N(rows));
}

// The SPM list of the sound model with one text replaced.
static void spm_with(struct gguf_builder *b, int at, const char *replacement) {
    static char texts[N_SOUND][24];
    const char *list[N_SOUND];
    for (int i = 0; i < N_SOUND; i++) {
        if (i >= 3 && i < FIRST_PIECE)
            snprintf(texts[i], sizeof texts[i], "<0x%02X>", i - 3);
        else
            snprintf(texts[i], sizeof texts[i], "piece%d", i);
        list[i] = i == at ? replacement : texts[i];
    }
    gb_str_array(b, KEY("tokens"), list, N_SOUND);
}
static void byte_minus_1(struct gguf_builder *b) { spm_with(b, 3, "<0x-1>"); }
static void byte_zz(struct gguf_builder *b) { spm_with(b, 4, "<0xZZ>"); }
static void byte_long(struct gguf_builder *b) { spm_with(b, 5, "<0x100>"); }
static void byte_short(struct gguf_builder *b) { spm_with(b, 6, "<0x>"); }
static void byte_missing(struct gguf_builder *b) { spm_with(b, 3 + 0x41, "<0x42>"); }
static void byte_empty(struct gguf_builder *b) { spm_with(b, 3, ""); }
static void piece_empty(struct gguf_builder *b) { spm_with(b, 270, ""); }
static void piece_of(struct gguf_builder *b, size_t n) {
    char *text = malloc(n + 1);
    if (!text) abort();
    memset(text, 'x', n);
    text[n] = 0;
    spm_with(b, 270, text);
    free(text);
}
static void piece_1_mib(struct gguf_builder *b) { piece_of(b, 1 << 20); }
static void piece_65536(struct gguf_builder *b) { piece_of(b, 65536); }
static void piece_65535(struct gguf_builder *b) { piece_of(b, 65535); }
static void piece_twice(struct gguf_builder *b) { spm_with(b, 270, "piece271"); }
static void no_tokens(struct gguf_builder *b) { gb_str_array(b, KEY("tokens"), NULL, 0); }

TEST(item_12_byte_tokens_and_tokens_that_are_malformed_are_refused) {
    static const struct bad_gguf rows[] = {
        {"<0x-1>", KEY("tokens"), byte_minus_1, NULL, "token 3: byte token \"<0x-1>\" is not of the form <0xNN>"},
        {"<0xZZ>", KEY("tokens"), byte_zz, NULL, "token 4: byte token \"<0xZZ>\" is not of the form"},
        {"<0x100>", KEY("tokens"), byte_long, NULL, "token 5: byte token \"<0x100>\" is not of the form"},
        {"<0x>", KEY("tokens"), byte_short, NULL, "token 6: byte token \"<0x>\" is not of the form"},
        {"a byte is missing", KEY("tokens"), byte_missing, NULL, "lacks the byte token <0x41>"},
        {"empty byte token", KEY("tokens"), byte_empty, NULL, "key tokenizer.ggml.tokens: token 3 is empty"},
        {"empty token", KEY("tokens"), piece_empty, NULL, "key tokenizer.ggml.tokens: token 270 is empty"},
        {"token of 1 MiB", KEY("tokens"), piece_1_mib, NULL, "token 270 has 1048576 bytes, limit 65535"},
        {"token of 64 KiB", KEY("tokens"), piece_65536, NULL, "token 270 has 65536 bytes, limit 65535"},
        {"token of 64 KiB less one", KEY("tokens"), piece_65535, NULL, NULL},
        {"a token twice is read", KEY("tokens"), piece_twice, NULL, NULL},
        {"no tokens", KEY("tokens"), no_tokens, NULL, "key tokenizer.ggml.tokens: is empty"},
    };
    check_rows(TINY_SPM, rows, N(rows));
}

static void model_of_its_own(struct gguf_builder *b) { gb_str(b, KEY("model"), "my-tokenizer"); }
static void model_empty(struct gguf_builder *b) { gb_str(b, KEY("model"), ""); }
static void model_none(struct gguf_builder *b) { gb_str(b, KEY("model"), "none"); }
static void pre_of_its_own(struct gguf_builder *b) { gb_str(b, KEY("pre"), "my-splitter"); }

TEST(item_12_unknown_tokenizers_and_pre_tokenizers_are_refused_by_name) {
    static const struct bad_gguf rows[] = {
        {"model unknown", KEY("model"), model_of_its_own, NULL, "tokenizer: model \"my-tokenizer\" is not known"},
        {"model empty", KEY("model"), model_empty, NULL, "key tokenizer.ggml.model: is empty"},
        {"pre-tokenizer unknown", KEY("pre"), pre_of_its_own, NULL, "\"my-splitter\" is not known"},
        {"pre-tokenizer absent", KEY("pre"), NULL, NULL, "tokenizer.ggml.pre is absent"},
    };
    check_rows(TINY_BYTES, rows, N(rows));
}

TEST(a_package_with_an_unknown_tokenizer_opens_for_other_uses) {
    static const struct bad_gguf rows[] = {
        {"model unknown", KEY("model"), model_of_its_own, NULL, NULL},
        {"model none", KEY("model"), model_none, NULL, NULL},
        {"pre-tokenizer unknown", KEY("pre"), pre_of_its_own, NULL, NULL},
    };
    const struct tiny_model sound = bad_gguf_model(TINY_BYTES);
    check_bad_gguf(&sound, rows, N(rows), NULL);
}
