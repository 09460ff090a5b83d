"""openai for Python."""
import json
from typing import Literal

from openai import OpenAI
from pydantic import BaseModel

LOOK = {'type': 'function', 'function': {'name': 'look', 'description': 'Looks at something.', 'parameters': {
    'type': 'object', 'properties': {'at': {'type': 'string'}}, 'required': ['at']}}}


class Answer(BaseModel):
    at: Literal['the sky', 'the sea']
    is_blue: bool


def connect(URL, KEY, **more):
    # settings
    client = OpenAI(base_url=URL + '/v1', api_key=KEY)
    # end
    return client.with_options(max_retries=0, **more)


def create(at, *, timeout=None, messages=None, **more):
    client = connect(at.url, at.key, **({'timeout': timeout} if timeout else {}))
    return client.chat.completions.create(model=at.model, temperature=0, messages=messages or [{'role': 'user', 'content': at.say}], **more)


def chat(at):
    return create(at).choices[0].message.content


def stream(at):
    return [c.choices[0].delta.content for c in create(at, stream=True) if c.choices and c.choices[0].delta.content]


def tools(at):
    message = create(at, tools=[LOOK]).choices[0].message
    call, = message.tool_calls
    messages = [{'role': 'user', 'content': at.say}, message, {'role': 'tool', 'tool_call_id': call.id, 'content': 'blue'}]
    final = create(at, tools=[LOOK], messages=messages).choices[0].message
    return {'call': [call.function.name, json.loads(call.function.arguments)], 'text': final.content}


def tools_stream(at):
    deltas = [d for c in create(at, tools=[LOOK], stream=True) for d in c.choices[0].delta.tool_calls or []]
    return [deltas[0].function.name, json.loads(''.join(d.function.arguments or '' for d in deltas))]


def usage(at):
    u = create(at).usage
    return [u.prompt_tokens, u.completion_tokens]


def usage_stream(at):
    u = list(create(at, stream=True, stream_options={'include_usage': True}))[-1].usage
    return [u.prompt_tokens, u.completion_tokens]


def schema(at):
    told = connect(at.url, at.key).chat.completions.parse(model=at.model, temperature=0, messages=[{'role': 'user', 'content': at.say}], response_format=Answer)
    return told.choices[0].message.parsed.model_dump()


def forced(at):
    tool = {'type': 'function', 'function': {'name': 'tell', 'strict': True, 'parameters': {**Answer.model_json_schema(), 'additionalProperties': False}}}
    message = create(at, tools=[LOOK, tool], tool_choice={'type': 'function', 'function': {'name': 'tell'}}).choices[0].message
    call, = message.tool_calls
    return json.loads(call.function.arguments)


def embeddings(at):
    return [d.embedding for d in connect(at.url, at.key).embeddings.create(model=at.model, input=at.texts).data]


def cancel(at):
    told = create(at, stream=True)
    next(iter(told))
    told.close()


def timeout(at):
    create(at, timeout=at.seconds)
