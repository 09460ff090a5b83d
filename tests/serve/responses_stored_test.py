#!/usr/bin/env python3
"""Stored answers: a request continues one as if it had sent the whole conversation; only the same key can."""
import json

from api import STORY, TOOLS, chat_model, events, good, post, scripted, serving
from serving import KEY, Folder, check, equal, main, test

PATH = '/v1/responses'


def streamed(s, **body):
    """The response of a stream's last event."""
    return events(post(s, PATH, stream=True, **body).body)[-1][2]['response']


def text_of(response):
    return ''.join(c['text'] for o in response['output'] if o['type'] == 'message' for c in o['content'])


@test
def a_request_goes_on_from_a_stored_answer_as_from_the_whole_conversation():
    with Folder() as folder, serving(chat_model(folder)) as s:
        more = {'seed': 1, 'max_output_tokens': 8}
        first = good(s, PATH, input='Once upon a time', instructions='Tell a story.', **more)
        equal((first['store'], first['previous_response_id']), (True, None))
        second = good(s, PATH, input=' and then', previous_response_id=first['id'], **more)
        equal(second['previous_response_id'], first['id'])
        told = streamed(s, input=' the end', previous_response_id=second['id'], **more)
        talk = [*STORY]
        for answer, said in ((first, ' and then'), (second, ' the end')):
            talk += [{'role': 'assistant', 'content': text_of(answer)}, {'role': 'user', 'content': said}]
        whole = good(s, PATH, input=talk[:3], **more)       # instructions are each request's own
        equal((text_of(second), second['usage']['input_tokens']), (text_of(whole), whole['usage']['input_tokens']))
        whole = good(s, PATH, input=talk, **more)
        equal((text_of(told), told['usage']['input_tokens']), (text_of(whole), whole['usage']['input_tokens']))
        twice = good(s, PATH, input=' and then', previous_response_id=first['id'], **more)      # a branch
        equal(text_of(twice), text_of(second))


@test
def calls_of_tools_and_their_results_go_on_too():
    tools = [{'type': 'function', **TOOLS[0]['function']}]
    template = '{% for t in tools or [] %}{{ t.function.name }}{% endfor %}' \
               '{% for m in messages %}[{{ m.role }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}' \
               '{% endfor %}{{ m.content }}]{% endfor %}R'
    with Folder() as folder, serving(scripted(folder, template.replace('R', 'T')), '--output-format', 'hermes') as s:
        first = good(s, PATH, input='x', tools=tools, temperature=0)
        calls = [o for o in first['output'] if o['type'] == 'function_call']
        equal([c['name'] for c in calls], ['look', 'f'])
        results = [{'type': 'function_call_output', 'call_id': c['call_id'], 'output': 'blue'} for c in calls]
        on = good(s, PATH, input=results, previous_response_id=first['id'], tools=tools, temperature=0)
        whole = good(s, PATH, input=[{'role': 'user', 'content': 'x'}, *first['output'], *results], tools=tools, temperature=0)
        equal(on['usage']['input_tokens'], whole['usage']['input_tokens'])
        check(on['usage']['input_tokens'] > first['usage']['input_tokens'], on['usage'])


@test
def a_stored_answer_is_told_again_until_it_is_deleted():
    with Folder() as folder, serving(scripted(folder)) as s:
        first = good(s, PATH, input='N', temperature=0)
        told = streamed(s, input='N', temperature=0)
        for response in (first, told):
            equal(s.get(f'{PATH}/{response["id"]}').json, response)
        s.get(f'{PATH}/{first["id"]}?stream=true').refuses(400, 'unsupported_parameter')

        def delete():
            with s.connect() as c:
                return c.ask('DELETE', f'{PATH}/{first["id"]}')
        equal(delete().json, {'id': first['id'], 'object': 'response', 'deleted': True})
        delete().refuses(404, 'response_not_found')
        s.get(f'{PATH}/{first["id"]}').refuses(404, 'response_not_found')
        answer = post(s, PATH, input='N', previous_response_id=first['id']).refuses(404, 'response_not_found')
        equal(answer.json['error']['param'], 'previous_response_id')
        unstored = good(s, PATH, input='N', store=False)
        equal(unstored['store'], False)
        s.get(f'{PATH}/{unstored["id"]}').refuses(404, 'response_not_found')
        failed = post(s, PATH, input='E', temperature=0).refuses(500, 'internal_error')
        check('resp_' not in json.dumps(failed.json))


@test
def a_method_that_a_path_lacks_is_refused_with_those_that_it_has():
    with Folder() as folder, serving(scripted(folder)) as s:
        first = good(s, PATH, input='N')
        for method, path, allowed in (('GET', 'input_tokens', 'POST'), ('DELETE', 'input_tokens', 'POST'), ('PUT', 'input_tokens', 'POST'),
                                      ('DELETE', f'{first["id"]}/input_items', 'GET'), ('PUT', first['id'], 'GET, DELETE')):
            with s.connect() as c:
                answer = c.ask(method, f'{PATH}/{path}').refuses(405, 'method_not_allowed')
            equal(answer.header('allow'), allowed, path)
        equal(s.get(f'{PATH}/{first["id"]}').status, 200)


@test
def a_stored_answer_is_its_keys_own():
    with Folder() as folder, serving(scripted(folder), '--api-key', KEY, '--api-key', KEY + '-other') as s:
        mine, other = f'Authorization: Bearer {KEY}', f'Authorization: Bearer {KEY}-other'
        first = good(s, PATH, mine, input='N')
        s.get(f'{PATH}/{first["id"]}', other).refuses(404, 'response_not_found')
        post(s, PATH, other, input='N', previous_response_id=first['id']).refuses(404, 'response_not_found')
        equal(s.get(f'{PATH}/{first["id"]}', mine).status, 200)


@test
def a_server_that_is_to_keep_nothing_says_so():
    with Folder() as folder, serving(scripted(folder), '--responses-mib', '0') as s:
        first = good(s, PATH, input='N')
        equal(first['store'], False)
        s.get(f'{PATH}/{first["id"]}').refuses(404, 'response_not_found')
        equal(post(s, PATH, input='N', store=True).refuses(400, 'unsupported_parameter', 'answers are not stored').json['error']['param'], 'store')


main()
