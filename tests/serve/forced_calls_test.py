#!/usr/bin/env python3
"""tests/serve/forced_calls_test.py - tool_choice: answers that have to call a tool, in each dialect."""
import json

import script_model
from api import PLAIN, SCRIPTS, STORY, chat_model, error_of, good, joined, post, serving, stream
from serving import Folder, check, equal, main, test

CHAT = '/v1/chat/completions'
SCHEMAS = {
    'look': {'type': 'object', 'properties': {'at': {'enum': ['sky', 'sea']}, 'days': {'type': 'integer', 'minimum': 1, 'maximum': 9}},
             'required': ['at', 'days'], 'additionalProperties': False},
    'stop': {'type': 'object', 'properties': {'why': {'type': 'string', 'maxLength': 5}, 'now': {'type': 'boolean'}}, 'required': ['now'],
             'additionalProperties': False},
    'nothing': None,
}
TOOLS = [{'type': 'function', 'function': {'name': name, **({'parameters': schema} if schema else {})}} for name, schema in SCHEMAS.items()]
FLAT = [{'type': 'function', **t['function']} for t in TOOLS]
OWN = [{'name': name, 'input_schema': schema or {'type': 'object', 'additionalProperties': False}} for name, schema in SCHEMAS.items()]
HERMES = ('--output-format', 'hermes')
ANY = {'temperature': 3, 'top_k': 0, 'top_p': 1, 'min_p': 0, 'max_tokens': 400}


def scripted(folder, template=PLAIN):
    path = folder / 'script.gguf'
    path.write_bytes(script_model.make(SCRIPTS, template, 2048))
    return path


def is_whole(name, a):
    if name == 'look':
        return list(a) == ['at', 'days'] and a['at'] in ('sky', 'sea') and a['days'] in range(1, 10)
    if name == 'stop':
        return set(a) in ({'now'}, {'why', 'now'}) and isinstance(a['now'], bool) and len(a.get('why', '')) <= 5
    return name == 'nothing' and a == {}


def calls_of(message):
    return [(c['function']['name'], json.loads(c['function']['arguments'])) for c in message['tool_calls']]


def check_all(calls, why, names=SCHEMAS, one=False):
    check(calls and (not one or len(calls) == 1), why, calls)
    for name, arguments in calls:
        check(name in names and is_whole(name, arguments), why, name, arguments)


@test
def required_calls_some_tool_and_a_name_that_one():
    look = {'type': 'function', 'function': {'name': 'look'}}
    some = {'mode': 'required', 'tools': [look, {'type': 'function', 'function': {'name': 'nothing'}}]}
    seen, most = set(), 0
    with Folder() as folder, serving(chat_model(folder), *HERMES) as s:
        for seed in range(12):
            choice = good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice='required', seed=seed, **ANY)['choices'][0]
            if choice['finish_reason'] == 'length':
                continue
            calls = calls_of(choice['message'])
            check_all(calls, seed)
            check(not choice['message']['content'] and choice['finish_reason'] == 'tool_calls', choice)
            seen |= {name for name, _ in calls}
            most = max(most, len(calls))
            one = good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice=look, seed=seed, parallel_tool_calls=False, **ANY)['choices'][0]['message']
            check_all(calls_of(one), 'named', ('look',), one=True)
            few = good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice={'type': 'allowed_tools', 'allowed_tools': some}, seed=seed,
                       parallel_tool_calls=False, **ANY)['choices'][0]['message']
            check_all(calls_of(few), 'allowed', ('look', 'nothing'), one=True)
        equal(seen, set(SCHEMAS))
        check(most > 1, 'never several calls')


@test
def a_stream_has_the_same_calls_and_so_do_several_answers():
    with Folder() as folder, serving(chat_model(folder), *HERMES) as s:
        for seed in range(4):
            body = {'messages': STORY, 'tools': TOOLS, 'tool_choice': 'required', 'parallel_tool_calls': False, 'seed': seed, 'n': 3, **ANY}
            whole, parts = good(s, CHAT, **body)['choices'], stream(s, CHAT, **body)
            for choice in whole:
                told, finish = joined(parts, choice['index'])
                equal(calls_of(told), calls_of(choice['message']), seed)
                equal(finish, choice['finish_reason'])
                check_all(calls_of(told), seed, one=True)


@test
def other_dialects_have_it_too():
    with Folder() as folder, serving(chat_model(folder), *HERMES) as s:
        for seed in range(4):
            more = {'seed': seed, **ANY, 'max_tokens': 400}
            flat = {**more, 'max_output_tokens': more.pop('max_tokens')}
            del flat['max_tokens']
            for choice, names in (('required', SCHEMAS), ({'type': 'function', 'name': 'stop'}, ['stop']),
                                  ({'type': 'allowed_tools', 'mode': 'required', 'tools': [{'type': 'function', 'name': 'look'}]}, ['look'])):
                answer = good(s, '/v1/responses', input='Once', tools=FLAT, tool_choice=choice, parallel_tool_calls=False, **flat)
                check_all([(o['name'], json.loads(o['arguments'])) for o in answer['output'] if o['type'] == 'function_call'], choice, names, one=True)
                equal(answer['tool_choice'], choice)
            for choice, names in (({'type': 'any'}, SCHEMAS), ({'type': 'tool', 'name': 'look'}, ['look'])):
                answer = good(s, '/v1/messages', model='m', messages=STORY, tools=OWN, max_tokens=400,
                              tool_choice={**choice, 'disable_parallel_tool_use': True}, **more)
                check_all([(b['name'], b['input']) for b in answer['content'] if b['type'] == 'tool_use'], choice, names, one=True)
                equal(answer['stop_reason'], 'tool_use')
            answer = good(s, '/v1/runnel/generate', messages=STORY, tools=TOOLS, tool_choice='required', parallel_tool_calls=False, max_tokens=400, **more)
            check_all(calls_of(answer['choices'][0]['message']), 'native', one=True)


@test
def reasoning_comes_before_the_calls():
    template = "{# <think> #}{{ messages[-1].content }}"
    with Folder() as folder, serving(scripted(folder, template)) as s:
        message = good(s, CHAT, messages=[{'role': 'user', 'content': 'R'}], tools=TOOLS, tool_choice='required', temperature=0,
                       parallel_tool_calls=False)['choices'][0]['message']
        equal(message['reasoning_content'], 'hm so')
        check_all(calls_of(message), 'behind reasoning', one=True)


@test
def what_ends_early_is_a_beginning():
    with Folder() as folder, serving(chat_model(folder), *HERMES) as s:
        for limit in (1, 3, 12, 20, 25):
            choice = good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice='required', seed=limit, **{**ANY, 'max_tokens': limit})['choices'][0]
            check(choice['finish_reason'] in ('length', 'tool_calls'), choice)
        choice = good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice='required', stop=['days'], seed=1, **ANY)['choices'][0]
        check(choice['finish_reason'] in ('stop', 'tool_calls', 'length'), choice)


@test
def what_cannot_be_called_is_refused_by_name():
    deep = [{'type': 'function', 'function': {'name': 'f', 'parameters': {'properties': {'a': {'type': 'array', 'uniqueItems': True}}}}}]
    cases = [
        ({'tool_choice': 'required'}, 'invalid_value', 'tool_choice', 'there are no tools'),
        ({'tools': TOOLS, 'tool_choice': {'type': 'function', 'function': {'name': 'g'}}}, 'invalid_value', 'tool_choice', 'none is named "g"'),
        ({'tools': TOOLS, 'tool_choice': {'type': 'function'}}, 'invalid_value', 'tool_choice', 'name: is missing'),
        ({'tools': TOOLS, 'tool_choice': {'type': 'file_search'}}, 'unsupported_parameter', 'tool_choice', 'must be function'),
        ({'tools': TOOLS, 'tool_choice': 'required', 'json_mode': True}, 'invalid_value', 'tool_choice', 'excludes json_mode: an answer has one form'),
        ({'tools': deep, 'tool_choice': 'required'}, 'unsupported_parameter', 'tool_choice', 'tools[0].parameters: /properties/a/uniqueItems: '),
    ]
    with Folder() as folder, serving(chat_model(folder), *HERMES) as s:
        for body, code, param, part in cases:
            error = error_of(post(s, CHAT, messages=STORY, max_tokens=4, **body).json)
            equal((error['code'], error['param']), (code, param), (body, error))
            check(part in error['message'], error)
    with Folder() as folder, serving(scripted(folder), '--output-format', 'none') as s:
        error = error_of(post(s, CHAT, messages=STORY, tools=TOOLS, tool_choice='required').json)
        equal((error['code'], error['param']), ('unsupported_parameter', 'tool_choice'), error)
        check('output format none has no calls' in error['message'], error)


main()
