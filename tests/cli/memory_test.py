#!/usr/bin/env python3
"""tests/cli/memory_test.py - what `info` and `bench` say of memory is what the system counts, and --no-repack changes no text."""
import functools
import json
import math
import os
import pathlib
import resource
import subprocess

from harness import PROGRAM, Folder, Skip, check, environment, equal, main, runnel, synth_model, test

SHAPE = ('--shape', 'mid')    # 138 million parameters: 67 MB as Q4_0
IDS = '1,427,438,261,399'
KINDS = ('file', 'copied', 'repacked', 'kv', 'buffers', 'heap')
CHUNK = 1 << 20
REST = 4 << 20      # program and libraries: no part of an engine
NEAR = 0.05
ROUND = 10 << 20    # repacking holds so much of the file on its way, and gives it back


def skip_instrumented():
    """A sanitizer's own memory is many times the program's."""
    program = pathlib.Path(PROGRAM).read_bytes()
    if b'__asan_init' in program or b'__tsan_init' in program:
        raise Skip('an instrumented program has memory of its own')


def peak_of(*args):
    """(stdout as JSON, what wait4() says was the most in memory) of a run."""
    child = subprocess.Popen([PROGRAM, *map(str, args)], env=environment(), stdout=subprocess.PIPE)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    equal(child.returncode, 0, args)
    return json.loads(out), usage.ru_maxrss * 1024


def write_folder(folder):
    """A Hugging Face folder of the Llama family, 103 MB of random BF16 numbers near 0.01, without a tokenizer."""
    n_layer, n_embd, n_head, n_kv, n_ff, n_vocab = 4, 1024, 16, 4, 2816, 8000
    config = {'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'hidden_size': n_embd, 'intermediate_size': n_ff,
              'num_attention_heads': n_head, 'num_key_value_heads': n_kv, 'num_hidden_layers': n_layer, 'vocab_size': n_vocab,
              'max_position_embeddings': 512, 'rms_norm_eps': 1e-5, 'rope_theta': 10000.0, 'tie_word_embeddings': True,
              'torch_dtype': 'bfloat16', 'hidden_act': 'silu'}
    n_keys = n_embd // n_head * n_kv
    shapes = {'model.embed_tokens.weight': [n_vocab, n_embd], 'model.norm.weight': [n_embd]}
    for i in range(n_layer):
        for name, shape in {'input_layernorm': [n_embd], 'post_attention_layernorm': [n_embd], 'self_attn.q_proj': [n_embd, n_embd],
                            'self_attn.k_proj': [n_keys, n_embd], 'self_attn.v_proj': [n_keys, n_embd],
                            'self_attn.o_proj': [n_embd, n_embd], 'mlp.gate_proj': [n_ff, n_embd], 'mlp.up_proj': [n_ff, n_embd],
                            'mlp.down_proj': [n_embd, n_ff]}.items():
            shapes[f'model.layers.{i}.{name}.weight'] = shape
    header, at = {}, 0
    for name, shape in shapes.items():
        n = 2 * math.prod(shape)
        header[name] = {'dtype': 'BF16', 'shape': shape, 'data_offsets': [at, at + n]}
        at += n
    text = json.dumps(header).encode()
    (folder / 'config.json').write_text(json.dumps(config))
    with open(folder / 'model.safetensors', 'wb') as file:
        file.write(len(text).to_bytes(8, 'little') + text)
        for i in range(0, at, CHUNK):    # a child's ru_maxrss is not below what this process held when it was started
            numbers = bytearray(min(CHUNK, at - i))
            numbers[0::2] = os.urandom(len(numbers) // 2)
            numbers[1::2] = os.urandom(len(numbers) // 2).translate(bytes(0x3c | b & 0x80 for b in range(256)))
            file.write(numbers)


def accounted(memory):
    return sum(memory[kind]['resident'] for kind in KINDS)


def near(got, want, *what):
    check(want * (1 - NEAR) <= got <= want * (1 + NEAR), *what, f'got {got}, want {want} within {NEAR:.0%}')


@functools.cache
def own_share():
    """What the program and its libraries take themselves: the rest, where the model is next to nothing."""
    with Folder() as folder:
        synth_model(folder / 'm.gguf', '--shape', 'tiny', '--type', 'q4_0')
        memory = json.loads(runnel('info', folder / 'm.gguf', '--json').ok().text)['engine']['memory']
    rest = memory['process_resident'] - accounted(memory)
    check(0 <= rest <= 2 * REST, 'the program itself', rest)
    return rest


def check_memory(memory, peak, what):
    whole = memory['process_resident']
    check(abs(whole - accounted(memory) - own_share()) <= NEAR * whole, what, 'parts', memory, own_share())
    at_start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024    # which the child's begins with
    check(whole * (1 - NEAR) <= peak <= max(whole * (1 + NEAR) + ROUND, at_start), what, 'the whole', whole, peak)
    for kind in KINDS:
        part = memory[kind]
        check(part['resident'] <= part['planned'] * 1.01 + 300000, what, kind, part)


@test
def the_parts_that_bench_and_info_report_are_within_5_percent_of_what_the_system_counts():
    skip_instrumented()
    with Folder() as folder:
        for kind in ('Q4_0', 'Q4_K_M', 'Q8_0', 'F16'):
            model = folder / 'm.gguf'
            synth_model(model, *SHAPE, '--type', kind)
            for more in ([], ['--no-repack'], ['--load', 'read']):
                (row,), peak = peak_of('bench', '-m', model, '-p', 40, '-n', 2, '-r', 1, '--no-limits', '--json', *more)
                memory = row['memory']
                check_memory(memory, peak, (kind, more, 'bench'))
                size = model.stat().st_size
                if more == ['--no-repack']:
                    equal(memory['repacked'], {'planned': 0, 'resident': 0})
                    near(memory['file']['resident'], size, kind, 'used in the file')
                elif not more and memory['repacked']['planned']:    # not with --cpu ref
                    equal(memory['repacked']['resident'], memory['repacked']['planned'])
                    check(memory['file']['resident'] < size / 10, kind, 'no second copy is left', memory)
                elif more:
                    equal(memory['file']['resident'], size)
            info, peak = peak_of('info', model, '-c', 64, '--json')
            check_memory(info['engine']['memory'], peak, (kind, 'info'))


@test
def a_folder_is_reported_as_well_and_its_rows_that_were_put_in_order_are_named():
    skip_instrumented()
    with Folder() as folder:
        write_folder(folder)
        text = runnel('info', folder, '-c', 64).ok().text
        check('rows reordered' in text and 'copied when the model was opened' in text, text)
        for more in ([], ['--no-repack']):
            (row,), peak = peak_of('bench', '-m', folder, '-p', 40, '-n', 2, '-r', 1, '--no-limits', '--json', *more)
            memory = row['memory']
            check_memory(memory, peak, (more, 'folder'))
            # queries and keys: 20 heads of 64 rows in each of 4 layers; alignment aside
            near(memory['copied']['resident'], 4 * 20 * 64 * 1024 * 2, 'copied')
            # of the file no more than the embedding's rows, where the rest is repacked
            check(more or not memory['repacked']['planned'] or memory['file']['resident'] <= 8000 * 1024 * 2 + 100000, memory)


@test
def info_says_what_is_copied_and_what_stays_in_the_file():
    with Folder() as folder:
        synth_model(folder / 'm.gguf', '--shape', 'tiny', '--type', 'q4_0')
        text = runnel('info', folder / 'm.gguf').ok().text
        check('copied into the layout of ' in text or 'none repacked' in text, text)
        text = runnel('info', folder / 'm.gguf', '--no-repack').ok().text
        check('used in the file, none repacked: --no-repack' in text, text)
        for label in ('used in the file', 'keys and values of', 'row buffers', 'vocabulary and tables', 'together', 'limit',
                      'in huge pages'):
            check(f'\n{label}' in text, label, text)


@test
def without_repacking_the_text_and_every_probability_stay():
    with Folder() as folder:
        for kind in ('Q4_K_M', 'Q5_K_M', 'Q5_1', 'BF16', 'Q8_0', 'IQ4_XS'):
            synth_model(folder / 'm.gguf', '--shape', 'tiny', '--type', kind)
            many = ','.join(str(7 * i % 1000) for i in range(70))    # rows enough for the products of many
            for args in (['run', '--ids', IDS, '-n', 9, '--seed', 3, '--ignore-eos'], ['score', '--ids', IDS, '--json'],
                         ['score', '--ids', many, '--json']):
                command = [*args, '-m', folder / 'm.gguf']
                equal(runnel(*command, '--no-repack').ok().out, runnel(*command).ok().out, (kind, args))


main()
