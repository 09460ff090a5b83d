"""tests/serve/api.py - models for tests of the API, and its answers taken apart."""
import json

import script_model
from serving import MODEL, Server, check, equal     # first: it finds tests/cli
import gguf

PLAIN = '{% for m in messages %}{{ m.content }}{% endfor %}'                   # without tools
ECHO = '{% for t in tools or [] %}{{ t.function.name }} {% endfor %}' + PLAIN
LAST = '{% for t in tools or [] %}{{ t.function.name }} {% endfor %}{{ messages[-1].content }}'
STORY = [{'role': 'user', 'content': 'Once upon a time'}]
TOOLS = [{'type': 'function', 'function': {'name': 'look', 'parameters': {'type': 'object'}}}]
CALL = ['Wait ', '<tool_call>', '\n{"name"', ': "look", ', '"arguments": {"at": "the', ' sky"}}', '\n', '</tool_call>']
SCRIPTS = {
    'T': [*CALL, '<tool_call>', '{"name": "f", "arguments": {}}', '</tool_call>'],
    'B': ['<tool_call>', '{"name": "look", "arguments": {"at": ', '</tool_call>'],
    'R': ['<think>', 'hm', ' so', '</think>', 'Yes'],
    'N': ['Yes', '!'],
    'U': ['<think>', 'hm', ' so'],
    'A': ['<think>', 'hm', '</think>', 'Yes', '<think>', 'oh', '</think>', 'No'],
    'E': ['Yes', script_model.BROKEN],
}


def chat_model(folder, template=ECHO):
    """The default model with a template that only joins what is said."""
    path = folder / 'chat.gguf'
    path.write_bytes(gguf.with_string(MODEL.read_bytes(), 'tokenizer.chat_template', template))
    return path


def scripted(folder, template=ECHO):
    path = folder / 'script.gguf'
    path.write_bytes(script_model.make(SCRIPTS, template))
    return path


def with_holes(folder, *more):
    """A model with tokens for prompts with a hole, which says `the hole` behind them. more: further control tokens."""
    path = folder / 'holes.gguf'
    hole = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>', 'the ', 'hole']
    path.write_bytes(script_model.make({'F': hole, 'G': [*more, 'x']}, PLAIN))
    return path


def serving(model, *args):
    return Server('-m', f'm={model}', '-t', '1', *args, program=True)


def error_of(answer):
    """The error of an answer in any dialect: message, and where the dialect has them param and code."""
    error = answer['error']
    return {'param': None, 'code': None, **(error if isinstance(error, dict) else {'message': error})}


def post(server, path, *headers, **body):
    return server.post(path, json.dumps(body), *headers)


def good(server, path, *headers, **body):
    answer = post(server, path, *headers, **body)
    equal(answer.status, 200, answer.body)
    return answer.json


def events(body):
    """(id, name, data) of each event of a stream; data as JSON where it is any."""
    found = []
    for block in body.decode().split('\n\n'):
        fields = dict(line.split(': ', 1) for line in block.split('\n') if line and not line.startswith(':'))
        if 'data' in fields:
            data = fields['data'] if fields['data'] == '[DONE]' else json.loads(fields['data'])
            found.append((fields.get('id'), fields.get('event'), data))
    return found


def stream(server, path, *headers, **body):
    """The data of a stream that must be whole, without its [DONE]."""
    answer = post(server, path, *headers, stream=True, **body)
    equal((answer.status, answer.header('content-type')), (200, 'text/event-stream'), answer.body)
    data = [d for _, _, d in events(answer.body)]
    equal(data[-1], '[DONE]')
    return data[:-1]


def chat(server, **body):
    return good(server, '/v1/chat/completions', **{'messages': STORY, **body})


def message(server, say, **body):
    choice = chat(server, messages=[{'role': 'user', 'content': say}], temperature=0, **body)['choices'][0]
    return choice['message'], choice['finish_reason']


def joined(chunks, index=0):
    """What a client makes of a chat's chunks: (message, finish reason)."""
    whole, finish = {'content': ''}, None
    for chunk in chunks:
        for choice in chunk['choices']:
            if choice['index'] != index:
                continue
            check(finish is None, 'a choice goes on after its end')
            finish = choice['finish_reason']
            for name, value in choice['delta'].items():
                if name == 'tool_calls':
                    add_calls(whole.setdefault('tool_calls', []), value)
                elif name != 'role':
                    whole[name] = whole.get(name, '') + value
    return whole, finish


def add_calls(calls, deltas):
    for d in deltas:
        if d['index'] == len(calls):
            equal(set(d), {'index', 'id', 'type', 'function'}, 'the first delta of a call')
            equal(d['function']['arguments'], '')
            check(d['id'], 'an empty id')
            calls.append(json.loads(json.dumps(d)))
        else:
            equal(set(d), {'index', 'function'}, 'a later delta of a call')
            calls[d['index']]['function']['arguments'] += d['function']['arguments']
