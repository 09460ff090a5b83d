#!/usr/bin/env python3
"""tests/cli/settings_test.py - the file of settings: what it changes, what goes before it, what is refused; `runnel config`."""
import gguf
from harness import MODEL, Folder, check, environment, equal, main, runnel, test

RUN = ('run', '-n', '12', '--seed', '1', 'Tom')


class Settings(Folder):
    """A folder with a file of settings and the environment that names it; no model is named otherwise."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        folder = super().__enter__()
        (folder / 'config.toml').write_text(self.text)
        (folder / 'story.gguf').symlink_to(MODEL)
        self.env = environment(RUNNEL_CONFIG=str(folder / 'config.toml'), RUNNEL_MODEL=None, RUNNEL_MODELS=str(folder), HOME=str(folder))
        return self

    def run(self, *args, **changes):
        return runnel(*args, env={**self.env, **changes}, stdin=None)


def text(*args):
    return runnel(*RUN, *args, stdin=None).ok().out


@test
def options_are_taken_from_the_file_unless_they_are_typed():
    with Settings('[options]\ntemp = 0\ntop-k = 3\nctx = 64\n') as s:
        equal(s.run(*RUN).ok().out, text('--temp', '0', '--top-k', '3'))
        equal(s.run(*RUN, '--temp', '1.5').ok().out, text('--temp', '1.5', '--top-k', '3'))
        equal(s.run(*RUN, '--preset', 'creative').ok().out, text('--preset', 'creative'), 'a preset that is typed')
        s.run('run', '-n', '2', 'Tom ' * 100).fails(1, '64')
        measure = lambda env: runnel('score', '-m', MODEL, '--text-file', text_file, env=env).ok().out
        text_file = s.path / 'long'
        text_file.write_text('Tom ' * 100)
        equal(measure(s.env), measure(environment()), 'a command that measures')


@test
def the_default_model_and_aliases_are_names_like_others():
    with Settings('model = "mine"\n[aliases]\nmine = "story"\nfar = "hf:org/repo:Q8_0"\n') as s:
        (s.path / 'other.gguf').symlink_to(MODEL)
        equal(s.run(*RUN).ok().out, text())
        s.run(*RUN, RUNNEL_MODEL='nothing').fails(1, 'nothing: no such file')
        s.run(*RUN, '-m', 'far').fails(1, 'far: not fetched yet: `runnel pull far` fetches hf:org/repo:Q8_0 into ')
        equal(s.run(*RUN, '-m', 'other').ok().out, text())


@test
def a_model_may_have_options_of_its_own_under_any_of_its_names():
    text_of = '[options]\ntemp = 1.5\n[aliases]\nmine = "story"\n[models.story]\ntemp = 0\n[models."hf:org/repo"]\ntemp = 3\n'
    with Settings(text_of) as s:
        for name in ('story', 'mine'):
            equal(s.run(*RUN, '-m', name).ok().out, text('--temp', '0'), name)
        equal(s.run(*RUN, '-m', str(MODEL)).ok().out, text('--temp', '1.5'))
        equal(s.run(*RUN, '-m', 'story', '--temp', '0.5').ok().out, text('--temp', '0.5'))


@test
def chat_has_its_system_message_and_its_model_from_the_file():
    talks = gguf.with_string(MODEL.read_bytes(), 'tokenizer.chat_template', "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    with Settings('model = "talks"\n[models.talks]\nsystem = "Be brief."\ntemp = 0\n') as s:
        (s.path / 'talks.gguf').write_bytes(talks)
        ask = lambda *args, config: runnel('chat', '-n', '5', *args, stdin=b'Tom', env={**s.env, 'RUNNEL_CONFIG': config}).ok().out
        mine = str(s.path / 'config.toml')
        want = ask('-m', 'talks', '--system', 'Be brief.', '--temp', '0', config='')
        equal(ask(config=mine), want)
        equal(ask('talks', config=mine), want)
        equal(ask('--system', 'Tell all.', config=mine), ask('-m', 'talks', '--system', 'Tell all.', '--temp', '0', config=''))


@test
def a_mistake_is_named_with_its_line():
    rows = [('model = 7', ':1: model: must be the name or path'), ('\ncolour = "red"', ':2: colour: is none of model, aliases, options and models'),
            ('[options]\nfly = 1', ':2: fly: no option of this name can be set'), ('[options]\ntemp = -1', ':2: temp: '),
            ('[options]\ntemp = "hot"', ':2: temp: '), ('[options]\ntemp = [1]', ':2: temp: must be a text or a number'),
            ('options = 3', ':1: options: must be a table'), ('[aliases]\na = 3', ':2: a: must be the name or path of a model'),
            ('[models]\nstory = 3', ':2: story: must be a table'), ('temp = = 1', 'config.toml'), ('a = "', 'config.toml'), ('[options]\nkv-type = "f99"', "kv-type: 'f99' is not one of")]
    for content, why in rows:
        with Settings(content) as s:
            s.run(*RUN, '-m', str(MODEL)).fails(2, why)
    with Settings('') as s:
        (s.path / 'config.toml').write_bytes(b'x' * (2 << 20))
        s.run(*RUN).fails(2, 'longer than the limit of 1048576 bytes')


@test
def config_says_what_is_in_force_and_why():
    with Settings('model = "story"\n[options]\ntemp = 0.7\nctx = 512\n[models.story]\ntemp = 0.1\n[aliases]\nmine = "story"\n') as s:
        rows = {line.split('  ')[0]: line.split()[1:] for line in s.run('config').ok().text.splitlines()}
        equal(rows['temp'], ['0.1', 'for', 'story,', 'line', '6'])
        equal(rows['ctx'], ['512', 'line', '4'])
        equal(rows['model'], ['story', 'line', '1'])
        check(rows['settings'][0] == str(s.path / 'config.toml'), rows)
        check('alias mine' in rows, rows)
        other = s.run('config', 'other').ok().text
        check('\ntemp               0.7 ' in other and 'argument' in other, other)
        check('RUNNEL_MODEL' in s.run('config', RUNNEL_MODEL='x').ok().text)
        check(s.run('config', RUNNEL_CONFIG='').ok().text.startswith('settings           none '))
        check(' not there\n' in s.run('config', RUNNEL_CONFIG=str(s.path / 'no.toml')).ok().text)
        equal(s.run('config', XDG_CONFIG_HOME=str(s.path), RUNNEL_CONFIG=str(s.path / 'config.toml')).ok().err, '')


@test
def the_file_is_found_in_the_folder_of_settings():
    with Settings('') as s:
        for place, env in (('.config/runnel', {}), ('xdg/runnel', {'XDG_CONFIG_HOME': str(s.path / 'xdg')})):
            (s.path / place).mkdir(parents=True)
            (s.path / place / 'config.toml').write_text('[options]\ntemp = 0\n')
            base = {k: v for k, v in s.env.items() if k != 'RUNNEL_CONFIG'}
            equal(runnel(*RUN, '-m', 'story', env={**base, **env}, stdin=None).ok().out, text('--temp', '0'), place)


main()
