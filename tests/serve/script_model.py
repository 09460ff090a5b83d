"""tests/serve/script_model.py - a model that says what a test wants, piece by piece: the last character of the prompt chooses the script.

Each token of a script has a direction of its own; the head points from it to the next one, and attention and feed-forward add nothing.
With temperature 0 the answer is the script, token by token, for every chunking and batch.
"""
import struct

U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
AGAIN = 'again'          # as the last piece of a script: it goes on with its first piece, without an end
BROKEN = 'broken'        # a piece after which no logit is a number: the stream that said it ends with an error
NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6


def text(s):
    data = s.encode()
    return struct.pack('<Q', len(data)) + data


def pair(key, kind, value):
    if kind == STRING:
        body = text(value)
    elif kind == ARRAY:
        of, items = value
        body = struct.pack('<IQ', of, len(items)) + b''.join(text(i) if of == STRING else struct.pack({F32: '<f', I32: '<i'}[of], i) for i in items)
    else:
        body = struct.pack({U32: '<I', F32: '<f', BOOL: '<?'}[kind], value)
    return text(key) + struct.pack('<I', kind) + body


def make(scripts, template, context=512, controls=(), ends_turn=None):
    """scripts: {character: [piece, ...]}; returns the bytes of a GGUF file. controls: further control tokens, of which one ends a turn."""
    pieces = [('<unk>', UNKNOWN), ('<s>', CONTROL), ('</s>', CONTROL)] + [(f'<0x{b:02X}>', BYTE) for b in range(256)]
    n_fixed = len(pieces)
    steps = []                  # (from token, to token)
    for char, script in scripts.items():
        at, first = 3 + ord(char), len(pieces)
        repeats = script[-1] == AGAIN
        for piece in script[:-1] if repeats else script:
            pieces.append((piece.replace(' ', '\u2581'), USER if piece.startswith('<') else NORMAL))
            steps.append((at, len(pieces) - 1))
            at = len(pieces) - 1
        steps.append((at, first if repeats else 2))
    pieces += [(piece, CONTROL) for piece in controls]
    n_vocab = len(pieces)
    n_embd = -(-(len(steps) + 1) // 64) * 64
    direction = {start: 1 + i for i, (start, _) in enumerate(steps)}
    embd = [[0.0] * n_embd for _ in range(n_vocab)]
    head = [[0.0] * n_embd for _ in range(n_vocab)]
    for token in range(n_vocab):
        embd[token][direction.get(token, 0)] = 1.0
    for token in [i for i, (piece, _) in enumerate(pieces) if piece == BROKEN]:
        embd[token] = [float('nan')] * n_embd
    for start, end in steps:
        head[end][direction[start]] = 4.0
    head[2][0] = 4.0
    zeros, ones = [[0.0] * n_embd] * n_embd, [[1.0] * n_embd]
    tensors = [('token_embd.weight', embd), ('output.weight', head), ('output_norm.weight', ones),
               ('blk.0.attn_norm.weight', ones), ('blk.0.ffn_norm.weight', ones)]
    tensors += [(f'blk.0.{name}.weight', zeros) for name in ('attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down')]
    a = 'llama.'
    pairs = [pair('general.architecture', STRING, 'llama'), pair('general.alignment', U32, 32),
             pair(a + 'context_length', U32, context), pair(a + 'embedding_length', U32, n_embd), pair(a + 'block_count', U32, 1),
             pair(a + 'feed_forward_length', U32, n_embd), pair(a + 'attention.head_count', U32, n_embd // 32),
             pair(a + 'attention.layer_norm_rms_epsilon', F32, 1e-5), pair(a + 'vocab_size', U32, n_vocab),
             pair('tokenizer.ggml.model', STRING, 'llama'),
             pair('tokenizer.ggml.tokens', ARRAY, (STRING, [p for p, _ in pieces])),
             pair('tokenizer.ggml.scores', ARRAY, (F32, [-1e6 if i >= n_fixed else 0.0 for i in range(n_vocab)])),
             pair('tokenizer.ggml.token_type', ARRAY, (I32, [k for _, k in pieces])),
             pair('tokenizer.ggml.bos_token_id', U32, 1), pair('tokenizer.ggml.eos_token_id', U32, 2),
             *([pair('tokenizer.ggml.eot_token_id', U32, next(i for i, (piece, _) in enumerate(pieces) if piece == ends_turn))] if ends_turn else []),
             pair('tokenizer.ggml.add_space_prefix', BOOL, False), pair('tokenizer.chat_template', STRING, template)]
    infos, data = b'', b''
    for name, rows in tensors:
        dims = [n_embd] if len(rows) == 1 else [n_embd, len(rows)]
        infos += text(name) + struct.pack('<I', len(dims)) + b''.join(struct.pack('<Q', d) for d in dims) + struct.pack('<IQ', 0, len(data))
        data += b''.join(struct.pack(f'<{n_embd}f', *row) for row in rows)
    front = struct.pack('<4sIQQ', b'GGUF', 3, len(tensors), len(pairs)) + b''.join(pairs) + infos
    return front + bytes(-len(front) % 32) + data
