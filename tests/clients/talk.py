"""tests/clients/talk.py - servers for the clients, what each feature must give, and programs that drive one client each.

Programs of every language do what a line of JSON on their standard input says (tests/clients/python/driver.py), so that one table of
features holds them all.
"""
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'serve'))
import script_model    # noqa: E402
from serving import (KEY, MODEL, ROOT, Folder, Server, Skip, check, equal, main, test, wait_until)    # noqa: E402,F401
import gguf    # noqa: E402 (serving finds it)

HERE = ROOT / 'tests/clients'
CLIENTS = pathlib.Path(os.environ.get('RUNNEL_TEST_CLIENTS') or ROOT / 'build/clients')
DRIVER_S = 120

# What the model says follows from the last character: of a tool's result whatever it is, else of the last message. Only the length of what
# a client adds by itself counts, so that prompts of agents stay short, and still differ from those without.
TEMPLATE = '''
{%- if tools %}[{{ tools | length }} tools]{% endif %}
{%- for m in messages %}
    {%- if m.role in ('system', 'developer') %}[{{ m.content | length }}]
    {%- elif m.role == 'tool' %}[{{ m.content }}]N
    {%- elif m.tool_calls %}{{ m.tool_calls | tojson }}
    {%- else %}{{ m.content[-200:] }}
    {%- endif %}
{%- endfor %}'''
SCRIPTS = {
    'N': ['Yes', '!'],
    'P': ['A ', 'poem ', 'of ', 'eight ', 'pieces ', 'is ', 'said ', 'here.'],
    'T': ['Wait ', '<tool_call>', '\n{"name"', ': "look", ', '"arguments": {"at": "the', ' sky"}}', '\n', '</tool_call>'],
    'C': ['<tool_call>', '{"name": "exec_command", "arguments": {"cmd": "touch made"}}', '</tool_call>'],      # Codex's tool
    'O': ['<tool_call>', '{"name": "bash", "arguments": {"command": "touch made", "description": "x"}}', '</tool_call>'],   # opencode's
    'X': ['la ', 'lu ', script_model.AGAIN],
}
TEXTS = ['a cat', 'a dog']
AT = ['the sky', 'the sea']


def server(folder, *args):
    """Models m and short, whose context is 128 tokens, and story, which is the default model."""
    for name, context in (('m', 262144), ('short', 128)):
        (folder / f'{name}.gguf').write_bytes(script_model.make(SCRIPTS, TEMPLATE, context))
    (folder / 'story.gguf').write_bytes(gguf.with_string(MODEL.read_bytes(), 'tokenizer.chat_template', TEMPLATE))
    models = [word for name in ('m', 'short', 'story') for word in ('-m', f'{name}={folder / name}.gguf')]
    return Server(*models, '-t', '1', '--streams', '2', '--output-format', 'hermes', '--api-key', KEY, *args, program=True)


def finished(s, reason):
    labels = f'model_name="m",finished_reason="{reason}"'
    page = s.get('/metrics', f'Authorization: Bearer {KEY}').body.decode()
    return int(re.search(rf'^vllm:request_success_total{{{labels}}} (\d+)$', page, re.M)[1])


def working(s):
    return s.working(f'Authorization: Bearer {KEY}')


def post(s, path, **body):
    answer = s.post(path, json.dumps({'model': 'm', **body}), f'Authorization: Bearer {KEY}')
    equal(answer.status, 200, answer.body)
    return answer.json


class Not(str):
    """Why a client does not have a feature."""


class Driver:
    """One program that drives a client. Its answers are {'got': value} or {'raised': [classes], 'message': text}."""

    def __init__(self, command, folder, env=None):
        self.err = open(folder / 'driver.err', 'w+b')
        self.child = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err,
                                      env={**environment_of(folder), **(env or {})}, cwd=folder, bufsize=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.err.close()

    def ask(self, **job):
        try:
            self.child.stdin.write(json.dumps(job).encode() + b'\n')
        except BrokenPipeError:
            pass
        ready, _, _ = select.select([self.child.stdout], [], [], DRIVER_S)
        check(ready, f'no answer after {DRIVER_S} s')
        line = b''
        while not line.endswith(b'\n'):
            data = self.child.stdout.read(1 << 20)
            if not data:
                self.err.seek(0)
                raise AssertionError(f'the driver ended with {self.child.wait()}: {self.err.read().decode()[-1500:]}')
            line += data
        return json.loads(line)


def environment_of(folder):
    """Nothing of the user's: no settings, no proxies, no keys of other services; nothing is fetched."""
    env = {k: v for k, v in os.environ.items() if not re.search(r'(?i)proxy|api_?key|openai|anthropic|ollama|token', k)}
    return {**env, 'HOME': str(folder), 'XDG_CONFIG_HOME': str(folder / 'config'), 'XDG_DATA_HOME': str(folder / 'data'),
            'XDG_CACHE_HOME': str(folder / 'cache'), 'XDG_STATE_HOME': str(folder / 'state'), 'NO_COLOR': '1', 'HF_HUB_OFFLINE': '1',
            'no_proxy': '*', 'DO_NOT_TRACK': '1'}


def got(answer):
    check('got' in answer, f'raised {answer.get("raised")}: {answer.get("message")}')
    return answer['got']


def raised(answer, kind, part=''):
    check('raised' in answer, f'no {kind}, but {answer.get("got")!r}')
    check(kind in answer['raised'], f'raised {answer["raised"]}, not {kind}: {answer["message"]}')
    check(part in answer['message'], f'{part!r} is not in {answer["message"]!r}')


# ---- features: each is given a server, a function that asks the client, and the class that it must raise -------------

def chat(s, ask, _):
    equal(got(ask(say='N')), 'Yes!')


def stream(s, ask, _):
    pieces = got(ask(say='P'))
    equal(''.join(pieces), ''.join(SCRIPTS['P']))
    check(len(pieces) > 2, f'in {len(pieces)} pieces')


def tools(s, ask, _):
    equal(got(ask(say='T')), {'call': ['look', {'at': 'the sky'}], 'text': 'Yes!'})


def tools_stream(s, ask, _):
    equal(got(ask(say='T')), ['look', {'at': 'the sky'}])


def usage(s, ask, _):
    want = post(s, '/v1/chat/completions', messages=[{'role': 'user', 'content': 'N'}], temperature=0)['usage']
    equal(got(ask(say='N')), [want['prompt_tokens'], want['completion_tokens']])


def unknown_model(s, ask, kind):
    raised(ask('chat', say='N', model='nobody'), kind, 'nobody')


def wrong_key(s, ask, kind):
    raised(ask('chat', say='N', key='a-key-that-is-wrong-here'), kind)


def too_long(s, ask, kind):
    raised(ask('chat', say='x' * 200 + 'N', model='short'), kind, 'context')


def schema(s, ask, _):
    """An object of AT and a boolean, which the clients' own schemas ask for, of a model that would tell a story."""
    answer = got(ask(say='Once upon a time', model='story'))
    equal(sorted(answer), ['at', 'is_blue'])
    check(answer['at'] in AT and isinstance(answer['is_blue'], bool), answer)


def forced(s, ask, _):
    """The same as the arguments of a call that the client asks for: the model would tell a story."""
    schema(s, ask, _)


def embeddings(s, ask, _):
    want = [d['embedding'] for d in post(s, '/v1/embeddings', input=TEXTS)['data']]
    vectors = got(ask(texts=TEXTS))
    check(all(abs(x - y) < 1e-6 for v, w in zip(vectors, want, strict=True) for x, y in zip(v, w, strict=True)), 'other numbers')


def ends_early(s, act):
    """An answer that goes on for as long as the context allows must not run until there."""
    before = finished(s, 'length')
    act()
    wait_until(lambda: not working(s), 'nothing runs any more')
    equal(finished(s, 'length'), before, 'answers that ran to their end')


def cancel(s, ask, _):
    ends_early(s, lambda: got(ask(say='X')))


def timeout(s, ask, kind):
    ends_early(s, lambda: raised(ask(say='X', seconds=0.3), kind))


FEATURES = {f.__name__: f for f in (chat, stream, tools, tools_stream, usage, unknown_model, wrong_key, too_long, schema, forced, embeddings,
                                    cancel, timeout)}
FEATURES['usage_stream'] = usage



class Held:
    """A server for a program's tests, and a driver of the client that is tested."""
    folder = server = driver = name = None

    def begin(self, name, command, env):
        if not self.server:
            self.folder = Folder()
            self.path = self.folder.__enter__()
            self.server = server(self.path).__enter__()
        if self.name != name:
            self.end_driver()
            self.driver, self.name = Driver(command, self.path, env), name
        return self.server

    def end_driver(self):
        if self.driver:
            self.driver.__exit__()
        self.driver = self.name = None

    def end(self):
        self.end_driver()
        if self.server:
            self.server.__exit__(None)
            self.folder.__exit__(None, None, None)


held = Held()


def hold(name, command, env, needs, expected):
    """Makes a test of each feature of a client. expected: {feature: the class that it raises, True, or Not(why)}."""
    for feature, want in expected.items():
        if not isinstance(want, Not):
            test(one(name, command, env, needs, feature, want))


def one(name, command, env, needs, feature, want):
    def run():
        if not needs.exists() or not shutil.which(command[0]):
            raise Skip(f'{name} is not here (./dev setup --clients)')
        s = held.begin(name, command, env)

        def ask(which=feature, **more):
            try:
                return held.driver.ask(**{'feature': which, 'url': f'http://127.0.0.1:{s.port}', 'key': KEY, 'model': 'm', **more})
            except AssertionError:
                held.end_driver()
                raise
        FEATURES[feature](s, ask, want)
    run.__name__ = f'{name}_{feature}'
    return run


def run_tests():
    try:
        main()
    finally:
        held.end()
