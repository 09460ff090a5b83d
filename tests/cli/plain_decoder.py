"""tests/cli/plain_decoder.py - decoders in plain torch, for classes that transformers has no code for (make_published.py).

Written after the modeling files that the models were published with, without caches, batches or tricks. Tensors have names of their own:
`embed`, `norm`, `head`, and of layer i `i.attn_norm`, `i.q` ...; rotation is of halves."""
import types

import torch
import torch.nn.functional as F


def slopes(n):
    """Press et al. 2021, 2108.12409."""
    def powers(k):
        return [2 ** (-8 * (i + 1) / k) for i in range(k)]
    two = 1 << (n.bit_length() - 1)
    return powers(two) if two == n else powers(two) + powers(2 * two)[0::2][:n - two]


class Plain:
    """c: n_layer, n_head, n_head_kv, head_dim, eps; and where it is so norm ('layer'), base, n_rot, alibi, layer (a function in place of the usual block), and what that reads."""

    def __init__(self, tensors, **c):
        self.t, self.c = tensors, types.SimpleNamespace(**{'norm': 'rms', 'base': None, 'n_rot': None, 'alibi': False, 'layer': usual, 'scale': None, 'act': F.silu, 'embed_scale': 1,
                                                           'head_scale': 1, **c})

    def double(self):
        return Plain({name: t.double() for name, t in self.t.items()}, **vars(self.c))

    def norm(self, x, name):
        w, b = self.t[name], self.t.get(name + '.bias')
        if self.c.norm == 'layer':
            return F.layer_norm(x, w.shape, w, b, self.c.eps)
        return w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.c.eps))

    def linear(self, x, name):
        return F.linear(x, self.t[name], self.t.get(name + '.bias'))

    def rotate(self, x, base=None):
        d = self.c.n_rot or x.shape[-1]
        angle = torch.arange(x.shape[-2], dtype=torch.float32)[:, None] / (base or self.c.base) ** (torch.arange(0, d, 2, dtype=torch.float32) / d)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        if getattr(self.c, 'pairs', False):
            a, b = x[..., 0:d:2], x[..., 1:d:2]
            return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
        a, b = x[..., :d // 2], x[..., d // 2:d]
        return torch.cat([a * cos - b * sin, b * cos + a * sin, x[..., d:]], -1)

    def heads(self, x, name, n):
        return self.linear(x, name).view(x.shape[0], n, -1).transpose(0, 1)

    def attend(self, x, i):
        c = self.c
        n_head, n_head_kv = (n[i] if isinstance(n, list) else n for n in (c.n_head, c.n_head_kv))
        q, k, v = (self.heads(x, f'{i}.{p}', n) for p, n in (('q', n_head), ('k', n_head_kv), ('v', n_head_kv)))
        if f'{i}.q_norm' in self.t and not getattr(c, 'norms_behind', False):
            q, k = self.norm(q, f'{i}.q_norm'), self.norm(k, f'{i}.k_norm')
        if c.base and i not in getattr(c, 'unrotated', ()):
            base = getattr(c, 'base_of_windows', None) if i in getattr(c, 'windowed', ()) else None
            q, k = self.rotate(q, base), self.rotate(k, base)
        if getattr(c, 'norms_behind', False):
            q, k = self.norm(q, f'{i}.q_norm'), self.norm(k, f'{i}.k_norm')
        of = getattr(c, 'key_head', lambda h: h // (n_head // n_head_kv))
        k, v = (torch.stack([t[of(h)] for h in range(n_head)]) for t in (k, v))
        scores = q @ k.transpose(1, 2) * (c.scale or q.shape[-1] ** -0.5)
        if getattr(c, 'cap', None):
            scores = c.cap * torch.tanh(scores / c.cap)
        if c.alibi:
            far = torch.arange(x.shape[0])[None, :] - torch.arange(x.shape[0])[:, None]
            scores = scores + torch.tensor(slopes(n_head)).to(x.dtype)[:, None, None] * far
        scores = scores.masked_fill(torch.ones(x.shape[0], x.shape[0]).triu(1).bool(), float('-inf'))
        if i in getattr(c, 'windowed', ()):
            scores = scores.masked_fill(torch.ones(x.shape[0], x.shape[0]).tril(-c.window).bool(), float('-inf'))
        return self.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(x.shape[0], -1), f'{i}.o')

    def gated(self, x, name):
        return self.linear(self.c.act(self.linear(x, name + 'gate')) * self.linear(x, name + 'up'), name + 'down')

    def mixture(self, x, i, by=None):
        """Softmax over all, or a sigmoid of each, the best divided by their sum. by: what the router reads, if it is something else."""
        scores = self.linear(x if by is None else by, f'{i}.router')
        weights, chosen = torch.topk(scores.sigmoid() if getattr(self.c, 'sigmoid', False) else scores.softmax(-1), self.c.n_used)
        weights = weights / weights.sum(-1, keepdim=True)
        return torch.stack([sum(w * self.gated(row, f'{i}.experts.{int(e)}.') for w, e in zip(ws, es)) for row, ws, es in zip(x, weights, chosen)])

    def __call__(self, input_ids, use_cache=False):
        x = self.t['embed'][input_ids[0]] * self.c.embed_scale
        for i in range(self.c.n_layer):
            x = self.c.layer(self, x, i)
        logits = F.linear(self.norm(x, 'norm'), self.t.get('head', self.t['embed']))[None] * self.c.head_scale
        cap = getattr(self.c, 'last_cap', None)
        return types.SimpleNamespace(logits=cap * torch.tanh(logits / cap) if cap else logits)


def usual(m, x, i):
    x = x + m.attend(m.norm(x, f'{i}.attn_norm'), i)
    return x + m.gated(m.norm(x, f'{i}.ffn_norm'), f'{i}.')


def parallel(m, x, i):
    """PLaMo: both read one norm."""
    read = m.norm(x, f'{i}.attn_norm')
    return x + m.attend(read, i) + m.gated(read, f'{i}.')


def arctic(m, x, i):
    """modeling_arctic.py, parallel_attn_mlp_res: experts read what the layer read."""
    after = x + m.attend(m.norm(x, f'{i}.attn_norm'), i)
    return after + m.gated(m.norm(after, f'{i}.ffn_norm'), f'{i}.') + m.mixture(m.norm(x, f'{i}.experts_norm'), i)


def omitting(m, x, i):
    """DeciLM and Llama-Nemotron: attention, a matrix in its place, or neither; a feed-forward part, or none."""
    if f'{i}.attn_norm' in m.t:
        read = m.norm(x, f'{i}.attn_norm')
        x = x + (m.attend(read, i) if f'{i}.q' in m.t else m.linear(read, f'{i}.o'))
    return x + m.gated(m.norm(x, f'{i}.ffn_norm'), f'{i}.') if f'{i}.gate' in m.t else x


def early(m, x, i):
    """SmallThinker: the router reads what the layer reads."""
    after = x + m.attend(m.norm(x, f'{i}.attn_norm'), i)
    return after + m.mixture(m.norm(after, f'{i}.ffn_norm'), i, x)


def normed_around(m, x, i):
    """PLaMo 3: norms on both sides of blocks."""
    x = x + m.norm(m.attend(m.norm(x, f'{i}.attn_norm'), i), f'{i}.post_attn_norm')
    return x + m.norm(m.gated(m.norm(x, f'{i}.ffn_norm'), f'{i}.'), f'{i}.post_ffn_norm')


def latent_attention(m, x, i):
    """DeepSeek-V2 (2405.04434), section 2.1, as modeling_plm.py has it: keys and values of all heads from a short vector, the rotated part of keys shared."""
    c, n = m.c, x.shape[0]
    q = m.heads(x, f'{i}.q', c.n_head)
    short, rotated = m.linear(x, f'{i}.kv_a').split([c.rank, c.n_rot], -1)
    short = m.t[f'{i}.kv_a_norm'] * (short * torch.rsqrt(short.pow(2).mean(-1, keepdim=True) + 1e-6))
    k, v = m.heads(short, f'{i}.kv_b', c.n_head).split([c.nope, c.dim_v], -1)
    q = torch.cat([q[..., :c.nope], m.rotate(q[..., c.nope:])], -1)
    k = torch.cat([k, m.rotate(rotated).expand(c.n_head, n, c.n_rot)], -1)
    scores = (q @ k.transpose(1, 2) * q.shape[-1] ** -0.5).masked_fill(torch.ones(n, n).triu(1).bool(), float('-inf'))
    return m.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(n, -1), f'{i}.o')


def plm(m, x, i):
    x = x + latent_attention(m, m.norm(x, f'{i}.attn_norm'), i)
    read = m.norm(x, f'{i}.ffn_norm')
    return x + m.linear(m.linear(read, f'{i}.up').relu() ** 2, f'{i}.down')


def grove_experts(m, x, i):
    """modeling_grove_moe.py: chosen by sigmoids, weighed by softmaxes; what a group shares counts a twentieth."""
    scores = m.linear(x, f'{i}.router')
    chosen = torch.topk(scores.sigmoid(), m.c.n_used).indices
    weights = scores.softmax(-1).gather(-1, chosen)
    weights = weights / weights.sum(-1, keepdim=True)
    return torch.stack([sum(w * (m.gated(row, f'{i}.experts.{int(e)}.') + 0.05 * m.gated(row, f'{i}.chunks.{int(e) // 2}.')) for w, e in zip(ws, es)) for row, ws, es in zip(x, weights, chosen)])


def grove(m, x, i):
    x = x + m.attend(m.norm(x, f'{i}.attn_norm'), i)
    read = m.norm(x, f'{i}.ffn_norm')
    return x + (grove_experts(m, read, i) if f'{i}.router' in m.t else m.gated(read, f'{i}.'))


def grok(m, x, i):
    """modeling_grok1.py and SGLang's grok.py: weights of experts are those of the softmax over all, capped in the latter, beside a dense part."""
    c = m.c
    x = x + m.norm(m.attend(m.norm(x, f'{i}.attn_norm'), i), f'{i}.post_attn_norm')
    read = m.norm(x, f'{i}.ffn_norm')
    scores = m.linear(read, f'{i}.router')
    weights, chosen = torch.topk((c.router_cap * torch.tanh(scores / c.router_cap) if c.router_cap else scores).softmax(-1), c.n_used)
    made = torch.stack([sum(w * m.gated(row, f'{i}.experts.{int(e)}.') for w, e in zip(ws, es)) for row, ws, es in zip(read, weights, chosen)])
    if f'{i}.gate' in m.t:
        made = (m.gated(read, f'{i}.') + made) / 2 ** 0.5
    return x + m.norm(made, f'{i}.post_ffn_norm')


def before(x):
    return torch.cat([torch.zeros_like(x[:1]), x[:-1]])


def rwkv7_mixer(m, x, i, first):
    """fla-org's rwkv7.py: tensors have its names."""
    t, c = (lambda name: m.t[f'{i}.attn.{name}']), m.c
    n, h = x.shape[0], c.n_head
    late = before(x) - x
    mixed = {letter: x + late * t(f'x_{letter}').flatten() for letter in ('rwkvag' if c.gated else 'rwkva')}

    def low(letter, act):
        return F.linear(act(F.linear(mixed[letter], t(f'{letter}1'))), t(f'{letter}2'), m.t.get(f'{i}.attn.{letter}0'))
    r, k, v = (F.linear(mixed[letter], t(f'{letter}_proj')) for letter in 'rkv')
    decay = torch.exp(-0.6065306597126334 * torch.sigmoid(low('w', torch.tanh)))
    rate = torch.sigmoid(low('a', lambda y: y))
    if i:
        v = v + (first['v'] - v) * torch.sigmoid(low('v', lambda y: y))
    else:
        first['v'] = v
    e = F.normalize((k * t('k_k').flatten()).view(n, h, -1), dim=-1)
    k = k * (1 + (rate - 1) * t('k_a').flatten())
    r, k, v, rate, decay = (y.view(n, h, -1) for y in (r, k, v, rate, decay))
    state, rows = torch.zeros(h, r.shape[-1], r.shape[-1], dtype=x.dtype), []
    for s in range(n):
        held = torch.einsum('hk,hkv->hv', e[s], state)
        state = state * decay[s][:, :, None] + k[s][:, :, None] * v[s][:, None] - (e[s] * rate[s])[:, :, None] * held[:, None]
        rows.append(torch.einsum('hk,hkv->hv', r[s], state))
    y = torch.stack(rows).view(n, -1)
    if f'{i}.attn.ln' in m.t:
        y = F.group_norm(y, h, t('ln'), t('ln.bias'), 64e-5)
    y = y + ((r * k * t('r_k').view(h, -1)).sum(-1, keepdim=True) * v).view(n, -1)
    return F.linear(y * low('g', torch.sigmoid) if c.gated else y, t('o_proj'))


def rwkv7(m, x, i):
    if i == 0:
        m.first = {}
        if '0.pre_norm' in m.t:
            x = m.norm(x, '0.pre_norm')
    x = x + rwkv7_mixer(m, m.norm(x, f'{i}.attn_norm'), i, m.first)
    read = m.norm(x, f'{i}.ffn_norm')
    if f'{i}.gate' in m.t:
        return x + m.gated(read, f'{i}.')
    mixed = read + (before(read) - read) * m.t[f'{i}.ffn.x_k'].flatten()
    return x + F.linear(F.linear(mixed, m.t[f'{i}.ffn.key']).relu() ** 2, m.t[f'{i}.ffn.value'])


def rwkv6_mixer(m, x, i):
    """modeling_rwkv6.py, and llama.cpp's rwkv6-base.cpp for QRWKV6, which has fewer heads of keys and reads the state behind its step. Tensors have their names; c.mixes: the order of what x_w1 and x_w2 make."""
    t, c = (lambda name: m.t[f'{i}.attn.{name}']), m.c
    n, h, late = x.shape[0], c.n_head, before(x) - x
    low = torch.tanh((x + late * t('x_x').flatten()) @ t('x_w1')).view(n, 5, -1)
    shares = torch.einsum('tmr,mrd->mtd', low, t('x_w2'))
    mixed = {letter: x + late * (t(f'x_{letter}').flatten() + shares[k]) for k, letter in enumerate(c.mixes)}
    r, k, v, g = (m.linear(mixed[letter], f'{i}.attn.{letter}_proj') for letter in 'rkvg')
    decay = torch.exp(-torch.exp(t('time_decay').flatten() + torch.tanh(mixed['w'] @ t('time_decay_w1')) @ t('time_decay_w2'))).view(n, h, -1)
    r, k, v = (y.view(n, -1, decay.shape[-1]) for y in (r, k, v))
    k, v = (y.repeat_interleave(h // y.shape[1], 1) for y in (k, v))
    if c.in_qwen:
        k, r = k * (1 - decay), r * r.shape[-1] ** -0.5
    state, rows = torch.zeros(h, r.shape[-1], r.shape[-1], dtype=x.dtype), []
    for s in range(n):
        new = k[s][:, :, None] * v[s][:, None]
        then = state * decay[s][:, :, None] + new
        rows.append(torch.einsum('hk,hkv->hv', r[s], then if c.in_qwen else state + t('time_faaaa')[:, :, None] * new))
        state = then
    y = torch.stack(rows).view(n, -1)
    y = y * torch.sigmoid(g) if c.in_qwen else F.group_norm(y, h, t('ln'), t('ln.bias'), 64e-5) * F.silu(g)
    return F.linear(y, t('o_proj'))


def rwkv6(m, x, i):
    if m.c.in_qwen:
        return usual_with(rwkv6_mixer, m, x, i)
    if i == 0:
        x = m.norm(x, '0.pre_norm')
    by = 2.0 ** -(i // m.c.halved_every) if m.c.halved_every else 1
    x = x + rwkv6_mixer(m, m.norm(x, f'{i}.attn_norm'), i) * by
    read = m.norm(x, f'{i}.ffn_norm')
    late = before(read) - read
    key, gate = (read + late * m.t[f'{i}.ffn.x_{letter}'].flatten() for letter in 'kr')
    x = x + torch.sigmoid(m.linear(gate, f'{i}.ffn.r_proj')) * m.linear(m.linear(key, f'{i}.ffn.k_proj').relu() ** 2, f'{i}.ffn.v_proj') * by
    return x / 2 if m.c.halved_every and (i + 1) % m.c.halved_every == 0 else x


def usual_with(mixer, m, x, i):
    x = x + mixer(m, m.norm(x, f'{i}.attn_norm'), i)
    return x + m.gated(m.norm(x, f'{i}.ffn_norm'), f'{i}.')
