#!/usr/bin/env python3
"""tests/cli/faults_test.py - commands that write, where writing fails or reading comes in pieces: the output is complete or absent."""
import os
import resource
import subprocess

from gguf import parts
from harness import MODEL, PROGRAM, Folder, Skip, check, end, environment, equal, main, runnel, skip_under_tsan, start, test
from hf_folder import write_folder

TEXT = 'Once upon a time, there was a little girl named Lily. She loved to play outside. ' * 6
IDS = ','.join(['5'] * 60)
FULL, READ_ONLY = 'No space left on device', 'Read-only file system'


def writers(folder, out):
    """Every command that makes a file, small as its inputs may be."""
    (folder / 'text').write_text(TEXT)
    (folder / 'squares').write_text(' '.join(str(i * i) for i in range(3000)))
    if not (folder / 'hf').exists():
        write_folder(folder / 'hf')
    return (('quantize', MODEL, out, 'F32'), ('convert', folder / 'hf', out),
            ('imatrix', '-f', folder / 'text', '-o', out, '--chunk', '64'), ('score', '--ids', IDS, '--logits', out),
            ('ngram-cache', out, folder / 'squares'))


def on_tmpfs(options, commands, place):
    """[(exit code, files left, stderr)] of commands that write into `place`, a file system of its own."""
    quoted = [' '.join(f"'{a}'" for a in (PROGRAM, *c)) for c in commands]
    script = f"mount -t tmpfs -o {options} none '{place}' || exit 9\n" + '\n'.join(
        f"{c} >'{place}.out' 2>'{place}.err'; echo $? $(ls -A '{place}' | wc -l) $(cat '{place}.err'); rm -f '{place}'/*" for c in quoted)
    done = subprocess.run(['unshare', '--mount', '--map-root-user', 'sh', '-c', script], env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 9 or not done.stdout:
        raise Skip('no tmpfs can be mounted here: ' + done.stderr.strip()[-100:])
    rows = [line.split(' ', 2) for line in done.stdout.splitlines()]
    equal(len(rows), len(commands))
    return [(int(code), int(n), err) for code, n, err in rows]


def check_refused(options, why):
    with Folder() as folder:
        (folder / 'small').mkdir()
        commands = writers(folder, folder / 'small/out')
        for args, (code, n_files, err) in zip(commands, on_tmpfs(options, commands, folder / 'small')):
            equal((code, n_files), (1, 0), args[0])
            check(err.startswith('runnel: ') and 'small/out: ' in err and why in err, args[0], err)


@test
def a_full_file_system_leaves_nothing_of_any_command():
    check_refused('size=8k', FULL)


@test
def a_read_only_file_system_is_refused_by_every_command():
    check_refused('size=512k,ro', READ_ONLY)


@test
def a_limit_on_file_sizes_leaves_the_old_file_of_every_command():
    skip_under_tsan('its run time writes a file of its own before main() is there')
    with Folder() as folder:
        out = folder / 'old'
        for room in (0, 1, 4096):
            for args in writers(folder, out):
                out.write_bytes(b'old')
                done = subprocess.run([PROGRAM, *map(str, args)], env=environment(), capture_output=True, text=True,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
                check(done.returncode == 1 and 'old: ' in done.stderr and 'File too large' in done.stderr, args, done)
                equal((sorted(os.listdir(folder)), out.read_bytes()), (['hf', 'old', 'squares', 'text'], b'old'), args[0])


@test
def no_command_writes_over_a_file_that_it_reads():
    with Folder() as folder:
        writers(folder, folder / 'out')
        model, text, hf = folder / 'm.gguf', folder / 'text', folder / 'hf'
        (folder / 'soft').symlink_to('m.gguf')
        model.write_bytes(MODEL.read_bytes())
        os.link(model, folder / 'hard')
        for name in ('tokenizer_config.json', 'chat_template.jinja'):
            (hf / name).write_text('{}')
        before = {p: p.read_bytes() for p in (model, text, *hf.iterdir())}
        for args in (*(('quantize', model, folder / name, 'F32') for name in ('m.gguf', 'soft', 'hard')),
                     *(('convert', hf, path) for path in hf.iterdir() if path.name != 'tokenizer_config.json'),
                     ('imatrix', '-m', model, '-f', text, '-o', model), ('imatrix', '-m', model, '-f', text, '-o', text),
                     ('score', '-m', model, '--ids', '1,2', '--logits', folder / 'hard'),
                     ('score', '-m', model, '--text-file', text, '--logits', text),
                     ('score', '--ids', '1,2', '--kl', model, '--logits', folder / 'soft')):
            runnel(*args).fails(2, 'is an input file too: give the output another name')
        equal({p: p.read_bytes() for p in before}, before)


@test
def a_name_that_no_file_can_have_is_refused_before_the_work():
    with Folder() as folder:
        for args in writers(folder, 'OUT'):
            for name, why in (('', 'the name of the output file is empty'), ('x' * 256, 'File name too long'),
                              (folder / 'text/x', 'Not a directory'), (folder / 'no/x', 'No such file'), (folder, 'regular file')):
                done = runnel(*(name if a == 'OUT' else a for a in args)).fails(1, why)
                check('in place' not in done.err and done.out == b'', done.err)
        equal(sorted(os.listdir(folder)), ['hf', 'squares', 'text'])


@test
def a_stdout_that_cannot_be_written_is_told_and_the_file_is_complete():
    with Folder() as folder:
        for args in writers(folder, folder / 'out'):
            for more in ((), ('--json',)) if args[0] in ('quantize', 'convert') else ((),):
                runnel(*args, *more).ok()
                want = (folder / 'out').read_bytes()
                (folder / 'out').unlink()
                with open('/dev/full', 'wb') as full:
                    done = subprocess.run([PROGRAM, *map(str, args), *more], env=environment(), stdout=full, stderr=subprocess.PIPE,
                                          text=True)
                says = args[0] not in ('imatrix', 'ngram-cache')     # which have nothing to say there
                equal((done.returncode, FULL in done.stderr), (int(says), says), args)
                check((folder / 'out').read_bytes() == want, args[0])


@test
def a_reader_that_goes_away_stops_no_writing():
    with Folder() as folder:
        args = ('quantize', MODEL, folder / 'out', 'F32')
        runnel(*args).ok()
        want = (folder / 'out').read_bytes()
        (folder / 'out').unlink()
        child = start(*args)
        child.stdout.close()
        err = child.stderr.read()
        equal((child.wait(), err, (folder / 'out').read_bytes() == want), (0, b'', True))


@test
def results_on_a_full_stdout_are_an_error_of_every_command():
    for args in (('info',), ('info', '--json'), ('tokenize', 'x'), ('detokenize', '5'), ('score', '--ids', '1,2'),
                 ('bench', '-p', '4', '-n', '2', '-r', '1', '--json'), ('--help',), ('--version',)):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([PROGRAM, *args], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 1 and f'stdout: {FULL}' in done.stderr, args, done)


@test
def a_text_that_comes_in_pieces_is_measured_like_a_whole_one():
    with Folder() as folder:
        (folder / 'text').write_text(TEXT)
        runnel('imatrix', '-f', folder / 'text', '-o', folder / 'whole', '--chunk', '64').ok()
        child = start('imatrix', '-f', '-', '-o', folder / 'pieces', '--chunk', '64', stdin=subprocess.PIPE)
        for i in range(0, len(TEXT), 7):
            child.stdin.write(TEXT[i:i + 7].encode())
        child.stdin.close()
        child.stdin = None
        equal(end(child)[0], 0)
        equal(parts((folder / 'pieces').read_bytes())[2:], parts((folder / 'whole').read_bytes())[2:])


@test
def a_pipe_or_device_for_a_model_is_refused_and_nobody_waits():
    with Folder() as folder:
        os.mkfifo(folder / 'pipe')
        for path, what in ((folder / 'pipe', 'is a named pipe'), ('/dev/zero', 'is a device')):
            runnel('quantize', path, folder / 'out', 'Q8_0').fails(1, what)
            runnel('info', path).fails(1, what)
            runnel('quantize', MODEL, folder / 'out', 'Q8_0', '--imatrix', path).fails(1, what)
            runnel('quantize', MODEL, path, 'Q8_0').fails(1, what)
        (folder / 'dir').mkdir()
        (folder / 'dir/config.json').symlink_to('/dev/zero')
        runnel('convert', folder / 'dir', folder / 'out').fails(1, 'leaves the folder')
        equal(sorted(os.listdir(folder)), ['dir', 'pipe'])


main()
