#!/usr/bin/env python3
"""tests/cli/make_encoders.py - tiny random encoders and what transformers makes of texts with them: tests/cli/encoders/NAME/.

Heads that are no power of two, layers of odd widths, padded vocabularies. Needs torch, transformers and tokenizers.
"""
import json
import pathlib
import random
import sys

import torch
from plain_encoders import Jina2, Neo, NomicMoe
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (BertConfig, BertForSequenceClassification, BertModel, DistilBertConfig, DistilBertModel, EuroBertConfig, EuroBertForSequenceClassification, EuroBertModel, Gemma3TextConfig, Gemma3TextModel, GteConfig, GteForSequenceClassification, GteModel,
                          JinaEmbeddingsV3Config, JinaEmbeddingsV3ForSequenceClassification, JinaEmbeddingsV3Model, LlamaConfig, LlamaModel, MistralConfig, MistralModel, ModernBertConfig, ModernBertForSequenceClassification, ModernBertModel, MPNetConfig, MPNetForSequenceClassification, MPNetModel,
                          NomicBertConfig, NomicBertForSequenceClassification, NomicBertModel, Qwen2Config, Qwen2Model, RobertaConfig, RobertaModel, MT5Config, MT5EncoderModel, T5Config, T5EncoderModel, UMT5Config, UMT5EncoderModel, XLMRobertaConfig,
                          XLMRobertaForSequenceClassification)

ROOT = pathlib.Path(__file__).parent / 'encoders'


class LlamaBidirectionalModel(LlamaModel):
    """NVIDIA's class: no row is masked."""

    def forward(self, input_ids, **more):
        n = input_ids.shape[1]
        return super().forward(input_ids, attention_mask=torch.zeros(1, 1, n, n), **more)


PIECES = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'the', 'cat', 'dog', 'sat', 'on', 'mat', 'a', 'b', 'c', '##s', '##a', '##b', '##ing', '.', ',', '!', 'run', 'in', 'ra', '##in']
TEXTS = ['the cat sat on the mat.', 'a', 'Dogs, rain; running! in the mats abba', 'unknown words', 'the ' * 17]
FAR = [*TEXTS[:4], 'run the dog on a mat. ' * 7]      # longer than windows, and than what a bias tells apart
SIZES = {'vocab_size': len(PIECES) + 3, 'hidden_size': 21, 'num_hidden_layers': 2, 'num_attention_heads': 3, 'intermediate_size': 26}


PAIRS = [('the cat', 'a dog sat on the mat.'), ('run', ''), ('in a mat', 'rain')]


def tokenizer(first, pair='[CLS] $A [SEP] $B [SEP]'):
    pieces = [*first, *PIECES[2:]]
    t = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token='[UNK]'))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(single='[CLS] $A [SEP]', pair=pair, special_tokens=[('[CLS]', 2), ('[SEP]', 3)])
    t.add_special_tokens(pieces[:5])
    return t


def unigram():
    """A tokenizer as XLM-R's: pieces with scores, spaces as signs, two tokens between the texts of a pair."""
    pieces = [('<s>', 0.), ('<pad>', 0.), ('</s>', 0.), ('<unk>', 0.)]
    pieces += [(p, -2 - i / 4) for i, p in enumerate(['\u2581the', '\u2581cat', '\u2581', 'at', 's', '\u2581on', '\u2581a', 'm', 'do', 'g', 'r', 'un', 'ing', 'in', 'a', 'b', '.', ',', '\u2581s', 't', 'i', 'n', 'e', 'h'])]
    t = Tokenizer(models.Unigram(pieces, unk_id=3))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.Replace(Regex(' {2,}'), ' '), pre_tokenizers.Metaspace(), decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(single='<s> $A </s>', pair='<s> $A </s> </s> $B </s>', special_tokens=[('<s>', 0), ('</s>', 2)])
    t.add_special_tokens([p for p, _ in pieces[:4]])
    return t


def t5_tokenizer():
    """A tokenizer as T5's: pieces with scores, a token behind the text, and tokens for holes at the end of the vocabulary."""
    words = ['the', 'cat', 's', 'on', 'a', 'm', 'do', 'un', 'know', 'run', 'rain', 'in', 'n']
    pieces = [('<pad>', 0.), ('</s>', 0.), ('<unk>', 0.), ('\u2581', -2.), *((f'\u2581{w}', -2.1 - i / 8) for i, w in enumerate(words))]
    pieces += [(p, -3 - i / 4) for i, p in enumerate(['at', 'og', 's', 'ing', 'n', 'r', 'un', 'in', 'a', 'b', '.', ',', '!', 't', 'i', 'e', 'h', 'w', 'o', 'd', 'g', 'k', 'm'])]
    pieces += [(f'<extra_id_{i}>', 0.) for i in range(2, -1, -1)]
    t = Tokenizer(models.Unigram(pieces, unk_id=2))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(single='$A </s>', pair='$A </s> $B </s>', special_tokens=[('</s>', 1)])
    t.add_special_tokens(['<pad>', '</s>', '<unk>', *(f'<extra_id_{i}>' for i in range(3))])
    return t


def randomize(model, rng):
    for name, p in model.named_parameters():
        noise = torch.tensor([rng.gauss(0, .3) for _ in range(p.numel())]).reshape(p.shape)
        p.data = noise + 1 if 'norm' in name.lower() and name.endswith('weight') else noise


def rounded(out):
    return [rounded(x) for x in out] if isinstance(out, list) else float(f'{out:.7g}')


def make(name, model, seed, pair=None, texts=TEXTS, with_tokenizer=None):
    # Rows of RoBERTa that are padding (id 1) have no position of their own: no text has one.
    folder, t = ROOT / name, tokenizer(PIECES[1::-1] if 'roberta' in name or 'mpnet' in name else PIECES[:2], *[pair] if pair else ())
    t = with_tokenizer or t
    randomize(model.eval(), random.Random(seed))
    model.save_pretrained(folder)
    t.save(str(folder / 'tokenizer.json'))
    made = []
    for text in [*texts, *PAIRS] if pair else texts:
        e = t.encode(*text) if isinstance(text, tuple) else t.encode(text)
        kinds = {'token_type_ids': torch.tensor([e.type_ids])} if pair and 'bert-' in name and 'roberta' not in name else {}
        with torch.no_grad():
            out = model(input_ids=torch.tensor([e.ids]), **kinds)
        rows = out.logits[0] if 'logits' in out else out.last_hidden_state[0]
        said = {'query': text[0], 'text': text[1]} if isinstance(text, tuple) else {'text': text}
        made.append({**said, 'ids': e.ids, 'out': rounded(rows.tolist())})
    (folder / 'golden.json').write_text('[' + ',\n'.join(json.dumps(m) for m in made) + ']\n')


def make_plain(name, kind, seed, texts=TEXTS):
    folder, t = ROOT / name, tokenizer(PIECES[:2])
    model = kind(random.Random(seed))
    folder.mkdir(exist_ok=True)
    (folder / 'config.json').write_text(json.dumps(model.config, indent=1) + '\n')
    save_file(model.tensors, folder / 'model.safetensors', {'format': 'pt'})
    t.save(str(folder / 'tokenizer.json'))
    ids = {text: t.encode(text).ids for text in texts}
    made = [{'text': text, 'ids': ids[text], 'out': rounded(model.rows(torch.tensor(ids[text])).tolist())} for text in texts]
    (folder / 'golden.json').write_text('[' + ',\n'.join(json.dumps(m) for m in made) + ']\n')


def make_ntk(name, config, seed, base=5e5, factor=2.5):
    """GTE as Alibaba-NLP published it: a class of its own, whose code scales rotation so; transformers has no such kind."""
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    model, d = GteModel(config), config.hidden_size // config.num_attention_heads
    model.rotary_emb.inv_freq.copy_(1 / ((base * factor) ** (torch.arange(0, d, 2).float() / d)) / factor ** (2 / d))
    make(name, model, seed)
    file = ROOT / name / 'config.json'
    own = {'architectures': ['NewModel'], 'model_type': 'new', 'rope_theta': base, 'rope_scaling': {'type': 'ntk', 'factor': factor}, 'position_embedding_type': 'rope',
           'layer_norm_type': 'layer_norm', 'pack_qkv': True, 'logn_attention_scale': False, 'logn_attention_clip1': False, 'unpad_inputs': False}
    file.write_text(json.dumps({**{k: v for k, v in json.loads(file.read_text()).items() if k != 'rope_parameters'}, **own}, indent=1) + '\n')


def add_modules(name, width, widths, window=None):
    """What sentence-transformers has behind the model: the mean of its rows, Dense modules, a length of 1; and prompts. The golden's rows become embeddings."""
    folder, rng = ROOT / name, random.Random(19)
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    config = json.loads((folder / 'config.json').read_text())
    if window:
        config['sliding_window'] = window     # as published: the class halves it when it reads it, and save_pretrained() writes that
    (folder / 'config.json').write_text(json.dumps(config, indent=1) + '\n')
    modules, dense = [('', 'Transformer'), ('1_Pooling', 'Pooling')], []
    (folder / '1_Pooling').mkdir(exist_ok=True)
    (folder / '1_Pooling/config.json').write_text(json.dumps({'word_embedding_dimension': width, 'pooling_mode_mean_tokens': True}) + '\n')
    for i, n in enumerate(widths, 2):
        modules.append((f'{i}_Dense', 'Dense'))
        (folder / modules[-1][0]).mkdir(exist_ok=True)
        dense.append(torch.tensor([[rng.gauss(0, .3) for _ in range(width)] for _ in range(n)]))
        save_file({'linear.weight': dense[-1]}, folder / modules[-1][0] / 'model.safetensors')
        (folder / modules[-1][0] / 'config.json').write_text(json.dumps({
            'in_features': width, 'out_features': n, 'bias': False, 'activation_function': 'torch.nn.modules.linear.Identity'}) + '\n')
        width = n
    modules.append((f'{len(modules)}_Normalize', 'Normalize'))
    (folder / 'modules.json').write_text(json.dumps([{'idx': i, 'name': str(i), 'path': p, 'type': f'sentence_transformers.models.{t}'} for i, (p, t) in enumerate(modules)]) + '\n')
    (folder / 'config_sentence_transformers.json').write_text(json.dumps({'prompts': {'query': 'the cat on a ', 'document': ''}, 'default_prompt_name': None}) + '\n')
    made = json.loads((folder / 'golden.json').read_text())
    for m in made:
        x = torch.tensor(m['out']).mean(0)
        for w in dense:
            x = w @ x
        m['out'] = rounded((x / x.norm()).tolist())
    (folder / 'golden.json').write_text('[' + ',\n'.join(json.dumps(m) for m in made) + ']\n')


def main():
    if sys.argv[1:]:    # those of these names alone
        global make, make_plain
        make, make_plain = ((lambda name, *args, whole=whole, **more: whole(name, *args, **more) if name in sys.argv[1:] else None) for whole in (make, make_plain))
    make('bert', BertModel(BertConfig(**SIZES, max_position_embeddings=40)), 1)
    make('roberta', RobertaModel(RobertaConfig(**SIZES, max_position_embeddings=42, type_vocab_size=1)), 2)
    make('distilbert', DistilBertModel(DistilBertConfig(vocab_size=28, dim=20, n_layers=3, n_heads=2, hidden_dim=33, max_position_embeddings=40)), 3)
    make('bert-scores', BertForSequenceClassification(BertConfig(**SIZES, max_position_embeddings=40, num_labels=1)), 4)
    make('xlm-roberta-scores', XLMRobertaForSequenceClassification(XLMRobertaConfig(**SIZES, max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, num_labels=3)), 5)
    make('bert-pairs', BertForSequenceClassification(BertConfig(**SIZES, max_position_embeddings=40, num_labels=1)), 6, '[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1')
    make('xlm-roberta-pairs', XLMRobertaForSequenceClassification(XLMRobertaConfig(**SIZES, max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, num_labels=1)), 7,
         '[CLS] $A [SEP] [SEP] $B [SEP]')
    make('xlm-unigram', XLMRobertaForSequenceClassification(XLMRobertaConfig(**SIZES, max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, num_labels=1)), 20,
         '$A $B', ['the cat sat on the mat.', ' a  cat ', 'dogs, running!'], unigram())
    even = {**SIZES, 'hidden_size': 24, 'num_hidden_layers': 4, 'max_position_embeddings': 64, 'pad_token_id': 0, 'bos_token_id': 2, 'eos_token_id': 3}      # rotation needs heads of even width
    modern = {**even, 'num_hidden_layers': 5, 'local_attention': 6, 'cls_token_id': 2, 'sep_token_id': 3}
    make('modernbert', ModernBertModel(ModernBertConfig(**modern)), 8, texts=FAR)
    make('modernbert-bias', ModernBertForSequenceClassification(ModernBertConfig(**modern, attention_bias=True, mlp_bias=True, norm_bias=True, classifier_bias=True, num_labels=1,
                                                                                  global_attn_every_n_layers=2)), 9, '[CLS] $A [SEP] $B [SEP]', FAR)
    make('modernbert-mean', ModernBertForSequenceClassification(ModernBertConfig(**modern, num_labels=1, classifier_pooling='mean')), 29, '[CLS] $A [SEP] $B [SEP]', FAR)
    make('nomic-bert', NomicBertModel(NomicBertConfig(**even)), 10)
    make('gte', GteModel(GteConfig(**even)), 11)
    make('jina3', JinaEmbeddingsV3Model(JinaEmbeddingsV3Config(**even)), 12)
    make('eurobert', EuroBertModel(EuroBertConfig(**even, num_key_value_heads=1)), 13)
    make('llama-embed', LlamaBidirectionalModel(LlamaConfig(**{**even, 'num_attention_heads': 6}, num_key_value_heads=2, attn_implementation='eager')), 19)
    make('mpnet', MPNetModel(MPNetConfig(**{**SIZES, 'max_position_embeddings': 64})), 14, texts=FAR)
    gemma = Gemma3TextConfig(**{**even, 'intermediate_size': 27, 'num_hidden_layers': 7}, head_dim=10, num_key_value_heads=1, query_pre_attn_scalar=10, sliding_window=6,
                             use_bidirectional_attention=True)
    make('embeddinggemma', Gemma3TextModel(gemma), 18, texts=FAR)
    add_modules('embeddinggemma', 24, [31, 17], 6)
    make_ntk('gte-ntk', GteConfig(**{**even, 'type_vocab_size': 2}), 28)
    scored = {'num_labels': 1}
    make('mpnet-scores', MPNetForSequenceClassification(MPNetConfig(**{**SIZES, 'max_position_embeddings': 64}, **scored)), 21, '[CLS] $A [SEP] [SEP] $B [SEP]')
    make('nomic-bert-scores', NomicBertForSequenceClassification(NomicBertConfig(**even, **scored)), 22, '[CLS] $A [SEP] $B [SEP]')
    make('gte-scores', GteForSequenceClassification(GteConfig(**even, **scored)), 23, '[CLS] $A [SEP] $B [SEP]')
    make('jina3-scores', JinaEmbeddingsV3ForSequenceClassification(JinaEmbeddingsV3Config(**even, **scored)), 24, '[CLS] $A [SEP] $B [SEP]')
    for pooling in ('late', 'bos', 'mean'):
        make(f'eurobert-{pooling}', EuroBertForSequenceClassification(EuroBertConfig(**even, num_key_value_heads=3, classifier_pooling=pooling, **scored)), 25, '[CLS] $A [SEP] $B [SEP]')
    # Decoders whose rows see their whole text. Only with this kind of attention does transformers heed is_causal.
    own = {**even, 'num_key_value_heads': 1, 'is_causal': False, 'attn_implementation': 'eager'}
    make('qwen2-whole', Qwen2Model(Qwen2Config(**own, use_sliding_window=True, sliding_window=5, max_window_layers=2)), 26, texts=FAR)
    make('mistral-whole', MistralModel(MistralConfig(**{**own, 'sliding_window': None})), 27, texts=FAR)
    # Heads of another width than the rows', an odd number of kinds of distances; layers enough for one that many have with a bias of its own.
    t5, tokens = {'vocab_size': 47, 'd_model': 21, 'd_kv': 5, 'num_heads': 3, 'd_ff': 26}, t5_tokenizer()
    spaced = [*FAR, '  the  dog\n sat ']
    make('t5', T5EncoderModel(T5Config(**t5, num_layers=3, relative_attention_num_buckets=9, relative_attention_max_distance=19)), 30, texts=spaced, with_tokenizer=tokens)
    make('mt5', MT5EncoderModel(MT5Config(**{**t5, 'd_kv': 9}, num_layers=2)), 31, texts=spaced, with_tokenizer=tokens)
    make('umt5', UMT5EncoderModel(UMT5Config(**{**t5, 'd_kv': 8, 'num_heads': 2}, num_layers=10, relative_attention_num_buckets=14, relative_attention_max_distance=40, feed_forward_proj='gated-silu')), 32,
         texts=spaced, with_tokenizer=tokens)
    make('sentence-t5', T5EncoderModel(T5Config(**t5, num_layers=2, feed_forward_proj='gated-gelu')), 33, texts=spaced, with_tokenizer=tokens)
    add_modules('sentence-t5', 21, [17])
    make_plain('jina2', Jina2, 15, FAR)
    make_plain('neobert', Neo, 16)
    make_plain('nomic-bert-moe', NomicMoe, 17)


if __name__ == '__main__':
    main()
