#!/usr/bin/env python3
"""What a begun answer promises: an error in the middle ends it in words, and members that clients insist on are there (field.md 3.6, 3.9)."""
import json
import threading

from api import STORY, chat, chat_model, events, good, post, scripted, serving, stream
from api_native_streams import Streams
from serving import Folder, check, equal, main, test

CHAT, TEXT, NATIVE, RESPONSES = '/v1/chat/completions', '/v1/completions', '/v1/runnel/generate', '/v1/responses'
FAILING = [     # path, what asks for an answer that fails after its first tokens
    (CHAT, {'messages': [{'role': 'user', 'content': 'E'}]}),
    (TEXT, {'prompt': 'E'}),
    (NATIVE, {'prompt': 'E'}),
    (RESPONSES, {'input': 'E'}),
]


@test
def field_3_6_an_error_in_the_middle_is_one_event_and_no_done():
    with Folder() as folder, serving(scripted(folder)) as s:
        for path, body in FAILING:
            answer = post(s, path, **body, temperature=0, stream=True)
            equal((answer.status, answer.header('content-type')), (200, 'text/event-stream'), path)
            told = [d for _, _, d in events(answer.body)]
            check('Yes' in json.dumps(told), path, ': what came before it is told', told)
            check('[DONE]' not in told, path)
            failed = [d for d in told if d != '[DONE]' and d.get('error')]
            equal(failed, told[-1:], f'{path}: the error is the last event, and one')
            error = failed[0]['error']
            equal((error['type'], error['code'], error['param']), ('server_error', 'internal_error', None), path)
            check(error['message'].startswith('generation: '), path, error)
            check(answer.body.endswith(b'\n\n'), path)


@test
def field_3_6_an_answer_that_was_not_begun_has_a_status_of_its_own_for_the_same_error():
    with Folder() as folder, serving(scripted(folder)) as s:
        for path, body in FAILING:
            post(s, path, **body, temperature=0).refuses(500, 'internal_error', 'generation: ')
        page = s.get('/metrics').body.decode()
        check(f'runnel:errors_total{{code="internal_error"}} {len(FAILING)}\n' in page, page)


@test
def field_3_6_a_stream_of_a_socket_that_fails_says_so_and_the_others_go_on():
    with Folder() as folder, serving(scripted(folder)) as s:
        w = Streams(s)
        for i, prompt in enumerate('ENEN'):
            w.say('generate', id=str(i), prompt=prompt, temperature=0)
        told = w.until_end(*'0123')
        equal([told[i][-1]['type'] for i in '0123'], ['error', 'end', 'error', 'end'])
        equal(told['0'][-1]['error']['code'], 'internal_error')
        equal([''.join(m.get('text', '') for m in told[i]) for i in '13'], ['Yes!', 'Yes!'])


@test
def field_3_6_the_mates_of_an_answer_that_fails_say_what_they_say_alone():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        alone = {c: good(s, TEXT, prompt=c, temperature=0, max_tokens=40)['choices'][0]['text'] for c in 'TRNA'}
        heard = {}

        def ask(i, c):
            heard[i, c] = post(s, TEXT, prompt=c, temperature=0, max_tokens=40)
        asking = [threading.Thread(target=ask, args=(i, c)) for i in range(4) for c in 'TERENEAE']
        for t in asking:
            t.start()
        for t in asking:
            t.join(60)
        for (_, c), answer in heard.items():
            equal(answer.status, 500 if c == 'E' else 200, c)
            if c != 'E':
                equal(answer.json['choices'][0]['text'], alone[c])


@test
def field_3_9_members_that_clients_insist_on_are_there():
    with Folder() as folder, serving(chat_model(folder)) as s:
        equal(chat(s, max_completion_tokens=3, ignore_eos=True)['usage']['completion_tokens'], 3)
        equal(chat(s, max_tokens=9, max_completion_tokens=3, ignore_eos=True)['usage']['completion_tokens'], 3)
        check(chat(s, max_tokens=-1)['choices'][0]['finish_reason'] in ('stop', 'length'), '-1: as far as there is room')
        whole = chat(s, max_tokens=3)
        message = whole['choices'][0]['message']
        equal((message['role'], message['refusal']), ('assistant', None))
        check(set(whole) >= {'id', 'object', 'created', 'model', 'choices', 'usage', 'system_fingerprint'}, whole)
        told = stream(s, CHAT, messages=STORY, max_tokens=3)
        first = told[0]['choices'][0]
        equal((first['delta']['role'], first['delta']['content'], first['finish_reason']), ('assistant', '', None))
        check(all('role' not in c['choices'][0]['delta'] for c in told[1:]), told)
        equal(len({c['id'] for c in told}), 1)
        defaults = s.get('/v1/models').json['data'][0]
        check('temp' in json.dumps(defaults), 'what sampling is by default', defaults)


main()
