"""pydantic-ai."""
from typing import Literal

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Answer(BaseModel):
    at: Literal['the sky', 'the sea']
    is_blue: bool


def look(at: str) -> str:
    """Looks at something."""
    return 'blue'


def connect(URL, KEY, MODEL):
    # settings
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL + '/v1', api_key=KEY))
    # end
    return model


def agent(at, **more):
    return Agent(connect(at.url, at.key, at.model), model_settings={'temperature': 0}, retries=0, **more)


async def chat(at):
    return (await agent(at).run(at.say)).output


async def stream(at):
    async with agent(at).run_stream(at.say) as told:
        return [piece async for piece in told.stream_text(delta=True, debounce_by=None)]


def calls(messages):
    return [[p.tool_name, p.args_as_dict()] for m in messages for p in m.parts if p.part_kind == 'tool-call']


async def tools(at):
    done = await agent(at, tools=[look]).run(at.say)
    call, = calls(done.all_messages())
    return {'call': call, 'text': done.output}


async def tools_stream(at):
    async def pass_over(_, events):
        async for _ in events:
            pass
    done = await agent(at, tools=[look]).run(at.say, event_stream_handler=pass_over)
    call, = calls(done.all_messages())
    return call if done.output == 'Yes!' else done.output


async def usage(at):
    done = await agent(at).run(at.say)
    u = done.usage() if callable(done.usage) else done.usage
    return [u.input_tokens, u.output_tokens]


async def usage_stream(at):
    async with agent(at).run_stream(at.say) as told:
        await told.get_output()
        u = told.usage() if callable(told.usage) else told.usage
        return [u.input_tokens, u.output_tokens]


async def schema(at):
    return (await agent(at, output_type=NativeOutput(Answer)).run(at.say)).output.model_dump()


async def forced(at):
    return (await agent(at, output_type=Answer).run(at.say)).output.model_dump()


async def embeddings(at):
    from pydantic_ai import Embedder
    from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
    model = OpenAIEmbeddingModel(at.model, provider=OpenAIProvider(base_url=at.url + '/v1', api_key=at.key))
    return [list(e) for e in (await Embedder(model).embed_documents(at.texts)).embeddings]


async def cancel(at):
    async with agent(at).run_stream(at.say) as told:
        async for _ in told.stream_text(delta=True, debounce_by=None):
            break
        if hasattr(told, 'cancel'):
            await told.cancel()


async def timeout(at):
    await agent(at).run(at.say, model_settings={'timeout': at.seconds})
