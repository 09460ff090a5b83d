#!/usr/bin/env python3
"""The server without memory: the n-th allocation of a request fails, then the next one, until the request succeeds.

What has failed may cost the request: 503 `out_of_memory`, or a connection or socket that ends. It never costs the server, another request, or
the truth: an answer that looks whole is the right one."""
import base64
import json

from api import STORY, TOOLS, chat_model, error_of, events, with_holes
from rank_model import reranker
from serving import Client, Folder, Server, Socket, check, equal, main, test, wait_until
import seeing_model     # noqa: I001

TIME = 'Once upon a time'
SHORT = {'max_tokens': 3, 'seed': 1}
GENERATE = '/v1/runnel/generate'
PICTURE = 'data:image/bmp;base64,' + base64.b64encode(seeing_model.bmp(9, 7, 1)).decode()
REQUESTS = {
    'chat': ('POST', '/v1/chat/completions', {'messages': STORY, 'tools': TOOLS, 'logprobs': True, **SHORT}),
    'streamed chat': ('POST', '/v1/chat/completions', {'messages': STORY, 'stream': True, 'stream_options': {'include_usage': True}, **SHORT}),
    'completions': ('POST', '/v1/completions', {'prompt': [TIME, [1, 2]], 'logprobs': 2, 'n': 2, 'unknown': 1, **SHORT}),
    'responses': ('POST', '/v1/responses', {'input': TIME, 'instructions': 'Tell', 'max_output_tokens': 3, 'temperature': 0}),
    'streamed responses': ('POST', '/v1/responses', {'input': TIME, 'max_output_tokens': 3, 'temperature': 0, 'stream': True}),
    'a message of Anthropic\'s': ('POST', '/v1/messages', {
        'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': TIME}]}], 'system': 'Tell', 'tools': [{'name': 'look', 'input_schema': {}}],
        'stop_sequences': ['zzz'], 'unknown': 1, **SHORT}),
    'a streamed message of Anthropic\'s': ('POST', '/v1/messages', {'messages': STORY, 'stream': True, **SHORT}),
    'tokens of a message': ('POST', '/v1/messages/count_tokens', {'messages': STORY}),
    'a refused message': ('POST', '/v1/messages', {'messages': STORY}),
    'a chat of Ollama\'s': ('POST', '/api/chat', {
        'messages': [{'role': 'user', 'content': TIME}, {'role': 'assistant', 'tool_calls': [{'function': {'name': 'look', 'arguments': {}}}]},
                     {'role': 'tool', 'content': 'b'}], 'stream': False, 'options': {'num_predict': 3, 'seed': 1, 'unknown': 1}}),
    'a streamed chat of Ollama\'s': ('POST', '/api/chat', {'messages': STORY, 'options': {'num_predict': 3, 'seed': 1}}),
    'a prompt of Ollama\'s with its context': ('POST', '/api/generate', {'prompt': TIME, 'context': [5, 6], 'stream': False, 'options': {'num_predict': 3, 'seed': 1}}),
    'Ollama\'s embeddings': ('POST', '/api/embed', {'input': [TIME, 'b'], 'dimensions': 8}),
    'a model shown to Ollama\'s clients': ('POST', '/api/show', {'model': 'm'}),
    'Ollama\'s list': ('GET', '/api/tags', None),
    'embeddings': ('POST', '/v1/embeddings', {'input': [TIME, 'b'], 'dimensions': 8, 'encoding_format': 'base64'}),
    'generate': ('POST', GENERATE, {'prompt': TIME, 'n': 2, 'logprobs': 1, 'stop': ['zzz'], 'logit_bias': {'5': -1}, **SHORT}),
    'token rules': ('POST', '/v1/completions', {'prompt': TIME, 'min_tokens': 2, 'allowed_token_ids': [402, 285, 261, 300], 'bad_words': ['the', 'a cat'],
                                                'truncate_prompt_tokens': 3, 'return_token_ids': True, 'stop_token_ids': [300], **SHORT}),
    'samplers': ('POST', '/v1/completions', {'prompt': TIME, 'samplers': ['penalties', 'dry', 'temperature'], 'dry_multiplier': 0.5, 'dry_sequence_breakers': ['the', '.'],
                                             'banned_tokens': [5, 6], 'mirostat': 2, 'min_tokens': 2, 'repeat_penalty': 1.1, **SHORT}),
    'a stop string': ('POST', '/v1/chat/completions', {'messages': STORY, 'stop': ' ', 'include_stop_str_in_output': True, 'return_token_ids': True, **SHORT}),
    'a prompt with a hole': ('POST', '/infill', {'input_prefix': TIME, 'input_suffix': '.', 'input_extra': [{'text': 'a'}], 'model': 'h', 'n_predict': 3, 'temperature': 0, 'seed': 1}),
    'a completion with a suffix': ('POST', '/v1/completions', {'prompt': TIME, 'suffix': '.', 'model': 'h', 'max_tokens': 3, 'temperature': 0, 'seed': 1}),
    'an Ollama prompt with a suffix': ('POST', '/api/generate', {'prompt': TIME, 'suffix': '.', 'model': 'h', 'stream': False, 'options': {'num_predict': 3, 'temperature': 0, 'seed': 1}}),
    'llama-server': ('POST', '/completion', {'prompt': TIME, 'n_predict': 3, 'n_probs': 2, 'return_tokens': True, 'seed': 1}),
    'tokenizer info': ('GET', '/tokenizer_info', None),
    'a resumable stream': ('POST', GENERATE, {'messages': STORY, 'stream': True, 'resumable': True, **SHORT}),
    'an answer by a schema': ('POST', GENERATE, {
        'prompt': TIME, 'json_schema': {'type': 'object', 'properties': {'at': {'enum': ['sky', 'sea']}}, 'required': ['at']}, 'max_tokens': 30, 'seed': 1}),
    'a form that is checked': ('POST', '/v1/runnel/grammar', {'choices': ['yes', 'no']}),
    'one of two choices': ('POST', '/v1/completions', {'prompt': TIME, 'guided_choice': ['yes', 'no'], 'n': 2, **SHORT}),
    'a session': ('POST', GENERATE, {'messages': STORY, 'session': 'a', **SHORT}),
    'tokenize': ('POST', '/tokenize', {'content': TIME, 'with_pieces': True}),
    'detokenize': ('POST', '/detokenize', {'tokens': [427, 438]}),
    'apply-template': ('POST', '/apply-template', {'messages': STORY}),
    'tokens of a conversation': ('POST', '/tokenize', {'messages': STORY, 'tools': TOOLS}),
    'a refusal': ('POST', '/v1/completions', {'prompt': 5}),
    'models': ('GET', '/v1/models', None),
    'adapters': ('GET', '/lora-adapters', None),
    'scales of adapters': ('POST', '/lora-adapters', {'adapters': []}),
    'metrics': ('GET', '/metrics', None),
    'the description': ('GET', '/openapi.json', None),
    'rerank': ('POST', '/v1/rerank', {'query': 'cats', 'documents': ['A cat.', 'Dogs'], 'return_documents': True}),
    'slots': ('GET', '/slots', None),
    'a picture': ('POST', '/v1/chat/completions', {'messages': [{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': PICTURE}}, 'a']}], **SHORT}),
    'a picture in an item': ('POST', '/v1/responses', {'input': [{'role': 'user', 'content': [{'type': 'input_image', 'image_url': PICTURE}]}], 'max_output_tokens': 3, 'seed': 1}),
    'a stored answer': ('POST', '/v1/responses', {'input': TIME, 'store': True, 'max_output_tokens': 4, 'seed': 1}),
}
CHANGING = ('id', 'timings', 'created', 'created_at', 'timing', 'x-request-id', 'usage', 'item_id', 'runnel', 'request_id', 'total_duration',
            'prompt_eval_duration', 'eval_duration', 'speculation')


def constant(value):
    """Without what differs from answer to answer."""
    if isinstance(value, dict):
        return {k: constant(v) for k, v in value.items() if k not in CHANGING}
    return [constant(v) for v in value] if isinstance(value, list) else value


def told(answer, path):
    """(is it whole, what it says). An error is whole: it says that there was no memory."""
    if path == '/metrics':
        return True, answer.status
    if answer.header('content-type') == 'application/x-ndjson':
        data = [json.loads(line) for line in answer.body.splitlines()]
        return bool(data) and data[-1].get('done') is True, (answer.status, constant(data))
    if answer.header('content-type') != 'text/event-stream':
        return True, (answer.status, constant(answer.json))
    data = [d for _, _, d in events(answer.body)]
    ends = data[-1:] == ['[DONE]'] or (data and isinstance(data[-1], dict) and data[-1].get('type') in ('response.completed', 'response.incomplete', 'message_stop'))
    return ends, (answer.status, constant(data))


def is_out_of_memory(answer):
    if answer.status == 503:
        error = error_of(answer.json)
        check(error['code'] in ('out_of_memory', None) and 'memory' in error['message'], error)
        equal(answer.header('retry-after'), '1')
        return True
    if answer.header('content-type') == 'application/x-ndjson':
        last = answer.body.splitlines()[-1:]
        return bool(last) and 'memory' in json.loads(last[0]).get('error', '')
    last = [d for _, _, d in events(answer.body)][-1:] if answer.header('content-type') == 'text/event-stream' else []
    return bool(last) and isinstance(last[0], dict) and 'error' in last[0] and 'memory' in error_of(last[0])['message']


def ask(s, method, path, body):
    """The answer; None: the connection ended before it was whole."""
    with Client(s) as c:
        try:
            more = {} if body is None else {'body': json.dumps(body)}
            return c.ask(method, path, 'Content-Type: application/json', **more)
        except (AssertionError, ConnectionError):
            return None


def fault(s, query=''):
    """Has what was wished before happened? It may happen to this question too: then it is asked again."""
    while (answer := ask(s, 'GET', f'/rig/fault{query}', None)) is None or answer.status != 200:
        check(s.child.poll() is None, f'the server ended: {s.said[-3000:]}')
    return answer.json['fired']


def sweep(s, room, name):
    method, path, body = REQUESTS[name]
    first = ask(s, method, path, body)
    check(first.status != 404, f'{name}: the rig has no {path}')
    _, want = told(first, path)
    for n in range(1, 2000):
        fault(s, f'?{room}={n}')
        answer = ask(s, method, path, body)
        fired = fault(s)
        check(s.child.poll() is None, f'{name}: allocation {n}: the server ended: {s.said[-3000:]}')
        if answer is not None and not is_out_of_memory(answer):
            is_whole, got = told(answer, path)
            check(fired or is_whole, f'{name}: allocation {n} did not fail, and the answer is not whole')
            if is_whole:
                equal(got, want, f'{name}: allocation {n} ({"failed" if fired else "did not fail"})')
        check(fired or answer is not None, f'{name}: no allocation failed, and there is no answer')
        if not fired:
            check(n > 1, f'{name}: nothing was allocated')
            return
        # A session is given back soon after its request has failed.
        after = wait_until(lambda: (a := ask(s, method, path, body)).status != 409 and a, f'{name}: after allocation {n}')
        equal(told(after, path)[1], want, f'{name}: after allocation {n}')
    raise AssertionError(f'{name}: there is no end of allocations')


def settled(s):
    wait_until(lambda: not s.working(), 'nothing runs')
    equal(ask(s, *REQUESTS['chat']).status, 200)


def server(folder):
    return Server('-m', f'm={chat_model(folder)}', '-m', f'h={with_holes(folder)}', '-t', '1', '-c', '256', '--access-log', 'none')


@test
def an_allocation_that_fails_costs_its_request_at_most():
    with Folder() as folder, server(folder) as s:
        for name in REQUESTS.keys() - {'rerank', 'a picture', 'a picture in an item'}:
            sweep(s, 'n', name)
        settled(s)


@test
def an_allocation_of_the_library_that_fails_costs_its_request_at_most():
    with Folder() as folder, server(folder) as s:
        for name in ('completions', 'streamed chat', 'embeddings', 'a session', 'tokenize', 'apply-template', 'tokens of a conversation', 'a prompt with a hole', 'a message of Anthropic\'s',
                     'tokens of a message', 'a streamed chat of Ollama\'s', 'a prompt of Ollama\'s with its context', 'Ollama\'s embeddings',
                     'a model shown to Ollama\'s clients'):
            sweep(s, 'engine', name)
        settled(s)


@test
def an_allocation_that_fails_costs_its_picture_at_most():
    with Folder() as folder, Server('-m', f'm={seeing_model.make(folder / "m")}', '-t', '1', '-c', '256', '--access-log', 'none') as s:
        for room in ('n', 'engine'):
            sweep(s, room, 'a picture')
        sweep(s, 'n', 'a picture in an item')
        wait_until(lambda: not s.working(), 'nothing runs')


@test
def an_allocation_that_fails_costs_its_ranking_at_most():
    with Folder() as folder, Server('-m', f'm={reranker(folder)}', '-t', '1', '--access-log', 'none') as s:
        for room in ('n', 'engine'):
            sweep(s, room, 'rerank')
        wait_until(lambda: not s.working(), 'nothing runs')


def socket_says(s):
    """The text of a socket's stream; None: it did not arrive completely."""
    try:
        w = Socket(Client(s), '/v1/stream')
    except (AssertionError, ConnectionError):
        return None
    with w.client:
        try:
            w.send(json.dumps({'type': 'generate', 'id': 'a', 'prompt': TIME, **SHORT}))
            text = ''
            while True:
                opcode, payload = w.read()
                if opcode != 1:
                    check(opcode is None or payload[:2] == b'\x03\xf5', 'a close frame of another code than 1013', payload)
                    return None
                m = json.loads(payload)
                if m['type'] == 'error':
                    equal(m['error']['code'], 'out_of_memory', m)
                    return None
                text += m.get('text', '')
                if m['type'] == 'end':
                    return text
        except (AssertionError, ConnectionError) as e:
            if isinstance(e, AssertionError) and 'the connection ended' not in str(e):
                raise
            return None


@test
def an_allocation_that_fails_costs_its_socket_at_most():
    with Folder() as folder, server(folder) as s:
        want = socket_says(s)
        check(want, 'nothing was said')
        for room in ('n', 'engine'):
            for n in range(1, 2000):
                fault(s, f'?{room}={n}')
                got = socket_says(s)
                fired = fault(s)
                check(s.child.poll() is None, f'allocation {n}: the server ended: {s.said[-3000:]}')
                check(got == want or (fired and got is None), f'allocation {n}: {got!r}')
                if not fired:
                    break
            check(1 < n < 1999, f'{n} allocations')
        settled(s)


main()
