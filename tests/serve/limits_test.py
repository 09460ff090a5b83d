#!/usr/bin/env python3
"""Limits of requests (docs/limits.md, field.md 4.3) at n - 1, n and n + 1: what is allowed is answered, one more is refused by name.

Those of HTTP and WebSocket framing are in http_request_test.py and websocket_test.py."""
import json

from api import STORY, TOOLS, chat_model, post, scripted, serving
from api_native_streams import Streams
from serving import Folder, Server, check, equal, main, runnel, test, wait_until

CHAT, COMPLETIONS, GENERATE = '/v1/chat/completions', '/v1/completions', '/v1/runnel/generate'


def text(**members):
    return COMPLETIONS, {'prompt': 'a', 'max_tokens': 1, **members}


def chat(**members):
    return CHAT, {'messages': STORY, 'max_tokens': 1, **members}


def nested(depth):
    """A body of that depth: it is one level itself."""
    return text(metadata=json.loads('[' * (depth - 1) + ']' * (depth - 1)))


def parts(n):
    return [{'role': 'user', 'content': [{'type': 'text', 'text': ''}] * (n - 1) + [{'type': 'text', 'text': 'a'}]}]


# name: the limit, what makes a request of so much, code of the refusal
LIMITS = {
    'prompts': (128, lambda n: text(prompt=['a'] * n), 'invalid_value'),
    'n': (128, lambda n: text(n=n), 'invalid_value'),
    'stop strings': (16, lambda n: text(stop=[f'{i}' for i in range(n)]), 'invalid_value'),
    'bytes of a stop string': (256, lambda n: text(stop='z' * n), 'invalid_value'),
    'banned strings': (512, lambda n: text(banned_strings=[f'{i}' for i in range(n)]), 'invalid_value'),
    'bytes of a banned string': (256, lambda n: text(banned_strings='z' * n), 'invalid_value'),
    'stop tokens': (128, lambda n: text(stop_tokens=list(range(3, 3 + n))), 'invalid_value'),
    'logit bias': (1024, lambda n: text(logit_bias={str(i): 1 for i in range(n)}), 'invalid_value'),
    'a bias': (100, lambda n: text(logit_bias={'5': n}), 'invalid_value'),
    'logprobs': (20, lambda n: text(logprobs=n), 'invalid_value'),
    'top_logprobs': (20, lambda n: chat(logprobs=True, top_logprobs=n), 'invalid_value'),
    'temperature': (5, lambda n: text(temperature=n), 'invalid_value'),
    'stream_interval': (1024, lambda n: text(stream_interval=n), 'invalid_value'),
    'a token id': (4095, lambda n: text(prompt=[n]), 'invalid_token'),
    'depth': (64, nested, 'invalid_json'),
    'values': (2 << 20, lambda n: text(metadata=[0] * (n - 3)), 'invalid_json'),     # and the object, and two other members
    'parts of a message': (256, lambda n: chat(messages=parts(n)), 'invalid_value'),
    'tools': (128, lambda n: chat(tools=[{**TOOLS[0], 'function': {'name': f'f{i}'}} for i in range(n)]), 'invalid_value'),
    'name of a session': (256, lambda n: (GENERATE, {'prompt': 'a', 'max_tokens': 1, 'session': 's' * n}), 'invalid_value'),
}


@test
def each_limit_of_a_request_is_met_exactly():
    wrong = []
    with Folder() as folder, serving(chat_model(folder), '--streams', '64', '--queue', '256') as s:
        for name, (limit, make, code) in LIMITS.items():
            for n in (limit - 1, limit, limit + 1):
                path, body = make(n)
                answer = post(s, path, **body)
                want = (200, None) if n <= limit else (400, code)
                got = answer.status, answer.json.get('error', {}).get('code')
                if got != want:
                    wrong.append(f'{name} {n}: {got}, want {want}: {answer.body[:200]}')
    check(not wrong, '; '.join(wrong))


def blocks(n):
    return [{'type': 'text', 'text': ''}] * (n - 1) + [{'type': 'text', 'text': 'a'}]


def message(**members):
    return '/v1/messages', {'messages': STORY, 'max_tokens': 1, **members}


def ollama(**members):
    return '/api/chat', {'model': 'm', 'messages': STORY, 'stream': False, **members, 'options': {'num_predict': 1, **members.get('options', {})}}


def result(n):
    call = {'type': 'tool_use', 'id': 'c', 'name': 'look', 'input': {}}
    return [*STORY, {'role': 'assistant', 'content': [call]}, {'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'c', 'content': blocks(n)}]}]


# As above, of the interfaces of other servers: what is refused has status 400.
INTERFACES = {
    'blocks of a message': (256, lambda n: message(messages=[{'role': 'user', 'content': blocks(n)}])),
    'blocks of system': (256, lambda n: message(system=blocks(n))),
    'blocks of a result': (256, lambda n: message(messages=result(n))),
    'stop_sequences': (16, lambda n: message(stop_sequences=[f'{i}' for i in range(n)])),
    'bytes of a stop sequence': (256, lambda n: message(stop_sequences=['z' * n])),
    'tools of a message': (128, lambda n: message(tools=[{'name': f'f{i}', 'input_schema': {}} for i in range(n)])),
    'stop of Ollama': (16, lambda n: ollama(options={'stop': [f'{i}' for i in range(n)]})),
    'tools of Ollama': (128, lambda n: ollama(tools=[{**TOOLS[0], 'function': {'name': f'f{i}'}} for i in range(n)])),
    'top_logprobs of Ollama': (20, lambda n: ollama(logprobs=True, top_logprobs=n)),
    'texts of Ollama': (2048, lambda n: ('/api/embed', {'model': 'm', 'input': ['a'] * n})),
    'tools of a response': (128, lambda n: ('/v1/responses', {'input': 'a', 'max_output_tokens': 1, 'tools': [
        {'type': 'function', 'name': f'f{i}', 'parameters': {}} for i in range(n)]})),
    'n_probs': (20, lambda n: ('/completion', {'prompt': 'a', 'n_predict': 1, 'n_probs': n})),
}


COUNTS = '{{ (tools or []) | length }}{{ messages[-1].content }}'       # tools that take no room in the context


@test
def each_limit_of_another_interface_is_met_exactly():
    wrong = []
    with Folder() as folder, serving(chat_model(folder, COUNTS), '-c', '512') as s:
        for name, (limit, make) in INTERFACES.items():
            for n in (limit - 1, limit, limit + 1):
                path, body = make(n)
                answer = post(s, path, **body)
                if answer.status != (200 if n <= limit else 400):
                    wrong.append(f'{name} {n}: {answer.status}: {answer.body[:200]}')
    check(not wrong, '; '.join(wrong))


@test
def what_is_given_at_start_is_counted():
    with Folder() as folder:
        file = scripted(folder)
        given = {       # option: (limit, the nth)
            '-m': (8, lambda i: f'm{i}={file}'), '--alias': (64, lambda i: f'a{i}'), '--cors': (64, lambda i: f'https://{i}.example'), '--mcp': (8, lambda i: f'http://{i}.example/mcp'),
            '--allow-host': (64, lambda i: f'{i}.example'), '--trusted-proxy': (64, lambda i: f'192.0.2.{i}'), '--api-key': (64, lambda i: f'key-of-some-length-{i}')}
        most = [word for option, (n, make) in given.items() for i in range(n) for word in (option, make(i))]
        with Server(*most, program=True) as s:
            bearer = 'Authorization: Bearer key-of-some-length-63'
            equal(len(s.get('/v1/models', bearer).json['data']), 8 + 64)
        for option, (n, make) in given.items():
            runnel('serve', '--port', 0, *[word for i in range(n + 1) for word in (option, make(i))]).fails(2, f'more than {n}')


@test
def messages_are_4096_at_most():
    """More than a context holds: the count is refused before it, and by another code."""
    with Folder() as folder, serving(chat_model(folder)) as s:
        for n, code in ((4095, 'context_length_exceeded'), (4096, 'context_length_exceeded'), (4097, 'invalid_value')):
            post(s, CHAT, messages=[{'role': 'user', 'content': 'a'}] * n).refuses(400, code)


@test
def a_prompt_may_fill_the_context_but_for_one_token():
    with Folder() as folder, serving(chat_model(folder), '-c', '64') as s:
        for n in (62, 63):
            equal(post(s, COMPLETIONS, prompt=[5] * n, max_tokens=1).status, 200, n)
        post(s, COMPLETIONS, prompt=[5] * 64, max_tokens=1).refuses(400, 'context_length_exceeded')


@test
def the_queue_holds_what_it_was_given_and_one_more_is_told_to_come_later():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--queue', '2') as s:
        endless = json.dumps({'prompt': 'a', 'stream': True, 'ignore_eos': True, 'max_tokens_per_second': 1})
        waiting = []
        for n in range(3):
            waiting.append(s.connect())
            waiting[-1].request('POST', GENERATE, 'Content-Type: application/json', body=endless)
            equal(waiting[-1].head()[0], 200, n)
            wait_until(lambda: sum(x['state'] == 'queued' for x in s.working()) == max(0, n), f'{n} wait')
        answer = post(s, GENERATE, prompt='a', max_tokens=1).refuses(429, 'queue_full')
        check(int(answer.header('retry-after')) >= 1, answer.headers)
        waiting.pop().reset()
        wait_until(lambda: sum(x['state'] == 'queued' for x in s.working()) == 1, 'one has left the queue')
        for c in waiting:
            c.reset()
        equal(wait_until(lambda: (a := post(s, GENERATE, prompt='a', max_tokens=1)).status == 200 and a, 'there is room').status, 200)


@test
def a_socket_has_256_streams_and_not_one_more():
    with Folder() as folder, serving(chat_model(folder), '--streams', '300', '-c', '64') as s:
        w = Streams(s)
        for i in range(257):
            w.say('generate', id=str(i), prompt='a', max_tokens=8, ignore_eos=True, credit=0)
        heard = [w.hear() for _ in range(257)]
        equal([m['type'] for m in heard], ['begun'] * 256 + ['error'])
        equal((heard[-1]['id'], heard[-1]['error']['code']), ('256', 'queue_full'))
        w.say('cancel', id='7')
        w.until_end('7')
        w.say('generate', id='256', prompt='a', max_tokens=1)
        equal(w.until_end('256')['256'][-1]['type'], 'end')


@test
def of_sessions_the_one_used_least_lately_goes_when_there_are_more_than_64():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for i in range(65):
            equal(post(s, GENERATE, prompt='a', max_tokens=1, session=f's{i}').status, 200, i)
        with s.connect() as c:
            c.ask('DELETE', '/v1/runnel/sessions/s0').refuses(404, 'stream_not_found')
            equal([c.ask('DELETE', f'/v1/runnel/sessions/s{i}').status for i in (1, 64)], [204, 204])


main()
