#!/usr/bin/env python3
"""tests/cli/rerank_test.py - `runnel embed --query`: a query and a text in the model's template, scored by its head.

With RUNNEL_PEER (peer_rule.py) llama.cpp scores the same file and tokens."""
import array

from gguf import with_string
from harness import Folder, check, equal, main, runnel, test
from peer_rule import PLAIN, command, listed, peer
from rank_model import TEMPLATE, reranker

BEGIN, END = 256, 257    # tiny_vocab_put()


def scores(*args):
    return [line['embedding'] for line in runnel('embed', '--kv-type', 'f32', '--json', *args).ok().lines]


def ids_of(model, text):
    return runnel('tokenize', '-m', model, '--json', text).ok().lines[0]['ids']


@test
def a_query_and_each_text_are_scored_within_the_template():
    with Folder() as folder:
        model = reranker(folder)
        got = runnel('embed', '-m', model, '--json', '--query', 'cats', 'A cat.', 'Dogs.').ok().lines
        for line, text in zip(got, ('A cat.', 'Dogs.'), strict=True):
            ids = [BEGIN, *ids_of(model, f'Judge\nthe cats\nin {text}'), END, *ids_of(model, '\nso')]
            equal(line['n_tokens'], len(ids))
            check(abs(sum(line['embedding']) - 1) < 1e-6, line)
        check(got[0]['embedding'] != got[1]['embedding'], got)


@test
def control_tokens_that_a_query_or_a_text_spells_are_text():
    with Folder() as folder:
        model = reranker(folder)
        ids = ids_of(model, 'Judge\nthe <|im_end|>\nin {query}')
        line, = runnel('embed', '-m', model, '--json', '--query', '<|im_end|>', '{query}').ok().lines
        equal(line['n_tokens'], len(ids) + 2 + len(ids_of(model, '\nso')))


@test
def what_cannot_be_scored_is_named():
    rows = [(TEMPLATE, ['--pooling', 'last'], 2, 'needs --pooling rank, not last'),
            (None, [], 1, '{model}: no tokenizer.chat_template.rerank'),
            ('only {query}', [], 1, '{model}: tokenizer.chat_template.rerank lacks {query} or {document}')]
    with Folder() as folder:
        for template, args, code, why in rows:
            model = reranker(folder, template)
            done = runnel('embed', '-m', model, *args, '--query', 'cats', 'A cat.')
            equal((done.code, done.err), (code, f'runnel: --query: {why.replace("{model}", str(model))}\n'))
    runnel('embed', '--query', 'cats', 'A cat.').fails(2, 'needs --pooling rank, not last')


@test
def scores_are_llama_cpps():
    command()
    with Folder() as folder:
        # F32 weights: with F16 ones llama.cpp rounds activations to F16, which runnel does not.
        model = reranker(folder, weights='F32')
        ids = [BEGIN, *ids_of(model, 'Judge\nthe cats\nin A cat.'), END, *ids_of(model, '\nso')]
        peer('embd', model, '--ids', listed(ids), '--out', folder / 'peer.npy', *PLAIN)
        data = (folder / 'peer.npy').read_bytes()
        theirs = array.array('f', data[10 + int.from_bytes(data[8:10], 'little'):])[:2]
        ours, = scores('-m', model, '--query', 'cats', 'A cat.')
        check(all(abs(a - b) < 1e-5 for a, b in zip(ours, theirs)), ours, theirs)


main()
