#!/usr/bin/env python3
"""OpenAI's interfaces: chat, completions, responses, embeddings, models; errors before anything is promised."""
import base64
import json
import struct

from api import SCRIPTS, STORY, TOOLS, chat, chat_model, events, good, joined, message, post, scripted, serving, stream
from serving import Folder, check, equal, main, runnel, test

CHAT, TEXT = '/v1/chat/completions', '/v1/completions'


@test
def the_text_is_that_of_the_program_for_the_same_seed():
    with Folder() as folder:
        model = chat_model(folder)
        want = runnel('run', '--no-newline', '-m', model, '--chat', '-n', '24', '--seed', '7', 'Once upon a time').ok().text
        with serving(model) as s:
            choice = chat(s, max_tokens=24, seed=7)['choices'][0]
            equal(choice['message']['content'].rstrip('\n'), want.rstrip('\n'))
            equal(joined(stream(s, CHAT, messages=STORY, max_tokens=24, seed=7))[0]['content'], choice['message']['content'])
            plain = good(s, TEXT, prompt='Once upon a time', max_tokens=24, seed=7)['choices'][0]['text']
            equal(plain.rstrip('\n'), runnel('run', '--no-newline', '-m', model, '-n', '24', '--seed', '7', 'Once upon a time').ok().text.rstrip('\n'))


@test
def field_3_4_usage_comes_in_a_chunk_of_its_own_and_only_when_asked_for():
    with Folder() as folder, serving(chat_model(folder)) as s:
        plain = stream(s, CHAT, messages=STORY, max_tokens=3, seed=1)
        check(all('usage' not in c and c['choices'] for c in plain), plain)
        for path, prompt in ((CHAT, {'messages': STORY}), (TEXT, {'prompt': 'Once upon a time'})):
            data = stream(s, path, **prompt, max_tokens=3, seed=1, stream_options={'include_usage': True})
            check(all(c['usage'] is None and c['choices'] for c in data[:-1]), data)
            equal(data[-1]['choices'], [])
            equal({k: data[-1]['usage'][k] for k in ('prompt_tokens', 'completion_tokens', 'total_tokens')},
                  {'prompt_tokens': 5, 'completion_tokens': 3, 'total_tokens': 8})
        post(s, CHAT, messages=STORY, stream_options={'include_usage': True}).refuses(400, 'invalid_value', 'stream_options')
        for c in plain:
            equal((c['id'], c['object'], c['model'], c['created']), (plain[0]['id'], 'chat.completion.chunk', 'm', plain[0]['created']))


REFUSED = [   # path, body, status, code, param, why
    (CHAT, {'messages': []}, 'missing_required_parameter', 'messages', 'none'),
    (CHAT, {}, 'missing_required_parameter', 'messages', 'absent'),
    (CHAT, {'messages': 'a'}, 'invalid_value', 'messages', 'a string'),
    (CHAT, {'messages': [{'content': 'a'}]}, 'invalid_value', 'messages', 'no role'),
    (CHAT, {'messages': [{'role': 'user', 'content': [{'type': 'input_audio'}]}]}, 'unsupported_parameter', 'messages[0]', 'sound'),
    (CHAT, {'messages': [{'role': 'user', 'content': [{'type': 'image_url'}]}]}, 'invalid_value', 'messages[0]', 'a picture without one'),
    (CHAT, {'messages': [{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,AAAA'}}]}]}, 'invalid_value',
     'messages[0].content[0].image_url.url', 'a picture for a model that does not see'),
    (CHAT, {'messages': STORY, 'temperature': 5.5}, 'invalid_value', 'temperature', 'above 5'),
    (CHAT, {'messages': STORY, 'temperature': '1'}, 'invalid_value', 'temperature', 'a string'),
    (CHAT, {'messages': STORY, 'n': 0}, 'invalid_value', 'n', 'n - 1'),
    (CHAT, {'messages': STORY, 'n': 129}, 'invalid_value', 'n', 'n + 1'),
    (CHAT, {'messages': STORY, 'max_tokens': -2}, 'invalid_value', 'max_tokens', 'below -1'),
    (CHAT, {'messages': STORY, 'stop': ''}, 'invalid_value', 'stop', 'an empty stop string'),
    (CHAT, {'messages': STORY, 'stop': ['a'] * 17}, 'invalid_value', 'stop[16]', '17 stop strings'),
    (CHAT, {'messages': STORY, 'stop': ['a', 1]}, 'invalid_value', 'stop[1]', 'a number among them'),
    (CHAT, {'messages': STORY, 'logit_bias': {'abc': 1}}, 'invalid_value', 'logit_bias', 'no token'),
    (CHAT, {'messages': STORY, 'logit_bias': {'5': 101}}, 'invalid_value', 'logit_bias', 'above 100'),
    (CHAT, {'messages': STORY, 'top_logprobs': 21, 'logprobs': True}, 'invalid_value', 'top_logprobs', '21'),
    (CHAT, {'messages': STORY, 'model': 'gpt-4'}, 'model_not_found', 'model', 'no such model'),
    (CHAT, {'messages': STORY, 'response_format': {'type': 'xml'}}, 'invalid_value', 'response_format', 'no such type'),
    (CHAT, {'messages': STORY, 'tools': TOOLS, 'response_format': {'type': 'json_object'}}, 'unsupported_parameter', 'tools', 'a form and tools'),
    (CHAT, {'messages': STORY, 'grammar': 'root ::= x'}, 'invalid_value', 'grammar', 'no such rule'),
    (CHAT, {'messages': STORY, 'tool_choice': 'required', 'tools': TOOLS}, 'unsupported_parameter', 'tool_choice', 'a model without calls'),
    (CHAT, {'messages': STORY, 'tool_choice': 'any'}, 'invalid_value', 'tool_choice', 'no such word'),
    (CHAT, {'messages': STORY, 'tools': {}}, 'invalid_value', 'tools', 'an object'),
    (CHAT, {'messages': STORY, 'chat_template_kwargs': {'messages': []}}, 'invalid_value', 'chat_template_kwargs', 'shadows'),
    (CHAT, {'messages': STORY, 'reasoning_format': 'x'}, 'invalid_value', 'reasoning_format', 'no such word'),
    (CHAT, {'messages': STORY, 'resumable': True}, 'invalid_value', 'resumable', 'without stream'),
    (CHAT, {'messages': STORY, 'overflow': 'drop'}, 'invalid_value', 'overflow', 'no such rule'),
    (CHAT, {'messages': STORY, 'preset': 'x'}, 'invalid_value', 'preset', 'unknown preset'),
    (CHAT, {'messages': STORY, 'continue_final_message': True}, 'invalid_value', 'continue_final_message', 'not an assistant message'),
    (CHAT, {'messages': STORY * 2000}, 'context_length_exceeded', 'messages', 'too long'),
    (TEXT, {}, 'missing_required_parameter', 'prompt', 'absent'),
    (TEXT, {'prompt': []}, 'invalid_value', 'prompt', 'empty array'),
    (TEXT, {'prompt': ['a'] * 129}, 'invalid_value', 'prompt[128]', '129 prompts'),
    (TEXT, {'prompt': [1, -1]}, 'invalid_value', 'prompt[1]', 'token -1'),
    (TEXT, {'prompt': [1, 4096]}, 'invalid_token', 'prompt', 'token n_vocab'),
    (TEXT, {'prompt': 'a ' * 2000}, 'context_length_exceeded', 'prompt', 'too long'),
    (TEXT, {'prompt': 'a', 'suffix': 'b'}, 'unsupported_parameter', 'suffix', 'no tokens for a prompt with a hole'),
    (TEXT, {'prompt': 'a', 'best_of': 2}, 'invalid_value', 'strategy', 'strategy: 2 texts at once, more than this server has room for (--beams 1)'),
    (TEXT, {'prompt': 'a', 'mirostat': 3}, 'invalid_value', 'mirostat', 'no such version'),
    (TEXT, {'prompt': 'a', 'samplers': ['top_k', 'infill']}, 'invalid_value', 'samplers', 'no such stage'),
    (TEXT, {'prompt': 'a', 'samplers': 'top_k;top_k'}, 'invalid_value', 'samplers', 'twice'),
    (TEXT, {'prompt': 'a', 'mirostat': 2, 'adaptive_target': 0.5}, 'invalid_value', 'adaptive_target', 'both'),
    ('/v1/responses', {}, 'missing_required_parameter', 'input', 'absent'),
    ('/v1/responses', {'input': 'a', 'conversation': 'b'}, 'unsupported_parameter', 'conversation', 'conversations are not supported'),
    ('/v1/responses', {'input': 'a', 'previous_response_id': 'b'}, 'response_not_found', 'previous_response_id', 'no such response'),
    ('/v1/responses', {'input': 'a', 'text': {'format': {'type': 'json_schema'}}}, 'invalid_value', 'text', 'no schema'),
    ('/v1/responses', {'input': [{'type': 'item_reference', 'id': 'x'}]}, 'unsupported_parameter', 'input[0]', 'a reference'),
    ('/v1/embeddings', {}, 'missing_required_parameter', 'input', 'absent'),
    ('/v1/embeddings', {'input': ['a', 'a ' * 2000]}, 'context_length_exceeded', 'input', 'too long'),
    ('/v1/embeddings', {'input': [5, 4096]}, 'invalid_token', 'input', 'token n_vocab'),
    ('/v1/embeddings', {'input': 'a', 'encoding_format': 'hex'}, 'invalid_value', 'encoding_format', 'no such form'),
    ('/v1/embeddings', {'input': 'a', 'dimensions': 100000}, 'invalid_value', 'dimensions', 'more than there are'),
    ('/tokenize', {}, 'missing_required_parameter', 'content', 'absent'),
    ('/detokenize', {'tokens': [4096]}, 'invalid_token', 'tokens', 'token n_vocab'),
]


@test
def field_3_5_what_is_wrong_is_refused_by_name_before_anything_is_promised():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, body, code, param, why in REFUSED:
            for streams in (False, True) if path in (CHAT, TEXT, '/v1/responses') and 'resumable' not in body else (False,):
                answer = post(s, path, **body, **({'stream': True} if streams else {}))
                error = answer.json['error']
                equal((answer.status, error['code'], error['param']), (404 if code.endswith('_not_found') else 400, code, param), f'{why}: {error}')
                check(answer.header('x-request-id') and answer.header('content-type') == 'application/json', why)
        error = post(s, TEXT, prompt='a ' * 2000).json['error']
        check(error['n_prompt_tokens'] > 512 and error['n_ctx'] == 512, error)


@test
def field_3_5_bodies_that_are_no_json_are_refused():
    rows = [(b'', 'empty'), (b'{', 'unfinished'), (b'[]', 'an array'), (b'{} {}', 'two documents'), (b'\xef\xbb\xbf{}', 'a mark'),
            (b'{"prompt": "a", "prompt": "b"}', 'a member twice'), (b'{"prompt": "\xff"}', 'no UTF-8'), (b'{"prompt": NaN}', 'NaN'),
            (b'{"prompt": "\\ud800"}', 'half a pair'), (b'{"prompt": ' + b'[' * 64 + b']' * 64 + b'}', 'depth 65'), (b'{"seed": 1e400}', '1e400')]
    with Folder() as folder, serving(chat_model(folder)) as s:
        for body, why in rows:
            answer = s.post(TEXT, body)
            equal((answer.status, answer.json['error']['code']), (400, 'invalid_json'), f'{why}: {answer.body}')
        equal(s.post(TEXT, b'{"prompt": "a\\u0000b", "max_tokens": 1}').status, 200, 'U+0000 in a prompt is text')
        s.post(TEXT, b'{"prompt": "a", "model": "a\\u0000b"}').refuses(400, 'invalid_value', 'U+0000')


@test
def field_3_5_members_nobody_knows_are_listed_or_refused_in_strict_mode():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {'messages': STORY, 'max_tokens': 1, 'foo': 1, 'bar': None, 'baz.x': [], 'a b': 2}
        for streams in (False, True):
            equal(post(s, CHAT, **body, stream=streams).header('x-runnel-ignored'), 'foo, baz.x')
        post(s, CHAT, 'x-runnel-strict: true', **body).refuses(400, 'unknown_parameter', 'foo')
        harmless = {'response_format': {'type': 'text'}, 'store': False, 'service_tier': 'auto', 'modalities': ['text'], 'user': 'me',
                    'best_of': 1, 'typical_p': 1, 'metadata': {'a': 'b'}, 'logit_bias': None, 'stop': None}
        answer = post(s, CHAT, 'x-runnel-strict: true', messages=STORY, max_tokens=1, **harmless)
        equal(answer.status, 200, answer.body)


@test
def field_3_7_tool_calls_stream_as_the_whole_answer_has_them():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        body = {'messages': [{'role': 'user', 'content': 'T'}], 'temperature': 0, 'tools': TOOLS}
        whole, finish = message(s, 'T', tools=TOOLS)
        equal(finish, 'tool_calls')
        calls = [(c['type'], c['function']['name'], c['function']['arguments']) for c in whole['tool_calls']]
        equal(calls, [('function', 'look', '{"at": "the sky"}'), ('function', 'f', '{}')])
        equal(len({c['id'] for c in whole['tool_calls']}), 2)
        told, finish = joined(stream(s, CHAT, **body))
        equal([(c['type'], c['function']['name'], c['function']['arguments']) for c in told['tool_calls']], calls)
        equal((told['content'], finish), (whole['content'], 'tool_calls'))
        one, finish = message(s, 'T', tools=TOOLS, parallel_tool_calls=False)
        equal(([c['function']['name'] for c in one['tool_calls']], finish), (['look'], 'tool_calls'))
        told, finish = joined(stream(s, CHAT, **body, parallel_tool_calls=False))
        equal((len(told['tool_calls']), finish), (1, 'tool_calls'))
        for streams in (True, False):   # a model's bad JSON is text and no error of ours
            answer = post(s, CHAT, messages=[{'role': 'user', 'content': 'B'}], temperature=0, tools=TOOLS, stream=streams)
            equal(answer.status, 200)


@test
def field_3_8_reasoning_is_told_apart_or_in_tags_in_streams_as_in_whole_answers():
    rows = [('R', 'hm so', 'Yes', 'opened and closed'), ('N', None, 'Yes!', 'never opened'), ('U', 'hm so', '', 'never closed'),
            ('A', None, None, 'reopened')]
    with Folder() as folder, serving(scripted(folder), '--output-format', 'think') as s:
        for say, thought, content, why in rows:
            body = {'messages': [{'role': 'user', 'content': say}], 'temperature': 0}
            for form in ('separate', 'none', 'tags'):
                whole, _ = message(s, say, reasoning_format=form)
                told, _ = joined(stream(s, CHAT, **body, reasoning_format=form))
                for name in ('content', 'reasoning_content'):
                    equal(told.get(name), whole.get(name), f'{why}, {form}, {name}')
                if form == 'separate' and content is not None:
                    equal((whole.get('reasoning_content'), whole['content']), (thought, content), why)
                if form == 'none':
                    equal(whole['content'], ''.join(SCRIPTS[say]), why)
                if form == 'tags':
                    equal(whole['content'].count('<think>'), whole['content'].count('</think>'), why)
                    check('reasoning_content' not in whole, why)


@test
def field_3_9_logprobs_are_there_when_asked_for_and_belong_to_the_text():
    with Folder() as folder, serving(chat_model(folder)) as s:
        choice = chat(s, max_tokens=8, seed=3, logprobs=True, top_logprobs=2)['choices'][0]
        content = choice['logprobs']['content']
        equal(''.join(t['token'] for t in content), choice['message']['content'])
        check(all(bytes(t['bytes']).decode() == t['token'] and len(t['top_logprobs']) == 2 and t['logprob'] <= 0 for t in content), content)
        told = stream(s, CHAT, messages=STORY, max_tokens=8, seed=3, logprobs=True, top_logprobs=2)
        equal([t for c in told for h in c['choices'] if h['logprobs'] for t in h['logprobs']['content']], content)
        equal(chat(s, max_tokens=1)['choices'][0]['logprobs'], None)
        choice = good(s, TEXT, prompt='Once upon a time', max_tokens=8, seed=3, logprobs=2)['choices'][0]
        lists = choice['logprobs']
        equal(''.join(lists['tokens']), choice['text'])
        equal([len(lists[k]) for k in ('tokens', 'token_logprobs', 'top_logprobs', 'text_offset')], [8] * 4)
        equal([choice['text'][o:o + len(t)] for o, t in zip(lists['text_offset'], lists['tokens'])], lists['tokens'])


@test
def field_3_17_a_begun_answer_goes_on_as_if_it_had_not_been_cut():
    with Folder() as folder, serving(chat_model(folder)) as s:
        whole = chat(s, max_tokens=20, temperature=0)['choices'][0]['message']['content']
        begun = chat(s, max_tokens=9, temperature=0)['choices'][0]['message']['content']
        rest = chat(s, max_tokens=11, temperature=0, continue_final_message=True,
                    messages=[*STORY, {'role': 'assistant', 'content': begun}])['choices'][0]['message']['content']
        equal(begun + rest, whole)


@test
def several_answers_are_those_of_seeds_that_follow_each_other():
    with Folder() as folder, serving(chat_model(folder)) as s:
        alone = [chat(s, max_tokens=10, seed=i)['choices'][0]['message']['content'] for i in (5, 6, 7)]
        answer = chat(s, max_tokens=10, seed=5, n=3)
        equal([c['message']['content'] for c in answer['choices']], alone)
        equal((answer['usage']['prompt_tokens'], answer['usage']['completion_tokens']), (5, 30))
        told = stream(s, CHAT, messages=STORY, max_tokens=10, seed=5, n=3)
        equal([joined(told, i)[0]['content'] for i in range(3)], alone)


@test
def completions_take_texts_ids_and_several_of_them():
    with Folder() as folder, serving(chat_model(folder)) as s:
        more = {'max_tokens': 5, 'seed': 1}
        ids = good(s, '/tokenize', content='Once upon a time', add_special=True)['tokens']
        one = good(s, TEXT, prompt='Once upon a time', **more)['choices'][0]['text']
        equal(good(s, TEXT, prompt=ids, **more)['choices'][0]['text'], one)
        two = good(s, TEXT, prompt=['Once upon a time', 'The cat'], n=2, **more)['choices']
        equal([c['index'] for c in two], [0, 1, 2, 3])
        equal((two[0]['text'], two[2]['text']), (one, good(s, TEXT, prompt='The cat', **more)['choices'][0]['text']))
        equal(good(s, TEXT, prompt=[ids, ids], **more)['choices'][1]['text'], one)
        equal(good(s, TEXT, prompt='Once upon a time', echo=True, **more)['choices'][0]['text'], 'Once upon a time' + one)
        equal(good(s, TEXT, prompt='a')['usage']['completion_tokens'], 16, 'without max_tokens')
        text = ''.join(c['text'] for d in stream(s, TEXT, prompt='Once upon a time', **more) for c in d['choices'])
        equal(text, one)


@test
def embeddings_are_the_same_numbers_in_either_encoding():
    with Folder() as folder, serving(chat_model(folder)) as s:
        answer = good(s, '/v1/embeddings', input=['hello', 'the cat'])
        equal([d['index'] for d in answer['data']], [0, 1])
        vector = answer['data'][0]['embedding']
        text = good(s, '/v1/embeddings', input='hello', encoding_format='base64')['data'][0]['embedding']
        raw = base64.b64decode(text)
        equal(list(struct.unpack(f'<{len(raw) // 4}f', raw)), [struct.unpack('<f', struct.pack('<f', v))[0] for v in vector])
        check(abs(sum(v * v for v in vector) - 1) < 1e-5, 'not normalized')
        short = good(s, '/v1/embeddings', input='hello', dimensions=8)['data'][0]['embedding']
        check(len(short) == 8 and abs(sum(v * v for v in short) - 1) < 1e-5, short)
        ids = good(s, '/tokenize', content='hello', add_special=True)['tokens']
        equal(good(s, '/v1/embeddings', input=ids)['data'][0]['embedding'], vector)


@test
def responses_tell_items_by_events_that_add_up_to_the_whole_answer():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        tools = [{'type': 'function', **TOOLS[0]['function']}]
        for say in ('T', 'R', 'N'):
            whole = good(s, '/v1/responses', input=say, temperature=0, tools=tools)
            equal((whole['object'], whole['status']), ('response', 'completed'))
            told = events(post(s, '/v1/responses', input=say, temperature=0, tools=tools, stream=True).body)
            equal([d['sequence_number'] for _, _, d in told], list(range(len(told))))
            check(all(name == d['type'] for _, name, d in told), told)
            equal((told[0][1], told[1][1], told[-1][1]), ('response.created', 'response.in_progress', 'response.completed'))
            texts = {}
            for _, name, d in told:
                if name.endswith('.delta'):
                    texts[d['output_index']] = texts.get(d['output_index'], '') + d['delta']
            items = told[-1][2]['response']['output']
            for i, item in enumerate(items):
                equal(texts[i], item['arguments'] if item['type'] == 'function_call' else item['content'][0]['text'])
            equal([(i['type'], i.get('content', i.get('arguments'))) for i in items],
                  [(i['type'], i.get('content', i.get('arguments'))) for i in whole['output']])
            check({'cached_tokens'} == set(whole['usage']['input_tokens_details']), whole['usage'])
            check({'reasoning_tokens'} == set(whole['usage']['output_tokens_details']), whole['usage'])
        equal([i['type'] for i in good(s, '/v1/responses', input='T', temperature=0)['output']], ['message', 'function_call', 'function_call'])
        short = good(s, '/v1/responses', input='T', temperature=0, max_output_tokens=2)
        equal((short['status'], short['incomplete_details']), ('incomplete', {'reason': 'max_output_tokens'}))


main()
