#!/usr/bin/env python3
"""tests/cli/partial_test.py - files with only a vocabulary, and models without one."""
from gguf import with_string, with_strings, without_tokenizer, without_weights
from harness import MODEL, Folder, check, equal, main, runnel, test

IDS = '1,427,438,261,399'


@test
def a_file_with_only_a_vocabulary_serves_tokenize_detokenize_and_info():
    with Folder() as folder:
        path = folder / 'vocabulary'
        path.write_bytes(without_weights(MODEL.read_bytes()))
        ids = runnel('tokenize', '-m', path, 'Once upon a time').ok().out
        equal(ids, runnel('tokenize', 'Once upon a time').ok().out)
        equal(runnel('detokenize', '-m', path, stdin=ids).ok().out, runnel('detokenize', stdin=ids).ok().out)
        info, = runnel('info', path, '--json').ok().lines
        equal((info['has_weights'], info['engine'], info['n_vocab']), (False, None, 4096))
        check('weights       none' in runnel('info', path).ok().text, 'said for people')
        for args in (['run', 'x'], ['score', '--ids', '1'], ['bench'], ['batch']):
            runnel(*args, '-m', path).fails(1, 'only a vocabulary')


@test
def field_2_27_engine_options_have_no_effect_on_a_vocabulary():
    with Folder() as folder:
        path = folder / 'vocabulary'
        path.write_bytes(without_weights(MODEL.read_bytes()))
        for option, value in (('--threads', 1), ('--ctx', 9), ('--cpu', 'ref'), ('--kv-type', 'f32')):
            runnel('info', path, option, value).fails(2, f'{option}: has no effect without weights in the file')


@test
def a_model_without_tokenizer_serves_ids_score_and_bench():
    with Folder() as folder:
        path = folder / 'mute'
        path.write_bytes(without_tokenizer(MODEL.read_bytes()))
        args = ['run', '--ids', IDS, '--temp', '0', '-n', '5', '--json']
        tokens = lambda done: [t for line in done.ok().lines for t in line['tokens']]
        made = runnel(*args, '-m', path)
        equal(tokens(made), tokens(runnel(*args)))
        equal(''.join(line['text'] for line in made.lines), '')
        runnel(*args[:-1], '-m', path).fails(1, 'no tokenizer')
        for more in (['run', 'x', '--json'], ['tokenize', 'x'], ['detokenize', '1']):
            runnel(*more, '-m', path).fails(1, 'no tokenizer')
        equal(runnel('score', '--ids', IDS, '--json', '-m', path).ok().out, runnel('score', '--ids', IDS, '--json').ok().out)
        runnel('bench', '-p', '4', '-n', '2', '-r', '1', '-m', path).ok()
        equal(runnel('info', path, '--json').ok().lines[0]['has_tokenizer'], False)
        answers = runnel('batch', '-m', path, '--in-order', stdin=b'{"ids":[1,427],"n":2}\n{"prompt":"x"}').lines
        equal([('tokens' in a, 'error' in a) for a in answers], [(True, False), (False, True)])


@test
def field_2_09_info_describes_a_model_whose_tokenizer_is_not_known_and_names_it():
    known, = runnel('info', '--json').ok().lines
    with Folder() as folder:
        for name, changes, shown, why in (
                ('splitter', {'model': 'gpt2', 'pre': 'my-splitter'}, 'gpt2 / my-splitter (not known)',
                 'pre-tokenizer: "my-splitter" is not known to runnel'),
                ('nameless', {'model': 'gpt2', 'pre': ''}, 'gpt2 (not known)', 'pre-tokenizer: tokenizer.ggml.pre is absent; known ones are'),
                ('plamo2', {'model': 'plamo2'}, 'plamo2 / default (not known)', 'tokenizer: model "plamo2" is not known')):
            path, data = folder / name, MODEL.read_bytes()
            for key, text in changes.items():
                data = with_string(data, f'tokenizer.ggml.{key}', text)
            if name != 'plamo2':
                data = with_strings(data, 'tokenizer.ggml.merges', [])
            path.write_bytes(data)
            done = runnel('info', path, '--json').ok()
            info, = done.lines
            equal((info['tokenizer'], info['has_tokenizer']), (shown, False))
            check(info['tokenizer_error'].startswith(why) and f'warning: {path}: {why}' in done.err, info, done.err)
            for member in ('n_vocab', 'end_tokens', 'types', 'n_params', 'bos'):
                equal(info[member], known[member])
            check(info['engine']['n_ctx'] == 512 and shown in runnel('info', path).ok().text)
            for args in (['run', 'x', '--json'], ['tokenize', 'x'], ['score', '--text-file', path], ['detokenize', '1']):
                done = runnel(*args, '-m', path)
                check(done.code == 1 and why in done.err.splitlines()[-1], args, done.err)
            runnel('run', '--ids', IDS, '-m', path).fails(1, 'its tokenizer is not supported')
            got, = runnel('score', '--ids', IDS, '--json', '-m', path).ok().lines
            equal(got, runnel('score', '--ids', IDS, '--json').ok().lines[0])
    equal((known['tokenizer_error'], known['has_tokenizer']), (None, True))


main()
