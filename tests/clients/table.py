"""tests/clients/table.py - every client: where its settings are, and what each feature gives. The tests and docs/clients.md follow from it."""
import collections
import json
import re

from talk import CLIENTS, HERE, Not, ROOT

Client = collections.namedtuple('Client', 'name title package language source features note', defaults=('',))

HAS = dict.fromkeys(('chat', 'stream', 'tools', 'tools_stream', 'usage', 'usage_stream', 'schema', 'forced', 'embeddings', 'cancel'), True)
REFUSALS = ('unknown_model', 'wrong_key', 'too_long')
OPENAI = {'unknown_model': 'NotFoundError', 'wrong_key': 'AuthenticationError', 'too_long': 'BadRequestError',
          'timeout': 'APITimeoutError'}
NONE = Not('it has none')
UNTRIED = Not('not tried')
KEEPS = Not('a stream that is closed keeps its connection')

TABLE = [
    Client('openai', 'openai for Python', 'openai', 'python', 'python/openai_client.py', {**HAS, **OPENAI}),
    Client('openai_js', 'openai for JavaScript', 'openai', 'node', 'js/openai.mjs', {**HAS, **OPENAI, 'timeout': 'APIConnectionTimeoutError'}),
    Client('openai_go', 'openai for Go', 'github.com/openai/openai-go/v3', 'go', 'go/main.go', {
        **HAS, 'forced': UNTRIED, 'unknown_model': 'openai.Error 404', 'wrong_key': 'openai.Error 401', 'too_long': 'openai.Error 400',
        'timeout': 'context.DeadlineExceeded'}),
    Client('anthropic', 'anthropic for Python', 'anthropic', 'python', 'python/anthropic_client.py', {**HAS, **OPENAI, 'embeddings': NONE}),
    Client('anthropic_js', 'anthropic for JavaScript', '@anthropic-ai/sdk', 'node', 'js/anthropic.mjs',
           {**HAS, **OPENAI, 'embeddings': NONE, 'timeout': 'APIConnectionTimeoutError'}),
    Client('ollama', 'ollama for Python', 'ollama', 'python', 'python/ollama_client.py',
           {**HAS, **dict.fromkeys(REFUSALS, 'ResponseError'), 'timeout': 'ReadTimeout', 'forced': NONE}),
    Client('ollama_js', 'ollama for JavaScript', 'ollama', 'node', 'js/ollama.mjs',
           {**HAS, **dict.fromkeys(REFUSALS, 'ResponseError'), 'timeout': 'TimeoutError', 'forced': NONE}),
    Client('langchain', 'LangChain', 'langchain-openai', 'frameworks', 'python/langchain_client.py', {**HAS, **OPENAI, 'too_long': 'ContextOverflowError'}),
    Client('llama_index', 'LlamaIndex', 'llama-index-llms-openai-like', 'frameworks', 'python/llama_index_client.py',
           {**HAS, **OPENAI, 'cancel': KEEPS}),
    Client('litellm', 'LiteLLM', 'litellm', 'frameworks', 'python/litellm_client.py',
           {**HAS, **OPENAI, 'forced': Not('it takes `additionalProperties` out of the schemas of tools'), 'timeout': 'Timeout', 'too_long': 'ContextWindowExceededError'},
           'Importing it asks another host for prices, unless `LITELLM_LOCAL_MODEL_COST_MAP=True` is set.'),
    Client('vercel', 'Vercel AI SDK', 'ai', 'js', 'js/vercel.mjs', {**HAS, **dict.fromkeys(REFUSALS, 'AI_APICallError'), 'timeout': 'TimeoutError'}),
    Client('pydantic_ai', 'pydantic-ai', 'pydantic-ai-slim', 'frameworks', 'python/pydantic_ai_client.py',
           {**HAS, **dict.fromkeys(REFUSALS, 'ModelHTTPError'), 'timeout': 'ModelAPIError'}),
    Client('openai_agents', 'openai-agents', 'openai-agents', 'frameworks', 'python/openai_agents_client.py',
           {**HAS, **OPENAI, 'embeddings': NONE}),
    Client('haystack', 'Haystack', 'haystack-ai', 'frameworks', 'python/haystack_client.py',
           {**HAS, **OPENAI, 'cancel': Not('it has none, and a callback that raises leaves the connection open')},
           'It sends telemetry, unless `HAYSTACK_TELEMETRY_ENABLED=False` is set.'),
    Client('llm', 'llm', 'llm', 'frameworks', 'python/llm_client.py',
           {**HAS, **OPENAI, 'forced': NONE, 'cancel': KEEPS, 'embeddings': Not('only those of OpenAI itself'), 'timeout': Not('it sets none')},
           'In `extra-openai-models.yaml` of its folder (`llm logs path` shows it); then `llm keys set runnel`, and `llm -m runnel "..."`.'),
    Client('instructor', 'instructor', 'instructor', 'frameworks', 'python/instructor_client.py', {**HAS, **OPENAI, 'embeddings': NONE},
           'Tested with `Mode.JSON_SCHEMA` and `Mode.TOOLS`, which forces a call.'),
    # Programs with tests of their own: agents_test.py.
    Client('codex', 'Codex CLI', '@openai/codex', 'js', 'agents/codex.toml', {},
           'In `~/.codex/config.toml`, with the key in `RUNNEL_KEY`. Tested: answers, a command that the model calls for and its result, an '
           'unknown model, an end in the middle.'),
    Client('opencode', 'opencode', 'opencode-ai', 'js', 'agents/opencode.json', {},
           'In `opencode.json` of the project, with the key in `RUNNEL_KEY`. Tested as Codex is. `OPENCODE_DISABLE_MODELS_FETCH=1` and '
           '`OPENCODE_DISABLE_AUTOUPDATE=1` keep it from asking other hosts.'),
]


# Of JavaScript: where packages are installed, under build/clients, and what pins them.
PACKAGES = {'node': ('.', 'tests/serve/js/package.json'), 'js': ('js', 'tests/clients/js/package.json')}


def driver(client):
    """The command and environment of the program that drives a client, and what must be there for it."""
    if client.language in PACKAGES:
        folder = CLIENTS / PACKAGES[client.language][0]
        return ['node', HERE / 'js/driver.mjs', HERE / client.source], {'RUNNEL_TEST_NODE': str(folder)}, folder / 'node_modules' / client.package
    if client.language == 'go':
        return [CLIENTS / 'go-driver'], {}, CLIENTS / 'go-driver'
    folder = CLIENTS / client.language
    installed = list(folder.glob(f'lib/python*/site-packages/{client.package.replace("-", "_")}-*.dist-info'))
    return [folder / 'bin/python', HERE / 'python/driver.py', (HERE / client.source).stem], {}, (installed or [folder / client.package])[0]


def version(client):
    """That which is pinned."""
    if client.language in PACKAGES:
        return json.loads((ROOT / PACKAGES[client.language][1]).read_text())['dependencies'][client.package]
    if client.language == 'go':
        return re.search(rf'{re.escape(client.package)} v(\S+)', (HERE / 'go/go.mod').read_text())[1]
    pins = ROOT / 'tests/serve/requirements.txt' if client.language == 'python' else HERE / 'requirements.txt'
    return re.search(rf'^{re.escape(client.package)}==(\S+)', pins.read_text(), re.M)[1]


def settings(client):
    """What stands between `settings` and `end` in the client's source, as a listing; a file without features is one whole."""
    if not client.features:
        return (HERE / client.source).read_text()
    lines, found, inside = (HERE / client.source).read_text().splitlines(), [], False
    for line in lines:
        mark = line.strip().lstrip('#/ ')
        if mark in ('settings', 'end'):
            inside = mark == 'settings'
        elif inside:
            found.append(line)
    margin = min(len(line) - len(line.lstrip()) for line in found if line)
    return '\n'.join(line[margin:].replace('**more', '...').replace(', ...)', ')') for line in found)
