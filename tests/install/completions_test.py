#!/usr/bin/env python3
"""tests/install/completions_test.py - each shell offers what the help pages list: every command, option and value."""
import functools
import os
import re

from building import PROGRAM, need, run
from sentences import ROOT, has, main, test, write

FOLDER = ROOT / 'completions'

# What is typed (the last word is the one to complete), and what must be offered, no more.
ANSWERS = [
    (['run', '--kv-type', ''], {'f16', 'f32', 'q8', 'bf16'}),
    (['run', '--kv-type', 'f'], {'f16', 'f32'}),
    (['run', '--sampler-order', ''], {'llama.cpp', 'transformers', 'exllamav2'}),
    (['run', 'a prompt', '--preset', 'c'], {'creative', 'code', 'chat'}),
    (['run', '-n', ''], set()),
    (['run', ''], set()),
    (['run', '-m', 'sm'], {'small', 'smooth.gguf'}),     # a fetched model, a file here
    (['run', '-f', 'sm'], {'smooth.gguf'}),
    (['batch', 'sm'], {'smooth.gguf'}),
    (['info', 'sm'], {'small', 'smooth.gguf'}),
    (['bench', '-p', ''], set()),                         # a number there, a prompt in run
    (['help', 'b'], {'batch', 'bench'}),
    (['run', '--output-format', 'qw'], {'qwen3-coder'}),
    (['chat', '--chat-template', 'sm'], {'smooth.gguf'}),
    (['chat', '--chat-template', 'llama-'], {'llama-2', 'llama-3', 'llama-4'}),
    (['chats', '--delete', ''], {'all'}),
    (['quantize', 'smooth.gguf', 'out', 'Q5_K'], {'Q5_K', 'Q5_K_M', 'Q5_K_S'}),
]


@functools.cache
def commands():
    return re.findall(r'^  ([a-z]+)  ', run(PROGRAM, '--help'), re.M)


@functools.cache
def options(command):
    """Long and short options of a page, each by its dashes; read apart from tools/make_completions.py."""
    page = run(PROGRAM, command, '--help')
    return {word.strip(',') for line in page.splitlines() if re.match(r'  (-\w,|   ) --\w', line) for word in line.split()[:2]
            if word.startswith('-')}


def pages():
    return [c for c in commands() if c not in ('help', 'version')]


def machine(folder):
    """A folder with a file, and one fetched model."""
    write(folder, {'here/smooth.gguf': '', 'fetched/small.gguf': ''})
    return {'cwd': folder / 'here', 'env': {'RUNNEL_MODELS': str(folder / 'fetched'), 'HOME': str(folder)}}


def check_shell(offered, folder):
    """offered(words, options of run) -> set of what the shell would show."""
    there = machine(folder)
    missing = set(commands()) - offered([''], **there)
    assert not missing, f'commands not offered: {missing}'
    for command in pages():
        short, long = ({o for o in options(command) if o.startswith('--') == is_long} for is_long in (False, True))
        got = offered([command, '--'], **there)
        assert got == long, f'{command}: {got ^ long}'
        got = offered([command, '-'], **there)
        assert got >= short, f'{command}: {short - got} not offered'
    for words, want in ANSWERS:
        got = offered(words, **there)
        assert got == want, f'{words}: {got}, not {want}'


@test
def the_files_are_what_the_help_pages_give_now(folder):
    run(ROOT / 'tools/make_completions.py', PROGRAM, folder)
    for path in sorted(folder.iterdir()):
        assert path.read_text() == (FOLDER / path.name).read_text(), \
            f'{path.name} is not of these help pages: tools/make_completions.py build/release/runnel completions'
    assert sorted(os.listdir(folder)) == sorted(os.listdir(FOLDER))


BASH = '''
source "$1"
shift
COMP_WORDS=(runnel "$@")
COMP_CWORD=$#
_runnel
printf '%s\\n' "${COMPREPLY[@]}"
'''


def in_bash(words, **options):
    return set(run('bash', '-c', BASH, 'bash', FOLDER / 'runnel.bash', *words, **options).split('\n')) - {''}


@test
def bash_offers_every_command_option_and_value(folder):
    need('bash')
    check_shell(in_bash, folder)
    assert in_bash(['run', '--kv-type', '=', 'f']) == {'f16', 'f32'}      # --kv-type=f, as bash cuts it
    assert in_bash(['run', '--kv-type', '=']) == {'f16', 'f32', 'q8', 'bf16'}
    assert {'--help', '--version'} <= in_bash([''])


@test
def bash_offers_the_models_that_the_program_lists(folder):
    need('bash')
    names = ['hf/org/repo/main/a-Q8_0.gguf', 'hf/org/repo/main/b-Q8_0.gguf', 'models/plain.gguf']
    write(folder, {f'cache/{name}': '' for name in names})
    there = {'cwd': folder, 'env': {'RUNNEL_CACHE': str(folder / 'cache'), 'HOME': str(folder), 'PATH': f'{PROGRAM.parent}:/usr/bin:/bin'}}
    listed = [line.split()[0] for line in run(PROGRAM, 'list', **there).splitlines()[1:]]
    assert in_bash(['run', '-m', ''], **there) >= set(listed) and len(listed) >= 2, listed
    typed = run('bash', '-c', BASH.replace('_runnel\n', 'COMP_LINE="runnel run -m hf:"; COMP_POINT=${#COMP_LINE}; _runnel\n'), 'bash', FOLDER / 'runnel.bash',
                'run', '-m', 'hf', ':', **there)
    assert set(typed.split()) == {name[3:] for name in listed if name.startswith('hf:')}, (typed, listed)


@test
def fish_offers_every_command_option_and_value(folder):
    need('fish')

    def in_fish(words, **options):
        line = 'runnel ' + ' '.join(f"'{word}'" if ' ' in word else word for word in words)
        out = run('fish', '--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', FOLDER / 'runnel.fish', line, **options)
        return {row.split('\t')[0] for row in out.splitlines()}

    check_shell(in_fish, folder)


# zsh's own functions only work at a terminal: these stand-ins print what they are given.
ZSH = '''
_describe() { print -rl -- "describe ${(@P)2}" ${(@P)2} }
_arguments() { print -rl -- "$@" }
words=(runnel "${@:2}")
CURRENT=$#
source $1
'''


@test
def zsh_is_told_every_command_option_and_value(folder):
    need('zsh')

    def told(*words):
        return run('zsh', '-f', '-c', ZSH, 'zsh', FOLDER / 'runnel.zsh', *words).splitlines()

    assert set(commands()) <= {line.partition(':')[0] for line in told('')}
    for command in pages():
        specs = told(command, '')
        names = {re.sub(r'^(\([^)]*\))?\*?(--?[\w-]+).*', r'\2', spec) for spec in specs if not spec.startswith('*:')}
        assert names - ({'-s', '-S'} - options(command)) == options(command), f'{command}: {names ^ options(command)}'
    has('\n'.join(told('run', '')), ':f16|f32|q8|bf16:(f16 f32 q8 bf16)', ':MODEL:_runnel_models', ':FILE:_files', '*--stop=[')


main()
