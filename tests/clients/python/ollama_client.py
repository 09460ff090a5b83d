"""ollama for Python."""
import json

from ollama import Client

SCHEMA = {'type': 'object', 'properties': {'at': {'enum': ['the sky', 'the sea']}, 'is_blue': {'type': 'boolean'}},
          'required': ['at', 'is_blue'], 'additionalProperties': False}


def look(at: str) -> str:
    """Looks at something."""
    return 'blue'


def connect(URL, KEY, **more):
    # settings
    client = Client(host=URL, headers={'Authorization': f'Bearer {KEY}'}, **more)
    # end
    return client


def create(at, *, seconds=None, messages=None, **more):
    client = connect(at.url, at.key, **({'timeout': seconds} if seconds else {}))
    return client.chat(model=at.model, options={'temperature': 0, 'num_predict': -1}, messages=messages or [{'role': 'user', 'content': at.say}], **more)


def chat(at):
    return create(at).message.content


def stream(at):
    return [k.message.content for k in create(at, stream=True) if k.message.content]


def tools(at):
    first = create(at, tools=[look]).message
    call, = first.tool_calls
    messages = [{'role': 'user', 'content': at.say}, first, {'role': 'tool', 'tool_name': call.function.name, 'content': look(**call.function.arguments)}]
    return {'call': [call.function.name, dict(call.function.arguments)], 'text': create(at, tools=[look], messages=messages).message.content}


def tools_stream(at):
    call, = [c for k in create(at, tools=[look], stream=True) for c in k.message.tool_calls or []]
    return [call.function.name, dict(call.function.arguments)]


def usage(at):
    done = create(at)
    return [done.prompt_eval_count, done.eval_count]


def usage_stream(at):
    *_, done = create(at, stream=True)
    return [done.prompt_eval_count, done.eval_count]


def schema(at):
    return json.loads(create(at, format=SCHEMA).message.content)


def embeddings(at):
    return [list(e) for e in connect(at.url, at.key).embed(model=at.model, input=at.texts).embeddings]


def cancel(at):
    told = create(at, stream=True)
    next(told)
    told.close()


def timeout(at):
    create(at, seconds=at.seconds)
