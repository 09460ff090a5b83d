"""tests/cli/rank_model.py - a reranker for tests, small and with random weights."""
import array
import struct

from gguf import aligned, join, parts
from wide_models import write

TEMPLATE = '<|begin|>Judge\nthe {query}\nin {document}<|im_end|>\nso'
RANK = 4


def string(text):
    return struct.pack('<Q', len(text)) + text.encode()


def reranker(folder, template=TEMPLATE, weights='F16'):
    """A Qwen3 with a head of two classes, as Qwen3-Reranker's files have it."""
    write('qwen3', weights, folder / 'plain.gguf', folder)
    front, pairs, infos, data = parts((folder / 'plain.gguf').read_bytes())
    extra = [string('qwen3.pooling_type') + struct.pack('<II', 4, RANK),
             string('qwen3.classifier.output_labels') + struct.pack('<IIQ', 9, 8, 2) + string('yes') + string('no')]
    if template is not None:
        extra.append(string('tokenizer.chat_template.rerank') + struct.pack('<I', 8) + string(template))
    data += bytes(aligned(len(data)))
    infos.append(string('cls.output.weight') + struct.pack('<IQQIQ', 2, 256, 2, 0, len(data)))
    data += array.array('f', [((i * 7919) % 1009 - 504) / 5000 for i in range(512)]).tobytes()
    (folder / 'rank.gguf').write_bytes(join(front, pairs + [('', raw) for raw in extra], infos, data))
    return folder / 'rank.gguf'
