"""tests/cli/plain_encoders.py - encoders that transformers has no code for, written out from what their publications and published code say:
their config.json, tensors drawn at random, and the rows that they make of tokens (make_encoders.py). Needs torch."""
import torch
from torch.nn.functional import gelu, layer_norm, rms_norm, silu


def drawn(rng, shapes):
    """Tensors by name; norms lie around 1."""
    def one(name, shape):
        n = torch.Size(shape).numel()
        noise = torch.tensor([rng.gauss(0, .3) for _ in range(n)]).reshape(shape)
        return noise + 1 if 'norm' in name.lower().replace('emb_ln', 'norm') and name.endswith('weight') else noise
    return {name: one(name, shape) for name, shape in shapes.items()}


def heads(x, n):
    return x.reshape(len(x), n, -1).transpose(0, 1)


def attend(q, k, v, bias=0):
    out = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** .5 + bias, -1) @ v
    return out.transpose(0, 1).reshape(q.shape[1], -1)


def turned(x, base, pairs):
    """Rotated by position; pairs: neighbours, or else halves."""
    d = x.shape[-1]
    angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    cos, sin = angle.cos().float(), angle.sin().float()
    a, b = (x[..., ::2], x[..., 1::2]) if pairs else (x[..., :d // 2], x[..., d // 2:])
    parts = a * cos - b * sin, a * sin + b * cos
    return torch.stack(parts, -1).flatten(-2) if pairs else torch.cat(parts, -1)


class Jina2:
    """Jina Embeddings 2 (2310.19923): BERT with ALiBi to both sides and gated feed-forward parts."""
    D, H, F, L = 21, 3, 26, 2
    config = {'architectures': ['JinaBertModel'], 'model_type': 'bert', 'vocab_size': 28, 'hidden_size': D, 'num_attention_heads': H, 'num_hidden_layers': L,
              'intermediate_size': F, 'max_position_embeddings': 64, 'position_embedding_type': 'alibi', 'feed_forward_type': 'geglu', 'type_vocab_size': 2,
              'hidden_act': 'gelu', 'layer_norm_eps': 1e-12, 'pad_token_id': 0}

    def __init__(self, rng):
        D, F = self.D, self.F
        shapes = {'embeddings.word_embeddings.weight': (28, D), 'embeddings.token_type_embeddings.weight': (2, D), 'pooler.dense.weight': (D, D), 'pooler.dense.bias': (D,)}
        for p in ['embeddings.LayerNorm'] + [f'encoder.layer.{i}.{n}' for i in range(self.L) for n in ('attention.output.LayerNorm', 'mlp.layernorm')]:
            shapes |= {p + '.weight': (D,), p + '.bias': (D,)}
        for i in range(self.L):
            for n in ('self.query', 'self.key', 'self.value', 'output.dense'):
                shapes |= {f'encoder.layer.{i}.attention.{n}.weight': (D, D), f'encoder.layer.{i}.attention.{n}.bias': (D,)}
            shapes |= {f'encoder.layer.{i}.mlp.gated_layers.weight': (2 * F, D), f'encoder.layer.{i}.mlp.wo.weight': (D, F), f'encoder.layer.{i}.mlp.wo.bias': (D,)}
        self.tensors = drawn(rng, shapes)

    def rows(self, ids):
        w, D = self.tensors, self.D
        linear = lambda x, p: x @ w[p + '.weight'].T + w.get(p + '.bias', 0)
        norm = lambda x, p: layer_norm(x, (D,), w[p + '.weight'], w[p + '.bias'], 1e-12)
        x = norm(w['embeddings.word_embeddings.weight'][ids] + w['embeddings.token_type_embeddings.weight'][0], 'embeddings.LayerNorm')
        at = torch.arange(len(ids))
        slopes = torch.tensor([2 ** -4, 2 ** -8, 2 ** -2])      # of three heads: those of two, and the first of four
        bias = -slopes[:, None, None] * (at[:, None] - at[None]).abs()
        for i in range(self.L):
            p = f'encoder.layer.{i}.'
            q, k, v = (heads(linear(x, p + 'attention.self.' + n), self.H) for n in ('query', 'key', 'value'))
            x = norm(x + linear(attend(q, k, v, bias), p + 'attention.output.dense'), p + 'attention.output.LayerNorm')
            gate, up = linear(x, p + 'mlp.gated_layers').chunk(2, -1)
            x = norm(x + linear(gelu(gate) * up, p + 'mlp.wo'), p + 'mlp.layernorm')
        return x


class Neo:
    """NeoBERT (2502.19587): norms before the blocks, neighbours rotated, SwiGLU; each head's query, key and value lie together."""
    D, H, F, L = 24, 3, 26, 2
    config = {'architectures': ['NeoBERT'], 'model_type': 'neobert', 'vocab_size': 28, 'hidden_size': D, 'num_attention_heads': H, 'num_hidden_layers': L,
              'intermediate_size': F, 'max_length': 64, 'norm_eps': 1e-5, 'pad_token_id': 0, 'hidden_act': 'SwiGLU', 'rope': True, 'rms_norm': True}

    def __init__(self, rng):
        D, F = self.D, self.F
        shapes = {'encoder.weight': (28, D), 'layer_norm.weight': (D,), 'decoder.weight': (28, D), 'decoder.bias': (28,)}
        for i in range(self.L):
            p = f'transformer_encoder.{i}.'
            shapes |= {p + 'attention_norm.weight': (D,), p + 'ffn_norm.weight': (D,), p + 'qkv.weight': (3 * D, D), p + 'wo.weight': (D, D),
                       p + 'ffn.w12.weight': (2 * F, D), p + 'ffn.w3.weight': (D, F)}
        self.tensors = drawn(rng, shapes)

    def rows(self, ids):
        w, D = self.tensors, self.D
        norm = lambda x, p: rms_norm(x, (D,), w[p + '.weight'], 1e-5)
        x = w['encoder.weight'][ids]
        for i in range(self.L):
            p = f'transformer_encoder.{i}.'
            q, k, v = heads(norm(x, p + 'attention_norm') @ w[p + 'qkv.weight'].T, self.H).chunk(3, -1)
            x = x + attend(turned(q, 1e4, True), turned(k, 1e4, True), v) @ w[p + 'wo.weight'].T
            gate, up = (norm(x, p + 'ffn_norm') @ w[p + 'ffn.w12.weight'].T).chunk(2, -1)
            x = x + (silu(gate) * up) @ w[p + 'ffn.w3.weight'].T
        return norm(x, 'layer_norm')


class NomicMoe:
    """Nomic Embed 2 (2502.07972): in every second layer experts, whose sum has one bias."""
    D, H, F, L, E, USED = 24, 3, 26, 4, 5, 2
    config = {'architectures': ['NomicBertModel'], 'model_type': 'nomic_bert', 'vocab_size': 28, 'n_embd': D, 'n_head': H, 'n_layer': L, 'n_inner': F,
              'n_positions': 64, 'layer_norm_epsilon': 1e-5, 'rotary_emb_base': 10000, 'rotary_emb_fraction': 1.0, 'rotary_emb_interleaved': False,
              'activation_function': 'gelu', 'num_experts': E, 'moe_top_k': USED, 'moe_every_n_layers': 2, 'type_vocab_size': 1, 'prenorm': False,
              'use_rms_norm': False, 'qkv_proj_bias': True, 'mlp_fc1_bias': True, 'mlp_fc2_bias': True, 'pad_token_id': 0}

    def __init__(self, rng):
        D, F, E = self.D, self.F, self.E
        shapes = {'embeddings.word_embeddings.weight': (28, D), 'embeddings.token_type_embeddings.weight': (1, D), 'emb_ln.weight': (D,), 'emb_ln.bias': (D,)}
        for i in range(self.L):
            p = f'encoder.layers.{i}.'
            shapes |= {p + n: s for n, s in {
                'attn.Wqkv.weight': (3 * D, D), 'attn.Wqkv.bias': (3 * D,), 'attn.out_proj.weight': (D, D), 'attn.out_proj.bias': (D,), 'norm1.weight': (D,),
                'norm1.bias': (D,), 'norm2.weight': (D,), 'norm2.bias': (D,)}.items()}
            shapes |= {p + 'mlp.' + n: s for n, s in ({
                'router.layer.weight': (E, D), 'experts.mlp.w1': (E * F, D), 'experts.mlp.w2': (E * F, D), 'experts.bias': (D,)} if i % 2 else {
                'fc1.weight': (F, D), 'fc1.bias': (F,), 'fc2.weight': (D, F), 'fc2.bias': (D,)}).items()}
        self.tensors = drawn(rng, shapes)

    def experts(self, x, p):
        w = self.tensors
        first, second = (w[p + 'experts.mlp.' + n].view(self.E, self.F, self.D) for n in ('w1', 'w2'))
        best = torch.softmax(x @ w[p + 'router.layer.weight'].T, -1).topk(self.USED, -1)
        out = w[p + 'experts.bias'].expand_as(x).clone()
        for row in range(len(x)):
            for weight, e in zip(best.values[row], best.indices[row]):
                out[row] += weight * (gelu(x[row] @ first[e].T) @ second[e])
        return out

    def rows(self, ids):
        w, D = self.tensors, self.D
        linear = lambda x, p: x @ w[p + '.weight'].T + w[p + '.bias']
        norm = lambda x, p: layer_norm(x, (D,), w[p + '.weight'], w[p + '.bias'], 1e-5)
        x = norm(w['embeddings.word_embeddings.weight'][ids] + w['embeddings.token_type_embeddings.weight'][0], 'emb_ln')
        for i in range(self.L):
            p = f'encoder.layers.{i}.'
            q, k, v = (heads(t, self.H) for t in linear(x, p + 'attn.Wqkv').chunk(3, -1))
            x = norm(x + linear(attend(turned(q, 1e4, False), turned(k, 1e4, False), v), p + 'attn.out_proj'), p + 'norm1')
            ffn = self.experts(x, p + 'mlp.') if i % 2 else linear(gelu(linear(x, p + 'mlp.fc1')), p + 'mlp.fc2')
            x = norm(x + ffn, p + 'norm2')
        return x
