"""tests/cli/peer_rule.py - when two engines that round activations differently must choose the same token.

Weights in blocks are multiplied with activations that each engine rounds in its own way, so near ties may fall either way. How much
rounding moves things is measured on the peer alone, with the peer's own text behind a prompt: once the file itself, once the same
numbers as F32 weights, where nothing is rounded to blocks. `moved` is the most that this changes the distance between the peer's two
best tokens at any step. Where the peer's margin is at least twice that, ours must choose its token: rounding here is as fine as there,
which ours_moved() shows. (Of F16 and F32 files nothing is rounded to blocks: then FLOOR, for the order of sums.)

The peer is a driver of llama.cpp, named by RUNNEL_PEER, a command without a shell:
  DRIVER greedy MODEL --ids 1,2,3 -n N ...    prints JSON with ids and top2: [best token, its logit, the second, its logit] by step
  DRIVER logits MODEL --ids 1,2,3 --out F ... writes a .npy file, float32 [tokens][vocabulary]
"""
import array
import json
import math
import os
import shlex
import subprocess

from harness import Skip, runnel

PLAIN = ('-t', '1', '--kv', 'f32', '--fa', 'off', '--no-repack')
FLOOR = 1e-3


def command():
    if not os.environ.get('RUNNEL_PEER'):
        raise Skip('RUNNEL_PEER names no driver of llama.cpp')
    return shlex.split(os.environ['RUNNEL_PEER'])


def peer(verb, model, *args):
    done = subprocess.run([*command(), verb, str(model), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise AssertionError(f'the peer on {model}: {done.stderr.strip()[-300:]}')
    return json.loads(done.stdout)


def listed(ids):
    return ','.join(map(str, ids))


class Rows:
    """The rows of a .npy file of float32."""

    def __init__(self, path, n_rows):
        data = path.read_bytes()
        self.x = array.array('f', data[10 + int.from_bytes(data[8:10], 'little'):])
        self.n = len(self.x) // n_rows

    def __getitem__(self, at):
        row, column = at
        return self.x[row * self.n + column]


def distances(path, prompt, ids, pairs):
    """Of each step: by how much the first token of its pair lies above the second."""
    rows = Rows(path, len(prompt) + len(ids))
    return [rows[len(prompt) - 1 + i, a] - rows[len(prompt) - 1 + i, b] for i, (a, b) in enumerate(pairs)]


def spread(some, others):
    """Of the differences: root mean square and largest."""
    d = [abs(x - y) for x, y in zip(some, others)]
    return math.sqrt(sum(x * x for x in d) / len(d)), max(d)


def measure(model, as_f32, prompt, n, folder):
    """What the peer does behind a prompt: its tokens, its margins, and how much its rounding moved these."""
    found = peer('greedy', model, '--ids', listed(prompt), '-n', n, *PLAIN)
    pairs = [(a, b) for a, _, b, _ in found['top2']]
    margins = [x - y for _, x, _, y in found['top2']]
    peer('logits', as_f32, '--ids', listed(prompt + found['ids']), '--out', folder / 'exact.npy', *PLAIN)
    exact = distances(folder / 'exact.npy', prompt, found['ids'], pairs)
    rms, moved = spread(margins, exact)
    return {'prompt': prompt, 'ids': found['ids'], 'margins': [round(m, 4) for m in margins], 'moved': round(moved, 4),
            'pairs': pairs, 'exact': exact, 'rms': rms}


def ours_moved(model, row, folder):
    """The same of runnel: how far its distances are from those without rounding; rms and largest."""
    ids = listed(row['prompt'] + row['ids'])
    runnel('score', '-m', model, '--ids', ids, '--kv-type', 'f32', '--logits', folder / 'ours.npy').ok()
    ours = distances(folder / 'ours.npy', row['prompt'], row['ids'], row['pairs'])
    return spread(ours, row['exact'])


def least_margin(row):
    return max(2 * row['moved'], FLOOR)


class Outcome:
    """What ours does on the peer's text (forced) and alone (free)."""

    def __init__(self, model, row):
        ids, first = row['prompt'] + row['ids'], len(row['prompt']) - 1
        scored, = runnel('score', '-m', model, '--ids', listed(ids), '--kv-type', 'f32', '--json').ok().lines
        forced = scored['argmax'][first:first + len(row['ids'])]
        least = least_margin(row)
        self.n_decided = sum(m >= least for m in row['margins'])
        self.parted = [(i, m) for i, (m, a, b) in enumerate(zip(row['margins'], row['ids'], forced)) if a != b]
        self.wrong = [(i, m) for i, m in self.parted if m >= least]
        lines = runnel('run', '-m', model, '--ids', listed(row['prompt']), '-n', len(row['ids']), '--temp', '0', '--ignore-eos',
                       '--kv-type', 'f32', '--json').ok().lines
        free = [t for line in lines for t in line['tokens']]
        same = next((i for i, (a, b) in enumerate(zip(row['ids'], free)) if a != b), len(row['ids']))
        self.n_free = same
        if same < len(row['ids']) and row['margins'][same] >= least:
            self.wrong.append((same, row['margins'][same]))
