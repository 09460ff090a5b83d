#!/usr/bin/env python3
"""Coding agents against `runnel serve`: one says what the model says, runs the command that it calls for, and tells an error.

`./dev setup --clients` installs them. The command is `touch made`, in a folder of the test's own.
"""
import os
import re
import shutil
import subprocess

from table import HERE
from talk import CLIENTS, KEY, Folder, Skip, check, environment_of, equal, finished, main, server, test, wait_until, working

PROGRAMS = CLIENTS / 'js/node_modules/.bin'


class Agent:
    """with Agent(name) as a: a server, and an agent with folders of its own."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        if not shutil.which('node') or not os.access(PROGRAMS / self.name, os.X_OK):
            raise Skip(f'{self.name} is not here (./dev setup --clients)')
        self.kept = Folder()
        self.folder = self.kept.__enter__()
        self.server = server(self.folder).__enter__()
        self.work = self.folder / 'work'
        self.work.mkdir()
        self.env = {**environment_of(self.folder), 'RUNNEL_KEY': KEY, 'PWD': str(self.work)}
        return self

    def __exit__(self, *error):
        self.server.__exit__(*error)
        self.kept.__exit__(*error)

    def settings(self, file, model):
        text = (HERE / 'agents' / file).read_text()
        return re.sub(r'\bURL\b', f'http://127.0.0.1:{self.server.port}', text).replace('MODEL', model)

    def start(self, say, model='m'):
        if self.name == 'codex':
            home = self.folder / 'codex'
            home.mkdir(exist_ok=True)
            (home / 'config.toml').write_text(self.settings('codex.toml', model))
            more = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', say]
            env = {**self.env, 'CODEX_HOME': str(home)}
        else:
            (self.folder / 'opencode.json').write_text(self.settings('opencode.json', model))
            more = ['run', '--model', f'runnel/{model}', say]
            env = {**self.env, 'OPENCODE_CONFIG': str(self.folder / 'opencode.json'), 'OPENCODE_DISABLE_MODELS_FETCH': '1',
                   'OPENCODE_DISABLE_AUTOUPDATE': '1', 'OPENCODE_DISABLE_LSP_DOWNLOAD': '1', 'OPENCODE_DISABLE_DEFAULT_PLUGINS': '1'}
        return subprocess.Popen([PROGRAMS / self.name, *more], cwd=self.work, env=env, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, say, model='m'):
        child = self.start(say, model)
        try:
            out, err = child.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            child.kill()
            raise AssertionError(f'not finished: {child.communicate()}') from None
        return child.returncode, out, err


def says(name):
    with Agent(name) as a:
        code, out, err = a.run('N')
        check(code == 0 and 'Yes!' in out, code, out, err[-1500:], a.server.said[-800:])


def runs_a_command(name, say):
    with Agent(name) as a:
        code, out, err = a.run(say)
        check(code == 0 and 'Yes!' in out, code, out, err[-1500:], a.server.said[-800:])
        equal([p.name for p in a.work.iterdir()], ['made'], err[-1500:])


def tells_of_an_unknown_model(name):
    with Agent(name) as a:
        _, out, err = a.run('N', 'nobody')
        check('nobody' in out + err and 'Yes!' not in out, out, err[-1500:])
        check('404' in a.server.said, a.server.said[-800:])


def ends_what_runs_when_it_is_ended(name):
    with Agent(name) as a:
        before = finished(a.server, 'length')
        child = a.start('X')
        wait_until(lambda: working(a.server), 'it runs')
        child.terminate()
        child.communicate(timeout=30)
        wait_until(lambda: not working(a.server), 'nothing runs any more')
        equal(finished(a.server, 'length'), before)


@test
def codex_says_what_the_model_says():
    says('codex')


@test
def codex_runs_the_command_of_a_tool_call_and_goes_on_with_its_result():
    runs_a_command('codex', 'C')


@test
def codex_tells_of_an_unknown_model():
    tells_of_an_unknown_model('codex')


@test
def codex_that_is_ended_leaves_nothing_running():
    ends_what_runs_when_it_is_ended('codex')


@test
def opencode_says_what_the_model_says():
    says('opencode')


@test
def opencode_runs_the_command_of_a_tool_call_and_goes_on_with_its_result():
    runs_a_command('opencode', 'O')


@test
def opencode_tells_of_an_unknown_model():
    tells_of_an_unknown_model('opencode')


@test
def opencode_that_is_ended_leaves_nothing_running():
    ends_what_runs_when_it_is_ended('opencode')


main()
