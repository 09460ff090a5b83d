"""LlamaIndex."""
from typing import Literal

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel


class Answer(BaseModel):
    at: Literal['the sky', 'the sea']
    is_blue: bool


def look(at: str) -> str:
    """Looks at something."""
    return 'blue'


LOOK = FunctionTool.from_defaults(look)


def connect(URL, KEY, MODEL, **more):
    # settings
    llm = OpenAILike(api_base=URL + '/v1', api_key=KEY, model=MODEL, is_chat_model=True, is_function_calling_model=True)
    # end
    for name, value in {'temperature': 0, 'max_retries': 0, **more}.items():
        setattr(llm, name, value)
    return llm


def embedder(URL, KEY, MODEL):
    # settings
    embedder = OpenAILikeEmbedding(api_base=URL + '/v1', api_key=KEY, model_name=MODEL)
    # end
    return embedder


def llm(at, **more):
    return connect(at.url, at.key, at.model, **more)


def asked(at):
    return [ChatMessage(role='user', content=at.say)]


def chat(at):
    return llm(at).chat(asked(at)).message.content


def stream(at):
    return [c.delta for c in llm(at).stream_chat(asked(at)) if c.delta]


def tools(at):
    first = llm(at).chat_with_tools([LOOK], chat_history=asked(at))
    call, = llm(at).get_tool_calls_from_response(first)
    result = ChatMessage(role='tool', content=LOOK(**call.tool_kwargs).content, additional_kwargs={'tool_call_id': call.tool_id})
    final = llm(at).chat_with_tools([LOOK], chat_history=[*asked(at), first.message, result])
    return {'call': [call.tool_name, call.tool_kwargs], 'text': final.message.content}


def tools_stream(at):
    *_, last = llm(at).stream_chat_with_tools([LOOK], chat_history=asked(at))
    call, = llm(at).get_tool_calls_from_response(last)
    return [call.tool_name, call.tool_kwargs]


def usage(at):
    u = llm(at).chat(asked(at)).raw.usage
    return [u.prompt_tokens, u.completion_tokens]


def usage_stream(at):
    *_, last = llm(at, additional_kwargs={'stream_options': {'include_usage': True}}).stream_chat(asked(at))
    return [last.raw.usage.prompt_tokens, last.raw.usage.completion_tokens]


def schema(at):
    return llm(at, should_use_structured_outputs=True).as_structured_llm(Answer).chat(asked(at)).raw.model_dump()


def forced(at):
    tell = FunctionTool.from_defaults(lambda at, is_blue: '', name='tell', description='Tells.', fn_schema=Answer)
    told = llm(at).chat_with_tools([LOOK, tell], chat_history=asked(at), tool_choice='tell')
    call, = llm(at).get_tool_calls_from_response(told)
    return call.tool_kwargs


def embeddings(at):
    return embedder(at.url, at.key, at.model).get_text_embedding_batch(at.texts)


def cancel(at):
    told = llm(at).stream_chat(asked(at))
    next(told)
    told.close()


def timeout(at):
    llm(at, timeout=at.seconds).chat(asked(at))
