#!/usr/bin/env python3
"""POST /v1/messages and what belongs to it, byte by byte; Anthropic's own clients are in anthropic_client_test.py."""
import json
import re

from api import chat, chat_model, events, scripted, serving
from serving import KEY, Client, Folder, check, equal, main, test, wait_until

STORY = [{'role': 'user', 'content': 'Once upon a time'}]
LOOK = {'name': 'look', 'description': 'Looks.', 'input_schema': {'type': 'object', 'properties': {'at': {'type': 'string'}}}}
SHORT = {'messages': STORY, 'max_tokens': 8, 'seed': 1}
# Writes what a template is given, so that tests see it.
SHOWN = ('{% for m in messages %}[{{ m.role }}:{{ m.content }}{% if m.reasoning_content %}|think {{ m.reasoning_content }}{% endif %}'
         '{% for c in m.tool_calls or [] %}|call {{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}'
         '{% if m.tool_call_id %}|of {{ m.tool_call_id }}{% endif %}{% if m.is_error %}|error{% endif %}]{% endfor %}'
         '{% for t in tools or [] %}<{{ t.function.name }}:{{ t.function.description }}:{{ t.function.parameters | tojson }}>{% endfor %}'
         '{% if enable_thinking is defined %}thinks={{ enable_thinking }},{{ thinking }}{% endif %}{% if reasoning_effort %}effort={{ reasoning_effort }}{% endif %}')


def ask(server, body, *headers, path='/v1/messages', status=200):
    answer = server.post(path, json.dumps(body), *headers)
    equal(answer.status, status, answer.body)
    return answer.json


def told(server, body, *headers):
    answer = server.post('/v1/messages', json.dumps({**body, 'stream': True}), *headers)
    equal((answer.status, answer.header('content-type')), (200, 'text/event-stream'), answer.body)
    found = [(name, data) for _, name, data in events(answer.body)]
    for name, data in found:
        equal(data['type'], name)
    return found


def joined(found):
    """The message that a client makes of the events; they must come in Anthropic's order."""
    kinds = [name for name, _ in found]
    equal((kinds[:2], kinds[-2:]), (['message_start', 'ping'], ['message_delta', 'message_stop']))
    message, is_open = dict(found[0][1]['message']), False
    for name, data in found[2:-2]:
        equal(data['index'], len(message['content']) - (name != 'content_block_start'))
        equal(is_open, name != 'content_block_start')
        if name == 'content_block_start':
            message['content'].append({**data['content_block'], 'json': ''})
        elif name == 'content_block_delta':
            kind, value = (v for v in data['delta'].values())
            field = {'text_delta': 'text', 'thinking_delta': 'thinking', 'input_json_delta': 'json', 'signature_delta': 'signature'}[kind]
            message['content'][-1][field] += value
        is_open = name != 'content_block_stop'
    check(not is_open, 'a block has no end')
    for block in message['content']:
        text = block.pop('json')
        if block['type'] == 'tool_use':
            block['input'] = json.loads(text or '{}')
    end = found[-2][1]
    return {**message, **end['delta'], 'usage': end['usage'], 'runnel': end['runnel']}


def plain(message):
    """Without what differs from answer to answer."""
    return {**message, 'id': '', 'content': [{**b, 'id': ''} for b in message['content']], 'runnel': message['runnel']['finish_detail']}


@test
def a_message_has_the_text_of_the_same_chat_streamed_and_whole():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = chat(s, max_tokens=8, seed=1)
        whole = ask(s, SHORT)
        equal(whole['content'], [{'type': 'text', 'text': want['choices'][0]['message']['content'], 'citations': None}])
        equal((whole['type'], whole['role'], whole['model'], whole['stop_reason'], whole['stop_sequence']),
              ('message', 'assistant', 'm', 'max_tokens', None))
        check(whole['id'].startswith('msg_'), whole['id'])
        equal((whole['usage']['input_tokens'], whole['usage']['output_tokens']), (want['usage']['prompt_tokens'], 8))
        found = told(s, SHORT)
        equal(plain(joined(found)), plain(whole))
        equal(found[0][1]['message']['usage']['input_tokens'], want['usage']['prompt_tokens'])


@test
def thinking_text_and_tool_calls_are_blocks_in_the_order_they_were_written():
    rows = {
        'T': (['text', 'tool_use', 'tool_use'], 'tool_use'), 'R': (['thinking', 'text'], 'end_turn'), 'N': (['text'], 'end_turn'),
        'U': (['thinking'], 'end_turn'), 'A': (['thinking', 'text'], 'end_turn'),
    }
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        for letter, (kinds, reason) in rows.items():
            body = {'messages': [{'role': 'user', 'content': letter}], 'max_tokens': 40, 'temperature': 0, 'tools': [LOOK]}
            whole = ask(s, body)
            equal(([b['type'] for b in whole['content']], whole['stop_reason']), (kinds, reason), letter)
            equal(plain(joined(told(s, body))), plain(whole), letter)
            check(all(re.fullmatch('[a-z0-9]{9}', b['id']) for b in whole['content'] if b['type'] == 'tool_use'), whole)
        calls = [b for b in ask(s, {**body, 'messages': [{'role': 'user', 'content': 'T'}]})['content'] if b['type'] == 'tool_use']
        equal([(b['name'], b['input']) for b in calls], [('look', {'at': 'the sky'}), ('f', {})])
        broken = ask(s, {**body, 'messages': [{'role': 'user', 'content': 'B'}]})['content'][0]
        equal(broken['input'], {'INVALID_JSON': '{"at": '}, 'arguments that are no JSON are not lost')
        single = {**body, 'messages': [{'role': 'user', 'content': 'T'}], 'tool_choice': {'type': 'auto', 'disable_parallel_tool_use': True}}
        whole = ask(s, single)
        equal(([b['type'] for b in whole['content']], whole['stop_reason']), (['text', 'tool_use'], 'tool_use'))
        equal(plain(joined(told(s, single)))['content'], plain(whole)['content'])       # how many tokens it took until the cut is by chance


@test
def the_reason_why_an_answer_ended_is_told():
    script = {'messages': [{'role': 'user', 'content': 'N'}], 'max_tokens': 40, 'temperature': 0}
    with Folder() as folder, serving(scripted(folder), '-c', '64') as s:
        rows = [
            ({}, 'end_turn', None, 'Yes!'), ({'max_tokens': 1}, 'max_tokens', None, 'Yes'),
            ({'stop_sequences': ['zz', '!']}, 'stop_sequence', '!', 'Yes'), ({'stop_sequences': ['es']}, 'stop_sequence', 'es', 'Y'),
            ({'stop_sequences': ['s!' + 'z' * 250, 's']}, 'stop_sequence', 's', 'Ye'), ({'stop_sequences': []}, 'end_turn', None, 'Yes!'),
        ]
        for more, reason, sequence, text in rows:
            whole = ask(s, {**script, **more})
            equal((whole['stop_reason'], whole['stop_sequence'], whole['content'][0]['text']), (reason, sequence, text), more)
            equal(plain(joined(told(s, {**script, **more}))), plain(whole), more)
    with Folder() as folder, serving(chat_model(folder), '-c', '64') as s:
        long = {'messages': STORY, 'max_tokens': 1000, 'ignore_eos': True}
        equal(ask(s, long)['stop_reason'], 'model_context_window_exceeded')
        equal(ask(s, {**long, 'timeout': 0.001})['stop_reason'], 'max_tokens')
        # The library's sentence about a stop string of this length is cut.
        want = chat(s, max_tokens=60, seed=3, ignore_eos=True)['choices'][0]['message']['content']
        sequence = want[5:205]
        equal(ask(s, {**SHORT, 'max_tokens': 60, 'seed': 3, 'ignore_eos': True, 'stop_sequences': [sequence]})['stop_sequence'], sequence)


@test
def system_tools_and_every_kind_of_block_reach_the_template():
    call = {'type': 'tool_use', 'id': 'c1', 'name': 'look', 'input': {'at': 'a "sky"', 'n': [1, None]}}
    history = [
        {'role': 'user', 'content': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b', 'cache_control': {'type': 'ephemeral'}}]},
        {'role': 'assistant', 'content': [{'type': 'thinking', 'thinking': 'hm', 'signature': 's'}, {'type': 'redacted_thinking', 'data': 'x'},
                                          {'type': 'text', 'text': 'I look.'}, call]},
        {'role': 'user', 'content': [
            {'type': 'tool_result', 'tool_use_id': 'c1', 'content': [{'type': 'text', 'text': 'blue'}, {'type': 'text', 'text': 'wide'}]},
            {'type': 'tool_result', 'tool_use_id': 'c2', 'content': 'no', 'is_error': True}, {'type': 'tool_result', 'tool_use_id': 'c3'},
            {'type': 'text', 'text': 'And?'}]},
        {'role': 'assistant', 'content': [call]},
        {'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'c1', 'content': ''}]}]
    arguments = json.dumps(call['input'])
    calls = [{'id': 'c1', 'type': 'function', 'function': {'name': 'look', 'arguments': json.dumps(call['input'], separators=(',', ':'))}}]
    same = [{'role': 'system', 'content': 'Be kind.\nBe brief.'}, {'role': 'user', 'content': 'a\nb'},
            {'role': 'assistant', 'content': 'I look.', 'reasoning_content': 'hm', 'tool_calls': calls},
            {'role': 'tool', 'tool_call_id': 'c1', 'content': 'blue\nwide'}, {'role': 'tool', 'tool_call_id': 'c2', 'content': 'no', 'is_error': True},
            {'role': 'tool', 'tool_call_id': 'c3', 'content': ''}, {'role': 'user', 'content': 'And?'},
            {'role': 'assistant', 'content': '', 'tool_calls': calls}, {'role': 'tool', 'tool_call_id': 'c1', 'content': ''}]
    want = ('[system:Be kind.\nBe brief.][user:a\nb]'
            f'[assistant:I look.|think hm|call c1 look {arguments}][tool:blue\nwide|of c1][tool:no|of c2|error][tool:|of c3][user:And?]'
            f'[assistant:|call c1 look {arguments}][tool:|of c1]')
    with Folder() as folder, serving(chat_model(folder, SHOWN)) as s:
        def check_same(body, more, text):
            """The message's prompt is that of the chat, whose text is this."""
            equal(s.post('/apply-template', json.dumps({'messages': same, **more})).json['prompt'], text)
            chatted = chat(s, messages=same, max_tokens=6, seed=1, **more)
            equal(ask(s, body, path='/v1/messages/count_tokens')['input_tokens'], chatted['usage']['prompt_tokens'])
            whole = ask(s, {**body, 'max_tokens': 6, 'seed': 1})
            equal(whole['content'][0]['text'], chatted['choices'][0]['message']['content'])
        system = [{'type': 'text', 'text': 'Be kind.'}, {'type': 'text', 'text': 'Be brief.'}]
        body = {'system': system, 'messages': history}
        tools = [{'type': 'function', 'function': {'name': 'look', 'description': 'Looks.', 'parameters': LOOK['input_schema']}}]
        shown = f'<look:Looks.:{json.dumps(LOOK["input_schema"])}>'
        rows = [
            (body, {}, want), ({**body, 'system': 'Be kind.\nBe brief.'}, {}, want), ({**body, 'tools': [LOOK]}, {'tools': tools}, want + shown),
            ({**body, 'tools': [LOOK], 'tool_choice': {'type': 'none'}}, {}, want),
            ({**body, 'thinking': {'type': 'enabled', 'budget_tokens': 100}}, {'chat_template_kwargs': {'enable_thinking': True, 'thinking': True}},
             want + 'thinks=True,True'),
            ({**body, 'thinking': {'type': 'disabled'}}, {'chat_template_kwargs': {'enable_thinking': False, 'thinking': False}}, want + 'thinks=False,False'),
            ({**body, 'thinking': {'type': 'adaptive'}, 'output_config': {'effort': 'low'}}, {'reasoning_effort': 'low'}, want + 'effort=low'),
            ({**body, 'chat_template_kwargs': {'enable_thinking': True, 'thinking': 1}}, {'chat_template_kwargs': {'enable_thinking': True, 'thinking': 1}},
             want + 'thinks=True,1'),
        ]
        for body, more, text in rows:
            check_same(body, more, text)


@test
def a_last_message_of_the_assistant_is_the_beginning_of_the_answer():
    begun = [*STORY, {'role': 'assistant', 'content': ' there'}]
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = chat(s, messages=begun, continue_final_message=True, max_tokens=8, seed=1)['choices'][0]['message']['content']
        equal(ask(s, {**SHORT, 'messages': begun})['content'][0]['text'], want)


@test
def tokens_are_counted_as_the_answer_counts_them():
    with Folder() as folder, serving(chat_model(folder), '-c', '128') as s:
        for messages in (STORY, [{'role': 'user', 'content': 'é \U0001f600 <|im_end|>'}, {'role': 'assistant', 'content': 'b'}, *STORY],
                         [{'role': 'user', 'content': 'The cat. ' * 20}]):
            body = {'system': 'Be kind.', 'messages': messages}
            n = ask(s, body, path='/v1/messages/count_tokens')['input_tokens']
            for _ in range(2):      # the second one finds its prompt cached
                equal(ask(s, {**body, 'max_tokens': 1})['usage']['input_tokens'], n)
        marked = {**body, 'max_tokens': 1, 'cache_control': {'type': 'ephemeral'}}
        usage = ask(s, marked)['usage']
        equal(usage['input_tokens'] + usage['cache_read_input_tokens'], n, 'with cache_control the two are apart')
        check(usage['cache_read_input_tokens'] > 0, usage)
        end = told(s, marked)[-2][1]['usage']
        equal((end['input_tokens'], end['cache_read_input_tokens']), (usage['input_tokens'], usage['cache_read_input_tokens']))
        long = [{'role': 'user', 'content': 'The cat. ' * 400}]
        for path, more in (('/v1/messages', {'max_tokens': 1}), ('/v1/messages/count_tokens', {})):
            error = ask(s, {'messages': long, **more}, path=path, status=400)['error']
            check('maximum context length is 128 tokens' in error['message'], error)


REFUSALS = [
    ({'max_tokens': None}, 400, 'max_tokens: is missing'), ({'messages': None}, 400, 'messages: must be an array of at least one message'),
    ({'messages': []}, 400, 'messages: must be'), ({'model': 'x'}, 404, "model: 'x' is unknown"), ({'max_tokens': 1.5}, 400, 'max_tokens: '),
    ({'temperature': 9}, 400, 'temperature: '), ({'stop_sequences': ['']}, 400, 'stop_sequences[0]: '), ({'stop_sequences': ['a'] * 17}, 400, 'stop_sequences[16]: '),
    ({'tool_choice': {'type': 'any'}}, 400, 'tool_choice: there are no tools to be called'),
    ({'tool_choice': {'type': 'tool'}, 'tools': [LOOK]}, 400, 'tool_choice: name: is missing'), ({'tool_choice': {'type': 'x'}}, 400, 'tool_choice: type: '),
    ({'tool_choice': 'auto'}, 400, 'tool_choice: type: is missing'), ({'thinking': {'type': 'x'}}, 400, 'thinking: '), ({'thinking': {}}, 400, 'thinking: type: is missing'),
    ({'thinking': {'type': 'enabled', 'budget_tokens': 0}}, 400, 'thinking: '), ({'output_config': {'format': {}}}, 400, 'output_config: "format": type: is missing'),
    ({'output_format': {'type': 'json_schema'}}, 400, 'output_format: schema: is missing'), ({'mcp_servers': [{}]}, 400, 'mcp_servers: '), ({'container': 'c'}, 400, 'container: '),
    ({'service_tier': 'flex'}, 400, 'service_tier: '), ({'tools': [{'type': 'web_search_20250305', 'name': 'w'}]}, 400, "tools[0]: type: tools of type 'web_search_20250305'"),
    ({'tools': [{'name': 'a'}]}, 400, 'tools[0]: input_schema: is missing'), ({'tools': [{'input_schema': {}}]}, 400, 'tools[0]: name: is missing'),
    ({'tools': [5]}, 400, 'tools[0]: must be an object'), ({'tools': [{**LOOK, 'strict': 5}]}, 400, 'tools[0]: '),
    ({'system': 5}, 400, 'system: '), ({'system': [{'type': 'image'}]}, 400, 'system: content[0].type: '),
    ({'messages': [5]}, 400, 'messages[0]: role: is missing'), ({'messages': [{'role': 'x', 'content': 'a'}]}, 400, "messages[0]: role: 'x'"),
    ({'messages': [{'role': 'user'}]}, 400, 'messages[0]: content: is missing'), ({'messages': [{'role': 'user', 'content': 5}]}, 400, 'messages[0]: content: '),
    ({'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'a'}] * 257}]}, 400, 'messages[0]: content: 257 blocks, limit 256'),
]
BLOCKS = [
    ('user', {'type': 'image', 'source': {}}, 'source.type: is missing'), ('assistant', {'type': 'image', 'source': {}}, 'type: image belongs to the role user'), ('user', {'type': 'document'}, "type: 'document' is not supported"),
    ('user', {'type': 'tool_use', 'id': 'a', 'name': 'b', 'input': {}}, 'type: tool_use belongs to the role assistant'),
    ('assistant', {'type': 'tool_result', 'tool_use_id': 'a'}, 'type: tool_result belongs to the role user'),
    ('assistant', {'type': 'server_tool_use'}, "type: 'server_tool_use' is not supported"), ('user', {}, 'type: is missing'), ('user', 5, 'type: is missing'),
    ('user', {'type': 'text'}, 'text: is missing'), ('user', {'type': 'text', 'text': 5}, 'text: '), ('assistant', {'type': 'thinking'}, 'thinking: is missing'),
    ('assistant', {'type': 'tool_use', 'name': 'b', 'input': {}}, 'id: is missing'), ('assistant', {'type': 'tool_use', 'id': 'a', 'input': {}}, 'name: is missing'),
    ('assistant', {'type': 'tool_use', 'id': 'a', 'name': 'b'}, 'input: is missing'), ('assistant', {'type': 'tool_use', 'id': 'a', 'name': 'b', 'input': 'c'}, 'input: must be an object'),
    ('user', {'type': 'tool_result'}, 'tool_use_id: is missing'), ('user', {'type': 'tool_result', 'tool_use_id': 'a', 'content': 5}, 'content: '),
    ('user', {'type': 'tool_result', 'tool_use_id': 'a', 'content': [{'type': 'image'}]}, "content[0].type: 'image'"),
    ('user', {'type': 'tool_result', 'tool_use_id': 'a', 'is_error': 'x'}, 'must be'),
]


@test
def what_is_wrong_is_named_in_anthropics_form():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for more, status, sentence in REFUSALS:
            answer = s.post('/v1/messages', json.dumps({**SHORT, **more}), 'x-request-id: my-7')
            equal((answer.status, answer.json['type']), (status, 'error'), (more, answer.body))
            equal((answer.json['request_id'], answer.header('request-id')), ('my-7', 'my-7'))
            equal(answer.json['error']['type'], 'not_found_error' if status == 404 else 'invalid_request_error')
            check(answer.json['error']['message'].startswith(sentence), more, answer.body)
        for role, block, sentence in BLOCKS:
            error = ask(s, {**SHORT, 'messages': [{'role': role, 'content': [{'type': 'text', 'text': 'a'}, block]}]}, status=400)['error']
            place = 'messages[0]: content[1]'
            check(error['message'].startswith(place) and sentence in error['message'], block, error)


@test
def errors_found_before_the_route_have_anthropics_form_too():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY) as s:
        head = 'Content-Type: application/json'
        rows = [
            (401, 'authentication_error', 'POST', '/v1/messages', '{}', ()), (401, 'authentication_error', 'GET', '/v1/models', None, ('anthropic-version: 2023-06-01',)),
            (404, 'not_found_error', 'GET', '/v1/messages/batches', None, (f'x-api-key: {KEY}',)),
            (405, 'invalid_request_error', 'GET', '/v1/messages', None, (f'x-api-key: {KEY}',)),
            (400, 'invalid_request_error', 'POST', '/v1/messages', '{', (f'x-api-key: {KEY}',)),
            (413, 'request_too_large', 'POST', '/v1/messages', ' ' * (17 << 20), (f'x-api-key: {KEY}',)),
        ]
        for status, kind, method, path, body, headers in rows:
            with Client(s) as c:
                answer = c.ask(method, path, head, *headers, **({} if body is None else {'body': body}))
            equal((answer.status, answer.json['type'], answer.json['error']['type']), (status, 'error', kind), path)
            equal(answer.json['request_id'], answer.header('request-id'))
        with Client(s) as c:
            equal(c.ask('GET', '/v1/models', f'x-api-key: {KEY}', 'anthropic-version: 2023-06-01').json['data'][0]['type'], 'model')
            equal(c.ask('GET', '/v1/models', f'Authorization: Bearer {KEY}').json['object'], 'list')


@test
def an_error_in_a_stream_is_an_event():
    with Folder() as folder, serving(scripted(folder)) as s:
        body = {'messages': [{'role': 'user', 'content': 'E'}], 'max_tokens': 40, 'temperature': 0}
        answer = s.post('/v1/messages', json.dumps({**body, 'stream': True}))
        _, name, data = events(answer.body)[-1]
        equal((name, data['type'], data['error']['type']), ('error', 'error', 'api_error'))
        equal(ask(s, body, status=500)['error']['type'], 'api_error')


@test
def members_without_effect_are_listed_and_refused_to_a_strict_client():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {**SHORT, 'thinking': {'type': 'enabled', 'budget_tokens': 2048}, 'context_management': {}, 'metadata': {'user_id': 'u'}, 'service_tier': 'auto'}
        answer = s.post('/v1/messages', json.dumps(body))
        equal((answer.status, answer.header('x-runnel-ignored')), (200, 'thinking.budget_tokens, context_management'))
        error = s.post('/v1/messages', json.dumps(body), 'x-runnel-strict: true').json['error']
        equal(error['message'], 'thinking: unknown member')


@test
def a_client_that_leaves_cancels_its_message():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for stream in (True, False):
            with Client(s) as c:
                c.request('POST', '/v1/messages', 'Content-Type: application/json',
                          body=json.dumps({'messages': STORY, 'max_tokens': 400, 'max_tokens_per_second': 1, 'ignore_eos': True, 'stream': stream}))
                wait_until(s.working, 'it runs')
            wait_until(lambda: not s.working(), 'nothing runs any more')


@test
def a_full_queue_and_a_spent_key_are_told_in_anthropics_form():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--queue', '0') as s:
        with Client(s) as c:
            c.request('POST', '/v1/messages', 'Content-Type: application/json',
                      body=json.dumps({'messages': STORY, 'max_tokens': 400, 'max_tokens_per_second': 1, 'ignore_eos': True}))
            wait_until(s.working, 'it runs')
            answer = s.post('/v1/messages', json.dumps(SHORT))
            equal((answer.status, answer.json['error']['type']), (429, 'rate_limit_error'))
            check(int(answer.header('retry-after')) >= 1)
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY, '--key-tokens-per-minute', '100') as s:
        answers = [s.post('/v1/messages', json.dumps({**SHORT, 'max_tokens': 90}), f'x-api-key: {KEY}') for _ in range(3)]
        equal((answers[-1].status, answers[-1].json['error']['type']), (429, 'rate_limit_error'))


@test
def a_message_can_be_resumed():
    with Folder() as folder, serving(chat_model(folder)) as s:
        answer = s.post('/v1/messages', json.dumps({**SHORT, 'stream': True, 'resumable': True}))
        name, all_events = answer.header('x-runnel-stream'), events(answer.body)
        again = s.get(f'/v1/runnel/streams/{name}', f'Last-Event-ID: {name}.4')
        equal(events(again.body), all_events[4:])


main()
