#!/usr/bin/env python3
"""tests/cli/published_archs_test.py - classes of folders beyond the goldens against transformers, logits and greedy text; and folders that hold a
text model beside a vision part.

published.json has the classes, their shapes and what transformers made of them (make_published.py), or of the same tensors under other names; weights follow from a formula."""
import array
import json
import os
import pathlib

from formula_folder import numbers, write_formula_folder
from harness import ROOT, Folder, Skip, check, equal, main, runnel, test
from hf_folder import copy_folder, read_tensors, write_tensors
from peer_rule import command
from published import FAR, floats, logits, peer_difference

GOLDEN = json.loads((pathlib.Path(__file__).parent / 'published.json').read_text())
MODELS = GOLDEN['models']


def compare(name, row, npy):
    x, ids = floats(npy), row['ids']
    n, first = len(x) // len(ids), GOLDEN['n_prompt'] - 1
    for at, want in zip((first, len(ids) - 1), row['logits'], strict=True):
        worst = max(abs(a - b) for a, b in zip(x[at * n:(at + 1) * n], want, strict=True))
        check(worst <= row['tolerance'], f'{name}: the logits behind token {at} differ by {worst:.3g}, allowed {row["tolerance"]:.3g}')
    greedy = [max(range(n), key=lambda i: x[at * n + i]) for at in range(first, len(ids) - 1)]
    equal(greedy, ids[first + 1:], f'{name}: greedy tokens')


@test
def every_published_class_gives_the_logits_and_greedy_text_of_transformers():
    for name, row in MODELS.items():
        with Folder() as folder:
            source = write_formula_folder(folder / 'source', row['config'], row['shapes'])
            want = logits(source, row['ids'], folder)
            compare(name, row, want)
            runnel('convert', source, folder / 'made.gguf').ok()
            equal(logits(folder / 'made.gguf', row['ids'], folder), want, name)


@test
def llama_cpp_gives_the_same_logits_where_it_gave_them():
    command()
    for name, row in MODELS.items():
        if not isinstance(row['llama.cpp'], float):
            continue
        with Folder() as folder:
            worst = peer_difference(row, folder)
            check(worst <= FAR, f'{name}: llama.cpp differs by {worst:.3g}')


def deeper(row, n):
    """The same with n layers, all shaped like the first."""
    shapes = {x.replace('layers.0.', f'layers.{i}.'): s for x, s in row['shapes'].items() for i in range(n) if 'layers.0.' in x}
    shapes |= {x: s for x, s in row['shapes'].items() if '.layers.' not in x}
    return row | {'config': row['config'] | {'num_hidden_layers': n}, 'shapes': shapes}


@test
def llama_cpp_takes_from_the_number_of_layers_how_baichuan_attends():
    command()
    for name, n in ('baichuan', 32), ('baichuan-alibi', 40):
        with Folder() as folder:
            worst = peer_difference(deeper(MODELS[name], n), folder)
            check(worst <= FAR, f'{name} of {n} layers: llama.cpp differs by {worst:.3g}')


@test
def llama_cpp_looks_gelu_up_which_moves_logits_of_mpt():
    command()
    with Folder() as folder:
        worst = peer_difference(MODELS['mpt'], folder)
        check(FAR < worst <= 2.5 * FAR, f'mpt: llama.cpp differs by {worst:.3g}')


def rewritten(row, folder, name=lambda x: x, tensor=lambda x, t: t, text=lambda x: None):
    """The model's folder with other names, tensors and members of text_config."""
    source = write_formula_folder(folder, row['config'], row['shapes'])
    config = json.loads(json.dumps(row['config']))
    text(config['text_config'])
    (source / 'config.json').write_text(json.dumps(config))
    made = {name(x): tensor(x, t) for x, t in read_tensors(source / 'model.safetensors').items()}
    write_tensors(source / 'model.safetensors', made)
    return source


@test
def names_of_tensors_are_taken_in_each_form_that_was_published():
    def front(text, head, other=''):
        return lambda x: (x.replace('language_model.model.', text) if x.startswith('language_model.model.')
                          else x.replace('language_model.lm_head.', head) if 'lm_head' in x else other + x)
    forms = {'as it is saved': front('language_model.model.', 'language_model.lm_head.'),
             'as transformers 5 has it': front('model.language_model.', 'lm_head.', 'model.'),
             'as Idefics': front('model.text_model.', 'lm_head.', 'model.')}
    for model in ('gemma3-vision', 'mistral3-vision'):
        row = MODELS[model]
        for what, name in forms.items():
            with Folder() as folder:
                compare(f'{model}, {what}', row, logits(rewritten(row, folder / 'source', name), row['ids'], folder))


@test
def members_that_text_config_leaves_out_are_those_of_its_class():
    def leave_out(text):
        equal((text.pop('rms_norm_eps'), text.pop('query_pre_attn_scalar')), (1e-6, 256))
        equal({k: v['rope_theta'] for k, v in text.pop('rope_parameters').items()}, {'full_attention': 1e6, 'sliding_attention': 1e4})
        text.pop('model_type')
    row = MODELS['gemma3-vision']
    with Folder() as folder:
        compare('gemma3', row, logits(rewritten(row, folder / 'source', text=leave_out), row['ids'], folder))
        said = rewritten(row, folder / 'said', text=lambda text: text.update(sliding_window=None, layer_types=None))
        check(logits(said, row['ids'], folder) != logits(folder / 'source', row['ids'], folder), 'null is no window, and not left out')
        other = rewritten(row, folder / 'other', text=lambda text: text.update(model_type='t5'))
        runnel('info', '-m', other).fails(1, 'member text_config.model_type: "t5" is not supported in a Gemma3ForConditionalGeneration')
        (other / 'config.json').write_text(json.dumps(row['config'] | {'text_config': 7}))
        runnel('info', '-m', other).fails(1, 'member text_config: is a number, must be an object')


@test
def a_vision_part_is_left_aside_and_info_names_it():
    row = MODELS['gemma3-vision']
    with Folder() as folder:
        source = rewritten(row, folder / 'source')
        check('vision part: 2 tensors, not used yet' in runnel('info', '-m', source).ok().text)
        info, = runnel('info', '-m', source, '--json').ok().lines
        equal(info['left_out'], 'vision part: 2 tensors, not used yet')
        five = read_tensors(source / 'model.safetensors') | {'audio_tower.conv.weight': ('F32', [1, 1, 1, 1, 2], bytes(8))}
        write_tensors(source / 'model.safetensors', five)
        info, = runnel('info', '-m', source, '--json').ok().lines
        equal(info['left_out'], 'vision part: 2 tensors, audio part: 1 tensors, not used yet')
        compare('five dimensions', row, logits(source, row['ids'], folder))
        write_tensors(source / 'model.safetensors', five | {'model.extra.weight': ('F32', [2], bytes(8))})
        runnel('info', '-m', source).fails(1, 'tensor model.extra.weight: ')
        short = {x: t for x, t in five.items() if not x.endswith('layers.1.mlp.up_proj.weight')}
        write_tensors(source / 'model.safetensors', short)
        runnel('info', '-m', source).fails(1, 'layers.1.mlp.up_proj.weight: missing')


@test
def next_token_layers_that_are_not_read_are_left_out_and_info_names_them():
    row = MODELS['ernie4.5-moe']
    with Folder() as folder:
        source = write_formula_folder(folder / 'source', row['config'], row['shapes'])
        info, = runnel('info', '-m', source, '--json').ok().lines
        equal(info['left_out'], None)
        more = {f'model.{x}.0.weight': ('F32', [2], bytes(8)) for x in ('mtp_emb_norm', 'mtp_linear_proj')}
        write_tensors(source / 'model.safetensors', read_tensors(source / 'model.safetensors') | more)
        said = 'next-token-prediction layers: 2 tensors, not used: such layers of this architecture are not read'
        info, = runnel('info', '-m', source, '--json').ok().lines
        equal(info['left_out'], said)
        check('left out' in (text := runnel('info', '-m', source).ok().text) and said in text)
        compare('ernie', row, logits(source, row['ids'], folder))


def turned(t):
    """Matrices of experts with rows and columns exchanged."""
    dtype, (n, rows, cols), raw = t
    at = lambda e, r, c: 4 * ((e * rows + r) * cols + c)
    return dtype, [n, cols, rows], b''.join(raw[at(e, r, c):][:4] for e in range(n) for c in range(cols) for r in range(rows))


def together(tensors, layer, n):
    """The experts of a layer in two tensors, gate above up."""
    made, front = dict(tensors), f'model.language_model.layers.{layer}.mlp.experts'
    part = lambda e, p: made.pop(f'{front}.{e}.{p}_proj.weight')
    gates, ups, downs = ([part(e, p) for e in range(n)] for p in ('gate', 'up', 'down'))
    shape = gates[0][1]
    made[f'{front}.gate_up_proj'] = 'F32', [n, 2 * shape[0], shape[1]], b''.join(g[2] + u[2] for g, u in zip(gates, ups, strict=True))
    made[f'{front}.down_proj'] = 'F32', [n, *downs[0][1]], b''.join(d[2] for d in downs)
    return made


@test
def experts_are_taken_one_by_one_and_together_by_rows_and_by_columns():
    with Folder() as folder:
        row = MODELS['qwen3-vl-moe']
        columns = rewritten(row, folder / 'columns', tensor=lambda x, t: turned(t) if '.experts.' in x else t)
        check(read_tensors(columns / 'model.safetensors')['model.language_model.layers.0.mlp.experts.down_proj'][1] == [4, 20, 32])
        compare('qwen3-vl-moe by columns', row, logits(columns, row['ids'], folder))
        row = MODELS['qwen3.5-moe-vision']
        fused = rewritten(row, folder / 'fused')
        tensors = read_tensors(fused / 'model.safetensors')
        for layer in range(2):
            tensors = together(tensors, layer, 4)
        write_tensors(fused / 'model.safetensors', tensors)
        compare('qwen3.5-moe together', row, logits(fused, row['ids'], folder))


@test
def a_norm_without_its_epsilon_has_that_of_its_class():
    row = MODELS['starcoder']
    with Folder() as folder:
        config = {name: v for name, v in row['config'].items() if name != 'layer_norm_epsilon'}
        equal(len(config), len(row['config']) - 1)
        source = write_formula_folder(folder / 'source', config, row['shapes'])
        compare('starcoder', row, logits(source, row['ids'], folder))
        config = {name: v for name, v in MODELS['nemotron']['config'].items() if name != 'norm_eps'}
        source = write_formula_folder(folder / 'other', config, MODELS['nemotron']['shapes'])
        runnel('info', '-m', source).fails(1, 'member layer_norm_eps: missing')


@test
def another_token_may_end_a_text_than_an_answer():
    """Qwen3-Embedding: tokenizer.json puts <|endoftext|> behind a text, while eos_token is <|im_end|>."""
    golden = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared', 'goldens/qwen3')
    if not golden.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    with Folder() as folder:
        source = copy_folder(golden, folder / 'source')
        tokens = json.loads((source / 'tokenizer.json').read_text())
        ids = {t['content']: t['id'] for t in tokens['added_tokens']}
        put = {'type': 'TemplateProcessing', 'single': [{'Sequence': {'id': 'A', 'type_id': 0}}, {'SpecialToken': {'id': '</s>', 'type_id': 0}}],
               'pair': [], 'special_tokens': {'</s>': {'id': '</s>', 'ids': [ids['</s>']], 'tokens': ['</s>']}}}
        (source / 'tokenizer.json').write_text(json.dumps(tokens | {'post_processor': put}))
        config = json.loads((source / 'tokenizer_config.json').read_text())
        (source / 'tokenizer_config.json').write_text(json.dumps(config | {'eos_token': '<|im_end|>'}))
        runnel('convert', source, folder / 'made.gguf').ok()
        for model in source, folder / 'made.gguf':
            equal(runnel('tokenize', '-m', model, '--add-special', 'a').ok().text.split()[-1], str(ids['</s>']))
            ends = runnel('info', '-m', model, '--json').ok().lines[0]['end_tokens']
            check({ids['</s>'], ids['<|im_end|>']} <= {t['id'] for t in ends}, ends)


@test
def a_file_keeps_the_normalizer_and_the_places_of_added_tokens():
    golden = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared', 'goldens/qwen3')
    if not golden.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    texts = ['e\u0301 A\u030a', 'ABC <|im_end|> d', 'a\u0345\u08d3', 'x  <|im_end|>']
    with Folder() as folder:
        source = copy_folder(golden, folder / 'source')
        tokens = json.loads((source / 'tokenizer.json').read_text())
        plain = {text: runnel('tokenize', '-m', source, '--parse-special', text).ok().text for text in texts}
        added = [t | {'lstrip': True} if t['content'] == '<|im_end|>' else t for t in tokens['added_tokens']]
        steps = {'type': 'Sequence', 'normalizers': [{'type': 'NFC'}, {'type': 'Lowercase'}]}
        (source / 'tokenizer.json').write_text(json.dumps(tokens | {'normalizer': steps, 'added_tokens': added}))
        said = runnel('convert', source, folder / 'made.gguf').ok().err
        for key in 'normalizer', 'token_flags':
            check(f"key tokenizer.runnel.{key}: is runnel's own" in said, said)
        differ = 0
        for text in texts:
            ids = [runnel('tokenize', '-m', model, '--parse-special', text).ok().text for model in (source, folder / 'made.gguf')]
            equal(ids[0], ids[1], text)
            differ += ids[0] != plain[text]
        check(differ >= 3, 'the steps change ids')


@test
def a_class_that_is_not_run_is_refused_with_the_reason():
    row = MODELS['starcoder']
    with Folder() as folder:
        for name, why in (('T5ForConditionalGeneration', 'it is an encoder-decoder'), ('LLaDAModelLM', 'it is a diffusion model'), ('Rwkv5ForCausalLM', "RWKV's recurrence"), ('Rwkv7ForCausalLM', 'of RWKV-7 the names')):
            source = write_formula_folder(folder / name, row['config'] | {'architectures': [name]}, row['shapes'])
            runnel('info', '-m', source).fails(1, f'member architectures: "{name}" is not supported: {why}')


@test
def a_formula_makes_the_same_weights_everywhere():
    equal(list(array.array('f', numbers('model.norm.weight', [4]))), [0.5954513549804688, 0.6691970825195312, 0.6502456665039062, 0.775604248046875])


main()
