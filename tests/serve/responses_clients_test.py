#!/usr/bin/env python3
"""/v1/responses as its clients use it: what Codex sends is answered; the input of a stored answer is listed."""
from api import TOOLS, chat_model, events, good, post, scripted, serving
from serving import Folder, check, equal, main, test

PATH = '/v1/responses'
LOOK = {'type': 'function', 'name': 'look', 'description': 'Looks.', 'strict': False, 'parameters': TOOLS[0]['function']['parameters']}
# As Codex 0.9x sends a turn: its ResponsesApiRequest, with each of its kinds of tools.
CODEX = {
    'model': 'm', 'instructions': 'You are a coding agent.', 'stream': True, 'store': False, 'tool_choice': 'auto', 'parallel_tool_calls': True,
    'input': [
        {'type': 'message', 'role': 'developer', 'content': [{'type': 'input_text', 'text': '<permissions>read-only</permissions>'}]},
        {'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': '<environment_context/>'},
                                                        {'type': 'input_text', 'text': 'look'}]},
        {'type': 'reasoning', 'id': 'rs_1', 'summary': [], 'content': [{'type': 'reasoning_text', 'text': 'hm'}], 'encrypted_content': None},
        {'type': 'function_call', 'id': 'fc_1', 'name': 'look', 'arguments': '{"at": "it"}', 'call_id': 'call_1'},
        {'type': 'function_call_output', 'call_id': 'call_1', 'output': [{'type': 'input_text', 'text': 'nothing'}]},
        {'type': 'message', 'role': 'assistant', 'phase': 'final_answer', 'content': [{'type': 'output_text', 'text': 'Nothing there.'}]},
        {'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': 'T'}]}],
    'tools': [
        LOOK, {'type': 'local_shell'}, {'type': 'web_search', 'external_web_access': False}, {'type': 'image_generation', 'output_format': 'png'},
        {'type': 'custom', 'name': 'apply_patch', 'description': 'Patches.', 'format': {'type': 'grammar', 'syntax': 'lark', 'definition': 'start: "a"'}},
        {'type': 'namespace', 'name': 'mcp', 'description': 'More.', 'tools': [LOOK]}, {'type': 'tool_search', 'execution': 'client'},
        {'type': 'mcp', 'server_label': 'x', 'server_url': 'http://127.0.0.1'}],
    'reasoning': {'effort': 'medium', 'summary': 'auto'}, 'include': ['reasoning.encrypted_content'], 'prompt_cache_key': 'a-thread',
    'text': {'verbosity': 'low'}, 'client_metadata': {'x-codex-installation-id': 'a'}}
LEFT_OUT = ('tools.local_shell, tools.web_search, tools.image_generation, tools.custom, tools.namespace, tools.tool_search, tools.mcp, '
            'client_metadata')
ROLES = '{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}'


@test
def what_codex_sends_is_answered_as_it_reads_it():
    with Folder() as folder, serving(scripted(folder), '--output-format', 'hermes') as s:
        answer = post(s, PATH, **CODEX, temperature=0)
        equal((answer.status, answer.header('x-runnel-ignored')), (200, LEFT_OUT), answer.body)
        told = events(answer.body)
        equal([told[0][1], told[-1][1]], ['response.created', 'response.completed'])
        done = [d['item'] for _, name, d in told if name == 'response.output_item.done']
        calls = [i for i in done if i['type'] == 'function_call']
        equal([(c['name'], c['arguments']) for c in calls], [('look', '{"at": "the sky"}'), ('f', '{}')])
        check(all(c['call_id'] for c in calls), calls)
        response = told[-1][2]['response']
        usage = response['usage']
        equal(usage['input_tokens'] + usage['output_tokens'], usage['total_tokens'])
        check({'cached_tokens'} <= set(usage['input_tokens_details']) and {'reasoning_tokens'} <= set(usage['output_tokens_details']), usage)
        equal(response['text'], {'format': {'type': 'text'}, 'verbosity': 'low'})
        equal([t['name'] for t in response['tools']], ['look'], 'the answer says which tools the model knows')
        # Its next turn sends the calls and their results back.
        on = [*CODEX['input'], *done, *({'type': 'function_call_output', 'call_id': c['call_id'], 'output': 'blue'} for c in calls)]
        equal(events(post(s, PATH, **{**CODEX, 'input': on}, temperature=0).body)[-1][1], 'response.completed')


@test
def tools_that_are_no_functions_are_left_out_and_named():
    with Folder() as folder, serving(scripted(folder, ROLES)) as s:
        plain = good(s, PATH, input='x', tools=[LOOK], temperature=0)['usage']['input_tokens']
        more = good(s, PATH, input='x', tools=[{'type': 'web_search'}, LOOK, {'type': 'custom', 'name': 'a'}], temperature=0)
        equal(more['usage']['input_tokens'], plain, 'the prompt has the function alone')
        none = good(s, PATH, input='x', tools=[{'type': 'web_search'}], temperature=0)['usage']['input_tokens']
        equal(none, good(s, PATH, input='x', temperature=0)['usage']['input_tokens'])
        post(s, PATH, 'x-runnel-strict: true', input='x', tools=[{'type': 'web_search'}]).refuses(400, 'unknown_parameter', 'tools[0]')
        post(s, PATH, input='x', tools=[{'name': 'a'}]).refuses(400, 'invalid_value', 'tools[0]')


@test
def options_of_the_text_are_taken_or_refused_by_name():
    with Folder() as folder, serving(scripted(folder, '{{ verbosity }}N')) as s:
        for level in ('low', 'medium', 'high'):
            equal(good(s, PATH, input='x', text={'verbosity': level}, max_output_tokens=1)['text'], {'format': {'type': 'text'}, 'verbosity': level})
        equal(good(s, PATH, input='x', text={'format': {'type': 'text'}}, max_output_tokens=1)['text'], {'format': {'type': 'text'}})
        for text, code in (({'verbosity': 'x'}, 'invalid_value'), ({'verbosity': 5}, 'invalid_value'), ({'form': 5}, 'invalid_value'),
                           ({'format': {'type': 'xml'}}, 'invalid_value'), ({'format': 5}, 'invalid_value')):
            post(s, PATH, input='x', text=text).refuses(400, code, 'text')
        good(s, PATH, input='x', include=['message.output_text.logprobs', 'file_search_call.results'], max_output_tokens=1)
        post(s, PATH, input='x', include=[5]).refuses(400, 'invalid_value', 'include[0]')


@test
def input_is_counted_without_an_answer():
    with Folder() as folder, serving(chat_model(folder)) as s:
        stored = good(s, PATH, input='Once', max_output_tokens=2)['id']
        for body in ({'input': 'Once upon a time'}, {'input': TALK, 'instructions': 'I'}, {'input': 'x', 'previous_response_id': stored}):
            answer = good(s, f'{PATH}/input_tokens', **body)
            equal(answer, {'object': 'response.input_tokens', 'input_tokens': good(s, PATH, **body, max_output_tokens=1)['usage']['input_tokens']})
        post(s, f'{PATH}/input_tokens').refuses(400, 'missing_required_parameter', 'input')
        for name in ('', 's' * 257):
            post(s, f'{PATH}/input_tokens', input='a', session=name).refuses(400, 'invalid_value', 'session: ')
        post(s, f'{PATH}/input_tokens', input='a', preset='x').refuses(400, 'invalid_value', 'preset: ')
        error = post(s, f'{PATH}/input_tokens', input='long ' * 900).refuses(400, 'context_length_exceeded').json['error']
        equal(error['param'], 'input')


TALK = [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': [{'type': 'input_text', 'text': 'A'}]},
        {'type': 'function_call', 'call_id': 'c', 'name': 'look', 'arguments': '{}'}, {'type': 'function_call_output', 'call_id': 'c', 'output': 'O'},
        {'role': 'assistant', 'content': 'B'}, {'role': 'user', 'content': 'T'}]
KINDS = [('message', 'system', 'S'), ('message', 'user', 'A'), ('function_call', 'look', '{}'), ('function_call_output', 'c', 'O'),
         ('message', 'assistant', 'B'), ('message', 'user', 'T')]


def kind(item):
    if item['type'] == 'message':
        return 'message', item['role'], item['content'][0]['text']
    return item['type'], *((item['name'], item['arguments']) if item['type'] == 'function_call' else (item['call_id'], item['output']))


@test
def the_input_of_a_stored_answer_is_listed_page_by_page():
    with Folder() as folder, serving(chat_model(folder)) as s:
        first = good(s, PATH, input=TALK, instructions='I', max_output_tokens=2, temperature=0)['id']
        where = f'{PATH}/{first}/input_items'
        page = s.get(where).json
        equal(([kind(i) for i in page['data']], page['object'], page['has_more']), (KINDS[::-1], 'list', False), 'the newest first, as OpenAI has it')
        equal((page['first_id'], page['last_id']), (page['data'][0]['id'], page['data'][-1]['id']))
        ids = [i['id'] for i in s.get(f'{where}?order=asc').json['data']]
        equal(ids, [i['id'] for i in page['data']][::-1])
        for order, want in (('asc', KINDS), ('desc', KINDS[::-1])):
            for limit in (1, 2, 5, 6, 100):
                got, after, more = [], '', True
                while more:
                    page = s.get(f'{where}?order={order}&limit={limit}{after}').json
                    check(len(page['data']) <= limit, page)
                    got += [kind(i) for i in page['data']]
                    more, after = page['has_more'], f'&after={page["last_id"]}'
                equal(got, want, (order, limit))
        end = s.get(f'{where}?order=asc&after={ids[-1]}').json
        equal((end['data'], end['first_id'], end['has_more']), ([], None, False))
        second = good(s, PATH, input='more', previous_response_id=first, max_output_tokens=2)['id']
        listed = [kind(i) for i in s.get(f'{PATH}/{second}/input_items?order=asc').json['data']]
        equal((listed[:6], listed[6][:2], listed[7]), (KINDS, ('message', 'assistant'), ('message', 'user', 'more')))
        for query in ('limit=0', 'limit=101', 'limit=x', 'order=up', 'limit=99999999999999999999'):
            s.get(f'{where}?{query}').refuses(400, 'invalid_value', query.split('=')[0])
        s.get(f'{PATH}/{first}x/input_items').refuses(404, 'response_not_found')
        s.get(f'{PATH}/{first}/input_items/x').refuses(404, 'response_not_found')


main()
