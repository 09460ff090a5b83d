#!/usr/bin/env python3
"""tests/cli/infill_test.py - `runnel infill` and lines of `batch` with a hole: where the hole is, the prompt, the middle alone."""
import json
import pathlib
import sys

from harness import MODEL, Folder, check, equal, main, runnel, test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'serve'))
import script_model

HOLE = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>', 'the ', 'hole', '<|fim_pad|>', 'never']
GREEDY = ('--temp', '0', '-t', '1')
TEXT = 'one\ntw\u00f6 <FILL_ME>three\nfour\n'


def coder(folder, *more):
    """Says `the hole` behind the token for the middle, then <|fim_pad|>, which no file names as an end. more: further control tokens."""
    path = folder / 'coder.gguf'
    path.write_bytes(script_model.make({'F': HOLE, 'G': [*more, 'x']}, ''))
    return path


def prompt(*args, **kwargs):
    return runnel('infill', *args, '--show-prompt', '--json', **kwargs).ok().lines[0]


@test
def the_middle_alone_is_output_and_ends_with_a_token_of_such_prompts():
    with Folder() as folder:
        m = coder(folder)
        (folder / 'a').write_text(TEXT)
        done = runnel('infill', '-m', m, folder / 'a', *GREEDY, '--ignore-eos').ok()
        equal((done.text, done.err), ('the hole', ''))
        *chunks, last = runnel('infill', '-m', m, folder / 'a', *GREEDY, '--json', '--logprobs', '2').ok().lines
        equal(''.join(c['text'] for c in (*chunks, last)), 'the hole')
        equal((last['finish_reason'], len(chunks[0]['logprobs'][0]['top'])), ('stop', 2))
        equal(last['finish_detail'], 'stop token 264 <|fim_pad|>')
        # As in run: banned strings, forms of the answer, biases.
        equal(runnel('infill', '-m', m, folder / 'a', *GREEDY, '--regex', 'the x', '-n', '9').ok().text, 'the x')
        check('hole' not in runnel('infill', '-m', m, folder / 'a', *GREEDY, '--banned-string', 'hole', '-n', '6').ok().text, 'a banned string')
        check('the ' in runnel('infill', '-m', m, folder / 'a', *GREEDY, '--top-probs', '2').ok().text, 'a table')


@test
def the_middle_may_be_found_by_a_search():
    with Folder() as folder:
        m = coder(folder)
        (folder / 'a').write_text(TEXT)
        for strategy in (['beam', '--num-beams', '3'], ['contrastive', '--num-candidates', '1'], ['tree', '--tree-width', '1'], ['tree', '--value', f'model:{m}', '--simulations', '6']):
            equal(runnel('infill', '-m', m, folder / 'a', *GREEDY, '--strategy', *strategy).ok().text, 'the hole', strategy)
        last = runnel('infill', '-m', m, folder / 'a', *GREEDY, '--strategy', 'best-of', '--num-return-sequences', '2', '--json').ok().lines[-1]
        equal([q['text'] for q in last['sequences']], ['the hole', 'the hole'])
        runnel('infill', '-m', m, folder / 'a', '--amateur', m).fails(2, '--amateur: has no effect without --strategy contrastive-decoding')


@test
def the_hole_is_between_two_files_at_a_mark_or_at_a_place():
    with Folder() as folder:
        m = coder(folder)
        for name, text in (('all', TEXT), ('before', 'one\ntw\u00f6 '), ('behind', 'three\nfour\n'), ('plain', TEXT.replace('<FILL_ME>', ''))):
            (folder / name).write_text(text)
        two = ('--prefix', folder / 'before', '--suffix', folder / 'behind')
        want = prompt('-m', m, *two)
        equal(want['text'], '<s><|fim_prefix|>one\ntw\u00f6 <|fim_suffix|>three\nfour\n<|fim_middle|>')
        equal((want['family'], want['order'], len(want['stop_tokens'])), ('Qwen Coder', 'psm', 4))
        equal(runnel('infill', '-m', m, *two, '--show-prompt').ok().text, want['text'])
        for args, stdin in (([folder / 'all'], None), (['-'], TEXT), ([folder / 'plain', '--at', '2:5'], None), ([folder / 'plain', '--marker', 'three'], None),
                            (['--prefix', '-', '--suffix', folder / 'behind'], 'one\ntw\u00f6 '), (['--prefix', folder / 'before', '--suffix', '-'], 'three\nfour\n')):
            got = prompt('-m', m, *args, stdin=stdin.encode() if stdin else None)
            equal(got['text'], want['text'].replace('three', '') if '--marker' in args else want['text'], args)
        for place, before in (('1:1', ''), ('1', 'one'), ('1:4', 'one'), ('2', 'one\ntw\u00f6 three'), ('4', 'one\ntw\u00f6 three\nfour\n'), ('4:1', 'one\ntw\u00f6 three\nfour\n')):
            equal(prompt('-m', m, folder / 'plain', '--at', place)['text'].split('<|fim_suffix|>')[0], '<s><|fim_prefix|>' + before, place)
        (folder / 'dos').write_bytes(b'a\r\nb\r\n')
        equal(prompt('-m', m, folder / 'dos', '--at', '1')['text'], '<s><|fim_prefix|>a<|fim_suffix|>\r\nb\r\n<|fim_middle|>')
        for args, code, why in (
                ([], 2, 'needs --prefix and --suffix, or FILE'), (['--prefix', folder / 'all'], 2, 'needs --prefix and --suffix'),
                ([folder / 'all', *two], 2, 'FILE: excludes --prefix and --suffix'), ([*two, '--at', '1'], 2, '--at: has no effect without FILE'),
                ([*two, '--marker', 'x'], 2, '--marker: has no effect without FILE'), ([folder / 'all', '--at', '1', '--marker', 'x'], 2, '--marker: excludes --at'),
                ([folder / 'plain'], 1, '<FILL_ME> does not stand there'), ([folder / 'plain', '--marker', 'o'], 1, 'stands there more than once'),
                ([folder / 'plain', '--marker', ''], 2, '--marker: is empty'), ([folder / 'plain', '--at', '5'], 1, 'has 4 lines'),
                ([folder / 'plain', '--at', '1:5'], 1, 'the line has 3 characters'), (['--prefix', '-', '--suffix', '-'], 2, 'stdin is the prefix'),
                *(([folder / 'plain', '--at', at], 2, 'is not LINE or LINE:COLUMN') for at in ('0', '1:0', 'x', '1:', ':1', '1:x', '-1', '9' * 40)),
                ([folder / 'nowhere'], 1, 'No such file'), ([*two, '--context', folder / 'nowhere'], 1, 'No such file'),
                ([*two, '--echo'], 2, '--echo: has no effect here'), ([*two, '--parse-special'], 2, '--parse-special: has no effect here'),
                ([*two, '--infill-order', 'x'], 2, '--infill-order')):
            runnel('infill', '-m', m, *args).fails(code, why)
        runnel('infill', '-m', MODEL, *two).fails(1, 'has no tokens for a prompt with a hole')


@test
def order_names_and_other_files_are_those_of_the_options():
    with Folder() as folder:
        m = coder(folder, '<|repo_name|>', '<|file_sep|>')
        (folder / 'a.c').write_text('ab<FILL_ME>c')
        (folder / 'b.c').write_text('x;')
        hole = '<|fim_prefix|>ab<|fim_suffix|>c<|fim_middle|>'
        equal(prompt('-m', m, folder / 'a.c', '--infill-order', 'spm')['text'], '<s><|fim_suffix|>c<|fim_prefix|>ab<|fim_middle|>')
        equal(prompt('-m', m, folder / 'a.c', '--middle', 'Q')['text'], '<s>' + hole.replace('ab', 'abQ'))
        other = ['--context', folder / 'b.c'] * 2
        front = '<s><|repo_name|>{}\n' + f'<|file_sep|>{folder}/b.c\nx;' * 2
        equal(prompt('-m', m, folder / 'a.c', *other)['text'], front.format('myproject') + f'<|file_sep|>{folder}/a.c\n' + hole)
        equal(prompt('-m', m, folder / 'a.c', *other, '--repo-name', 'r', '--file-name', 'f')['text'], front.format('r') + '<|file_sep|>f\n' + hole)
        runnel('infill', '-m', m, folder / 'a.c', *['--context', folder / 'b.c'] * 65).fails(2, 'more than 64 files')


@test
def what_the_context_has_no_room_for_is_left_out_and_said():
    with Folder() as folder:
        m = coder(folder)
        (folder / 'long').write_text('a' * 600 + '<FILL_ME>' + 'z' * 600)
        done = runnel('infill', '-m', m, folder / 'long', *GREEDY, '-n', '2', '--json').ok()
        check('of 1204 tokens left out, to fit the context of 512' in done.err, done.err)
        equal(done.lines[-1]['usage']['prompt_tokens'], 510)
        cut = runnel('infill', '-m', m, folder / 'long', '-c', '64', '--show-prompt').ok()
        equal(cut.text, f'<s><|fim_prefix|>{"a" * 33}<|fim_suffix|>{"z" * 11}<|fim_middle|>')


@test
def lines_of_batch_have_holes():
    with Folder() as folder:
        m = coder(folder)
        lines = [{'id': 1, 'prefix': 'a', 'suffix': 'b'}, {'id': 2, 'prefix': '', 'suffix': '', 'logprobs': 1}, {'id': 3, 'prefix': 'a', 'suffix': 'b', 'infill_order': 'spm', 'n': 1},
                 {'id': 4, 'prefix': 'a', 'suffix': 'b', 'stop_tokens': list(range(300, 428))}]
        done = runnel('batch', '-m', m, *GREEDY, stdin='\n'.join(map(json.dumps, lines)).encode())
        answers = {a['id']: a for a in map(json.loads, done.out.decode().splitlines())}
        equal([answers[i].get('text') for i in (1, 2, 3)], ['the hole', 'the hole', 'the '])
        equal(answers[1]['usage']['prompt_tokens'], 6)
        check('with the 4 that end a middle, more than 128' in answers[4]['error'], answers[4])


main()
