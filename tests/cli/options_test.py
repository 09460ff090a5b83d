#!/usr/bin/env python3
"""tests/cli/options_test.py - the command line itself: what is refused, with which words, and the help pages."""
import re

from harness import MODEL, ROOT, Folder, check, environment, equal, main, runnel, test

COMMANDS = ('run', 'infill', 'chat', 'chats', 'batch', 'compare', 'score', 'embed', 'tokenize', 'detokenize', 'watermark', 'grammar', 'template', 'info', 'bench', 'convert', 'merge', 'quantize', 'imatrix', 'ngram-cache', 'serve', 'pull', 'list', 'show', 'rm', 'config')

WRONG = [
    # arguments, part of the message
    (['frobnicate'], 'frobnicate: unknown command'),
    (['rum'], 'did you mean run?'),
    (['--frobnicate'], '--frobnicate: unknown option'),
    (['run', '--foo'], '--foo: unknown option (runnel run --help lists them)'),
    (['run', '--foo=1'], '--foo: unknown option'),
    (['run', '--tepm', '1', 'x'], 'did you mean --temp?'),
    (['run', '-x', 'x'], '-x: unknown option'),
    (['run', '--temp'], '--temp: needs a value'),
    (['run', '-n'], '-n: needs a value'),
    (['run', '--json=yes', 'x'], '--json: takes no value'),
    (['run', '--temp', 'warm', 'x'], "--temp: 'warm' is not a number (0..5)"),
    (['run', '--temp', '0.5x', 'x'], "'0.5x' is not a number"),
    (['run', '--temp', 'nan', 'x'], "'nan' is not a number"),
    (['run', '--temp', 'inf', 'x'], 'is not a number'),
    (['run', '--temp', '1e400', 'x'], 'is not a number'),
    (['run', '--temp', '0x1', 'x'], 'is not a number'),
    (['run', '--temp', ' 1', 'x'], 'is not a number'),
    (['run', '--temp', '', 'x'], 'is not a number'),
    (['run', '--temp', '-0.1', 'x'], '--temp: -0.1 is outside 0..5'),
    (['run', '--temp', '5.01', 'x'], '--temp: 5.01 is outside 0..5'),
    (['run', '--top-p', '1.1', 'x'], '--top-p: 1.1 is outside 0..1'),
    (['run', '--top-k', '1.5', 'x'], "--top-k: '1.5' is not a whole number"),
    (['run', '--top-k', '-1', 'x'], '--top-k: -1 is outside 0..'),
    (['run', '--repeat-penalty', '0', 'x'], '--repeat-penalty: 0 is outside 0.01..10'),
    (['run', '--mirostat', '3', 'x'], '--mirostat: 3 is outside 0..2'),
    (['run', '--dry-multiplier', '1', '--dry-sequence-breaker', 'b' * 41, 'x'], '--dry-sequence-breaker: 41 bytes, must have 1..40'),
    (['run', '--samplers', '', 'x'], '--samplers: names no stage'),
    (['run', '--samplers', 'top_k;' * 60, 'x'], '--samplers: must have less than 256 bytes'),
    (['run', '--ban-token', '-1', 'x'], '--ban-token: -1 is outside 0..'),
    (['run', '--frequency-penalty', '2.5', 'x'], 'is outside -2..2'),
    (['run', '--seed', '-1', 'x'], "--seed: '-1' is not a whole number (0..18446744073709551615)"),
    (['run', '--seed', '18446744073709551616', 'x'], '--seed:'),
    (['run', '-n', '99999999999999999999', 'x'], 'is outside'),
    (['run', '-n', '-2', 'x'], '-n: -2 is outside -1..'),
    (['run', '-c', '0', 'x'], '-c: 0 is outside 1..'),
    (['run', '-t', '0', 'x'], '-t: 0 is outside 1..64'),
    (['run', '-t', '65', 'x'], '-t: 65 is outside 1..64'),
    (['run', '--kv-type', 'f8', 'x'], "--kv-type: 'f8' is not one of f16|f32|q8|bf16"),
    (['run', '--load', 'fast', 'x'], "--load: 'fast' is not one of map|read|lock"),
    (['run', '--preset', 'dull', 'x'], "--preset: 'dull' is not one of greedy, focused, balanced"),
    (['run', '--logit-bias', '5', 'x'], "--logit-bias: '5' is not ID=BIAS"),
    (['run', '--logit-bias', 'a=1', 'x'], "'a' is not a whole number"),
    (['run', '--logit-bias', '5=101', 'x'], '101 is outside -100..100'),
    (['run', '--logit-bias', '5=inf', 'x'], "'inf' is not a number"),
    (['run', '--sequence-bias', '5', 'x'], "--sequence-bias: '5' is not ID,ID,..=BIAS"),
    (['run', '--sequence-bias', '5,=1', 'x'], "'' is not a whole number"),
    (['run', '--sequence-bias', '=1', 'x'], "'' is not a whole number"),
    (['run', '--sequence-bias', '5,b=1', 'x'], "'b' is not a whole number"),
    (['run', '--sequence-bias', '5,6=101', 'x'], '101 is outside -100..100'),
    (['run', '--sequence-bias', ','.join(['5'] * 65) + '=1', 'x'], '--sequence-bias: more than 64 tokens'),
    (['run', *['--sequence-bias', '5=1'] * 1025, 'x'], '--sequence-bias: more than 1024 sequences'),
    (['run', *['--sequence-bias', ','.join(['5'] * 64) + '=1'] * 65, 'x'], '--sequence-bias: more than 4096 tokens in all sequences'),
    (['run', '--sampler-order', 'x', 'x'], "--sampler-order: 'x' is not one of llama.cpp|transformers|exllamav2"),
    (['run', '--stop', '', 'x'], '--stop: 0 bytes, must have 1..256'),
    (['run', '--stop', 's' * 257, 'x'], '--stop: 257 bytes'),
    (['run', *['--stop', 's'] * 17, 'x'], '--stop: given more than 16 times'),
    (['run', '--banned-string', '', 'x'], '--banned-string: 0 bytes, must have 1..256'),
    (['run', '--banned-string', 's' * 257, 'x'], '--banned-string: 257 bytes'),
    (['run', *['--banned-string', 's'] * 513, 'x'], '--banned-string: given more than 512 times'),
    (['run', '--speculate', 'hydra', 'x'], '--speculate: \'hydra\' is not one of none|ngram|suffix|ngram-cache|lookahead|draft|mtp|medusa=FILE|eagle=FILE|layer-skip=LAYERS'),
    (['run', '--speculate', 'medusa', 'x'], '--speculate: medusa needs the file of the heads: medusa=FILE'),
    (['run', '--speculate', 'ngram,medusa=', 'x'], '--speculate: medusa needs the file of the heads: medusa=FILE'),
    (['run', '--speculate', 'medusa=a', '--speculate', 'medusa=b', 'x'], '--speculate: medusa is named twice'),
    (['run', '--speculate', 'layer-skip', 'x'], '--speculate: layer-skip needs layers, the first E or all but A-B: layer-skip=E, layer-skip=A-B,C-D'),
    (['run', '--speculate', 'mtp=a', 'x'], "--speculate: mtp has no file: its layers are the model's own"),
    (['run', '--speculate', 'ngram,', 'x'], "--speculate: '' is not one of none|ngram|suffix|ngram-cache|lookahead|draft|mtp|medusa=FILE|eagle=FILE|layer-skip=LAYERS"),
    (['run', '--speculate', 'ngram', '--speculate', 'ngram', 'x'], '--speculate: ngram is named twice'),
    (['run', '--speculate', 'none,ngram', 'x'], '--speculate: none stands alone'),
    (['run', '--speculate', 'draft', 'x'], '--speculate draft: needs the model that drafts, --draft MODEL'),
    (['run', '--speculate', 'ngram', '--draft', 'm.gguf', 'x'], '--draft: has no effect without --speculate draft'),
    (['run', '--speculate', 'ngram', '--ngram-cache', 'a.bin', 'x'], '--ngram-cache: has no effect without --speculate ngram-cache'),
    (['run', '--no-speculate', '--ngram-cache', 'a.bin', 'x'], '--ngram-cache: has no effect without --speculate ngram-cache'),
    (['ngram-cache'], 'ngram-cache: needs a file to write and texts'),
    (['ngram-cache', 'out.bin'], 'ngram-cache: needs a file to write and texts'),
    (['ngram-cache', 'out.bin', 'a.txt', '--ngram-min', '4', '--ngram-max', '3'], '--ngram-min: 4, more than --ngram-max, 3'),
    (['ngram-cache', 'out.bin', 'a.txt', '--ngram-max', '5'], '--ngram-max: 5 is outside 1..4'),
    (['ngram-cache', 'out.bin', *['--merge', 'a'] * 257], '--merge: given more than 256 times'),
    (['run', '--draft-min-p', '0.5', 'x'], '--draft-min-p: has no effect without the drafters draft or layer-skip'),
    (['run', '--draft', 'm.gguf', '--draft-min-p', '1.5', 'x'], '--draft-min-p: 1.5 is outside 0..1'),
    (['run', '--draft-max', '8', '--no-speculate', 'x'], '--draft-max: has no effect without speculation'),
    (['run', '--draft-min', '8', '--speculate', 'none', 'x'], '--draft-min: has no effect without speculation'),
    (['run', '--spec-verify', 'exact', 'x'], "--spec-verify: 'exact' is not one of match|reject|typical"),
    (['run', '--spec-verify', 'reject', '--no-speculate', 'x'], '--spec-verify: has no effect without speculation'),
    (['run', '--speculate', 'ngram', '--no-speculate', 'x'], '--no-speculate: has no effect with --speculate'),
    (['run', '--draft', 'm.gguf', '--no-speculate', 'x'], '--draft: has no effect without --speculate draft'),
    (['run', '--speculate', 'ngram', '--draft-max', '64', 'x'], '--draft-max: 64 is outside 1..63'),
    (['run', '--strategy', 'x', 'x'], "--strategy: 'x' is not one of sample|beam|best-of"),
    (['run', '--num-beams', '4', 'x'], '--num-beams: is an option of --strategy beam, not of sample'),
    (['batch', '--strategy', 'sample', '--early-stopping', 'never', '-'], '--early-stopping: is an option of --strategy beam, not of sample'),
    (['run', '--strategy', 'beam', '--num-beams', '33', 'x'], '--num-beams: 33 is outside 1..32'),
    (['run', '--strategy', 'beam', '--early-stopping', 'x', 'x'], "--early-stopping: 'x' is not one of false|true|never"),
    (['run', '--penalty-alpha', '0.5', 'x'], '--penalty-alpha: is an option of --strategy contrastive, not of sample'),
    (['run', '--strategy', 'dola', '--amateur-weight', '2', 'x'], '--amateur-weight: is an option of --strategy contrastive-decoding, not of dola'),
    (['run', '--strategy', 'dola', '--dola-layers', 'middle', 'x'], 'dola_layers: "middle" is neither low nor high nor a list of layers'),
    (['run', '--amateur', 'm.gguf', 'x'], '--amateur: has no effect without --strategy contrastive-decoding'),
    (['run', '--strategy', 'contrastive', '--top-p', '0.5', 'x'], '--top-p: has no effect with --strategy contrastive, which draws no tokens'),
    (['run', '--strategy', 'contrastive', '--top-k', '65', 'x'], '--top-k: 65 is outside 1..64 with the strategy contrastive, which tries so many candidates'),
    (['run', '--strategy', 'contrastive', '--top-k', '5', '--num-candidates', '4', 'x'], '--top-k: has no effect with --num-candidates'),
    (['run', '--strategy', 'beam', '--temp', '0.5', 'x'], '--temp: has no effect with --strategy beam without --do-sample true'),
    (['batch', '--strategy', 'beam', '--top-k', '5'], '--top-k: has no effect with --strategy beam without --do-sample true'),
    (['run', '--strategy', 'tree', '--min-p', '0.1', 'x'], '--min-p: has no effect with --strategy tree, which draws no tokens'),
    (['run', '--strategy', 'beam', '--mirostat', '2', 'x'], '--mirostat: not with --strategy beam'),
    (['run', '--strategy', 'tree', '--speculate', 'ngram', 'x'], '--speculate: not with --strategy tree'),
    (['run', '--strategy', 'tree', '--draft-max', '2', 'x'], '--draft-max: has no effect with a strategy that makes no guesses'),
    (['run', '--strategy', 'beam', '--spec-verify', 'reject', 'x'], '--spec-verify: has no effect with a strategy that makes no guesses'),
    (['run', '--strategy', 'beam', '--prediction', '/dev/null', 'x'], '--prediction: has no effect with a strategy that makes no guesses'),
    (['run', '--strategy', 'dola', '--draft', 'm.gguf', 'x'], '--draft: has no effect with --strategy dola, which makes no guesses'),
    (['run', '--strategy', 'beam', '--ngram-cache', 'c', 'x'], '--ngram-cache: has no effect with --strategy beam, which makes no guesses'),
    (['run', '--strategy', 'tree', '--guidance-scale', '2', 'x'], '--guidance-scale: not with --strategy tree'),
    (['run', '--strategy', 'best-of', '--banned-string', 'y', 'x'], '--banned-string: not with --strategy best-of'),
    (['run', '--strategy', 'contrastive-decoding', 'x'], '(--amateur MODEL, or rn_engine_options.amateur_model)'),
    (['run', '--strategy', 'contrastive-decoding', 'x'], 'amateur_model: the strategy needs the number of another model, or an engine with one'),
    (['run', '--strategy', 'tree', '--tree-width', '17', 'x'], '--tree-width: 17 is outside 1..16'),
    (['run', '--strategy', 'tree', '--value', 'depth', 'x'], 'value: "depth" is neither likelihood nor rollout:R, R 1..15, nor model, model:N, N 0..15, nor callback'),
    (['run', '--strategy', 'tree', '--value', 'model', 'x'], 'value: the strategy needs the number of another model, or an engine with one'),
    (['run', '--strategy', 'tree', '--value', 'model:3', 'x'], 'value: 3 is no model'),
    (['run', '--strategy', 'tree', '--value', 'callback', 'x'], 'value: callback: there is no function; only C has one to give'),
    (['run', '--strategy', 'beam', '--simulations', '5', 'x'], '--simulations: is an option of --strategy tree, not of beam'),
    (['run', '--guidance-scale', '101', 'x'], '--guidance-scale: 101 is outside 0..100'),
    (['run', '--negative-prompt', 'a', 'x'], '--negative-prompt: has no effect without --guidance-scale'),
    (['run', '--negative-prompt', 'a', '--guidance-scale', '1', 'x'], '--negative-prompt: has no effect without --guidance-scale'),
    (['run', '--banned-match-case', 'x'], '--banned-match-case: has no effect without --banned-string'),
    (['run', '--stop-token', 'x', 'x'], '--stop-token:'),
    (['run', '--sampled-logprobs', '21', '--json', 'x'], '--sampled-logprobs: 21 is outside 0..20'),
    (['run', '--sampled-logprobs', '1', 'x'], '--sampled-logprobs: has no effect without --json'),
    (['run', '--top-probs', '0', 'x'], '--top-probs: 0 is outside 1..20'),
    (['run', '--top-probs', '2', '--json', 'x'], '--top-probs: has no effect with --json'),
    (['run', '--show-probs', '--json', 'x'], '--show-probs: has no effect with --json'),
    (['run', '--top-probs', '2', '--stream-interval', '4', 'x'], '--stream-interval: has no effect with --top-probs'),
    (['run', '--logprobs', '21', '--json', 'x'], '--logprobs: 21 is outside 0..20'),
    (['run', '--stream-interval', '0', 'x'], 'is outside 1..1024'),
    (['run', '--ids', '1,x'], "--ids: 'x' is not a whole number"),
    (['run', '--ids', '1,-2'], '--ids: -2 is outside'),
    (['run', '--ids', '0' * 40 + '1'], '--ids:'),
    (['run', '--ids', '1,999999'], '999999'),
    (['run', '--cpu', 'z80', 'x'], 'z80'),
    (['run', 'a', 'b'], 'b: unexpected argument'),
    (['run', 'a', '-p', 'b'], 'prompt: given more than once'),
    (['run', '-f', 'a', '--ids', '1'], 'prompt: given more than once'),
    (['batch', '--parallel', '0'], '--parallel: 0 is outside 1..1024'),
    (['score', '--ids', '1', '--text-file', 'x'], 'exclude each other'),
    (['score', '--ids', '1', 'x'], 'exclude each other'),
    (['tokenize', '-f', 'x', 'y'], 'given twice'),
    (['score', '--ids', '1', '--temp', '0'], '--temp: unknown option (runnel score --help lists them)'),
    (['tokenize', '-n', '5'], '-n: unknown option (runnel tokenize --help lists them)'),
    (['bench', '-p', '1,,2'], "-p: '' is not a whole number"),
    (['bench', '-p', '0', '-n', '0'], 'nothing to measure'),
    (['bench', '-r', '0'], '-r: 0 is outside 1..100'),
    (['info', 'a', '-m', 'b'], 'model: given twice'),
]


@test
def wrong_options_end_with_2_and_say_what_and_why():
    for args, part in WRONG:
        done = runnel(*args)
        done.fails(2, part)
        equal(done.out, b'', args)


@test
def field_2_27_an_option_without_effect_is_refused():
    rows = [
        (['run', '--ids', '1,2', '--parse-special'], '--parse-special: has no effect with --ids'),
        (['run', 'x', '--logprobs', '3'], '--logprobs: has no effect without --json'),
        (['run', 'x', '--penalty-last-n', '9'], '--penalty-last-n: has no effect while no penalty is on'),
        (['run', 'x', '--penalty-prompt', 'off'], '--penalty-prompt: has no effect while no penalty is on'),
        (['batch', '--penalty-last-n', '9'], '--penalty-last-n: has no effect while no penalty is on'),
        (['run', 'x', '--dry-base', '2'], '--dry-base: has no effect while --dry-multiplier is 0'),
        (['run', 'x', '--dry-sequence-breaker', '.'], '--dry-sequence-breaker: has no effect while --dry-multiplier is 0'),
        (['run', 'x', '--xtc-threshold', '0.2'], '--xtc-threshold: has no effect while --xtc-probability is 0'),
        (['run', 'x', '--dynatemp-exponent', '2'], '--dynatemp-exponent: has no effect while --dynatemp-range is 0'),
        (['batch', '--mirostat-tau', '3'], '--mirostat-tau: has no effect while --mirostat is 0'),
        (['run', 'x', '--adaptive-decay', '0.5'], '--adaptive-decay: has no effect without --adaptive-target'),
        (['run', 'x', '--exponential-decay-start', '5'], '--exponential-decay-start: has no effect while --exponential-decay-factor is 1'),
    ]
    for args, part in rows:
        runnel(*args).fails(2, part)
    runnel('run', 'x', '-n', '1', '--penalty-last-n', '9', '--repeat-penalty', '1.1').ok()
    runnel('run', 'x', '-n', '1', '--penalty-last-n', '9', '--preset', 'story').ok()


@test
def values_may_be_apart_or_attached_and_begin_with_a_dash():
    want = runnel('run', 'Tom', '--temp', '0', '-n', '3').ok().out
    for args in (['Tom', '--temp=0', '-n3'], ['--temp', '0', '-n', '3', '--', 'Tom'], ['-n', '9', '-n', '3', '--temp=0', '-pTom']):
        equal(runnel('run', *args).ok().out, want, args)
    runnel('run', '--logit-bias', '5=-inf', '-n', '-1', '--stop', 'e', 'x').ok()
    equal(runnel('run', '-n', '2', '--temp', '0', '--echo', '--', '-n').ok().text[:2], '-n')


@test
def every_command_has_a_help_page_that_fits_80_columns():
    for args in ([], *([c] for c in COMMANDS)):
        page = runnel(*args, '--help').ok()
        equal(page.err, '', args)
        for line in page.text.splitlines():
            check(len(line) <= 80, f'{args}: {len(line)} columns: {line}')
        check('usage: runnel' in page.text, args)
        equal(runnel('help', *args).ok().out, page.out, args)
    for command in COMMANDS:
        check(re.search(rf'^  {command} ', runnel('--help').text, re.M), command)
        equal(runnel(command, '-h').ok().out, runnel(command, '--help').out)
    runnel('help', 'frobnicate').fails(2, 'unknown command')


@test
def ranges_and_defaults_in_help_are_those_that_are_enforced():
    page = ' '.join(runnel('run', '--help').text.split())
    for text in ('(0..5, default 0.8)', '(0..1, default 0.95)', '(0.01..10, default 1)', '1..64'):
        check(text in page, f'{text} is not in the page')


@test
def the_manual_names_every_option_and_no_other():
    manual = (ROOT / 'docs/man/runnel.1').read_text()
    told = set(re.findall(r'(?:Fl|,) -([a-z][a-z-]+)', manual))
    known = {name for c in COMMANDS for name in re.findall(r'^ .{5}--([a-z][a-z-]+)', runnel(c, '--help').text, re.M)}
    equal(told - set(re.findall(r'^\.It Fl -([a-z-]+) No is Fl -', manual, re.M)), known)


@test
def version_is_told_everywhere():
    want = runnel('--version').ok().text
    check(re.fullmatch(r'runnel \d+\.\d+\.\d+\n', want), want)
    for args in (['version'], *([c, '--version'] for c in COMMANDS)):
        equal(runnel(*args).ok().text, want, args)


@test
def without_a_command_the_usage_goes_to_stderr():
    done = runnel()
    equal((done.code, done.out), (2, b''))
    check('usage: runnel' in done.err, done.err)


@test
def control_characters_of_an_argument_do_not_reach_the_terminal():
    done = runnel('run', '--temp', '\x1b[31m', 'x')
    check(done.code == 2 and '\x1b' not in done.err, repr(done.err))


@test
def a_model_is_found_by_path_by_name_and_by_environment():
    args = ['run', 'Tom', '-n', '2', '--temp', '0']
    want = runnel(*args).ok().out
    with Folder() as folder:
        (folder / 'tiny.gguf').symlink_to(MODEL)
        (folder / 'cache/runnel/models').mkdir(parents=True)
        (folder / 'cache/runnel/models/small.gguf').symlink_to(MODEL)
        rows = [
            (['-m', str(folder / 'tiny.gguf')], {'RUNNEL_MODEL': None}),
            (['-m', 'tiny.gguf'], {'RUNNEL_MODEL': None}),
            (['-m', 'tiny'], {'RUNNEL_MODELS': str(folder)}),
            ([], {'RUNNEL_MODELS': str(folder), 'RUNNEL_MODEL': 'tiny'}),
            (['-m', 'small'], {'XDG_CACHE_HOME': str(folder / 'cache')}),
        ]
        for more, changes in rows:
            equal(runnel(*args, *more, env=environment(**changes), cwd=folder).ok().out, want, more)
        missing = runnel(*args, '-m', 'tiny', env=environment(RUNNEL_MODELS=str(folder / 'no'))).fails(1, 'tiny: no such file')
        check('`runnel list`' in missing.err and '`runnel pull`' in missing.err, missing.err)
        missing = runnel(*args, '-m', 'no.gguf', cwd=folder).fails(1, 'no.gguf: no such file')
        check('fetched' not in missing.err, missing.err)
        runnel(*args, '-m', './tiny', cwd=folder).fails(1, 'tiny')


@test
def names_that_other_programs_have_for_an_option_are_taken_too():
    args = ['run', 'Tom', '--seed', '3']
    want = runnel(*args, '-n', '6', '--temp', '0.5', '--ctx', '256', '--penalty-last-n', '9', '--repeat-penalty', '1.2', '--typical-p', '0.9').ok().out
    for n in ('--n-predict', '--predict', '--num-predict', '--max-new-tokens', '--max-tokens'):
        for ctx in ('--ctx-size=256', '--num-ctx=256', '--n-ctx=256'):
            equal(runnel(*args, n, '6', '--temperature', '0.5', ctx, '--repeat-last-n', '9', '--repetition-penalty', '1.2', '--typical', '0.9').ok().out, want, (n, ctx))
    page = runnel('run', '--help').ok().text
    check('--temperature' not in page and '--n-predict' not in page, page)
    runnel('run', '--n-predict', 'x', 'Tom').fails(2, '--n-predict: ')
    runnel('tokenize', '--temperature', '1', 'Tom').fails(2, '--temperature: unknown option')
    runnel('run', '--system-prompt', 'x', 'Tom').fails(2, '--system: has no effect without --chat')
    page = (ROOT / 'docs/man/runnel.1').read_text()
    source = (ROOT / 'src/app/options.c').read_text()
    aliases = re.findall(r'^    \{"([a-z-]+)", "([a-z-]+)"\},$', source, re.M)
    check(len(aliases) > 10, aliases)
    for other, name in aliases:
        check(f'.It Fl -{other} No is Fl -{name}' in page, f'docs/man/runnel.1: --{other}')


@test
def the_cpu_set_of_the_environment_is_a_default():
    args = ['run', 'Tom', '-n', '2', '--temp', '0']
    want = runnel(*args).ok().out
    equal(runnel(*args, env=environment(RUNNEL_CPU='ref')).ok().out, want)
    runnel(*args, env=environment(RUNNEL_CPU='z80')).fails(2, 'z80')
    equal(runnel(*args, '--cpu', 'ref', env=environment(RUNNEL_CPU='z80')).ok().out, want)
    runnel('tokenize', 'Tom', env=environment(RUNNEL_CPU='z80')).ok()


main()
