#!/usr/bin/env python3
"""runnel's own interface: generate, sessions, streams that are taken up again, WebSocket streams, texts and tokens, rates."""
import json
import threading
import time

from api import STORY, chat, chat_model, events, good, post, serving, stream
from api_native_streams import Streams
from serving import KEY, Folder, check, equal, main, test, wait_until

NATIVE = '/v1/runnel/generate'
TIME = 'Once upon a time'


def text_of(messages):
    return ''.join(m['text'] for m in messages if m['type'] == 'chunk')


@test
def generate_gives_tokens_times_and_the_reason_of_the_end():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {'prompt': TIME, 'max_tokens': 6, 'seed': 1, 'logprobs': 2, 'token_times': True}
        choice = good(s, NATIVE, **body)['choices'][0]
        equal((choice['finish_reason'], choice['finish_detail'], choice['seed']), ('length', 'max_tokens 6', 1))
        equal([len(choice[k]) for k in ('tokens', 'logprobs')] + [len(choice['timing']['token_ms'])], [6, 6, 6])
        told = stream(s, NATIVE, **body)
        equal(''.join(d['text'] for d in told), choice['text'])
        equal([t for d in told for t in d['tokens']], choice['tokens'])
        equal([t for d in told for t in d['logprobs']], choice['logprobs'])
        wide = stream(s, NATIVE, prompt=TIME, max_tokens=6, seed=1, stream_interval=4)
        equal([len(d['tokens']) for d in wide], [4, 2])
        equal(''.join(d['text'] for d in wide), choice['text'])
        preset = good(s, NATIVE, prompt=TIME, max_tokens=6, preset='greedy')['choices'][0]['text']
        equal(preset, good(s, NATIVE, prompt=TIME, max_tokens=6, temp=0)['choices'][0]['text'])
        deltas = stream(s, NATIVE, messages=STORY, max_tokens=6, seed=1)
        equal(''.join(p['text'] for d in deltas for p in d['deltas']), choice['text'])


@test
def choices_come_in_their_order_whichever_ends_first():
    with Folder() as folder, serving(chat_model(folder), '--streams', '8') as s:
        choices = good(s, NATIVE, prompt=TIME, n=8, seed=1, temperature=1.5, stop=[' the'], max_tokens=60)['choices']
        equal([c['choice'] for c in choices], list(range(8)))
        lengths = [len(c['tokens']) for c in choices]
        check(lengths != sorted(lengths), lengths)


@test
def field_3_14_a_request_with_a_timeout_ends_with_what_was_made():
    with Folder() as folder, serving(chat_model(folder)) as s:
        choice = good(s, NATIVE, prompt=TIME, max_tokens_per_second=20, timeout=0.5, ignore_eos=True)['choices'][0]
        equal((choice['finish_reason'], choice['finish_detail']), ('length', 'timeout'))
        check(0 < len(choice['tokens']) < 100, choice)


@test
def field_3_17_an_answer_goes_on_from_its_tokens_as_if_it_had_not_ended():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for begin in ({'messages': STORY}, {'prompt': TIME}):
            body = {**begin, 'seed': 7, 'temp': 1.5, 'repeat_penalty': 1.3, 'penalty_prompt': False}
            whole = good(s, NATIVE, max_tokens=24, **body)['choices'][0]['tokens']
            for cut in (1, 7, 23):
                rest = good(s, NATIVE, max_tokens=24 - cut, reply_tokens=whole[:cut], **body)
                equal(whole[:cut] + rest['choices'][0]['tokens'], whole, (cut, begin))
        for bad, code in (({'reply_tokens': [5000]}, 'invalid_token'), ({'reply_tokens': [5], 'session': 'x'}, 'invalid_value'),
                          ({'reply_tokens': [5], 'continue_final_message': True}, 'invalid_value'), ({'reply_tokens': 'x'}, 'invalid_value')):
            equal(post(s, NATIVE, messages=STORY, **bad).refuses(400, code).json['error']['param'], 'reply_tokens')


@test
def each_token_and_its_alternatives_say_their_piece_of_the_text():
    with Folder() as folder, serving(chat_model(folder)) as s:
        choice = good(s, NATIVE, prompt=TIME, max_tokens=8, seed=3, logprobs=2, with_pieces=True)['choices'][0]
        equal(''.join(t['piece'] for t in choice['logprobs']), choice['text'])
        equal([t['id'] for t in choice['logprobs']], choice['tokens'])
        check(all(len(t['top']) == 2 and all(isinstance(k['piece'], str) for k in t['top']) for t in choice['logprobs']), choice)
        told = stream(s, NATIVE, prompt=TIME, max_tokens=8, seed=3, logprobs=2, with_pieces=True)
        equal([t for d in told for t in d['logprobs']], choice['logprobs'])


@test
def a_session_keeps_its_tokens_between_turns_and_belongs_to_one_stream():
    with Folder() as folder, serving(chat_model(folder)) as s:
        first = chat(s, max_tokens=8, seed=1, session='a')
        talk = [*STORY, {'role': 'assistant', 'content': first['choices'][0]['message']['content']}, {'role': 'user', 'content': ' Then'}]
        second = chat(s, messages=talk, max_tokens=4, seed=1, session='a')
        check(second['usage']['prompt_tokens_details']['cached_tokens'] >= 12, second['usage'])
        answer = chat(s, messages=talk, max_tokens=4, seed=1)
        equal(second['choices'][0]['message']['content'], answer['choices'][0]['message']['content'])
        with s.connect() as c:
            body = json.dumps({'prompt': 'x', 'session': 'a', 'stream': True, 'max_tokens_per_second': 5, 'ignore_eos': True})
            c.request('POST', NATIVE, 'Content-Type: application/json', body=body)
            c.head()
            post(s, NATIVE, prompt='x', session='a').refuses(409, 'stream_busy')
        wait_until(lambda: post(s, NATIVE, prompt='x', max_tokens=1, session='a').status == 200, 'the session is free again')
        with s.connect() as c:
            equal(c.ask('DELETE', '/v1/runnel/sessions/a').status, 204)
            c.ask('DELETE', '/v1/runnel/sessions/a').refuses(404, 'stream_not_found')
        post(s, NATIVE, prompt='x', session='').refuses(400, 'invalid_value')
        post(s, NATIVE, prompt='x', ids=[]).refuses(400, 'invalid_value', 'ids: an empty array')


@test
def field_3_16_a_broken_stream_is_taken_up_after_any_of_its_events():
    with Folder() as folder, serving(chat_model(folder)) as s:
        answer = post(s, NATIVE, prompt=TIME, max_tokens=12, seed=1, stream=True, resumable=True)
        name = answer.header('x-runnel-stream')
        told = events(answer.body)
        equal([i for i, _, _ in told], [f'{name}.{k + 1}' for k in range(len(told))])
        for k in range(len(told) + 1):
            more = (f'Last-Event-ID: {name}.{k}',) if k else ()
            wait_until(lambda: (a := s.get(f'/v1/runnel/streams/{name}', *more)).status == 200 and (equal(events(a.body), told[k:]) or True),
                       f'resume after {k}')
        equal(events(s.get(f'/v1/runnel/streams/{name}?last_event_id={name}.3').body), told[3:])
        for bad in (f'{name}.999', f'{name}.-1', f'{name}.18446744073709551616', 'x.1', f'{name}.', f'{name}'):
            s.get(f'/v1/runnel/streams/{name}', f'Last-Event-ID: {bad}').refuses(400, 'invalid_value')
        s.get('/v1/runnel/streams/none').refuses(404, 'stream_not_found')
        s.get('/v1/runnel/streams/').refuses(404, 'stream_not_found')


@test
def field_3_16_events_that_are_no_longer_held_are_said_to_be_gone():
    with Folder() as folder, serving(chat_model(folder)) as s:
        answer = post(s, '/v1/chat/completions', messages=STORY, seed=1, n=4, logprobs=True, top_logprobs=20, max_tokens=200,
                      logit_bias={'2': -100}, stream=True, resumable=True)
        name, told = answer.header('x-runnel-stream'), events(answer.body)
        check(len(answer.body) > 1 << 20, 'the stream is shorter than what is held')
        back = wait_until(lambda: (a := s.get(f'/v1/runnel/streams/{name}', f'Last-Event-ID: {told[-50][0]}')).status == 200 and a, 'resume')
        equal(events(back.body), told[-49:])
        refused = wait_until(lambda: (a := s.get(f'/v1/runnel/streams/{name}')).status != 409 and a, 'the reader has left')
        refused.refuses(410, 'stream_expired')


@test
def field_3_16_a_stream_whose_link_breaks_in_the_middle_loses_nothing():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {'prompt': TIME, 'max_tokens': 30, 'seed': 1, 'max_tokens_per_second': 40}
        want = good(s, NATIVE, **body)['choices'][0]['text']
        with s.connect() as c:
            c.request('POST', NATIVE, 'Content-Type: application/json', body=json.dumps({**body, 'stream': True, 'resumable': True}))
            name = dict((n.lower(), v) for n, v in c.head()[1])['x-runnel-stream']
            seen = b''
            while seen.count(b'data: ') < 5:
                seen += c.chunk()
            s.get(f'/v1/runnel/streams/{name}').refuses(409, 'stream_busy')
            c.reset()
        first = events(seen)
        rest = wait_until(lambda: (a := s.get(f'/v1/runnel/streams/{name}', f'Last-Event-ID: {first[-1][0]}')).status == 200 and a, 'resume')
        all_events = first + events(rest.body)
        equal(''.join(d['text'] for _, _, d in all_events[:-1]), want)
        equal([int(i.rsplit('.', 1)[1]) for i, _, _ in all_events], list(range(1, len(all_events) + 1)))


@test
def field_3_16_a_stream_is_its_keys_own():
    other = KEY + '-two'
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY, '--api-key', other) as s:
        mine, theirs = f'Authorization: Bearer {KEY}', f'Authorization: Bearer {other}'
        name = post(s, NATIVE, mine, prompt=TIME, max_tokens=3, stream=True, resumable=True).header('x-runnel-stream')
        s.get(f'/v1/runnel/streams/{name}', theirs).refuses(404, 'stream_not_found')
        s.get(f'/v1/runnel/streams/x/{name}', mine).refuses(404, 'stream_not_found')
        wait_until(lambda: s.get(f'/v1/runnel/streams/{name}', mine).status == 200, 'the owner resumes')
        with s.connect() as c:
            c.ask('DELETE', f'/v1/runnel/streams/{name}', theirs).refuses(404, 'stream_not_found')
            equal(c.ask('DELETE', f'/v1/runnel/streams/{name}', mine).status, 204)


@test
def field_3_16_how_long_an_ended_stream_is_held_is_an_option():
    def begin(s):
        answer = post(s, NATIVE, prompt=TIME, max_tokens=2, stream=True, resumable=True)
        return f'/v1/runnel/streams/{answer.header("x-runnel-stream")}'
    with Folder() as folder:
        model = chat_model(folder)
        with serving(model, '--resume-seconds', '0') as s:
            path = begin(s)
            wait_until(lambda: s.get(path).status == 404, 'it is forgotten')
        with serving(model, '--resume-mib', '1', '--resume-seconds', '86400') as s:
            path = begin(s)
            equal(s.get(path).status, 200)
            for _ in range(60):     # 20 KiB each, whatever they say
                last = begin(s)
            s.get(path).refuses(404, 'stream_not_found')
            equal(s.get(last).status, 200)


@test
def field_3_16_a_stream_that_nobody_reads_ends_after_its_time_of_grace():
    with Folder() as folder, serving(chat_model(folder), '--resume-grace-seconds', '0') as s:
        with s.connect() as c:
            body = {'prompt': TIME, 'max_tokens': 400, 'ignore_eos': True, 'max_tokens_per_second': 1, 'stream': True, 'resumable': True}
            c.request('POST', NATIVE, 'Content-Type: application/json', body=json.dumps(body))
            name = dict(c.head()[1])['x-runnel-stream']
            c.chunk()
        wait_until(lambda: not s.working(), 'it is cancelled')
        equal(s.get(f'/v1/runnel/streams/{name}').status, 200)      # what it said is still held


@test
def keys_spend_no_more_tokens_than_a_minute_allows():
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY, '--key-tokens-per-minute', '100') as s:
        key = f'Authorization: Bearer {KEY}'
        for _ in range(3):      # what was reserved and not used comes back
            equal(post(s, NATIVE, key, prompt='a', max_tokens=2, stop=['a', 'e', ' ']).status, 200)
        wait_until(lambda: post(s, NATIVE, key, prompt=TIME, max_tokens=60, ignore_eos=True).status == 200, 'a long one fits')
        answer = post(s, NATIVE, key, prompt=TIME, max_tokens=60).refuses(429, 'rate_limit_exceeded')
        check(int(answer.header('retry-after')) >= 1, answer.headers)


@test
def a_client_that_leaves_has_spent_its_tokens():
    prompt = {'prompt': [300] * 80, 'ignore_eos': True}
    with Folder() as folder, serving(chat_model(folder), '--api-key', KEY, '--key-tokens-per-minute', '200') as s:
        key = f'Authorization: Bearer {KEY}'
        with s.connect() as c:
            body = {**prompt, 'max_tokens': 100, 'max_tokens_per_second': 1, 'stream': True}
            c.request('POST', NATIVE, 'Content-Type: application/json', key, body=json.dumps(body))
            c.head()
            c.chunk()
        wait_until(lambda: post(s, NATIVE, key, prompt=[300], max_tokens=60, ignore_eos=True).status == 200, 'the rest comes back')
        post(s, NATIVE, key, **prompt, max_tokens=60).refuses(429, 'rate_limit_exceeded')


@test
def a_rate_paces_a_stream_and_leaves_its_text():
    with Folder() as folder, serving(chat_model(folder)) as s:
        begin = time.monotonic()
        slow = good(s, NATIVE, prompt=TIME, max_tokens=11, seed=1, max_tokens_per_second=20)['choices'][0]['text']
        check(time.monotonic() - begin > 0.45, 'ten pauses of 50 ms')
        equal(slow, good(s, NATIVE, prompt=TIME, max_tokens=11, seed=1)['choices'][0]['text'])


@test
def sockets_carry_many_streams_each_with_its_own_text():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = {f's{i}': good(s, NATIVE, prompt=TIME, max_tokens=20, seed=i)['choices'][0]['text'] for i in range(8)}
        w = Streams(s)
        for i in range(8):
            w.say('generate', id=f's{i}', prompt=TIME, max_tokens=20, seed=i)
        heard = w.until_end(*want)
        equal({i: text_of(m) for i, m in heard.items()}, want)
        for messages in heard.values():
            equal((messages[0]['type'], messages[-1]['type'], messages[-2]['finish_reason']), ('begun', 'end', 'length'))


@test
def sockets_send_no_more_than_was_granted():
    with Folder() as folder, serving(chat_model(folder)) as s:
        w = Streams(s)
        w.say('generate', id='a', prompt=TIME, max_tokens=20, seed=1, credit=0)
        equal(w.hear()['type'], 'begun')
        got = 0
        for grant in (1, 3, 2):
            w.say('credit', id='a', tokens=grant)
            for _ in range(grant):
                got += len(w.hear()['tokens'])
            w.say('none', id='b')       # its refusal comes next: nothing stood before it
            equal(w.hear()['type'], 'error')
        equal(got, 6)
        w.say('credit', id='a', tokens=1000)
        equal(len([t for m in w.until_end('a')['a'] if m['type'] == 'chunk' for t in m['tokens']]), 14)


@test
def field_3_10_a_reader_slower_than_the_model_gets_what_it_asked_for_by_name():
    def is_parked(_):
        return [slot['state'] for slot in s.working()] == ['parked']

    def has_ended(rows):      # it began, and does not run
        return rows >= 5 and not s.working()
    with Folder() as folder, serving(chat_model(folder)) as s:
        more = {'prompt': TIME, 'max_tokens': 40, 'ignore_eos': True, 'seed': 1}
        whole = good(s, NATIVE, **more)['choices'][0]['text']
        for rule, is_settled in (('park', is_parked), ('drop-oldest', has_ended), ('cancel', has_ended)):
            w, before = Streams(s), s.metric('runnel:engine_rows_total')
            w.say('generate', id='a', credit=0, buffer_tokens=4, overflow=rule, **more)
            equal(w.hear()['type'], 'begun')
            wait_until(lambda: is_settled(s.metric('runnel:engine_rows_total') - before), rule)     # noqa: B023
            w.say('credit', id='a', tokens=1000)
            told = w.until_end('a')['a']
            chunks = [m for m in told if m['type'] == 'chunk']
            n_told, n_dropped = sum(len(m['tokens']) for m in chunks), sum(m.get('dropped', 0) for m in chunks)
            last = chunks[-1]
            if rule == 'park':
                equal((text_of(told), n_told, n_dropped), (whole, 40, 0))
            elif rule == 'drop-oldest':
                equal((n_told + n_dropped, last['finish_reason'], last['usage']['completion_tokens']), (40, 'length', 40))
                check(0 < n_told < 40 and whole.endswith(text_of(told)), told)
            else:
                equal((last['finish_reason'], last['finish_detail'], told[-1]['type']), ('cancelled', 'slow reader', 'error'))
                equal(told[-1]['error']['code'], 'cancelled')
                check(0 < n_told < 40 and whole.startswith(text_of(told)), told)


@test
def sockets_pause_resume_cancel_and_change_the_rate():
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = good(s, NATIVE, prompt=TIME, max_tokens=30, seed=1)['choices'][0]['text']
        w = Streams(s)
        w.say('generate', id='a', prompt=TIME, max_tokens=30, seed=1, max_tokens_per_second=20)
        heard = [w.hear() for _ in range(3)]
        w.say('pause', id='a')
        w.say('resume', id='a')
        w.say('rate', id='a', max_tokens_per_second=0)
        equal(text_of(heard + w.until_end('a')['a']), want)
        w.say('generate', id='b', prompt=TIME, max_tokens_per_second=20, ignore_eos=True)
        equal(w.hear()['type'], 'begun')
        w.say('cancel', id='b')
        equal(w.until_end('b')['b'][-1], {'type': 'cancelled', 'id': 'b'})
        w.say('generate', id='b', prompt=TIME, max_tokens=1)
        equal(w.until_end('b')['b'][-1]['type'], 'end', 'the name is free again')


@test
def sockets_refuse_by_name_and_go_on():
    rows = [({'type': 'generate', 'prompt': 'a'}, 'missing_required_parameter', 'no id'), ({'type': 'x', 'id': 'a'}, 'invalid_value', 'no such type'),
            ({'id': 'a'}, 'missing_required_parameter', 'no type'), ({'type': 'cancel', 'id': 'a'}, 'stream_not_found', 'no such stream'),
            ({'type': 'generate', 'id': 'a'}, 'missing_required_parameter', 'no prompt'),
            ({'type': 'generate', 'id': 'a', 'prompt': 'a', 'n_keep': 1}, 'unsupported_parameter', 'another engine\'s'),
            ({'type': 'generate', 'id': 'x' * 257, 'prompt': 'a'}, 'invalid_value', 'a long name'),
            ({'type': 'generate', 'id': 'a', 'prompt': 'a', 'credit': -1}, 'invalid_value', 'a debt')]
    with Folder() as folder, serving(chat_model(folder)) as s:
        w = Streams(s)
        for body, code, why in rows:
            w.socket.send(json.dumps(body))
            m = w.hear()
            equal((m['type'], m['error']['code']), ('error', code), f'{why}: {m}')
        w.socket.send('{')
        equal(w.hear()['error']['code'], 'invalid_json')
        w.say('generate', id='a', prompt='a', max_tokens=1)
        equal(w.until_end('a')['a'][-1]['type'], 'end')


@test
def field_3_3_a_client_that_leaves_frees_its_place():
    with Folder() as folder, serving(chat_model(folder), '--streams', '1', '--queue', '0') as s:
        for streams in (True, False):
            with s.connect() as c:
                body = json.dumps({'prompt': TIME, 'stream': streams, 'ignore_eos': True, 'max_tokens_per_second': 1})
                c.request('POST', NATIVE, 'Content-Type: application/json', body=body)
                wait_until(lambda: post(s, NATIVE, prompt='a', max_tokens=1).status == 429, 'the only place is taken')
                c.reset()
            wait_until(lambda: post(s, NATIVE, prompt='a', max_tokens=1).status == 200, 'the place is free')


@test
def sixty_four_streams_at_once_say_what_each_says_alone():
    with Folder() as folder, serving(chat_model(folder), '--streams', '64', '-c', '64') as s:
        want = [good(s, NATIVE, prompt=TIME, max_tokens=16, seed=i)['choices'][0]['text'] for i in range(64)]
        got = [None] * 64

        def one(i):
            got[i] = ''.join(d['text'] for d in stream(s, NATIVE, prompt=TIME, max_tokens=16, seed=i))
        threads = [threading.Thread(target=one, args=(i,)) for i in range(64)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(got, want)


@test
def texts_and_tokens_are_each_others_and_templates_show_their_prompt():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for text in ('Once upon a time', '', 'é\u0000x', '<s>'):
            ids = good(s, '/tokenize', content=text)['tokens']
            equal(good(s, '/detokenize', tokens=ids)['content'], text)
        pieces = good(s, '/tokenize', content='Once é', with_pieces=True)['tokens']
        equal(b''.join(bytes(p['bytes']) for p in pieces).strip(), 'Once é'.encode())
        ids = good(s, '/tokenize', content='Once é')['tokens']
        vllm = good(s, '/tokenize', prompt='Once é', return_token_strs=True)     # with the begin token by default
        equal((vllm['tokens'][1:], vllm['count'], vllm['max_model_len']), (ids, len(ids) + 1, 512))
        equal(len(vllm['token_strs']), len(ids) + 1)
        equal(good(s, '/tokenize', prompt='Once é', add_special_tokens=False)['tokens'], ids)
        equal(good(s, '/detokenize', tokens=ids)['prompt'], 'Once é')
        said = [{'role': 'user', 'content': 'a'}, {'role': 'user', 'content': [{'type': 'text', 'text': 'b'}, {'type': 'text', 'text': 'c'}]}]
        equal(good(s, '/apply-template', messages=said), {'prompt': 'ab\nc'})


main()
