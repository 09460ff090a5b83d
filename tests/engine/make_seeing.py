#!/usr/bin/env python3
"""tests/engine/make_seeing.py [NAME...] - tiny random models that see, and what transformers makes of prompts with pictures: tests/engine/seeing/NAME/.

Widths of towers and heads that are no multiples of each other, pictures with sides that fall on a half, ratios up to 1:7. `pixels` are bytes: what the processor
makes of a picture, before it is scaled. Needs torch, transformers, tokenizers and Pillow 13.
"""
import json
import os
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
import transformers as tf
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.pixtral import image_processing_pil_pixtral as pixtral_pil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil, smart_resize as frame_size
from transformers.models.qwen3_vl.video_processing_qwen3_vl import smart_resize as film_size
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

# The processor's module reads a function of the other backend, which needs torchvision.
sys.modules['transformers.models.pixtral.image_processing_pixtral'] = pixtral_pil
from transformers.models.pixtral.processing_pixtral import PixtralProcessor  # noqa: E402

torch.set_num_threads(1)
tf.processing_utils.ProcessorMixin.check_argument_for_proper_class = lambda self, name, arg: type(arg)  # processors of video need torchvision
ROOT = Path(__file__).parent / 'seeing'
PICTURES = {'wide': (45, 17), 'tall': (15, 40), 'strip': (9, 63), 'even': (24, 24), **{f'film{i}': (37, 23) for i in range(5)}, **{f'reel{i}': (6, 31) for i in range(3)}}
SPECIALS = ['<s>', '</s>', '<pad>', '<image>', '<fake_token_around_image>', '<global-img>', '<end_of_utterance>', *[f'<row_{r}_col_{c}>' for r in (1, 2) for c in (1, 2, 3, 4)]]
N_GREEDY = 12


def picture(name):
    path = ROOT / f'{name}.png'
    w, h = PICTURES[name]
    if not path.exists():
        rng, (y, x) = np.random.default_rng(w + (100 * int(name[4:]) if name[4:].isdigit() else 0)), np.mgrid[0:h, 0:w]
        waves = [127 + 90 * np.sin(x / (3 + c) + c) * np.cos(y / (5 - c)) + 20 * rng.standard_normal((h, w)) for c in range(3)]
        Image.fromarray(np.clip(np.stack(waves, -1), 0, 255).astype(np.uint8)).save(path, optimize=True)
    return Image.open(path).convert('RGB')


def tokenizer(specials, merges=(('s', 'o'),), **names):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    t = Tokenizer(models.BPE({c: i for i, c in enumerate([*alphabet, *(''.join(m) for m in merges)])}, list(merges)))
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.add_special_tokens([AddedToken(s, normalized=False) for s in specials])
    return tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token='<s>', eos_token='</s>', pad_token='<pad>', extra_special_tokens=names or None)


def text_config(t, **more):
    return {'vocab_size': len(t), 'hidden_size': 16, 'intermediate_size': 20, 'num_hidden_layers': 2, 'num_attention_heads': 2, 'num_key_value_heads': 1, 'head_dim': 8,
            'max_position_embeddings': 2048, 'tie_word_embeddings': False, 'bos_token_id': t.bos_token_id, 'eos_token_id': t.eos_token_id, 'pad_token_id': t.pad_token_id, **more}


def randomize(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in sorted(model.named_parameters()):
        noise = torch.randn(p.shape, generator=g)
        is_norm = 'norm' in name.lower() and name.endswith('weight')
        scale = .2 if is_norm or p.dim() == 1 else 1 if 'embed' in name and p.dim() == 2 else 3 if 'lm_head' in name else 1.2
        p.data = (noise * scale / (1 if p.dim() == 1 or 'embed' in name else (p[0].numel() ** .5)) + is_norm).to(torch.bfloat16).to(torch.float32)


# Without a cache: generate() takes other coordinates for what it generates than the model has for the same text as a prompt (Qwen2.5-VL).
def plain_greedy(model, inputs):
    now = dict(inputs)
    for _ in range(N_GREEDY):
        best = model(**now, use_cache=False).logits[:, -1:].argmax(-1)
        now |= {'input_ids': torch.cat([now['input_ids'], best], -1), 'attention_mask': torch.cat([now['attention_mask'], torch.ones_like(best)], -1),
                'mm_token_type_ids': torch.cat([now['mm_token_type_ids'], torch.zeros_like(best)], -1)}
    return now['input_ids'][0][-N_GREEDY:]


def write(name, model, processor, config, files, cases, mark='<image>', patch=0, merge=1, **switches):
    """cases: (name, text, pictures). config: what config.json says otherwise than transformers writes it. mark: what the processor reads for <image>.
    patch: pixels are written patch by patch, in blocks of merge x merge. logits.npy: of the rows that golden.json lists, case by case."""
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.config.architectures = [type(model).__name__]
    model.save_pretrained(folder)
    save_file({k: v for k, v in load_file(folder / 'model.safetensors').items()}, folder / 'model.safetensors', metadata={'format': 'pt'})
    made = {**json.loads((folder / 'config.json').read_text()), **config}
    (folder / 'config.json').write_text(json.dumps(made, indent=1) + '\n')
    (folder / 'generation_config.json').unlink(missing_ok=True)
    processor.tokenizer.backend_tokenizer.save(str(folder / 'tokenizer.json'))
    (folder / 'tokenizer.json').write_text(json.dumps(json.loads((folder / 'tokenizer.json').read_text()), ensure_ascii=False, separators=(',', ':')))
    (folder / 'tokenizer_config.json').write_text(json.dumps({'tokenizer_class': 'PreTrainedTokenizerFast', 'bos_token': '<s>', 'eos_token': '</s>', 'add_bos_token': False}) + '\n')
    for file, text in files.items():
        (folder / file).write_text(json.dumps(text, indent=1) + '\n')
    double = type(model).from_pretrained(folder, dtype=torch.float64, attn_implementation='eager').eval()
    model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation='eager').eval()
    out, rows = [], []
    for case, text, names in cases:
        inputs = processor(text=[text.replace('<image>', mark)], images=[[picture(n) for n in names]], return_tensors='pt', **switches)
        ids = inputs['input_ids'][0]
        with torch.no_grad():
            logits = model(**inputs, use_cache=False).logits[0]
            exact = double(**{k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}, use_cache=False).logits[0]
            greedy = plain_greedy(model, inputs) if 'mm_token_type_ids' in inputs else \
                model.generate(**inputs, do_sample=False, max_new_tokens=N_GREEDY, min_new_tokens=N_GREEDY, eos_token_id=None)[0][len(ids):]
        mean, std = (np.array(getattr(processor.image_processor, k)).reshape(3, 1, 1) for k in ('image_mean', 'image_std'))
        pixels = inputs['pixel_values'].double().numpy()
        levels = None
        if pixels.ndim > 2 and pixels.shape[-3] == 3 and len(names) == 1:
            levels = (pixels.reshape(-1, *pixels.shape[-3:]) * std + mean) * 255
            assert np.abs(levels - np.rint(levels)).max() < 1e-3
            if patch:
                _, c, h, w = levels.shape
                block = levels.reshape(c, h // patch // merge, merge, patch, w // patch // merge, merge, patch)
                levels = block.transpose(1, 4, 2, 5, 0, 3, 6).reshape(1, -1)
            (folder / f'{case}.pixels').write_bytes(np.rint(levels).astype(np.uint8).tobytes())
        at = [len(ids) // 2, len(ids) - 1]
        rows += [logits[i] for i in at]
        top = logits[-1].topk(2).values
        out.append({'name': case, 'text': text, 'pictures': names, 'ids': ids.tolist(), 'views': None if levels is None else len(levels), 'side': pixels.shape[-1],
                    'f64_max_abs_diff': float(f'{(exact - logits.double()).abs().max():.3g}'), 'greedy': greedy.tolist(),
                    'rows': at})
        print(name, case, 'tokens', len(ids), 'margin', float(top[0] - top[1]), 'f64', out[-1]['f64_max_abs_diff'], 'distinct', len(set(greedy.tolist())))
    np.save(folder / 'logits.npy', torch.stack(rows).numpy().astype('<f4'))
    os.chmod(folder / 'model.safetensors', 0o644)
    (folder / 'golden.json').write_text('[' + ',\n'.join(json.dumps(m) for m in out) + ']\n')
    print(name, sum(f.stat().st_size for f in folder.iterdir()) // 1024, 'KiB')


VISION = {'hidden_size': 12, 'intermediate_size': 18, 'num_hidden_layers': 3, 'num_attention_heads': 2, 'num_channels': 3}
SCALE = {'do_rescale': True, 'rescale_factor': 1 / 255, 'do_normalize': True, 'do_convert_rgb': True}
CASES = [('wide', '<s>A <image> b', ['wide']), ('tall', 'Is <image>?', ['tall']), ('strip', '<image>\nno', ['strip']), ('even', '<s>so <image>', ['even']),
         ('two', '<s>A <image> or <image>?', ['strip', 'wide'])]


def splits(name, seed, kind):
    t = tokenizer(SPECIALS)
    image = t.convert_tokens_to_ids('<image>')
    if kind == 'smolvlm':
        from transformers.models.smolvlm.configuration_smolvlm import SmolVLMVisionConfig as Vision
        config_class, model_class, processor_class, images = tf.SmolVLMConfig, tf.SmolVLMForConditionalGeneration, tf.Idefics3Processor, SmolVLMImageProcessorPil
    else:
        from transformers.models.idefics3.configuration_idefics3 import Idefics3VisionConfig as Vision
        config_class, model_class, processor_class, images = tf.Idefics3Config, tf.Idefics3ForConditionalGeneration, tf.Idefics3Processor, Idefics3ImageProcessorPil
    vision = {**VISION, 'num_hidden_layers': 2, 'image_size': 16, 'patch_size': 4, 'hidden_act': 'gelu_pytorch_tanh'}
    config = config_class(vision_config=Vision(**vision), text_config=tf.LlamaConfig(**text_config(t)), image_token_id=image, scale_factor=2, tie_word_embeddings=False, pad_token_id=t.pad_token_id)
    model = model_class._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    ipc = {**SCALE, 'do_image_splitting': True, 'do_pad': True, 'do_resize': True, 'size': {'longest_edge': 62 if kind == 'smolvlm' else 48}, 'max_image_size': {'longest_edge': 16},
           'resample': 1, 'image_mean': [.5, .5, .5], 'image_std': [.5, .5, .5]}
    processor = processor_class(images(**ipc), t, image_seq_len=4)
    write(name, model, processor, {}, {'preprocessor_config.json': {'image_processor_type': images.__name__[:-3], **ipc}}, CASES)


def nexts(name, seed, kind):
    t = tokenizer(SPECIALS)
    image = t.convert_tokens_to_ids('<image>')
    if kind == 'next':
        vision = tf.CLIPVisionConfig(**VISION, image_size=12, patch_size=4, projection_dim=8)
        sizes = [[12, 24], [24, 12], [24, 24], [36, 12], [12, 36]]
        config = tf.LlavaNextConfig(vision_config=vision, text_config=tf.MistralConfig(**text_config(t)), image_token_index=image, image_grid_pinpoints=sizes, vision_feature_layer=-2,
                                    vision_feature_select_strategy='default', image_seq_length=9)
        model_class, ipc = tf.LlavaNextForConditionalGeneration, {'size': {'shortest_edge': 12}, 'crop_size': {'height': 12, 'width': 12}, 'do_center_crop': True}
        images, processor_class, more = LlavaNextImageProcessorPil, tf.LlavaNextProcessor, {'num_additional_image_tokens': 1}
        ipc |= {'image_mean': [.48145466, .4578275, .40821073], 'image_std': [.26862954, .26130258, .27577711]}
    else:
        vision = tf.SiglipVisionConfig(**VISION, image_size=12, patch_size=4, vision_use_head=False)
        sizes = [[12 * h, 12 * w] for h in range(1, 5) for w in range(1, 5)]
        config = tf.LlavaOnevisionConfig(vision_config=vision, text_config=tf.Qwen2Config(**text_config(t)), image_token_index=image, image_grid_pinpoints=sizes, vision_feature_layer=-1,
                                         vision_feature_select_strategy='full', vision_aspect_ratio='anyres_max_4')
        model_class, ipc = tf.LlavaOnevisionForConditionalGeneration, {'size': {'height': 12, 'width': 12}, 'image_mean': [.5, .5, .5], 'image_std': [.5, .5, .5]}
        images, processor_class, more = LlavaOnevisionImageProcessorPil, None, {}
    model = model_class._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    ipc |= {**SCALE, 'do_resize': True, 'do_pad': True, 'resample': 3, 'image_grid_pinpoints': sizes}
    if processor_class:
        processor = processor_class(images(**ipc), t, patch_size=4, vision_feature_select_strategy='default', **more)
    else:
        processor = tf.LlavaOnevisionProcessor(images(**ipc), t, None, num_image_tokens=9, vision_feature_select_strategy='full', vision_aspect_ratio='anyres_max_4', patch_size=4)
    write(name, model, processor, {}, {'preprocessor_config.json': {'image_processor_type': images.__name__[:-3], **ipc}}, CASES)


# Means of 2 x 2 of 7 x 7 patches, so that a row and a column are left over; spans wider than the text's window; line breaks that join those of the text.
def gemma3(name, seed, cuts):
    breaks = [('Ċ', 'Ċ'), ('ĊĊ', 'Ċ'), ('s', 'o')]
    t = tokenizer(['<s>', '</s>', '<pad>', '<start_of_image>', '<end_of_image>', '<image_soft_token>'], breaks, image_token='<image_soft_token>', boi_token='<start_of_image>', eoi_token='<end_of_image>')
    ids = {n: t.convert_tokens_to_ids(s) for n, s in (('image_token_index', '<image_soft_token>'), ('boi_token_index', '<start_of_image>'), ('eoi_token_index', '<end_of_image>'))}
    text = tf.Gemma3TextConfig(**{**text_config(t), 'num_hidden_layers': 3, 'tie_word_embeddings': True}, sliding_window=5, query_pre_attn_scalar=8,
                               layer_types=['sliding_attention', 'full_attention', 'sliding_attention'])
    config = tf.Gemma3Config(text_config=text, vision_config=tf.SiglipVisionConfig(**VISION, image_size=22, patch_size=3, vision_use_head=False), mm_tokens_per_image=9, tie_word_embeddings=True, **ids)
    model = tf.Gemma3ForConditionalGeneration._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    model.get_input_embeddings().weight.data *= .125  # else the head, which is the same, repeats the last token
    ipc = {**SCALE, 'do_resize': True, 'size': {'height': 22, 'width': 22}, 'resample': 2, 'image_mean': [.5, .5, .5], 'image_std': [.5, .5, .5]}
    switches = {'do_pan_and_scan': True, 'pan_and_scan_min_crop_size': 9, 'pan_and_scan_max_num_crops': 3, 'pan_and_scan_min_ratio_to_activate': 1.2} if cuts else {'do_pan_and_scan': None}
    processor = tf.Gemma3Processor(Gemma3ImageProcessorPil(**ipc), t, image_seq_length=9)
    write(name, model, processor, {}, {'preprocessor_config.json': {'image_processor_type': 'Gemma3ImageProcessor', **ipc, **switches}}, CASES, '<start_of_image>', **switches if cuts else {})


# rms: the larger tower, with norms of queries and keys, and features before the last layer.
def internvl(name, seed, rms):
    from transformers.models.internvl.configuration_internvl import InternVLVisionConfig
    t = tokenizer(['<s>', '</s>', '<pad>', '<img>', '</img>', '<IMG_CONTEXT>', '<video>'], start_image_token='<img>', end_image_token='</img>', context_image_token='<IMG_CONTEXT>', video_token='<video>')
    vision = InternVLVisionConfig(**VISION, image_size=[18, 18], patch_size=[4, 4], hidden_act='gelu', attention_bias=not rms, use_qk_norm=rms, norm_type='rms_norm' if rms else 'layer_norm',
                                  use_mean_pooling=rms, layer_norm_eps=1e-5)
    config = tf.InternVLConfig(vision_config=vision, text_config=tf.Qwen2Config(**text_config(t)), image_token_id=t.convert_tokens_to_ids('<IMG_CONTEXT>'), image_seq_length=4, downsample_ratio=.5,
                               vision_feature_layer=-2 if rms else -1, tie_word_embeddings=False)
    model = tf.InternVLForConditionalGeneration._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    for part, p in model.named_parameters():
        if 'lambda' in part:
            p.data += .75
    ipc = {**SCALE, 'do_resize': True, 'size': {'height': 18, 'width': 18}, 'resample': 3, 'crop_to_patches': False, 'min_patches': 1, 'max_patches': 12 if rms else 5,
           'image_mean': [.485, .456, .406], 'image_std': [.229, .224, .225]}
    processor = tf.InternVLProcessor(GotOcr2ImageProcessorPil(**ipc), t, None, image_seq_length=4)
    write(name, model, processor, {}, {'preprocessor_config.json': {'image_processor_type': 'GotOcr2ImageProcessor', **ipc}}, CASES, '<IMG_CONTEXT>')


# Grids of any size; merged: Mistral 3's, whose patches become one row in blocks.
def pixtral(name, seed, merge):
    t = tokenizer(['<s>', '</s>', '<pad>', '[IMG]', '[IMG_BREAK]', '[IMG_END]'])
    image = t.convert_tokens_to_ids('[IMG]')
    vision = tf.PixtralVisionConfig(**{**VISION, 'hidden_size': 16}, image_size=40, patch_size=4, hidden_act='silu' if merge > 1 else 'gelu')
    text = {**text_config(t), 'rms_norm_eps': 1e-5}
    if merge > 1:
        config = tf.Mistral3Config(vision_config=vision, text_config=tf.MistralConfig(**text), image_token_index=image, spatial_merge_size=merge, vision_feature_layer=-1, tie_word_embeddings=False)
        model_class = tf.Mistral3ForConditionalGeneration
    else:
        config = tf.LlavaConfig(vision_config=vision, text_config=tf.MistralConfig(**text), image_token_index=image, vision_feature_layer=-2, vision_feature_select_strategy='full',
                                tie_word_embeddings=False)
        model_class = tf.LlavaForConditionalGeneration
    model = model_class._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    ipc = {**SCALE, 'do_resize': True, 'do_pad': True, 'size': {'longest_edge': 38}, 'patch_size': {'height': 4, 'width': 4}, 'resample': 3,
           'image_mean': [.48145466, .4578275, .40821073], 'image_std': [.26862954, .26130258, .27577711]}
    processor = PixtralProcessor(pixtral_pil.PixtralImageProcessorPil(**ipc), t, patch_size=4, spatial_merge_size=merge)
    write(name, model, processor, {}, {'preprocessor_config.json': {'image_processor_type': 'PixtralImageProcessor', **ipc}}, CASES, '[IMG]', patch=4, merge=merge)


# The processor's tokens, without the class, which needs torchvision.
class QwenProcessor:
    def __init__(self, image_processor, tokenizer):
        self.image_processor, self.tokenizer = image_processor, tokenizer

    def __call__(self, text, images, return_tensors):
        made = self.image_processor(images[0], return_tensors='pt')
        parts = text[0].split('<|image_pad|>')
        counts = [int(g.prod()) // self.image_processor.merge_size ** 2 for g in made['image_grid_thw']]
        ids = self.tokenizer(''.join(p + '<|image_pad|>' * n for p, n in zip(parts, [*counts, 0])), return_tensors='pt')
        return {**ids, **made, 'mm_token_type_ids': (ids['input_ids'] == self.tokenizer.convert_tokens_to_ids('<|image_pad|>')).long()}


# (name, text, frames, second of each, frames in a second)
FILMS = [('even', '<s>A <video> b', 4, 'film', [0, .5, 1, 1.5], 2.), ('odd', 'Is <video>?', 5, 'film', [0, .3, .7, 1.2, 1.25], 4.), ('small', '<video>\nno', 3, 'reel', [0, 2, 4], .5),
         ('one', '<s>so <video>', 1, 'film', [0], 1.), ('two', '<s>A <video> or <video>?', 3, 'reel', [0, .25, .5], 4.)]


# The video processors of transformers need torchvision: their sizes and their order of patches, over Pillow's resizing. ipc: the file of the processor, whose area bounds the frames.
def write_videos(name, ipc, kind, size=None):
    folder = ROOT / name
    if size:
        ipc = {**ipc, 'size': size}
        type_of = 'Qwen3VLVideoProcessor' if kind == 'times' else 'Qwen2VLVideoProcessor'
        (folder / 'video_preprocessor_config.json').write_text(json.dumps({'video_processor_type': type_of, **ipc}, indent=1) + '\n')
    config = json.loads((folder / 'config.json').read_text())
    t = tf.PreTrainedTokenizerFast(tokenizer_file=str(folder / 'tokenizer.json'), bos_token='<s>', eos_token='</s>', pad_token='<pad>')
    made_by = getattr(tf, config['architectures'][0])
    double = made_by.from_pretrained(folder, dtype=torch.float64, attn_implementation='eager').eval()
    model = made_by.from_pretrained(folder, dtype=torch.float32, attn_implementation='eager').eval()
    side, merge, per = ipc['patch_size'], ipc['merge_size'], ipc['temporal_patch_size']
    least, most, block = ipc['size']['shortest_edge'], ipc['size']['longest_edge'], side * merge
    out, rows = [], []
    for case, text, n, film, seconds, fps in FILMS:
        frames = [picture(f'{film}{i}') for i in range(n)]
        w, h = frames[0].size
        padded = frames + frames[-1:] * (-n % per)
        # One frame alone is refused there: it counts as the patch that it fills.
        high, wide = film_size(max(n, per), h, w, per, block, least, most) if kind == 'times' else frame_size(h, w, block, least, most)
        levels = np.stack([np.asarray(f.resize((wide, high), Image.BICUBIC)) for f in padded])
        values = ((levels.astype(np.float64) * (1 / 255)).astype(np.float32) - np.array(ipc['image_mean'], np.float32)) / np.array(ipc['image_std'], np.float32)
        grid = (len(padded) // per, high // side, wide // side)

        def patches(v):
            v = v.transpose(0, 3, 1, 2).reshape(grid[0], per, 3, grid[1] // merge, merge, side, grid[2] // merge, merge, side)
            return v.transpose(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(int(np.prod(grid)), -1)
        each = grid[1] * grid[2] // merge ** 2
        times = [seconds[i] for i in range(n)] + seconds[-1:] * (-n % per)
        spelled = ''.join(f'<{(times[i * per] + times[i * per + per - 1]) / 2:.1f} seconds><|vision_start|>' + '<|video_pad|>' * each + '<|vision_end|>' for i in range(grid[0])) \
            if kind == 'times' else '<|video_pad|>' * each * grid[0]
        n_films = text.count('<video>')
        ids = t(text.replace('<video>', spelled), return_tensors='pt')
        inputs = {**ids, 'pixel_values_videos': torch.from_numpy(np.concatenate([patches(values)] * n_films)), 'video_grid_thw': torch.tensor([grid] * n_films),
                  'mm_token_type_ids': 2 * (ids['input_ids'] == t.convert_tokens_to_ids('<|video_pad|>')).long()}
        if kind == 'seconds':
            inputs['second_per_grid_ts'] = torch.tensor([per / fps] * n_films)
        with torch.no_grad():
            logits = model(**inputs, use_cache=False).logits[0]
            exact = double(**{k: v.double() if k == 'pixel_values_videos' else v for k, v in inputs.items()}, use_cache=False).logits[0]
            greedy = plain_greedy(model, inputs)
        (folder / f'film-{case}.pixels').write_bytes(patches(levels).astype(np.uint8).tobytes())
        ids = ids['input_ids'][0]
        at = [len(ids) // 2, len(ids) - 1]
        rows += [logits[i] for i in at]
        out.append({'name': f'film-{case}', 'text': text, 'frames': [f'{film}{i}' for i in range(n)], 'seconds': seconds, 'fps': fps, 'ids': ids.tolist(),
                    'f64_max_abs_diff': float(f'{(exact - logits.double()).abs().max():.3g}'), 'greedy': greedy.tolist(), 'rows': at})
        print(name, 'film', case, 'grid', grid, 'tokens', len(ids), 'f64', out[-1]['f64_max_abs_diff'], 'distinct', len(set(greedy.tolist())))
    np.save(folder / 'videos.npy', torch.stack(rows).numpy().astype('<f4'))
    (folder / 'videos.json').write_text('[' + ',\n'.join(json.dumps(m) for m in out) + ']\n')


# Windows of 3 x 3 blocks, ragged at the edge.
def qwen25(name, seed):
    t = tokenizer(['<s>', '</s>', '<pad>', '<|vision_start|>', '<|vision_end|>', '<|image_pad|>', '<|video_pad|>'])
    ids = {n: t.convert_tokens_to_ids(s) for n, s in (('image_token_id', '<|image_pad|>'), ('video_token_id', '<|video_pad|>'), ('vision_start_token_id', '<|vision_start|>'),
                                                      ('vision_end_token_id', '<|vision_end|>'))}
    vision = {'depth': 4, 'hidden_size': 16, 'intermediate_size': 18, 'num_heads': 2, 'patch_size': 4, 'spatial_merge_size': 2, 'temporal_patch_size': 2, 'window_size': 25, 'out_hidden_size': 16,
              'fullatt_block_indexes': [1, 3], 'hidden_act': 'silu', 'tokens_per_second': 3}
    text = {**text_config(t), 'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000., 'mrope_section': [1, 1, 2]}}
    config = tf.Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **ids)
    model = tf.Qwen2_5_VLForConditionalGeneration._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    ipc = {**SCALE, 'do_resize': True, 'size': {'shortest_edge': 256, 'longest_edge': 4096}, 'patch_size': 4, 'merge_size': 2, 'temporal_patch_size': 2, 'resample': 3,
           'image_mean': [.48145466, .4578275, .40821073], 'image_std': [.26862954, .26130258, .27577711]}
    write(name, model, QwenProcessor(Qwen2VLImageProcessorPil(**ipc), t), {}, {'preprocessor_config.json': {'image_processor_type': 'Qwen2VLImageProcessor', **ipc}}, CASES, '<|image_pad|>')
    write_videos(name, ipc, 'seconds', {'shortest_edge': 500, 'longest_edge': 700})


def qwen2(name, seed):
    t = tokenizer(['<s>', '</s>', '<pad>', '<|vision_start|>', '<|vision_end|>', '<|image_pad|>', '<|video_pad|>'])
    ids = {n: t.convert_tokens_to_ids(s) for n, s in (('image_token_id', '<|image_pad|>'), ('video_token_id', '<|video_pad|>'), ('vision_start_token_id', '<|vision_start|>'),
                                                      ('vision_end_token_id', '<|vision_end|>'))}
    vision = {'depth': 2, 'embed_dim': 16, 'hidden_size': 16, 'mlp_ratio': 2, 'num_heads': 2, 'patch_size': 4, 'spatial_merge_size': 2, 'temporal_patch_size': 2, 'hidden_act': 'quick_gelu'}
    text = {**text_config(t), 'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000., 'mrope_section': [1, 1, 2]}}
    config = tf.Qwen2VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **ids)
    model = tf.Qwen2VLForConditionalGeneration._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    ipc = {**SCALE, 'do_resize': True, 'size': {'shortest_edge': 256, 'longest_edge': 2048}, 'patch_size': 4, 'merge_size': 2, 'temporal_patch_size': 2, 'resample': 3,
           'image_mean': [.48145466, .4578275, .40821073], 'image_std': [.26862954, .26130258, .27577711]}
    write(name, model, QwenProcessor(Qwen2VLImageProcessorPil(**ipc), t), {}, {'preprocessor_config.json': {'image_processor_type': 'Qwen2VLImageProcessor', **ipc}}, CASES, '<|image_pad|>')
    write_videos(name, ipc, 'turns')


# A square of 5 x 5 places between which the grids' lie, and features of the first and third layer.
def qwen3(name, seed, is_35=False):
    t = tokenizer(['<s>', '</s>', '<pad>', '<|vision_start|>', '<|vision_end|>', '<|image_pad|>', '<|video_pad|>'])
    ids = {n: t.convert_tokens_to_ids(s) for n, s in (('image_token_id', '<|image_pad|>'), ('video_token_id', '<|video_pad|>'), ('vision_start_token_id', '<|vision_start|>'),
                                                      ('vision_end_token_id', '<|vision_end|>'))}
    vision = {'depth': 4, 'hidden_size': 16, 'intermediate_size': 18, 'num_heads': 2, 'patch_size': 4, 'spatial_merge_size': 2, 'temporal_patch_size': 2, 'out_hidden_size': 16,
              'num_position_embeddings': 25, 'deepstack_visual_indexes': [0, 2], 'hidden_act': 'gelu_pytorch_tanh'}
    text = {**text_config(t), 'num_hidden_layers': 3, 'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000., 'mrope_section': [2, 1, 1], 'mrope_interleaved': True}}
    if is_35:
        del vision['deepstack_visual_indexes']
        text |= {'layer_types': ['linear_attention', 'full_attention', 'linear_attention'], 'linear_num_key_heads': 2, 'linear_num_value_heads': 4, 'linear_key_head_dim': 4,
                 'linear_value_head_dim': 6, 'linear_conv_kernel_dim': 4, 'head_dim': 16, 'rope_parameters': {**text['rope_parameters'], 'partial_rotary_factor': .5}}
    config = (tf.Qwen3_5Config if is_35 else tf.Qwen3VLConfig)(text_config=text, vision_config=vision, tie_word_embeddings=False, **ids)
    model = (tf.Qwen3_5ForConditionalGeneration if is_35 else tf.Qwen3VLForConditionalGeneration)._from_config(config, attn_implementation='eager', dtype=torch.float32).eval()
    randomize(model, seed)
    ipc = {**SCALE, 'do_resize': True, 'size': {'shortest_edge': 256, 'longest_edge': 4096}, 'patch_size': 4, 'merge_size': 2, 'temporal_patch_size': 2, 'resample': 3,
           'image_mean': [.5, .5, .5], 'image_std': [.5, .5, .5]}
    write(name, model, QwenProcessor(Qwen2VLImageProcessorPil(**ipc), t), {}, {'preprocessor_config.json': {'image_processor_type': 'Qwen2VLImageProcessorFast', **ipc}}, CASES, '<|image_pad|>')
    write_videos(name, ipc, 'times', None if is_35 else {'shortest_edge': 1100, 'longest_edge': 3000})


MAKERS = {'smolvlm-split': lambda n: splits(n, 1, 'smolvlm'), 'idefics3-split': lambda n: splits(n, 12, 'idefics3'), 'llava-next': lambda n: nexts(n, 3, 'next'),
          'llava-onevision': lambda n: nexts(n, 4, 'onevision'), 'gemma3': lambda n: gemma3(n, 5, False), 'gemma3-parts': lambda n: gemma3(n, 6, True),
          'internvl': lambda n: internvl(n, 7, False), 'internvl-rms': lambda n: internvl(n, 8, True), 'pixtral': lambda n: pixtral(n, 9, 1),
          'mistral3': lambda n: pixtral(n, 10, 2), 'qwen25-vl': lambda n: qwen25(n, 11),
          'qwen3-vl': lambda n: qwen3(n, 13), 'qwen35': lambda n: qwen3(n, 16, True), 'qwen2-vl': lambda n: qwen2(n, 17)}

if __name__ == '__main__':
    tf.logging.set_verbosity_error()
    for made in sys.argv[1:] or MAKERS:
        MAKERS[made](made)
