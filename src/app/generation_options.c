// app/generation_options.c - reads a generation from the command line; refuses options that exclude each other.
#include "app/generation.h"
#include "app/numbers.h"
#include "app/option_name.h"
#include "app/say.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool take_stop(void *target, const char *value, char *why) {
    generation *const g = target;
    const size_t n = strlen(value);
    if (n == 0 || n > GENERATION_STOP_BYTES) {
        snprintf(why, NUMBER_WHY, "%zu bytes, must have 1..%d", n, GENERATION_STOP_BYTES);
        return false;
    }
    if (g->n_stop == GENERATION_STOPS) {
        snprintf(why, NUMBER_WHY, "given more than %d times", GENERATION_STOPS);
        return false;
    }
    g->stop[g->n_stop] = value;
    g->stop_bytes[g->n_stop++] = n;
    return true;
}

static bool take_banned(void *target, const char *value, char *why) {
    generation *const g = target;
    const size_t n = strlen(value);
    if (n == 0 || n > GENERATION_BANNED_BYTES) {
        snprintf(why, NUMBER_WHY, "%zu bytes, must have 1..%d", n, GENERATION_BANNED_BYTES);
        return false;
    }
    if (g->n_banned == GENERATION_BANNED) {
        snprintf(why, NUMBER_WHY, "given more than %d times", GENERATION_BANNED);
        return false;
    }
    g->banned[g->n_banned] = value;
    g->banned_bytes[g->n_banned++] = n;
    return true;
}

static bool take_negative(void *target, const char *value, char *why) {
    generation *const g = target;
    (void)why;
    for (int k = 0; k < 2; k++)
        g->negative[k] =
            (rn_part){.kind = RN_PART_TEXT, .text = value, .n_text = strlen(value), .parse_special = k == 1};
    return true;
}

static bool take_stop_token(void *target, const char *value, char *why) {
    generation *const g = target;
    int64_t id;
    if (!number_read_whole(value, 0, INT32_MAX, &id, why)) return false;
    if (g->n_stop_tokens == GENERATION_STOP_TOKENS) {
        snprintf(why, NUMBER_WHY, "given more than %d times", GENERATION_STOP_TOKENS);
        return false;
    }
    g->stop_tokens[g->n_stop_tokens++] = (int32_t)id;
    return true;
}

// The id in the n bytes at text.
static bool take_id(const char *text, size_t n, int64_t *id, char *why) {
    char copy[32];
    snprintf(copy, sizeof copy, "%.*s", (int)(n < sizeof copy ? n : sizeof copy - 1), text);
    return number_read_whole(copy, 0, INT32_MAX, id, why);
}

static bool take_bias_number(const char *text, double *bias, char *why) {
    *bias = -INFINITY;
    return strcmp(text, "-inf") == 0 || number_read_real(text, -100, 100, bias, why);
}

static bool take_sequence(void *target, const char *value, char *why) {
    const char *const end = strchr(value, '=');
    double bias;
    if (!end) {
        snprintf(why, NUMBER_WHY, "'%.100s' is not ID,ID,..=BIAS", value);
        return false;
    }
    if (!take_bias_number(end + 1, &bias, why) || !generation_add_sequence(target, bias, why)) return false;
    for (const char *at = value;; at++) {
        const size_t n = strcspn(at, ",=");
        int64_t id;
        if (!take_id(at, n, &id, why) || !generation_add_sequence_token(target, (int32_t)id, why)) return false;
        at += n;
        if (at == end) return true;
    }
}

static bool take_bias(void *target, const char *value, char *why) {
    generation *const g = target;
    int64_t id;
    double bias;
    const size_t n_id = strcspn(value, "=");
    if (!value[n_id]) {
        snprintf(why, NUMBER_WHY, "'%.100s' is not ID=BIAS", value);
        return false;
    }
    if (!take_id(value, n_id, &id, why) || !take_bias_number(value + n_id + 1, &bias, why)) return false;
    if (g->n_bias == GENERATION_BIASES) {
        snprintf(why, NUMBER_WHY, "given more than %d times", GENERATION_BIASES);
        return false;
    }
    g->bias[g->n_bias++] = (rn_logit_bias){(int32_t)id, (float)bias};
    return true;
}

static bool take_watermark(void *target, const char *value, char *why) {
    return watermark_form_read(&((generation *)target)->watermark, value, why);
}

static bool take_seed(void *target, const char *value, char *why) {
    generation *const g = target;
    g->has_seed = true;
    return number_read_u64(value, &g->seed, why);
}

static bool take_samplers(void *target, const char *value, char *why) {
    generation *const g = target;
    g->samplers[0] = 0; // the last one counts
    return generation_add_samplers(g, value, why);
}

static bool take_drafters(void *target, const char *value, char *why) {
    return generation_take_drafters(target, value, why);
}

static bool take_breaker(void *target, const char *value, char *why) {
    generation *const g = target;
    const size_t n = strlen(value);
    g->has_breakers = true;
    if (strcmp(value, "none") == 0) {
        g->n_breakers = 0;
        return true;
    }
    if (n == 0 || n > GENERATION_BREAKER_BYTES) {
        snprintf(why, NUMBER_WHY, "%zu bytes, must have 1..%d", n, GENERATION_BREAKER_BYTES);
        return false;
    }
    if (g->n_breakers == GENERATION_BREAKERS) {
        snprintf(why, NUMBER_WHY, "given more than %d times", GENERATION_BREAKERS);
        return false;
    }
    g->breakers[g->n_breakers++] = value;
    return true;
}

static bool take_ban_id(void *target, const char *value, char *why) {
    generation *const g = target;
    int64_t id;
    if (!number_read_whole(value, 0, INT32_MAX, &id, why)) return false;
    if (g->n_ban_ids == GENERATION_BAN_IDS) {
        snprintf(why, NUMBER_WHY, "given more than %d times", GENERATION_BAN_IDS);
        return false;
    }
    g->ban_ids[g->n_ban_ids++] = (int32_t)id;
    return true;
}

static const option more_sampling_rows[] = {
    {0, "samplers", "LIST", OPTION_EACH, .each = take_samplers,
     .help =
         "the order of the stages, separated by ';': penalties, dry, top_n_sigma, top_k, typical_p, top_p, min_p, "
         "epsilon, eta, top_a, top_h, tfs, xtc, temperature; those left out are off"},
    {0, "dry-sequence-breaker", "TEXT", OPTION_EACH, .each = take_breaker,
     .help =
         "DRY: a text that ends a repeat, in place of line break, ':', '\"' and '*'; repeatable, up to 32; none: no "
         "text does"},
    {0, "ban-token", "ID", OPTION_EACH, .each = take_ban_id, .help = "never generate this token; repeatable"},
    {0, "penalty-prompt", "on|off", OPTION_CHOICE, offsetof(generation, prompt_penalty),
     .help = "whether penalties count the prompt's tokens too (default on)"},
    {0, "sampler-order", "llama.cpp|transformers|exllamav2", OPTION_CHOICE, offsetof(generation, order),
     .help =
         "the order of the stages of one of these: llama.cpp (the default) takes the temperature last, the others "
         "before they truncate"},
    {0, "logit-bias", "ID=BIAS", OPTION_EACH, .each = take_bias,
     .help = "add BIAS (-100..100, or -inf: never) to a token's logit; repeatable"},
    {0, "sequence-bias", "ID,ID,..=BIAS", OPTION_EACH, .each = take_sequence,
     .help = "add BIAS to the logit of the last of these tokens behind the others; repeatable"},
    {0, "guidance-scale", "X", OPTION_REAL, offsetof(generation, guidance_scale), 0, 100,
     .help = "classifier-free guidance: away from the negative prompt, 0..100 (default 1: off)"},
    {0, "negative-prompt", "TEXT", OPTION_EACH, .each = take_negative,
     .help = "with --guidance-scale: the prompt to go away from (default: the prompt's last token)"},
    {0, "banned-string", "TEXT", OPTION_EACH, .each = take_banned,
     .help = "never generate this text, in whatever case; repeatable, up to 512"},
    {0, "banned-match-case", NULL, OPTION_FLAG, offsetof(generation, banned_match_case),
     .help = "banned strings are those in this case only"},
    {0, "watermark", "FILE", OPTION_EACH, .each = take_watermark,
     .help =
         "mark the text by the keys in FILE: {\"keys\": [..], \"ngram_len\": 5, ..}, SynthID-Text as transformers "
         "configures it; runnel watermark finds it again"},
    {0, "seed", "N", OPTION_EACH, .each = take_seed,
     .help = "seed of the random numbers (default: drawn once and reported)"},
};
const option generation_stop_rows[4] = {
    {'n', "max-tokens", "N", OPTION_INT, offsetof(generation, n), -1, INT32_MAX,
     .help = "maximum number of tokens to generate (default -1: the rest of the context)"},
    {0, "stop", "TEXT", OPTION_EACH, .each = take_stop, .help = "end before this text; repeatable, up to 16"},
    {0, "stop-token", "ID", OPTION_EACH, .each = take_stop_token,
     .help = "end at this token, in addition to the model's end tokens; repeatable, up to 128"},
    {0, "ignore-eos", NULL, OPTION_FLAG, offsetof(generation, ignore_eos),
     .help = "do not stop at the model's end tokens"},
};
const option generation_draft_rows[6] = {
    {0, "speculate", "NAME", OPTION_EACH, .each = take_drafters,
     .help =
         "guess what follows, the same text in fewer steps: none, ngram, suffix, ngram-cache, lookahead, draft, mtp, medusa=FILE, "
         "eagle=FILE, layer-skip=LAYERS; from what followed the same words before (ngram), also in earlier answers (suffix), "
         "from counts of what followed up to four tokens (ngram-cache), from what the model says behind guesses "
         "(lookahead, or lookahead=W:N:G: columns of the window, tokens of an n-gram, n-grams at once; 5:3:5), with the "
         "model of --draft (draft), with the model's own next-token-prediction layers (mtp), or with heads that were trained "
         "for it (medusa, eagle), or with some of its own layers (layer-skip=E: the first E; layer-skip=A-B,C-D: all but these); repeatable, in order of preference (default ngram; suffix with --prediction, and where "
         "earlier answers are kept)"},
    {0, "no-speculate", NULL, OPTION_FLAG, offsetof(generation, no_speculate),
     .help = "guess nothing, as --speculate none"},
    {0, "draft-max", "N", OPTION_INT, offsetof(generation, draft_max), 1, 63,
     .help = "guesses of a step, at most (default 16); as many as pay are made"},
    {0, "draft-min", "N", OPTION_INT, offsetof(generation, draft_min), 0, 63,
     .help = "guesses of a step, at least, whether they pay or not (default 0)"},
    {0, "draft-min-p", "P", OPTION_REAL, offsetof(generation, draft_min_p), 0, 1,
     .help = "with --draft: guesses end where the best one is less probable (default 0)"},
    {0, "spec-verify", "match|reject|typical", OPTION_CHOICE, offsetof(generation, spec_verify),
     .help =
         "how guesses are verified: the same text as without (match), other text by exactly the same law (reject), or "
         "whatever is probable enough (typical: lossy, changes the law) (default match)"},
};
const option generation_text_rows[7] = {
    {0, "special", NULL, OPTION_FLAG, offsetof(generation, special), .help = "show control tokens in the text"},
    {0, "parse-special", NULL, OPTION_FLAG, offsetof(generation, parse_special),
     .help = "parse control tokens in the prompt (default: they are plain text)"},
    {0, "token-healing", NULL, OPTION_FLAG, offsetof(generation, token_healing),
     .help = "let the answer begin inside the prompt's last word: its tokens may be cut in another way"},
    {0, "no-forced-tokens", NULL, OPTION_FLAG, offsetof(generation, no_forced_tokens),
     .help = "draw also tokens that the form of the answer leaves no choice about"},
    {0, "echo", NULL, OPTION_FLAG, offsetof(generation, echo), .help = "output the prompt before the generated text"},
    {0, "logprobs", "K", OPTION_INT, offsetof(generation, logprobs), 0, 20,
     .help = "in JSON, give each token's log-probability and the K best candidates, 0..20"},
    {0, "sampled-logprobs", "K", OPTION_INT, offsetof(generation, sampled_logprobs), 0, 20,
     .help = "in JSON, also what each token was drawn from, after all sampling stages, and entropies, 0..20"},
};

static void make_row(generation_rows *rows, size_t i, const rn_field *field) {
    option_name_dashed(field->name, rows->names[i], sizeof rows->names[i]);
    snprintf(rows->helps[i], sizeof rows->helps[i], "%.100s (%.10g..%.10g, default %.6g)", field->help, field->min,
             field->max, field->def);
    rows->sampling[rows->n_sampling++] = (option){.name = rows->names[i],
                                                  .arg = field->is_int ? "N" : "X",
                                                  .kind = field->is_int ? OPTION_WHOLE : OPTION_REAL,
                                                  .offset = offsetof(generation, fields) + i * sizeof(double),
                                                  .min = field->min,
                                                  .max = field->max,
                                                  .help = rows->helps[i]};
}

static void make_preset_row(generation_rows *rows) {
    size_t n = 0;
    for (size_t i = 0; i < rn_n_presets() && n < sizeof rows->preset_help; i++)
        n += (size_t)snprintf(
            rows->preset_help + n, sizeof rows->preset_help - n, "%s%s",
            i ? ", " : "a named set of sampling settings, which single options override: ", rn_preset_name(i, NULL));
    rows->sampling[rows->n_sampling++] = (option){.name = "preset",
                                                  .arg = "NAME",
                                                  .kind = OPTION_TEXT,
                                                  .offset = offsetof(generation, preset),
                                                  .help = rows->preset_help};
}

_Static_assert(1 + sizeof more_sampling_rows / sizeof *more_sampling_rows <= GENERATION_OTHER_ROWS, "rows have room");

void generation_rows_init(generation_rows *rows) {
    rn_field field;
    *rows = (generation_rows){0};
    make_preset_row(rows);
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &field); i++) make_row(rows, i, &field);
    for (size_t i = 0; i < sizeof more_sampling_rows / sizeof *more_sampling_rows; i++)
        rows->sampling[rows->n_sampling++] = more_sampling_rows[i];
    strategy_rows_init(&rows->strategy);
}

static bool check_penalties(const options *parsed, const rn_sampling *s) {
    const bool has_penalty = s->repeat_penalty != 1 || s->frequency_penalty != 0 || s->presence_penalty != 0;
    const char *const why = "while no penalty is on";
    return has_penalty ||
           !(options_refuse(parsed, "penalty-last-n", why) || options_refuse(parsed, "penalty-prompt", why));
}

// Options that have no effect while the sampler that they belong to is off.
static bool check_parents(const options *parsed, const rn_sampling *s) {
    static const char no_dry[] = "while --dry-multiplier is 0", no_mirostat[] = "while --mirostat is 0";
    const struct {
        bool is_on;
        const char *name, *why;
    } rows[] = {
        {s->dry_multiplier > 0, "dry-base", no_dry},
        {s->dry_multiplier > 0, "dry-allowed-length", no_dry},
        {s->dry_multiplier > 0, "dry-penalty-last-n", no_dry},
        {s->dry_multiplier > 0, "dry-sequence-breaker", no_dry},
        {s->xtc_probability > 0, "xtc-threshold", "while --xtc-probability is 0"},
        {s->dynatemp_range > 0, "dynatemp-exponent", "while --dynatemp-range is 0"},
        {s->mirostat > 0, "mirostat-tau", no_mirostat},
        {s->mirostat > 0, "mirostat-eta", no_mirostat},
        {s->adaptive_target >= 0, "adaptive-decay", "without --adaptive-target"},
        {s->exponential_decay_factor > 1, "exponential-decay-start", "while --exponential-decay-factor is 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].is_on && options_refuse(parsed, rows[i].name, rows[i].why)) return false;
    return true;
}

// The temperature 0 says what a strategy without draws does, so it may be given; the top-k of contrastive search are its candidates.
static bool check_draws(const generation *g, const rn_strategy_options *o, const options *parsed) {
    static const char *const drawn[] = {
        "temp",        "top-k",           "top-p",         "min-p",          "min-keep",          "typical-p",
        "top-n-sigma", "xtc-probability", "xtc-threshold", "dynatemp-range", "dynatemp-exponent", "epsilon-cutoff",
        "eta-cutoff",  "top-a",           "top-h",         "tfs-z"};
    const char *why_not;
    if (strategy_form_draws(&g->strategy, &why_not)) return true;
    const bool is_contrastive = strcmp(g->strategy.strategy, "contrastive") == 0;
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        if (strcmp(drawn[i], "temp") == 0 && generation_field(g, "temp") == 0) continue;
        if (strcmp(drawn[i], "top-k") == 0 && is_contrastive) {
            if ((double)o->num_candidates != generation_field(g, "top_k") &&
                options_refuse(parsed, "top-k", "with --num-candidates"))
                return false;
            continue;
        }
        if (options_refuse(parsed, drawn[i], why_not)) return false;
    }
    return true;
}

// What the strategy refuses, by its name on the command line. Of the server's and batch's requests the engine says so.
static bool check_excluded(const generation *g, const rn_sampling *s) {
    const char *const strategy = g->strategy.strategy;
    const struct {
        const char *name, *option;
        bool is_on;
    } rows[] = {
        {"mirostat", "mirostat", s->mirostat > 0},
        {"adaptive_target", "adaptive-target", s->adaptive_target >= 0},
        {"watermark", "watermark", s->watermark},
        {"speculate", "speculate", g->speculate[0] && !g->implies_drafters && strcmp(g->speculate, "none") != 0},
        {"guidance_scale", "guidance-scale", generation_is_guided(g)},
        {"banned_strings", "banned-string", g->n_banned > 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].is_on || !rn_strategy_excludes(strategy, rows[i].name)) continue;
        say("--%s: not with --strategy %s", rows[i].option, strategy);
        return false;
    }
    return true;
}

bool generation_use_draft(generation *g, bool has_model, bool has_ngrams, const options *parsed) {
    char why[NUMBER_WHY], no_guesses[80];
    snprintf(no_guesses, sizeof no_guesses, "with --strategy %.30s, which makes no guesses",
             g->strategy.strategy ? g->strategy.strategy : "");
    if (parsed && rn_strategy_excludes(g->strategy.strategy, "speculate") &&
        (options_refuse(parsed, "draft", no_guesses) || options_refuse(parsed, "ngram-cache", no_guesses)))
        return false;
    g->implies_drafters = !g->speculate[0] && !g->no_speculate && (has_model || has_ngrams);
    if (g->implies_drafters)
        return (!has_ngrams || generation_add_drafters(g, "ngram-cache", why)) &&
               (!has_model || generation_add_drafters(g, "draft", why));
    if (!has_model && generation_drafts_with(g, "draft")) {
        say("--speculate draft: needs the model that drafts, --draft MODEL");
        return false;
    }
    if (!parsed) return true;
    if (!generation_drafts_with(g, "ngram-cache") &&
        options_refuse(parsed, "ngram-cache", "without --speculate ngram-cache"))
        return false;
    return generation_drafts_with(g, "draft") || !options_refuse(parsed, "draft", "without --speculate draft");
}

bool generation_check(const generation *g, const options *parsed) {
    rn_request req;
    generation_parts parts;
    rn_error err = {0};
    if (!strategy_form_check(&g->strategy)) return false;
    rn_request_init(&req);
    if (!generation_apply(g, &req, &parts, &err)) {
        // An unknown preset, or a top_k that is too large for candidates: nothing else is left at this point.
        char name[sizeof err.text];
        const size_t n = strcspn(err.text, ":");
        option_name_dashed(err.text, name, sizeof name);
        say("--%.*s%s", (int)n, name, err.text + n);
        return false;
    }
    if (!generation_is_guided(g) && options_refuse(parsed, "negative-prompt", "without --guidance-scale"))
        return false;
    if (g->speculate[0] && options_refuse(parsed, "no-speculate", "with --speculate")) return false;
    const char *why, *const idle = generation_without_effect(g, NULL, &why);
    if (idle) {
        char name[32];
        option_name_dashed(idle, name, sizeof name);
        say("--%s: has no effect %s", name, why);
        return false;
    }
    if (g->n_banned == 0 && options_refuse(parsed, "banned-match-case", "without --banned-string")) return false;
    if (!check_draws(g, &parts.strategy, parsed) || !check_excluded(g, &parts.sampling)) return false;
    return check_penalties(parsed, &parts.sampling) && check_parents(parsed, &parts.sampling);
}
