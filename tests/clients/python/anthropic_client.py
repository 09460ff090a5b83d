"""anthropic for Python."""
import json

from anthropic import Anthropic

LOOK = {'name': 'look', 'description': 'Looks at something.', 'input_schema': {
    'type': 'object', 'properties': {'at': {'type': 'string'}}, 'required': ['at']}}
SCHEMA = {'type': 'object', 'properties': {'at': {'enum': ['the sky', 'the sea']}, 'is_blue': {'type': 'boolean'}},
          'required': ['at', 'is_blue'], 'additionalProperties': False}


def connect(URL, KEY, **more):
    # settings
    client = Anthropic(base_url=URL, api_key=KEY)
    # end
    return client.with_options(max_retries=0, **more)


def create(at, *, timeout=None, messages=None, call='create', **more):
    client = connect(at.url, at.key, **({'timeout': timeout} if timeout else {}))
    given = {'model': at.model, 'max_tokens': 100, 'messages': messages or [{'role': 'user', 'content': at.say}], **more}
    return getattr(client.messages, call)(**given)


def text(message):
    return ''.join(b.text for b in message.content if b.type == 'text')


def calls(message):
    return [b for b in message.content if b.type == 'tool_use']


def chat(at):
    return text(create(at))


def stream(at):
    with create(at, call='stream') as told:
        return list(told.text_stream)


def tools(at):
    first = create(at, tools=[LOOK])
    call, = calls(first)
    result = {'type': 'tool_result', 'tool_use_id': call.id, 'content': 'blue'}
    messages = [{'role': 'user', 'content': at.say}, {'role': 'assistant', 'content': first.content}, {'role': 'user', 'content': [result]}]
    return {'call': [call.name, call.input], 'text': text(create(at, tools=[LOOK], messages=messages))}


def tools_stream(at):
    with create(at, call='stream', tools=[LOOK]) as told:
        call, = calls(told.get_final_message())
    return [call.name, call.input]


def counts(u):
    return [u.input_tokens + (u.cache_read_input_tokens or 0), u.output_tokens]


def usage(at):
    return counts(create(at).usage)


def usage_stream(at):
    with create(at, call='stream') as told:
        return counts(told.get_final_message().usage)


def schema(at):
    return json.loads(text(create(at, extra_body={'output_config': {'format': {'type': 'json_schema', 'schema': SCHEMA}}})))


def forced(at):
    tell = {'name': 'tell', 'input_schema': SCHEMA}
    call, = calls(create(at, tools=[LOOK, tell], tool_choice={'type': 'tool', 'name': 'tell'}))
    return call.input


def cancel(at):
    with create(at, call='stream', max_tokens=200000) as told:
        next(iter(told.text_stream))


def timeout(at):
    create(at, timeout=at.seconds, max_tokens=200000)
