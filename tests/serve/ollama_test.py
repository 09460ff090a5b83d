#!/usr/bin/env python3
"""Ollama's interface, byte by byte; its own clients are in ollama_client_test.py."""
import json

from api import chat, chat_model, good, scripted, serving
from serving import KEY, Client, Folder, check, equal, main, test, wait_until

STORY = [{'role': 'user', 'content': 'Once upon a time'}]
LOOK = {'type': 'function', 'function': {'name': 'look', 'parameters': {'type': 'object', 'properties': {'at': {'type': 'string'}}}}}
SHORT = {'num_predict': 8, 'seed': 1}
TIMES = ('created_at', 'total_duration', 'prompt_eval_duration', 'eval_duration', 'speculation')
SHOWN = ('{% for m in messages %}[{{ m.role }}:{{ m.content }}{% if m.name %}|of {{ m.name }}{% endif %}{% if m.tool_call_id %}|id {{ m.tool_call_id }}{% endif %}'
         '{% if m.reasoning_content %}|think {{ m.reasoning_content }}{% endif %}'
         '{% for c in m.tool_calls or [] %}|call {{ c.id }} {{ c.function.name }} {{ c.function.arguments }}{% endfor %}]{% endfor %}'
         '{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}'
         '{% if enable_thinking is defined %}thinks={{ enable_thinking }},{{ thinking }}{% endif %}{% if reasoning_effort %}effort={{ reasoning_effort }}{% endif %}')


def ask(server, path, body, *headers, status=200):
    answer = server.post(path, json.dumps({**body, **({} if 'stream' in body else {'stream': False})}), *headers)
    equal((answer.status, answer.header('content-type')), (status, 'application/json'), answer.body)
    return answer.json


def lines(server, path, body, *headers):
    answer = server.post(path, json.dumps(body), *headers)
    equal((answer.status, answer.header('content-type')), (200, 'application/x-ndjson'), answer.body)
    check(answer.body.endswith(b'\n'), answer.body)
    found = [json.loads(line) for line in answer.body.splitlines()]
    equal([d['done'] for d in found], [False] * (len(found) - 1) + [True])
    return found


def joined(found):
    """The answer that a client makes of the lines."""
    whole = dict(found[-1])
    said = [d['message'] if 'message' in d else d for d in found]
    name = 'content' if 'message' in whole else 'response'
    made = {name: ''.join(d[name] for d in said), 'thinking': ''.join(d.get('thinking', '') for d in said),
            'tool_calls': [c for d in said for c in d.get('tool_calls', ())]}
    made = {k: v for k, v in made.items() if v or k == name}
    if 'message' in whole:
        whole['message'] = {'role': 'assistant', **made}
    else:
        whole.update(made)
    logprobs = [t for d in found for t in d.get('logprobs', ())]
    return {**whole, 'logprobs': logprobs} if logprobs else whole


def plain(answer):
    """Without what differs from answer to answer."""
    answer = {k: v for k, v in answer.items() if k not in TIMES}
    for call in answer.get('message', {}).get('tool_calls', ()):
        call['id'] = ''
    return answer


@test
def a_chat_has_the_text_of_the_same_chat_in_openais_form_as_lines_and_whole():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = chat(s, max_tokens=8, seed=1)
        body = {'model': 'm', 'messages': STORY, 'options': SHORT}
        whole = ask(s, '/api/chat', body)
        equal(whole['message'], {'role': 'assistant', 'content': want['choices'][0]['message']['content']})
        equal((whole['model'], whole['done'], whole['done_reason'], whole['eval_count'], whole['prompt_eval_count'], whole['load_duration']),
              ('m', True, 'length', 8, want['usage']['prompt_tokens'], 0))
        check(whole['total_duration'] >= whole['eval_duration'] > 0 and whole['prompt_eval_duration'] > 0, whole)
        told = lines(s, '/api/chat', body)
        equal(plain(joined(told)), plain(whole))
        check(len(told) > 3, told)
        equal(plain(ask(s, '/api/generate', {'model': 'm:latest', 'prompt': STORY[0]['content'], 'options': SHORT}))['response'], whole['message']['content'])


@test
def a_prompt_is_a_chat_of_one_message_or_raw_text():
    with Folder() as folder, serving(chat_model(folder, '{% for m in messages %}<s>{{ m.role }} {{ m.content }} {% endfor %}')) as s:
        body = {'model': 'm', 'prompt': 'the cat', 'system': 'a dog', 'options': SHORT}
        said = [{'role': 'system', 'content': 'a dog'}, {'role': 'user', 'content': 'the cat'}]
        want = chat(s, messages=said, max_tokens=8, seed=1)
        whole = ask(s, '/api/generate', body)
        equal((whole['response'], whole['prompt_eval_count']), (want['choices'][0]['message']['content'], want['usage']['prompt_tokens']))
        equal(plain(joined(lines(s, '/api/generate', body))), plain(whole))
        raw = {'model': 'm', 'prompt': '<s>the cat', 'raw': True, 'options': SHORT}
        text = good(s, '/v1/completions', prompt='<s>the cat', parse_special=True, max_tokens=8, seed=1)
        whole = ask(s, '/api/generate', raw)
        equal((whole['response'], whole['prompt_eval_count'], 'context' in whole), (text['choices'][0]['text'], text['usage']['prompt_tokens'], False))
        equal(plain(joined(lines(s, '/api/generate', raw))), plain(whole))


@test
def a_context_is_gone_on_from():
    with Folder() as folder, serving(chat_model(folder, '<s>{% for m in messages %}{{ m.content }}{% endfor %}')) as s:
        body = {'model': 'm', 'prompt': 'Once upon a time', 'options': SHORT}
        first = ask(s, '/api/generate', body)
        n = first['prompt_eval_count']
        equal(len(first['context']), n + 8)
        equal(first['context'][:n], s.post('/tokenize', json.dumps({'content': 'Once upon a time', 'add_special': True})).json['tokens'])
        second = ask(s, '/api/generate', {**body, 'prompt': ' The cat', 'context': first['context']})
        added = s.post('/tokenize', json.dumps({'content': ' The cat'})).json['tokens']
        equal(second['context'][:-8], first['context'] + added)
        want = good(s, '/v1/completions', prompt=first['context'] + added, max_tokens=8, seed=1)['choices'][0]['text']
        equal(second['response'], want)
        equal(plain(joined(lines(s, '/api/generate', {**body, 'prompt': ' The cat', 'context': first['context']}))), plain(second))


@test
def thinking_and_tool_calls_are_apart():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        rows = {'T': {'content': 'Wait', 'tool_calls': [('look', {'at': 'the sky'}), ('f', {})]}, 'R': {'content': 'Yes', 'thinking': 'hm so'},
                'N': {'content': 'Yes!'}, 'U': {'content': '', 'thinking': 'hm so'}, 'B': {'content': '</tool_call>', 'tool_calls': [('look', {'INVALID_JSON': '{"at": '})]}}
        for letter, want in rows.items():
            body = {'model': 'm', 'messages': [{'role': 'user', 'content': letter}], 'tools': [LOOK], 'options': {'temperature': 0, 'num_predict': 40}}
            whole = ask(s, '/api/chat', body)
            told = joined(lines(s, '/api/chat', body))
            calls = [(c['function']['name'], c['function']['arguments']) for c in whole['message'].get('tool_calls', ())]
            equal([c['function']['index'] for c in whole['message'].get('tool_calls', ())], list(range(len(calls))))
            equal({k: v for k, v in {**whole['message'], 'tool_calls': calls}.items() if k != 'role' and (v or k == 'content')}, want, letter)
            equal(whole['done_reason'], 'stop')
            equal(plain(told), plain(whole), letter)
        equal(ask(s, '/api/generate', {'model': 'm', 'prompt': 'R', 'options': {'temperature': 0}})['thinking'], 'hm so')


@test
def messages_reach_the_template_in_openais_form():
    call = {'function': {'name': 'look', 'arguments': {'at': 'a "sky"'}}}
    arguments = '{"at":"a \\"sky\\""}'
    history = [{'role': 'system', 'content': 'Be kind.'}, {'role': 'user', 'content': 'a', 'images': []},
               {'role': 'assistant', 'content': 'I look.', 'thinking': 'hm', 'tool_calls': [call, {**call, 'id': 'mine'}]},
               {'role': 'tool', 'content': 'blue', 'tool_name': 'look'}, {'role': 'tool', 'content': 'wide', 'tool_call_id': 'mine'},
               {'role': 'assistant', 'tool_calls': [call]}, {'role': 'tool', 'content': 'red'}, {'role': 'user', 'content': 'b'}]

    def called(id_):
        return {'id': id_, 'type': 'function', 'function': {'name': 'look', 'arguments': arguments}}
    same = [{'role': 'system', 'content': 'Be kind.'}, {'role': 'user', 'content': 'a'},
            {'role': 'assistant', 'content': 'I look.', 'reasoning_content': 'hm', 'tool_calls': [called('call00000'), called('mine')]},
            {'role': 'tool', 'content': 'blue', 'name': 'look', 'tool_call_id': 'call00000'}, {'role': 'tool', 'content': 'wide', 'tool_call_id': 'mine'},
            {'role': 'assistant', 'content': '', 'tool_calls': [called('call00002')]}, {'role': 'tool', 'content': 'red', 'tool_call_id': 'call00002'},
            {'role': 'user', 'content': 'b'}]
    rows = [({}, {}), ({'tools': [LOOK]}, {'tools': [LOOK]}), ({'think': True}, {'chat_template_kwargs': {'enable_thinking': True, 'thinking': True}}),
            ({'think': False}, {'chat_template_kwargs': {'enable_thinking': False, 'thinking': False}}),
            ({'think': 'low'}, {'chat_template_kwargs': {'enable_thinking': True, 'thinking': True}, 'reasoning_effort': 'low'})]
    with Folder() as folder, serving(chat_model(folder, SHOWN)) as s:
        for more, mine in rows:
            want = chat(s, messages=same, max_tokens=8, seed=1, **mine)
            whole = ask(s, '/api/chat', {'model': 'm', 'messages': history, 'options': SHORT, **more})
            equal((whole['prompt_eval_count'], whole['message']['content']), (want['usage']['prompt_tokens'], want['choices'][0]['message']['content']), more)
        begun = [*STORY, {'role': 'assistant', 'content': ' there'}]
        want = chat(s, messages=begun, continue_final_message=True, max_tokens=8, seed=1)['choices'][0]['message']['content']
        equal(ask(s, '/api/chat', {'model': 'm', 'messages': begun, 'options': SHORT})['message']['content'], want)


@test
def logprobs_are_told_as_openais_chat_tells_them():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = chat(s, max_tokens=8, seed=1, logprobs=True, top_logprobs=2)['choices'][0]['logprobs']['content']
        body = {'model': 'm', 'messages': STORY, 'options': SHORT, 'logprobs': True, 'top_logprobs': 2}
        equal(ask(s, '/api/chat', body)['logprobs'], want)
        equal(joined(lines(s, '/api/chat', body))['logprobs'], want)
        equal(ask(s, '/api/generate', {'model': 'm', 'prompt': STORY[0]['content'], 'options': SHORT, 'logprobs': True, 'top_logprobs': 2})['logprobs'], want)


@test
def a_request_without_a_prompt_only_asks_for_the_model():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, body in (('/api/chat', {'messages': []}), ('/api/chat', {}), ('/api/generate', {}), ('/api/generate', {'prompt': '', 'keep_alive': -1})):
            whole = ask(s, path, {'model': 'm', **body})
            equal((whole['done'], whole['done_reason']), (True, 'load'))
            found, = lines(s, path, {'model': 'm', **body})
            equal(plain(found), plain(whole))
            equal(ask(s, path, {'model': 'x', **body}, status=404)['error'], "model: 'x' not found (GET /api/tags lists the models)")


@test
def models_are_listed_shown_and_loaded():
    with Folder() as folder, serving(chat_model(folder, '{% if tools %}{% endif %}{{ messages[0].content }}{{ enable_thinking }}'), '-c', '256') as s:
        version = s.get('/api/version').json
        check(all(part.isdigit() for part in version['version'].split('.')) and version['runnel'], version)
        tag, = s.get('/api/tags').json['models']
        equal((tag['name'], tag['model'], tag['details']['format'], tag['details']['family'], tag['size']),
              ('m', 'm', 'gguf', 'llama', (folder / 'chat.gguf').stat().st_size))
        loaded, = s.get('/api/ps').json['models']
        equal((loaded['name'], loaded['context_length'], loaded['size_vram']), ('m', 256, 0))
        for body in ({'model': 'm'}, {'name': 'm:latest', 'verbose': True}):
            shown = ask(s, '/api/show', body)
            equal((shown['details'], shown['capabilities']), (tag['details'], ['completion', 'tools', 'thinking']))
            check('messages[0]' in shown['template'] and 'temp 0.8' in shown['parameters'], shown)
            info = shown['model_info']
            equal((info['general.architecture'], info['llama.context_length'] >= 256), ('llama', True))
        equal(ask(s, '/api/show', {'model': 'x'}, status=404)['error'], "model: 'x' not found (GET /api/tags lists the models)")
        equal(ask(s, '/api/show', {}, status=400)['error'], 'model: is missing')


@test
def texts_are_embedded():
    with Folder() as folder, serving(chat_model(folder), '-c', '64') as s:
        def vectors(**body):
            return ask(s, '/api/embed', {'model': 'm', **body})['embeddings']
        want = [d['embedding'] for d in good(s, '/v1/embeddings', input=['a cat', 'a dog'], encoding_format='float')['data']]
        equal(vectors(input=['a cat', 'a dog']), want)
        equal(vectors(input='a cat'), want[:1])
        equal(vectors(input=[]), [])
        equal(vectors(input=['a dog', 'a cat'] * 100), want[::-1] * 100)      # more than run at once
        short = [d['embedding'] for d in good(s, '/v1/embeddings', input='a cat', encoding_format='float', dimensions=8)['data']]
        equal(vectors(input='a cat', dimensions=8), short)
        whole = ask(s, '/api/embed', {'model': 'm', 'input': 'a cat'})
        equal((whole['model'], whole['prompt_eval_count'], whole['load_duration']), ('m', good(s, '/v1/embeddings', input='a cat')['usage']['prompt_tokens'], 0))
        old = ask(s, '/api/embeddings', {'model': 'm', 'prompt': 'a cat'})['embedding']
        raw = good(s, '/v1/embeddings', input='a cat', encoding_format='float', normalize=False)['data'][0]['embedding']
        equal(old, raw)
        equal(ask(s, '/api/embeddings', {'model': 'm'}), {'embedding': []})
        long = 'The cat. ' * 100
        equal(len(vectors(input=long)[0]), len(want[0]))
        check('context' in ask(s, '/api/embed', {'model': 'm', 'input': long, 'truncate': False}, status=400)['error'])
        check('dimensions' in ask(s, '/api/embed', {'model': 'm', 'input': 'a', 'dimensions': 100000}, status=400)['error'])


REFUSALS = [
    ('/api/chat', {'messages': [5]}, 'messages[0]: role: is missing'), ('/api/chat', {'messages': [{'role': 'x'}]}, "messages[0]: role: 'x' is not one of"),
    ('/api/chat', {'messages': [{'role': 'user', 'content': 5}]}, 'messages[0]: content: '), ('/api/chat', {'messages': 'a'}, 'messages: '),
    ('/api/chat', {'messages': [{'role': 'user', 'content': 'a', 'images': ['x']}]}, 'messages[0].images[0]: model m takes no pictures'),
    ('/api/chat', {'messages': [{'role': 'assistant', 'tool_calls': 5}]}, 'messages[0]: tool_calls: must be an array'),
    ('/api/chat', {'messages': [{'role': 'assistant', 'tool_calls': [{}]}]}, 'messages[0]: tool_calls[0].function: is missing'),
    ('/api/chat', {'messages': [{'role': 'assistant', 'tool_calls': [{'function': {}}]}]}, 'messages[0]: tool_calls[0].name: is missing'),
    ('/api/chat', {'messages': [{'role': 'assistant', 'tool_calls': [{'function': {'name': 'a', 'arguments': 5}}]}]}, 'messages[0]: tool_calls[0].arguments: must be'),
    ('/api/chat', {'format': 'xml'}, 'format: must be "json" or a JSON Schema'), ('/api/chat', {'think': 'x'}, 'think: '), ('/api/chat', {'think': 5}, 'think: '),
    ('/api/chat', {'stream': 5}, 'stream: '), ('/api/chat', {'keep_alive': []}, 'keep_alive: '), ('/api/chat', {'options': 5}, 'options: must be an object'),
    ('/api/chat', {'options': {'temperature': 9}}, 'options: temperature: '), ('/api/chat', {'options': {'num_predict': -3}}, 'options: num_predict: '),
    ('/api/chat', {'options': {'mirostat': 3}}, 'options: mirostat: '), ('/api/chat', {'options': {'tfs_z': 1.5}}, 'options: tfs_z: '),
    ('/api/chat', {'options': {'typical_p': 1.5}}, 'options: typical_p: '), ('/api/chat', {'options': {'stop': ['a'] * 17}}, 'options: stop[16]: '),
    ('/api/chat', {'options': {'num_ctx': 100000}}, 'options: num_ctx: 100000 is more than'), ('/api/chat', {'top_logprobs': 21}, 'top_logprobs: '),
    ('/api/generate', {'suffix': 'a'}, 'suffix: the model has no tokens for a prompt with a hole'), ('/api/generate', {'template': 'a'}, 'template: set the template'),
    ('/api/generate', {'prompt': 'a', 'images': ['a']}, 'images[0]: model m takes no pictures'), ('/api/generate', {'context': [-1]}, 'context'), ('/api/generate', {'context': [99999]}, 'ids'),
    ('/api/generate', {'prompt': 5}, 'prompt: '), ('/api/generate', {'raw': 5}, 'raw: '), ('/api/generate', {'system': 5}, 'system: '),
    ('/api/embed', {'input': 5}, 'input: '), ('/api/embed', {'input': [5]}, 'input[0]: '), ('/api/embeddings', {'prompt': 5}, 'prompt: '),
    *((path, {'options': {'preset': 'x'}}, "preset: 'x' is not one of") for path in ('/api/chat', '/api/embed')),     # also where nothing is sampled
]


@test
def what_is_wrong_is_named_in_ollamas_form():
    with Folder() as folder, serving(chat_model(folder), '--queue', '64') as s:
        for path, more, sentence in REFUSALS:
            least = {'/api/chat': {'messages': STORY}, '/api/generate': {'prompt': 'a'}}.get(path, {})
            answer = s.post(path, json.dumps({'model': 'm', **least, **more}))
            equal((answer.status, set(answer.json)), (400, {'error'}), (more, answer.body))
            check(answer.json['error'].startswith(sentence), (more, answer.body))
        for path in ('pull', 'push', 'create', 'copy'):
            answer = s.post(f'/api/{path}', json.dumps({'model': 'm'}))
            equal((answer.status, answer.json['error'].split(':')[0]), (501, path))
        with Client(s) as c:
            answer = c.ask('DELETE', '/api/delete', 'Content-Type: application/json', body=json.dumps({'model': 'm'}))
            equal((answer.status, answer.json['error'].split(':')[0]), (501, 'delete'))


@test
def errors_found_before_the_route_have_ollamas_form_too():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        key = f'Authorization: Bearer {KEY}'
        for status, method, path, body, headers in ((401, 'POST', '/api/chat', '{}', ()), (401, 'GET', '/api/tags', None, ()), (404, 'GET', '/api/blobs/x', None, (key,)),
                                                    (405, 'GET', '/api/chat', None, (key,)), (400, 'POST', '/api/chat', '{', (key,))):
            with Client(s) as c:
                answer = c.ask(method, path, 'Content-Type: application/json', *headers, **({} if body is None else {'body': body}))
            equal((answer.status, type(answer.json['error'])), (status, str), path)


@test
def an_error_in_a_stream_is_a_line():
    with Folder() as folder, serving(scripted(folder)) as s:
        body = {'model': 'm', 'messages': [{'role': 'user', 'content': 'E'}], 'options': {'temperature': 0}}
        answer = s.post('/api/chat', json.dumps(body))
        last = json.loads(answer.body.splitlines()[-1])
        equal((answer.status, set(last)), (200, {'error'}))
        equal(set(ask(s, '/api/chat', body, status=500)), {'error'})


@test
def options_without_effect_are_listed():
    with Folder() as folder, serving(chat_model(folder), '-c', '256') as s:
        body = {'model': 'm', 'messages': STORY, 'keep_alive': '5m', 'format': '', 'options': {
            **SHORT, 'num_ctx': 256, 'num_thread': 4, 'num_batch': 8, 'mirostat': 0, 'tfs_z': 1, 'typical_p': 1, 'repeat_last_n': 64}}
        answer = s.post('/api/chat', json.dumps({**body, 'stream': False}))
        equal((answer.status, answer.header('x-runnel-ignored')), (200, 'num_thread, num_batch'))
        equal(s.post('/api/chat', json.dumps(body)).header('x-runnel-ignored'), 'num_thread, num_batch')
        equal(s.post('/api/chat', json.dumps(body), 'x-runnel-strict: true').json['error'], 'options: num_thread: unknown member')


@test
def a_client_that_leaves_cancels_its_answer():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for stream in (True, False):
            with Client(s) as c:
                c.request('POST', '/api/chat', 'Content-Type: application/json', body=json.dumps({
                    'model': 'm', 'messages': STORY, 'stream': stream, 'options': {'num_predict': 400, 'max_tokens_per_second': 1, 'ignore_eos': True}}))
                wait_until(s.working, 'it runs')
            wait_until(lambda: not s.working(), 'nothing runs any more')


@test
def a_full_queue_is_told_in_ollamas_form():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--queue', '0') as s:
        with Client(s) as c:
            c.request('POST', '/api/chat', 'Content-Type: application/json', body=json.dumps({
                'model': 'm', 'messages': STORY, 'options': {'num_predict': 400, 'max_tokens_per_second': 1, 'ignore_eos': True}}))
            wait_until(s.working, 'it runs')
            answer = s.post('/api/chat', json.dumps({'model': 'm', 'messages': STORY}))
            equal((answer.status, set(answer.json), int(answer.header('retry-after')) >= 1), (429, {'error'}, True))


main()
