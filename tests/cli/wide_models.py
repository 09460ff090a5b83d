"""tests/cli/wide_models.py - models of every architecture, wide enough for every type of weights (tests/tools/wide_model.c)."""
import pathlib
import subprocess

from harness import PROGRAM, Skip, equal, runnel
from peer_rule import FLOOR, PLAIN, Rows, listed, peer

TOOL = pathlib.Path(PROGRAM).parent / 'tests/wide_model'
MADE = 'F16 BF16 Q8_0 Q6_K Q5_K_M Q4_K_M Q4_0 IQ4_NL'.split()    # of F32 by `runnel quantize`
DRAWN = 'IQ4_XS Q3_K Q2_K MXFP4'.split()                         # blocks of any bytes
DEEP = {'exaone4-64': ['F16', 'Q4_0']}                           # large files: these as they are drawn
# Models whose mathematics others have in every type; these are looked at in one.
FEW = 'mpt refact qwen plamo bitnet jais2 pangu-embedded arctic maincoder mistral4 mimo2 grok minicpm3 plm hunyuan_vl paddleocr mamba jamba falcon-h1 rwkv7 arwkv7 rwkv6 rwkv6qwen2'.split()
PROMPT = [(i * 37 + 84) % 250 for i in range(32)]
N_FORCED, N_GREEDY = 10, 6                                       # rows that are compared: the last of the prompt, and of what is generated


def tool(*args):
    if not TOOL.exists():
        raise Skip(f'{TOOL} is not built')
    return subprocess.run([TOOL, *args], stdout=subprocess.PIPE, text=True, check=True).stdout


def archs():
    """The architecture of each, by name."""
    return dict(line.split(':')[0].split() for line in tool().splitlines())


def types_of(name):
    return DEEP.get(name, ['Q4_K_M'] if name in FEW else MADE + DRAWN)


def write(name, kind, out, folder):
    """A file of a type. The F32 one that it is made of stays in the folder."""
    source = folder / f'{name}.gguf'
    if kind in DRAWN or name in DEEP:
        tool(name, out, kind)
        return
    if not source.exists():
        for old in folder.glob('*.gguf'):
            old.unlink()
        tool(name, source, 'F32')
    runnel('quantize', source, out, kind).ok()


def best_two(rows, at, n):
    order = sorted(range(n), key=lambda t: rows[at, t], reverse=True)
    return order[0], order[1]


def ask(model, as_f32, folder):
    """What the peer says: the best token of each compared row, and '1' for each that its margin decides (peer_rule.py)."""
    ids = PROMPT + peer('greedy', model, '--ids', listed(PROMPT), '-n', N_GREEDY, *PLAIN)['ids']
    found = []
    for path in model, as_f32:
        peer('logits', path, '--ids', listed(ids), '--out', folder / 'rows.npy', *PLAIN)
        found.append(Rows(folder / 'rows.npy', len(ids)))
    rows, exact = found
    places = range(len(PROMPT) - N_FORCED, len(ids) - 1)
    pairs = [best_two(rows, i, rows.n) for i in places]
    margins = [rows[i, a] - rows[i, b] for i, (a, b) in zip(places, pairs)]
    moved = max(abs(m - (exact[i, a] - exact[i, b])) for m, i, (a, b) in zip(margins, places, pairs))
    equal([a for a, _ in pairs][N_FORCED - 1:], ids[len(PROMPT):], 'the peer parts from itself:')
    return [a for a, _ in pairs], ''.join('01'[m >= max(2 * moved, FLOOR)] for m in margins)


def parted(model, best, decided):
    """The compared rows where ours has another token though the margin decides: of the peer's text, and generated alone."""
    ids = PROMPT + best[N_FORCED - 1:]
    scored, = runnel('score', '-m', model, '--ids', listed(ids), '--kv-type', 'f32', '--json').ok().lines
    ours = scored['argmax'][len(PROMPT) - N_FORCED:][:len(best)]
    lines = runnel('run', '-m', model, '--ids', listed(PROMPT), '-n', N_GREEDY, '--temp', '0', '--ignore-eos', '--kv-type', 'f32', '--json').ok().lines
    alone = [t for line in lines for t in line['tokens']]
    wrong = [i for i, (a, b) in enumerate(zip(best, ours)) if a != b and decided[i] == '1']
    first = next((i for i, (a, b) in enumerate(zip(best[N_FORCED - 1:], alone)) if a != b), None)
    if first is not None and decided[N_FORCED - 1 + first] == '1':
        wrong.append(f'generated {first}')
    return wrong
