#!/usr/bin/env python3
"""tests/serve/forced_calls_test.py - tool_choice: answers that have to call a tool, in each dialect."""
import json

import script_model
from api import PLAIN, SCRIPTS, STORY, chat_model, error_of, good, joined, post, serving, stream
from serving import Folder, check, equal, main, runnel, test

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
            one = good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice=look, seed=seed, **ANY)['choices'][0]['message']
            check_all(calls_of(one), 'named', ('look',), one=True)
            few = good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice={'type': 'allowed_tools', 'allowed_tools': some}, seed=seed,
                       parallel_tool_calls=False, **ANY)['choices'][0]['message']
            check_all(calls_of(few), 'allowed', ('look', 'nothing'), one=True)
        equal(seen, set(SCHEMAS))
        check(most > 1, 'never several calls')


@test
def a_tool_that_is_named_is_called_once_in_every_format():
    with Folder() as folder:
        model = chat_model(folder)
        listed = runnel('serve', '-m', model, '--output-format', 'x').fails(2, '--output-format: x is unknown').err.split('known ones are ')[1].split('\n')[0].split(', ')
        check(len(listed) > 30, listed)
        for form in listed:
            with serving(model, '--output-format', form) as s:
                body = {'messages': STORY, 'tools': TOOLS, 'tool_choice': {'type': 'function', 'function': {'name': 'look'}}, 'n': 8, 'seed': 0, **ANY}
                if form in ('none', 'think'):
                    check('has no calls' in error_of(post(s, CHAT, **body).json)['message'], form)
                    continue
                whole = [c for c in good(s, CHAT, **body)['choices'] if c['finish_reason'] != 'length']
                check(whole, form)
                for choice in whole:
                    equal(choice['finish_reason'], 'tool_calls', form)
                    check_all(calls_of(choice['message']), form, ('look',), one=True)


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
                one = {} if len(names) == 1 and 'mode' not in choice else {'parallel_tool_calls': False}
                answer = good(s, '/v1/responses', input='Once', tools=FLAT, tool_choice=choice, **one, **flat)
                check_all([(o['name'], json.loads(o['arguments'])) for o in answer['output'] if o['type'] == 'function_call'], choice, names, one=True)
                equal(answer['tool_choice'], choice)
            for choice, names in (({'type': 'any'}, SCHEMAS), ({'type': 'tool', 'name': 'look'}, ['look'])):
                one = {'disable_parallel_tool_use': True} if choice['type'] == 'any' else {}
                answer = good(s, '/v1/messages', model='m', messages=STORY, tools=OWN, max_tokens=400, tool_choice={**choice, **one}, **more)
                check_all([(b['name'], b['input']) for b in answer['content'] if b['type'] == 'tool_use'], choice, names, one=True)
                equal(answer['stop_reason'], 'tool_use')
            answer = good(s, '/v1/runnel/generate', messages=STORY, tools=TOOLS, tool_choice='required', parallel_tool_calls=False, max_tokens=400, **more)
            check_all(calls_of(answer['choices'][0]['message']), 'native', one=True)


STRICT = [{'type': 'function', 'function': {**t['function'], 'strict': True}} for t in TOOLS]
WANTS = [('look', {'at': 'the sky'}), ('stop', {'why': 'because', 'now': 1, 'x': []})]     # what the model would say


@test
def strict_tools_hold_where_the_model_calls_one_by_itself():
    said = ['Wait ', *(piece for name, a in WANTS for piece in ('<tool_call>', json.dumps({'name': name, 'arguments': a}), '</tool_call>'))]
    with Folder() as folder:
        path = folder / 'script.gguf'
        path.write_bytes(script_model.make({'T': said, 'N': ['No', '.']}, PLAIN, 2048))
        with serving(path) as s:
            ask = {'messages': [{'role': 'user', 'content': 'T'}], 'temperature': 0, 'max_tokens': 340}
            free = good(s, CHAT, **ask, tools=TOOLS)['choices'][0]['message']
            equal((free['content'], calls_of(free)), ('Wait', WANTS))
            for more in ({'tools': STRICT}, {'tools': STRICT, 'tool_choice': 'auto'}):
                choice = good(s, CHAT, **ask, **more)['choices'][0]
                told, _ = joined(stream(s, CHAT, **ask, **more))
                equal(choice['message']['content'], 'Wait')
                calls = [[(c['function']['name'], c['function']['arguments']) for c in m['tool_calls']] for m in (choice['message'], told)]
                equal(calls[0], calls[1])
                if choice['finish_reason'] == 'length':                 # off its script, it calls on and on
                    calls[0].pop()
                check_all([(name, json.loads(a)) for name, a in calls[0]], more)
            one = good(s, CHAT, **ask, tools=STRICT, parallel_tool_calls=False)['choices'][0]['message']
            check_all(calls_of(one), 'one', one=True)
            mixed = calls_of(good(s, CHAT, **ask, tools=[TOOLS[0], *STRICT[1:]])['choices'][0]['message'])     # the first is not strict
            equal(mixed[0], WANTS[0])
            few = {'type': 'allowed_tools', 'allowed_tools': {'mode': 'auto', 'tools': [{'type': 'function', 'function': {'name': 'look'}}]}}
            allowed = good(s, CHAT, **ask, tools=TOOLS, tool_choice=few)['choices'][0]['message']
            equal(calls_of(allowed), WANTS[:1])                         # then it would call the other
            equal(good(s, CHAT, **{**ask, 'messages': [{'role': 'user', 'content': 'N'}]}, tools=STRICT)['choices'][0]['message']['content'], 'No.')
            flat = good(s, '/v1/responses', input='T', temperature=0, parallel_tool_calls=False, tools=[{**t, 'strict': True} for t in FLAT], max_output_tokens=300)
            check_all([(o['name'], json.loads(o['arguments'])) for o in flat['output'] if o['type'] == 'function_call'], 'responses')
            own = good(s, '/v1/messages', model='m', **ask, tool_choice={'type': 'auto', 'disable_parallel_tool_use': True}, tools=[{**t, 'strict': True} for t in OWN])
            check_all([(b['name'], b['input']) for b in own['content'] if b['type'] == 'tool_use'], 'messages')
            equal(own['content'][0]['text'], 'Wait')


@test
def reasoning_comes_before_the_calls():
    template = "{# <think> #}{{ messages[-1].content }}"
    with Folder() as folder, serving(scripted(folder, template)) as s:
        message = good(s, CHAT, messages=[{'role': 'user', 'content': 'R'}], tools=TOOLS, tool_choice='required', temperature=0,
                       parallel_tool_calls=False)['choices'][0]['message']
        equal(message['reasoning_content'], 'hm so')
        check_all(calls_of(message), 'behind reasoning', one=True)


@test
def a_tag_that_ends_answers_is_a_tag_where_calls_have_it():
    solar = ('<|think|>', '<|begin|>', '<|content|>', '<|tool_calls|>', '<|tool_call:begin|>', '<|tool_call:name|>', '<|tool_call:args|>', '<|tool_call:end|>',
             '<|calls|>', '<|end|>')
    muse = ('<|start|>', '<|message|>', '<|eom|>', '<|eot|>')
    with Folder() as folder:
        for form, controls, ends in (('solar', solar, '<|calls|>'), ('solar', solar, '<|end|>'), ('muse', muse, '<|eom|>'), ('muse', muse, '<|eot|>')):
            path = folder / 'ends.gguf'
            path.write_bytes(script_model.make({'N': ['No', '.']}, PLAIN, 2048, controls, ends))
            seen = set()
            with serving(path, '--output-format', form) as s:
                body = {'messages': STORY, 'tools': TOOLS, 'logit_bias': {'2': -100}, 'n': 8, 'seed': 2, **ANY, 'max_tokens': 1000}
                for choice in ('required', {'type': 'function', 'function': {'name': 'stop'}}):
                    for c in good(s, CHAT, **body, tool_choice=choice)['choices']:
                        if c['finish_reason'] == 'length':
                            continue
                        equal((c['finish_reason'], c['message']['content']), ('tool_calls', None), (form, ends, c))
                        calls = calls_of(c['message'])
                        check_all(calls, (form, ends), one=choice != 'required', names=SCHEMAS if choice == 'required' else ('stop',))
                        seen.add(len(calls))
            check(seen and max(seen) > 1, form, ends, seen)


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
        error = error_of(post(s, CHAT, messages=STORY, tools=[{'type': 'function', 'function': {**deep[0]['function'], 'strict': True}}]).json)
        equal((error['code'], error['param']), ('unsupported_parameter', 'tools'), error)
    with Folder() as folder, serving(scripted(folder), '--output-format', 'none') as s:
        good(s, CHAT, messages=STORY, tools=STRICT, max_tokens=4)           # it cannot call any
        error = error_of(post(s, CHAT, messages=STORY, tools=TOOLS, tool_choice='required').json)
        equal((error['code'], error['param']), ('unsupported_parameter', 'tool_choice'), error)
        check('output format none has no calls' in error['message'], error)


main()
