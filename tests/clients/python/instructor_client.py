"""instructor."""
import json
from typing import Literal

import instructor
from openai import OpenAI
from pydantic import BaseModel, ConfigDict

LOOK = {'type': 'function', 'function': {'name': 'look', 'description': 'Looks at something.', 'parameters': {
    'type': 'object', 'properties': {'at': {'type': 'string'}}, 'required': ['at']}}}


class Answer(BaseModel):
    model_config = ConfigDict(extra='forbid')
    at: Literal['the sky', 'the sea']
    is_blue: bool


def connect(URL, KEY, mode, **more):
    # settings
    client = instructor.from_openai(OpenAI(base_url=URL + '/v1', api_key=KEY, max_retries=0, **more), mode=mode)    # Mode.JSON_SCHEMA or Mode.TOOLS
    # end
    return client


def create(at, *, timeout=None, messages=None, mode=instructor.Mode.JSON_SCHEMA, answer=None, **more):
    client = connect(at.url, at.key, mode, **({'timeout': timeout} if timeout else {}))
    return client.chat.completions.create(model=at.model, temperature=0, messages=messages or [{'role': 'user', 'content': at.say}], response_model=answer,
                                          max_retries=0, **more)


def chat(at):
    return create(at).choices[0].message.content


def stream(at):
    return [c.choices[0].delta.content for c in create(at, stream=True) if c.choices and c.choices[0].delta.content]


def tools(at):
    message = create(at, tools=[LOOK]).choices[0].message
    call, = message.tool_calls
    messages = [{'role': 'user', 'content': at.say}, message.model_dump(exclude_none=True), {'role': 'tool', 'tool_call_id': call.id, 'content': 'blue'}]
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
    return create(at, answer=Answer).model_dump()


def forced(at):
    return create(at, mode=instructor.Mode.TOOLS, answer=Answer, parallel_tool_calls=False).model_dump()


def cancel(at):
    told = create(at, stream=True)
    next(iter(told))
    told.close()


def timeout(at):
    create(at, timeout=at.seconds)
