#!/usr/bin/env python3
"""tests/serve/api_queue_test.py - what many requests see of each other: queue, classes, deadlines, slots, counts, prompts' scores."""
import json

from api import STORY, chat_model, events, good, post, serving, stream     # first: it finds tests/cli
from api_native_streams import Streams
from serving import Folder, check, equal, main, random_key, test, wait_until

CHAT, TEXT, NATIVE = '/v1/chat/completions', '/v1/completions', '/v1/runnel/generate'
TIME = 'Once upon a time'


class Held:
    """A generation that takes a place until the block ends."""

    def __init__(self, server, *headers, **more):
        self.server = server
        self.client = server.connect()
        body = json.dumps({'prompt': TIME, 'ignore_eos': True, 'max_tokens_per_second': 1, 'stream': True, **more})
        self.client.request('POST', NATIVE, 'Content-Type: application/json', *headers, body=body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.client:
            self.client.reset()
        self.client = None


def slots(s, *headers):
    return s.get('/slots', *headers).json


def states(s, *headers):
    return [x['state'] for x in slots(s, *headers)]


@test
def field_3_11_slots_say_who_runs_and_who_waits_and_never_what():
    with Folder() as folder, serving(chat_model(folder), '--streams', '2') as s:
        equal([(x['id'], x['is_processing'], x['state']) for x in slots(s)], [(0, False, 'idle'), (1, False, 'idle')])
        with Held(s), Held(s):
            wait_until(lambda: [x['is_processing'] for x in slots(s)] == [True, True], 'both places are taken')
            wait_until(lambda: all(x['n_generated'] for x in slots(s)), 'both generate')
            with Held(s, priority='low'), Held(s):
                wait_until(lambda: len(slots(s)) == 4, 'two wait')
                told = slots(s)
                equal([x['state'] for x in told[2:]], ['queued', 'queued'])
                equal([x['queue_position'] for x in told[2:]], [1, 2])
                check(all(x['n_prompt'] == 5 and x['n_ctx'] >= 64 and x['model'] == 'm' for x in told), told)
                check(told[0]['n_evaluated'] >= 5 and told[0]['kv_pages'] >= 1 and told[2]['n_evaluated'] == 0, told)
                check(TIME not in json.dumps(told), told)
                equal((s.metric('vllm:num_requests_running'), s.metric('vllm:num_requests_waiting')), (2, 2))
        wait_until(lambda: states(s) == ['idle', 'idle'], 'all are gone')


@test
def a_key_sees_no_more_of_other_keys_generations_than_that_they_are_there():
    anna, ben = random_key(), random_key()
    of_anna, of_ben = f'X-Api-Key: {anna}', f'X-Api-Key: {ben}'
    with Folder() as folder, serving(chat_model(folder), '--streams', '2', '--api-key', f'anna:{anna}', '--api-key', f'ben:{ben}') as s:
        with Held(s, of_anna, session='of-anna'):
            wait_until(lambda: slots(s, of_anna)[0].get('n_generated'), 'it generates')
            with Held(s, of_ben), Held(s, of_ben):
                wait_until(lambda: states(s, of_anna) == ['decode', 'decode', 'queued'], 'one waits')
                told = slots(s, of_anna), slots(s, of_ben)
                equal([[x.get('key') for x in own] for own in told], [['anna', None, None], [None, 'ben', 'ben']])
                equal([set(x) for x in (*told[0][1:], told[1][0])], [{'id', 'is_processing', 'n_ctx', 'state'}] * 3)
                for path in ('/slots', '/metrics', '/props', '/v1/models', '/api/ps'):
                    text = s.get(path, of_anna).body.decode()
                    check(not [w for w in ('"ben"', *(x['request'] for x in told[1][1:]), 'of-anna', TIME) if w in text], path, text)


@test
def field_3_11_the_queue_is_bounded_in_requests_and_tokens_and_says_when_to_come_again():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--queue-tokens', '12') as s:
        with Held(s, max_tokens=50):
            wait_until(lambda: slots(s)[0]['is_processing'], 'the place is taken')
            with Held(s), Held(s):
                wait_until(lambda: len(slots(s)) == 3, 'ten tokens wait')
                answer = post(s, NATIVE, prompt=TIME, max_tokens=1)
                answer.refuses(429, 'queue_full', '15 prompt tokens would wait, limit 12')
                check(1 <= int(answer.header('retry-after')) <= 3600, answer.headers)


@test
def field_3_11_a_higher_class_begins_before_those_that_waited_longer():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1') as s:
        with Held(s) as first:
            wait_until(lambda: slots(s)[0]['is_processing'], 'the place is taken')
            with Held(s, priority='low'), Held(s, priority=1), Held(s, priority='high'):
                wait_until(lambda: len(slots(s)) == 4, 'three wait')
                high = slots(s)[1]['request']
                first.end()
                wait_until(lambda: slots(s)[0].get('request') == high, 'the one of the highest class runs')
        post(s, NATIVE, prompt='a', priority='urgent').refuses(400, 'invalid_value', "'urgent' is not one of low, normal, high")
        equal(post(s, NATIVE, prompt='a', max_tokens=1, priority=-3).status, 200)


@test
def field_3_11_a_wait_beyond_the_limit_is_answered_503():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--queue-seconds', '1') as s:
        with Held(s):
            wait_until(lambda: slots(s)[0]['is_processing'], 'the place is taken')
            answer = post(s, NATIVE, prompt=TIME, max_tokens=1)
            answer.refuses(503, 'queue_timeout', 'waited for the limit of 1000 ms')
            check(int(answer.header('retry-after')) >= 1, answer.headers)
            told = [d for _, _, d in events(post(s, TEXT, prompt=TIME, max_tokens=1, stream=True).body)]
            equal([d['error']['code'] for d in told], ['queue_timeout'])


@test
def field_3_14_a_timeout_holds_in_the_queue_too():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1') as s:
        with Held(s):
            wait_until(lambda: slots(s)[0]['is_processing'], 'the place is taken')
            choice = good(s, TEXT, prompt=TIME, timeout=0.1)['choices'][0]
            equal((choice['text'], choice['finish_reason'], choice['runnel']['finish_detail']), ('', 'length', 'timeout'))


@test
def field_3_2_pings_tell_the_place_in_the_queue():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--ping-seconds', '1') as s:
        with Held(s):
            wait_until(lambda: slots(s)[0]['is_processing'], 'the place is taken')
            with Held(s), s.connect() as c:
                wait_until(lambda: len(slots(s)) == 2, 'one waits')
                answer = c.ask('POST', NATIVE, 'Content-Type: application/json',
                               body=json.dumps({'prompt': TIME, 'stream': True, 'timeout': 2.5}))
                check(b': ping queued 2\n' in answer.body, answer.body)


@test
def a_socket_that_asks_for_it_is_told_how_far_its_prompts_are():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1') as s:
        w = Streams(s)
        w.say('generate', id='a', prompt=TIME, ignore_eos=True, max_tokens_per_second=1)
        wait_until(lambda: slots(s)[0]['is_processing'], 'the place is taken')
        w.say('generate', id='b', prompt=TIME, max_tokens=2, return_progress=True)
        w.say('generate', id='c', prompt=TIME, max_tokens=2)
        wait_until(lambda: len(slots(s)) == 3, 'two wait')
        w.say('cancel', id='a')
        heard = w.until_end('a', 'b', 'c')
        told = [m for m in heard['b'] if m['type'] == 'progress']
        equal({k: told[0][k] for k in ('state', 'position', 'n_evaluated', 'n_prompt')},
              {'state': 'queued', 'position': 1, 'n_evaluated': 0, 'n_prompt': 5})
        check(not [m for m in heard['c'] if m['type'] == 'progress'], heard['c'])


@test
def field_3_13_prefixes_are_a_keys_own():
    keys = ['a' * 16, 'b' * 16]
    bearers = [f'Authorization: Bearer {k}' for k in keys]
    prompt = list(range(300, 370))

    def cached(s, bearer, **more):
        return good(s, NATIVE, bearer, prompt=prompt, max_tokens=1, **more)['choices'][0]['usage']['cached_tokens']

    with Folder() as folder:
        model = chat_model(folder)
        with serving(model) as s:       # without keys
            equal([cached(s, 'x-a: b'), cached(s, 'x-c: d')], [0, 69])
            equal([cached(s, 'x-a: b', cache_salt='x'), cached(s, 'x-c: d', cache_salt='x')], [0, 69])
        with serving(model, '--api-key', keys[0], '--api-key', keys[1]) as s:
            equal(cached(s, bearers[1], cache_salt='y'), 0)
            equal([cached(s, bearers[1], cache_prompt=wish) for wish in (False, False, True)], [0, 0, 0])
            refused = s.post(NATIVE, json.dumps({'prompt': prompt, 'session': 'a', 'cache_prompt': False}), bearers[0])
            refused.refuses(400, 'invalid_value', 'cache_prompt')
            equal([cached(s, bearers[i]) for i in (0, 0, 1, 1)], [0, 69, 69, 69])
            equal([cached(s, bearers[i], cache_salt='x') for i in (0, 1, 1)], [0, 0, 69])


@test
def keys_that_share_prefixes_share_whole_pages_and_are_not_told_of_it():
    bearers = [f'Authorization: Bearer {letter * 16}' for letter in 'ab']
    prompt = list(range(300, 390))
    with Folder() as folder, serving(chat_model(folder), '--api-key', 'a' * 16, '--api-key', 'b' * 16, '--share-prefixes') as s:

        def reused(bearer, ids, **more):
            before = s.metric('vllm:prefix_cache_hits_total', '', bearer)
            usage = good(s, NATIVE, bearer, prompt=ids, max_tokens=1, **more)['choices'][0]['usage']
            return s.metric('vllm:prefix_cache_hits_total', '', bearer) - before, usage['cached_tokens']

        equal(reused(bearers[0], prompt), (0, 0))
        equal(reused(bearers[1], prompt), (64, 0), 'whole pages are shared')
        for n in (63, 64, 65, 80):      # guessed right for so many tokens
            equal(reused(bearers[1], prompt[:n] + [5] * 20), (64 if n >= 64 else 0, 0), n)
        first = good(s, '/v1/completions', bearers[1], prompt=prompt, max_tokens=4, session='mine')['usage']
        told = good(s, '/v1/completions', bearers[1], prompt='.', max_tokens=1, session='mine')['usage']
        check(told['prompt_tokens_details']['cached_tokens'] >= first['prompt_tokens'], told)


@test
def counts_say_what_the_cache_gave_and_why_not_more():
    with Folder() as folder, serving(chat_model(folder)) as s:
        prompt = list(range(300, 370))
        for _ in range(2):
            good(s, NATIVE, prompt=prompt, max_tokens=1)
        equal(s.metric('vllm:prefix_cache_queries_total'), 140)
        equal(s.metric('vllm:prefix_cache_hits_total'), 69)
        equal([s.metric('runnel:prefix_cache_misses_total', f'reason="{r}"') for r in ('empty', 'none', 'evicted')], [70, 1, 0])
        equal(s.metric('runnel:engine_prompt_rows_total'), 71)
        equal(s.metric('vllm:num_preemptions_total'), 0)
        equal(s.metric('vllm:kv_cache_usage_perc'), 0)


# ---- log-probabilities of prompts ---------------------------------------------------------------------------------------------

@test
def field_3_9_an_echo_with_logprobs_scores_the_prompt_as_its_generation_did():
    with Folder() as folder, serving(chat_model(folder)) as s:
        made = good(s, TEXT, prompt=TIME, max_tokens=8, temperature=0, logprobs=1)['choices'][0]
        begin = good(s, '/tokenize', content=TIME, add_special=True)['tokens']
        ids = good(s, NATIVE, prompt=TIME, max_tokens=8, temperature=0)['choices'][0]['tokens']
        for n in (0, 1):
            choice = good(s, TEXT, prompt=begin + ids, max_tokens=n, temperature=0, logprobs=1, echo=True)['choices'][0]
            lists = choice['logprobs']
            equal([len(lists[k]) for k in ('tokens', 'token_logprobs', 'top_logprobs', 'text_offset')], [13 + n] * 4)
            equal((lists['token_logprobs'][0], lists['top_logprobs'][0]), (None, None))
            equal(lists['tokens'][5:13], made['logprobs']['tokens'])
            equal(lists['token_logprobs'][5:13], made['logprobs']['token_logprobs'])
            equal(lists['top_logprobs'][5:13], made['logprobs']['top_logprobs'])
            check(choice['text'].startswith(TIME + made['text']), choice['text'])
            equal([choice['text'][o:o + len(t)] for o, t in zip(lists['text_offset'][2:], lists['tokens'][2:])], lists['tokens'][2:])
            equal(choice['finish_reason'], 'length')
        told = stream(s, TEXT, prompt=begin + ids, max_tokens=1, temperature=0, logprobs=1, echo=True)
        equal([t for d in told for c in d['choices'] for t in c['logprobs']['tokens']], lists['tokens'])
        equal(''.join(c['text'] for d in told for c in d['choices']), choice['text'])
        post(s, TEXT, prompt=TIME, echo=True, logprobs=1, session='a').refuses(400, 'unsupported_parameter', 'echo')


@test
def prompt_logprobs_have_vllms_form():
    with Folder() as folder, serving(chat_model(folder)) as s:
        choice = good(s, TEXT, prompt=TIME, max_tokens=1, prompt_logprobs=2)['choices'][0]
        scores = choice['prompt_logprobs']
        ids = good(s, '/tokenize', content=TIME, add_special=True)['tokens']
        equal((len(scores), scores[0], choice['logprobs']), (5, None, None))
        for i, score in zip(ids[1:], scores[1:]):
            check(2 <= len(score) <= 3 and str(i) in score, score)
            equal(sorted(x['rank'] for x in score.values())[:2], [1, 2])
            check(all(x['logprob'] <= 0 and isinstance(x['decoded_token'], str) for x in score.values()), score)
        native = good(s, NATIVE, prompt=TIME, max_tokens=1, prompt_logprobs=2)['choices'][0]['prompt_logprobs']
        equal([t['id'] for t in native], ids)
        equal([t['logprob'] for t in native], [None] + [x[str(i)]['logprob'] for i, x in zip(ids[1:], scores[1:])])
        told = stream(s, NATIVE, prompt=TIME, max_tokens=2, prompt_logprobs=2)
        equal([d['prompt_logprobs'] for d in told if 'prompt_logprobs' in d], [native])
        check('prompt_logprobs' in told[0], told[0])
        post(s, CHAT, messages=STORY, prompt_logprobs=1).refuses(400, 'unsupported_parameter', '/v1/completions')
        post(s, TEXT, prompt=TIME, prompt_logprobs=21).refuses(400, 'invalid_value', 'prompt_logprobs')


main()
