#!/usr/bin/env python3
"""Adapters on the command line: run with them, merged into a model, converted, and what is refused."""
import json
import pathlib

import lora_file
import peer_rule
from harness import Folder, MODEL, check, equal, main, runnel, test

TEXT = ('--ids', ','.join(str(i) for i in range(5, 60)))


def nll(*args):
    words = runnel('score', *args, *TEXT, '--kv-type', 'f32').ok().text.split()
    return float(words[words.index('nll') + 1])


@test
def a_merged_model_scores_a_text_as_the_adapter_does():
    with Folder() as folder:
        first = lora_file.write(folder / 'first.gguf', MODEL, rank=3, alpha=6)
        second = lora_file.write(folder / 'second.gguf', MODEL, only='attn', seed=2)
        merged = folder / 'merged.gguf'
        text = runnel('merge', MODEL, merged, '--lora', first, '--lora', f'{second}=-0.5', '--type', 'f32').ok().text
        check('blk.0.attn_q.weight' in text, text)
        plain, with_both = nll('-m', MODEL), nll('-m', MODEL, '--lora', first, '--lora', f'{second}=-0.5')
        check(abs(plain - with_both) > 0.1, plain, with_both)
        # The model's own matrices are quantized: their products are not those of floats.
        check(abs(nll('-m', merged) - with_both) < 0.02 * with_both, nll('-m', merged), with_both)
        equal(nll('-m', MODEL, '--lora', f'{first}=0'), plain)
        again = folder / 'again.gguf'
        runnel('convert', '--lora', '-m', MODEL, first, again).ok()
        equal(nll('-m', MODEL, '--lora', again), nll('-m', MODEL, '--lora', first))


@test
def greedy_tokens_and_their_logits_are_llama_cpps():
    """peer_lora.json: llama.cpp with the same adapters in F32 (make_peer_lora.py); it sums in another order."""
    peer = json.loads((pathlib.Path(__file__).parent / 'peer_lora.json').read_text())
    equal(len({json.dumps(row['top2']) for row in peer}), len(peer), 'adapters that change nothing')
    with Folder() as folder:
        base = folder / 'base.gguf'
        runnel('quantize', MODEL, base, 'F32').ok()
        paths = lora_file.two(folder, base)
        for row in peer:
            args = [a for i, scale in row['adapters'] for a in ('--lora', f'{paths[i]}={scale}')]
            prompt, said = row['prompt_ids'], row['ids']
            lines = runnel('run', '-m', base, '--ids', peer_rule.listed(prompt), '-n', len(said), '--temp', '0', '--ignore-eos', '--kv-type', 'f32', '--json', *args).ok().lines
            equal([t for line in lines for t in line['tokens']], said, row['adapters'])
            out = folder / 'logits.npy'
            runnel('score', '-m', base, '--ids', peer_rule.listed(prompt + said), '--kv-type', 'f32', '--logits', out, *args).ok()
            logits = peer_rule.Rows(out, len(prompt) + len(said))
            for i, (first, a, second, b) in enumerate(row['top2']):
                at = len(prompt) - 1 + i
                check(abs(logits[at, first] - a) < 1e-3 and abs(logits[at, second] - b) < 1e-3, row['adapters'], i, logits[at, first], a, logits[at, second], b)


@test
def what_cannot_be_done_is_refused():
    with Folder() as folder:
        first = lora_file.write(folder / 'first.gguf', MODEL)
        out = folder / 'out.gguf'
        runnel('merge', MODEL, out).fails(2, 'merge: needs a model, an output file and adapters')
        runnel('merge', MODEL, first, '--lora', first).fails(2, 'is an input file too')
        runnel('merge', MODEL, out, '--lora', MODEL).fails(1, "key general.type: 'model', expected 'adapter'")
        runnel('convert', '--lora', first, out).fails(2, 'convert: needs a model, an adapter and an output file')
        runnel('convert', '-m', MODEL, first, out).fails(2, '--model: has no effect without --lora')
        runnel('convert', '--lora', '-m', MODEL, '--type', 'f16', first, out).fails(2, '--type: has no effect with --lora')
        runnel('convert', '--lora', '-m', MODEL, folder, out).fails(1, 'adapter_model.safetensors')
        (folder / 'adapter_config.json').write_text('{}')
        (folder / 'adapter_model.bin').write_text('')
        runnel('info', '-m', MODEL, '--lora', folder).fails(1, 'Python pickle: save it as safetensors')
        runnel('info', '-m', MODEL, *['--lora', first] * 65).fails(2, '--lora: more than 64 adapters')
        check(not out.exists())


main()
