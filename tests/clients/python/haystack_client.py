"""Haystack."""
import json
import os

os.environ['HAYSTACK_TELEMETRY_ENABLED'] = 'False'
from haystack.components.embedders import OpenAITextEmbedder    # noqa: E402
from haystack.components.generators.chat import OpenAIChatGenerator    # noqa: E402
from haystack.dataclasses import ChatMessage    # noqa: E402
from haystack.tools import Tool    # noqa: E402
from haystack.utils import Secret    # noqa: E402

LOOK = Tool(name='look', description='Looks at something.', function=lambda at: 'blue',
            parameters={'type': 'object', 'properties': {'at': {'type': 'string'}}, 'required': ['at']})
SCHEMA = {'type': 'object', 'properties': {'at': {'enum': ['the sky', 'the sea']}, 'is_blue': {'type': 'boolean'}},
          'required': ['at', 'is_blue'], 'additionalProperties': False}


def connect(URL, KEY, MODEL, **more):
    # settings
    generator = OpenAIChatGenerator(api_base_url=URL + '/v1', api_key=Secret.from_token(KEY), model=MODEL, **more)
    # end
    return generator


def embedder(URL, KEY, MODEL):
    # settings
    embedder = OpenAITextEmbedder(api_base_url=URL + '/v1', api_key=Secret.from_token(KEY), model=MODEL)
    # end
    return embedder


def run(at, messages=None, kwargs={}, **more):
    g = connect(at.url, at.key, at.model, generation_kwargs={'temperature': 0, **kwargs}, max_retries=0, **more)
    return g.run(messages or [ChatMessage.from_user(at.say)])['replies'][0]


def chat(at):
    return run(at).text


def stream(at):
    pieces = []
    run(at, streaming_callback=lambda c: pieces.append(c.content) if c.content else None)
    return pieces


def tools(at):
    first = run(at, tools=[LOOK])
    call, = first.tool_calls
    result = ChatMessage.from_tool(LOOK.invoke(**call.arguments), origin=call)
    return {'call': [call.tool_name, call.arguments], 'text': run(at, [ChatMessage.from_user(at.say), first, result], tools=[LOOK]).text}


def tools_stream(at):
    call, = run(at, tools=[LOOK], streaming_callback=lambda c: None).tool_calls
    return [call.tool_name, call.arguments]


def usage(at):
    u = run(at).meta['usage']
    return [u['prompt_tokens'], u['completion_tokens']]


def usage_stream(at):
    u = run(at, kwargs={'stream_options': {'include_usage': True}}, streaming_callback=lambda c: None).meta['usage']
    return [u['prompt_tokens'], u['completion_tokens']]


def schema(at):
    return json.loads(run(at, kwargs={'response_format': {'type': 'json_schema', 'json_schema': {'name': 'x', 'schema': SCHEMA}}}).text)


def forced(at):
    tell = Tool(name='tell', description='Tells.', function=lambda at, is_blue: '', parameters=SCHEMA)
    call, = run(at, tools=[LOOK, tell], kwargs={'tool_choice': {'type': 'function', 'function': {'name': 'tell'}}}).tool_calls
    return call.arguments


def embeddings(at):
    return [embedder(at.url, at.key, at.model).run(text)['embedding'] for text in at.texts]


def cancel(at):
    class Enough(Exception):
        pass

    def stop(_):
        raise Enough
    try:
        run(at, streaming_callback=stop)
    except Enough:
        pass


def timeout(at):
    run(at, timeout=at.seconds)
