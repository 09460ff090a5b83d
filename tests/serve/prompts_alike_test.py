#!/usr/bin/env python3
"""The prompt of a conversation is one: what /apply-template shows and /tokenize and the counting routes count is what a chat evaluates."""
import json

import script_model
from api import PLAIN, SCRIPTS, TOOLS, good, post, serving
from serving import Folder, check, equal, main, test

FUNCTION = TOOLS[0]['function']
ROLES = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls or [] %}({{ c.function.name }} {{ c.function.arguments | tojson }}){% endfor %}{% endfor %}"
ASKS = '{% if add_generation_prompt %}[assistant]{% endif %}'
TEMPLATES = {       # name of the model -> template
    'plain': PLAIN,
    'begins': '{{ bos_token }}' + ROLES + ASKS,
    'tools': '{% for t in tools or [] %}{{ t | tojson }}{% endfor %}' + ROLES + ASKS,
    'knows-no-developer': "{% for m in messages %}{% if m.role in ('system', 'user', 'assistant', 'tool') %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}" + ASKS,
    'refuses-system': "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% endfor %}" + ROLES + ASKS,
    'adds-contents': "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% endfor %}" + ASKS,    # fails where a content is null
    'thinks': ROLES + ASKS + "{% if enable_thinking %}<think>{% endif %}",
}
HISTORY = [{'role': 'user', 'content': 'Look.'}, {'role': 'assistant', 'content': None, 'tool_calls': [
    {'id': 'c', 'type': 'function', 'function': {'name': 'look', 'arguments': '{"at": "the sky"}'}}]}, {'role': 'tool', 'tool_call_id': 'c', 'content': 'blue'}]
HI = [{'role': 'user', 'content': 'Hi </s> there'}]
REQUESTS = {
    'one message': {'messages': HI},
    'parts': {'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}]}]},
    'developer': {'messages': [{'role': 'developer', 'content': 'Be brief.'}, *HI]},
    'tools': {'messages': HI, 'tools': TOOLS},
    'tools that may not be called': {'messages': HI, 'tools': TOOLS, 'tool_choice': 'none'},
    'a history of calls': {'messages': [{'role': 'system', 'content': 'Be brief.'}, *HISTORY], 'tools': TOOLS},
    'a content that is null': {'messages': HISTORY},
    'variables': {'messages': HI, 'chat_template_kwargs': {'enable_thinking': True}},
    'no generation prompt': {'messages': HI, 'add_generation_prompt': False},
    'the answer begun': {'messages': [*HI, {'role': 'assistant', 'content': 'Ye'}], 'continue_final_message': True},
    'its tokens': {'messages': HI, 'reply_tokens': [92, 104]},
}


def served(folder):
    models = []
    for name, template in TEMPLATES.items():
        (folder / f'{name}.gguf').write_bytes(script_model.make(SCRIPTS, template, 2048))
        models += ['-m', f'{name}={folder / name}.gguf']
    return serving(folder / 'plain.gguf', *models)


@test
def what_is_shown_and_counted_is_what_a_chat_evaluates():
    with Folder() as folder, served(folder) as s:
        n = 0
        for name in TEMPLATES:
            for why, request in REQUESTS.items():
                body = {'model': name, **request}
                chat = post(s, '/v1/chat/completions', **body, max_tokens=1, return_token_ids=True)
                shown, counted = post(s, '/apply-template', **body), post(s, '/tokenize', **body)
                equal((shown.status, counted.status), (chat.status,) * 2, (name, why, chat.body, shown.body, counted.body))
                if chat.status != 200:
                    equal((shown.json, counted.json), (chat.json,) * 2, (name, why))
                    continue
                n += 1
                ids = chat.json['prompt_token_ids']
                equal(counted.json['tokens'], ids, (name, why))
                equal(counted.json['count'], chat.json['usage']['prompt_tokens'], (name, why))
                text = good(s, '/detokenize', model=name, tokens=ids, special=True)['content']
                begin = '' if name == 'begins' else '<s>'       # the engine's own is not part of the text
                equal(begin + shown.json['prompt'], text, (name, why))
        check(n > len(TEMPLATES) * len(REQUESTS) * 0.8, n)


@test
def the_counts_of_the_other_interfaces_are_those_of_their_answers():
    own = [{'name': 'look', 'input_schema': FUNCTION['parameters']}]
    of_responses = [{'type': 'function', **FUNCTION}]
    with Folder() as folder, served(folder) as s:
        for name in TEMPLATES:
            for tools in (False, True):
                body = {'model': name, 'messages': [{'role': 'user', 'content': 'Hi'}], **({'tools': own} if tools else {})}
                said = good(s, '/v1/messages', **body, max_tokens=1)['usage']['input_tokens']
                equal(good(s, '/v1/messages/count_tokens', **body)['input_tokens'], said, name)
                chat = {'model': name, 'messages': body['messages'], **({'tools': TOOLS} if tools else {})}
                equal(good(s, '/tokenize', **chat)['count'], said, name)
                body = {'model': name, 'input': 'Hi', **({'tools': of_responses} if tools else {})}
                said = good(s, '/v1/responses', **body, max_output_tokens=1)['usage']['input_tokens']
                equal(good(s, '/v1/responses/input_tokens', **body)['input_tokens'], said, name)
                equal(good(s, '/tokenize', **chat)['count'], said, name)


@test
def a_conversation_that_is_too_long_is_shown_and_its_tokens_are_refused_as_a_chat_is():
    long = [{'role': 'user', 'content': 'x' * 4000}]
    with Folder() as folder, served(folder) as s:
        equal(good(s, '/apply-template', model='plain', messages=long)['prompt'], 'x' * 4000)
        errors = [post(s, path, model='plain', messages=long).json['error'] for path in ('/v1/chat/completions', '/tokenize')]
        equal({e['code'] for e in errors}, {'context_length_exceeded'}, errors)
        talk = [{'role': ('user', 'assistant')[i % 2], 'content': str(i) * 200} for i in range(21)]
        shown = good(s, '/apply-template', model='plain', messages=talk, truncate='old')['prompt']
        check(shown.endswith('20' * 200) and len(shown) < 2048, len(shown))


@test
def members_that_contradict_a_conversation_are_refused():
    with Folder() as folder, served(folder) as s:
        post(s, '/tokenize', messages=HI, content='x').refuses(400, 'invalid_value', 'excludes content')
        post(s, '/tokenize', messages=HI, add_special_tokens=True).refuses(400, 'invalid_value', 'add_special_tokens')
        equal(good(s, '/tokenize', messages=HI, tools=TOOLS, tool_choice='required')['count'], good(s, '/tokenize', messages=HI, tools=TOOLS)['count'])
        equal(len(good(s, '/tokenize', messages=HI, with_pieces=True)['tokens']), good(s, '/tokenize', messages=HI)['count'])
        spelled = good(s, '/tokenize', messages=HI, parse_special=True)
        check(2 in spelled['tokens'] and 2 not in good(s, '/tokenize', messages=HI)['tokens'], json.dumps(spelled))


main()
