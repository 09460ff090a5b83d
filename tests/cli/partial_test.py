#!/usr/bin/env python3
"""tests/cli/partial_test.py - files with only a vocabulary, and models without one."""
from gguf import without_tokenizer, without_weights
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
            runnel(*args, '-m', path).fails(1, 'no weights')


@test
def field_2_27_engine_options_have_no_effect_on_a_vocabulary():
    with Folder() as folder:
        path = folder / 'vocabulary'
        path.write_bytes(without_weights(MODEL.read_bytes()))
        for option, value in (('--threads', 1), ('--ctx', 9), ('--cpu', 'ref'), ('--kv-type', 'f32')):
            runnel('info', path, option, value).fails(2, f'{option}: has no effect on a file without weights')


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


main()
