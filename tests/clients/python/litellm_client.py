"""LiteLLM."""
import json
import os

os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'     # else importing it asks another host
import litellm    # noqa: E402

LOOK = {'type': 'function', 'function': {'name': 'look', 'description': 'Looks at something.', 'parameters': {
    'type': 'object', 'properties': {'at': {'type': 'string'}}, 'required': ['at']}}}
SCHEMA = {'type': 'object', 'properties': {'at': {'enum': ['the sky', 'the sea']}, 'is_blue': {'type': 'boolean'}},
          'required': ['at', 'is_blue'], 'additionalProperties': False}


def complete(URL, KEY, MODEL, messages, **more):
    # settings
    answer = litellm.completion(model='hosted_vllm/' + MODEL, api_base=URL + '/v1', api_key=KEY, messages=messages, **more)
    # end
    return answer


def create(at, messages=None, **more):
    messages = messages or [{'role': 'user', 'content': at.say}]
    return complete(at.url, at.key, at.model, messages, temperature=0, max_retries=0, **more)


def chat(at):
    return create(at).choices[0].message.content


def stream(at):
    return [c.choices[0].delta.content for c in create(at, stream=True) if c.choices[0].delta.content]


def tools(at):
    message = create(at, tools=[LOOK]).choices[0].message
    call, = message.tool_calls
    messages = [{'role': 'user', 'content': at.say}, message, {'role': 'tool', 'tool_call_id': call.id, 'content': 'blue'}]
    final = create(at, tools=[LOOK], messages=messages).choices[0].message
    return {'call': [call.function.name, json.loads(call.function.arguments)], 'text': final.content}


def tools_stream(at):
    whole = litellm.stream_chunk_builder(list(create(at, tools=[LOOK], stream=True)))
    call, = whole.choices[0].message.tool_calls
    return [call.function.name, json.loads(call.function.arguments)]


def usage(at):
    u = create(at).usage
    return [u.prompt_tokens, u.completion_tokens]


def usage_stream(at):
    u = list(create(at, stream=True, stream_options={'include_usage': True}))[-1].usage
    return [u.prompt_tokens, u.completion_tokens]


def schema(at):
    return json.loads(create(at, response_format={'type': 'json_schema', 'json_schema': {'name': 'x', 'schema': SCHEMA}}).choices[0].message.content)


def embeddings(at):
    return [d['embedding'] for d in litellm.embedding(model='hosted_vllm/' + at.model, api_base=at.url + '/v1', api_key=at.key, input=at.texts).data]


async def cancel(at):
    told = await litellm.acompletion(model='hosted_vllm/' + at.model, api_base=at.url + '/v1', api_key=at.key, stream=True,
                                     messages=[{'role': 'user', 'content': at.say}])
    await anext(told)
    await told.aclose()


def timeout(at):
    create(at, timeout=at.seconds)
