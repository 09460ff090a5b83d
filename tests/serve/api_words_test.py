#!/usr/bin/env python3
"""Members and values that clients of OpenAI, vLLM and llama-server send: honoured as these servers do, or refused by name."""
import json

from api import STORY, chat, chat_model, events, good, joined, post, scripted, serving, stream
from serving import Folder, check, equal, main, test

CHAT, TEXT, GENERATE = '/v1/chat/completions', '/v1/completions', '/v1/runnel/generate'
SHORT = {'prompt': 'Once upon a time', 'max_tokens': 12, 'seed': 3}


def raw(server, path, text):
    """The answer to a body that is written by hand: what JSON libraries would not write so."""
    answer = server.post(path, text)
    equal(answer.status, 200, answer.body)
    return answer.json


@test
def a_prompt_that_does_not_fit_is_refused_in_openais_words():
    rows = [(CHAT, {'messages': [{'role': 'user', 'content': 'long ' * 900}]}, 'messages'), (TEXT, {'prompt': 'long ' * 900}, 'prompt'),
            (GENERATE, {'prompt': 'long ' * 900}, 'prompt'), ('/v1/responses', {'input': 'long ' * 900}, 'messages'),
            ('/v1/embeddings', {'input': 'long ' * 900}, 'input')]
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, body, what in rows:
            error = post(s, path, **body).refuses(400, 'context_length_exceeded').json['error']
            equal(error['message'], f"This model's maximum context length is 512 tokens. However, your {what} resulted in {error['n_prompt_tokens']} "
                                    f'tokens. Please reduce the length of the {what}.', path)
            equal(error['n_ctx'], 512)


@test
def seeds_of_64_bits_come_back_exactly():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for seed in (0, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1):
            for path, body in ((TEXT, {'prompt': 'The cat'}), (CHAT, {'messages': STORY})):
                choice = good(s, path, **body, max_tokens=3, seed=seed)['choices'][0]
                equal(choice['runnel']['seed'], seed, path)
            equal(good(s, GENERATE, prompt='The cat', max_tokens=3, seed=seed)['choices'][0]['seed'], seed)
        again = [raw(s, TEXT, f'{{"prompt": "The cat", "max_tokens": 8, "seed": {w}}}')['choices'][0]['text']
                 for w in (2**64 - 1, f'"{2**64 - 1}"', f' \t{2**64 - 1} ')]
        equal(again[1:], again[:1] * 2)
        # What only looks like a seed is left alone.
        text = good(s, '/tokenize', content='"seed": 99999999999999999999', with_pieces=True)
        equal(''.join(p['piece'] for p in text['tokens']).strip(), '"seed": 99999999999999999999')
        mixed = raw(s, TEXT, '{"user": "\\"seed\\": 99999999999999999999", "prompt": "a", "max_tokens": 1, "seed": 18446744073709551615}')
        equal(mixed['choices'][0]['runnel']['seed'], 2**64 - 1)
        s.post(TEXT, '{"prompt": "a", "seed": 18446744073709551616}').refuses(400, 'invalid_value', 'seed')
        s.post(TEXT, '{"prompt": "a", "top_k": 18446744073709551615}').refuses(400, 'invalid_value', '18446744073709551616 is outside')


@test
def sentinels_mean_what_they_mean_elsewhere():
    with Folder() as folder, serving(chat_model(folder)) as s:
        drawn = {good(s, TEXT, prompt='a', max_tokens=1, seed=-1)['choices'][0]['runnel']['seed'] for _ in range(4)}
        equal(len(drawn), 4, 'seed -1 draws one')
        off = good(s, TEXT, **SHORT, top_k=0)['choices'][0]['text']
        equal(good(s, TEXT, **SHORT, top_k=-1)['choices'][0]['text'], off)
        for limit in (-1, None):        # the rest of the context
            usage = good(s, TEXT, prompt='The cat', max_tokens=limit, ignore_eos=True)['usage'] if limit else \
                good(s, CHAT, messages=STORY, max_tokens=limit, ignore_eos=True)['usage']
            equal(usage['total_tokens'], 512, limit)
        equal(good(s, TEXT, prompt='a', n_predict=3, ignore_eos=True)['usage']['completion_tokens'], 3)


@test
def whole_numbers_may_be_written_with_a_point():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = good(s, TEXT, **SHORT, top_k=5)['choices'][0]['text']
        body = '{"prompt": "Once upon a time", "max_tokens": 12.0, "seed": 3.0, "top_k": 5e0, "n": 1.0, "logit_bias": {"5": 0}}'
        equal(raw(s, TEXT, body)['choices'][0]['text'], want)
        equal(raw(s, '/detokenize', '{"tokens": [427.0, 438]}'), good(s, '/detokenize', tokens=[427, 438]))
        for value in ('1.5', '1e300', '9007199254740994.0', '-0.5'):
            s.post(TEXT, f'{{"prompt": "a", "max_tokens": {value}}}').refuses(400, 'invalid_value', 'max_tokens')


@test
def an_answer_has_at_least_min_tokens():
    with Folder() as folder, serving(scripted(folder)) as s:
        plain = chat(s, messages=[{'role': 'user', 'content': 'N'}], temperature=0)
        n = plain['usage']['completion_tokens']
        for least in (0, n - 1):
            equal(chat(s, messages=[{'role': 'user', 'content': 'N'}], temperature=0, min_tokens=least)['choices'][0]['message'],
                  plain['choices'][0]['message'], 'the answer is long enough')
        longer = chat(s, messages=[{'role': 'user', 'content': 'N'}], temperature=0, min_tokens=n + 4, max_tokens=n + 20)
        check(longer['usage']['completion_tokens'] >= n + 4, longer)
        # A stop token of the request waits as well.
        ids = chat(s, messages=[{'role': 'user', 'content': 'N'}], temperature=0, return_token_ids=True)['choices'][0]['token_ids']
        stop = {'messages': [{'role': 'user', 'content': 'N'}], 'temperature': 0, 'stop_token_ids': ids[:1]}
        equal(chat(s, **stop)['usage']['completion_tokens'], 1)
        check(chat(s, **stop, min_tokens=2)['usage']['completion_tokens'] >= 2, 'min_tokens with a stop token')
        post(s, TEXT, prompt='a', min_tokens=2, stop='x').refuses(400, 'unsupported_parameter', 'min_tokens')


@test
def only_allowed_tokens_and_no_bad_words_are_generated():
    with Folder() as folder, serving(chat_model(folder)) as s:
        allowed = list(range(400, 460))
        for more in ({}, {'temperature': 0}, {'n': 2, 'top_k': 0, 'top_p': 1, 'min_p': 0}):
            answer = good(s, TEXT, **SHORT, **more, allowed_token_ids=allowed, return_token_ids=True)
            for choice in answer['choices']:
                equal((set(choice['token_ids']) - set(allowed), len(choice['token_ids'])), (set(), 12))
        post(s, TEXT, prompt='a', allowed_token_ids=[5, 4096]).refuses(400, 'invalid_token', 'allowed_token_ids')
        post(s, TEXT, prompt='a', allowed_token_ids=[5], logit_bias={'5': '-inf'}).refuses(400, 'invalid_value')
        text = good(s, TEXT, **SHORT, temperature=0)['choices'][0]['text']
        words = text.split()
        for word in (words[0], words[1], ' '.join(words[1:3])):
            other = good(s, TEXT, **SHORT, temperature=0, bad_words=[word])['choices'][0]['text']
            check(f' {word} ' in f' {text} ' and f' {word} ' not in f' {other} ', (word, text, other))
        equal(good(s, TEXT, **SHORT, temperature=0, bad_words=[])['choices'][0]['text'], text)


@test
def the_stop_string_is_part_of_the_text_where_it_is_wanted():
    with Folder() as folder, serving(chat_model(folder)) as s:
        whole = good(s, TEXT, **SHORT, temperature=0)['choices'][0]['text']
        stop = whole[9:14]
        cut = whole[:whole.index(stop)]
        for more in ({'stop': [stop, 'zzz']}, {'stop': stop, 'stream_interval': 8}):
            equal(good(s, TEXT, **SHORT, **more, temperature=0)['choices'][0]['text'], cut)
            body = {**SHORT, **more, 'temperature': 0, 'include_stop_str_in_output': True}
            equal(good(s, TEXT, **body)['choices'][0]['text'], cut + stop)
            equal(''.join(c['text'] for d in stream(s, TEXT, **body) for c in d['choices']), cut + stop)
            equal(good(s, GENERATE, **body)['choices'][0]['text'], cut + stop)
        equal(good(s, TEXT, **SHORT, temperature=0, include_stop_str_in_output=True)['choices'][0]['text'], whole, 'no stop string ended it')
        talk = {'messages': STORY, 'max_tokens': 12, 'temperature': 0}
        said = chat(s, **talk)['choices'][0]['message']['content']
        stop = said[5:9]
        body = {**talk, 'stop': stop, 'include_stop_str_in_output': True}
        want = said[:said.index(stop)] + stop
        equal(chat(s, **body)['choices'][0]['message']['content'], want)
        equal(joined(stream(s, CHAT, **body))[0]['content'], want)
        told = events(post(s, '/v1/responses', input=STORY[0]['content'], temperature=0, stop=stop, include_stop_str_in_output=True, stream=True).body)
        equal(''.join(d['delta'] for _, name, d in told if name == 'response.output_text.delta'), want)
        s.post(TEXT, json.dumps({'prompt': 'a', 'stop': 'a\0b', 'include_stop_str_in_output': True})).refuses(
            400, 'unsupported_parameter', 'include_stop_str_in_output')


@test
def a_long_prompt_keeps_its_last_tokens():
    with Folder() as folder, serving(chat_model(folder)) as s:
        text = 'The cat sat on the mat. ' * 100
        ids = good(s, '/tokenize', content=text, add_special=True)['tokens']
        more = {'max_tokens': 6, 'seed': 1}
        for kept in (1, 7, 500):
            for prompt in (text, ids):
                got = good(s, TEXT, prompt=prompt, **more, truncate_prompt_tokens=kept, return_token_ids=True)
                equal(got['choices'][0]['prompt_token_ids'], ids[-kept:])
                equal(got['choices'][0]['text'], good(s, TEXT, prompt=ids[-kept:], **more)['choices'][0]['text'])
        equal(good(s, TEXT, prompt=text, **more, truncate_prompt_tokens=-1)['usage']['prompt_tokens'], 506)
        equal(good(s, TEXT, prompt=text, max_tokens=400, truncate_prompt_tokens=-1)['usage']['prompt_tokens'], 256)
        equal(good(s, GENERATE, prompt=text, **more, truncate_prompt_tokens=9)['choices'][0]['usage']['prompt_tokens'], 9)
        short = good(s, TEXT, prompt='The cat', **more)
        equal(good(s, TEXT, prompt='The cat', **more, truncate_prompt_tokens=400)['choices'][0]['text'], short['choices'][0]['text'])
        post(s, GENERATE, messages=STORY, truncate_prompt_tokens=5).refuses(400, 'unsupported_parameter', 'truncate_prompt_tokens')


@test
def token_ids_come_beside_the_text():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = good(s, GENERATE, **SHORT)['choices'][0]
        prompt = good(s, '/tokenize', content='Once upon a time', add_special=True)['tokens']
        got = good(s, TEXT, **SHORT, return_token_ids=True)['choices'][0]
        equal((got['text'], got['token_ids'], got['prompt_token_ids']), (want['text'], want['tokens'], prompt))
        told = [c for d in stream(s, TEXT, **SHORT, return_token_ids=True) for c in d['choices']]
        equal(([i for c in told for i in c['token_ids']], ''.join(c['text'] for c in told)), (want['tokens'], want['text']))
        equal([c['prompt_token_ids'] for c in told if 'prompt_token_ids' in c], [prompt], 'once')
        check('token_ids' not in good(s, TEXT, **SHORT)['choices'][0], 'not asked for')
        talk = {'messages': STORY, 'max_tokens': 9, 'seed': 3}
        want = good(s, GENERATE, **talk)['choices'][0]
        answer = chat(s, **talk, return_token_ids=True)
        equal((answer['choices'][0]['token_ids'], len(answer['prompt_token_ids'])), (want['tokens'], answer['usage']['prompt_tokens']))
        equal(good(s, TEXT, prompt=answer['prompt_token_ids'], max_tokens=9, seed=3)['choices'][0]['text'], answer['choices'][0]['message']['content'])
        told = stream(s, CHAT, **talk, return_token_ids=True)
        equal([i for d in told for c in d['choices'] for i in c['token_ids']], want['tokens'])
        equal([d['prompt_token_ids'] for d in told if 'prompt_token_ids' in d], [answer['prompt_token_ids']], 'once')


@test
def log_probabilities_may_name_tokens_by_id():
    with Folder() as folder, serving(chat_model(folder)) as s:
        got = good(s, TEXT, **SHORT, logprobs=2, return_tokens_as_token_ids=True, return_token_ids=True)['choices'][0]
        equal(got['logprobs']['tokens'], [f'token_id:{i}' for i in got['token_ids']])
        check(all(name.startswith('token_id:') for top in got['logprobs']['top_logprobs'] for name in top), got)
        plain = good(s, TEXT, **SHORT, logprobs=2)['choices'][0]
        equal((got['text'], got['logprobs']['token_logprobs']), (plain['text'], plain['logprobs']['token_logprobs']))
        said = chat(s, max_tokens=5, seed=3, logprobs=True, top_logprobs=1, return_tokens_as_token_ids=True, return_token_ids=True)['choices'][0]
        equal([t['token'] for t in said['logprobs']['content']], [f'token_id:{i}' for i in said['token_ids']])
        check(all(t['top_logprobs'][0]['token'].startswith('token_id:') for t in said['logprobs']['content']), said)


@test
def usage_may_come_with_every_event():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, prompt in ((CHAT, {'messages': STORY}), (TEXT, {'prompt': 'Once upon a time'})):
            for has_last in (True, False):
                data = stream(s, path, **prompt, max_tokens=5, seed=1, ignore_eos=True,
                              stream_options={'include_usage': has_last, 'continuous_usage_stats': True})
                check(all(d['usage']['prompt_tokens'] == 5 for d in data), data)
                counts = [d['usage']['completion_tokens'] for d in data]
                equal((counts, counts[-1]), (sorted(counts), 5))
                equal(data[-1]['choices'] == [], has_last)
                check(all(d['usage']['total_tokens'] == 5 + n for d, n in zip(data, counts)), data)


@test
def skip_special_tokens_is_the_opposite_of_special():
    with Folder() as folder, serving(scripted(folder)) as s:
        body = {'prompt': 'N', 'temperature': 0, 'max_tokens': 8}
        for skips in (True, False):
            equal(good(s, TEXT, **body, skip_special_tokens=skips)['choices'][0]['text'],
                  good(s, TEXT, **body, special=not skips)['choices'][0]['text'])
        for value in (True, False):     # texts of tokens are joined as they are
            equal(post(s, TEXT, 'x-runnel-strict: true', **body, spaces_between_special_tokens=value, detokenize=True, length_penalty=1.0).status, 200)


main()
