#!/usr/bin/env python3
"""Readers slower than the model, over HTTP: whatever `overflow`, `stream_interval` and `buffer_tokens` are together, what arrives is right,
what is lost is counted, and the server goes on."""
import itertools
import random

from api import chat_model, good, serving, stream
from any_requests import texts
from api_native_streams import Streams
from serving import Folder, check, equal, main, test

COMPLETIONS, NATIVE, CHAT, RESPONSES = '/v1/completions', '/v1/runnel/generate', '/v1/chat/completions', '/v1/responses'
LONG = {'prompt': 'Once upon a time', 'max_tokens': 480, 'ignore_eos': True, 'seed': 1}
WORST = {'overflow': 'drop-oldest', 'stream_interval': 1024, 'buffer_tokens': 1}


@test
def events_longer_than_the_buffer_arrive_whole():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path in (COMPLETIONS, NATIVE):
            want = good(s, path, **LONG)['choices'][0]['text']
            equal(good(s, path, **LONG, **WORST)['choices'][0]['text'], want, path)
        told = stream(s, NATIVE, **LONG, **WORST)
        equal([(c['text'], len(c['tokens']), c.get('dropped', 0)) for c in told], [(want, 480, 0)])
        equal(s.get('/health').status, 200)


@test
def an_answer_that_is_not_streamed_has_all_of_its_text():
    with Folder() as folder, serving(chat_model(folder)) as s:
        rows = [(COMPLETIONS, LONG), (NATIVE, LONG),
                (CHAT, {**{k: v for k, v in LONG.items() if k != 'prompt'}, 'messages': [{'role': 'user', 'content': 'Once'}]}),
                (RESPONSES, {'input': 'Once', 'max_output_tokens': 480, 'ignore_eos': True, 'seed': 1})]
        for path, body in rows:
            want = texts(path, good(s, path, **body))
            for overflow, n in itertools.product(('cancel', 'drop-oldest'), range(3)):
                equal(texts(path, good(s, path, **body, overflow=overflow, buffer_tokens=1)), want, (path, overflow))


def told_while_slow(s, **body):
    """What a socket's stream gives whose reader grants credit once it cannot go on without."""
    w = Streams(s)
    w.say('generate', id='a', credit=1, **body)
    heard = []
    while not heard or heard[-1]['type'] not in ('end', 'error'):
        heard.append(w.hear())
        if heard[-1]['type'] == 'chunk':
            w.say('credit', id='a', tokens=1 + len(heard[-1]['tokens']))
    w.socket.client.close()
    return [m for m in heard if m['type'] == 'chunk'], heard[-1]


@test
def with_every_interval_and_buffer_the_text_is_right_and_what_is_lost_is_counted():
    rng = random.Random(7)
    every = list(itertools.product(('drop-oldest', 'park', 'cancel'), (1, 3, 64, 1023, 1024), (1, 2, 16, 1024, 65536)))
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = LONG
        whole = good(s, NATIVE, **body)['choices'][0]
        for rule, interval, buffer in rng.sample(every, 24):
            more = {'logprobs': rng.choice((0, 20)), 'prompt_logprobs': 0} if rng.random() < 0.3 else {}
            echo = rng.random() < 0.3
            stop = {'stop': whole['text'][40:60] + '?'} if rng.random() < 0.3 else {}       # holds text back and never comes
            what = (rule, interval, buffer, more, echo, stop)
            chunks, end = told_while_slow(s, **body, **more, **stop, echo=echo, overflow=rule, stream_interval=interval, buffer_tokens=buffer)
            text = ''.join(c['text'] for c in chunks)
            n, n_lost = sum(len(c['tokens']) for c in chunks), sum(c.get('dropped', 0) for c in chunks)
            last = chunks[-1]
            equal(n + n_lost, last['usage']['completion_tokens'], what)
            check(rule == 'drop-oldest' or n_lost == 0, what)
            check(text.startswith(body['prompt']) == echo, what, text)
            at = len(body['prompt']) if echo else 0
            if n_lost == 0 and rule != 'cancel':
                equal((text[at:], last['finish_reason']), (whole['text'], 'length'), what)
            elif n_lost == 0:
                check(whole['text'].startswith(text[at:]), what, text)
            else:
                check(whole['text'].endswith(last['text'][at if len(chunks) == 1 else 0:]) and last['finish_reason'] == 'length', what, last)
            equal(end['type'], 'error' if last['finish_reason'] == 'cancelled' else 'end', what)


main()
