#!/usr/bin/env python3
"""Answers of a given form, in every interface: what they are, what refuses them, and what stands beside them in a request."""
import json
import random
import re

from api import STORY, TOOLS, chat_model, error_of, events, good, joined, post, serving, stream
from serving import Folder, Skip, check, equal, main, test

CHAT, TEXT, GENERATE = '/v1/chat/completions', '/v1/completions', '/v1/runnel/generate'
OBJECT = {'type': 'object', 'properties': {'at': {'enum': ['the sky', 'the sea']}, 'n': {'type': 'integer', 'minimum': 0, 'maximum': 99}},
          'required': ['at', 'n'], 'additionalProperties': False}
NESTED = {'type': 'json_schema', 'json_schema': {'name': 'x', 'strict': False, 'schema': OBJECT}}
BESIDE = {'type': 'json_schema', 'name': 'x', 'schema': OBJECT}
SAMPLED = {'temperature': 2, 'seed': 5}


def validator():
    try:
        import jsonschema
    except ImportError:
        return None
    return lambda value, schema: jsonschema.Draft202012Validator(schema).validate(value)


def some_schema(rng, depth=0):
    """A small schema whose texts are short: what no bound holds back may fill any limit of tokens."""
    kind = rng.choice(('enum', 'string', 'number', 'boolean', 'null', 'pattern', 'format', *(('object', 'array', 'anyOf') if depth < 2 else ())))
    if kind == 'enum':
        return {'enum': rng.sample([1, -2.5, 'a', 'a cat', '\u00e9\u4e2d\U0001f600', None, True, [1, {'b': 2}], ''], rng.randint(1, 4))}
    if kind == 'string':
        least = rng.randint(0, 3)
        return {'type': 'string', 'minLength': least, 'maxLength': least + rng.randint(0, 8)}
    if kind == 'number':
        return {'type': 'integer', 'minimum': rng.randint(-50, 0), 'maximum': rng.randint(1, 500), 'multipleOf': rng.choice((1, 5))}
    if kind == 'pattern':
        return {'type': 'string', 'pattern': rng.choice(('^[a-f]{2,5}$', '^(yes|no)!?$', '^\\d{3}-\\d{4}$', '^[^"\\\\]{0,6}$'))}
    if kind == 'format':
        return {'type': 'string', 'format': rng.choice(('date', 'uuid', 'ipv4'))}
    if kind == 'object':
        names = rng.sample(['a', 'b_2', 'some name', 'é', '"q"'], rng.randint(0, 3))
        return {'type': 'object', 'properties': {n: some_schema(rng, depth + 1) for n in names}, 'required': [n for n in names if rng.random() < 0.7],
                'additionalProperties': False}
    if kind == 'array':
        return {'type': 'array', 'items': some_schema(rng, depth + 1), 'minItems': rng.randint(0, 1), 'maxItems': rng.randint(1, 3)}
    if kind == 'anyOf':
        return {'anyOf': [some_schema(rng, depth + 1) for _ in range(rng.randint(1, 3))]}
    return {'type': kind}


@test
def answers_to_random_schemas_are_whole_and_valid():
    is_valid = validator()
    if not is_valid:
        raise Skip('jsonschema is not here')
    rng, n_whole = random.Random(26), 0
    with Folder() as folder, serving(chat_model(folder)) as s:
        for i in range(120):
            schema = some_schema(rng)
            space = rng.choice(('dumps', 'compact', 'free'))
            answer = good(s, GENERATE, prompt='Once', json_schema=schema, json_space=space, temperature=rng.choice((1, 5)), seed=i, max_tokens=400)['choices'][0]
            if answer['finish_reason'] == 'length':
                continue
            n_whole += 1
            value = json.loads(answer['text'])
            is_valid(value, schema)
            if space != 'free' and re.fullmatch(r'[\x20-\x7e]*', answer['text']) and not re.search(r'\d\.|\de|\\|/', answer['text']):
                separators = {'dumps': (', ', ': '), 'compact': (',', ':')}[space]
                equal(answer['text'], json.dumps(value, separators=separators))
    check(n_whole >= 110, n_whole)


def texts(s):
    """What each interface answers to the same prompt, seed and schema: {its name: (text, parameters that it wants)}."""
    chat = {'messages': STORY, 'max_tokens': 60, **SAMPLED}
    options = {'num_predict': 60, **SAMPLED}
    yield 'generate', good(s, GENERATE, **chat, json_schema=OBJECT)['choices'][0]['text']
    for name, more in (('response_format', NESTED), ('response_format', {'type': 'json_object', 'schema': OBJECT}), ('guided_json', OBJECT), ('guided_json', json.dumps(OBJECT)),
                       ('structured_outputs', {'json': OBJECT, 'regex': None}), ('json_schema', OBJECT)):
        yield name, good(s, CHAT, **chat, **{name: more})['choices'][0]['message']['content']
    answer = good(s, '/v1/responses', input=STORY[0]['content'], max_output_tokens=60, **SAMPLED, text={'format': BESIDE})
    equal(answer['text']['format'], BESIDE)
    yield 'responses', answer['output'][0]['content'][0]['text']
    for more in ({'output_config': {'format': BESIDE}}, {'output_format': BESIDE}):
        answer = good(s, '/v1/messages', **chat, **more)
        equal(answer['stop_reason'], 'end_turn')
        yield 'messages', answer['content'][0]['text']
    yield 'ollama', good(s, '/api/chat', messages=STORY, stream=False, format=OBJECT, options=options)['message']['content']
    yield 'ollama generate', good(s, '/api/generate', prompt=STORY[0]['content'], stream=False, format=OBJECT, options=options)['response']
    chunks = stream(s, CHAT, **chat, response_format=NESTED)
    message, finish = joined(chunks)
    equal(finish, 'stop')
    yield 'a stream', message['content']


@test
def every_interface_gives_the_same_answer():
    with Folder() as folder, serving(chat_model(folder)) as s:
        told = list(texts(s))
        value = json.loads(told[0][1])
        check(set(value) == {'at', 'n'} and value['at'] in ('the sky', 'the sea'), value)
        equal({text for _, text in told}, {told[0][1]}, told)
        answer = good(s, '/completion', prompt='Once', n_predict=60, json_schema=OBJECT, **SAMPLED)
        equal(sorted(json.loads(answer['content'])), ['at', 'n'])
        equal((answer['stop_type'], answer['stop']), ('eos', True))
        for body in ({'format': 'json'}, {'format': {'type': 'object', 'maxProperties': 0}}):
            text = good(s, '/api/chat', messages=STORY, stream=False, **body, options={'num_predict': 300, 'temperature': 1, 'seed': 3, 'logit_bias': {}})['message']['content']
            check(text.startswith('{'), text)
        equal(text, '{}')
        equal(good(s, '/api/chat', messages=STORY, stream=False, format='', options={'num_predict': 4, 'seed': 1})['message'],
              good(s, '/api/chat', messages=STORY, stream=False, options={'num_predict': 4, 'seed': 1})['message'])


@test
def regular_expressions_choices_and_json_have_their_members():
    with Folder() as folder, serving(chat_model(folder)) as s:
        def of(**body):
            answer = good(s, TEXT, prompt='Once', max_tokens=300, **SAMPLED, **body)['choices'][0]
            return answer['text']
        for name, regex in (('regex', '[a-c]{3}-(yes|no)'), ('guided_regex', '\\d{4}')):
            check(re.fullmatch(regex, of(**{name: regex})))
            check(re.fullmatch(regex, of(structured_outputs={'regex': regex})))
        for name, body in (('choices', ['a cat', 'the dog']), ('guided_choice', ['yes']), ('structured_outputs', {'choice': ['\u00e9\u4e2d', '"']})):
            check(of(**{name: body}) in (body if isinstance(body, list) else body['choice']))
        for body in ({'json_mode': True}, {'guided_json_object': True}, {'response_format': {'type': 'json_object'}}, {'structured_outputs': {'json_object': True}}):
            text = of(**body)
            check(text.startswith('{'), text)
        counts = 'root ::= "a" root "b" | "."'
        for body in ({'grammar': counts}, {'guided_grammar': counts}, {'structured_outputs': {'grammar': counts}}, {'grammar': 'start: "a" start "b" | "."'}):
            text = of(**body)
            a, b = (text + '.').split('.')[:2]
            check(set(a) <= {'a'} and set(b) <= {'b'} and len(a) >= len(b), text)
        # What asks for nothing is no form, and leaves room for another one.
        plain = of()
        for body in ({'json_mode': False}, {'response_format': {'type': 'text'}}, {'structured_outputs': {}}, {'json_schema': None}, {'grammar': ''}, {'json_space': 'free'}):
            equal(of(**body), plain)
        equal(of(json_mode=False, structured_outputs={'json': None, 'json_object': False}, choices=['a']), 'a')
        compact = of(structured_outputs={'json': OBJECT, 'disable_any_whitespace': True})
        check(' "' not in compact and ': ' not in compact, compact)
        equal(of(json_schema=OBJECT, json_space='compact'), compact)


CALLS = {'type': 'triggered_tags', 'triggers': ['<f='], 'tags': [{'type': 'tag', 'begin': f'<f={name}>', 'content': {'type': 'json_schema', 'json_schema': OBJECT}, 'end': '</f>'}
                                                              for name in ('look', 'listen')]}


@test
def structural_tags_have_free_text_around_forms():
    one, free = {**CALLS, 'at_least_one': True, 'stop_after_first': True}, {'type': 'sequence', 'elements': [{'type': 'regex', 'pattern': '[a-z]{3}<f='}, CALLS]}
    older = {'structures': [{'begin': '<f=', 'schema': OBJECT, 'end': '</f>'}], 'triggers': ['<f']}
    with Folder() as folder, serving(chat_model(folder)) as s:
        def of(**body):
            return good(s, TEXT, prompt='Once', max_tokens=300, **SAMPLED, **body)['choices'][0]['text']
        bodies = [{'structural_tag': {'format': one}}, {'structural_tag': json.dumps({'format': one})}, {'response_format': {'type': 'structural_tag', 'format': one}},
                  {'structured_outputs': {'structural_tag': {'format': one}}}, {'structured_outputs': {'structural_tag': json.dumps({'format': one})}}]
        texts = {of(**body) for body in bodies}
        equal(len(texts), 1, texts)
        name, value = re.fullmatch('<f=(look|listen)>(.*)</f>', texts.pop(), re.S).groups()
        equal(sorted(json.loads(value)), ['at', 'n'], value)
        compact = of(structural_tag={'format': one}, json_space='compact')
        check(': ' not in compact.split('>')[1].split('<')[0], compact)
        for tag in ({'format': CALLS}, older, {'format': free}):        # whatever it writes, what follows a trigger has the form
            text = of(response_format={'type': 'structural_tag', **tag}, ignore_eos=True)
            for part in re.split('<f=?', text)[1:]:
                check(tag is older or re.match('(look|listen)>[{]', part + '{' if part.endswith('>') else part) or text.endswith(part), text)
        check(re.match('[a-z]{3}<f=', of(structural_tag={'format': free})))
        answer = good(s, CHAT, messages=STORY, max_tokens=300, **SAMPLED, response_format={'type': 'structural_tag', 'format': one})
        check(re.fullmatch('<f=(look|listen)>[{].*</f>', answer['choices'][0]['message']['content'], re.S), answer)


BAD = {'type': 'object', 'properties': {'a': {'type': 'objec'}}}
KEYWORD = {'properties': {'a': {'type': 'array', 'uniqueItems': True}}}
REFUSALS = [   # path, body, code, param, a part of the message
    (TEXT, {'json_schema': BAD}, 'invalid_value', 'json_schema', 'json_schema: /properties/a/type: '),
    (TEXT, {'response_format': {'type': 'json_schema', 'json_schema': {'schema': BAD}}}, 'invalid_value', 'response_format.json_schema.schema',
     'response_format.json_schema.schema: /properties/a/type: '),
    (TEXT, {'response_format': {'type': 'json_schema', 'schema': KEYWORD}}, 'unsupported_parameter', 'response_format.schema',
     'response_format.schema: /properties/a/uniqueItems: '),
    (TEXT, {'structured_outputs': {'json': KEYWORD}}, 'unsupported_parameter', 'structured_outputs.json', '/properties/a/uniqueItems: '),
    (TEXT, {'guided_json': '{"a'}, 'invalid_value', 'guided_json', 'guided_json: '), (TEXT, {'guided_regex': 'a('}, 'invalid_value', 'guided_regex', '(at character 3)'),
    (TEXT, {'choices': []}, 'invalid_value', 'choices', 'there is none'), (TEXT, {'choices': ['a', 5]}, 'invalid_value', 'choices[1]', 'must be a string'),
    (TEXT, {'json_schema': False}, 'invalid_value', 'json_schema', 'json_schema: '), (TEXT, {'json_schema': '{}'}, 'invalid_value', 'json_schema', 'must be a JSON Schema'),
    (TEXT, {'json_mode': True, 'regex': 'a'}, 'invalid_value', 'regex', 'excludes json_mode: an answer has one form'),
    (TEXT, {'response_format': {'type': 'json_object'}, 'guided_choice': ['a']}, 'invalid_value', 'guided_choice', 'excludes response_format'),
    (TEXT, {'json_space': 'none'}, 'invalid_value', 'json_space', 'none'), (TEXT, {'grammar': 'root ::= x'}, 'invalid_value', 'grammar', '1:10: '),
    (TEXT, {'structural_tag': {}}, 'invalid_value', 'structural_tag', 'structural_tag: "format" is missing'),
    (TEXT, {'structural_tag': 5}, 'invalid_value', 'structural_tag', 'must be a structural tag'),
    (TEXT, {'response_format': {'type': 'structural_tag', 'format': {'type': 'json_schema', 'json_schema': KEYWORD}}}, 'unsupported_parameter', 'response_format',
     'response_format: /format/json_schema/properties/a/uniqueItems: '),
    (TEXT, {'structured_outputs': {'structural_tag': {'format': {'type': 'xml'}}}}, 'invalid_value', 'structured_outputs.structural_tag', '/format/type: "xml" is no format'),
    ('/v1/responses', {'text': {'format': {'type': 'structural_tag', 'format': CALLS}}}, 'invalid_value', 'text', 'type: '),
    ('/v1/responses', {'text': {'format': {'type': 'json_schema', 'schema': BAD}}}, 'invalid_value', 'text.format.schema', 'text.format.schema: /properties/a/type: '),
    ('/v1/messages', {'output_config': {'format': {'type': 'json_schema', 'schema': BAD}}}, None, None, 'output_config.format.schema: /properties/a/type: '),
    ('/v1/messages', {'output_format': {'type': 'json_schema', 'schema': KEYWORD}}, None, None, 'output_format.schema: /properties/a/uniqueItems: '),
    ('/api/chat', {'format': BAD}, None, None, 'format: /properties/a/type: '), ('/api/generate', {'format': 'xml'}, None, None, 'format: must be "json" or a JSON Schema'),
    (CHAT, {'tools': TOOLS, 'json_mode': True}, 'unsupported_parameter', 'tools', 'unless tool_choice is none'),
    ('/v1/messages', {'tools': [{'name': 'look', 'input_schema': {}}], 'output_format': BESIDE}, None, None, 'tools: exclude an answer of a given form'),
    ('/api/chat', {'tools': TOOLS, 'format': OBJECT}, None, None, 'tools: exclude an answer of a given form'),
    (GENERATE, {'json_schema': OBJECT, 'reply_tokens': [402], 'messages': STORY, 'prompt': None}, 'invalid_value', 'reply_tokens', 'does not follow the grammar'),
]
LEAST = {TEXT: {'prompt': 'a'}, GENERATE: {'prompt': 'a'}, '/v1/responses': {'input': 'a'}, '/api/generate': {'prompt': 'a'}}


@test
def what_is_wrong_is_named_with_its_place():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, body, code, param, part in REFUSALS:
            answer = post(s, path, **{**LEAST.get(path, {'messages': STORY}), 'max_tokens': 8, **body})
            error = error_of(answer.json)
            equal((answer.status, error['code'], error['param']), (400, code, param), (path, body, answer.body))
            check(part in error['message'], (path, body, error['message']))
        good(s, CHAT, messages=STORY, tools=TOOLS, tool_choice='none', json_mode=True, max_tokens=8)
        good(s, CHAT, messages=STORY, tools=[], json_mode=True, max_tokens=8)


@test
def a_form_stands_between_the_tags_of_formats_that_frame_answers():
    for name in ('llama-4', 'harmony', 'muse', 'command-a', 'kimi-k3', 'functionary-3.2', 'solar', 'granite', 'apriel'):
        with Folder() as folder, serving(chat_model(folder), '--output-format', name) as s:
            body = {'messages': STORY, 'temperature': 5, 'top_k': 0, 'top_p': 1, 'min_p': 0, 'max_tokens': 120, 'n': 8}
            ends = 0                                                # others reason until they are cut off
            for choice in good(s, CHAT, response_format={'type': 'json_schema', 'json_schema': {'schema': OBJECT}}, seed=3, **body)['choices']:
                said = choice['message']
                if choice['finish_reason'] == 'stop':
                    equal(sorted(json.loads(said['content'])), ['at', 'n'], (name, said))
                    ends += 1
                else:
                    equal(choice['finish_reason'], 'length', (name, choice))
            check(ends, name)
            told, finish = joined(stream(s, CHAT, choices=['yes', 'no'], seed=4, **{**body, 'n': 1}))
            check(told['content'] in ('yes', 'no') or finish == 'length', name, told)
            equal(good(s, GENERATE, prompt='a', regex='b')['choices'][0]['text'], 'b')       # not a chat


@test
def forced_tokens_are_counted_and_may_be_drawn():
    regex = 'Once upon a time there was a (cat|dog) that was very happy'
    with Folder() as folder, serving(chat_model(folder)) as s:
        answers = [good(s, GENERATE, prompt='a', regex=regex, forced_tokens=forced, **SAMPLED) for forced in (True, False)]
        for answer in answers:
            check(re.fullmatch(regex, answer['choices'][0]['text']), answer)
            equal(answer['choices'][0]['usage']['completion_tokens'], len(answer['choices'][0]['tokens']), answer)
        told = good(s, GENERATE, prompt='a', regex=regex, logprobs=1, **SAMPLED)
        equal(told['choices'][0]['tokens'], answers[0]['choices'][0]['tokens'])
        check(all(x['logprob'] <= 0 for x in told['choices'][0]['logprobs']), told)


@test
def a_form_is_checked_without_an_answer():
    path = '/v1/runnel/grammar'
    with Folder() as folder, serving(chat_model(folder)) as s:
        for form in ({'json_schema': OBJECT}, {'json_schema': True, 'json_space': 'free'}, {'json_mode': True}, {'regex': 'a+'}, {'choices': ['a']}, {'grammar': 'root ::= "a"'}, {'structural_tag': {'format': CALLS}}):
            answer = good(s, path, **form)
            equal((answer['object'], answer['bytes'] > 0), ('grammar', True))
        for body, code, param, part in (({'json_schema': BAD}, 'invalid_value', 'json_schema', '/properties/a/type: '),
                                        ({'json_schema': KEYWORD}, 'unsupported_parameter', 'json_schema', '/properties/a/uniqueItems: '),
                                        ({'regex': 'a('}, 'invalid_value', 'regex', '(at character 3)'),
                                        ({}, 'missing_required_parameter', 'json_schema', 'json_mode'), ({'json_mode': False}, 'missing_required_parameter', 'json_schema', ''),
                                        ({'regex': 'a', 'model': 'x'}, 'model_not_found', 'model', 'unknown')):
            answer = post(s, path, **body)
            error = error_of(answer.json)
            equal((answer.status // 100, error['code'], error['param']), (4, code, param), body)
            check(part in error['message'], error)


@test
def several_answers_log_probabilities_and_ids_belong_to_their_texts():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {'prompt': ['Once', 'The cat'], 'n': 3, 'max_tokens': 60, 'json_schema': OBJECT, 'logprobs': 2, 'return_token_ids': True, **SAMPLED}
        choices = good(s, TEXT, **body)['choices']
        equal(len(choices), 6)
        for choice in choices:
            check(set(json.loads(choice['text'])) == {'at', 'n'}, choice['text'])
            equal(choice['finish_reason'], 'stop')
            equal(''.join(choice['logprobs']['tokens']), choice['text'])      # the last token, which ended the answer, has a text
            equal(len(choice['token_ids']), len(choice['logprobs']['tokens']))
            check(all(p <= 0 for p in choice['logprobs']['token_logprobs']))
            equal(good(s, '/detokenize', tokens=choice['token_ids'])['content'], choice['text'])
        for i, choice in enumerate(choices):
            alone = good(s, TEXT, **{**body, 'prompt': body['prompt'][i // 3], 'n': 1, 'seed': 5 + i % 3})['choices'][0]
            equal(alone['text'], choice['text'])


@test
def a_stop_string_and_the_limit_still_end_an_answer():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {'prompt': 'Once', 'json_schema': OBJECT, **SAMPLED}
        whole = good(s, GENERATE, **body, max_tokens=60)['choices'][0]
        equal((whole['finish_reason'], whole['finish_detail']), ('stop', 'grammar'))
        cut = good(s, GENERATE, **body, max_tokens=5)['choices'][0]
        equal((cut['finish_reason'], cut['tokens']), ('length', whole['tokens'][:5]))
        stopped = good(s, GENERATE, **body, max_tokens=60, stop=',')['choices'][0]
        equal((stopped['finish_reason'], stopped['text']), ('stop', whole['text'].split(',')[0]))
        # The beginning of an answer as it was sampled, and what follows it.
        begun = {'messages': STORY, 'json_schema': OBJECT, 'max_tokens': 60, **SAMPLED}
        first = good(s, GENERATE, **begun)['choices'][0]
        rest = good(s, GENERATE, **begun, reply_tokens=first['tokens'][:4])['choices'][0]
        equal(first['tokens'][-len(rest['tokens']):], rest['tokens'])
        check(first['text'].endswith(rest['text']), (first['text'], rest['text']))


@test
def turns_of_a_session_and_streams_taken_up_again_keep_the_form():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for i in range(3):
            turn = good(s, GENERATE, prompt=' Then', session='a', json_schema=OBJECT, max_tokens=60, temperature=2, seed=i)['choices'][0]
            equal(sorted(json.loads(turn['text'])), ['at', 'n'])
        body = {'prompt': 'Once', 'json_schema': OBJECT, 'max_tokens': 60, 'stream': True, 'resumable': True, **SAMPLED}
        answer = post(s, GENERATE, **body)
        told = [(i, d) for i, _, d in events(answer.body) if d != '[DONE]']
        middle = told[len(told) // 2][0]
        again = s.get(f'/v1/runnel/streams/{answer.header("x-runnel-stream")}', f'Last-Event-ID: {middle}')
        text = ''.join(d['text'] for _, d in told[:len(told) // 2 + 1]) + ''.join(d['text'] for _, _, d in events(again.body) if d != '[DONE]')
        equal(text, ''.join(d['text'] for _, d in told))
        equal(sorted(json.loads(text)), ['at', 'n'])


main()
