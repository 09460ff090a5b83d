#!/usr/bin/env python3
"""tests/cli/run_test.py - `runnel run` without a terminal: prompts, streams, JSON lines, ends."""
import json
import math
import os
import pathlib
import re
import subprocess

from harness import MODEL, PROGRAM, TIMEOUT_S, Folder, Skip, check, end, environment, equal, interrupt, main, runnel, start, test

GREEDY = ('--temp', '0')
PROMPT = 'Once upon a time'
LONG = ('--temp', '0', '--ignore-eos', '-n', '400', '--cpu', 'ref')     # takes a while


def text_of(lines):
    return ''.join(line['text'] for line in lines)


@test
def field_2_23_stdout_is_text_only():
    done = runnel('run', PROMPT, *GREEDY, '-n', '20').ok()
    equal(done.err, '', 'stderr of a pipe')
    check(b'\x1b' not in done.out and b'\r' not in done.out, done.out)
    want = text_of(runnel('run', PROMPT, *GREEDY, '-n', '20', '--json').ok().lines)
    check(not want.endswith('\n'), want)
    equal(done.text, want + '\n')
    equal(runnel('run', PROMPT, *GREEDY, '-n', '20', '--no-newline').ok().text, want)


@test
def a_line_break_ends_the_last_line_alone():
    for args in (['--regex', 'a\\n'], ['--regex', 'a\\n', '--no-newline']):
        equal(runnel('run', PROMPT, *args).ok().out, b'a\n', args)
    equal(runnel('run', PROMPT, '--choice', 'a').ok().out, b'a\n')
    equal(runnel('run', PROMPT, '-n', '0').ok().out, b'')
    for other in (['--json'], ['--top-probs', '2']):
        runnel('run', PROMPT, '--no-newline', *other).fails(2, '--no-newline: has no effect with ' + other[0])


@test
def field_2_22_a_prompt_gives_one_answer_and_the_program_ends():
    for args, stdin in ((['run', PROMPT], None), (['run', PROMPT], b'and more'), (['run'], b'Once'), (['run', '-p', PROMPT], None)):
        runnel(*args, '-n', '3', stdin=stdin).ok()


@test
def every_way_to_give_a_prompt_gives_the_same_text():
    args = ['run', *GREEDY, '-n', '12']
    want = runnel(*args, PROMPT).ok().out
    ids = runnel('tokenize', '--add-special', PROMPT).ok().text
    with Folder() as folder:
        (folder / 'plain').write_text(PROMPT)
        (folder / 'line').write_text(PROMPT + '\n')
        (folder / 'dos').write_bytes(PROMPT.encode() + b'\r\n')
        for more in (['-p', PROMPT], *(['-f', folder / name] for name in ('plain', 'line', 'dos')), ['--ids', ids], ['--ids', ids.replace(' ', ',')]):
            equal(runnel(*args, *more).ok().out, want, more)
    for stdin in (PROMPT, PROMPT + '\n'):
        equal(runnel(*args, stdin=stdin.encode()).ok().out, want)
        equal(runnel(*args, '-f', '-', stdin=stdin.encode()).ok().out, want)
    other = runnel('run', '--json', '-n', '1', '-p', PROMPT + '\n').ok().lines[-1]['usage']['prompt_tokens']
    equal(other, len(ids.split()) + 1, 'a line break in an argument counts')


@test
def what_is_piped_in_goes_behind_a_prompt_and_not_behind_p():
    args = ['run', *GREEDY, '-n', '8']
    want = runnel(*args, '-p', 'Tom:\n\nOnce upon\na time').ok().out
    for piped in (b'Once upon\na time', b'Once upon\na time\n'):
        equal(runnel(*args, 'Tom:', stdin=piped).ok().out, want)
    with Folder() as folder:
        (folder / 'text').write_text('Once upon\na time\n')
        with open(folder / 'text') as file:
            child = subprocess.run([PROGRAM, *args, 'Tom:'], stdin=file, stdout=subprocess.PIPE, env=environment(), timeout=TIMEOUT_S)
        equal(child.stdout, want)
    alone = runnel(*args, '-p', 'Tom:').ok().out
    for more, stdin in ((['Tom:'], None), (['Tom:'], b''), (['Tom:'], b'\n'), (['-p', 'Tom:'], b'Once')):
        equal(runnel(*args, *more, stdin=stdin).ok().out, alone, (more, stdin))


@test
def what_an_option_reads_from_stdin_is_not_the_prompts():
    args = ['run', *GREEDY, '-n', '8']
    equal(runnel(*args, 'Tom:', '--grammar', '-', stdin=b'root ::= " yes"').ok().text, ' yes\n')
    equal(runnel(*args, 'Tom:', '--prediction', '-', stdin=b'Once').ok().out, runnel(*args, '-p', 'Tom:').ok().out)
    runnel(*args, '--json-schema', '-', stdin=b'{}').fails(2, 'runnel: prompt: none given: stdin is what --json-schema reads')
    runnel(*args, '-f', '-', '--prediction', '-', stdin=b'x').fails(2, 'runnel: prompt: -f -: stdin is what --prediction reads')
    runnel(*args, 'Tom:', '--structural-tag', '-', '--prediction', '-', stdin=b'x').fails(2, 'runnel: --prediction -: stdin is what --structural-tag reads')


@test
def a_prompt_that_cannot_be_read_is_named():
    runnel('run', '-f', '/nowhere/prompt').fails(1, '/nowhere/prompt: No such file or directory')
    runnel('run', '-f', '/').fails(1, '/: Is a directory')


@test
def an_empty_prompt_begins_from_the_begin_token():
    for args, stdin in ((['-p', ''], None), ([], b'')):
        done = runnel('run', *args, '--json', '-n', '2', stdin=stdin).ok()
        equal(done.lines[-1]['usage']['prompt_tokens'], 1)
    runnel('run', '--ids', '', '-n', '2').fails(2, 'empty')


@test
def json_lines_are_whole_and_agree_with_usage():
    done = runnel('run', PROMPT, '--json', '-n', '30', '--seed', '7', '--logprobs', '3', '--no-speculate').ok()
    *chunks, last = done.lines
    tokens = [t for line in done.lines for t in line['tokens']]
    for line in done.lines:
        equal([p['id'] for p in line['logprobs']], line['tokens'])
        for p in line['logprobs']:
            equal(len(p['top']), 3)
            check(p['logprob'] <= 0 and sorted(p['top'], key=lambda t: -t['logprob']) == p['top'], p)
    for line in chunks:
        equal(list(line), ['choice', 'text', 'tokens', 'logprobs', 'finish_reason'])
        equal((line['choice'], line['finish_reason']), (0, None))
    equal(list(last)[4:], ['finish_reason', 'finish_detail', 'seed', 'usage', 'timing'])
    equal(last['seed'], 7)
    equal(last['usage'], {'prompt_tokens': 5, 'cached_tokens': 0, 'completion_tokens': len(tokens)})
    timing = last['timing']
    equal(list(timing), ['queue_ms', 'prefill_ms', 'first_token_ms', 'decode_ms', 'token_ms'])
    equal(len(timing['token_ms']), len(tokens))
    check(timing['token_ms'] == sorted(timing['token_ms']), 'token times go forward')
    ids = ' '.join(map(str, tokens))
    equal(text_of(done.lines).strip(), runnel('detokenize', stdin=ids.encode()).ok().text.strip())


@test
def what_each_token_was_drawn_from_comes_with_its_probability():
    args = ['run', PROMPT, '--json', '-n', '20', '--seed', '7', '--temp', '1.3', '--top-k', '4', '--top-p', '1', '--min-p', '0', '--stream-interval', '3']
    done = runnel(*args, '--sampled-logprobs', '4', '--logprobs', '4').ok()
    equal(text_of(done.lines), text_of(runnel(*args).ok().lines))
    for p in [p for line in done.lines for p in line['logprobs']]:
        s = p['sampled']
        equal((list(p), list(s)), (['id', 'logprob', 'top', 'rank', 'entropy', 'sampled'], ['logprob', 'rank', 'entropy', 'candidates', 'top']))
        equal((s['candidates'], [t['id'] for t in s['top']]), (4, [t['id'] for t in p['top']]))
        equal((p['id'], s['logprob'], s['rank']), (s['top'][s['rank'] - 1]['id'], s['top'][s['rank'] - 1]['logprob'], p['rank']))
        check(abs(sum(math.exp(t['logprob']) for t in s['top']) - 1) < 1e-5, s)
        check(abs(s['entropy'] + sum(t['logprob'] * math.exp(t['logprob']) for t in s['top'])) < 1e-5, s)
        heat = [math.exp(t['logprob'] / 1.3) for t in p['top']]
        check(all(abs(math.exp(t['logprob']) - h / sum(heat)) < 1e-5 for t, h in zip(s['top'], heat)), (p, heat))
    alone = [p for line in runnel(*args, '--sampled-logprobs', '0').ok().lines for p in line['logprobs']]
    check(all(p['top'] == [] and p['sampled']['top'] == [] for p in alone), alone)


@test
def top_probs_lists_each_token_with_its_alternatives():
    data = [p for line in runnel('run', PROMPT, '--json', '-n', '12', '--seed', '7', '--logprobs', '3').ok().lines for p in line['logprobs']]
    rows = runnel('run', PROMPT, '-n', '12', '--seed', '7', '--top-probs', '3').ok().text.splitlines()
    equal(len(rows), 12)
    for row, p in zip(rows, data):
        found = re.findall(r'([\d.]+)% ("(?:[^"\\]|\\.)*")', row)
        equal([float(n) for n, _ in found], [round(100 * math.exp(t['logprob']), 2) for t in [p, *p['top']]])
        check(found[0][1] in [text for _, text in found[1:]] or p['id'] not in [t['id'] for t in p['top']], row)
    equal(''.join(json.loads(re.search(r'"(?:[^"\\]|\\.)*"', row)[0]) for row in rows), runnel('run', PROMPT, '-n', '12', '--seed', '7', '--no-newline').ok().text)


@test
def without_logprobs_there_is_no_such_member():
    check(all('logprobs' not in line for line in runnel('run', PROMPT, '--json', '-n', '3').ok().lines), 'logprobs are there')


@test
def stream_interval_makes_chunks_of_that_many_tokens():
    args = ['run', PROMPT, *GREEDY, '-n', '20']
    lines = runnel(*args, '--json', '--stream-interval', '8').ok().lines
    equal([len(line['tokens']) for line in lines if line['tokens']], [8, 8, 4])
    equal(text_of(lines) + '\n', runnel(*args).ok().text)


@test
def a_run_can_be_repeated_from_the_seed_it_reports():
    first = runnel('run', PROMPT, '--json', '-n', '40').ok().lines
    again = runnel('run', PROMPT, '-n', '40', '--seed', first[-1]['seed']).ok()
    equal(again.text, text_of(first) + '\n')
    other = runnel('run', PROMPT, '-n', '40', '--seed', first[-1]['seed'] + 1).ok()
    check(other.text != again.text, 'another seed gives the same text')
    check(first[-1]['seed'] != runnel('run', PROMPT, '--json', '-n', '1').ok().lines[-1]['seed'], 'seeds are drawn')


@test
def an_explicit_option_overrides_a_preset_wherever_it_stands():
    want = runnel('run', PROMPT, '-n', '15', '--temp', '0').ok().out
    for args in (['--preset', 'wild', '--temp', '0'], ['--temp', '0', '--preset', 'wild'], ['--preset', 'greedy']):
        equal(runnel('run', PROMPT, '-n', '15', *args).ok().out, want, args)


@test
def stop_strings_and_stop_tokens_end_the_text_before_them():
    text = runnel('run', PROMPT, *GREEDY, '-n', '30').ok().text
    for stop in ('girl', 'e girl na', 'Lily. She', '.'):
        done = runnel('run', PROMPT, *GREEDY, '-n', '30', '--stop', 'never there', '--stop', stop, '--json').ok()
        equal(text_of(done.lines), text[:text.index(stop)], stop)
        equal(done.lines[-1]['finish_reason'], 'stop')
        check(stop in done.lines[-1]['finish_detail'], done.lines[-1])
    tokens = [t for line in runnel('run', PROMPT, *GREEDY, '-n', '9', '--json').ok().lines for t in line['tokens']]
    last = runnel('run', PROMPT, *GREEDY, '-n', '9', '--json', '--stop-token', tokens[4]).ok().lines[-1]
    equal((last['finish_reason'], last['usage']['completion_tokens']), ('stop', 5))


@test
def a_banned_string_does_not_come_in_whatever_case():
    text = runnel('run', PROMPT, *GREEDY, '-n', '30').ok().text
    for banned in ('girl', 'LITTLE GIRL', ' was a lit', 'y', 'Lily. S'):
        other = runnel('run', PROMPT, *GREEDY, '-n', '30', '--banned-string', 'never there', '--banned-string', banned).ok().text
        check(banned.lower() in text.lower() and banned.lower() not in other.lower(), (banned, other))
        begins = text.lower().index(banned.lower())
        equal(other[:max(begins - 12, 0)], text[:max(begins - 12, 0)], 'what is before the token that it began with')
    equal(runnel('run', PROMPT, *GREEDY, '-n', '30', '--banned-string', 'LITTLE', '--banned-match-case').ok().text, text)


@test
def a_healed_prompt_may_end_inside_a_word():
    for begun, rest in (('Once upon a ti', 'me'), ('Once upon a time, there was a lit', 'tle'), ('Once upon a time', '')):
        answer = runnel('run', begun, *GREEDY, '-n', '8', '--token-healing').ok().text
        check(answer.startswith(rest or ','), (begun, answer))
        whole = runnel('run', begun, *GREEDY, '-n', '8', '--token-healing', '--echo').ok().text
        equal(whole, begun + answer)
    runnel('run', '--chat', PROMPT, '--token-healing').fails(2, '--token-healing: has no effect')


@test
def an_answer_has_the_form_that_is_asked_for():
    schema = {'type': 'object', 'properties': {'name': {'type': 'string', 'maxLength': 9}, 'ages': {'type': 'array', 'items': {'enum': [1, 22, 333]}, 'maxItems': 2}},
              'required': ['name', 'ages'], 'additionalProperties': False}
    with Folder() as folder:
        (folder / 'schema.json').write_text(json.dumps(schema))
        for seed in range(4):
            random = ('-n', '200', '--seed', seed, '--temp', '1.5')
            got = json.loads(runnel('run', PROMPT, *random, '--json-schema', folder / 'schema.json').ok().text)
            check(set(got) == {'name', 'ages'} and len(got['name']) <= 9 and all(a in (1, 22, 333) for a in got['ages']), got)
            for more in ((), ('--no-forced-tokens',)):
                check(re.fullmatch('The (cat|dog) sat on the mat', runnel('run', PROMPT, *random, '--regex', 'The (cat|dog) sat on the mat', '--no-newline', *more).ok().text), more)
            check(re.fullmatch('[A-Z][a-z]{2,5}!', runnel('run', PROMPT, *random, '--regex', '[A-Z][a-z]{2,5}!', '--no-newline').ok().text), seed)
            last = runnel('run', PROMPT, *random, '--choice', 'yes', '--choice', 'no', '--json').ok().lines
            check(''.join(x['text'] for x in last) in ('yes', 'no') and last[-1]['finish_detail'] == 'grammar', last[-1])
            (folder / 'g.gbnf').write_text('root ::= "yes" | "no" root')
            check(re.fullmatch('(no)*(yes)?', runnel('run', PROMPT, *random, '--grammar', folder / 'g.gbnf', '--no-newline').ok().text.rstrip('n')), seed)
            check(runnel('run', PROMPT, '-n', '3', '--json-mode').ok().text.startswith('{'), seed)
        (folder / 'schema.json').write_text('{"type": 5}')
        runnel('run', PROMPT, '--json-schema', folder / 'schema.json').fails(1, f'--json-schema {folder}/schema.json: /type')
        runnel('run', PROMPT, '--json-schema', folder / 'none.json').fails(1, 'none.json: No such file')


@test
def guesses_are_verified_as_asked():
    again = 'The cat sat on the mat. The dog sat on the mat. The cat sat on'
    asked = ['run', '-n', '40', '--ignore-eos', '--draft-min', '4', again]
    greedy = runnel(*asked, '--temp', '0').ok().text
    for how in ('match', 'reject', 'typical'):
        equal(runnel(*asked, '--temp', '0', '--spec-verify', how).ok().text, greedy)
        runnel(*asked, '--temp', '1', '--spec-verify', how).ok()
    runnel(*asked, '--mirostat', '2', '--spec-verify', 'reject').fails(1, 'spec_verify: reject: not with mirostat')


@test
def guesses_save_steps_and_change_no_text():
    again = 'The cat sat on the mat. The dog sat on the mat. The cat sat on'
    for more in (['--temp', '0'], ['--seed', '7'], ['--seed', '7', '--mirostat', '2', '--dry-multiplier', '0.5']):
        asked = ['run', '-n', '60', '--ignore-eos', '--json', *more, again]
        plain, drafted = (runnel(*asked, *o).ok().lines for o in (['--no-speculate'], ['--draft-min', '4']))
        equal([t for line in drafted for t in line['tokens']], [t for line in plain for t in line['tokens']])
        check('speculation' not in plain[-1], plain[-1])
        none = runnel('run', '-n', '1', '--json', *more, again).ok().lines[-1]['speculation']
        equal(none, {'drafted': 0, 'accepted': 0, 'by_depth': [], 'by_drafter': {}, 'rows_per_token': 1})
        figures = drafted[-1]['speculation']
        check(0 < figures['accepted'] < figures['drafted'], figures)
        equal([sum(n) for n in zip(*figures['by_depth'])], [figures['drafted'], figures['accepted']])
        equal(figures['by_drafter'], {'ngram': [figures['drafted'], figures['accepted']]})
        check(all(right <= n for n, right in figures['by_depth']) and figures['speed_up'] > 0, figures)
        equal(figures['rows_per_token'], round((60 + figures['drafted'] - figures['accepted']) / 60, 3))


@test
def a_model_that_drafts_saves_steps_and_changes_no_text():
    # The model drafts for itself, and is right as long as the most probable token is drawn.
    draft = ['--draft', MODEL, '--draft-min', '3']
    for sampling, how in ((['--temp', '0'], draft), (['--seed', '7'], draft), (['--seed', '7', '--logprobs', '2'], draft),
                          (['--temp', '0'], [*draft, '--speculate', 'ngram,draft'])):
        asked = ['run', '-n', '60', '--ignore-eos', '--json', *sampling, PROMPT]
        plain, drafted = (runnel(*asked, *o).ok().lines for o in ([], how))
        equal([t for line in drafted for t in line['tokens']], [t for line in plain for t in line['tokens']])
        figures = drafted[-1]['speculation']
        check(figures['accepted'] >= (30 if '0' in sampling else 1), figures)
    hole = ['infill', '--prefix', 'The cat', '--suffix', ' on the mat.', '--infill-order', 'psm', '--temp', '0', '-n', '9']
    equal(runnel(*hole, *draft).text, runnel(*hole).text)


@test
def a_prediction_saves_steps_and_changes_no_text():
    with Folder() as folder:
        asked, file = ['run', PROMPT, *GREEDY, '-n', '40'], folder / 'before.txt'
        text = ''.join(line['text'] for line in runnel(*asked, '--json').ok().lines)
        file.write_text(text)
        for more in ([], ['--speculate', 'ngram'], ['--speculate', 'suffix', '--draft-max', '8']):
            answer = runnel(*asked, '--json', '--draft-min', '4', '--prediction', file, *more).ok().lines
            equal(''.join(line['text'] for line in answer), text)
            figures = answer[-1]['speculation']
            check(figures['accepted_prediction'] > 10 and figures['accepted_prediction'] + figures['rejected_prediction'] <= figures['drafted'], figures)
        runnel(*asked, '--prediction', folder / 'none').fails(1, 'none: No such file')
        runnel(*asked, '--prediction', file, '--speculate', 'none').fails(2, '--prediction: has no effect without speculation')


@test
def guidance_goes_away_from_the_negative_prompt():
    asked = ['run', PROMPT, *GREEDY, '-n', '30']
    plain, towards = runnel(*asked).ok().text, 'There was a little girl who had a dog.'
    guided = [runnel(*asked, '--guidance-scale', s, '--negative-prompt', towards).ok().text for s in ('0', '4')]
    equal(runnel(*asked, '--guidance-scale', '1').ok().text, plain)
    # At 0 the answer is that to the negative prompt; the prompt itself as the negative one changes nothing.
    equal(guided[0], runnel('run', towards, *GREEDY, '-n', '30').ok().text)
    check(guided[1] != plain, guided)
    equal(runnel(*asked, '--guidance-scale', '4', '--negative-prompt', PROMPT).ok().text, plain)
    check(runnel(*asked, '--guidance-scale', '4').ok().text != plain, 'without a negative prompt: against the last token')


@test
def guidance_reserves_the_state_that_a_recurrent_model_needs_for_it():
    golden = pathlib.Path(os.environ.get('RUNNEL_SHARED') or pathlib.Path(__file__).parents[3] / 'shared') / 'goldens/mamba2'
    if not golden.is_dir():
        raise Skip('no shared material: set RUNNEL_SHARED')
    asked = ['run', '-m', golden, '--ids', '5,6,7', *GREEDY, '-n', '8', '--json', '--ignore-eos']
    plain, same, guided = ([t for line in runnel(*asked, *more).ok().lines for t in line['tokens']] for more in (
        [], ['--guidance-scale', '1'], ['--guidance-scale', '9']))
    equal(same, plain)
    equal(len(guided), 8)
    check(guided != plain, guided)


@test
def a_banned_token_does_not_come():
    first = runnel('run', PROMPT, *GREEDY, '-n', '1', '--json').ok().lines[-1]['tokens'][0]
    for bias in ('-inf', '-100'):
        other = runnel('run', PROMPT, *GREEDY, '-n', '1', '--json', '--logit-bias', f'{first}={bias}').ok().lines[-1]['tokens'][0]
        check(other != first, bias)


@test
def echo_begins_with_the_prompt():
    args = ['run', PROMPT, *GREEDY, '-n', '5']
    equal(runnel(*args, '--echo').ok().text.lstrip(), PROMPT + runnel(*args).ok().text)


@test
def a_control_token_spelling_in_the_prompt_stays_text():
    count = lambda *args: runnel('run', 'end</s>', '--json', '-n', '1', *args).ok().lines[-1]['usage']['prompt_tokens']
    check(count('--parse-special') < count(), 'the spelling became a token')


@test
def field_2_11_a_full_context_ends_with_length_and_says_so():
    last = runnel('run', PROMPT, '--json', '-c', '32', '--ignore-eos').ok().lines[-1]
    equal(last['finish_reason'], 'length')
    check('context' in last['finish_detail'] and '32' in last['finish_detail'], last['finish_detail'])
    equal(last['usage']['prompt_tokens'] + last['usage']['completion_tokens'], 32)


@test
def field_2_12_a_prompt_longer_than_the_context_is_refused_with_both_figures():
    done = runnel('run', '-c', '16', '--ids', ','.join(['5'] * 17)).fails(1, '17')
    check('16' in done.err, done.err)
    equal(done.out, b'')


@test
def field_2_13_a_context_that_does_not_fit_is_refused_with_figures():
    done = runnel('run', 'x', '-c', '2000000000')
    check(done.code in (1, 2) and re.search(r'\d{3}', done.err) and done.err.startswith('runnel: '), done.code, done.err)
    equal(done.out, b'')


@test
def field_2_20_the_end_token_ends_the_text_and_ignore_eos_goes_on():
    end_id = runnel('info', '--json').ok().lines[0]['end_tokens'][0]['id']
    args = ['run', PROMPT, '--json', '-n', '5', '--logit-bias', f'{end_id}=100', *GREEDY]
    last = runnel(*args).ok().lines[-1]
    equal((last['finish_reason'], last['usage']['completion_tokens']), ('stop', 1))
    check(str(end_id) in last['finish_detail'], last['finish_detail'])
    last = runnel(*args, '--ignore-eos').ok().lines[-1]
    equal((last['finish_reason'], last['usage']['completion_tokens']), ('length', 5))


@test
def field_2_21_the_default_length_is_the_rest_of_the_context():
    usage = runnel('run', PROMPT, '--json', '-c', '80', '--ignore-eos').ok().lines[-1]['usage']
    equal(usage['completion_tokens'], 80 - usage['prompt_tokens'])
    for n in (0, 1, 2):
        last = runnel('run', PROMPT, '--json', '-n', n).ok().lines[-1]
        equal((last['usage']['completion_tokens'], last['finish_reason']), (n, 'length'))
        check('max_tokens' in last['finish_detail'], last['finish_detail'])


@test
def a_reader_that_goes_away_ends_the_program_quietly():
    for more in ((), ('--json',)):
        child = start('run', PROMPT, *LONG, *more)
        child.stdout.read(10)
        child.stdout.close()
        err = child.stderr.read().decode()
        equal((child.wait(timeout=TIMEOUT_S), err), (0, ''), more)


@test
def a_full_disk_is_an_error():
    for args in (['run', PROMPT, '-n', '3'], ['tokenize', 'x'], ['info'], ['run', '--help'], ['--version']):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([PROGRAM, *args], env=environment(), stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        equal((done.returncode, done.stderr), (1, b'runnel: stdout: No space left on device\n'), args)


@test
def a_sample_in_which_the_majoritys_expression_gives_up_says_nothing():
    args = ('-n', '120', '--seed', '1', '--strategy', 'best-of', '--best-of', '3', '--json')
    plain = runnel('run', 'Lily saw a cat', *args).ok().lines
    for expression, n in ((r'(?=(.*))\1x|(\w+\W+)*(\w+\W+)*(\w+\W+)*9', 1), (r'(?:\w+ ?)+(?<=9)', 3)):
        lines = runnel('run', 'Lily saw a cat', *args, '--majority', expression).ok().lines
        check(lines[-1]['finish_detail'].endswith(f'; majority: {n} of the texts say nothing: it reached its match limit there'), lines[-1]['finish_detail'])
    equal([line['text'] for line in lines], [line['text'] for line in plain])      # nobody says anything: the most probable one


@test
def every_text_of_a_search_has_its_log_probabilities_in_json_where_they_are_asked_for():
    args = ('-n', '8', '--strategy', 'beam', '--num-beams', '3', '--num-return-sequences', '3', '--json')
    lines = runnel('run', PROMPT, *args, '--logprobs', '2', '--sampled-logprobs', '0').ok().lines
    found = lines[-1]['sequences']
    equal(found[0]['logprobs'], [t for line in lines for t in line['logprobs']])
    for q in found:
        equal([t['id'] for t in q['logprobs']], q['tokens'])
        check(abs(sum(t['logprob'] for t in q['logprobs']) - q['logprob']) < 1e-4 and all(len(t['top']) == 2 and t['entropy'] >= 0 for t in q['logprobs']), q)
    check(all('logprobs' not in q for q in runnel('run', PROMPT, *args).ok().lines[-1]['sequences']))
    body = {'prompt': PROMPT, 'n': 8, 'num_return_sequences': 3, 'logprobs': 2, 'sampled_logprobs': 0}
    answer, = runnel('batch', '--strategy', 'beam', '--num-beams', '3', stdin=json.dumps(body).encode()).ok().lines
    equal(answer['sequences'], found)


@test
def a_search_that_is_interrupted_prints_the_best_text_so_far_and_says_so():
    for strategy, n, more in (('best-of', 8, ('--best-of', '8', '--temp', '0')), ('beam', 4, ()), ('beam', 4, ('--json', '--logprobs', '1')), ('beam', 4, ('--echo',))):
        args = ('run', PROMPT, '--strategy', strategy, *more, '--ignore-eos', '--cpu', 'ref')
        child = start(*args, '-n', '400')
        begin = child.stdout.read(9)
        interrupt(child)
        code, rest, err = end(child)
        equal((code, err), (130, f'runnel: --strategy {strategy}: interrupted: this is the best of its {n} texts so far\n'))
        text = begin + rest
        if '--json' in more:
            lines = [json.loads(line) for line in text.splitlines()]
            equal((lines[-1]['finish_reason'], 'sequences' in lines[-1]), ('cancelled', False))
            tokens = [t for line in lines for t in line['tokens']]
            equal([t['id'] for line in lines for t in line['logprobs']], tokens)
            equal((lines[-1]['usage']['completion_tokens'], len(lines[-1]['timing']['token_ms'])), (len(tokens), len(tokens)))
            equal(runnel('detokenize', *map(str, tokens)).ok().text.strip(), text_of(lines).strip())
        if '--echo' in more:
            equal(text.decode()[:len(PROMPT)], PROMPT)
        check(len(rest) > 0 or strategy == 'best-of', text)     # samples of temperature 0 are alike



@test
def ctrl_c_in_a_pipe_ends_with_what_was_made():
    child = start('run', PROMPT, *LONG)
    begin = child.stdout.read(64)
    interrupt(child)
    code, rest, err = end(child)
    equal((code, err), (130, ''))
    made = begin + rest
    check(made[-1:] == b'\n' and runnel('run', PROMPT, *LONG[:-2]).ok().out.startswith(made[:-1]), made)


@test
def ctrl_c_gives_json_its_last_line():
    child = start('run', PROMPT, *LONG, '--json')
    first = child.stdout.readline()
    interrupt(child)
    code, rest, err = end(child)
    lines = [json.loads(line) for line in (first + rest).splitlines()]
    equal((code, err, lines[-1]['finish_reason']), (130, '', 'cancelled'))
    equal(lines[-1]['usage']['completion_tokens'], sum(len(line['tokens']) for line in lines))


@test
def chunks_arrive_while_the_rest_is_still_made():
    child = start('run', PROMPT, *LONG)
    child.stdout.read(8)
    check(child.poll() is None, 'the text came only at the end')
    child.kill()
    end(child)


@test
def text_does_not_depend_on_threads_cpu_set_or_load():
    args = ['run', PROMPT, '-n', '25', '--seed', '3']
    want = runnel(*args).ok().out
    for more in (['-t', '1'], ['-t', '3'], ['--cpu', 'ref'], ['--load', 'read'], ['--stream-interval', '7']):
        equal(runnel(*args, *more).ok().out, want, more)


@test
def verbose_speaks_on_stderr_only():
    args = ['run', PROMPT, *GREEDY, '-n', '5']
    done = runnel(*args, '-v').ok()
    equal(done.out, runnel(*args).ok().out)
    lines = done.err.splitlines()
    check(lines and all(line.startswith('runnel: ') for line in lines), done.err)
    for word in ('model: ', 'kernels: ', 'threads: ', 'context: '):
        check(any(line.startswith('runnel: ' + word) for line in lines), word, done.err)
    for name, values in (('wild', 'temp 1.6, top_k 0, top_p 1'), ('balanced', 'the defaults'), ('creative', 'temp 1.1, top_k 100, top_p 0.97, min_p 0.03, presence_penalty 0.2')):
        check(f'runnel: preset {name}: {values}\n' in runnel('run', PROMPT, '-n', '1', '--preset', name, '-v').ok().err, name)


@test
def bad_model_files_are_errors_with_the_file_named():
    with Folder() as folder:
        for name, content in (('empty', b''), ('page', b'<!doctype html><p>404'), ('cut', MODEL.read_bytes()[:3000])):
            path = folder / name
            path.write_bytes(content)
            for command in (['run', 'x'], ['tokenize', 'x']):
                runnel(*command, '-m', path).fails(1, name)
        runnel('run', 'x', '-m', folder).fails(1, str(folder))


main()
