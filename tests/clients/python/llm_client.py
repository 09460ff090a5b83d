"""llm."""
import json
import os
import pathlib
import tempfile

folder = tempfile.TemporaryDirectory()
os.environ['LLM_USER_PATH'] = folder.name
import llm    # noqa: E402

SETTINGS = '''
# settings
- model_id: runnel
  model_name: MODEL
  api_base: URL/v1
  supports_tools: true
  supports_schema: true
  api_key_name: runnel
# end
'''
SCHEMA = {'type': 'object', 'properties': {'at': {'enum': ['the sky', 'the sea']}, 'is_blue': {'type': 'boolean'}},
          'required': ['at', 'is_blue'], 'additionalProperties': False}


def connect(at):
    text = SETTINGS.replace('MODEL', at.model).replace('URL', at.url)
    pathlib.Path(folder.name, 'extra-openai-models.yaml').write_text(text)
    pathlib.Path(folder.name, 'keys.json').write_text(json.dumps({'runnel': at.key}))
    return llm.get_model('runnel')


def ask(at, **more):
    return connect(at).prompt(at.say, **more)


def look(at: str) -> str:
    """Looks at something."""
    return 'blue'


def chat(at):
    return ask(at, stream=False, temperature=0).text()


def stream(at):
    return [piece for piece in ask(at, temperature=0) if piece]


def tools(at, stream=False):
    seen = []
    answer = connect(at).chain(at.say, tools=[look], stream=stream, options={'temperature': 0},
                               before_call=lambda tool, call: seen.append([call.name, call.arguments]))
    text = answer.text()
    call, = seen
    return {'call': call, 'text': text.removeprefix('Wait ')}


def tools_stream(at):
    return tools(at, stream=True)['call']


def counts(answer):
    answer.text()
    u = answer.usage()
    return [u.input, u.output]


def usage(at):
    return counts(ask(at, stream=False, temperature=0))


def usage_stream(at):
    return counts(ask(at, temperature=0))


def schema(at):
    return json.loads(ask(at, stream=False, schema=SCHEMA).text())


def cancel(at):
    told = iter(ask(at, temperature=0))
    next(told)
    told.close()
