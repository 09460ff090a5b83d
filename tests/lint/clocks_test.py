#!/usr/bin/env python3
"""tests/lint/clocks_test.py - no test compares times: a busy machine would fail it. Work is counted instead (tests/support/work.h).

A test may read a clock where a slow machine cannot fail it: to give up waiting after a limit, to check that something did not come
too early, or to size its own input. Those places are listed here, with the number of lines that read a clock.
"""
import re

from sentences import ROOT, main, test

GIVES_UP = 'gives up waiting after a limit'
TOO_EARLY = 'something must not come earlier than its time'
ALLOWED = {
    'base/random_test.c': (2, 'the clock itself'),
    'base/thread_test.c': (2, TOO_EARLY),
    'cli/harness.py': (4, GIVES_UP),
    'cli/terminal_test.py': (6, 'gives up waiting, sizes an input, and allows more redraws the longer a run takes'),
    'engine/control_test.c': (4, TOO_EARLY + '; and a pace that was not lifted takes 39 s, however fast the machine is'),
    'serve/api_native_test.py': (2, TOO_EARLY),
    'serve/http_life_test.py': (2, TOO_EARLY),
    'serve/http_request_test.py': (2, TOO_EARLY),
    'serve/http_streams_test.py': (2, TOO_EARLY),
    'serve/serve_rig.c': (4, 'sends events at their times'),
    'serve/serving.py': (2, GIVES_UP),
    'serve/short_requests.py': (3, 'prints requests/s'),
    'serve/soak.py': (3, 'runs for as long as its caller says; seeds itself'),
    'serve/traffic.py': (2, GIVES_UP),
    'web/page_links.mjs': (1, "sets the page's clock an hour ahead"),
}
CLOCKS = {
    '.c': re.compile(r'\b(clock|now_ns|now_ms|clock_now_ns|clock_thread_cpu_ns|clock_gettime|gettimeofday|timespec_get|time|times)'
                     r'\s*\((?!void\))'),   # a definition reads none
    '.py': re.compile(r'\b(time\.(monotonic|perf_counter|time|process_time|thread_time)(_ns)?|os\.times)\s*\('),
    '.mjs': re.compile(r'\b(performance\.now|Date\.now|process\.hrtime)\b'),
}
CLOCKS['.h'] = CLOCKS['.c']
COMMENT = re.compile(r'//.*')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def code_of(path):
    text = path.read_text()
    if path.suffix in ('.c', '.h'):
        text = COMMENT.sub('', STRING.sub('""', text))
    return text


@test
def a_test_reads_a_clock_only_where_a_slow_machine_cannot_fail_it(folder):
    found = {}
    for path in sorted((ROOT / 'tests').rglob('*')):
        name = str(path.relative_to(ROOT / 'tests'))
        if path.suffix not in CLOCKS or 'node_modules' in name or name == 'lint/clocks_test.py':
            continue
        n = sum(bool(CLOCKS[path.suffix].search(line)) for line in code_of(path).splitlines())
        if n:
            found[name] = n
    want = {name: n for name, (n, _) in ALLOWED.items()}
    assert found == want, 'lines that read a clock: ' + ', '.join(
        f'{name}: {found.get(name, 0)}, listed: {want.get(name, 0)}' for name in sorted({*found, *want}) if found.get(name) != want.get(name))


main()
