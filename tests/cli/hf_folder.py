"""tests/cli/hf_folder.py - makes a small Hugging Face folder, copies one, takes the weights of others apart."""
import json
import math
import shutil
import struct


def write_folder(path):
    """A Hugging Face folder of one layer, 32 wide, F32, without a tokenizer."""
    path.mkdir()
    config = {'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'vocab_size': 16, 'hidden_size': 32,
              'intermediate_size': 64, 'num_hidden_layers': 1, 'num_attention_heads': 2, 'num_key_value_heads': 1,
              'max_position_embeddings': 64, 'rms_norm_eps': 1e-5, 'rope_theta': 10000.0, 'tie_word_embeddings': True}
    (path / 'config.json').write_text(json.dumps(config))
    layer = {'input_layernorm': [32], 'self_attn.q_proj': [32, 32], 'self_attn.k_proj': [16, 32], 'self_attn.v_proj': [16, 32],
             'self_attn.o_proj': [32, 32], 'post_attention_layernorm': [32], 'mlp.gate_proj': [64, 32], 'mlp.up_proj': [64, 32],
             'mlp.down_proj': [32, 64]}
    shapes = {'model.embed_tokens.weight': [16, 32], 'model.norm.weight': [32]}
    shapes |= {f'model.layers.0.{name}.weight': shape for name, shape in layer.items()}
    write_tensors(path / 'model.safetensors', {name: ('F32', shape, counted(math.prod(shape))) for name, shape in shapes.items()})
    return path


def counted(n):
    return struct.pack(f'<{n}f', *(((i * 7919) % 1009 - 504) / 504 for i in range(n)))


def read_tensors(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    data = path.read_bytes()
    n, = struct.unpack_from('<Q', data)
    header = json.loads(data[8:8 + n])
    header.pop('__metadata__', None)
    at = 8 + n
    return {name: (t['dtype'], t['shape'], data[at + t['data_offsets'][0]:at + t['data_offsets'][1]])
            for name, t in header.items()}


def write_tensors(path, tensors):
    header, data = {}, b''
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    path.write_bytes(struct.pack('<Q', len(text)) + text + data)


PER_TOKEN = ('embed_tokens', 'embed_in', 'wte', 'word_embeddings', 'lm_head', 'embed_out', 'backbone.embeddings')


def padded_folder(path, to, n_more, **changed):
    """A copy whose embedding and head have rows beyond the tokens of its tokenizer. changed: as of copy_folder()."""
    copy_folder(path, to, **changed)
    config = json.loads((to / 'config.json').read_text())
    wider = {name: n + n_more for name, n in config.items() if name in ('vocab_size', 'vocab_size_per_layer_input')}
    (to / 'config.json').write_text(json.dumps(config | wider))

    def longer(name, tensor):
        dtype, shape, raw = tensor
        if not any(part in name for part in PER_TOKEN) or shape[0] != config['vocab_size']:
            return tensor
        more = len(raw) // shape[0] * n_more
        return dtype, [shape[0] + n_more, *shape[1:]], raw + counted(more // 4)[:more] if dtype == 'F32' else raw + raw[:more]
    write_tensors(to / 'model.safetensors', {name: longer(name, t) for name, t in read_tensors(to / 'model.safetensors').items()})
    return to


def copy_folder(path, to, **changed):
    """A copy that may be written to; changed: members of its config.json."""
    to.mkdir()
    for file in path.iterdir():
        if file.is_file():
            shutil.copyfile(file, to / file.name)
    if changed:
        config = to / 'config.json'
        config.write_text(json.dumps(json.loads(config.read_text()) | changed))
    return to
