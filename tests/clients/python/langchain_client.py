"""LangChain."""
from typing import Literal

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel


class Answer(BaseModel):
    at: Literal['the sky', 'the sea']
    is_blue: bool


@tool
def look(at: str) -> str:
    """Looks at something."""
    return 'blue'


def connect(URL, KEY, MODEL, **more):
    # settings
    llm = ChatOpenAI(base_url=URL + '/v1', api_key=KEY, model=MODEL)
    # end
    return llm.__class__(base_url=llm.openai_api_base, api_key=KEY, model=MODEL, temperature=0, max_retries=0, **more)


def embedder(URL, KEY, MODEL):
    # settings
    embeddings = OpenAIEmbeddings(base_url=URL + '/v1', api_key=KEY, model=MODEL,
                                  check_embedding_ctx_length=False)    # else it counts with OpenAI's tokenizer
    # end
    return embeddings


def llm(at, **more):
    return connect(at.url, at.key, at.model, **more)


def chat(at):
    return llm(at).invoke(at.say).content


def stream(at):
    return [c.content for c in llm(at).stream(at.say) if c.content]


def tools(at):
    bound = llm(at).bind_tools([look])
    first = bound.invoke(at.say)
    call, = first.tool_calls
    final = bound.invoke([HumanMessage(at.say), first, ToolMessage(look.invoke(call['args']), tool_call_id=call['id'])])
    return {'call': [call['name'], call['args']], 'text': final.content}


def tools_stream(at):
    whole = None
    for c in llm(at).bind_tools([look]).stream(at.say):
        whole = c if whole is None else whole + c
    call, = whole.tool_calls
    return [call['name'], call['args']]


def usage(at):
    u = llm(at).invoke(at.say).usage_metadata
    return [u['input_tokens'], u['output_tokens']]


def usage_stream(at):
    u = next(c.usage_metadata for c in llm(at, stream_usage=True).stream(at.say) if c.usage_metadata)
    return [u['input_tokens'], u['output_tokens']]


def schema(at):
    return llm(at).with_structured_output(Answer).invoke(at.say).model_dump()


def forced(at):
    return llm(at).with_structured_output(Answer, method='function_calling', strict=True).invoke(at.say).model_dump()


def embeddings(at):
    return embedder(at.url, at.key, at.model).embed_documents(at.texts)


def cancel(at):
    told = llm(at).stream(at.say)
    next(told)
    told.close()


def timeout(at):
    llm(at, timeout=at.seconds).invoke(at.say)
