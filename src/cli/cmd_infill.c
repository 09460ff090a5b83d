// cli/cmd_infill.c - `runnel infill`: writes what stands between two texts.
#include "app/grammar_options.h"
#include "app/infill_prompt.h"
#include "app/interrupt.h"
#include "app/json_write.h"
#include "cli/command.h"
#include "cli/hole.h"
#include "cli/run_print.h"

typedef struct infill_run {
    machine on;
    generation g;
    grammar_options form;
    rn_grammar *grammar; // NULL: of any form
    hole hole;
    bool shows_prompt;
    rn_infill_prompt prompt;
    run_print print;
} infill_run;

static const option show_rows[] = {
    {0, "show-prompt", NULL, OPTION_FLAG, offsetof(infill_run, shows_prompt),
     .help = "output the prompt with its control tokens, and generate nothing; with --json also its token ids"},
};

static const char *const notes = "stdout gets the middle and nothing else. What the context has no room for is\n"
                                 "left out, and stderr says how much.\n"
                                 "\n"
                                 "  runnel infill -m CODER main.c --at 12:5 -n 64\n"
                                 "  runnel infill -m CODER main.py --context util.py --temp 0     # at <FILL_ME>\n"
                                 "  runnel infill -m CODER --prefix before.txt --suffix after.txt\n"
                                 "  runnel infill -m CODER --show-prompt main.py";

static bool check_together(infill_run *r, const options *parsed) {
    if (options_refuse(parsed, "echo", "here: only the middle is output") ||
        options_refuse(parsed, "parse-special", "here: control tokens spelled in the texts stay text"))
        return false;
    return run_print_check(&r->print, parsed) && strategy_form_check_amateur(&r->g.strategy, parsed) &&
           generation_use_draft(&r->g, r->on.draft_name, r->on.ngram_cache, parsed) &&
           generation_check(&r->g, parsed);
}

// n_ctx: as infill_make().
static int make_prompt(infill_run *r, int32_t n_ctx) {
    rn_infill in;
    rn_error err = {0};
    hole_apply(&r->hole, &in);
    if (!infill_make(r->on.model, &in, "infill", n_ctx, &r->g, &r->prompt, &err)) return machine_failed(&err);
    if (r->prompt.n_left_out)
        say("prompt: %zu of %zu tokens left out, to fit the context of %d", r->prompt.n_left_out,
            r->prompt.n_ids + r->prompt.n_left_out, n_ctx);
    return EXIT_CODE_OK;
}

static int show_prompt(infill_run *r) {
    char *text = NULL;
    size_t n = 0;
    rn_error err = {0};
    output out = {0};
    bytes line = {0};
    const int code = make_prompt(r, r->on.n_ctx);
    if (code != EXIT_CODE_OK) return code;
    if (rn_detokenize(r->on.model, r->prompt.ids, r->prompt.n_ids, true, &text, &n, &err) != RN_OK)
        return machine_failed(&err);
    if (r->print.is_json) {
        json_writer w = {&line, false};
        json_put_begin(&w, '{');
        json_member_string(&w, "family", r->prompt.family);
        json_member_string(&w, "order", infill_orders[r->prompt.order]);
        json_member_text(&w, "text", text, n);
        json_put_key(&w, "tokens");
        json_put_ids(&w, r->prompt.ids, r->prompt.n_ids);
        json_put_key(&w, "stop_tokens");
        json_put_ids(&w, r->prompt.stop_tokens, r->prompt.n_stop_tokens);
        json_put_end(&w, '}');
        bytes_add(&line, "\n", 1);
    } else
        bytes_add(&line, text, n);
    output_write(&out, line.data, line.n);
    bytes_free(&line);
    rn_free(text);
    return output_exit(&out, EXIT_CODE_OK);
}

static int generate(infill_run *r) {
    rn_request req;
    generation_parts parts;
    rn_part part;
    rn_error err = {0};
    rn_stream *stream = NULL;
    rn_engine_info info = {.struct_size = sizeof info};
    if (rn_engine_get_info(r->on.engine, 0, &info, &err) != RN_OK) return machine_failed(&err);
    int code = make_prompt(r, info.n_ctx);
    if (code != EXIT_CODE_OK) return code;
    rn_request_init(&req);
    if (!generation_apply(&r->g, &req, &parts, &err)) return machine_failed(&err);
    generation_prompt_ids(&req, &part, r->prompt.ids, r->prompt.n_ids);
    req.grammar = r->grammar;
    run_print_begin(&r->print, &req, false, false);
    if (rn_stream_begin(r->on.engine, &req, &stream, &err) != RN_OK) return machine_failed(&err);
    code = run_print_stream(&r->print, stream);
    rn_stream_close(stream);
    return code;
}

static int fill(infill_run *r, const options *parsed) {
    if (!check_together(r, parsed)) return EXIT_CODE_USAGE;
    int code = hole_read(&r->hole, parsed);
    if (code != EXIT_CODE_OK) return code;
    r->on.n_seqs = generation_is_guided(&r->g);
    if (!strategy_form_reserve(&r->g.strategy, &r->on)) return EXIT_CODE_USAGE;
    r->on.heads = &r->g.heads;
    interrupt_catch();
    if ((code = machine_open_model(&r->on)) != EXIT_CODE_OK) return code;
    if (r->shows_prompt) return show_prompt(r);
    if ((code = grammar_options_compile(&r->form, r->on.model, &r->grammar)) != EXIT_CODE_OK) return code;
    if ((code = machine_open_engine(&r->on)) != EXIT_CODE_OK) return code;
    if (r->on.is_verbose) generation_say_preset(&r->g);
    return generate(r);
}

int cmd_infill(int n_args, char **args) {
    infill_run r = {0};
    generation_rows rows;
    options parsed;
    machine_init(&r.on);
    generation_init(&r.g);
    run_print_init(&r.print, &r.on, &r.g);
    generation_rows_init(&rows);
    const option_group groups[] = {
        HOLE_GROUP(&r.hole),
        MACHINE_MODEL_GROUP(&r.on),
        MACHINE_SIZE_GROUP(&r.on),
        MACHINE_ENGINE_GROUP(&r.on),
        GENERATION_SAMPLING_GROUP(&rows, &r.g),
        GENERATION_STRATEGY_GROUP(&rows, &r.g),
        MACHINE_AMATEUR_GROUP(&r.on),
        GENERATION_STOP_GROUP(&r.g),
        MACHINE_DRAFT_GROUP(&r.on),
        GENERATION_DRAFT_GROUP(&r.g),
        GENERATION_TEXT_GROUP(&r.g),
        GRAMMAR_OPTIONS_GROUP(&r.form),
        RUN_INTERVAL_GROUP(&r.g),
        RUN_PRINT_GROUP(&r.print),
        {NULL, show_rows, 1, &r},
    };
    const option_spec spec = {
        .command = "infill",
        .usage = "[-m MODEL] [FILE | --prefix FILE --suffix FILE] [options]",
        .about =
            "Write what stands between two texts, with a model that has tokens for a hole (docs/infill.md). The middle "
            "is written to stdout as it is generated.",
        .notes = notes,
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code)) code = fill(&r, &parsed);
    options_free(&parsed);
    hole_free(&r.hole);
    rn_free(r.prompt.ids);
    run_print_free(&r.print);
    rn_grammar_close(r.grammar);
    grammar_options_free(&r.form);
    machine_close(&r.on);
    return code;
}
