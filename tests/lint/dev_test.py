#!/usr/bin/env python3
"""tests/lint/dev_test.py - ./dev: wrong usage is named on stderr with status 2, and nothing is built for it."""
import os
import shutil
import subprocess

from sentences import ROOT, has, main, test, write


def dev(*args, program=ROOT / 'dev', **options):
    result = subprocess.run([program, *args], capture_output=True, text=True, **options)
    return result.returncode, result.stdout, result.stderr


@test
def wrong_usage_ends_with_2_and_says_what_and_why(folder):
    shutil.copy(ROOT / 'dev', folder)
    shutil.copytree(ROOT / 'tools', folder / 'tools')
    for args, text in [([], 'dev: COMMAND: none was given'), (['fly'], 'dev: fly: no such command'),
                       (['build', 'fast'], "dev: build: no preset 'fast'"), (['build', 'asan', 'tsan'], 'dev: build: '),
                       (['setup', 'x'], "dev: setup: no argument 'x': --cross, --clients, --web, --tools and --all are the only ones"), (['model'], 'dev: model: give one NAME: '),
                       (['test', '--fast'], "dev: test: no option '--fast': --full and --clients are the only ones"), (['test', 'a', 'b'], 'dev: test: one FILTER'),
                       (['install', '/usr'], "dev: install: no argument '/usr'"), (['install', '--prefix'], '--prefix needs'),
                       (['install', '--prefix', 'a', 'b'], "got 'b' too"), (['package', 'x'], 'dev: package: '),
                       (['lint', 'x'], 'dev: lint: '), (['fmt', 'x'], 'dev: fmt: ')]:
        status, out, err = dev(*args, program=folder / 'dev')
        assert (status, out) == (2, ''), (args, status, out)
        has(err, text)
    assert not (folder / 'build').exists()


@test
def help_is_on_stdout_and_names_every_command(folder):
    status, out, err = dev('help')
    assert (status, err) == (0, '')
    for command in 'run exec model setup build install package test bench lint fmt help'.split():
        has(out, f'\n  {command} ')


# A machine in a folder: PATH holds only links to what the script needs, and an apt-get and a dpkg world of our own.
TOOLS = 'bash env dirname readlink mkdir grep tail cat touch flock find id'.split()


def bare_machine(folder, apt_get):
    write(folder, {'bin/apt-get': '#!/bin/bash\n' + apt_get, 'home/x': ''})
    (folder / 'bin/apt-get').chmod(0o755)
    write(folder, {'bin/sudo': '#!/bin/bash\nexec "$@"\n'})
    (folder / 'bin/sudo').chmod(0o755)
    for tool in TOOLS:
        os.symlink(shutil.which(tool), folder / 'bin' / tool)
    shutil.copy(ROOT / 'dev', folder)
    return {'env': {'PATH': str(folder / 'bin'), 'HOME': str(folder / 'home')}, 'program': folder / 'dev'}


@test
def a_package_that_cannot_be_had_is_named_with_the_reason(folder):
    machine = bare_machine(folder, 'echo "E: Unable to locate package ${@: -1}"; [[ $* == *update* ]]\n')
    status, out, err = dev('run', 'Once upon a time', **machine)
    assert (status, out) == (1, ''), err
    has(err, 'dev: setup: installing gcc g++ cmake ninja-build pkg-config libpcre2-dev libutf8proc-dev libjansson-dev',
        'dev: setup: cannot install gcc: E: Unable to locate package gcc')


@test
def a_machine_without_apt_is_told_what_to_install(folder):
    machine = bare_machine(folder, '')
    (folder / 'bin/apt-get').unlink()
    status, out, err = dev('run', 'x', **machine)
    assert (status, out) == (1, ''), err
    has(err, 'dev: setup: cannot install gcc', 'no apt-get')


@test
def a_package_that_brings_nothing_is_named(folder):
    status, out, err = dev('run', 'x', **bare_machine(folder, 'exit 0\n'))
    assert (status, out) == (1, ''), err
    has(err, 'dev: setup: cannot install gcc: it is installed and still does not work')


@test
def what_was_found_once_is_not_looked_for_again(folder):
    calls = folder / 'calls'
    fake = f'''case $* in *update*) ;; *) echo "$*" >>{calls}
for t in cc c++ cmake ninja pkg-config; do echo "#!/bin/bash" >{folder}/bin/$t; echo "echo \\$0 >>{calls}.tools" >>{folder}/bin/$t
chmod +x {folder}/bin/$t; done ;; esac
'''
    machine = bare_machine(folder, fake)
    os.symlink(shutil.which('chmod'), folder / 'bin/chmod')
    write(folder, {'src/a': '', 'include/a': '', 'CMakeLists.txt': '', 'CMakePresets.json': ''})
    write(folder, {'build/release/runnel': '#!/bin/bash\necho "$@"\n'})
    (folder / 'build/release/runnel').chmod(0o755)
    status, out, err = dev('run', 'a story', **machine)
    assert (status, out) == (0, 'run a story\n'), err
    assert len(calls.read_text().splitlines()) == 1
    tools = folder / 'calls.tools'
    tools.unlink()
    status, out, err = dev('exec', 'info', **machine)
    assert (status, out) == (0, 'info\n'), err
    assert [t.rsplit('/')[-1] for t in tools.read_text().splitlines()] == ['ninja']
    assert len(calls.read_text().splitlines()) == 1


@test
def install_goes_to_the_prefix_and_refuses_one_it_cannot_write(folder):
    machine = bare_machine(folder, 'exit 0\n')
    os.symlink(shutil.which('realpath'), folder / 'bin/realpath')
    for tool in ('cc', 'c++', 'pkg-config', 'ninja', 'cmake'):
        write(folder, {f'bin/{tool}': f'#!/bin/bash\necho "{tool} $*" >>{folder}/calls\n'})
        (folder / 'bin' / tool).chmod(0o755)
    write(folder, {'src/a': '', 'include/a': '', 'CMakeLists.txt': '', 'CMakePresets.json': ''})
    status, out, err = dev('install', '--prefix', '/dev/null/there', **machine)
    assert (status, out) == (1, ''), err
    has(err, 'dev: install: cannot write to /dev/null/there')
    assert not (folder / 'calls').exists()
    status, out, err = dev('install', '--prefix=mine', cwd=folder, **machine)
    assert (status, out) == (0, ''), err
    build = folder / 'build/release'
    has((folder / 'calls').read_text(), f'ninja -C {build} installed\ncmake --install {build} --prefix {folder}/mine\n')
    has(err, f'dev: install: {folder}/mine/bin is not in PATH')


main()
