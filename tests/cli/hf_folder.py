"""tests/cli/hf_folder.py - makes a small Hugging Face folder."""
import json
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
    header, data = {}, b''
    for name, shape in shapes.items():
        n = 1
        for d in shape:
            n *= d
        values = [((i * 7919) % 1009 - 504) / 504 for i in range(n)]
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(data), len(data) + 4 * n]}
        data += struct.pack(f'<{n}f', *values)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    (path / 'model.safetensors').write_bytes(struct.pack('<Q', len(text)) + text + data)
    return path
