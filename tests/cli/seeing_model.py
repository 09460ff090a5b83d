"""tests/cli/seeing_model.py - a small random LLaVA-1.5 as a folder: 2 x 2 patches are 4 rows, so that no shared material is needed.

What it says means nothing, but depends on the picture: what is compared is how it was asked.
"""
import json
import random
import struct
import zlib
from pathlib import Path

EMBD, FF, WIDTH, WIDE, SIDE, PATCH, CONTEXT = 32, 48, 24, 32, 16, 8, 2048
ROWS = (SIDE // PATCH) ** 2
SPECIALS = ['<s>', '</s>', '<|im_start|>', '<|im_end|>', '<image>']
N_VOCAB = 256 + len(SPECIALS)
# A content that is a text, as vicuna's; in parts alone, as transformers' templates of such models have it; and both.
TEXT = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
PARTS = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% elif c['type'] == 'text' %}"
         "{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
EITHER = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for c in m['content'] %}"
          "{% if c['type'] == 'image_url' %}<image>{% elif c['type'] == 'text' %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def byte_letters():
    """GPT-2's letters of the bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}


def tensors():
    t = {'language_model.lm_head.weight': (N_VOCAB, EMBD), 'language_model.model.embed_tokens.weight': (N_VOCAB, EMBD), 'language_model.model.norm.weight': (EMBD,)}
    layer = 'language_model.model.layers.0.'
    t |= {layer + 'input_layernorm.weight': (EMBD,), layer + 'post_attention_layernorm.weight': (EMBD,), layer + 'mlp.down_proj.weight': (EMBD, FF)}
    t |= {layer + f'mlp.{n}_proj.weight': (FF, EMBD) for n in ('gate', 'up')}
    t |= {layer + f'self_attn.{n}_proj.weight': (EMBD, EMBD) for n in 'qkvo'}
    t |= {'multi_modal_projector.linear_1.bias': (EMBD,), 'multi_modal_projector.linear_1.weight': (EMBD, WIDTH),
          'multi_modal_projector.linear_2.bias': (EMBD,), 'multi_modal_projector.linear_2.weight': (EMBD, EMBD)}
    tower = 'vision_tower.vision_model.'
    t |= {tower + 'embeddings.class_embedding': (WIDTH,), tower + 'embeddings.patch_embedding.weight': (WIDTH, 3, PATCH, PATCH),
          tower + 'embeddings.position_embedding.weight': (ROWS + 1, WIDTH)}
    for i in range(2):
        at = f'{tower}encoder.layers.{i}.'
        for n in ('layer_norm1', 'layer_norm2'):
            t |= {f'{at}{n}.weight': (WIDTH,), f'{at}{n}.bias': (WIDTH,)}
        t |= {at + 'mlp.fc1.weight': (WIDE, WIDTH), at + 'mlp.fc1.bias': (WIDE,), at + 'mlp.fc2.weight': (WIDTH, WIDE), at + 'mlp.fc2.bias': (WIDTH,)}
        for n in ('k', 'q', 'v', 'out'):
            t |= {f'{at}self_attn.{n}_proj.weight': (WIDTH, WIDTH), f'{at}self_attn.{n}_proj.bias': (WIDTH,)}
    for n in ('post_layernorm', 'pre_layrnorm'):
        t |= {f'{tower}{n}.weight': (WIDTH,), f'{tower}{n}.bias': (WIDTH,)}
    return t


def make(folder, template=TEXT, seed=1):
    """Writes the model's files; returns the folder."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    draw = random.Random(seed)
    head, data = {}, bytearray()
    for name, shape in tensors().items():
        n = 1
        for side in shape:
            n *= side
        is_norm = 'norm' in name and name.endswith('weight')
        spread = 0.1 if is_norm else 1.0 if 'embed' in name else 2.5 / shape[-1] ** 0.5
        values = [draw.gauss(1 if is_norm else 0, spread) for _ in range(n)]
        head[name] = {'dtype': 'F32', 'shape': list(shape), 'data_offsets': [len(data), len(data) + 4 * n]}
        data += struct.pack(f'<{n}f', *values)
    text = json.dumps(head).encode()
    text += b' ' * (-len(text) % 8)
    (folder / 'model.safetensors').write_bytes(struct.pack('<Q', len(text)) + text + data)
    (folder / 'config.json').write_text(json.dumps({
        'architectures': ['LlavaForConditionalGeneration'], 'model_type': 'llava', 'image_token_index': 260, 'projector_hidden_act': 'gelu', 'vision_feature_layer': -2,
        'vision_feature_select_strategy': 'default', 'tie_word_embeddings': False,
        'text_config': {'model_type': 'llama', 'vocab_size': N_VOCAB, 'hidden_size': EMBD, 'intermediate_size': FF, 'num_hidden_layers': 1, 'num_attention_heads': 2,
                        'num_key_value_heads': 2, 'max_position_embeddings': CONTEXT, 'rope_theta': 10000.0, 'rms_norm_eps': 1e-5, 'tie_word_embeddings': False,
                        'bos_token_id': 256, 'eos_token_id': 257},
        'vision_config': {'model_type': 'clip_vision_model', 'hidden_size': WIDTH, 'intermediate_size': WIDE, 'num_hidden_layers': 2, 'num_attention_heads': 2,
                          'image_size': SIDE, 'patch_size': PATCH, 'hidden_act': 'quick_gelu', 'layer_norm_eps': 1e-5, 'num_channels': 3}}))
    (folder / 'preprocessor_config.json').write_text(json.dumps({
        'image_processor_type': 'CLIPImageProcessor', 'do_resize': True, 'size': {'shortest_edge': SIDE}, 'resample': 3, 'do_center_crop': True,
        'crop_size': {'height': SIDE, 'width': SIDE}, 'do_rescale': True, 'rescale_factor': 1 / 255, 'do_normalize': True, 'image_mean': [0.5, 0.5, 0.5],
        'image_std': [0.3, 0.3, 0.3], 'do_convert_rgb': True}))
    level = {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True, 'use_regex': True}
    letters = byte_letters()
    (folder / 'tokenizer.json').write_text(json.dumps({
        'version': '1.0', 'added_tokens': [{'id': 256 + i, 'content': s, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False, 'special': True}
                                           for i, s in enumerate(SPECIALS)],
        'normalizer': None, 'pre_tokenizer': level, 'decoder': level,
        'model': {'type': 'BPE', 'vocab': {letters[b]: b for b in range(256)}, 'merges': []}}))
    (folder / 'tokenizer_config.json').write_text(json.dumps({
        'tokenizer_class': 'PreTrainedTokenizerFast', 'bos_token': '<s>', 'eos_token': '</s>', 'add_bos_token': False, 'chat_template': template}))
    return folder


def png(width, height, seed):
    """A picture of random colours."""
    draw = random.Random(seed)
    rows = b''.join(b'\0' + draw.randbytes(3 * width) for _ in range(height))
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))    # noqa: E731
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


def bmp(width, height, seed):
    """The same for builds that read no PNG."""
    draw = random.Random(seed)
    row = (3 * width + 3) & ~3
    body = b''.join(draw.randbytes(row) for _ in range(height))
    return b'BM' + struct.pack('<IHHI', 26 + len(body), 0, 0, 26) + struct.pack('<IHHHH', 12, width, height, 1, 24) + body
