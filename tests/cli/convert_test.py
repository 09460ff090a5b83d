#!/usr/bin/env python3
"""tests/cli/convert_test.py - `runnel convert`, `runnel quantize`, `runnel imatrix`: what they print, refuse, and leave behind."""
import os
import pathlib
import resource
import signal
import struct
import subprocess
import time

from gguf import join, parts, with_string
from harness import (MODEL, PROGRAM, ROOT, Folder, Skip, Terminal, check, end, environment, equal, interrupt, main, runnel,
                     skip_under_tsan, start, test)
from hf_folder import copy_folder, write_folder

TEXT = 'Once upon a time, there was a little girl named Lily. She loved to play outside. ' * 12


def shared(path):
    base = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared')
    if not (base / path).exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    return base / path


def f32_of(folder):
    """The default model with its weights as F32: something that may be quantized."""
    runnel('quantize', MODEL, folder / 'f32.gguf', 'F32').ok()
    return folder / 'f32.gguf'


@test
def a_folder_becomes_a_file_that_runs():
    with Folder() as folder:
        hf = write_folder(folder / 'tiny')
        done = runnel('convert', hf, folder / 'out.gguf').ok()
        equal(done.text.splitlines()[0].split(), ['token_embd.weight', 'F32', '2.0', 'KiB'])
        check(done.text.splitlines()[-1].endswith('11 tensors, 38 KiB -> 38 KiB, 32.00 bits a weight'), done.text)
        want = runnel('run', '-m', hf, '--ids', '1,2,3', '-n', '8', '--temp', '0', '--json').ok().lines[:-1]
        equal(runnel('run', '-m', folder / 'out.gguf', '--ids', '1,2,3', '-n', '8', '--temp', '0', '--json').ok().lines[:-1],
              want)
        info, = runnel('info', folder / 'out.gguf', '--json').ok().lines
        equal(info['architecture'], 'llama')
        q8 = runnel('convert', hf, folder / 'q8.gguf', '--type', 'q8_0', '-t', '2').ok()
        check('blk.0.attn_q.weight' in q8.text and 'F32  -> Q8_0' in q8.text, q8.text)


@test
def the_default_models_folder_gives_the_same_text_as_its_file():
    hf = shared('models/stories/hf')
    with Folder() as folder:
        runnel('convert', hf, folder / 'q8.gguf', '--type', 'q8_0').ok()
        info, = runnel('info', folder / 'q8.gguf', '--json').ok().lines
        if info['tokenizer'] == 'none':
            ids = runnel('tokenize', '--add-special', 'Once upon a time').ok().text.strip()
            prompt = ('--ids', ids)
        else:
            prompt = ('-p', 'Once upon a time')
        got = [t for line in runnel('run', '-m', folder / 'q8.gguf', *prompt, '-n', '40', '--temp', '0', '--json').ok().lines
               for t in line['tokens']]
        want = [t for line in runnel('run', *prompt, '-n', '40', '--temp', '0', '--json').ok().lines for t in line['tokens']]
        equal(got, want)


@test
def latent_attention_keeps_yarns_magnitude_however_the_folder_says_it():
    yarn = {'type': 'yarn', 'factor': 4, 'original_max_position_embeddings': 64}
    rows = [('as published models do', {'mscale': 0.707, 'mscale_all_dim': 0.707}, 0.0707),
            ('the other published pair', {'mscale': 1.0, 'mscale_all_dim': 1.0}, 0.1),
            ('two of them: cosines grow too', {'mscale': 1.0, 'mscale_all_dim': 0.8}, None),
            ('only cosines grow', {}, None)]
    golden, ids = shared('goldens/deepseek-v3'), ','.join(map(str, range(40, 100)))
    with Folder() as folder:
        for i, (why, mscales, multiplier) in enumerate(rows):
            hf, file, logits = copy_folder(golden, folder / f'hf{i}', rope_scaling=yarn | mscales), folder / 'out.gguf', []
            runnel('convert', hf, file).ok()
            for model in hf, file:
                runnel('score', '-m', model, '--ids', ids, '--logits', folder / 'logits.npy').ok()
                logits.append((folder / 'logits.npy').read_bytes())
            check(logits[0] == logits[1], f'{why}: other logits from the file')
            pairs = dict(parts(file.read_bytes())[1])
            if multiplier:      # DeepSeek-V2 and V3 as llama.cpp's converter writes them
                check('deepseek2.rope.scaling.attn_factor' not in pairs, why)
                said, = struct.unpack('<f', pairs['deepseek2.rope.scaling.yarn_log_multiplier'][-4:])
                check(abs(said - multiplier) < 1e-8, why, said)


@test
def the_report_has_a_line_for_each_tensor():
    with Folder() as folder:
        source = f32_of(folder)
        lines = runnel('quantize', source, folder / 'out.gguf', 'q4_k_m', '--json').ok().lines
        equal(len(lines), 57)
        by_name = {line['name']: line for line in lines[:-1]}
        equal(by_name['blk.0.attn_norm.weight'] | {'bytes': 0},
              {'name': 'blk.0.attn_norm.weight', 'from': 'F32', 'to': 'F32', 'elements': 256, 'bytes': 0, 'error': 0,
               'note': None})
        equal([by_name[f'blk.{i}.attn_v.weight']['to'] for i in range(6)], ['Q4_K', 'Q4_K', 'Q6_K', 'Q4_K', 'Q4_K', 'Q6_K'])
        equal(by_name['token_embd.weight']['to'], 'Q6_K')
        for line in lines[:-1]:
            check((line['error'] > 0) == (line['to'] != 'F32') and line['error'] < 0.12, line)
        equal(lines[-1]['file'], str(folder / 'out.gguf'))
        equal(lines[-1]['bytes'], sum(line['bytes'] for line in lines[:-1]))
        check(4.5 < lines[-1]['bits_per_weight'] < 5.5, lines[-1])
        page = runnel('quantize', source, folder / 'again.gguf', 'Q4_K_M').ok().text
        equal(len(page.splitlines()), 57)
        check(all(len(line) <= 80 for line in page.splitlines()[:-1]), page)
        equal((folder / 'out.gguf').read_bytes(), (folder / 'again.gguf').read_bytes())


@test
def every_pair_of_the_source_is_carried_over():
    with Folder() as folder:
        runnel('quantize', MODEL, folder / 'out.gguf', 'Q8_0').ok()
        before, after = parts(MODEL.read_bytes()), parts((folder / 'out.gguf').read_bytes())
        equal(after[1], before[1])
        equal(after[2], before[2])
        equal(after[3][:len(before[3])], before[3])


@test
def quantized_files_say_nearly_what_their_source_says():
    with Folder() as folder:
        source = f32_of(folder)
        (folder / 'text').write_text(TEXT)
        last = 1
        for kind, worst in (('Q4_0', 0.3), ('Q4_K_M', 0.2), ('Q5_K_M', 0.05), ('Q6_K', 0.02), ('Q8_0', 0.01)):
            runnel('quantize', source, folder / 'q.gguf', kind).ok()
            result, = runnel('score', '-m', folder / 'q.gguf', '--text-file', folder / 'text', '--kl', source, '--kv-type', 'f32',
                             '--json').ok().lines
            kl = result['kl']
            check(0 < kl['mean'] < worst and kl['mean'] < kl['p99'] and kl['mean'] < last, kind, kl)
            last = kl['mean']
        same, = runnel('score', '-m', source, '--text-file', folder / 'text', '--kl', source, '--json').ok().lines
        equal(same['kl'], {'mean': 0, 'p99': 0, 'top1': 1})


@test
def an_importance_matrix_is_measured_and_used():
    with Folder() as folder:
        source = f32_of(folder)
        (folder / 'text').write_text(TEXT)
        done = runnel('imatrix', '-m', source, '-f', folder / 'text', '-o', folder / 'im.gguf', '--chunk', '64').ok()
        equal((done.out, done.err), (b'', ''))
        runnel('imatrix', '-m', source, '-f', '-', '-o', folder / 'im2.gguf', '--chunk', '64', '-t', '2',
               stdin=TEXT.encode()).ok()
        keys = dict(parts((folder / 'im.gguf').read_bytes())[1])
        check(b'text' in keys['imatrix.datasets'] and keys['imatrix.chunk_size'].endswith(struct.pack('<I', 64)), keys)
        equal(parts((folder / 'im.gguf').read_bytes())[2:], parts((folder / 'im2.gguf').read_bytes())[2:])
        means = []
        for name, more in (('plain', ()), ('guided', ('--imatrix', folder / 'im.gguf'))):
            runnel('quantize', source, folder / f'{name}.gguf', 'Q4_0', *more).ok()
            result, = runnel('score', '-m', folder / f'{name}.gguf', '--text-file', folder / 'text', '--kl', source,
                             '--json').ok().lines
            means.append(result['kl']['mean'])
        check(means[1] < means[0], 'guided by the same text, the divergence is smaller', means)
        nothing = runnel('quantize', source, folder / 'never.gguf', 'F16', '--imatrix', folder / 'im.gguf')
        nothing.fails(2, 'imatrix: no matrix that it knows is rounded to blocks')
        check(not (folder / 'never.gguf').exists(), 'nothing is written')


@test
def some_matrices_can_be_kept_in_another_type():
    with Folder() as folder:
        lines = runnel('quantize', f32_of(folder), folder / 'out.gguf', 'Q4_0', '--keep', '*ffn_down*=Q6_K', '--keep',
                       'blk.0.*=f16', '--json').ok().lines
        types = {line['name']: line['to'] for line in lines[:-1]}
        equal([types[f'blk.{i}.{n}.weight'] for i in (0, 1) for n in ('ffn_down', 'attn_q', 'attn_norm')],
              ['F16', 'F16', 'F32', 'Q6_K', 'Q4_0', 'F32'])


@test
def wrong_usage_is_refused():
    with Folder() as folder:
        out = folder / 'out.gguf'
        runnel('convert').fails(2, 'convert: needs a folder and an output file')
        runnel('convert', folder).fails(2, 'needs a folder')
        runnel('convert', MODEL, out).fails(2, 'is not a folder: quantize takes GGUF files')
        runnel('convert', folder / 'nowhere', out).fails(1, 'nowhere: cannot be opened: No such file or directory')
        runnel('convert', folder, out).fails(1, 'config.json')
        runnel('convert', folder, out, '--type', 'q9').fails(2, 'type: q9 is unknown; F32, F16')
        runnel('quantize', MODEL, out).fails(2, 'an output file and a type')
        runnel('quantize', MODEL, out, 'Q9_9').fails(2, 'type: Q9_9 is unknown')
        runnel('quantize', MODEL, out, 'Q8_K').fails(2, 'type: Q8_K is unknown; F32, F16')
        runnel('quantize', folder, out, 'Q8_0').fails(2, 'is a folder: convert makes a GGUF file of it first')
        runnel('quantize', MODEL, out, 'Q4_0').fails(2, 'token_embd.weight: is Q8_0 already')
        runnel('quantize', MODEL, out, 'Q4_0', '--keep', 'x').fails(2, "--keep: 'x' is not PATTERN=TYPE")
        runnel('quantize', MODEL, out, 'Q8_0', '--keep', 'x=F16').fails(2, 'no matrix matches x')
        runnel('quantize', MODEL, out, 'Q8_0', '--imatrix', MODEL).fails(1, 'not an importance matrix')
        runnel('quantize', MODEL, out, 'Q8_0', '-t', '65').fails(2, '-t: 65 is outside 1..64')
        runnel('quantize', folder / 'no.gguf', out, 'Q8_0').fails(1, 'no.gguf: cannot be opened')
        runnel('imatrix', '-f', '/dev/null').fails(2, '-o OUT.gguf')
        runnel('imatrix', '-f', '/nowhere', '-o', out).fails(1, '/nowhere')
        runnel('imatrix', '-f', '-', '-o', out, '--chunk', '513', stdin=b'x').fails(2, '513 is outside 2..512')
        equal(os.listdir(folder), [])


@test
def allowing_it_quantizes_again():
    with Folder() as folder:
        done = runnel('quantize', MODEL, folder / 'out.gguf', 'Q4_0', '--allow-requantize').ok()
        check('Q8_0 -> Q4_0' in done.text, done.text)
        runnel('run', '-m', folder / 'out.gguf', '-p', 'Once', '-n', '4', '--temp', '0').ok()


@test
def the_input_stays_when_the_output_is_the_same_file():
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(MODEL.read_bytes())
        (folder / 'link.gguf').symlink_to('m.gguf')
        for out in ('m.gguf', 'link.gguf', './m.gguf'):
            runnel('quantize', 'm.gguf', out, 'F32', cwd=folder).fails(2, f'{out}: is an input file too')
        equal((folder / 'm.gguf').read_bytes(), MODEL.read_bytes())
        equal(sorted(os.listdir(folder)), ['link.gguf', 'm.gguf'])


@test
def a_full_disk_ends_it_with_nothing_left():
    skip_under_tsan('its run time writes a file of its own before main() is there')
    with Folder() as folder:
        (folder / 'old.gguf').write_bytes(b'old')
        hf = write_folder(folder / 'hf')
        (folder / 'text').write_text(TEXT)
        for room in (0, 10000):
            for args in (('quantize', MODEL, folder / 'old.gguf', 'Q8_0'), ('convert', hf, folder / 'old.gguf'),
                         ('imatrix', '-f', folder / 'text', '-o', folder / 'old.gguf')):
                done = subprocess.run([PROGRAM, *map(str, args)], env=environment(), stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
                equal(done.returncode, 1, args)
                check(b'old.gguf: cannot be written: File too large' in done.stderr, done.stderr)
                equal(sorted(os.listdir(folder)), ['hf', 'old.gguf', 'text'])
                equal((folder / 'old.gguf').read_bytes(), b'old')


@test
def a_full_file_system_ends_it_with_nothing_left():
    """A small tmpfs, where the kernel lets us mount one."""
    with Folder() as folder:
        script = (f'mount -t tmpfs -o size=512k none "{folder}" && '
                  f'{{ "{PROGRAM}" quantize "{MODEL}" "{folder}/out.gguf" F32; echo "$?" $(ls -A "{folder}" | wc -l); }}')
        done = subprocess.run(['unshare', '--mount', '--map-root-user', 'sh', '-c', script], env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not done.stdout.split():
            raise Skip('no tmpfs can be mounted here: ' + done.stderr.strip()[-100:])
        equal(done.stdout.split()[-2:], ['1', '0'])
        check('No space left on device' in done.stderr, done.stderr)


@test
def a_folder_that_may_not_be_written_is_refused_at_once():
    runnel('quantize', MODEL, '/proc/out.gguf', 'F32').fails(1, '/proc/out.gguf: cannot be created')    # not even root may
    with Folder() as folder:
        folder.chmod(0o500)
        if os.geteuid() != 0:
            runnel('quantize', MODEL, folder / 'out.gguf', 'F32').fails(1, 'Permission denied')
        equal(os.listdir(folder), [])


def started_writing(folder, *args):
    child = start(*args)
    while child.poll() is None and not any(n.startswith('.out') for n in os.listdir(folder)):
        time.sleep(0.001)
    return child


@test
def a_killed_program_leaves_no_file_under_the_name():
    with Folder() as folder:
        source = f32_of(folder)
        child = started_writing(folder, 'quantize', source, folder / 'out.gguf', 'Q4_K_M', '-t', '1')
        child.send_signal(signal.SIGKILL)
        code, _, _ = end(child)
        equal(code, -signal.SIGKILL, 'it was still at work')
        check(not (folder / 'out.gguf').exists(), os.listdir(folder))


@test
def ctrl_c_leaves_nothing():
    with Folder() as folder:
        source = f32_of(folder)
        child = started_writing(folder, 'quantize', source, folder / 'out.gguf', 'Q4_K_M', '-t', '1')
        interrupt(child)
        code, _, err = end(child)
        equal((code, err, os.listdir(folder)), (130, '', ['f32.gguf']))


@test
def a_terminal_shows_a_bar_and_whole_lines():
    with Folder() as folder:
        source = f32_of(folder)
        t = Terminal('quantize', source, folder / 'out.gguf', 'Q4_K_M', '-t', '1')
        code, shown = t.end()
        equal(code, 0)
        lines = [line.split('\x1b[K')[-1] for line in shown.replace('\r\n', '\n').splitlines()]
        equal(len([line for line in lines if line.startswith(('blk.', 'token_', 'output_'))]), 56)


@test
def names_in_a_file_cannot_steer_the_terminal():
    name = b'\x1b]0;x\x07\nb\xc2\x9b31m'
    front, pairs, infos, tensors = parts(with_string(MODEL.read_bytes(), 'general.architecture', 'other'))
    infos[0] = struct.pack('<Q', len(name)) + name + infos[0][8 + struct.unpack_from('<Q', infos[0])[0]:]
    with Folder() as folder:
        (folder / 'odd.gguf').write_bytes(join(front, pairs, infos, tensors))
        done = runnel('quantize', folder / 'odd.gguf', folder / 'out\x1b[m.gguf', 'F32').ok()
        check(not any(c in done.text for c in '\x1b\x07\x9b') and '\ufffd]0;x\ufffd b\ufffd31m' in done.text, done.text)
        equal(len(done.text.splitlines()), len(infos) + 1)
        done = runnel('quantize', folder / 'odd.gguf', folder / 'out', 'F32', '--keep', '\x9b=Q8_0').fails(2, 'no matrix matches ??')
        lines = runnel('quantize', folder / 'odd.gguf', folder / 'out', 'F32', '--json').ok().lines
        equal(lines[0]['name'], name.decode())


@test
def types_are_on_the_help_page():
    for command in ('convert', 'quantize'):
        page = runnel(command, '--help').ok().text
        for name in ('Q4_K_M', 'IQ4_NL', 'BF16', '--keep', '--imatrix', '--allow-requantize'):
            check(name in page, command, name)
        check(all(len(line) <= 80 for line in page.splitlines()), page)


main()
