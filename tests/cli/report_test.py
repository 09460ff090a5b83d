#!/usr/bin/env python3
"""tests/cli/report_test.py - the pages of `compare --html`, `score --html` and `bench --html`: what is in them, and what strangers cannot do there."""
import base64
import hashlib
import html.parser
import json
import math
import os
import re
import sys

from harness import MODEL, ROOT, Folder, check, equal, main, runnel, test

sys.path.insert(0, str(ROOT / 'tests/serve'))
import script_model     # noqa: E402
from report_test_texts import HOSTILE, PLAIN     # noqa: E402

PROMPT = 'Once upon a time'
VOID = {'meta', 'rect', 'path'}


class Page(html.parser.HTMLParser):
    """Elements with their attributes, text by class, and whether all tags close."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.data = path.read_bytes()
        self.elements, self.open, self.texts, self.raw = [], [], [], {}
        self.feed(self.data.decode())
        self.close()
        equal(self.open, [], 'elements left open')

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append((tag, dict(attributes).get('class') or ''))

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        equal(self.open.pop()[0], tag, self.getpos())

    def handle_data(self, data):
        if self.open and self.open[-1][0] in ('style', 'script'):
            self.raw[self.open[-1][0]] = self.raw.get(self.open[-1][0], '') + data
        self.texts.append((tuple(self.open), data))

    def tokens(self):
        """The text of each block of tokens, without alternatives and signs."""
        out, n = [], 0
        for open_, data in self.texts:
            names = [name for _, name in open_]
            if 'tokens' not in names or 'alt' in names or 'parts' in names:
                n += 'tokens' not in names and bool(out) and out[-1] != ''
                continue
            if not out or n:
                out.append('')
            n = 0
            out[-1] += '' if 't none' in ' '.join(names) else data
        return out

    def text(self, tag):
        return [data for open_, data in self.texts if open_ and open_[-1][0] == tag]


def shown(text):
    """What report_text() makes of a text that is UTF-8."""
    return re.sub('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]', lambda m: f'[U+{ord(m[0]):04X}]', text)


def check_safe(page):
    """Nothing runs and nothing is asked for but the page's own style and script, which its policy names by their hashes."""
    text = page.data.decode()       # it is UTF-8
    check('\x00' not in text and not re.search('[\u202a-\u202e\u2066-\u2069]', text), 'nothing that turns the page around')
    equal([tag for tag, _ in page.elements if tag in ('script', 'style')], ['style', 'script'])
    policy, = [a['content'] for tag, a in page.elements if tag == 'meta' and a.get('http-equiv') == 'Content-Security-Policy']
    hashes = {name: 'sha256-' + base64.b64encode(hashlib.sha256(page.raw[name].encode()).digest()).decode() for name in ('style', 'script')}
    equal(policy, f"default-src 'none'; style-src '{hashes['style']}'; script-src '{hashes['script']}'; base-uri 'none'; form-action 'none'")
    for tag, attributes in page.elements:
        bad = [name for name in attributes if name in ('src', 'href', 'style', 'action', 'xlink:href') or name.startswith('on')]
        check(not bad and tag not in ('img', 'link', 'base', 'iframe', 'form', 'a', 'object'), tag, attributes)
    check(not re.search(r'url\(|@import', page.raw['style']), 'a style that asks for something')


def paths(page, name):
    return [a['d'] for tag, a in page.elements if tag == 'path' and a.get('class') == name]


@test
def the_page_of_a_comparison_has_its_texts_figures_and_plots():
    with Folder() as folder:
        args = ('compare', '-n', '50', '--seed', '7', '-s', 'greedy', '-s', 'wild', '-s', 'focused', PROMPT, '--html', folder / 'c.html')
        lanes = runnel(*args, '--json').ok().lines[0]['lanes']
        page = Page(folder / 'c.html')
        equal(os.listdir(folder), ['c.html'])
        check_safe(page)
        equal(page.tokens(), [lane['text'] for lane in lanes])
        check(PROMPT in page.text('p'), 'the prompt')
        # Colours: tenths of probability.
        classes = [a['class'].split()[1] for tag, a in page.elements if tag == 'span' and a.get('class', '').startswith('t p')]
        equal(classes, [f'p{min(9, math.floor(math.exp(t["logprob"]) * 10))}' for lane in lanes for t in lane['logprobs']])
        # The plots of all lanes have one scale: 50 tokens, and the end of the largest value's axis.
        most = max(max(-t['logprob'], t['entropy']) for lane in lanes for t in lane['logprobs'])
        steps = [s * 10.0 ** k for k in range(-3, 3) for s in (1, 2, 2.5, 3, 4, 5, 6, 8)]
        end = 4 * min(s for s in steps if s >= most / 4)
        for lane, bars, line in zip(lanes, plots(page, 'bars faint c1'), plots(page, 'c2')):
            tops = [-float(v) for v in re.findall(r'v(-[\d.]+)h', bars)]
            want = [-t['logprob'] / end * 1000 for t in lane['logprobs'] if -t['logprob'] / end * 1000 > 0]
            check(len(tops) == len(want) and all(abs(a - b) < 0.06 for a, b in zip(tops, want)), lane['name'], tops, want)
            points = re.findall(r'[ML]([\d.]+) ([\d.]+)', line)
            equal([round(float(x) / 20 - 0.5, 6) for x, _ in points], list(range(50)))
            check(all(abs(1000 - float(y) - t['entropy'] / end * 1000) < 0.06 for (_, y), t in zip(points, lane['logprobs'])), 'entropies')
        # The table has the figures of the text, alternatives are five of each token.
        table = runnel(*args[:-2]).ok().text.splitlines()[-5:-1]
        cells = [open_data[1] for open_data in page.texts if open_data[0] and open_data[0][-1][0] in ('td', 'th')]
        for row, lane in zip(table[1:], lanes):
            check(lane['measures']['distinct_2'] is not None and row.split()[6] in cells, row)
        equal(page.data.count(b'class="alt"'), 150)
        equal(sum(a.get('width') is not None for tag, a in page.elements if tag == 'rect'), 5 * 150)


def plots(page, name):
    """Paths of that class in plots, without those of legends."""
    return [d for d in paths(page, name) if d not in ('M0 1h20v8h-20z', 'M0 5h20')]


@test
def the_answers_of_a_search_are_listed():
    settings = '{"name": "three", "strategy": "beam", "num_beams": 4, "num_return_sequences": 3}'
    with Folder() as folder:
        lane, = runnel('compare', '-n', '25', '-s', settings, PROMPT, '--json', '--html', folder / 'c.html').ok().lines[0]['lanes']
        page = Page(folder / 'c.html')
        check_safe(page)
        listed = [''.join(data for open_, data in page.texts if ('ol', 'answers') in open_ and open_[-1][0] == 'div')]
        equal(listed, [''.join(q['text'] for q in lane['sequences'])])
        for q in lane['sequences']:
            check(f'score {q["score"]:.4f}, log-probability {q["logprob"]:.3f}' in page.text('span'), q)


@test
def signs_stand_where_texts_part():
    with Folder() as folder:
        lanes = runnel('compare', '-n', '40', '--seed', '7', '-s', 'greedy', '-s', 'focused', '-s', 'wild', '-s', '{"name": "same", "temp": 0}', PROMPT,
                       '--json', '--html', folder / 'c.html').ok().lines[0]['lanes']
        page = Page(folder / 'c.html')
        texts, at, n = [''] * 4, [{} for _ in range(4)], -1
        for open_, data in page.texts:
            names = [name for _, name in open_]
            if open_ and open_[-1][0] == 'b' and 'lane' in names:
                n += 1
            if 'tokens' not in names or 'alt' in names:
                continue
            if 'parts' in names:
                at[n][data] = len(texts[n].encode())
            else:
                texts[n] += data
        equal(sorted(at[0]), ['2', '3'], 'the equal text has no sign')
        equal([sorted(a) for a in at[1:]], [['1'], ['1'], []])
        for k in (1, 2):
            common = lanes[0]['common'][k]
            for i, sign in ((0, str(k + 1)), (k, '1')):
                # In front of the token in which the first byte differs.
                check(at[i][sign] <= common < at[i][sign] + 40 and lanes[i]['text'].encode()[:at[i][sign]] == lanes[0]['text'].encode()[:at[i][sign]], i, k, at[i], common)


@test
def hostile_texts_names_and_prompts_are_text_on_the_page():
    name = '</title><script>alert(4)</script>\u202e'
    prompt = '<img src=x onerror=alert(5)>\u2067 "quoted" & \x01 A'
    with Folder() as folder:
        model = folder / '<b>&m.gguf'
        model.write_bytes(script_model.make({'A': HOSTILE}, PLAIN))
        settings = json.dumps({'name': name, 'temp': 0})
        lane, other = runnel('compare', '-m', model, '-m', MODEL, '-n', '60', '-s', settings, '--html', folder / 'c.html', '--json', prompt).ok().lines[0]['lanes']
        page = Page(folder / 'c.html')
        check_safe(page)
        check('<script>alert(1)</script>' in lane['text'] and '\u202e' in lane['text'] and '\x00' in lane['text'], repr(lane['text']))
        equal(page.tokens(), [shown(lane['text']), shown(other['text'])])
        check(shown(prompt) in ''.join(page.text('p')), 'the prompt')
        check(page.text('h3').count(shown(name)) == 2, page.text('h3'))
        check('<b>&m.gguf' in ' '.join(page.text('p')), 'the model')
        # The same of a score, whose pieces are the tokens' own.
        (folder / 'text').write_bytes(b'A' + ''.join(HOSTILE[:22]).encode().replace(b'\x00', b'') + b'\xff\xe2\x82')
        runnel('score', '-m', MODEL, '--text-file', folder / 'text', '--html', folder / 's.html').ok()
        check_safe(Page(folder / 's.html'))
        # And of random tokens, whose bytes are seldom characters.
        noise = '{"temp": 5, "top_k": 0, "top_p": 1, "min_p": 0}'
        lane, = runnel('compare', '-n', '300', '--seed', '1', '-s', noise, '--html', folder / 'n.html', '--json', PROMPT).ok().lines[0]['lanes']
        equal(Page(folder / 'n.html').tokens(), [shown(lane['text'])])
        check_safe(Page(folder / 'n.html'))


@test
def the_page_of_a_score_has_the_loss_of_each_token():
    text = 'Once upon a time, there was a little girl named Lily. She said: größe, 東京!'
    with Folder() as folder:
        (folder / 'text').write_text(text)
        result, = runnel('score', '--text-file', folder / 'text', '--json', '--html', folder / 's.html').ok().lines
        page = Page(folder / 's.html')
        check_safe(page)
        equal(page.tokens(), ['<s> ' + text])
        tops = [-float(v) for v in re.findall(r'v(-[\d.]+)h', plots(page, 'bars faint c1')[0])]
        top = max(tops) / max(result['nll'])
        check(all(abs(a - b * top) < 0.2 for a, b in zip(tops, result['nll'])) and len(tops) == len(result['nll']), tops)
        mean = sum(result['nll']) / len(result['nll'])
        check(f'{mean:.4f} nats a token, perplexity {math.exp(mean):.4f}' in ' '.join(page.text('p')), page.text('p'))
        worst = max(range(len(result['nll'])), key=result['nll'].__getitem__)
        cells = page.text('td')
        check(str(worst + 1) in cells and f'{result["nll"][worst]:.2f}' in cells, cells[:12])
        equal(page.data.count(b'class="alt"'), len(result['nll']))
        # The candidates are the most probable ones, the best first: that of the first row is its argmax.
        first = re.search(rb'class="alt".*?</span></span>', page.data, re.S)[0]
        shares = [float(w) for w in re.findall(rb'rect width="([\d.]+)%"', first)]
        check(len(shares) == 5 and shares == sorted(shares, reverse=True), shares)


@test
def a_score_of_one_token_or_of_ids_has_a_page():
    with Folder() as folder:
        runnel('score', '--ids', '1', '--html', folder / 'one.html').ok()
        check_safe(Page(folder / 'one.html'))
        runnel('score', '--ids', '1,5,900,5,900', '--html', folder / 'ids.html').ok()
        check_safe(Page(folder / 'ids.html'))


@test
def the_page_of_a_bench_has_its_figures_and_limits():
    with Folder() as folder:
        rows = json.loads(runnel('bench', '-p', '32', '-n', '8', '-b', '1,2,4', '-d', '0,64', '-r', '1', '--profile', '--json', '--html', folder / 'b.html').ok().out)
        page = Page(folder / 'b.html')
        check_safe(page)
        cells = [data for open_, data in page.texts if open_ and open_[-1][0] == 'td']
        figures = [figure for row in rows for figure in row['results']]
        equal(len(figures), 2 + 6)
        for figure in figures:
            rate = figure['median']
            check(f'{rate:.{1 if rate < 1000 else 0}f}' in cells, rate, cells)
        equal(len(plots(page, 'dots c1')), 3, 'prompt by depth, generation by depth and by streams')
        points = [len(re.findall(r'h0', d)) for d in plots(page, 'dots c1')]
        equal(points, [2, 2, 3])
        names = ' '.join(page.text('th') + page.text('h2'))
        check('linear' in names and 'Operations' in names, names)
        old = folder / 'old.json'
        old.write_text(json.dumps(rows))
        runnel('bench', '-p', '32', '-n', '0', '-r', '1', '--no-limits', '--vs', old, '--html', folder / 'v.html').ok()
        page = Page(folder / 'v.html')
        check_safe(page)
        check(any(re.fullmatch(r'\d+\.\d{3}, (faster|slower|same)', cell) for cell in page.text('td')), page.text('td'))


@test
def a_page_is_whole_or_not_there():
    with Folder() as folder:
        (folder / 'is').mkdir()
        for command in (['compare', PROMPT, '-n', '2'], ['score', '--ids', '1,2'], ['bench', '-p', '1', '-n', '0', '-r', '1', '--no-limits']):
            runnel(*command, '--html', folder / 'no/page.html').fails(1, 'No such file or directory')
            runnel(*command, '--html', folder / 'is').fails(1, 'is not a regular file')
            runnel(*command, '-m', MODEL, '--html', MODEL).fails(2, 'is an input file too')
            equal(os.listdir(folder), ['is'])
        (folder / 'prompt').write_text(PROMPT)
        runnel('compare', '-f', folder / 'prompt', '--html', folder / 'prompt').fails(2, 'is an input file too')
        runnel('score', '--text-file', folder / 'prompt', '--html', folder / 'prompt').fails(2, 'is an input file too')
        equal((folder / 'prompt').read_text(), PROMPT)
        runnel('compare', PROMPT, '-s', '{"n": 2, "stop": ["a", 1]}', '--html', folder / 'page.html')
        equal(sorted(os.listdir(folder)), ['is', 'prompt'])


@test
def equal_comparisons_give_equal_pages():
    with Folder() as folder:
        for name in ('a', 'b'):
            runnel('compare', '-n', '20', '--seed', '3', PROMPT, '--html', folder / name).ok()
        # But for the speed.
        rate = re.compile(rb'<td>[\d.]+</td>')
        equal(rate.sub(b'', (folder / 'a').read_bytes()), rate.sub(b'', (folder / 'b').read_bytes()))


if __name__ == '__main__':
    main()
