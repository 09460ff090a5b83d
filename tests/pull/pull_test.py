#!/usr/bin/env python3
"""tests/pull/pull_test.py - `runnel pull` against servers on this machine that are honest, break, or lie."""
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'cli'))
from harness import PROGRAM, TIMEOUT_S, Folder, MODEL, Terminal, check, environment, equal, main, runnel, test

import hub as ways
from hub import Hub

SEGMENT = 256 << 10     # the least that a file is divided into: partial_file.c
CONTENT = b'GGUF' + bytes(i * 2654435761 >> 13 & 255 for i in range(5 * SEGMENT + 1234 - 4))
REPOSITORY = 'org/tiny-GGUF'
FILE = 'tiny-Q8_0.gguf'
NAME = f'hf:{REPOSITORY}:Q8_0'

if not (pathlib.Path(PROGRAM).parent / 'runnel-pull').exists():
    print('SKIP all_of_them: this build has no libcurl')
    sys.exit(0)


def world(folder, hub, **changes):
    own = {'HOME': str(folder), 'RUNNEL_CACHE': str(folder / 'cache'), 'HF_ENDPOINT': hub.url, 'RUNNEL_OLLAMA_REGISTRY': hub.url,
           'no_proxy': '127.0.0.1', **{name: None for name in ('RUNNEL_MODEL', 'HF_HOME', 'HF_TOKEN', 'HF_HUB_CACHE', 'LLAMA_CACHE', 'OLLAMA_MODELS')}}
    return environment(**{**own, **changes})


def pull(folder, hub, *args, **changes):
    return runnel('pull', *args, env=world(folder, hub, **changes))


def place(folder, file=FILE, repository=REPOSITORY, revision='main'):
    return folder / 'cache/hf' / repository / revision / file


def left(folder):
    """Every file of the cache but the records, below it."""
    return sorted(str(p.relative_to(folder / 'cache')) for p in (folder / 'cache').rglob('*') if p.is_file() and '.pulled' not in p.parts)


def fetched(folder, hub, *args, **changes):
    done = pull(folder, hub, *args or (NAME,), **changes).ok()
    path = place(folder)
    equal(done.text, f'{path}\n')
    equal(path.read_bytes() == CONTENT, True, 'the content')
    equal(left(folder), [str(path.relative_to(folder / 'cache'))])


def with_ways(*answers, **more):
    """A hub whose file answers in these ways: the first one to the look at it, the others to what follows."""
    hub = Hub()
    hub.repository(REPOSITORY, {FILE: CONTENT}, ways={FILE: answers}, **more)
    return hub


@test
def a_file_is_fetched_by_its_type_in_segments_over_several_connections():
    with Folder() as folder, with_ways(ways.honest) as hub:
        fetched(folder, hub)
        begins = sorted(int(r[6:].split('-')[0]) for r in hub.ranges(FILE))
        equal(begins, [i * SEGMENT for i in range(6)])


@test
def what_was_fetched_is_found_by_the_same_name_and_nothing_is_fetched_twice():
    model = MODEL.read_bytes()
    with Folder() as folder, Hub() as hub:
        hub.repository(REPOSITORY, {'stories-Q8_0.gguf': model})
        env = world(folder, hub)
        missing = runnel('run', '-m', NAME, 'Tom', env=env).fails(1, f'{NAME}: not fetched yet: `runnel pull {NAME}`')
        check(str(folder / 'cache') in missing.err, missing.err)
        equal(hub.seen, [], 'a run asks no server')
        pull(folder, hub, NAME).ok()
        for name in (NAME, f'hf:{REPOSITORY}', f'hf:{REPOSITORY}:stories-Q8_0.gguf', 'stories-Q8_0', 'Stories-q8_0'):
            equal(runnel('run', '-m', name, '-n', '2', '--temp', '0', 'Tom', env=env).ok().out,
                  runnel('run', '-n', '2', '--temp', '0', 'Tom').ok().out, name)
        n_seen = len(hub.seen)
        pull(folder, hub, NAME).ok()
        equal([path for path, _ in hub.seen[n_seen:]], [f'/api/models/{REPOSITORY}/revision/main?blobs=true'])


@test
def a_split_file_comes_with_all_its_parts_and_a_folder_with_config_json_last():
    with Folder() as folder, Hub() as hub:
        parts = {f'q4/m-Q4_K_M-0000{i}-of-00003.gguf': b'GGUF' + bytes([i]) * 1000 for i in (1, 2, 3)}
        hub.repository('org/split', {**parts, 'm-Q8_0.gguf': b'GGUF8', 'mmproj-F16.gguf': b'GGUFm', 'README.md': b'x'})
        done = pull(folder, hub, 'hf:org/split').ok()
        equal(done.text, f'{place(folder, "q4/m-Q4_K_M-00001-of-00003.gguf", "org/split")}\n')
        equal(left(folder), [f'hf/org/split/main/{name}' for name in parts])
        whole = {'config.json': b'{}', 'model.safetensors': bytes(3000), 'consolidated.safetensors': bytes(3000),
                 'tokenizer.json': b'{"a": 1}', 'README.md': b'no', 'onnx/model.json': b'no'}
        hub.repository('org/whole', whole, small=('config.json', 'tokenizer.json'))
        done = pull(folder, hub, 'hf:org/whole').ok()
        equal(done.text, f'{folder}/cache/hf/org/whole/main\n')
        names = ['config.json', 'model.safetensors', 'tokenizer.json']
        equal([n for n in left(folder) if '/whole/' in n], [f'hf/org/whole/main/{n}' for n in names])
        asked = [path.rpartition('/')[2] for path, _ in hub.seen if '/org/whole/resolve/' in path]
        equal(asked[-1], 'config.json')


@test
def a_revision_is_asked_for_by_name_and_fetched_by_its_commit():
    with Folder() as folder, Hub() as hub:
        hub.repository(REPOSITORY, {FILE: CONTENT}, revision='refs%2Fpr%2F1')
        done = pull(folder, hub, f'hf:{REPOSITORY}@refs/pr/1:{FILE}').ok()
        equal(done.text, f'{place(folder, revision="refs%2Fpr%2F1")}\n')


@test
def a_model_of_the_registry_comes_with_its_texts():
    with Folder() as folder, Hub() as hub:
        hub.model('library/tiny', '1b', CONTENT, system=b'Be brief.', license=b'MIT', template=b'no')
        done = pull(folder, hub, 'ollama:tiny:1b').ok()
        equal(done.text, f'{folder}/cache/ollama/library/tiny/1b/model.gguf\n')
        equal(left(folder), [f'ollama/library/tiny/1b/{n}' for n in ('license.txt', 'model.gguf', 'system.txt')])
        pull(folder, hub, 'ollama:tiny').fails(1, 'there is no such model or tag')
        hub.model('me/tuned', 'latest', CONTENT, adapter=b'x')
        pull(folder, hub, 'ollama:me/tuned').fails(1, 'adapter')


@test
def an_address_is_fetched_as_it_is_and_kept_by_host_and_path():
    with Folder() as folder, Hub() as hub:
        hub.files['/a/b/some.gguf'] = CONTENT
        done = pull(folder, hub, f'{hub.url}/a/b/some.gguf?x=1').ok()
        equal(done.text, f'{folder}/cache/http/{hub.url[7:]}/a/b/some.gguf\n')
        equal([path for path, _ in hub.seen][0], '/a/b/some.gguf?x=1')
        pull(folder, hub, 'http://example.com/some.gguf').fails(2, 'not encrypted')


@test
def connections_that_break_go_on_where_they_broke():
    with Folder() as folder, with_ways(ways.honest, *[ways.cut(100000)] * 5, ways.status(503), ways.status(429, Retry_After='0'), ways.honest) as hub:
        fetched(folder, hub)
        check(any(int(r[6:].split('-')[0]) % SEGMENT == 100000 for r in hub.ranges(FILE)), hub.ranges(FILE))


@test
def a_connection_that_stalls_is_given_up_and_made_anew():
    with Folder() as folder, with_ways(ways.honest, ways.stall, ways.honest) as hub:
        fetched(folder, hub, NAME, '--timeout', '1')


@test
def a_server_that_always_breaks_is_given_up_and_what_came_is_kept_for_the_next_pull():
    with Folder() as folder, with_ways(ways.honest, *[ways.honest] * 3, ways.cut(0)) as hub:
        done = pull(folder, hub, NAME, '-j', '1').fails(1, 'the connection ended before all had come')
        check(FILE in done.err and hub.url in done.err, done.err)
        equal(done.out, b'')
        equal([name.rpartition('/')[2] for name in left(folder)], [f'{FILE}.part', f'{FILE}.part.state'])
        hub.ways.clear()
        hub.seen.clear()
        fetched(folder, hub)
        equal(len(hub.ranges(FILE)), 3, 'three of six segments were there')


@test
def a_pull_that_was_interrupted_or_killed_goes_on_from_its_state():
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        with Folder() as folder, with_ways(ways.honest, ways.honest, ways.honest, ways.stall) as hub:
            child = subprocess.Popen([PROGRAM, 'pull', NAME, '-j', '1'], env=world(folder, hub), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while len(hub.ranges(FILE)) < 3 and child.poll() is None:     # the third one stalls
                hub.server.over.wait(0.01)
            child.send_signal(number)
            _, err = child.communicate(timeout=TIMEOUT_S)
            equal(child.returncode, code, err)
            check(number == signal.SIGKILL or b'goes on from here' in err, err)
            hub.ways.clear()
            hub.seen.clear()
            fetched(folder, hub)
            n = len(hub.ranges(FILE))
            check(n == 4 if number == signal.SIGINT else n <= 6, number, n)


@test
def a_state_of_another_content_or_a_spoiled_one_is_begun_anew():
    for spoil in (lambda text: text.replace(text.split('\n')[1], 64 * '0'), lambda text: text[:40], lambda text: text + '99999999999\n',
                  lambda text: text.replace(str(SEGMENT), str(2**70)), lambda text: ''):
        with Folder() as folder, with_ways(ways.honest, *[ways.honest] * 3, ways.status(404)) as hub:
            pull(folder, hub, NAME, '-j', '1').fails(1, '404')
            state = place(folder, FILE + '.part.state')
            state.write_text(spoil(state.read_text()))
            hub.ways.clear()
            fetched(folder, hub)


@test
def servers_without_ranges_or_a_length_are_fetched_over_one_connection():
    for way in (ways.without_ranges, ways.without_length):
        with Folder() as folder, with_ways(way) as hub:
            fetched(folder, hub)
    with Folder() as folder, with_ways(ways.without_ranges, ways.without_ranges, ways.cut(1000)) as hub:
        hub.ways[next(iter(hub.ways))] = [ways.without_ranges, lambda r, d, b, e: ways.cut(1000)(r, d, None, None), ways.without_ranges]
        fetched(folder, hub)


@test
def what_is_not_what_was_announced_is_refused_and_not_kept():
    with Folder() as folder, with_ways(ways.spoiled) as hub:
        done = pull(folder, hub, NAME).fails(1, 'what came is not what was announced: its sha256 is')
        check(ways.sha256(CONTENT) in done.err and 'nothing of it is kept' in done.err, done.err)
        equal(left(folder), [])
    with Folder() as folder, Hub() as hub:
        hub.repository(REPOSITORY, {FILE: CONTENT}, ways={FILE: [ways.spoiled]}, small=(FILE,))
        pull(folder, hub, NAME).fails(1, 'its git name is')
        equal(left(folder), [])


@test
def servers_that_lie_about_ranges_and_lengths_are_refused():
    rows = [((ways.honest, ways.longer), 'more than'), ((ways.honest, ways.elsewhere), 'asked for'),
            ((ways.honest, ways.without_content_range), 'does not say which part'), ((ways.honest, ways.without_ranges), 'whole file'),
            ((ways.honest, ways.changed), 'has changed'), ((ways.elsewhere,), 'asked for'), ((ways.status(404),), '404'),
            ((ways.honest, ways.status(404)), '404')]
    for answers, why in rows:
        with Folder() as folder, with_ways(*answers) as hub:
            pull(folder, hub, NAME).fails(1, why)
            check(not place(folder).exists(), why)
    with Folder() as folder, with_ways(ways.honest) as hub:
        hub.answers[f'/api/models/{REPOSITORY}/revision/main']['siblings'][0]['size'] += 1
        pull(folder, hub, NAME).fails(1, f'the server has {len(CONTENT)} bytes, and {len(CONTENT) + 1} were announced')


@test
def redirects_are_followed_to_http_alone_and_not_for_ever():
    rows = [(ways.to('file:///etc/passwd'), 'redirects to file:///etc/passwd: only https and http are followed'),
            (ways.to('ftp://127.0.0.1/x'), 'only https and http are followed'), (ways.to_itself, 'more than 8 redirects')]
    for way, why in rows:
        with Folder() as folder, with_ways(way) as hub:
            pull(folder, hub, NAME).fails(1, why)
            check(not place(folder).exists(), why)


@test
def the_token_goes_to_the_hub_and_not_to_where_it_redirects():
    for in_file in (False, True):
        with Folder() as folder, Hub() as store, Hub() as hub:
            store.files['/deep/blob'] = CONTENT
            hub.repository(REPOSITORY, {FILE: CONTENT}, ways={FILE: [ways.to(f'{store.url}/deep/blob?sign=1')]})
            if in_file:
                (folder / '.cache/huggingface').mkdir(parents=True)
                (folder / '.cache/huggingface/token').write_text('hf_secret\n')
            fetched(folder, hub, **({} if in_file else {'HF_TOKEN': 'hf_secret'}))
            equal({headers.get('Authorization') for _, headers in hub.seen}, {'Bearer hf_secret'})
            check(len(store.seen) > 6, len(store.seen))
            equal({headers.get('Authorization') for _, headers in store.seen}, {None})
            hub.model('library/tiny', 'latest', CONTENT)
            with Hub() as registry:
                registry.model('library/tiny', 'latest', CONTENT)
                pull(folder, hub, 'ollama:tiny', HF_TOKEN='hf_secret', RUNNEL_OLLAMA_REGISTRY=registry.url).ok()
                equal({headers.get('Authorization') for _, headers in registry.seen}, {None})


@test
def at_a_terminal_the_bar_has_the_size_the_speed_and_the_time_left():
    with Folder() as folder, Hub() as hub:
        hub.files['/a/some.gguf'] = CONTENT
        hub.ways['/a/some.gguf'] = [ways.honest, *[ways.slow] * 6]      # as an address, whose size only the server knows
        person = Terminal('pull', f'{hub.url}/a/some.gguf', '-j', '1', columns=100, env=world(folder, hub))
        code, shown = person.end()
        equal(code, 0)
        check(re.search(r'some\.gguf \[#*\.+\] +\d+% [\d.]+ [KM]iB of 1\.3 MiB, [\d.]+ \S+/s, left [\d.]+ ', shown), shown[-2000:])
        check(re.search(r'runnel: fetched 1\.3 MiB in [\d.]+ m?s, ', shown), shown[-300:])


@test
def a_proxy_of_the_environment_is_asked_in_place_of_the_hub():
    with Folder() as folder, with_ways(ways.honest) as proxy:
        fetched(folder, proxy, HF_ENDPOINT='http://hub.example', http_proxy=proxy.url, no_proxy=None, NO_PROXY=None)
        check(proxy.seen and all(path.startswith('http://hub.example/') for path, _ in proxy.seen), proxy.seen)


@test
def a_file_that_the_disk_has_no_room_for_or_beyond_the_limit_is_refused_at_once():
    most = 16 << 40
    for n, why in ((most, 'and the disk has '), (most + 1, f'{most + 1} bytes are announced, at most {most} are fetched'), (2**63 - 1, 'at most')):
        with Folder() as folder, with_ways(ways.huge(n)) as hub:
            hub.answers[f'/api/models/{REPOSITORY}/revision/main']['siblings'][0].update(size=n, lfs={'sha256': 64 * '0', 'size': n})
            pull(folder, hub, NAME).fails(1, why)
            equal(hub.ranges(FILE), [])


@test
def an_address_that_expires_is_asked_for_again():
    with Folder() as folder, Hub() as store, Hub() as hub:
        store.files['/blob'] = CONTENT
        store.ways['/blob'] = [ways.honest, ways.honest, ways.honest, ways.status(403), ways.honest]
        hub.repository(REPOSITORY, {FILE: CONTENT}, ways={FILE: [ways.to(f'{store.url}/blob')]})
        fetched(folder, hub, NAME, '-j', '1')
        equal(len([1 for path, _ in hub.seen if path.endswith(FILE)]), 2)


@test
def a_second_process_waits_for_the_first_and_both_have_the_file():
    with Folder() as folder, with_ways(ways.honest, ways.stall, ways.honest) as hub:
        command = [PROGRAM, 'pull', NAME, '-j', '1', '--timeout', '3']
        pipes = {'env': world(folder, hub), 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}
        first = subprocess.Popen(command, **pipes)
        while len(hub.ranges(FILE)) < 1 and first.poll() is None:
            hub.server.over.wait(0.01)
        second = subprocess.Popen(command, **pipes)
        outcomes = [child.communicate(timeout=TIMEOUT_S) for child in (first, second)]
        equal([first.returncode, second.returncode], [0, 0], outcomes)
        equal({out for out, _ in outcomes}, {f'{place(folder)}\n'.encode()})
        check(b'another process is fetching it' in outcomes[1][1], outcomes)
        equal(place(folder).read_bytes() == CONTENT, True)
        equal(len(hub.ranges(FILE)), 7, 'six segments, one of them twice')


@test
def a_process_that_waits_takes_over_when_the_first_is_killed():
    with Folder() as folder, with_ways(ways.honest, ways.honest, ways.stall, ways.honest) as hub:
        command = [PROGRAM, 'pull', NAME, '-j', '1']
        pipes = {'env': world(folder, hub), 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}
        first = subprocess.Popen(command, **pipes)
        while len(hub.ranges(FILE)) < 2 and first.poll() is None:
            hub.server.over.wait(0.01)
        second = subprocess.Popen(command, **pipes)
        said = second.stderr.readline()
        check(b'another process is fetching it: waiting' in said, said)
        first.kill()
        first.communicate(timeout=TIMEOUT_S)
        out, err = second.communicate(timeout=TIMEOUT_S)
        equal((second.returncode, out), (0, f'{place(folder)}\n'.encode()), err)
        equal(place(folder).read_bytes() == CONTENT, True)


@test
def a_new_content_of_the_same_size_replaces_the_old_one_and_a_file_that_is_right_is_kept():
    with Folder() as folder, with_ways(ways.honest) as hub:
        fetched(folder, hub)
        newer = CONTENT[::-1]
        hub.repository(REPOSITORY, {FILE: newer}, commit=ways.COMMIT.replace('c', 'd'))
        pull(folder, hub, NAME).ok()
        equal(place(folder).read_bytes() == newer, True)
    with Folder() as folder, with_ways(ways.honest) as hub:     # put there by hand
        place(folder).parent.mkdir(parents=True)
        place(folder).write_bytes(CONTENT)
        pull(folder, hub, NAME).ok()
        equal(hub.ranges(FILE), [])


@test
def lists_that_lie_are_refused_by_name():
    api = f'/api/models/{REPOSITORY}/revision/main'
    rows = [(b'<html>', 'the list of files cannot be read'), (b'{"siblings": 7}', 'cannot be read'), (b'{}', 'neither a GGUF file'),
            ({'siblings': [{'rfilename': '../../evil-Q8_0.gguf', 'size': 4}]}, 'neither a GGUF file'),
            ({'siblings': [{'rfilename': '/etc/evil-Q8_0.gguf', 'size': 4}]}, 'neither a GGUF file'),
            ({'siblings': [{'rfilename': '.evil-Q8_0.gguf', 'size': 4}]}, 'neither a GGUF file'),
            ({'siblings': [{'rfilename': 'a-Q8_0.gguf', 'size': -4}]}, 'cannot be read'),
            (b'[' * 5000, 'cannot be read'),
            ({'siblings': [{'rfilename': 'm-Q8_0-00001-of-00002.gguf', 'size': 4}]}, 'part 2 of 2 is not there')]
    for answer, why in rows:
        with Folder() as folder, Hub() as hub:
            hub.answers[api] = answer
            pull(folder, hub, f'hf:{REPOSITORY}').fails(1, why)
            check(not (folder / 'cache').exists() or left(folder) == [], why)
    with Folder() as folder, Hub() as hub:
        pull(folder, hub, NAME).fails(1, 'there is no such repository or revision')
        for layers, why in (([], 'no layer with a GGUF model'),
                            ([{'mediaType': 'application/vnd.ollama.image.model', 'digest': 'sha256:../x', 'size': 1}], 'no sha256 digest')):
            hub.answers['/v2/library/tiny/manifests/latest'] = {'layers': layers}
            pull(folder, hub, 'ollama:tiny').fails(1, why)


@test
def a_name_that_is_none_and_a_server_that_is_not_there_are_named():
    with Folder() as folder, Hub() as hub:
        for name in ('hf:org', 'hf:org/', 'hf:../x', 'hf:org/repo:', 'hf:org/repo:../a.gguf', 'ollama:', 'ollama:a/b/c', 'https://', 'https://h/a.bin', 'nothing'):
            pull(folder, hub, name).fails(2, f'{name}: ')
        equal(hub.seen, [])
        hub_of_nobody = Hub()
        with hub_of_nobody:
            pass
        pull(folder, hub_of_nobody, NAME).fails(1, hub_of_nobody.url)


@test
def without_a_name_the_catalogue_is_shown_with_what_fits_and_what_is_there():
    with Folder() as folder, Hub() as hub:
        lines = pull(folder, hub).ok().text.splitlines()
        equal(lines[0].split(), 'name size memory here licence for from'.split())
        pull(folder, hub, '--dry-run').fails(2, '--dry-run: has no effect without a NAME')
        names = {line.split()[0]: line for line in lines[1:-2]}
        check(len(names) >= 5 and all(re.search(r' (fits|too large) .* hf:[\w.-]+/[\w.-]+(:\w+)?$', line) for line in names.values()), lines)
        name, reference = lines[1].split()[0], lines[1].split()[-1]
        repository, _, quant = reference[3:].partition(':')
        hub.repository(repository, {f'm-{quant}.gguf': MODEL.read_bytes()})
        env = world(folder, hub)
        runnel('run', '-m', name, 'Tom', env=env).fails(1, f'`runnel pull {name}` fetches {reference} into {folder}')
        pull(folder, hub, name).ok()
        check(' fetched ' in pull(folder, hub).ok().text.splitlines()[1])
        runnel('run', '-m', name, '-n', '1', 'Tom', env=env).ok()


@test
def several_types_are_told_apart_and_a_dry_run_fetches_nothing():
    with Folder() as folder, Hub() as hub:
        hub.repository(REPOSITORY, {'m-IQ4_XS.gguf': b'GGUF1', 'm-Q4_K_M.gguf': b'GGUF22', 'm-Q8_0.gguf': b'GGUF333', 'UD/m-Q8_0-x.gguf': b'GGUF'})
        equal(pull(folder, hub, f'hf:{REPOSITORY}', '--dry-run').ok().text.split(), ['6', 'bytes', 'm-Q4_K_M.gguf'])
        equal(left(folder) if (folder / 'cache').exists() else [], [])
        equal(pull(folder, hub, f'hf:{REPOSITORY}:q8_0', '--dry-run').ok().text.split()[-1], 'm-Q8_0.gguf')
        done = pull(folder, hub, f'hf:{REPOSITORY}:Q4_K').fails(1, 'no GGUF file of the type Q4_K; there are:')
        check('m-IQ4_XS.gguf m-Q4_K_M.gguf' in done.err, done.err)
        pull(folder, hub, f'hf:{REPOSITORY}:other.gguf').fails(1, 'no such file: other.gguf')


main()
