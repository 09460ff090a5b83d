#!/usr/bin/env python3
"""tests/cli/encoders_test.py - encoders: rows, embeddings and scores are those of transformers, or where it has no code of plain_encoders.py
(make_encoders.py), whoever else is in the step."""
import array
import json
import math
import os
import pathlib
import shutil
import struct

from harness import Folder, Skip, check, equal, main, runnel, test
from peer_rule import command, listed, peer

ROOT = pathlib.Path(__file__).parent / 'encoders'
EMBEDDERS = ('bert', 'roberta', 'distilbert', 'modernbert', 'nomic-bert', 'gte', 'jina3', 'eurobert', 'mpnet', 'jina2', 'neobert', 'nomic-bert-moe', 'gte-ntk',
             'qwen2-whole', 'mistral-whole', 'llama-embed', 't5', 'mt5', 'umt5')
RANKERS = ('bert-scores', 'xlm-roberta-scores')
HEADS = ('mpnet-scores', 'nomic-bert-scores', 'gte-scores', 'jina3-scores', 'eurobert-late', 'eurobert-bos', 'eurobert-mean', 'modernbert-mean')
PAIRED = ('bert-pairs', 'xlm-roberta-pairs', 'modernbert-bias', 'xlm-unigram', *HEADS)      # their tokenizers join two texts, BERT's with token types
WHOLE = ('embeddinggemma', 'sentence-t5')     # with sentence-transformers' modules, whose golden has embeddings
# llama.cpp has another activation in nomic-bert and no scores there, in jina-bert-v3 and eurobert, no biases in modern-bert, none of the sum of
# experts, no windows in qwen2, and no mpnet. In t5encoder it tells distances below 128 apart, whatever the folder says.
NOT_LLAMA_CPP = ('t5', 'umt5', 'gte', 'gte-ntk', 'qwen2-whole', 'modernbert-bias', 'nomic-bert-moe', 'mpnet', *HEADS)


def golden(name):
    return json.loads((ROOT / name / 'golden.json').read_text())


def embed(name, *args, texts=None, model=None):
    texts = texts or [g['text'] for g in golden(name) if 'query' not in g]
    return [a['embedding'] for a in runnel('embed', '-m', model or ROOT / name, '--json', *args, *texts).ok().lines]


def near(got, want, *what):
    check(len(got) == len(want) and all(math.isclose(a, b, rel_tol=2e-4, abs_tol=2e-4) for a, b in zip(got, want)), *what, got[:6], want[:6])


@test
def each_row_is_the_one_of_transformers():
    for name in EMBEDDERS:
        for g, rows in zip(golden(name), embed(name, '--pooling', 'none')):
            equal(len(rows), len(g['ids']))
            for row, want in zip(rows, g['out']):
                near(row, want, name, g['text'])


@test
def scores_are_those_of_transformers():
    for name in RANKERS:
        for args in ((), ('--pooling', 'rank')):
            for g, got in zip(golden(name), embed(name, *args)):
                near(got, g['out'], name, g['text'])


@test
def embeddings_go_through_the_modules_of_the_folder():
    for name in WHOLE:
        for g, got in zip(golden(name), embed(name)):
            near(got, g['out'], name, g['text'])
    with Folder() as folder:
        for i, (file, members, why) in enumerate((
                ('2_Dense/config.json', {'bias': True}, 'member bias: true is not supported; false is'),
                ('3_Dense/config.json', {'activation_function': 'torch.nn.modules.activation.Tanh'}, 'member activation_function: another one than torch.nn.modules.linear.Identity'))):
            to = folder / str(i)
            shutil.copytree(ROOT / WHOLE[0], to)
            (to / file).write_text(json.dumps({**json.loads((to / file).read_text()), **members}))
            runnel('embed', '-m', to, 'a').fails(1, why)
        to = folder / 'bert'
        shutil.copytree(ROOT / 'bert', to)
        for file in ('modules.json', '1_Pooling', '2_Dense', '3_Dense'):
            (shutil.copytree if (ROOT / WHOLE[0] / file).is_dir() else shutil.copy)(ROOT / WHOLE[0] / file, to / file)
        runnel('embed', '-m', to, 'a').fails(1, 'module 2: Dense is not supported behind bert; behind gemma-embedding and t5encoder it is')


@test
def a_prompt_of_the_folder_stands_before_the_text():
    name = WHOLE[0]
    want = embed(name, texts=['the cat on a mat', 'mat', 'mat'])
    with Folder() as folder:
        runnel('convert', ROOT / name, folder / 'file.gguf').ok()
        shutil.copytree(ROOT / name, folder / 'default')
        (folder / 'default/config_sentence_transformers.json').write_text(json.dumps({'prompts': {'query': 'the cat on a ', 'document': ''}, 'default_prompt_name': 'query'}))
        runnel('convert', folder / 'default', folder / 'default.gguf').ok()
        for model in (ROOT / name, folder / 'file.gguf'):
            got = [embed(name, *args, texts=['mat'], model=model)[0] for args in (('--prompt-name', 'query'), ('--prompt-name', 'document'), ())]
            equal(got, want, model)
        for model in (folder / 'default', folder / 'default.gguf'):
            equal([embed(name, *args, texts=['mat'], model=model)[0] for args in ((), ('--prompt-name', 'document'))], want[:2], model)
        runnel('embed', '-m', ROOT / name, '--prompt-name', 'title', 'a').fails(2, "--prompt-name: the model has no prompt 'title'; it has query, document")
        runnel('embed', '-m', ROOT / 'bert', '--prompt-name', 'query', 'a').fails(2, "the model has no prompt 'query'; it has none")
        # Where prompts are not pooled, they are not taken.
        (folder / 'default/1_Pooling/config.json').write_text(json.dumps({'pooling_mode_mean_tokens': True, 'include_prompt': False}))
        equal(embed(name, texts=['mat'], model=folder / 'default'), want[1:2])
        (folder / 'default/config_sentence_transformers.json').write_text(json.dumps({'prompts': {'query': 5}}))
        (folder / 'default/1_Pooling/config.json').write_text(json.dumps({'pooling_mode_mean_tokens': True}))
        runnel('embed', '-m', folder / 'default', 'a').fails(1, 'config_sentence_transformers.json: member prompts: item 0 is no text')


@test
def the_first_numbers_of_an_embedding_have_length_1_again():
    name = WHOLE[0]
    whole, = embed(name, texts=['the cat'])
    for n in (1, 5, 17):
        length = math.sqrt(math.fsum(x * x for x in whole[:n]))
        got, = embed(name, '--dimensions', n, texts=['the cat'])
        near(got, [x / length for x in whole[:n]], n)
    raw, cut = (embed(name, *args, '--no-normalize', texts=['the cat'])[0] for args in ((), ('--dimensions', 5)))
    equal(cut, raw[:5])
    rows, cut = (embed(name, *args, '--pooling', 'none', texts=['the cat'])[0] for args in ((), ('--dimensions', 3)))
    equal(cut, [row[:3] for row in rows])
    runnel('embed', '-m', ROOT / name, '--dimensions', 18, 'a').fails(2, '--dimensions: 18 is outside 1..17')


def minilm():
    folder = pathlib.Path(os.environ.get('RUNNEL_MODELS') or pathlib.Path.home() / '.cache/runnel-models') / 'all-MiniLM-L6-v2'
    if not folder.exists():
        raise Skip('all-MiniLM-L6-v2 is not here: shared models/get minilm-l6-v2')
    return folder


@test
def all_minilm_l6_v2_gives_the_embeddings_of_sentence_transformers():
    # minilm.json: transformers 5.23 in float32, the mean of the rows, scaled to length 1; texts up to 256 tokens, as the folder says.
    want = json.loads((ROOT / 'minilm.json').read_text())
    with Folder() as folder:
        model = minilm()
        runnel('convert', model, folder / 'minilm.gguf').ok()
        of_folder, of_file = ([a['embedding'] for a in runnel('embed', '-m', m, '--json', *[w['text'] for w in want]).ok().lines] for m in (model, folder / 'minilm.gguf'))
        equal(of_file, of_folder)
        for w, got in zip(want, of_folder):
            check(max(abs(a - b) for a, b in zip(w['out'], got)) < 3e-6, w['text'])


def pairs(name, model=None):
    """The scores of the golden's pairs, one after the other: by transformers, and ours."""
    for g in golden(name):
        if 'query' in g:
            yield g['out'], embed(name, '--query', g['query'], texts=[g['text']], model=model)[0]


@test
def a_pairs_only_score_is_the_sigmoid_of_transformers():
    for name in PAIRED:
        for want, got in pairs(name):
            near(got, [1 / (1 + math.exp(-x)) for x in want], name)
        for g, got in zip(golden(name), embed(name)):
            near(got, g['out'], name, g['text'])


@test
def what_makes_a_score_of_the_head_is_what_the_folder_says():
    with Folder() as folder:
        for member, word in (('sentence_transformers', {'activation_fn': 'torch.nn.modules.linear.Identity'}),
                             ('sbert_ce_default_activation_function', 'torch.nn.modules.linear.Identity')):
            raw = changed(folder / member, 'bert-pairs', **{member: word})
            runnel('convert', raw, folder / 'raw.gguf').ok()
            for model in (raw, folder / 'raw.gguf'):
                for want, got in pairs('bert-pairs', model):
                    near(got, want, member)
        odd = changed(folder / 'odd', 'bert-pairs', sentence_transformers={'activation_fn': 'torch.nn.modules.activation.Tanh'})
        runnel('embed', '-m', odd, 'a').fails(1, 'member sentence_transformers.activation_fn: torch.nn.modules.activation.Tanh is not supported')


@test
def what_a_class_does_not_compute_is_refused_by_name():
    with Folder() as folder:
        for i, (name, members, why) in enumerate((
                ('modernbert-bias', {'classifier_pooling': 'max'}, 'member classifier_pooling: "max" is not supported; cls is, and mean in ModernBERT'),
                ('gte-scores', {'classifier_pooling': 'mean'}, 'member classifier_pooling: "mean" is not supported; cls is'),
                ('eurobert-late', {'classifier_pooling': 'max'}, 'member classifier_pooling: "max" is not supported; bos, late and mean are'),
                ('gte-ntk', {'rope_scaling': {'type': 'ntk', 'factor': 2.5, 'mixed_b': .6}}, 'member rope_scaling.mixed_b: is not supported; null is'),
                ('gte-ntk', {'rope_scaling': {'type': 'ntk', 'factor': 1e6}, 'rope_theta': 1e9}, 'makes a base of 1e+15, limit 1e+12'),
                ('bert', {'is_causal': True}, 'member is_causal: true is not supported in bert'),
                ('modernbert-bias', {'classifier_activation': 'silu'}, 'member classifier_activation: "silu" is not supported; gelu is'),
                ('jina2', {'position_embedding_type': 'absolute'}, 'member position_embedding_type: absolute is not supported'),
                ('jina2', {'feed_forward_type': 'original'}, 'member feed_forward_type: original is not supported'),
                ('nomic-bert-moe', {'moe_every_n_layers': 3}, 'member moe_every_n_layers: 3 is not supported; 2 is'),
                ('mpnet', {'relative_attention_max_distance': 64}, 'member relative_attention_max_distance: 64 is not supported; 128 is'),
                ('t5', {'relative_attention_max_distance': 2}, 'member relative_attention_max_distance: 2, where 9 kinds tell distances below 2 apart'),
                ('t5', {'relative_attention_num_buckets': 3}, 'member relative_attention_num_buckets: 3 is outside 4..1024'),
                ('t5', {'feed_forward_proj': 'gated-tanh'}, 'member feed_forward_proj: "gated-tanh" is not supported; relu and gated-gelu are'),
                ('t5', {'feed_forward_proj': 'gated-gelu'}, 'tensor encoder.block.0.layer.1.DenseReluDense.wi_0.weight: missing'),
                ('mt5', {'feed_forward_proj': 'relu'}, 'tensor encoder.block.0.layer.1.DenseReluDense.wi.weight: missing'),
                ('mpnet', {'relative_attention_num_buckets': 16}, 'member relative_attention_num_buckets: 16 is not supported; 32 is'))):
            runnel('embed', '-m', changed(folder / str(i), name, **members), 'a').fails(1, why)


@test
def a_t5_without_its_numbers_of_distances_is_refused():
    with Folder() as folder:
        shutil.copytree(ROOT / 't5', folder / 'without')
        file = folder / 'without/model.safetensors'
        file.write_bytes(file.read_bytes().replace(b'encoder.block.0.layer.0.SelfAttention.relative_attention_bias', b'decoder.block.0.layer.0.SelfAttention.relative_attention_bias'))
        runnel('embed', '-m', folder / 'without', 'a').fails(1, "tensor enc.blk.0.attn_rel_b.weight is missing: architecture 't5encoder' needs it with shape [3, 9]")


@test
def a_window_of_one_position_shows_a_row_itself_alone():
    with Folder() as folder:
        near_sighted = changed(folder / 'one', 'modernbert', local_attention=1, layer_types=['sliding_attention'] * 5)
        alone, = embed('modernbert', '--pooling', 'first', texts=['a'], model=near_sighted)
        among, = embed('modernbert', '--pooling', 'first', texts=['a dog on the mat'], model=near_sighted)
        equal(alone, among)


def changed(to, name, **members):
    """The model's folder with other members of config.json."""
    shutil.copytree(ROOT / name, to)
    config = json.loads((to / 'config.json').read_text())
    (to / 'config.json').write_text(json.dumps({**config, **members}))
    return to


@test
def a_converted_file_makes_the_same_numbers():
    with Folder() as folder:
        for name in (*EMBEDDERS, *RANKERS, *PAIRED, *WHOLE):
            file = folder / f'{name}.gguf'
            runnel('convert', ROOT / name, file).ok()
            equal(embed(name, model=file), embed(name), name)
            equal(list(pairs(name, file)), list(pairs(name)), name)


@test
def llama_cpp_reads_the_converted_file_and_computes_the_same():
    command()
    with Folder() as folder:
        for name in (*EMBEDDERS, *RANKERS, *PAIRED):
            if name in NOT_LLAMA_CPP:
                continue
            file, out = folder / f'{name}.gguf', folder / 'peer.npy'
            runnel('convert', ROOT / name, file).ok()
            g = max((g for g in golden(name) if 'query' not in g), key=lambda g: len(g['ids']))
            mine, = embed(name, '--no-normalize', model=file, texts=[g['text']])
            peer('embd', file, '--ids', listed(g['ids']), '--out', out, '-t', '1', '--kv', 'f32', '--fa', 'off')
            data = out.read_bytes()
            theirs = array.array('f', data[10 + int.from_bytes(data[8:10], 'little'):])
            # Its GELU is a table of half-precision numbers.
            check(all(abs(a - b) < 4e-3 for a, b in zip(mine, theirs)), name, g['text'], mine[:6], list(theirs[:6]))


@test
def the_tokens_of_a_converted_file_are_those_of_the_tokenizers_library():
    with Folder() as folder:
        for name in ('xlm-unigram', 'bert-pairs', 'roberta', 't5'):
            runnel('convert', ROOT / name, folder / 'file.gguf').ok()
            for g in golden(name):
                if 'query' in g:
                    continue
                for model in (ROOT / name, folder / 'file.gguf'):
                    equal(runnel('tokenize', '-m', model, '--add-special', '--json', g['text']).ok().lines[0]['ids'], g['ids'], f'{name}: {g["text"]}')
                if 'RUNNEL_PEER' in os.environ and g == golden(name)[0]:
                    equal(peer('tokenize', folder / 'file.gguf', '--text', g['text'])['ids'], g['ids'])


def sentencepiece_model(pieces):
    """SentencePiece's file (sentencepiece_model.proto) of [piece, score, type]: Unigram, with T5's ids of control tokens."""
    def number(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)

    def block(field, data):
        return number(field << 3 | 2) + number(len(data)) + data

    def numbers(*pairs):
        return b''.join(number(field << 3) + number(n) for field, n in pairs)
    made = b''.join(block(1, block(1, p.encode()) + number(2 << 3 | 5) + struct.pack('<f', score) + numbers((3, kind))) for p, score, kind in pieces)
    return made + block(2, numbers((3, 1), (40, 2), (41, 2 ** 64 - 1), (42, 1), (43, 0))) + block(3, numbers((3, 1), (4, 1), (5, 1)))


@test
def a_t5_folder_may_have_spiece_model_alone():
    vocab = json.loads((ROOT / 't5/tokenizer.json').read_text())['model']['vocab']
    with Folder() as folder:
        alone = folder / 'alone'
        shutil.copytree(ROOT / 't5', alone)
        (alone / 'tokenizer.json').unlink()
        (alone / 'spiece.model').write_bytes(sentencepiece_model([(p, score, {0: 3, 1: 3, 2: 2}.get(i, 1)) for i, (p, score) in enumerate(vocab[:-3])]))
        runnel('convert', alone, folder / 'alone.gguf').ok()
        for g in golden('t5')[:3]:      # its line break is another character there
            for model in (alone, folder / 'alone.gguf'):
                equal(runnel('tokenize', '-m', model, '--add-special', '--json', g['text']).ok().lines[0]['ids'], g['ids'], g['text'])
        equal(embed('t5', model=alone, texts=['the cat sat']), embed('t5', texts=['the cat sat']))


@test
def tokens_for_holes_are_those_of_t5_where_a_text_may_name_them():
    with Folder() as folder:
        runnel('convert', ROOT / 't5', folder / 'file.gguf').ok()
        for model in (ROOT / 't5', folder / 'file.gguf'):       # as the tokenizers library has it
            equal(runnel('tokenize', '-m', model, '--add-special', '--parse-special', '--json', 'a <extra_id_0> on the <extra_id_1>  cat').ok().lines[0]['ids'], [8, 42, 7, 4, 41, 5, 1])


@test
def a_unigram_file_without_our_key_is_tokenized_as_sentencepiece_does_it():
    with Folder() as folder:
        runnel('convert', ROOT / 'xlm-unigram', folder / 'own.gguf').ok()
        plain = folder / 'plain.gguf'
        plain.write_bytes((folder / 'own.gguf').read_bytes().replace(b'tokenizer.runnel.steps', b'tokenizer.runnel.other'))
        for text, want in (('the cat sat on the mat.', golden('xlm-unigram')[0]['ids']), (' a  cat ', [0, 10, 5, 2])):     # white space at the ends goes
            equal(runnel('tokenize', '-m', plain, '--add-special', '--json', text).ok().lines[0]['ids'], want, text)
            if 'RUNNEL_PEER' in os.environ:
                equal(peer('tokenize', plain, '--text', text)['ids'], want, f'llama.cpp: {text}')


@test
def without_a_word_of_the_file_an_embedding_is_the_mean_of_all_rows():
    for name in EMBEDDERS:
        for g, got in zip(golden(name), embed(name, '--no-normalize')):
            near(got, [sum(column) / len(g['out']) for column in zip(*g['out'])], name)
        first = embed(name, '--pooling', 'first', '--no-normalize')
        for g, got in zip(golden(name), first):
            near(got, g['out'][0], name)


@test
def bits_do_not_depend_on_other_texts_threads_and_kernels():
    for name in EMBEDDERS + WHOLE + HEADS:
        texts = [g['text'] for g in golden(name)] * 7 + ['the cat sat on a mat and ran'] * 3      # some begin alike
        want = embed(name, '--parallel', 1, '-t', 1, texts=texts)
        for args in (('--parallel', 16, '-t', 2), ('--parallel', 5, '--cpu', 'ref'), ('--parallel', 3, '--no-repack')):
            equal(embed(name, *args, texts=texts), want, f'{name} {args}')


@test
def a_decoder_whose_rows_see_their_whole_text_is_an_encoder():
    for name in ('qwen2-whole', 'mistral-whole'):
        runnel('run', '-m', ROOT / name, '--ids', '5,6').fails(1, 'it makes embeddings and scores of them, and writes none')
        with Folder() as folder:
            causal = changed(folder / 'causal', name, is_causal=True)
            (first, *_), (other, *_) = (embed(name, '--pooling', 'none', texts=[text], model=causal)[0] for text in ('the cat', 'the dog'))
            equal(first, other)      # the first row sees itself alone


@test
def an_encoder_writes_no_text():
    for args in (('run', '-n', 3, 'the cat'), ('score', '-p', 'the cat'), ('chat', '-p', 'the cat')):
        done = runnel(args[0], '-m', ROOT / 'bert', *args[1:])
        check(done.code != 0, args)
        if args[0] != 'chat':
            check('an encoder, which sees texts as a whole: it makes embeddings and scores of them, and writes none' in done.err, args, done.err)


@test
def a_text_that_is_too_long_is_refused():
    runnel('embed', '-m', ROOT / 'bert', 'the ' * 39).fails(1, '41 tokens do not fit the context of 40')


if __name__ == '__main__':
    main()
