#!/usr/bin/env python3
"""tests/cli/rerank_test.py - `runnel embed --query`: a query and a text in the model's template, scored by its head.

With RUNNEL_PEER (peer_rule.py) llama.cpp scores the same file and tokens."""
import array
import struct

from gguf import aligned, join, parts, with_string
from harness import Folder, check, equal, main, runnel, test
from peer_rule import PLAIN, command, listed, peer
from wide_models import write

TEMPLATE = '<|begin|>Judge\nthe {query}\nin {document}<|im_end|>\nso'
BEGIN, END = 256, 257    # tiny_vocab_put()
RANK = 4


def string(text):
    return struct.pack('<Q', len(text)) + text.encode()


def reranker(folder, template=TEMPLATE):
    """A Qwen3 with a head of two classes, as Qwen3-Reranker's files have it."""
    write('qwen3', 'F16', folder / 'plain.gguf', folder)
    front, pairs, infos, data = parts((folder / 'plain.gguf').read_bytes())
    extra = [string('qwen3.pooling_type') + struct.pack('<II', 4, RANK),
             string('qwen3.classifier.output_labels') + struct.pack('<IIQ', 9, 8, 2) + string('yes') + string('no')]
    if template is not None:
        extra.append(string('tokenizer.chat_template.rerank') + struct.pack('<I', 8) + string(template))
    data += bytes(aligned(len(data)))
    infos.append(string('cls.output.weight') + struct.pack('<IQQIQ', 2, 256, 2, 0, len(data)))
    data += array.array('f', [((i * 7919) % 1009 - 504) / 5000 for i in range(512)]).tobytes()
    (folder / 'rank.gguf').write_bytes(join(front, pairs + [('', raw) for raw in extra], infos, data))
    return folder / 'rank.gguf'


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
    rows = [(TEMPLATE, ['--pooling', 'last'], 2, 'goes with --pooling rank, not with last'),
            (None, [], 1, '{model}: no tokenizer.chat_template.rerank'),
            ('only {query}', [], 1, '{model}: tokenizer.chat_template.rerank lacks {query} or {document}')]
    with Folder() as folder:
        for template, args, code, why in rows:
            model = reranker(folder, template)
            done = runnel('embed', '-m', model, *args, '--query', 'cats', 'A cat.')
            equal((done.code, done.err), (code, f'runnel: --query: {why.replace("{model}", str(model))}\n'))
    runnel('embed', '--query', 'cats', 'A cat.').fails(2, 'goes with --pooling rank, not with last')


@test
def scores_are_llama_cpps():
    command()
    with Folder() as folder:
        model = reranker(folder)
        ids = [BEGIN, *ids_of(model, 'Judge\nthe cats\nin A cat.'), END, *ids_of(model, '\nso')]
        peer('embd', model, '--ids', listed(ids), '--out', folder / 'peer.npy', *PLAIN)
        data = (folder / 'peer.npy').read_bytes()
        theirs = array.array('f', data[10 + int.from_bytes(data[8:10], 'little'):])[:2]
        ours, = scores('-m', model, '--query', 'cats', 'A cat.')
        check(all(abs(a - b) < 1e-5 for a, b in zip(ours, theirs)), ours, theirs)


main()
