#!/usr/bin/env python3
"""Makes a model as expensive as a larger one without changing what it computes, for measuring speculation: real acceptance at real cost.

  bench/inflate.py FOLDER OUT [--like 1b | --embd N --heads N --heads-kv N --ff N --layers N]

FOLDER is a Hugging Face folder of a Llama model, or of a Medusa or EAGLE-1 head for one: config.json and one .safetensors file. OUT is such
a folder. --like takes the shape from a table, --embd and so on change single numbers. Heads take the same options as their model (of --layers
they need none).

Wider: the hidden state is followed by zeros. A norm then divides by a root mean square that is sqrt(d/D) of the old one, so its weights are
multiplied by sqrt(d/D), and eps by d/D. More attention heads and feed-forward rows have random weights, and zeros where they would be added
to the hidden state; so have more layers, which stand behind the model's own. All matrices are multiplied with in full. Where D/d is a
power of 4, the new factors are powers of 2."""
import argparse
import array
import json
import pathlib
import random
import re
import shutil
import struct
import sys

SHAPES = {  # embd, heads, heads-kv, ff, layers
    "1b": (2048, 32, 8, 8192, 16),  # Llama-3.2-1B
    "135m": (512, 8, 4, 1536, 20),  # about what SmolLM2-135M is, with heads of 64
}
# What rows and columns of a matrix are, by the end of its name. "out" rows are added to the hidden state.
AXES = {
    "embed_tokens": ("vocab", "embd"), "lm_head": ("vocab", "embd"),
    "q_proj": ("heads", "embd"), "k_proj": ("kv", "embd"), "v_proj": ("kv", "embd"), "o_proj": ("out", "heads"),
    "gate_proj": ("ff", "embd"), "up_proj": ("ff", "embd"), "down_proj": ("out", "ff"),
    "fc": ("out", "pair"), "linear": ("out", "embd"),  # EAGLE: embedding and hidden state; Medusa: a residual block
}
NORMS = ("input_layernorm", "post_attention_layernorm", "norm")
SIZES = {"BF16": 2, "F16": 2, "F32": 4}


def die(text):
    sys.exit(f"inflate: {text}")


class Shape:
    """Sizes of one model, and where the places of another are in it."""

    def __init__(self, embd, heads, kv, ff, layers, head_dim, vocab):
        self.embd, self.heads, self.kv, self.ff, self.layers, self.head_dim, self.vocab = embd, heads, kv, ff, layers, head_dim, vocab

    def size(self, axis):
        return {"vocab": self.vocab, "embd": self.embd, "out": self.embd, "pair": 2 * self.embd, "ff": self.ff,
                "heads": self.heads * self.head_dim, "kv": self.kv * self.head_dim}[axis]

    def runs(self, old, axis):
        """[(place here, place in old, length)]: where old's numbers along an axis go."""
        if axis == "pair":
            return [(0, 0, old.embd), (self.embd, old.embd, old.embd)]
        if axis != "heads":
            return [(0, 0, old.size(axis))]
        group, old_group, n = self.heads // self.kv, old.heads // old.kv, self.head_dim  # query heads of a KV head stay with it
        return [((h // old_group * group + h % old_group) * n, h * n, n) for h in range(old.heads)]


def read(path):
    """{name: (dtype, shape, bytes)}"""
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]) for name, t in header.items()}


class Noise:
    """Rows of random weights of a type, of a deviation that leaves the size of what they are multiplied with."""

    def __init__(self, dtype, deviation):
        gauss = random.Random(1)
        floats = array.array("f", (gauss.gauss(0, deviation) for _ in range(20011)))
        pick = {"BF16": lambda x: struct.pack("<f", x)[2:], "F16": lambda x: struct.pack("<e", x), "F32": lambda x: struct.pack("<f", x)}[dtype]
        self.bytes, self.at, self.size = b"".join(map(pick, floats)), 0, SIZES[dtype]

    def row(self, n):
        out = b""
        while len(out) < n * self.size:
            part = self.bytes[self.at:self.at + n * self.size - len(out)]
            self.at = (self.at + len(part)) % len(self.bytes)
            out += part
        return out


def matrix(old, new, axes, dtype, data, noise):
    """Rows of the inflated matrix. data: None: a layer that the model does not have."""
    rows, columns = axes
    unit = SIZES[dtype]
    source = {}
    if data is not None:
        for to, start, n in new.runs(old, rows):
            source.update((to + i, start + i) for i in range(n))
    zeros, width = bytes(new.size(columns) * unit), old.size(columns) * unit
    for r in range(new.size(rows)):
        if r in source:
            row = bytearray(zeros)
            for to, start, n in new.runs(old, columns):
                row[to * unit:(to + n) * unit] = data[source[r] * width + start * unit:source[r] * width + (start + n) * unit]
            yield bytes(row)
        else:
            yield zeros if rows == "out" else noise.row(new.size(columns))


def floats(dtype, data):
    if dtype == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    return struct.unpack(f"<{len(data) // 4}f", data) if dtype != "F16" else struct.unpack(f"<{len(data) // 2}e", data)


def norm(old, new, dtype, data):
    factor = (old.embd / new.embd) ** 0.5
    values = [x * factor for x in floats(dtype, data)] if data is not None else [factor] * old.embd
    return struct.pack(f"<{new.embd}f", *values, *[1.0] * (new.embd - old.embd))


def kind_of(name):
    """(kind, axes) of a tensor: "matrix", "norm" or "bias"."""
    stem = name.rsplit(".", 2)
    part, end = stem[-2] if len(stem) > 1 else name, stem[-1]
    if re.fullmatch(r"\d+\.\d+\.weight", name):
        return "matrix", ("vocab", "embd")  # a Medusa head's own output
    if part in NORMS and end == "weight":
        return "norm", None
    if part in AXES and end in ("weight", "bias"):
        return ("matrix" if end == "weight" else "bias"), AXES[part]
    return die(f"{name}: a tensor of no kind that is known here")


def inflate(tensors, old, new):
    """Yields (name, dtype, shape, chunks of bytes)."""
    added, noise = {}, {}
    for name in tensors:
        m = re.match(r"((?:model\.)?layers\.)0(\..*)", name)
        if m and not name.startswith("layers."):
            added |= {f"{m[1]}{i}{m[2]}": name for i in range(old.layers, new.layers)}
    for name in [*tensors, *added]:
        dtype, shape, data = tensors[added.get(name, name)]
        if dtype not in SIZES:
            die(f"{name}: type {dtype} is none of {' '.join(SIZES)}")
        data = None if name in added else data
        kind, axes = kind_of(name)
        expect = [old.embd] if kind == "norm" else [old.size(axes[0])] if kind == "bias" else [old.size(a) for a in axes]
        if shape != expect:
            die(f"{name}: its shape is {shape}, but config.json says {expect}")
        if kind == "norm":
            yield name, "F32", [new.embd], [norm(old, new, dtype, data)]
        elif kind == "bias":
            if axes[0] != "out":
                die(f"{name}: only biases that are added to the hidden state are known here")
            yield name, dtype, [new.embd], [data, bytes((new.embd - old.embd) * SIZES[dtype])]
        else:
            source = noise.setdefault(dtype, Noise(dtype, new.embd ** -0.5))
            yield name, dtype, [new.size(a) for a in axes], matrix(old, new, axes, dtype, data, source)


def write(path, made):
    """The header has every offset, so it is written last, in the room that is kept for it."""
    header, at, room = {}, 0, 1 << 20
    with path.open("wb") as f:
        f.seek(8 + room)
        for name, dtype, shape, chunks in made:
            begin = at
            for chunk in chunks:
                f.write(chunk)
                at += len(chunk)
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, at]}
        text = json.dumps(header).encode()
        if len(text) > room:
            die(f"{path}: {len(text)} bytes of names, more than {room}")
        f.seek(0)
        f.write(struct.pack("<Q", room) + text + b" " * (room - len(text)))


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("folder", type=pathlib.Path)
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--like", choices=SHAPES)
    sizes = ("embd", "heads", "heads_kv", "ff", "layers")
    for size in sizes:
        ap.add_argument("--" + size.replace("_", "-"), type=int)
    a = ap.parse_args()
    config = json.loads((a.folder / "config.json").read_text())
    files = list(a.folder.glob("*.safetensors"))
    if len(files) != 1:
        die(f"{a.folder}: has {len(files)} .safetensors files and should have 1")
    is_medusa = "medusa_num_heads" in config
    heads = config.get("num_attention_heads", 1)
    old = Shape(config["hidden_size"], heads, config.get("num_key_value_heads", heads), config.get("intermediate_size", 0),
                config.get("num_hidden_layers", 1), config.get("head_dim", config["hidden_size"] // heads), config["vocab_size"])
    shape = dict(zip(sizes, SHAPES[a.like] if a.like else (old.embd, old.heads, old.kv, old.ff, old.layers)))
    shape |= {size: getattr(a, size) for size in sizes if getattr(a, size) is not None}
    new = Shape(shape["embd"], shape["heads"], shape["heads_kv"], shape["ff"], shape["layers"], old.head_dim, old.vocab)
    for name, of in (("--embd", "embd"), ("--ff", "ff")) if not is_medusa else (("--embd", "embd"),):
        if getattr(new, of) < getattr(old, of):
            die(f"{name} {getattr(new, of)}: the model has {getattr(old, of)}, and this only makes it larger")
    if not is_medusa and (new.heads % new.kv or new.kv < old.kv or new.heads // new.kv < old.heads // old.kv):
        die(f"--heads {new.heads} --heads-kv {new.kv}: the model's {old.heads} and {old.kv} have no place in them")
    a.out.mkdir()
    for file in a.folder.iterdir():
        if file.is_file() and file.suffix in (".json", ".model", ".jinja") and file.name != "config.json":
            shutil.copyfile(file, a.out / file.name)
    config |= {"hidden_size": new.embd}
    if not is_medusa:
        config |= {"num_attention_heads": new.heads, "num_key_value_heads": new.kv, "head_dim": new.head_dim, "intermediate_size": new.ff,
                   "rms_norm_eps": config["rms_norm_eps"] * old.embd / new.embd}
        if "model.norm.weight" in (tensors := read(files[0])):
            config["num_hidden_layers"] = max(new.layers, old.layers)
    else:
        tensors = read(files[0])
    (a.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write(a.out / files[0].name, inflate(tensors, old, new))


if __name__ == "__main__":
    main()
