#!/usr/bin/env python3
"""tests/install/install_test.py - what `cmake --install` makes is complete, runs wherever it is moved, and can be built against."""
import re
import shlex

from building import BUILD, PROGRAM, PROMPT, cached, libdir, need, prefix, run
from sentences import ROOT, has, main, test, write

VERSION = re.search(r'project\(runnel VERSION (\S+)', (ROOT / 'CMakeLists.txt').read_text())[1]
EXAMPLE = ROOT / 'docs/examples/stream.c'
EXAMPLE_CXX = ROOT / 'tests/install/stream.cpp'


def files_in(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob('*') if not p.is_dir()}


def model():
    return prefix() / 'share/runnel/models/stories.gguf'


def expected_text():
    return run(PROGRAM, 'run', '-m', ROOT / 'models/stories.gguf', '--seed', '3', '-n', '5', PROMPT)


def streams(program, **env):
    assert run(program, model(), PROMPT, 5, env=env).rstrip('\n') == expected_text().rstrip('\n'), program


def public_names(library, *options):
    lines = run('nm', '--defined-only', *options, library).splitlines()
    names = [line.split() for line in lines]
    return {n[2].partition('@')[0] for n in names if len(n) == 3 and n[1] != 'A'}     # A: a version's name


@test
def every_file_is_in_its_folder_and_there_is_no_other(folder):
    lib = cached('CMAKE_INSTALL_LIBDIR')
    want = {f'{lib}/librunnel.so', f'{lib}/librunnel.so.0', f'{lib}/librunnel.so.{VERSION}', f'{lib}/librunnel.a',
            f'{lib}/pkgconfig/runnel.pc', 'bin/runnel', 'bin/runnel-serve', 'bin/runnel-pull', 'bin/runnel-video', 'share/runnel/models/stories.gguf', 'share/runnel/models/stories.md',
            'share/doc/runnel/copyright', 'share/doc/runnel/copyright.llhttp', 'share/doc/runnel/copyright.tomlc17', 'share/doc/runnel/CHANGELOG.md', 'share/bash-completion/completions/runnel',
            'share/zsh/site-functions/_runnel', 'share/fish/vendor_completions.d/runnel.fish'}
    want |= {f'include/runnel/{h.name}' for h in (ROOT / 'include/runnel').glob('*.h')}
    want |= {f'share/man/man1/{page.name}' for page in (ROOT / 'docs/man').glob('*.1')}
    kind = cached('CMAKE_BUILD_TYPE').lower()
    want |= {f'{lib}/cmake/runnel/runnel{n}.cmake' for n in ('Config', 'ConfigVersion', 'Targets', f'Targets-{kind}')}
    assert files_in(prefix()) == want, files_in(prefix()) ^ want


@test
def no_installed_text_names_the_source_tree_or_the_build(folder):
    for name in files_in(prefix()):
        path = prefix() / name
        if path.suffix in ('.a', '.gguf') or 'bin/' in name or '.so' in name:
            continue    # debug information tells where the sources were
        for inner in (ROOT, BUILD):
            assert str(inner) not in path.read_text(), name


@test
def destdir_stages_the_same_tree_under_another_prefix(folder):
    run('cmake', '--install', BUILD, '--prefix', '/usr', env={'DESTDIR': str(folder)})
    assert [p.name for p in folder.iterdir()] == ['usr']
    assert files_in(folder / 'usr') == files_in(prefix())


@test
def the_moved_program_streams_from_the_model_that_moved_with_it(folder):
    assert run(prefix() / 'bin/runnel', 'run', '--seed', '3', '-n', '5', PROMPT, cwd=folder) == expected_text()
    has(run(prefix() / 'bin/runnel', 'info', cwd=folder), str(model()))
    (folder / 'link').symlink_to(prefix() / 'bin/runnel')
    assert run(folder / 'link', 'run', '--seed', '3', '-n', '5', PROMPT, cwd=folder) == expected_text()


@test
def another_models_folder_near_the_prefix_is_not_taken_for_its_own(folder):
    write(prefix().parent, {'models/stories.gguf': 'not a model'})      # where a build folder's program would look
    assert run(prefix() / 'bin/runnel', 'run', '--seed', '3', '-n', '5', PROMPT) == expected_text()


@test
def the_installed_manual_page_is_found_by_man(folder):
    need('man')
    page = prefix() / 'share/man/man1/runnel.1'
    assert run('man', '-M', prefix() / 'share/man', '-w', 'runnel').strip() == str(page)


@test
def c_and_cxx_programs_build_with_pkg_config_shared_and_static(folder):
    need('pkg-config', 'cc', 'c++')
    env = {'PKG_CONFIG_PATH': str(libdir() / 'pkgconfig')}
    shared = shlex.split(run('pkg-config', '--cflags', '--libs', 'runnel', env=env))
    static = shlex.split(run('pkg-config', '--static', '--cflags', '--libs', 'runnel', env=env))
    assert run('pkg-config', '--modversion', 'runnel', env=env).strip() == VERSION
    assert '-lpcre2-8' not in shared and '-lpcre2-8' in static, (shared, static)
    for compiler, source in [(['cc', '-std=c17'], EXAMPLE), (['c++', '-std=c++17'], EXAMPLE_CXX)]:
        command = [*compiler, '-Wall', '-Wextra', '-Wpedantic', '-Werror', source, '-o']
        run(*command, folder / 'shared', *shared)
        has(run('readelf', '-d', folder / 'shared'), 'librunnel.so.0')
        streams(folder / 'shared', LD_LIBRARY_PATH=str(libdir()))
        run(*command, folder / 'static', '-static', *static)
        streams(folder / 'static')


USER = '''cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C CXX)
find_package(runnel 0.1 REQUIRED COMPONENTS static)
foreach(library runnel static)
    add_executable(c_${library} stream.c)
    add_executable(cxx_${library} stream.cpp)
    target_link_libraries(c_${library} PRIVATE runnel::${library})
    target_link_libraries(cxx_${library} PRIVATE runnel::${library})
endforeach()
'''


@test
def c_and_cxx_programs_build_with_the_cmake_package_shared_and_static(folder):
    need('cmake', 'cc', 'c++')
    write(folder, {'CMakeLists.txt': USER, 'stream.c': EXAMPLE.read_text(), 'stream.cpp': EXAMPLE_CXX.read_text()})
    run('cmake', '-S', folder, '-B', folder / 'build', '-G', cached('CMAKE_GENERATOR'), f'-DCMAKE_PREFIX_PATH={prefix()}')
    run('cmake', '--build', folder / 'build')
    for name in ('c_runnel', 'c_static', 'cxx_runnel', 'cxx_static'):
        linked = 'librunnel.so.0' in run('readelf', '-d', folder / 'build' / name)
        assert linked == name.endswith('runnel'), name
        streams(folder / 'build' / name)


POOR_USER = '''cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(runnel REQUIRED)
if(NOT TARGET runnel::runnel OR TARGET runnel::static)
    message(FATAL_ERROR "not the shared library alone")
endif()
find_package(runnel REQUIRED COMPONENTS static)
'''


@test
def without_what_a_static_link_needs_there_is_the_shared_library_and_a_reason(folder):
    need('cmake', 'cc', 'pkg-config')
    write(folder, {'CMakeLists.txt': POOR_USER})
    said = run('cmake', '-S', folder, '-B', folder / 'build', '-G', cached('CMAKE_GENERATOR'), f'-DCMAKE_PREFIX_PATH={prefix()}',
               fails=True, env={'PKG_CONFIG_LIBDIR': str(folder)})
    has(' '.join(said.split()), 'runnel::static needs threads, and by pkg-config: libpcre2-8 >= 10.40, libutf8proc >= 2.5, jansson >= 2.12')
    assert 'alone' not in said, said


@test
def another_minor_version_is_not_taken_for_this_one(folder):
    need('cmake')
    write(folder, {'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.22)\nproject(user LANGUAGES NONE)\n'
                                     'find_package(runnel 0.0.9 REQUIRED)\n'})
    said = run('cmake', '-S', folder, '-B', folder / 'build', '-G', cached('CMAKE_GENERATOR'), f'-DCMAKE_PREFIX_PATH={prefix()}',
               fails=True)
    has(said, f'version: {VERSION}')


@test
def both_libraries_export_the_functions_of_the_headers_and_nothing_else(folder):
    need('nm')
    headers = sorted((prefix() / 'include/runnel').glob('*.h'))
    run(ROOT / 'tools/check_exports.sh', libdir() / 'librunnel.so', *headers)
    assert public_names(libdir() / 'librunnel.a', '-g') == public_names(libdir() / 'librunnel.so', '-D')


@test
def a_static_user_may_have_functions_named_as_the_inner_ones(folder):
    need('nm', 'cc', 'pkg-config')
    inner = sorted(n for n in public_names(BUILD / 'librunnel.a', '-g') if not n.startswith('rn_'))
    assert 'fail' in inner and len(inner) > 100, inner
    write(folder, {'own.c': ''.join(f'void {name}(void);\nvoid {name}(void) {{}}\n' for name in inner)})
    static = run('pkg-config', '--static', '--cflags', '--libs', 'runnel', env={'PKG_CONFIG_PATH': str(libdir() / 'pkgconfig')})
    run('cc', '-w', '-fno-builtin', folder / 'own.c', EXAMPLE, '-o', folder / 'own', '-static', *shlex.split(static))
    streams(folder / 'own')


@test
def a_missing_library_is_named_with_its_package_when_configuring(folder):
    need('cmake', 'cc', 'c++', 'pkg-config')
    pcre2 = 'libpcre2-8 10.40 or newer (Debian, Ubuntu: libpcre2-dev)'
    utf8proc = 'libutf8proc 2.5 or newer (Debian, Ubuntu: libutf8proc-dev)'
    jansson = 'jansson 2.12 or newer (Debian, Ubuntu: libjansson-dev)'
    programs = ['libedit 3.1 or newer (Debian, Ubuntu: libedit-dev)', 'gnutls 3.7 or newer (Debian, Ubuntu: libgnutls28-dev)',
                'nettle 3.6 or newer (Debian, Ubuntu: nettle-dev)']
    others = {'libedit': '3.1', 'gnutls': '3.7', 'nettle': '3.6'}
    for why, versions, missing in [('none is there', {}, [pcre2, utf8proc, jansson, *programs]),
                                   ('one is too old', {'libpcre2-8': '10.39', 'libutf8proc': '2.5', 'jansson': '2.12', **others}, [pcre2]),
                                   ('another is', {'libpcre2-8': '10.40', 'libutf8proc': '2.5', 'jansson': '2.11', **others}, [jansson])]:
        place = folder / why
        write(place, {'empty': '', **{f'{n}.pc': f'Name: {n}\nDescription: -\nVersion: {v}\n' for n, v in versions.items()}})
        said = run('cmake', '-S', ROOT, '-B', place / 'build', '-G', cached('CMAKE_GENERATOR'), fails=True,
                   env={'PKG_CONFIG_LIBDIR': str(place)})
        has(said, 'runnel: pkg-config does not find:', *missing)
        assert said.partition('does not find:')[2].count('(Debian, Ubuntu: ') == len(missing), f'{why}: {said}'
        has(said, 'no libcurl 7.85 or newer: `runnel pull` is not built (Debian, Ubuntu: libcurl4-gnutls-dev)', 'no FFmpeg 5.1 or newer: videos are not read')     # no error


@test
def the_debian_packages_say_what_they_need_and_hold_the_same_files(folder):
    need('cpack', 'dpkg-deb', 'dpkg-shlibdeps', 'file')
    run('cpack', '--config', BUILD / 'CPackConfig.cmake', '-G', 'DEB', '-B', folder, cwd=folder)
    debs = {deb.name.partition('_')[0]: deb for deb in folder.glob('*.deb')}
    assert set(debs) == {'runnel', 'librunnel-dev'}, debs
    held = set()
    for name, section, needs in [('runnel', 'science', ['libc6', 'libpcre2-8-0', 'libutf8proc2', 'libjansson4']),
                                 ('librunnel-dev', 'libdevel', [f'runnel (= {VERSION})', 'libpcre2-dev', 'libutf8proc-dev', 'libjansson-dev'])]:
        control = run('dpkg-deb', '-f', debs[name])
        has(control, f'Package: {name}\n', f'Version: {VERSION}\n', f'Section: {section}\n', 'Description: streams of text',
            'Maintainer: ', *needs)
        lines = [line.split() for line in run('dpkg-deb', '-c', debs[name]).splitlines()]
        assert all(line[1] == 'root/root' and line[0][1:] in ('rwxr-xr-x', 'rw-r--r--', 'rwxrwxrwx') for line in lines), lines
        files = {line[5].removeprefix('./usr/').removesuffix('.gz') for line in lines if line[0][0] != 'd'}
        has(files, f'share/doc/{name}/copyright')
        held |= files
    assert held - {'share/doc/librunnel-dev/copyright'} == files_in(prefix()), held ^ files_in(prefix())


main()
