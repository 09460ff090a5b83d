#!/usr/bin/env python3
"""tests/serve/guidance_test.py - what guides a text, through the server's interfaces."""
import json

from api import chat_model, post, serving
from serving import Folder, check, equal, main, test

GENERATE = '/v1/runnel/generate'

TIME = 'Once upon a time'
PLAIN = {'temperature': 0, 'max_tokens': 40, 'ignore_eos': True}


@test
def banned_strings_come_in_no_answer_of_any_interface():
    with Folder() as folder, serving(chat_model(folder), '--streams', '4') as s:
        text = post(s, GENERATE, prompt=TIME, **PLAIN).json['choices'][0]['text']
        banned = [text[8:10].upper(), text[20:23]]
        chat = [{'role': 'user', 'content': TIME}]
        options = {'num_predict': 40, 'temperature': 0, 'ignore_eos': True}
        for path, body, of in (
                (GENERATE, {'prompt': TIME, **PLAIN}, lambda a: [a['choices'][0]['text']]),
                ('/v1/completions', {'prompt': TIME, **PLAIN, 'n': 3, 'temperature': 1, 'seed': 5}, lambda a: [c['text'] for c in a['choices']]),
                ('/v1/chat/completions', {'messages': chat, **PLAIN}, lambda a: [c['message']['content'] for c in a['choices']]),
                ('/completion', {'prompt': TIME, **PLAIN}, lambda a: [a['content']]),
                ('/api/generate', {'prompt': TIME, 'raw': True, 'stream': False, 'options': options}, lambda a: [a['response']])):
            where = body['options'] if 'options' in body else body
            free = of(post(s, path, **body).json)
            where['banned_strings'] = banned
            held = of(post(s, path, **body).json)
            check(not any(b.lower() in t.lower() for b in banned for t in held), (path, held))
            where['banned_strings'] = 'no such text'
            equal(of(post(s, path, **body).json), free, path)
            where.update(banned_strings=[b.swapcase() for b in banned if b.swapcase() not in free[0]], banned_match_case=True)
            equal(of(post(s, path, **body).json)[0], free[0], path)


@test
def a_stream_never_shows_the_beginning_of_a_banned_string_that_completes():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for seed in range(6):
            body = {'prompt': TIME, 'max_tokens': 60, 'seed': seed, 'temperature': 1, 'banned_strings': ['e', 'th', 'an'], 'logprobs': 1}
            whole = post(s, GENERATE, **body).json['choices'][0]
            told = post(s, GENERATE, stream=True, **body).body.decode()
            parts = [json.loads(line[6:]) for line in told.splitlines() if line.startswith('data: {')]
            equal(''.join(p.get('text', '') for p in parts), whole['text'])
            equal([t for p in parts for t in p.get('tokens', [])], whole['tokens'])
            check(not any(b in whole['text'].lower() for b in ('e', 'th', 'an')), whole['text'])


@test
def a_healed_prompt_may_end_inside_a_word():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for begun in ('Once upon a ti', 'Once upon a time, there was a lit'):
            rest = begun.rsplit(' ', 1)[1]
            for path, of in ((GENERATE, lambda a: a['choices'][0]['text']), ('/v1/completions', lambda a: a['choices'][0]['text']), ('/completion', lambda a: a['content'])):
                text = of(post(s, path, prompt=begun, token_healing=True, **PLAIN).json)
                check((rest + text).startswith(('time', 'little')), (path, text))
            # A prefilled answer is healed, what a template writes is not.
            chat = [{'role': 'user', 'content': 'x'}, {'role': 'assistant', 'content': begun}]
            text = post(s, '/v1/chat/completions', messages=chat, continue_final_message=True, token_healing=True, **PLAIN).json['choices'][0]['message']['content']
            check((rest + text).startswith(('time', 'little')), text)
            asked = {'messages': [{'role': 'user', 'content': begun}], **PLAIN}
            equal(*(post(s, '/v1/chat/completions', token_healing=heals, **asked).json['choices'][0]['message'] for heals in (False, True)))
            # What a reply goes on with.
            body = {'prompt': begun, 'token_healing': True, 'temperature': 1, 'seed': 3, 'max_tokens': 20}
            whole = post(s, GENERATE, **body).json['choices'][0]
            for n in (1, 5):
                equal(whole['tokens'][n:], post(s, GENERATE, **{**body, 'max_tokens': 20 - n}, reply_tokens=whole['tokens'][:n]).json['choices'][0]['tokens'])
            post(s, GENERATE, **body, reply_tokens=[5]).refuses(400, 'invalid_value', 'token_healing')


@test
def guidance_is_the_same_in_every_interface_and_with_other_requests():
    with Folder() as folder, serving(chat_model(folder), '--streams', '4') as s:
        more = {'guidance_scale': 3, 'negative_prompt': 'There was a cat', 'temperature': 1, 'seed': 5, 'max_tokens': 30}
        whole = [c['text'] for c in post(s, '/v1/completions', prompt=TIME, n=4, **more).json['choices']]
        for i, text in enumerate(whole):
            equal(post(s, GENERATE, prompt=TIME, **{**more, 'seed': 5 + i}).json['choices'][0]['text'], text)
        equal(post(s, '/completion', prompt=TIME, cfg_scale=3, **{k: v for k, v in more.items() if k != 'guidance_scale'}).json['content'], whole[0])
        chat = [{'role': 'user', 'content': TIME}]      # whose template adds nothing
        equal(post(s, '/v1/chat/completions', messages=chat, **more).json['choices'][0]['message']['content'], whole[0])
        check(whole[0] != post(s, GENERATE, prompt=TIME, **{**more, 'negative_prompt': ''}).json['choices'][0]['text'], whole[0])
        # With a session it is what it is without one.
        first = post(s, GENERATE, prompt=TIME, session='a', **more).json['choices'][0]
        equal(first['text'], whole[0])
        next_one = post(s, GENERATE, ids=[427, 438], session='a', **more).json['choices'][0]
        ids = [*post(s, '/tokenize', content=TIME, add_special=True).json['tokens'], *first['tokens'], 427, 438]
        equal(next_one['tokens'], post(s, GENERATE, ids=ids, **more).json['choices'][0]['tokens'])
        post(s, GENERATE, prompt=TIME, negative_prompt='a').refuses(400, 'invalid_value', 'negative_prompt')


if __name__ == '__main__':
    main()
