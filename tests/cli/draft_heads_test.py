#!/usr/bin/env python3
"""tests/cli/draft_heads_test.py - draft heads named by options: the same text in fewer steps, and files that are not theirs."""
import json
import os
import pathlib

from formula_folder import numbers
from harness import Folder, Skip, check, equal, main, runnel, test
from hf_folder import copy_folder, read_tensors, write_tensors

ROOT = pathlib.Path(__file__).parents[2]
MATERIAL = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared')
SHARED = MATERIAL / 'models/stories'
KINDS = ('medusa', 'eagle')
PROMPT = 'Once upon a time, there was a little girl named Lily.'


def heads(kind):
    if not (SHARED / kind).exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    return f'{kind}={SHARED / kind}'


def tokens(lines):
    return [t for line in lines for t in line['tokens']]


@test
def heads_save_steps_and_change_no_text():
    for kind in KINDS:
        for more in (['--temp', '0'], ['--seed', '7'], ['--seed', '7', '--mirostat', '2'], ['--seed', '7', '--regex', '[a-z ,.]{80}']):
            asked = ['run', '-n', '60', '--json', *more, PROMPT]
            plain, drafted = (runnel(*asked, *o).ok().lines for o in ([], ['--speculate', 'ngram,' + heads(kind), '--draft-min', '4']))
            equal(tokens(drafted), tokens(plain))
            figures = drafted[-1]['speculation']
            check(0 < figures['accepted'] < figures['drafted'], kind, more, figures)


@test
def some_of_the_models_own_layers_draft():
    for layers in ('3', '5', '1-2', '0-0,3-4'):
        for more in (['--temp', '0'], ['--seed', '7'], ['--seed', '7', '--mirostat', '2'], ['--seed', '7', '--regex', '[a-z ,.]{80}']):
            asked = ['run', '-n', '60', '--json', *more, PROMPT]
            plain, drafted = (runnel(*asked, *o).ok().lines for o in (['--speculate', 'none'], ['--speculate', f'ngram,layer-skip={layers}', '--draft-min', '4']))
            equal(tokens(drafted), tokens(plain))
            check('layer-skip' in drafted[-1]['speculation']['by_drafter'], layers, more, drafted[-1]['speculation'])
    runnel('run', '-n', '1', '--speculate', 'layer-skip=7', PROMPT).fails(2, 'layer-skip: "7" is neither a number of first layers that draft, 1..6, nor ranges')


@test
def lines_of_batch_name_them():
    for kind in KINDS:
        with Folder() as folder:
            lines = [{'prompt': PROMPT, 'n': 40, 'temp': 0, 'draft_min': 4}, {'prompt': PROMPT, 'n': 40, 'temp': 0, 'speculate': 'none'}]
            (folder / 'lines.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in lines))
            done = runnel('batch', folder / 'lines.jsonl', '--in-order', '--speculate', heads(kind)).ok().lines
            drafted, plain = done[-2:]
            equal(drafted['text'], plain['text'])
            check(drafted['speculation']['accepted'] > 0 and 'speculation' not in plain, drafted, plain)


@test
def heads_are_converted_and_made_smaller():
    for kind in KINDS:
        given = heads(kind)
        with Folder() as folder:
            out = folder / 'heads.gguf'
            last = runnel('convert', '--draft-heads', SHARED / kind, out, '--type', 'q8_0', '--json').ok().lines[-1]
            check(last['tensors'] > 3, last)
            for file in (f'{kind}={out}', given):
                asked = ['run', '-n', '60', '--temp', '0', '--json', '--speculate', file, '--draft-min', '4', PROMPT]
                figures = runnel(*asked).ok().lines[-1]['speculation']
                check(figures['accepted'] > 15, file, figures)
            runnel('convert', '--draft-heads', out, folder / 'again.gguf', '--type', 'q4_0').fails(2, 'is Q8_0 already')
    runnel('convert', '--draft-heads', '--lora', '-m', 'x', 'a', 'b').fails(2, '--draft-heads: has no effect with --lora')


MIMO = {'embedding': 'token_layernorm', 'hidden': 'hidden_layernorm', 'matrix': 'input_proj', 'norm': 'final_layernorm'}
DEEPSEEK = {'embedding': 'enorm', 'hidden': 'hnorm', 'matrix': 'eh_proj', 'norm': 'shared_head.norm'}


def with_next_token_layers(golden, to, n, first, names, **changed):
    """The golden with n such layers, copies of its last one; first: how the first one's names begin, with its number at the end."""
    source = MATERIAL / 'goldens' / golden
    if not source.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    folder = copy_folder(source, to, **changed)
    tensors = read_tensors(folder / 'model.safetensors')
    last = max(int(name.split('.')[2]) for name in tensors if name.startswith('model.layers.'))
    front, at = first.rsplit('.', 1)
    embd = tensors['model.norm.weight'][1][0]
    shapes = {'embedding': [embd], 'hidden': [embd], 'matrix': [embd, 2 * embd], 'norm': [embd]}
    for k in range(n):
        own = f'{front}.{int(at) + k}.'
        tensors |= {own + name.split('.', 3)[3]: t for name, t in list(tensors.items()) if name.startswith(f'model.layers.{last}.')}
        tensors |= {f'{own}{names[part]}.weight': ('F32', shape, numbers(f'{own}{part}_norm' if len(shape) == 1 else own + part, shape))
                    for part, shape in shapes.items()}
    write_tensors(folder / 'model.safetensors', tensors)
    return folder


def next_token_layers_draft(folder, n):
    runnel('convert', folder, converted := folder / 'model.gguf').ok()
    said = []
    for model in (folder, converted):
        asked = ['run', '-m', model, '-n', '60', '--ignore-eos', '--seed', '7', '--json', 'The cat sat on the mat']
        plain, drafted = (runnel(*asked, *o).ok().lines for o in (['--no-speculate'], ['--speculate', 'mtp', '--draft-min', '6']))
        equal(tokens(drafted), tokens(plain))
        figures = drafted[-1]['speculation']
        check(figures['drafted'] > 100 and sum(d > 0 for d, _ in figures['by_depth']) > n, figures)
        said.append(tokens(plain))
    equal(said[0], said[1])


@test
def next_token_layers_of_mimo_draft_from_folder_and_file():
    with Folder() as folder:
        mimo = with_next_token_layers('qwen2', folder / 'mimo', 1, 'model.mtp_layers.0', MIMO, architectures=['MiMoForCausalLM'],
                                      model_type='mimo', num_nextn_predict_layers=1)
        next_token_layers_draft(mimo, 1)


@test
def several_next_token_layers_draft_one_after_the_other():
    with Folder() as folder:
        two = with_next_token_layers('deepseek-v3', folder / 'two', 2, 'model.layers.3', DEEPSEEK, num_nextn_predict_layers=2)
        next_token_layers_draft(two, 2)


@test
def files_that_are_no_heads_are_refused():
    for kind in KINDS:
        runnel('run', '--speculate', f'{kind}=/nowhere/heads', PROMPT).fails(1, '/nowhere/heads: ')
        with Folder() as folder:
            runnel('run', '--speculate', f'{kind}={folder}', PROMPT).fails(1, f'{folder}: holds no ')
            (folder / 'x.safetensors').write_bytes(b'not safetensors')
            runnel('run', '--speculate', f'{kind}={folder}/x.safetensors', PROMPT).fails(1, 'x.safetensors: ')


main()
