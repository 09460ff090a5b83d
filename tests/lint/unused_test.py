#!/usr/bin/env python3
"""tests/lint/unused_test.py - functions that nothing uses are named, and the list of those for tests stays true."""
import shutil
import subprocess
import sys

from sentences import ROOT, has, main, test, write

TREE = {
    'src/base/a.c': 'int used(void) { return 1; }\nint alone(void) { return 2; }\nint inside(void) { return 3; }\n'
                    'int seam(void) { return inside() + used(); }\nint tested(void) { return seam(); }\nint rn_api(void) { return 4; }\n',
    'src/base/b.c': 'int used(void), main(void);\nint main(void) { return used(); }\n',
    'src/kernels/arm/c.c': 'int on_arm(void);\nint d(void) { return on_arm(); }\n', # not compiled here
    'src/base/e.c': 'int on_arm(void) { return 5; }\n',
    'tests/t.c': 'int seam(void), tested(void);\nint t(void) { return seam() + tested(); }\n',
    'tools/tests_only.txt': '# a note\ntested because\n',
}


def check(root, tree):
    shutil.rmtree(root)
    write(root, tree)
    shutil.copy(ROOT / 'tools/check_unused.py', root / 'tools')
    for source in root.glob('src/base/*.c'):
        made = root / f'build/x.dir/{source.relative_to(root)}.o'
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(['cc', '-c', source, '-o', made], check=True)
    done = subprocess.run([sys.executable, root / 'tools/check_unused.py', root / 'build'], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@test
def what_no_other_file_uses_is_named(folder):
    code, said = check(folder, TREE)
    assert code == 1
    assert said.splitlines() == ['src/base/a.c: alone: no other file uses it: make it static, or remove it',
                                 'src/base/a.c: inside: no other file uses it: make it static, or remove it']


@test
def a_tree_in_order_passes(folder):
    good = TREE | {'src/base/a.c': TREE['src/base/a.c'].replace('int alone(void) { return 2; }\n', '').replace('int inside', 'static int inside')}
    assert check(folder, good) == (0, '')


@test
def the_list_of_functions_for_tests_is_exact(folder):
    has(check(folder, TREE | {'tools/tests_only.txt': ''})[1], 'src/base/a.c: tested: only tests use it')
    has(check(folder, TREE | {'tools/tests_only.txt': 'tested because\nused because\n'})[1], 'tools/tests_only.txt: used: is used elsewhere')
    has(check(folder, TREE | {'tools/tests_only.txt': 'tested because\ngone because\n'})[1], 'tools/tests_only.txt: gone: ')


@test
def without_objects_it_says_so(folder):
    code, said = check(folder, {'tools/tests_only.txt': ''})
    assert code == 1
    has(said, 'no object files of src/')


main()
