#!/usr/bin/env python3
"""Searches over HTTP: beam search and the best of several samples, by runnel's members and by those of OpenAI's and vLLM's clients."""
import json

from api import chat_model, error_of, serving, stream
from serving import Folder, Socket, check, equal, main, test, wait_until

GENERATE, TEXT, CHAT = '/v1/runnel/generate', '/v1/completions', '/v1/chat/completions'


def post(server, path, **body):
    return server.post(path, json.dumps({'prompt': 'The cat', 'max_tokens': 8, 'ignore_eos': True, **body}))


def generate(server, **body):
    answer = post(server, GENERATE, **body)
    equal(answer.status, 200, answer.body)
    return answer.json['choices'][0]


@test
def a_beam_search_returns_its_sequences_best_first():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        one = generate(s, strategy='beam', num_beams=4, num_return_sequences=3)
        found = one['sequences']
        equal(len(found), 3)
        check(found[0]['score'] >= found[1]['score'] >= found[2]['score'], found)
        equal((found[0]['text'], found[0]['tokens'], found[0]['finish_reason']), (one['text'], one['tokens'], 'length'))
        check(all(abs(q['score'] - q['logprob'] / len(q['tokens'])) < 1e-6 for q in found), found)
        equal(len({tuple(q['tokens']) for q in found}), 3)
        equal(generate(s, strategy='beam', num_beams=4, num_return_sequences=3, num_beam_groups=1)['sequences'], found)
        greedy = generate(s, temp=0)
        equal(generate(s, strategy='beam', num_beams=1)['tokens'], greedy['tokens'])
        equal('sequences' in greedy, False)


@test
def clients_of_vllm_and_openai_ask_for_it_in_their_words():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        for width in (2, 4):
            want = generate(s, strategy='beam', num_beams=width, length_penalty=0.5, early_stopping=True)
            answer = post(s, TEXT, use_beam_search=True, beam_width=width, length_penalty=0.5, early_stopping=True)
            equal(answer.json['choices'][0]['text'], want['text'], answer.body)
            for more in ({'best_of': width, 'use_beam_search': True}, {'use_beam_search': True, 'best_of': width, 'beam_width': width}):     # vLLM's until 0.6
                equal(post(s, TEXT, **more, length_penalty=0.5, early_stopping=True).json['choices'][0]['text'], want['text'])
        want = generate(s, strategy='best-of', best_of=3, seed=5, temp=1.5)
        equal(post(s, TEXT, best_of=3, seed=5, temperature=1.5).json['choices'][0]['text'], want['text'])
        equal(post(s, TEXT, best_of=1, use_beam_search=False, length_penalty=1.0, seed=5).status, 200)


@test
def the_best_of_several_samples_is_one_of_those_with_the_next_seeds():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        best = generate(s, strategy='best-of', best_of=4, num_return_sequences=4, seed=11, temp=1.2)
        alone = [generate(s, seed=11 + i, temp=1.2)['tokens'] for i in range(4)]
        equal(sorted(q['tokens'] for q in best['sequences']), sorted(alone))
        equal(best['tokens'], best['sequences'][0]['tokens'])
        generate(s, strategy='best-of', majority='line', temp=1.2)


@test
def a_model_beside_values_the_texts_of_a_tree_search():
    tree = {'strategy': 'tree', 'simulations': 12, 'max_tokens': 6}
    with Folder() as folder:
        model = chat_model(folder)
        with serving(model, '--value-model', model) as s:
            for width in (2, 4):  # the same model says the same
                equal(generate(s, value='model', tree_width=width, **tree)['tokens'], generate(s, value='likelihood', tree_width=width, **tree)['tokens'])
        with serving(model) as s:
            for value, says in (('model', 'value: the strategy needs the number of another model, or an engine with one'), ('model:1', 'value: 1 is no model'),
                                ('model:a.gguf', 'value: "model:a.gguf" is neither'), ('callback', 'value: callback: there is no function')):
                answer = post(s, TEXT, value=value, **tree)
                equal(answer.status, 400, answer.body)
                check(says in error_of(answer.json)['message'], answer.body)


@test
def what_a_server_has_no_room_for_is_refused_with_its_option():
    with Folder() as folder, serving(chat_model(folder), '--beams', '2') as s:
        for body, says in (({'strategy': 'beam'}, 'strategy: 4 texts at once, more than this server has room for (--beams 2)'),
                           ({'strategy': 'beam', 'num_beams': 2, 'n': 3}, 'n: 3 answers of num_beams 2'),
                           ({'strategy': 'best-of', 'best_of': 2, 'n': 3}, 'n: 3 answers of best_of 2'),
                           ({'best_of': 2, 'use_beam_search': True, 'strategy': 'best-of'}, 'use_beam_search: excludes the strategy best-of'),
                           ({'best_of': 2, 'use_beam_search': True, 'beam_width': 3}, 'best_of: 2 beside num_beams 3, which it is with use_beam_search'),
                           ({'best_of': 2, 'use_beam_search': True, 'n': 3}, 'n: 3 answers of num_beams 2'),
                           ({'use_beam_search': True, 'n': 3}, 'strategy: 3 texts at once, more than this server has room for (--beams 2)'),
                           ({'num_beams': 2}, 'num_beams: is an option of the strategy beam, not of sample'),
                           ({'strategy': 'best-of', 'best_of': 2, 'majority': '('}, 'majority: '),
                           ({'strategy': 'greedy'}, "strategy: 'greedy' is not one of sample|beam|best-of")):
            answer = post(s, TEXT, **body)
            equal(answer.status, 400, answer.body)
            check(says in error_of(answer.json)['message'], answer.body)


@test
def errors_of_options_of_strategies_name_them():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        for body, param in (({'strategy': 'beam', 'penalty_alpha': 0.3}, 'penalty_alpha'), ({'strategy': 'beam', 'num_beams': 4, 'num_beam_groups': 3}, 'num_beam_groups'),
                            ({'strategy': 'best-of', 'majority': '('}, 'majority'), ({'strategy': 'contrastive', 'best_of': 2}, 'best_of'),
                            ({'strategy': 'dola'}, 'strategy'), ({'beam_width': 3}, 'num_beams'), ({'strategy': 'beam', 'mirostat': 2}, 'mirostat'),
                            ({'strategy': 'nothing'}, 'strategy'), ({'strategy': 'contrastive', 'top_k': 65}, 'top_k'),
                            ({'strategy': 'contrastive-decoding'}, 'amateur_model'), ({'strategy': 'tree', 'value': 'good'}, 'value'),
                            ({'strategy': 'tree', 'use_beam_search': True}, 'use_beam_search'), ({'use_beam_search': True, 'strategy': 'sample'}, 'use_beam_search')):
            answer = post(s, TEXT, **body)
            equal((answer.status, error_of(answer.json)['param']), (400, param), answer.body)
        check('(--early-layers low' in error_of(post(s, TEXT, strategy='dola').json)['message'], 'it says what to start the server with')
        equal(post(s, TEXT, strategy='beam', use_beam_search=True).status, 200)


@test
def top_k_of_contrastive_search_are_its_candidates_as_generate_has_it():
    with Folder() as folder, serving(chat_model(folder)) as s:
        search = {'strategy': 'contrastive', 'max_tokens': 16}
        want = {k: generate(s, num_candidates=k, **search)['tokens'] for k in (1, 4, 9)}
        check(want[1] != want[9], want)
        for k, tokens in want.items():
            equal(generate(s, top_k=k, temperature=0.7, top_p=0.9, **search)['tokens'], tokens)
            equal(generate(s, top_k=3, num_candidates=k, **search)['tokens'], tokens)
        for off in (0, -1):
            equal(generate(s, top_k=off, **search)['tokens'], want[4])


@test
def several_answers_of_a_search_are_its_best_texts():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        for search in ({'strategy': 'beam', 'num_beams': 4}, {'strategy': 'best-of', 'best_of': 4, 'seed': 3, 'temp': 1.3}):
            want = generate(s, num_return_sequences=3, **search)['sequences']
            for path in (GENERATE, TEXT):
                answer = post(s, path, n=3, **search)
                equal(answer.status, 200, answer.body)
                equal([c['text'] for c in answer.json['choices']], [q['text'] for q in want])
                equal([c['finish_reason'] for c in answer.json['choices']], [q['finish_reason'] for q in want])
            equal(answer.json['usage']['completion_tokens'], sum(len(q['tokens']) for q in want))
            equal([c['tokens'] for c in post(s, GENERATE, n=3, **search).json['choices']], [q['tokens'] for q in want])
            events = [json.loads(line[6:]) for line in post(s, TEXT, n=3, stream=True, **search).body.decode().split('\n\n') if line.startswith('data: {')]
            texts = ['', '', '']
            for c in (c for e in events for c in e['choices']):
                texts[c['index']] += c['text']
            equal(texts, [q['text'] for q in want])
        # As vLLM has it: as many beams as answers; two prompts, two searches.
        two = [q['text'] for q in generate(s, strategy='beam', num_beams=2, num_return_sequences=2)['sequences']]
        equal([c['text'] for c in post(s, TEXT, use_beam_search=True, n=2).json['choices']], two)
        both = s.post(TEXT, json.dumps({'prompt': ['The cat', 'A dog'], 'max_tokens': 8, 'ignore_eos': True, 'use_beam_search': True, 'n': 2})).json['choices']
        equal(([c['text'] for c in both[:2]], [c['index'] for c in both]), (two, [0, 1, 2, 3]))


def by_text(choices):
    return sorted(((c['text'], c['finish_reason'], c['runnel']['finish_detail'], c['logprobs']) for c in choices), key=repr)


@test
def several_answers_of_a_search_have_log_probabilities_and_ends_of_their_own():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        search = {'best_of': 4, 'seed': 3, 'temp': 1.3, 'max_tokens': 24, 'ignore_eos': False}
        stops = [None, [generate(s, seed=4, temp=1.3, max_tokens=24)['text'][5:8]]]
        for more in ({'stop': stop, 'include_stop_str_in_output': whole} for stop in stops for whole in (False, True)):
            alone = [post(s, TEXT, logprobs=3, **{**search, 'seed': 3 + i, 'best_of': 1}, speculate='none', **more).json['choices'][0] for i in range(4)]
            answer = post(s, TEXT, n=4, logprobs=3, **search, **more)
            equal(answer.status, 200, answer.body)
            equal(by_text(answer.json['choices']), by_text(alone))
            events = [json.loads(line[6:]) for line in post(s, TEXT, n=4, logprobs=3, stream=True, **search, **more).body.decode().split('\n\n') if line.startswith('data: {')]
            for i, whole in enumerate(answer.json['choices']):
                told = [c for e in events for c in e['choices'] if c['index'] == i]
                equal(''.join(c['text'] for c in told), whole['text'])
                for name, values in whole['logprobs'].items():
                    equal([v for c in told for v in c['logprobs'][name]], values, name)
                equal((told[-1]['finish_reason'], told[-1]['runnel']['finish_detail']), (whole['finish_reason'], whole['runnel']['finish_detail']))
        check(any(c['runnel']['finish_detail'] == f'stop string "{stops[1][0]}"' for c in alone), alone)
        for search in ({'strategy': 'beam', 'num_beams': 4}, {'use_beam_search': True, 'beam_width': 4, 'length_penalty': 0.5}):
            found = generate(s, num_return_sequences=3, logprobs=2, sampled_logprobs=0, **search)
            one = post(s, GENERATE, n=3, logprobs=2, sampled_logprobs=0, **search).json['choices']
            equal(one[0]['logprobs'], found['logprobs'])
            for c, q in zip(one, found['sequences'], strict=True):
                equal(c['logprobs'], q['logprobs'])
                equal([t['id'] for t in c['logprobs']], q['tokens'])
                check(abs(sum(t['logprob'] for t in c['logprobs']) - q['logprob']) < 1e-4, c)
                check(all(len(t['top']) == 2 and t['entropy'] >= 0 and t['rank'] >= 1 and 'sampled' not in t for t in c['logprobs']), c)
            talk = {'messages': [{'role': 'user', 'content': 'Tell me of a cat'}], 'max_tokens': 8, **search}
            said = s.post(CHAT, json.dumps({**talk, 'n': 3, 'logprobs': True, 'top_logprobs': 2})).json['choices']
            texts = [q['text'] for q in s.post(GENERATE, json.dumps({**talk, 'num_return_sequences': 3})).json['choices'][0]['sequences']]
            for c, text in zip(said, texts, strict=True):
                equal(bytes(b for t in c['logprobs']['content'] for b in t['bytes']).decode(), text)
                check(all(len(t['top_logprobs']) == 2 for t in c['logprobs']['content']), c)


@test
def several_answers_of_a_search_each_begin_with_the_prompt_where_it_is_asked_for():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        search = {'best_of': 3, 'seed': 3, 'temp': 1.3}
        alone = lambda i, **more: post(s, TEXT, **{**search, 'seed': 3 + i, 'best_of': 1}, speculate='none', **more).json['choices'][0]
        for more in ({'echo': True}, {'echo': True, 'logprobs': 2}, {'prompt_logprobs': 2}, {'echo': True, 'logprobs': 1, 'prompt_logprobs': 0, 'stop': ['a']}):
            gist = lambda c: repr((c['text'], c['logprobs'], c.get('prompt_logprobs'), c['finish_reason']))
            want = sorted(gist(alone(i, **more)) for i in range(3))
            answer = post(s, TEXT, n=3, **search, **more)
            equal(answer.status, 200, answer.body)
            equal(sorted(map(gist, answer.json['choices'])), want, more)
            whole = answer.json['choices']
            told = [[c for e in stream(s, TEXT, prompt='The cat', max_tokens=8, ignore_eos=True, n=3, **search, **more) for c in e['choices'] if c['index'] == i] for i in range(3)]
            for parts, c in zip(told, whole, strict=True):
                equal(''.join(p['text'] for p in parts), c['text'])
                equal([p['prompt_logprobs'] for p in parts if 'prompt_logprobs' in p], [c['prompt_logprobs']] if 'prompt_logprobs' in c else [])
                for name, values in (c['logprobs'] or {}).items():
                    equal([v for p in parts for v in p['logprobs'][name]], values, name)
        want = [{**q, 'text': 'The cat' + q['text']} for q in generate(s, strategy='beam', num_beams=3, num_return_sequences=2, logprobs=0)['sequences']]
        more = {'strategy': 'beam', 'num_beams': 3, 'n': 2, 'echo': True, 'logprobs': 0, 'prompt_logprobs': 1}
        found = post(s, GENERATE, **more).json['choices']
        equal([(c['text'], c['tokens'], c['logprobs']) for c in found], [(q['text'], q['tokens'], q['logprobs']) for q in want])
        equal(found[1]['prompt_logprobs'], found[0]['prompt_logprobs'])
        told = stream(s, GENERATE, prompt='The cat', max_tokens=8, ignore_eos=True, **more)
        for c in found:
            equal([t['prompt_logprobs'] for t in told if t['choice'] == c['choice'] and 'prompt_logprobs' in t], [c['prompt_logprobs']])
            equal(''.join(t['text'] for t in told if t['choice'] == c['choice']), c['text'])


@test
def a_search_that_a_socket_cancels_ends_with_its_best_text_so_far():
    body = {'prompt': 'The cat', 'max_tokens': 400, 'ignore_eos': True}
    with Folder() as folder, serving(chat_model(folder), '--beams', '4', '--cpu', 'ref') as s, s.connect() as c:
        w = Socket(c, '/v1/stream')
        for search in ({'strategy': 'beam', 'num_beams': 4}, {'strategy': 'best-of', 'best_of': 4, 'seed': 1}, {'strategy': 'beam', 'num_beams': 3, 'credit': 0},
                       {'strategy': 'beam', 'num_beams': 2, 'n': 2}):
            w.send(json.dumps({'type': 'generate', 'id': 'a', **body, **search, 'logprobs': 0}))
            equal(json.loads(w.text())['type'], 'begun')
            wait_until(lambda: s.get('/slots').json[0]['state'] == 'decode', 'it has begun')
            w.send(json.dumps({'type': 'cancel', 'id': 'a'}))
            told = []
            while not told or told[-1]['type'] != 'cancelled':
                told.append(json.loads(w.text()))
            chunks = told[:-1]
            equal({t['type'] for t in chunks}, {'chunk'}, told)
            equal((chunks[-1]['finish_reason'], 'sequences' in chunks[-1]), ('cancelled', False), chunks[-1])
            tokens = [t for x in chunks for t in x['tokens']]
            check(len(tokens) > 0 and ''.join(x['text'] for x in chunks), told)
            equal([t['id'] for x in chunks for t in x['logprobs']], tokens)
            equal(chunks[-1]['usage']['completion_tokens'], len(tokens))


TOOLS = [{'type': 'function', 'function': {'name': 'look', 'parameters': {
    'type': 'object', 'properties': {'at': {'enum': ['sky', 'sea', 'cat']}, 'days': {'type': 'integer', 'minimum': 1, 'maximum': 9}}, 'required': ['at', 'days'], 'additionalProperties': False}}}]


def said(choice):
    """What an answer of a conversation says, without the ids of its calls."""
    m = choice['message']
    return m.get('content'), m.get('reasoning_content'), [c['function'] for c in m.get('tool_calls') or ()], choice['finish_reason']


def joined_message(told, n):
    """The same of each of n answers, from a stream's chunks."""
    content, calls, finish = [''] * n, [{} for _ in range(n)], [None] * n
    for c in (c for t in told for c in t['choices']):
        i, delta = c['index'], c['delta']
        content[i] += delta.get('content') or ''
        for call in delta.get('tool_calls', ()):
            one = calls[i].setdefault(call['index'], {'name': '', 'arguments': ''})
            one['name'] = call['function'].get('name') or one['name']
            one['arguments'] += call['function'].get('arguments') or ''
        finish[i] = c['finish_reason'] or finish[i]
    return [(content[i], list(calls[i].values()), finish[i]) for i in range(n)]


@test
def several_answers_of_a_search_in_a_conversation_are_told_apart_each_for_itself():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4', '--output-format', 'hermes') as s:
        talk = {'messages': [{'role': 'user', 'content': 'Tell me of a cat'}], 'max_tokens': 60, 'temperature': 1.3}
        ask = lambda **body: s.post(CHAT, json.dumps({**talk, **body}))
        for more in ({}, {'tools': TOOLS, 'tool_choice': 'required'}, {'tools': TOOLS, 'tool_choice': 'required', 'parallel_tool_calls': False}):
            answer = ask(best_of=3, n=3, seed=7, **more)
            equal(answer.status, 200, answer.body)
            found = answer.json['choices']
            equal([c['index'] for c in found], [0, 1, 2])
            if not more:
                alone = [ask(seed=7 + i).json['choices'][0] for i in range(3)]
                equal(sorted(map(repr, map(said, found))), sorted(map(repr, map(said, alone))))
            for choice in found if more else ():
                calls = said(choice)[2]
                check(calls and (len(calls) == 1 or 'parallel_tool_calls' not in more), choice)
                for call in calls:
                    arguments = json.loads(call['arguments'])
                    check(call['name'] == 'look' and arguments['at'] in ('sky', 'sea', 'cat') and arguments['days'] in range(1, 10), call)
            equal(len({repr(said(c)) for c in found}), 3, found)
            told = stream(s, CHAT, **talk, best_of=3, n=3, seed=7, **more)
            equal([(c or '', calls, why) for c, calls, why in joined_message(told, 3)], [(a or '', calls, why) for a, _, calls, why in map(said, found)], more)
        whole = ask(use_beam_search=True, n=2)
        equal(whole.status, 200, whole.body)
        native = s.post(GENERATE, json.dumps({**talk, 'strategy': 'beam', 'num_beams': 2, 'num_return_sequences': 2})).json['choices'][0]
        equal([said(c)[0] for c in whole.json['choices']], [q['text'] for q in native['sequences']])


@test
def beams_stream_what_is_certain_and_end_with_the_whole_answer():
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        whole = generate(s, strategy='beam', num_beams=3, num_return_sequences=2)
        lines = post(s, GENERATE, strategy='beam', num_beams=3, num_return_sequences=2, stream=True).body.decode().split('\n\n')
        events = [json.loads(line[6:]) for line in lines if line.startswith('data: {')]
        equal([t for e in events for t in e.get('tokens', [])], whole['tokens'])
        equal([e['sequences'] for e in events if 'sequences' in e], [whole['sequences']])


def revised(chunks):
    """(text, tokens, how many chunks replaced something) of an answer that was told with revisions."""
    text, tokens, n_replaced = b'', [], 0
    for c in chunks:
        if 'replace_from' in c:
            check(c['replace_from'] <= len(tokens) and c['replace_text_from'] <= len(text), c)
            n_replaced += c['replace_from'] < len(tokens)
            text, tokens = text[:c['replace_text_from']], tokens[:c['replace_from']]
        text, tokens = text + c['text'].encode(), tokens + c['tokens']
    return text.decode(), tokens, n_replaced


def chunks_of(socket, **body):
    socket.send(json.dumps({'type': 'generate', 'id': 'a', **body}))
    while True:
        told = json.loads(socket.text())
        if told['type'] == 'chunk':
            yield told
            if told.get('finish_reason'):
                return


@test
def a_search_that_is_out_of_time_ends_with_its_best_text_so_far():
    body = {'prompt': 'The cat', 'max_tokens': 400, 'ignore_eos': True, 'timeout': 0.2}
    with Folder() as folder, serving(chat_model(folder), '--beams', '4', '--cpu', 'ref') as s:
        for search in ({'strategy': 'beam', 'num_beams': 4}, {'strategy': 'best-of', 'best_of': 4, 'seed': 1}):
            told = stream(s, GENERATE, **body, **search, logprobs=0)
            tokens = [t for c in told for t in c['tokens']]
            equal((told[-1]['finish_reason'], told[-1]['finish_detail'], 'sequences' in told[-1]), ('length', 'timeout', False))
            equal([t['id'] for c in told for t in c['logprobs']], tokens)
            equal(told[-1]['usage']['completion_tokens'], len(tokens))
            check(told[-1]['tokens'] and told[-1]['text'], told[-1])
            answer = s.post(TEXT, json.dumps({**body, **search, 'n': 2}))
            equal((answer.status, answer.json['choices'][0]['runnel']['finish_detail']), (200, 'timeout'), answer.body)
            check(answer.json['choices'][0]['text'], answer.body)


@test
def a_reader_that_accepts_revisions_has_the_best_text_at_once_and_the_same_one_at_the_end():
    n_replaced, body = 0, {'prompt': 'The cat', 'max_tokens': 24, 'ignore_eos': True, 'accept_revisions': True}
    with Folder() as folder, serving(chat_model(folder), '--beams', '4') as s:
        for search in ({'strategy': 'beam', 'num_beams': 4}, {'strategy': 'beam', 'num_beams': 3, 'do_sample': True, 'temp': 2, 'seed': 1},
                       {'strategy': 'best-of', 'best_of': 4, 'seed': 3, 'temp': 1.3}, {'strategy': 'tree', 'simulations': 8}, {'temp': 0}):
            whole = generate(s, max_tokens=24, **search)
            told = stream(s, GENERATE, **body, **search)
            text, tokens, n = revised(told)
            equal((text, tokens), (whole['text'], whole['tokens']), search)
            equal(told[-1].get('sequences'), whole.get('sequences'), search)
            n_replaced += n
        check(n_replaced > 1, n_replaced)
        text, _, n = revised(stream(s, GENERATE, **body, strategy='beam', num_beams=4, echo=True))     # which no revision takes away
        equal((text, n > 0), (body['prompt'] + generate(s, max_tokens=24, strategy='beam', num_beams=4)['text'], True))
        with s.connect() as c:
            told = list(chunks_of(Socket(c, '/v1/stream'), **body, strategy='beam', num_beams=4))
            equal(revised(told)[:2], (told[-1]['sequences'][0]['text'], told[-1]['sequences'][0]['tokens']))
        for more, says in (({}, 'accept_revisions: needs stream'), ({'stream': True, 'overflow': 'drop-oldest'}, 'overflow: drop-oldest excludes accept_revisions'),
                           ({'stream': True, 'prompt': None, 'messages': [{'role': 'user', 'content': 'Hi'}]}, 'accept_revisions: excludes messages')):
            answer = post(s, GENERATE, accept_revisions=True, **more)
            equal(answer.status, 400, answer.body)
            check(says in error_of(answer.json)['message'], answer.body)


main()
