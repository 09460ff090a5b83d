#!/usr/bin/env python3
"""tests/lint/files_test.py - the checks of source files and of exported symbols find what they are for."""
import shutil
import subprocess
import sys

from sentences import ROOT, Skip, has, main, test, write

GOOD = {
    'include/runnel/status.h': '// runnel/status.h - what calls return.\n',
    'src/base/status.h': '// base/status.h - fills errors.\n',
    'src/base/status.c': '// base/status.c - see status.h.\nchar temp[] = "test.XXXXXX";\n',
    'tests/base/status_test.c': '// tests/base/status_test.c - errors are cut at a character.\n',
}
MARKS = ['TO' 'DO', 'FIX' 'ME', 'X' 'XX']


def check(folder):
    result = subprocess.run([sys.executable, ROOT / 'tools/check_files.py', folder], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


@test
def good_files_pass(folder):
    write(folder, GOOD)
    assert check(folder) == (0, ''), check(folder)


@test
def a_file_name_used_twice_under_src_is_refused_naming_both(folder):
    write(folder, {**GOOD, 'src/lm/status.c': '// lm/status.c - another one.\n'})
    status, text = check(folder)
    assert status == 1
    has(text, 'src/lm/status.c: ', 'src/base/status.c')


@test
def a_first_line_that_does_not_name_the_file_is_refused(folder):
    for name, line in [('src/kv/pages.c', '// src/kv/pages.c - the path is not as in #include'),
                       ('src/kv/pages.c', '// kv/page.c - another name'), ('src/kv/pages.c', '// kv/pages.c'),
                       ('include/runnel/a.h', '#ifndef A'), ('tests/kv/a_test.c', ''), ('bench/b.c', '/* bench/b.c - b */')]:
        write(folder, {**GOOD, name: line + '\n'})
        status, text = check(folder)
        assert status == 1, (name, line)
        has(text, f'{name}:1: ')
        (folder / name).unlink()


@test
def a_package_is_refused(folder):
    for name in ('gguf-0.19.0-py3-none-any.whl', 'tests/cli/model.tar.gz', 'x.zip'):
        write(folder, {**GOOD, name: ''})
        assert check(folder) == (1, f'{name}: a package is no source\n'), check(folder)
        (folder / name).unlink()


@test
def a_script_that_cannot_be_executed_is_refused(folder):
    for name, text in [('tests/kv/a_test.py', '# no first line'), ('dev', '#!/usr/bin/env bash'), ('bench/b.py', '#!/usr/bin/env python3')]:
        write(folder, {**GOOD, name: text + '\n'})
        status, text = check(folder)
        assert (status, text) == (1, f'{name}: cannot be executed (chmod +x)\n'), (status, text)
        (folder / name).chmod(0o755)
        assert check(folder) == (0, '')
        (folder / name).unlink()


@test
def marks_of_unfinished_work_are_refused_in_every_language(folder):
    for mark in MARKS:
        for name in ('src/base/status.c', 'tools/a.py', 'tests/CMakeLists.txt', 'dev'):
            write(folder, {**GOOD, name: GOOD.get(name, '') + f'// {mark}: later\n'})
            status, text = check(folder)
            assert status == 1, (mark, name)
            has(text, name, f'{mark} is left')
            (folder / name).unlink()


def exports(folder, header, code):
    if not shutil.which('cc') or not shutil.which('nm'):
        raise Skip('no C compiler')
    write(folder, {'a.h': header, 'a.c': code})
    subprocess.run(['cc', '-shared', '-fPIC', '-o', folder / 'a.so', folder / 'a.c'], check=True)
    result = subprocess.run([ROOT / 'tools/check_exports.sh', folder / 'a.so', folder / 'a.h'], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


HEADER = '''// rn_in_a_comment() is not declared here
/* neither is rn_in_a_long_one(), nor
 * rn_in_its_second_line(int); */
typedef void (*rn_ready_fn)(void *user);
int rn_open(const char *path);
void rn_close (void *model);
static inline int rn_open_default(void) { return rn_open("default"); } // inline: in the program
'''
CODE = 'int rn_open(const char *p) { return *p; }\nvoid rn_close(void *m) { (void)m; }\n'


@test
def a_library_that_exports_its_headers_functions_passes(folder):
    assert exports(folder, HEADER, CODE) == (0, ''), exports(folder, HEADER, CODE)


@test
def foreign_undeclared_and_missing_symbols_are_named(folder):
    status, text = exports(folder, HEADER, CODE.replace('rn_close', 'rn_shut') + 'int gguf_open(void) { return 0; }\n')
    assert status == 1
    has(text, 'exports gguf_open', 'exports rn_shut', 'lacks rn_close')
    assert len(text.splitlines()) == 3, text


main()
