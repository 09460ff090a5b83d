#!/usr/bin/env python3
"""The files of the page as the server gives them: types, tags, compression, policy; and who may have them."""
import gzip
import hashlib
import json
import re

from api import serving
from serving import KEY, MODEL, ROOT, check, equal, main, runnel, test

WEB = ROOT / 'web'
FILES = sorted(p.relative_to(WEB).as_posix() for p in WEB.rglob('*') if p.is_file())
TYPES = {'.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.svg': 'image/svg+xml',
         '.LICENSE': 'text/plain; charset=utf-8', '.webmanifest': 'application/manifest+json'}


def path_of(name):
    return '/' if name == 'index.html' else f'/page/{name}'


@test
def every_file_comes_whole_plain_and_compressed_with_its_type_and_tag():
    with serving(MODEL) as s, s.connect() as c:
        tags = set()
        for name in FILES:
            want = (WEB / name).read_bytes()
            for accept, is_gzip in (('identity', False), ('br, gzip', True), ('GZIP;q=0.5', True), ('gzip;q=0', False), ('gzip;q=0.0, br', False), ('x-gzip', False)):
                a = c.ask('GET', path_of(name), f'Accept-Encoding: {accept}')
                equal((a.status, a.header('content-type')), (200, TYPES[(WEB / name).suffix]), name)
                equal(a.header('content-encoding'), 'gzip' if is_gzip else None, accept)
                equal(gzip.decompress(a.body) if is_gzip else a.body, want, name)
                equal((a.header('vary'), a.header('cache-control')), ('Accept-Encoding', 'no-cache'))
                tags.add((a.header('etag'), bytes(a.body)))
                if is_gzip:
                    equal(a.body[4:8], bytes(4), 'a time in the gzip header: builds would differ')
        equal(len({tag for tag, _ in tags}), len(tags), 'two bodies have one tag')


@test
def who_has_the_file_already_gets_304_without_a_body():
    with serving(MODEL) as s, s.connect() as c:
        a = c.ask('GET', '/page/main.js', 'Accept-Encoding: gzip')
        tag, length = a.header('etag'), a.header('content-length')
        check(re.fullmatch(r'"[0-9a-f]{32}-gzip"', tag), tag)
        for known in (tag, f'"x", {tag}', f'W/{tag}', '*'):
            a = c.ask('GET', '/page/main.js', 'Accept-Encoding: gzip', f'If-None-Match: {known}')
            equal((a.status, a.header('etag'), a.body), (304, tag, b''), known)
        for other in ('"x"', tag.replace('-gzip', ''), '""'):
            equal(c.ask('GET', '/page/main.js', 'Accept-Encoding: gzip', f'If-None-Match: {other}').status, 200, other)
        a = c.ask('HEAD', '/page/main.js', 'Accept-Encoding: gzip')
        equal((a.status, a.header('content-length'), a.header('etag')), (200, length, tag))


@test
def the_policy_lets_nothing_in_from_elsewhere():
    with serving(MODEL) as s:
        for path in ('/', '/page/main.js', '/page/icon.svg'):
            a = s.get(path)
            equal(a.header('content-security-policy'), "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; "
                  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
            equal((a.header('x-content-type-options'), a.header('referrer-policy'), a.header('x-frame-options')), ('nosniff', 'no-referrer', 'DENY'))
            equal(a.header('service-worker-allowed'), '../')
        page = s.get('/').body.decode()
        check(not re.search(r'<script(?![^>]*src=)|<style|\son\w+=|style=|https?://', page), 'something inline, or from elsewhere')


@test
def servers_of_tools_that_were_named_are_told_and_may_be_asked():
    """Their origins are in the policy, the addresses behind the key."""
    urls = ('https://tools.example/mcp?key=x', 'http://127.0.0.1:9000/mcp', 'https://tools.example/other')
    with serving(MODEL, '--api-key', KEY, *(word for url in urls for word in ('--mcp', url))) as s:
        for path in ('/', '/page/main.js', '/page/sw.js'):
            policy = s.get(path).header('content-security-policy')
            check("; connect-src 'self' https://tools.example http://127.0.0.1:9000; manifest-src" in policy, policy)
        equal(s.get('/props', f'Authorization: Bearer {KEY}').json['mcp_servers'], list(urls))
        s.get('/props').refuses(401, 'invalid_api_key')
    with serving(MODEL) as s:
        equal(s.get('/props').json['mcp_servers'], [])
    runnel('serve', '--mcp', 'tools.example').fails(2, "--mcp: 'tools.example' begins neither with http:// nor https://")
    runnel('serve', *['--mcp', 'http://h/'] * 9).fails(2, '--mcp: is given more than 8 times')


@test
def the_page_needs_no_key_and_what_it_asks_for_does():
    with serving(MODEL, '--api-key', KEY) as s:
        for name in FILES:
            equal(s.get(path_of(name)).status, 200, name)
        for path in ('/page/nope.js', '/page/', '/page/vendor'):
            s.get(path).refuses(404, 'unknown_url')
        for path in ('/v1/models', '/props', '/slots', '/metrics', '/page', '/index.html', '/page/../props', '/page/%2e%2e/props'):
            s.get(path).refuses(401, 'invalid_api_key')
        s.post('/', '{}').refuses(401, 'invalid_api_key')


@test
def without_the_page_its_paths_are_nobodys():
    with serving(MODEL, '--no-page') as s:
        for path in ('/', '/page/main.js'):
            s.get(path).refuses(404, 'unknown_url')
        equal(s.get('/v1/models').status, 200)
    with serving(MODEL, '--no-page', '--api-key', KEY) as s:
        s.get('/').refuses(401, 'invalid_api_key')


@test
def props_say_every_sampling_field_and_preset_as_the_help_does():
    with serving(MODEL) as s:
        props = s.get('/props').json
        help_page = runnel('run', '--help').ok().text
        for f in props['sampling']:
            check(f['min'] <= f['default'] <= f['max'], f)
            check('--' + f['name'].replace('_', '-') in help_page, f)
        equal({f['name']: f['default'] for f in props['sampling']}, props['default_generation_settings'])
        equal([p['name'] for p in props['presets']], ['greedy', 'focused', 'balanced', 'creative', 'wild', 'code', 'chat', 'story', 'summary'])
        check(all(p['help'] and set(p['values']) == set(props['default_generation_settings']) for p in props['presets']), props['presets'])
        equal(next(p for p in props['presets'] if p['name'] == 'greedy')['values']['temp'], 0)
        equal([row['name'] for row in props['strategies']], ['greedy', 'focused', 'balanced', 'creative', 'wild', 'contrastive', 'tree'])
        equal(s.get('/v1/models').json['data'][0]['meta']['can_chat'], False)


@test
def each_strategy_of_props_is_answered():
    with serving(MODEL, '--beams', '4') as s:
        rows = s.get('/props').json['strategies']
        equal([row['name'] for row in rows][5:7], ['beam', 'best-of'])
        table = {o['name']: o for o in s.get('/props').json['strategy_options']}
        equal((table['num_beams']['min'], table['num_beams']['max'], table['num_beams']['default'], table['num_beams']['kind']), (1, 32, 4, 'integer'))
        equal((table['early_stopping']['words'], table['value']['strategies'], table['value']['kind']), (['false', 'true', 'never'], ['tree'], 'text'))
        help_page = runnel('run', '--help').ok().text
        check(all(o['help'] and '--' + name.replace('_', '-') in help_page for name, o in table.items()), table)
        for row in rows:
            answer = s.post('/v1/runnel/generate', json.dumps({'prompt': 'Tom', 'max_tokens': 2, **row['members']}))
            check(row['help'] and answer.status == 200, row, answer.json)


@test
def strategies_of_props_are_those_that_the_server_has_models_for():
    with serving(MODEL, '--amateur', MODEL, '--early-layers', 'low') as s:
        rows = s.get('/props').json['strategies']
        equal([row['name'] for row in rows][-4:], ['contrastive', 'contrastive-decoding', 'dola', 'tree'])
        for row in rows[-3:]:
            answer = s.post('/v1/runnel/generate', json.dumps({'prompt': 'Tom', 'max_tokens': 2, **row['members']}))
            check(row['help'] and answer.status == 200, row, answer.json)


@test
def vendored_files_are_the_ones_that_are_written_down():
    page = (ROOT / 'docs/dependencies.md').read_text()
    files = sorted((WEB / 'vendor').rglob('*.js'))
    check(len(files) > 10, files)
    for file in files:
        check(f'`{file.name}`, `{hashlib.sha256(file.read_bytes()).hexdigest()}`' in page, file)
        check(any(p.is_file() for p in (file.with_suffix('.LICENSE'), file.parent / f'{file.parent.name}.LICENSE')), file)


if __name__ == '__main__':
    main()
