"""tests/cli/page_commands.py - pages of docs/ whose commands are run: what they print stands below them.

A command is a line `    $ runnel ...`, as one would type it into bash, with more lines `    > ...`; what follows, indented alike, is what it prints. The commands of a page
run one after the other in a folder of their own that has the tree's models/ and docs/, so that one may read what another one wrote. In a test
every line must be what is printed now; a page's test with --write puts it there.
"""
import re
import subprocess

from harness import PROGRAM, ROOT, TIMEOUT_S, Folder, check, environment, equal

COMMAND = re.compile(r'^    \$ (runnel .*(?:\n    > .*)*)\n((?:    (?!\$).*\n)*)', re.M)


def output(line, folder):
    typed = line.replace('\n    > ', '\n')
    script = f'set -o pipefail; runnel() {{ "$RUNNEL_PROGRAM" "$@"; }}; {typed}'
    done = subprocess.run(['bash', '-c', script], cwd=folder, env=environment(RUNNEL_PROGRAM=PROGRAM), capture_output=True, text=True, timeout=TIMEOUT_S)
    check(done.returncode == 0, f'{line}: ended with {done.returncode}: {done.stderr[-300:]}')
    return ''.join(f'    {row}'.rstrip() + '\n' for row in done.stdout.rstrip('\n').split('\n'))


class folder_for_commands(Folder):
    def __enter__(self):
        folder = super().__enter__()
        for name in ('models', 'docs'):
            (folder / name).symlink_to(ROOT / name)
        return folder


def check_commands(page, least):
    """Each command of the page prints what is below it; there are at least that many."""
    shown = COMMAND.findall(page.read_text())
    check(len(shown) >= least, f'{len(shown)} commands')
    with folder_for_commands() as folder:
        for line, text in shown:
            equal(text, output(line, folder), line)


def write_commands(page):
    with folder_for_commands() as folder:
        page.write_text(COMMAND.sub(lambda m: f'    $ {m[1]}\n{output(m[1], folder)}', page.read_text()))
