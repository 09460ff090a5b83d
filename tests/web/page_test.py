#!/usr/bin/env python3
"""The page in a real browser: this starts the servers, page.mjs drives Chromium through them and counts the tests. page_around_test.py is the other half.

Needs node, the npm package playwright-core ($RUNNEL_PLAYWRIGHT, else tests/web/node_modules) and Chromium or its headless shell
($RUNNEL_CHROMIUM, else what is in PATH): ./dev setup --web. Without them it says SKIP. Arguments: parts of names to run.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'serve'))
from api import ECHO, chat_model, serving        # noqa: E402
import lora_file                            # noqa: E402
import script_model                         # noqa: E402
import seeing_model                         # noqa: E402
from serving import KEY, PROGRAM, Folder    # noqa: E402

# The first of these programs. The headless shell opens a page in less than half of the time that a whole Chromium takes.
BROWSERS = {'chromium': ('Chromium', 'RUNNEL_CHROMIUM', ('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome')),
            'firefox': ('Firefox', 'RUNNEL_FIREFOX', ('firefox-esr', 'firefox'))}
TIMEOUT_S = 1500 if os.environ.get('RUNNEL_TEST_FULL') else 500
HOSTILE = ['Before.\n\n', '<script>window.hacked = 1</script>\n\n', '<img src="http://evil.example/x.png" onerror="window.hacked = 2">',
           '![cat](http://evil.example/cat.png) ', '[link](javascript:window.hacked=3) ', '[good](https://example.org/)\n\n',
           '<a href="jAvAsCrIpT:window.hacked=4">a</a> <iframe src="http://evil.example/"></iframe>\n\n',
           '<svg onload="window.hacked=5"><style>body{display:none}</style></svg>\n\n', '<form action="http://evil.example/"><input name="x"></form>\n\n',
           '\u202eright to left\u202c and \u202eopen\n\n', '|' + 'column|' * 40 + '\n|' + '-|' * 40 + '\n|' + 'wide cell|' * 40 + '\n\n',
           *['w' * 4000] * 25, '\n\n', '>' * 3000 + ' deep\n\n', '[' * 5000 + '\n\n', '```html\n', '<b>never closed']
# Everything that the page draws of Markdown, in tokens that cut it anywhere.
RICH = ['## Steps\n\n3. th', 'ree\n4. four\n\n- [x] do', 'ne\n- [ ] to do\n\n', '| left | mid | right |\n|:--', '|:-:|--:|\n| a | b | 12 |\n\n', 'Inline \\(x_1^2', '+ y*z*w\\) and $\\fr', 'ac{a}{b}$',
        ', which cost $5 or 6$ and $20,000-$30,000; \\(never eaten.\n\n', '\\[\n\\int_0^1 x \\, dx\n', '= \\frac12\n\\]\n\n', '$$\nE = mc', '^2\n$$\n\n', 'A claim[^a] and one more[^zwei], not [^c].\n\n',
        '```python\ndef f(x):\n    ', 'return "a', 'b"  # remark\n', '```\n\n1. Build:\n   ```dockerfile\n   FROM scratch\n   ```\n\n', '```unknown\nx < 1\n```\n\n', '[^zwei]: Second *note*.\n', '[^a]: First note.\n']
SCRIPTS = {
    'F': RICH,
    '?': ['**Half-life** is the time after which half of a substance is left:\n\n', '\\[ N(t) = N_0 \\cdot 2^{-t/T} \\]\n\n', 'with \\(N_0\\) atoms at the start and the half-life \\(T\\).\n\n',
          '| time | left |\n|:--|--:|\n', '| \\(T\\) | 50 % |\n| \\(2T\\) | 25 % |\n| \\(10T\\) | 0.1 % |\n\n', '```python\ndef left(t, half_life):\n    """The share that is left after t."""\n',
          '    return 2 ** (-t / half_life)\n```\n\n', 'Carbon-14 has \\(T \\approx 5730\\) years[^1], so that\n\n- [x] wood of a castle can be dated\n- [ ] coal cannot\n\n', '[^1]: It is made in the upper atmosphere.\n'],
    'X': ['$\\href{javascript:window.hacked=6}{x}$ $\\includegraphics{http://evil.example/y.png}$ ', '\\(\\class{skip}{\\text{<img src=x onerror=window.hacked=7>}}\\) $\\label{input} \\style{position:fixed}{y}$\n\n',
          '```js\n"</code><img src=x onerror=window.hacked=8>"\n```\n\n', '```"><script>window.hacked=9</script>\nx\n```\n\n', '[^<b>]: <img src=x onerror=window.hacked=10>\n\n[^<b>] $\\def\\x{\\x\\x}\\x$ <i title="0 0">i</i>'],
    'M': ['# Title', '\n\nSome **bold**', ' and `code`.\n\n', '- one\n', '- two\n\n', '| a | b |\n|', '---|---|\n', '| 1 | 2 |\n\n', '```python\n', 'print(', '"hi")\n', 'x = 1\n',
          '```\n\n', 'After ', 'the ', 'code.'],
    'R': ['<think>', 'hm ', 'so', '</think>', 'Yes', ', it is.'],
    'T': ['Look: ', '<tool_call>', '{"name": "look"', ', "arguments": {"at": ', '"the sky"}}', '</tool_call>'],
    'K': ['Blue', '.'],
    'H': HOSTILE,
    'L': [f'word{i} ' + ('\n\n' if i % 10 == 9 else '') for i in range(100)],
    'N': ['No', ' more', '!'],
}


def missing(browser='chromium'):
    if not shutil.which('node'):
        return 'node is not here (./dev setup --web)'
    package = pathlib.Path(os.environ.get('RUNNEL_PLAYWRIGHT') or HERE / 'node_modules') / 'playwright-core'
    if not (package / 'package.json').exists():
        return f'playwright-core is not in {package.parent} (./dev setup --web, or RUNNEL_PLAYWRIGHT)'
    name, variable, programs = BROWSERS[browser]
    program = os.environ.get(variable) or next(filter(None, map(shutil.which, programs)), None)
    if not program:
        return f'there is no {name} (./dev setup --web, or {variable})'
    return package, program


@contextlib.contextmanager
def tool_server():
    """The address of an MCP server, which ends with its standard input."""
    with subprocess.Popen(['node', HERE / 'mcp_server.mjs'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        yield child.stdout.readline().strip()
        child.stdin.close()


def main(driver='page.mjs', browser='chromium'):
    found = missing(browser)
    if isinstance(found, str):
        print(f'SKIP {driver.removesuffix(".mjs")}_in_a_browser: {found}')
        return 0
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f'{PROGRAM}: there is no such program: build it, or set RUNNEL_PROGRAM')
    with Folder() as folder:
        script = folder / 'script.gguf'
        script.write_bytes(script_model.make(SCRIPTS, ECHO))
        tone = lora_file.write(folder / 'tone.gguf', script, size=1e-6)       # changes no answer
        sees = seeing_model.make(folder / 'sees')
        with tool_server() as mcp, serving(script, '-m', f'stories={chat_model(folder)}', '--lora', f'{tone}=0', '--output-format', 'hermes', '--beams', '4', '--access-log', 'none', '--mcp', mcp) as two, \
                serving(pathlib.Path(PROGRAM).parent.parent.parent / 'models/stories.gguf', '--api-key', KEY, '--access-log', 'none') as locked, \
                serving(sees, '--access-log', 'none') as seeing:
            given = {'playwright': str(found[0]), browser: found[1], 'two': two.port, 'locked': locked.port, 'sees': seeing.port, 'key': KEY, 'mcp': mcp,
                     'pictures': os.environ.get('RUNNEL_PICTURES', '')}
            done = subprocess.run(['node', HERE / driver, *sys.argv[1:]], env={**os.environ, 'RUNNEL_PAGE_TEST': json.dumps(given)},
                                  stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
    return done.returncode


if __name__ == '__main__':
    sys.exit(main())
