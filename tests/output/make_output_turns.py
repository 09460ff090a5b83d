#!/usr/bin/env python3
"""Takes the replies out of rendered chat templates: tests/output/output_turns.jsonl.

usage: make_output_turns.py VECTORS output_templates.tsv > output_turns.jsonl

VECTORS holds models/*.jinja and templates.json. For each template and a few conversations, the text that it writes for the assistant's
message, and what the message says. Few of those that a
format's parser would see alike are kept. Needs jinja2 3.1.
"""
import json
import os
import re
import sys

import jinja2
import jinja2.ext

TOOLS = [{'type': 'function', 'function': {'name': name, 'description': 'Does it.', 'parameters': {
    'type': 'object', 'properties': {}, 'required': []}}} for name in ('get_weather', 'add')]
THOUGHT = {key: 'I need\n\nthe tool.' for key in ('reasoning_content', 'thinking', 'reasoning')}


def call(number, name, arguments):
    return {'id': f'call0000{number}', 'type': 'function', 'function': {'name': name, 'arguments': arguments}}


OSLO = call(1, 'get_weather', {'city': 'Oslo', 'unit': 'C'})
ADD = call(2, 'add', {'values': [1, 2.5, -3], 'round': None, 'exact': True})
ODD = call(1, 'get_weather', {'city': 'Zürich <&> "中" \\ {😀}\nnow', 'at': {'lat': 47.4, 'tags': ['a', 'b']}})
MESSAGES = [
    {'content': 'Two and\n\ntwo.'},
    {'content': '', 'tool_calls': [OSLO]},
    {'content': 'Two calls.', 'tool_calls': [OSLO, ADD]},
    {'content': '', 'tool_calls': [ODD]},
    {'content': 'It is 51.', **THOUGHT},
    {'content': '', 'tool_calls': [OSLO], **THOUGHT},
]
TURN_ENDS = ['<|im_end|>', '</s>', '<|eot_id|>', '<|eom_id|>', '<|end_of_text|>', '<|END_OF_TURN_TOKEN|>', '<|endoftext|>', '[e~[',
             '<｜end▁of▁sentence｜>', '<end_of_turn>', '<turn|>', '<|return|>', '<|call|>', '<|role_end|>', '<|assistant_end|>',
             '</assistant>', '<|observation|>', '<|user|>', '<|tool|>', '<end_of_sentence>', '<SPECIAL_12>', '<sep>', '<|eot|>',
             '<｜hy_eos:opensource｜>', '<|end_of_msg|>', '<|calls|>', '<|EOT|>', '<|tool_response>', '<|end_of_role|>', '<|role_sep|>\nuser',
             '[INST]', '<|message_sep|>\n\nfunction result', '<|tools_suffix|>[', '\n\n\nРезультат']


def raise_exception(message):
    raise jinja2.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    env.filters['tojson'] = tojson
    env.globals.update(raise_exception=raise_exception, strftime_now=lambda form: '2025-07-04')
    return env


def render(template, row, messages, prompt, thinking):
    return template.render(messages=messages, tools=TOOLS, documents=None, add_generation_prompt=prompt, enable_thinking=thinking,
                           thinking=thinking, keep_past_thinking=True,
                           bos_token=row['bos_token'], eos_token=row['eos_token'], **row.get('with', {}))


def reply(template, row, message, thinking):
    """The prompt and the assistant's text behind it; None where the template cannot write it."""
    user = {'role': 'user', 'content': 'Well?'}
    for string in (False, True):
        said = {'role': 'assistant', **json.loads(json.dumps(message))}
        for tool_call in said.get('tool_calls', []) if string else []:
            tool_call['function']['arguments'] = json.dumps(tool_call['function']['arguments'], ensure_ascii=False)
        after = [{'role': 'tool', 'tool_call_id': c['id'], 'name': c['function']['name'], 'content': '7'}
                 for c in said.get('tool_calls', [])]
        try:
            prompt = render(template, row, [user], True, thinking)
            whole = render(template, row, [user, said] + after, False, thinking)
        except (jinja2.TemplateError, TypeError, ValueError):
            continue
        common = os.path.commonprefix([prompt, whole])
        if '[BEGIN FINAL RESPONSE]' in whole[len(common):]:     # the opening words are left out of whole conversations
            return prompt, whole[len(common):]
        if common != prompt:
            while common and common[-1] not in '>\n]: ':
                common = common[:-1]
        text = whole[len(common):]
        ends = [text.find(end) for end in TURN_ENDS if end in text]
        if '<|end|>' in text and '<|channel|>' not in text and '<|begin|>' not in text:
            ends.append(text.find('<|end|>'))
        return common, text[:min(ends)] if ends else text
    return None


def as_written(tool_call, text):
    function = tool_call['function']
    arguments = {key: value for key, value in function['arguments'].items() if key in text}
    given = {'name': function['name'], 'arguments': arguments}
    return {**given, 'id': tool_call['id']} if tool_call['id'] in text else given


def main():
    vectors, formats = sys.argv[1:3]
    format_of = dict(line.rstrip('\n').split('\t') for line in open(formats))
    rows = json.load(open(os.path.join(vectors, 'templates.json')))
    seen = {}
    for row in rows:
        source = open(os.path.join(vectors, 'models', row['file'])).read()
        source = re.sub(r'({%-?\s*)generation(\s*-?%})', r'\1if true\2', source)
        source = re.sub(r'({%-?\s*)endgeneration(\s*-?%})', r'\1endif\2', source)
        template = environment().from_string(source)
        for number, message in enumerate(MESSAGES):
            for thinking in (False, True):
                got = reply(template, row, message, thinking)
                if not got:
                    continue
                prompt, text = got[0][-32:], got[1]
                format_name, thought = format_of[row['file']], message.get('thinking', '')
                opened = prompt.rstrip().endswith('<think>')
                if opened and '</think>' not in text:           # this template's conversations do not go on from its prompts
                    continue
                key = (format_name, number, opened, '</think>' in text)
                if key in seen or format_name == 'none':
                    continue
                seen[key] = True
                line = {'template': row['file'], 'format': format_name, 'prompt': prompt, 'output': text,
                        'content': message['content'] if message['content'] in text else '',
                        'reasoning': thought if thought in text else '', 'calls': []}
                if '<|channel|>analysis<|message|>' + line['content'] in text and not thought:
                    line['content'], line['reasoning'] = '', line['content']
                if any(word in text for word in ('Oslo', 'Zürich', 'Z\\u00fcrich')):
                    line['calls'] = [as_written(c, text) for c in message['tool_calls'] if c['function']['name'] in text]
                print(json.dumps(line, ensure_ascii=False))


if __name__ == '__main__':
    main()
