#!/usr/bin/env python3
"""tests/install/abi_test.py - programs of older releases run with today's library, and what would break them is found (docs/abi.md).

tests/abi/VERSION/include holds the headers of a release as they were; they never change.
"""
import os
import re
import subprocess
from xml.etree import ElementTree

from building import BUILD, PROGRAM, need, run
from sentences import ROOT, has, main, test

ABI = ROOT / 'tests/abi'
FIRST = ABI / '0.1.0/include'
TODAY = ROOT / 'include'
MODEL = ROOT / 'models/stories.gguf'
# Structs that may grow: those that begin with struct_size, and the elements of arrays with the caller's stride.
GROWING = re.compile(r'typedef struct (\w+) \{.*?\n\} \1;', re.S)
ELEMENTS = ('rn_part', 'rn_token', 'rn_delta')


def headers_text(include):
    return {h.name: h.read_text() for h in sorted((include / 'runnel').glob('*.h'))}


def write_headers(folder, texts):
    (folder / 'runnel').mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / 'runnel' / name).write_text(text)
    return folder


def grown(text):
    """The headers of tomorrow: each struct that may grow has four more words."""
    def grow(m):
        may = m[1] in ELEMENTS or re.search(r'\{[^;]*size_t struct_size;', m[0])
        return m[0].replace(f'}} {m[1]};', f'    uint64_t tomorrow[4];\n}} {m[1]};') if may else m[0]
    return GROWING.sub(grow, text)


def tomorrow(folder):
    texts = {name: grown(text) for name, text in headers_text(TODAY).items()}
    structs = [s for t in texts.values() for s in re.findall(r'tomorrow\[4\];\n\} (\w+);', t)]
    begun = [s for t in texts.values() for s in re.findall(r'typedef struct (\w+) \{(?:\s|//[^\n]*\n)*size_t struct_size;', t)]
    assert sorted(structs) == sorted([*begun, *ELEMENTS]) and len(structs) > 25, sorted(set(begun) ^ set(structs))
    return write_headers(folder / 'tomorrow', texts)


def compile_client(folder, name, include, *defines):
    need('cc')
    out = folder / name
    run('cc', '-std=gnu17', '-Wall', '-Werror', *defines, f'-I{include}', ABI / f'{name}.c', '-o', out, f'-L{BUILD}', '-lrunnel', '-lm')
    return out


def run_client(client, library, *args):
    return run(client, *args, env={'LD_LIBRARY_PATH': str(library)})


def expected():
    return run(PROGRAM, 'run', '-m', MODEL, '--temp', '0', '-n', '12', 'Once upon a time')


def library_of_tomorrow(folder, include):
    """The library with longer structs: what sees public headers is compiled against them, the rest is this build's."""
    need('cc', 'make')
    lib = folder / 'lib'
    lib.mkdir()
    version = re.search(r'project\(runnel VERSION (\S+)', (ROOT / 'CMakeLists.txt').read_text())[1]
    sources = [f for room in ('engine', 'convert') for f in sorted((ROOT / 'src' / room).rglob('*.c'))]
    sources.append(ROOT / 'src/base/status.c')
    flags = f'-std=gnu17 -O0 -fPIC -fvisibility=hidden -ffp-contract=off -D_GNU_SOURCE -DRUNNEL_VERSION=\\"{version}\\" -I{include} -I{ROOT}/src'
    rules = [f'o{i}.o: {f}\n\tcc {flags} -c $< -o $@\n' for i, f in enumerate(sources)]
    objects = ' '.join(f'o{i}.o' for i in range(len(sources)))
    needs = '-lpcre2-8 -lutf8proc -lpng -ljpeg -lwebp -lwebpdemux -lgif -lm'
    rules.insert(0, f'librunnel.so.0: {objects}\n\tcc -shared -Wl,-soname,librunnel.so.0 -Wl,--version-script={ROOT}/cmake/librunnel.map '
                    f'-o $@ {objects} {BUILD}/librunnel.a {needs}\n')
    (lib / 'Makefile').write_text('\n'.join(rules))
    run('make', '-s', f'-j{os.cpu_count()}', '-C', lib)
    return lib


@test
def a_program_of_the_first_release_runs_with_todays_library(folder):
    client = compile_client(folder, 'client', FIRST)
    assert run_client(client, BUILD, MODEL, folder / 'file').rstrip('\n') == expected().rstrip('\n')


@test
def a_program_of_the_first_release_runs_with_a_library_whose_every_struct_has_grown(folder):
    lib = library_of_tomorrow(folder, tomorrow(folder))
    client = compile_client(folder, 'client', FIRST)
    assert run_client(client, lib, MODEL, folder / 'file').rstrip('\n') == expected().rstrip('\n')


@test
def a_program_of_tomorrow_is_told_by_todays_library_which_struct_is_too_long(folder):
    sizes = folder / 'sizes.c'
    sizes.write_text('#include <runnel/runnel.h>\n#include <stdio.h>\n'
                     'int main(void) { printf("%zu %zu", sizeof(rn_request), sizeof(rn_part)); }\n')
    run('cc', f'-I{FIRST}', sizes, '-o', folder / 'sizes', f'-L{BUILD}', '-lrunnel')
    request, part = run_client(folder / 'sizes', BUILD).split()
    run_client(compile_client(folder, 'newer', tomorrow(folder), f'-DOLD_REQUEST={request}', f'-DOLD_PART={part}'), BUILD, MODEL)


def null_calls():
    """A program that calls every function of the headers with NULL for each pointer, each in a process of its own."""
    text = '\n'.join(re.sub(r'//[^\n]*|/\*.*?\*/', '', t, flags=re.S) for t in headers_text(TODAY).values())
    functions = re.findall(r'\bRN_API\s+([^;{()]*?)(\w+)\(([^;{]*)\);', text)
    calls = []
    for i, (returns, name, parameters) in enumerate(functions):
        given = ['NULL' if '*' in p or '_fn ' in p else '0' for p in parameters.split(',') if p != 'void']
        if returns.strip() == 'rn_status':
            given[-1] = 'err'
            calls.append(f'    case {i}: return {name}({", ".join(given)}) == RN_E_ARG ? 0 : 1;')
        else:
            calls.append(f'    case {i}: {name}({", ".join(given)}); return 0;')
    names = ', '.join(f'"{name}"' for _, name, _ in functions)
    return len(functions), '#include <runnel/runnel.h>\n' + f'const char *const names[] = {{{names}}};\n' \
        'int call(int i, rn_error *err) {\n    switch (i) {\n' + '\n'.join(calls) + '\n    default: return 1;\n    }\n}\n'


@test
def null_for_every_pointer_of_every_function_is_refused_or_does_nothing(folder):
    n, text = null_calls()
    assert n > 80, n
    text += r'''
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        int status;
        if (fork() == 0) {
            rn_error err = {0};
            const int wrong = call(i, &err) || call(i, NULL);
            _exit(wrong || (err.code != RN_OK && !strstr(err.text, "NULL")));
        }
        wait(&status);
        if (status) printf("%s\n", names[i]);
    }
}
'''
    (folder / 'nulls.c').write_text(text)
    run('cc', '-std=gnu17', f'-I{TODAY}', folder / 'nulls.c', '-o', folder / 'nulls', f'-L{BUILD}', '-lrunnel')
    assert run_client(folder / 'nulls', BUILD) == '', run_client(folder / 'nulls', BUILD)


# ---- what may change ----------------------------------------------------------------------------------------------


def interface(folder, include):
    """A library with the headers' functions and nothing in them: what abidiff compares depends on the headers alone."""
    need('cc')
    folder.mkdir()
    text = '\n'.join(re.sub(r'//[^\n]*|/\*.*?\*/', '', t, flags=re.S) for t in headers_text(include).values())
    functions = re.findall(r'\bRN_API ([^;{]*\));', text)
    assert len(functions) > 60
    (folder / 'i.c').write_text('#include <runnel/runnel.h>\n' + ''.join(f'{f} {{ __builtin_trap(); }}\n' for f in functions))
    run('cc', '-g', '-O0', '-w', '-fPIC', '-shared', '-fvisibility=hidden', f'-I{include}', folder / 'i.c', '-o', folder / 'i.so')
    return folder / 'i.so'


def structs(library):
    """Of each struct its size and where its members begin, in bits."""
    need('abidw')
    found = ElementTree.fromstring(run('abidw', '--drop-private-types', library)).iter('class-decl')
    return {c.get('name'): (int(c.get('size-in-bits')), {m.find('var-decl').get('name'): int(m.get('layout-offset-in-bits')) for m in
                                                         c.findall('data-member')}) for c in found if c.get('size-in-bits')}


def broken_rules(old, new):
    """What abidiff lets pass: a fixed struct that has grown, a field in the padding at the end, which older programs leave undefined."""
    before, after = structs(old), structs(new)
    assert len(before) > 30, before
    for name, (size, members) in before.items():
        now, fields = after.get(name, (0, {}))
        if now != size and 'struct_size' not in members and name not in ELEMENTS:
            yield f'{name}: is fixed, and has {now} bits for {size}'
        yield from (f'{name}: {f} begins before the end of the released struct' for f in fields.keys() - members.keys() if fields[f] < size)


def compare(old, new, fails=False):
    """What is wrong; nothing where fails is not set."""
    need('abidiff')
    done = subprocess.run(['abidiff', '--no-added-syms', '--suppressions', ABI / 'changes.ini', old, new], capture_output=True, text=True)
    said = [*broken_rules(old, new), *([done.stdout + done.stderr] if done.returncode else [])]
    assert bool(said) == fails, said
    return '\n'.join(said)


@test
def the_interface_has_only_grown_since_the_first_release(folder):
    compare(interface(folder / 'old', FIRST), interface(folder / 'new', TODAY))


@test
def every_change_that_breaks_a_program_is_found(folder):
    old = interface(folder / 'old', FIRST)
    texts = headers_text(FIRST)
    rows = [    # file, what becomes what
        ('request.h', r'(    size_t model; )', r'    size_t squeezed_in;\n\1', 'squeezed_in'),
        ('request.h', r'    uint64_t cache_salt;\n|    uint64_t\n        cache_salt; ', '    uint32_t cache_salt; ', 'cache_salt'),
        ('stream.h', r'    size_t n_dropped;', '', 'n_dropped'),
        ('stream.h', r'\} rn_top;', '    int32_t more;\n} rn_top;', 'rn_top'),
        ('status.h', r'    uint64_t reserved\[3\];', '    uint64_t reserved[4];', 'rn_error'),
        ('saved.h', r'(    bool with_kv;)', r'\1\n    bool in_the_padding;', 'in_the_padding'),
        ('stream.h', r'rn_stream_set_rate\(rn_stream \*stream, double', 'rn_stream_set_rate(rn_stream *stream, float', 'rn_stream_set_rate'),
        ('model.h', r'RN_API void rn_free\(void \*p\);', '', 'rn_free'),
        ('stream.h', r'RN_FINISH_STOP = 1', 'RN_FINISH_STOP = 6', 'RN_FINISH_STOP'),
    ]
    missed = []
    for i, (name, pattern, becomes, named) in enumerate(rows):
        changed, n = re.subn(pattern, becomes, texts[name])
        assert n == 1, (name, pattern)
        include = write_headers(folder / f'h{i}', {**texts, name: changed})
        try:
            has(compare(old, interface(folder / f'i{i}', include), fails=True), named)
        except AssertionError as e:
            missed.append((named, str(e)[:200]))
    assert not missed, missed


@test
def fields_at_the_end_functions_and_enumerators_pass(folder):
    old = interface(folder / 'old', FIRST)
    texts = {name: grown(text) for name, text in headers_text(FIRST).items()}
    texts['stream.h'] = texts['stream.h'].replace('RN_FINISH_ERROR = 4', 'RN_FINISH_ERROR = 4,\n    RN_FINISH_NEW = 5')
    texts['model.h'] = texts['model.h'].replace('RN_API void rn_free(void *p);', 'RN_API void rn_free(void *p);\nRN_API int rn_newer(int x);')
    compare(old, interface(folder / 'new', write_headers(folder / 'h', texts)))


if __name__ == '__main__':
    main()
