#!/usr/bin/env python3
"""tests/cli/batch_test.py - `runnel batch`: request lines in, answer lines out."""
import json
import subprocess

from harness import MODEL, ROOT, TIMEOUT_S, Folder, check, end, equal, interrupt, main, runnel, start, test

KEYS = ROOT / 'docs/examples/watermark.json'
PROMPTS = ['Once upon a time', 'Tom and his dog', 'One day, a bird', 'Lily', 'The sun', 'A cat']


def lines_of(requests):
    return ''.join(json.dumps(r) + '\n' for r in requests).encode()


def batch(requests, *args):
    return runnel('batch', *args, stdin=requests if isinstance(requests, bytes) else lines_of(requests))


@test
def each_answer_is_the_one_the_request_gets_alone():
    requests = [{'id': f'r{i}', 'prompt': p, 'n': 5 + 7 * i, 'seed': i, 'temp': 0.9} for i, p in enumerate(PROMPTS)]
    for parallel in (1, 3, 16):
        answers = {a['id']: a for a in batch(requests, '--parallel', parallel).ok().lines}
        equal(sorted(answers), [r['id'] for r in requests])
        for r in requests:
            alone = runnel('run', '--no-newline', r['prompt'], '-n', r['n'], '--seed', r['seed'], '--temp', r['temp']).ok().text
            equal(answers[r['id']]['text'], alone, r)


@test
def an_answer_has_these_members():
    a, = batch([{'id': 7, 'prompt': 'Tom', 'n': 4, 'logprobs': 2, 'seed': 5}]).ok().lines
    equal(list(a), ['id', 'text', 'tokens', 'logprobs', 'finish_reason', 'finish_detail', 'seed', 'usage', 'speculation', 'timing'])
    equal((a['id'], len(a['tokens']), a['usage']['completion_tokens'], a['seed']), (7, 4, 4, 5))
    equal([p['id'] for p in a['logprobs']], a['tokens'])
    check('token_ms' not in a['timing'], a['timing'])
    timed, = batch([{'prompt': 'Tom', 'n': 4}], '--token-times').ok().lines
    equal(len(timed['timing']['token_ms']), 4)
    equal((timed['id'], timed['line']), (None, 1))


@test
def lines_of_openai_are_answered_as_theirs_are():
    """Members and forms as in OpenAI's batch files: {custom_id, method, url, body} and {id, custom_id, response, error}."""
    def line(custom_id, url='/v1/completions', **body):
        return {'custom_id': custom_id, 'method': 'POST', 'url': url, 'body': body}
    alone = runnel('run', 'Tom', '-n', '5', '--temp', '0', '--json').ok()
    usage = alone.lines[-1]['usage']
    plain = {'model': 'some-model', 'prompt': 'Tom', 'max_tokens': 5, 'temperature': 0, 'stream': False, 'n': 1, 'user': 'me', 'logprobs': None}
    answer, = batch([line('a "1"', **plain)]).ok().lines
    equal(sorted(answer), ['custom_id', 'error', 'id', 'response'])
    equal((answer['custom_id'], answer['error'], answer['response']['status_code']), ('a "1"', None, 200))
    body = answer['response']['body']
    equal(sorted(body), ['choices', 'created', 'id', 'model', 'object', 'usage'])
    equal((body['object'], body['model']), ('text_completion', 'some-model'))
    equal(body['choices'], [{'index': 0, 'text': ''.join(l.get('text', '') for l in alone.lines), 'logprobs': None, 'finish_reason': 'length'}])
    equal(body['usage'], {'prompt_tokens': usage['prompt_tokens'], 'completion_tokens': 5, 'total_tokens': usage['prompt_tokens'] + 5})

    messages = [{'role': 'user', 'content': 'Tom'}]
    template = ('--chat-template', 'chatml')
    ours, theirs = batch([{'messages': messages, 'n': 5, 'temp': 0}, line('b', '/v1/chat/completions', messages=messages, max_completion_tokens=5, temperature=0)],
                         '--in-order', *template).ok().lines
    body = theirs['response']['body']
    equal((body['object'], body['choices'][0]['message']), ('chat.completion', ours['message']))

    schema = {'type': 'object', 'properties': {'at': {'enum': ['sky', 'sea']}}, 'required': ['at'], 'additionalProperties': False}
    form = {'type': 'json_schema', 'json_schema': {'name': 'x', 'schema': schema}}
    answer, = batch([line('c', prompt='Tom', max_tokens=90, response_format=form, seed=3)]).ok().lines
    check(json.loads(answer['response']['body']['choices'][0]['text'])['at'] in ('sky', 'sea'), answer)


@test
def a_bad_line_of_openai_is_an_error_with_its_custom_id():
    good = {'prompt': 'Tom', 'max_tokens': 1}
    rows = [({'body': {**good, 'fly': 1}}, 'body: fly: unknown member'), ({'body': {**good, 'n': 2}}, 'body: n: '), ({'body': {**good, 'stream': True}}, 'body: stream: must be false'),
            ({'body': {**good, 'logprobs': True}}, 'body: logprobs: must be false'), ({'body': {'max_tokens': 1}}, 'body: prompt is missing'),
            ({'url': '/v1/embeddings', 'body': good}, 'url: '), ({'method': 'GET', 'body': good}, 'method: '), ({}, 'body is missing'), ({'body': 7}, 'body: must be an object'),
            ({'body': good, 'more': 1}, 'more: unknown member'), ({'body': {**good, 'temperature': 'hot'}}, 'body: temperature: '),
            ({'body': {**good, 'response_format': {'type': 'json_schema'}}}, 'json_schema.schema is missing'), ({'body': {**good, 'response_format': {}}}, 'type is missing')]
    for more, why in rows:
        done = batch([{'custom_id': 'x', 'url': '/v1/completions', **more}])
        equal(done.code, 1)
        answer, = done.lines
        equal((answer['custom_id'], answer['response']), ('x', None))
        check(why in answer['error']['message'] and answer['error']['message'].startswith('line 1: '), why, answer)


@test
def a_line_may_give_its_answer_a_form():
    schema = {'type': 'object', 'properties': {'at': {'enum': ['sky', 'sea']}}, 'required': ['at'], 'additionalProperties': False}
    forms = [{'json_schema': schema}, {'json_schema': schema, 'json_space': 'compact'}, {'regex': '[a-c]{3}'}, {'choices': ['yes', 'no']}, {'json_mode': True}, {'json_mode': False}]
    requests = [{'id': i, 'prompt': 'Once', 'n': 90, 'seed': i, 'temp': 2, **form} for i, form in enumerate(forms * 3)]
    answers = {a['id']: a for a in batch(requests).ok().lines}
    for i, a in answers.items():
        text, form = a['text'], forms[i % len(forms)]
        if 'json_schema' in form:
            equal(text, json.dumps(json.loads(text), separators=(',', ':') if 'json_space' in form else (', ', ': ')))
            check(json.loads(text)['at'] in ('sky', 'sea'), text)
        check('regex' not in form or (len(text) == 3 and set(text) <= set('abc')), text)
        check('choices' not in form or text in ('yes', 'no'), text)
        check(form.get('json_mode') is not True or text.startswith('{'), text)
        if i % len(forms) < 4:
            equal((a['finish_reason'], a['finish_detail']), ('stop', 'grammar'))
    equal(answers[5]['text'], runnel('run', '--no-newline', 'Once', '-n', 90, '--seed', 5, '--temp', 2).ok().text)


@test
def a_line_may_have_to_call_a_tool():
    look = {'name': 'look', 'parameters': {'type': 'object', 'properties': {'at': {'enum': ['sky', 'sea']}}, 'required': ['at'], 'additionalProperties': False}}
    tools = [{'type': 'function', 'function': f} for f in (look, {'name': 'f'})]
    base = {'messages': [{'role': 'user', 'content': 'Once'}], 'tools': tools, 'temp': 2, 'seed': 4, 'n': 200}
    named = {'type': 'function', 'function': {'name': 'look'}}
    more = [{'tool_choice': 'required', 'parallel_tool_calls': False}, {'tool_choice': named},
            {'tool_choice': 'required', 'regex': 'a'}, {'tool_choice': named, 'tools': tools[1:]}, {'tool_choice': 'some'}]
    lines = [{'id': i, **base, **m} for i, m in enumerate(more)]
    with Folder() as folder:
        path = folder / 't.jinja'
        path.write_text('{% for t in tools or [] %}{{ t.function.name }} {% endfor %}{{ messages[-1].content }}')
        told = {a['id']: a for a in batch(lines, '--chat-template', path, '--output-format', 'hermes').lines}
    for i in (0, 1):
        call, = told[i]['message']['tool_calls']
        name, arguments = call['function']['name'], json.loads(call['function']['arguments'])
        check((name == 'look' and arguments in ({'at': 'sky'}, {'at': 'sea'})) or (i == 0 and (name, arguments) == ('f', {})), told[i])
    for i, part in ((2, 'tool_choice: excludes regex'), (3, 'tool_choice: tools: none is named "look"'), (4, 'tool_choice: must be none')):
        check(part in told[i]['error'], told[i])


@test
def a_line_may_name_the_model_of_draft_whatever_the_others_do():
    lines = [{'prompt': 'Once', 'n': 20, 'temp': 0, 'speculate': 'draft', 'draft_min': 4}, {'prompt': 'Once', 'n': 20, 'temp': 0, 'draft_min': 4}]
    drafted, other = batch(lines, '--draft', MODEL, '--speculate', 'ngram', '--in-order').ok().lines
    check(drafted['speculation']['by_drafter']['draft'][1] > 0 and 'draft' not in other['speculation']['by_drafter'], drafted, other)
    drafted, = batch(lines[:1], '--draft', MODEL, '--no-speculate').ok().lines
    check(drafted['speculation']['by_drafter']['draft'][1] > 0, drafted)
    tree = {'prompt': 'Once', 'n': 4, 'strategy': 'tree', 'simulations': 4}     # makes no guesses
    searched, refused = batch([tree, {**tree, 'speculate': 'draft'}], '--draft', MODEL, '--in-order').lines
    equal(('error' in searched, refused.get('error')), (False, 'line 2: speculate: not with the strategy tree'))


@test
def what_has_no_effect_is_refused_as_at_the_command_line():
    no_guesses = 'has no effect without speculation'
    for more, why in (({'spec_verify': 'typical', 'speculate': 'none'}, f'spec_verify: {no_guesses}'), ({'draft_max': 4, 'speculate': 'none'}, f'draft_max: {no_guesses}'),
                      ({'draft_min': 4, 'speculate': ['none']}, f'draft_min: {no_guesses}'), ({'prediction': 'a', 'speculate': 'none'}, f'prediction: {no_guesses}'),
                      ({'draft_max': 4, 'strategy': 'tree'}, 'draft_max: has no effect with a strategy that makes no guesses'),
                      ({'draft_min_p': 0.5}, 'draft_min_p: has no effect without the drafters draft or layer-skip')):
        equal(batch([{'prompt': 'Tom', 'n': 4, **more}]).lines[0].get('error'), f'line 1: {why}')
    # What the command line gives is for the lines that it is something to.
    lines = batch([{'prompt': 'Tom', 'n': 4, 'speculate': 'none'}, {'prompt': 'Tom', 'n': 4, 'speculate': []}], '--draft-max', '8', '--spec-verify', 'reject', '--in-order').ok().lines
    equal(['speculation' in line for line in lines], [False, True])


@test
def later_lines_are_drafted_from_earlier_answers():
    lines = [{'prompt': 'Once', 'n': 60, 'temp': 0, 'speculate': how, 'draft_min': 4, 'draft_max': 4} for how in ('suffix', 'suffix', 'ngram')]
    for more in ((), ('--outputs-mib', 0)):
        first, again, other = batch(lines, '--parallel', 1, *more).ok().lines
        equal([again['text'], other['text']], [first['text']] * 2)
        right = [a.get('speculation', {}).get('accepted', 0) for a in (first, again)]
        check(right[1] > right[0] + 30 if not more else right[1] == right[0], right)
    body = {'prompt': 'Once', 'n': 60, 'temp': 0}
    plain, predicted = batch([body, {**body, 'prediction': first['text'], 'draft_min': 4}], '--parallel', 1, '--in-order').ok().lines
    equal(predicted['text'], plain['text'])
    check(predicted['speculation']['accepted_prediction'] > 20, predicted['speculation'])
    runnel('batch', '--outputs-mib', -1).fails(2, '--outputs-mib: -1 is outside 0..65536')


@test
def in_order_means_the_order_of_the_lines():
    requests = [{'id': i, 'prompt': PROMPTS[i % 6], 'n': 60 - i, 'ignore_eos': True} for i in range(40)]
    equal([a['id'] for a in batch(requests, '--in-order', '--parallel', '4').ok().lines], list(range(40)))
    shortest_last = [{'id': 'long', 'prompt': 'Tom', 'n': 200, 'ignore_eos': True}, {'id': 'short', 'prompt': 'Tom', 'n': 1}]
    equal([a['id'] for a in batch(shortest_last).ok().lines], ['short', 'long'])


BAD = [
    # a line, part of the error
    (b'{"id":1', 'not JSON'),
    (b'[1]', 'must be an object, not an array'),
    (b'{"id":1,"prompt":"a"} x', 'not JSON'),
    (b'{"id":1,"prompt":"a","prompt":"b"}', 'not JSON'),
    (b'{"id":1,"prompt":"\xff"}', 'not JSON'),
    (b'{"id":1,"prompt":"a","temp":NaN}', 'not JSON'),
    (b'{"id":1,"prompt":"a","temp":1e999}', 'not JSON'),
    (b'{"id":1}', 'prompt, ids, messages or prefix and suffix is missing'),
    (b'{"id":1,"prefix":"a"}', 'prefix and suffix need each other'), (b'{"id":1,"prompt":"a","suffix":"b"}', 'exclude each other'),
    (b'{"id":1,"prompt":"a","infill_order":"psm"}', 'infill_order needs prefix and suffix'),
    (b'{"id":1,"prefix":"a","suffix":"b","infill_order":"x"}', 'infill_order'), (b'{"id":1,"prefix":"a","suffix":"b"}', 'prefix: the model has no tokens'),
    (b'{"id":1,"prompt":"a","ids":[1]}', 'exclude each other'),
    (b'{"id":1,"prompt":5}', 'prompt: must be a string, not a whole number'),
    (b'{"id":1,"ids":"1"}', 'ids: must be an array'),
    (b'{"id":1,"ids":[1,"2"]}', 'ids[1]: must be a whole number, not a string'),
    (b'{"id":1,"ids":[1,-2]}', 'ids[1]: -2 is outside'),
    (b'{"id":1,"ids":[1,99999]}', '99999'),
    (b'{"id":1,"prompt":"a","max_tokens":5}', 'max_tokens: unknown member'),
    (b'{"id":1,"prompt":"a","json_schema":{"items":{"type":"x"}}}', 'json_schema: /items/type: '),
    (b'{"id":1,"prompt":"a","json_schema":{"uniqueItems":true,"maxItems":2}}', 'json_schema: /uniqueItems: '),
    (b'{"id":1,"prompt":"a","json_schema":"{}"}', 'json_schema: must be a JSON Schema'),
    (b'{"id":1,"prompt":"a","regex":"("}', 'regex: '),
    (b'{"id":1,"prompt":"a","choices":[5]}', 'choices[0]: must be a string'),
    (b'{"id":1,"prompt":"a","regex":"a","json_mode":true}', 'json_mode: excludes regex'),
    (b'{"id":1,"prompt":"a","json_space":"none"}', 'json_space: '),
    (b'{"id":1,"prompt":"a","temp":9}', 'temp: 9 is outside 0..5'),
    (b'{"id":1,"prompt":"a","temp":"1"}', 'temp: must be a number, not a string'),
    (b'{"id":1,"prompt":"a","top_k":1.5}', 'top_k: must be a whole number'),
    (b'{"id":1,"prompt":"a","n":-2}', 'n: -2 is outside'),
    (b'{"id":1,"prompt":"a","n":true}', 'n: must be a whole number, not true'),
    (b'{"id":1,"prompt":"a","seed":-1}', 'seed: -1 is outside'),
    (b'{"id":1,"prompt":"a","stop":["x",5]}', 'stop[1]: must be a string'),
    (b'{"id":1,"prompt":"a","stop":[""]}', 'stop[0]: 0 bytes, must have 1..256'),
    (b'{"id":1,"prompt":"a","stop":' + json.dumps(['s'] * 17).encode() + b'}', 'stop[16]: more than 16 items'),
    (b'{"id":1,"prompt":"a","stop_tokens":5}', 'stop_tokens: must be an array'),
    (b'{"id":1,"prompt":"a","logit_bias":{"x":1}}', "logit_bias: \"x\": 'x' is not a whole number"),
    (b'{"id":1,"prompt":"a","logit_bias":{"5":101}}', '101 is outside -100..100'),
    (b'{"id":1,"prompt":"a","logit_bias":[5]}', 'logit_bias: must be an object'),
    (b'{"id":1,"prompt":"a","preset":"dull"}', "'dull' is not one of"),
    (b'{"id":1,"prompt":"a","logprobs":21}', 'logprobs: 21 is outside 0..20'),
    (b'{"id":1,"prompt":"a","sampler_order":"best"}', "'best' is not one of"),
    (b'{"id":1,"prompt":"a","penalty_prompt":1}', 'penalty_prompt: must be true or false'),
    (b'{"id":[],"prompt":"a"}', 'id: must be'),
    (b'{"id":1,"prompt":"' + b'word ' * 3000 + b'"}', '512'),
]


@test
def a_bad_line_gets_an_error_and_the_others_go_on():
    good = lines_of([{'id': 'good', 'prompt': 'Tom', 'n': 2}])
    for line, part in BAD:
        done = batch(good + line + b'\n' + good, '--in-order')
        equal(done.code, 1, line[:80])
        first, bad, last = done.lines
        equal([first['id'], last['id']], ['good', 'good'])
        check(bad['error'].startswith('line 2: ') and part in bad['error'], bad, 'lacks', part)
        equal(set(bad) - {'line'}, {'id', 'error'})
        equal(bad['id'], 1 if 'not JSON' not in part and b'"id":1' in line else None, line[:80])
        equal(done.err, '')


@test
def lines_end_in_lf_or_crlf_or_the_file_and_blank_ones_are_skipped():
    one = json.dumps({'prompt': 'Tom', 'n': 2}).encode()
    done = batch(b'\n' + one + b'\r\n  \n\r\n' + one, '--in-order').ok()
    equal([a['line'] for a in done.lines], [2, 5])
    equal(batch(b'').ok().out, b'')


@test
def a_line_may_have_16_mib_and_not_more():
    limit = 16 << 20
    pad = lambda n: b'{"id":"x","prompt":"Tom","n":1' + b' ' * (n - 31) + b'}'
    equal(len(pad(limit)), limit)
    done = batch(pad(limit) + b'\n' + pad(limit + 1) + b'\n' + pad(limit) + b'\n' + pad(limit + 70000), '--in-order')
    equal([('error' in a, a['id']) for a in done.lines], [(False, 'x'), (True, None), (False, 'x'), (True, None)])
    check('longer than 16 MiB' in done.lines[1]['error'], done.lines[1])


@test
def options_of_the_command_line_are_defaults_of_each_line():
    requests = [{'id': 0, 'prompt': 'Tom'}, {'id': 1, 'prompt': 'Tom', 'n': 9}, {'id': 2, 'prompt': 'Tom', 'stop': ['never']},
                {'id': 3, 'prompt': 'Tom', 'preset': 'wild', 'temp': 0}]
    answers = batch(requests, '-n', '4', '--temp', '0', '--stop', ' a', '--in-order').ok().lines
    want = runnel('run', '--no-newline', 'Tom', '-n', '9', '--temp', '0').ok().text
    cut = runnel('run', '--no-newline', 'Tom', '-n', '4', '--temp', '0').ok().text
    equal([a['text'] for a in answers], [cut.split(' a')[0], want.split(' a')[0], cut, cut.split(' a')[0]])


@test
def members_mean_what_the_options_mean():
    rows = [
        ({'temp': 0, 'repeat_penalty': 1.3, 'penalty_last_n': 20, 'penalty_prompt': False},
         ['--temp', '0', '--repeat-penalty', '1.3', '--penalty-last-n', '20', '--penalty-prompt', 'off']),
        ({'temp': 0, 'dry_multiplier': 2, 'dry_sequence_breakers': ['a', 'he']}, ['--temp', '0', '--dry-multiplier', '2', '--dry-sequence-breaker', 'a', '--dry-sequence-breaker', 'he']),
        ({'temp': 0, 'dry_multiplier': 2, 'dry_sequence_breakers': []}, ['--temp', '0', '--dry-multiplier', '2', '--dry-sequence-breaker', 'none']),
        ({'samplers': ['top_k', 'temp'], 'temp': 1.5, 'seed': 3, 'mirostat': 0}, ['--samplers', 'top_k;temperature', '--temp', '1.5', '--seed', '3']),
        ({'temp': 0, 'banned_tokens': [261, 263], 'min_tokens': 5}, ['--temp', '0', '--ban-token', '261', '--ban-token', '263', '--min-tokens', '5']),
        ({'preset': 'creative', 'seed': 3, 'sampler_order': 'transformers'}, ['--preset', 'creative', '--seed', '3', '--sampler-order', 'transformers']),
        ({'temp': 0, 'sequence_bias': [[[261, 267], 50], [[402], '-inf']]}, ['--temp', '0', '--sequence-bias', '261,267=50', '--sequence-bias', '402=-inf']),
        ({'temp': 1, 'seed': 3, 'watermark': json.loads(KEYS.read_text())}, ['--temp', '1', '--seed', '3', '--watermark', str(KEYS)]),
        ({'preset': 'creative', 'seed': 3, 'sampler_order': 'exllamav2'}, ['--preset', 'creative', '--seed', '3', '--sampler-order', 'exllamav2']),
        ({'temp': 0, 'logit_bias': {'402': '-inf', '500': 2.5}}, ['--temp', '0', '--logit-bias', '402=-inf', '--logit-bias', '500=2.5']),
        ({'temp': 0, 'echo': True, 'special': True, 'ignore_eos': True}, ['--temp', '0', '--echo', '--special', '--ignore-eos']),
        ({'seed': '18446744073709551615', 'min_p': 0, 'top_p': 1, 'top_k': 0},
         ['--seed', '18446744073709551615', '--min-p', '0', '--top-p', '1', '--top-k', '0']),
    ]
    answers = batch([{'prompt': PROMPTS[0], 'n': 20} | members for members, _ in rows], '--in-order').ok().lines
    for (_, options), a in zip(rows, answers):
        equal(a['text'], runnel('run', '--no-newline', PROMPTS[0], '-n', '20', *options).ok().text, options)


@test
def answers_come_while_the_next_request_is_not_there_yet():
    child = start('batch', '-n', '3', stdin=subprocess.PIPE)
    for i in range(3):
        child.stdin.write(lines_of([{'id': i, 'prompt': 'Tom'}]))
        equal(json.loads(child.stdout.readline())['id'], i)
    child.stdin.close()
    equal((child.stdout.read(), child.wait(timeout=TIMEOUT_S)), (b'', 0))


@test
def requests_may_come_from_a_file():
    with Folder() as folder:
        (folder / 'requests').write_bytes(lines_of([{'id': 'a', 'prompt': 'Tom', 'n': 2}]))
        equal(runnel('batch', folder / 'requests', stdin=None).ok().lines[0]['id'], 'a')
        runnel('batch', folder / 'none').fails(1, 'none: No such file')
        runnel('batch', folder).fails(1, 'Is a directory')


@test
def ctrl_c_answers_what_runs_and_reads_no_more():
    requests = [{'id': i, 'prompt': 'Tom', 'n': 300, 'ignore_eos': True} for i in range(50)]
    child = start('batch', '--parallel', '2', '--cpu', 'ref', stdin=subprocess.PIPE)
    child.stdin.write(lines_of([{'id': 'first', 'prompt': 'Tom', 'n': 1}] + requests))
    first = child.stdout.readline()
    interrupt(child)
    code, rest, err = end(child)
    equal((code, err), (130, ''))
    answers = [json.loads(line) for line in (first + rest).splitlines()]
    check(1 <= len(answers) <= 4, len(answers))
    check(all(a['finish_reason'] == 'cancelled' for a in answers[1:]), answers)


@test
def a_reader_that_goes_away_ends_the_batch_quietly():
    child = start('batch', '--parallel', '2', stdin=subprocess.PIPE)
    child.stdin.write(lines_of([{'prompt': 'Tom', 'n': 30}] * 300))
    child.stdout.readline()
    child.stdout.close()
    child.stdin.close()
    err = child.stderr.read()
    equal((child.wait(timeout=TIMEOUT_S), err), (0, b''))


@test
def u0000_in_a_prompt_survives():
    a, = batch([{'prompt': 'a\0b', 'n': 1, 'echo': True, 'temp': 0}]).ok().lines
    check('a\0b' in a['text'], a)


main()
