"""openai-agents."""
from typing import Literal

import agents
from openai import AsyncOpenAI
from pydantic import BaseModel


class Answer(BaseModel):
    at: Literal['the sky', 'the sea']
    is_blue: bool


@agents.function_tool
def look(at: str) -> str:
    """Looks at something."""
    return 'blue'


def connect(URL, KEY, MODEL):
    # settings
    agents.set_tracing_disabled(True)       # else traces go to OpenAI
    model = agents.OpenAIChatCompletionsModel(MODEL, AsyncOpenAI(base_url=URL + '/v1', api_key=KEY))
    # end
    return model


def agent(at, seconds=None, **more):
    model = connect(at.url, at.key, at.model)
    model._client = model._client.with_options(max_retries=0, **({'timeout': seconds} if seconds else {}))
    return agents.Agent('a', model=model, model_settings=agents.ModelSettings(temperature=0, include_usage=True), **more)


def calls(items):
    import json
    return [[i.raw_item.name, json.loads(i.raw_item.arguments)] for i in items if i.type == 'tool_call_item']


async def chat(at):
    return (await agents.Runner.run(agent(at), at.say)).final_output


async def stream(at):
    told = agents.Runner.run_streamed(agent(at), at.say)
    return [e.data.delta async for e in told.stream_events() if e.type == 'raw_response_event' and e.data.type == 'response.output_text.delta']


async def tools(at):
    done = await agents.Runner.run(agent(at, tools=[look]), at.say)
    call, = calls(done.new_items)
    return {'call': call, 'text': done.final_output}


async def tools_stream(at):
    told = agents.Runner.run_streamed(agent(at, tools=[look]), at.say)
    async for _ in told.stream_events():
        pass
    call, = calls(told.new_items)
    return call if told.final_output == 'Yes!' else told.final_output


async def usage(at):
    u = (await agents.Runner.run(agent(at), at.say)).context_wrapper.usage
    return [u.input_tokens, u.output_tokens]


async def usage_stream(at):
    told = agents.Runner.run_streamed(agent(at), at.say)
    async for _ in told.stream_events():
        pass
    return [told.context_wrapper.usage.input_tokens, told.context_wrapper.usage.output_tokens]


async def schema(at):
    return (await agents.Runner.run(agent(at, output_type=Answer), at.say)).final_output.model_dump()


async def forced(at):
    @agents.function_tool
    def tell(answer: Answer) -> str:
        """Tells."""
        return 'told'
    one = agent(at, tools=[look, tell], tool_use_behavior='stop_on_first_tool')
    one.model_settings.tool_choice = 'tell'
    call, = calls((await agents.Runner.run(one, at.say)).new_items)
    return call[1]['answer']


async def cancel(at):
    told = agents.Runner.run_streamed(agent(at), at.say)
    async for e in told.stream_events():
        if e.type == 'raw_response_event' and e.data.type == 'response.output_text.delta':
            told.cancel()


async def timeout(at):
    await agents.Runner.run(agent(at, seconds=at.seconds), at.say)
