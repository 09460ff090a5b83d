#!/usr/bin/env python3
"""tests/cli/make_encoders.py - tiny random encoders and what transformers makes of texts with them: tests/cli/encoders/NAME/.

Heads that are no power of two, layers of odd widths, padded vocabularies. Needs torch, transformers and tokenizers.
"""
import json
import pathlib
import random

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (BertConfig, BertForSequenceClassification, BertModel, DistilBertConfig, DistilBertModel, RobertaConfig, RobertaModel, XLMRobertaConfig,
                          XLMRobertaForSequenceClassification)

ROOT = pathlib.Path(__file__).parent / 'encoders'
PIECES = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'the', 'cat', 'dog', 'sat', 'on', 'mat', 'a', 'b', 'c', '##s', '##a', '##b', '##ing', '.', ',', '!', 'run', 'in', 'ra', '##in']
TEXTS = ['the cat sat on the mat.', 'a', 'Dogs, rain; running! in the mats abba', 'unknown words', 'the ' * 17]
SIZES = {'vocab_size': len(PIECES) + 3, 'hidden_size': 21, 'num_hidden_layers': 2, 'num_attention_heads': 3, 'intermediate_size': 26}


def tokenizer(first):
    pieces = [*first, *PIECES[2:]]
    t = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token='[UNK]'))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(single='[CLS] $A [SEP]', pair='[CLS] $A [SEP] $B [SEP]', special_tokens=[('[CLS]', 2), ('[SEP]', 3)])
    t.add_special_tokens(pieces[:5])
    return t


def randomize(model, rng):
    for name, p in model.named_parameters():
        noise = torch.tensor([rng.gauss(0, .3) for _ in range(p.numel())]).reshape(p.shape)
        p.data = noise + 1 if 'norm' in name.lower() and name.endswith('weight') else noise


def make(name, model, seed):
    # Rows of RoBERTa that are padding (id 1) have no position of their own: no text has one.
    folder, t = ROOT / name, tokenizer(PIECES[1::-1] if 'roberta' in name else PIECES[:2])
    randomize(model.eval(), random.Random(seed))
    model.save_pretrained(folder)
    t.save(str(folder / 'tokenizer.json'))
    made = []
    for text in TEXTS:
        ids = t.encode(text).ids
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]))
        rows = out.logits[0].tolist() if 'logits' in out else out.last_hidden_state[0].tolist()
        made.append({'text': text, 'ids': ids, 'out': [[float(f'{x:.7g}') for x in row] for row in rows] if isinstance(rows[0], list) else [float(f'{x:.7g}') for x in rows]})
    (folder / 'golden.json').write_text('[' + ',\n'.join(json.dumps(m) for m in made) + ']\n')


def main():
    make('bert', BertModel(BertConfig(**SIZES, max_position_embeddings=40)), 1)
    make('roberta', RobertaModel(RobertaConfig(**SIZES, max_position_embeddings=42, type_vocab_size=1)), 2)
    make('distilbert', DistilBertModel(DistilBertConfig(vocab_size=28, dim=20, n_layers=3, n_heads=2, hidden_dim=33, max_position_embeddings=40)), 3)
    make('bert-scores', BertForSequenceClassification(BertConfig(**SIZES, max_position_embeddings=40, num_labels=1)), 4)
    make('xlm-roberta-scores', XLMRobertaForSequenceClassification(XLMRobertaConfig(**SIZES, max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, num_labels=3)), 5)


if __name__ == '__main__':
    main()
