#!/usr/bin/env python3
"""tools/make_completions.py PROGRAM FOLDER - writes FOLDER/runnel.bash, .zsh and .fish out of PROGRAM's help pages.

The pages are made of the option tables, so they are the one list of commands, options and values. A line of a page is
`  -x, --name ARG   help`, and its help goes on in indented lines. What a value may be is seen from ARG: `a|b|c` is one of these
words; MODEL a file or the name of a fetched model; FILE, OUT and the like a file; NAME, SET or TYPE one of the words that the
help lists after a colon, also with |JSON behind it.
"""
import collections
import pathlib
import re
import subprocess
import sys

COMMAND = re.compile(r'  ([a-z][\w-]*)  +(\S.*)')
OPTION = re.compile(r'  (?:-(\w), |    )--([\w-]+)(?: (\S+))?(?:  +(\S.*))?')
MORE_HELP = re.compile(r' {20,}(\S.*)')
LISTED = re.compile(r': ((?:[\w.=-]+, )+[\w.=-]+)')
FILE = re.compile(r'\b(FILE|FOLDER|DIR|HF_DIR|IN|OUT|MODEL|REFERENCE_MODEL)\b')
MODEL = re.compile(r'\b(MODEL|REFERENCE_MODEL)\b')

# What a value or argument may be: one of these words, a file, the name of a fetched model. None of them: there is nothing to offer.
Value = collections.namedtuple('Value', 'words files models')
Option = collections.namedtuple('Option', 'letter name arg help value repeats')
Command = collections.namedtuple('Command', 'name help options value')


# What only the program knows: it lists them when it is given none of them.
KNOWN = {'chat-template': ('there are ', ['template', '--builtin', '-']), 'output-format': ('known ones are ', ['run', '--chat', '--output-format', '-', '-'])}


def known_words(program, name):
    before, args = KNOWN[name]
    told = subprocess.run([program, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True).stderr
    return tuple(told.partition(before)[2].strip().split(', '))


def value_of(arg, text='', words=()):
    arg = arg.removesuffix('|JSON')
    parts = arg.split('|')
    if words or (len(parts) > 1 and any(part.isupper() for part in parts)):     # FILE|NAME, ID|all
        return Value((*words, *(part for part in parts if not part.isupper())), bool(FILE.search(arg)), bool(MODEL.search(arg)))
    if len(parts) > 1:
        return Value(tuple(parts), False, False)
    listed = LISTED.search(text) if arg in ('NAME', 'SET', 'TYPE') else None
    return Value(tuple(listed[1].split(', ')) if listed else (), bool(FILE.search(arg)), bool(MODEL.search(arg)))


def brief(text):
    return re.split(r'; | \(|: (?=[a-z])', text)[0]


def argument_value(arguments, page):
    value = value_of(arguments.replace('|', ' '))
    types = re.findall(r'^  ([A-Z]\w+)  +\S', page.partition('\nTypes:\n')[2], re.M)
    return value._replace(words=value.words + tuple(types)) if re.search(r'\bTYPE\b', arguments) else value


def options_of(page, program):
    rows, in_row = [], False
    for line in page.splitlines():
        if found := OPTION.fullmatch(line):
            rows.append([group or '' for group in found.groups()])
            in_row = True
        elif in_row and (found := MORE_HELP.fullmatch(line)):
            rows[-1][3] = f'{rows[-1][3]} {found[1]}'.strip()
        else:
            in_row = False
    return [Option(letter, name, arg, brief(text), value_of(arg, text, known_words(program, name) if name in KNOWN else ()), 'repeatable' in text) for letter, name, arg, text in rows]


def commands_of(program):
    def page(*args):
        return subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout

    found = [m.groups() for m in map(COMMAND.fullmatch, page('--help').splitlines()) if m]
    names = tuple(name for name, _ in found if name not in ('help', 'version'))
    for name, text in found:
        if name not in names:
            yield Command(name, brief(text), [], Value(names if name == 'help' else (), False, False))
            continue
        help_page = page(name, '--help')
        usage = help_page.splitlines()[0].partition(name)[2]
        arguments = re.sub(r'-\S+ [\w.,]+', '', usage)      # without options and their values
        yield Command(name, brief(text), options_of(help_page, program), argument_value(arguments, help_page))


def spellings(option):
    return ([f'-{option.letter}'] if option.letter else []) + [f'--{option.name}']


def values_of(command):
    """Value -> spellings of the options that take it."""
    by_value = collections.defaultdict(list)
    for option in command.options:
        if option.arg:
            by_value[option.value] += spellings(option)
    return by_value


# ---- bash ----------------------------------------------------------------------------------------------------------

BASH = '''\
# runnel.bash - completion for bash; tools/make_completions.py makes it of the help pages.

_runnel_models() { # as `runnel list` has them; without the program, the files of the cache's folder
    local names folder=${RUNNEL_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/runnel/models} file
    names=$("${COMP_WORDS[0]}" list 2>/dev/null | sed -n '2,$s/ .*//p')
    [[ ! $names ]] || { echo "$names" && return; }
    for file in "$folder"/*.gguf; do
        [[ ! -e $file ]] || basename "$file" .gguf
    done
}

_runnel() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local options='' words='' files='' models=''
    if [[ $word == = ]]; then # --name=value comes as three words
        word=''
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    local line=${COMP_LINE:0:${COMP_POINT:-0}}
    local typed=${line##* }
    if [[ $typed == *:* ]]; then # bash cuts names such as hf:ORG/REPO at the colon
        line=${line% *}
        before=${line##* }
    fi
    ((COMP_CWORD > 1)) || command=''
    case $command:$before in
@VALUES@
    *)
        case $command in
@COMMANDS@
        esac
        ;;
    esac
    [[ $word != -* || ! $options ]] || words=$options files='' models=''
    [[ ! $models ]] || words+=" $(_runnel_models)"
    if [[ $models && $typed == *:* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$typed")
        COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*:}"}"}")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [[ $files ]]; then
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _runnel runnel
'''


def bash_assign(value, options=()):
    parts = [f"options='{' '.join(options)}'"] if options else []
    parts += [f"words='{' '.join(value.words)}'"] if value.words else []
    parts += ['files=1'] * value.files + ['models=1'] * value.models
    return ' '.join(parts) or ':'


def bash(commands):
    values = [f"    {' | '.join(f'{c.name}:{s}' for s in names)}) {bash_assign(value)} ;;"
              for c in commands for value, names in values_of(c).items()]
    rows = [f"        {c.name}) {bash_assign(c.value, [s for o in c.options for s in spellings(o)])} ;;" for c in commands]
    rows.append(f"        '') words='{' '.join(c.name for c in commands)} --help --version' ;;")
    return BASH.replace('@VALUES@', '\n'.join(values)).replace('@COMMANDS@', '\n'.join(rows))


# ---- zsh -----------------------------------------------------------------------------------------------------------

ZSH = '''\
#compdef runnel
# _runnel - completion for zsh; tools/make_completions.py makes it of the help pages.

_runnel_models() {
  local -a names=( ${(f)"$(runnel list 2>/dev/null | sed -n '2,$s/ .*//p')"} )
  (( $#names )) || names=( ${RUNNEL_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/runnel/models}/*.gguf(N:t:r) )
  _alternative 'models:fetched model:compadd -a names' 'files:file:_files'
}

_runnel() {
  local -a commands=(
@COMMANDS@
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
@OPTIONS@
  esac
}

_runnel "$@"
'''


def zsh_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_action(value):
    return '_runnel_models' if value.models else '_files' if value.files else f"({' '.join(value.words)})" if value.words else ' '


def zsh_option(o):
    about = re.sub(r'([\\\[\]:])', r'\\\1', o.help)
    takes = ':' + o.arg.replace(':', r'\:') + ':' + zsh_action(o.value) if o.arg else ''
    both = '' if o.repeats or not o.letter else f'(-{o.letter} --{o.name})'
    forms = ([f'-{o.letter}' + '+' * bool(o.arg)] if o.letter else []) + [f'--{o.name}' + '=' * bool(o.arg)]
    return [zsh_quote(f"{both}{'*' * o.repeats}{form}[{about}]{takes}") for form in forms]


def zsh(commands):
    cases = []
    for c in commands:
        specs = [spec for o in c.options for spec in zsh_option(o)] + [zsh_quote(f'*:argument:{zsh_action(c.value)}')]
        cases.append(f'  {c.name})\n    _arguments -s -S \\\n      ' + ' \\\n      '.join(specs) + '\n    ;;')
    rows = ['    ' + zsh_quote(f'{c.name}:{c.help}') for c in commands]
    return ZSH.replace('@COMMANDS@', '\n'.join(rows)).replace('@OPTIONS@', '\n'.join(cases))


# ---- fish ----------------------------------------------------------------------------------------------------------

FISH = '''\
# runnel.fish - completion for fish; tools/make_completions.py makes it of the help pages.

function __runnel_command_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end

function __runnel_no_command
    test (count (commandline -opc)) -eq 1
end

function __runnel_models
    set -l names (runnel list 2>/dev/null | sed -n '2,$s/ .*//p')
    test (count $names) -gt 0; and printf '%s\\n' $names; and return
    set -l folder $HOME/.cache/runnel/models
    test -n "$XDG_CACHE_HOME"; and set folder $XDG_CACHE_HOME/runnel/models
    test -n "$RUNNEL_MODELS"; and set folder $RUNNEL_MODELS
    for file in $folder/*.gguf
        basename $file .gguf
    end
end

complete -c runnel -f
'''


def fish_quote(text):
    return "'" + text.replace('\\', '\\\\').replace("'", "\\'") + "'"


def fish_value(value):
    words = ' '.join([*value.words] + ['(__runnel_models)'] * value.models)
    return ['-F'] * value.files + ([f'-a {fish_quote(words)}'] if words else [])


def fish(commands):
    lines = [f'complete -c runnel -n __runnel_no_command -a {c.name} -d {fish_quote(c.help)}' for c in commands]
    lines += [f'complete -c runnel -n __runnel_no_command -l {name}' for name in ('help', 'version')]
    for c in commands:
        begin = f"complete -c runnel -n '__runnel_command_is {c.name}'"
        if any(c.value):
            lines.append(' '.join([begin, *fish_value(c.value)]))
        for o in c.options:
            letter = [f'-s {o.letter}'] if o.letter else []
            takes = [*fish_value(o.value), '-r' if o.value.files else '-x'] if o.arg else []
            lines.append(' '.join([begin, *letter, f'-l {o.name}', *takes, f'-d {fish_quote(o.help)}']))
    return FISH + '\n'.join(lines) + '\n'


def main():
    if len(sys.argv) != 3:
        sys.exit(f'usage: {__doc__.splitlines()[0]}')
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    commands = list(commands_of(program))
    for shell in (bash, zsh, fish):
        (folder / f'runnel.{shell.__name__}').write_text(shell(commands))


if __name__ == '__main__':
    main()
