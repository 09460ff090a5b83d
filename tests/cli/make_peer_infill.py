"""tests/cli/make_peer_infill.py - prompts with a hole as others tokenize them: tests/engine/infill.json for tests/engine/infill_test.c.

    make_peer_infill.py SHARED OUT     SHARED: the shared material's folder

The published prompt as one text, which llama.cpp tokenizes with its control tokens (SHARED/peers); Codestral's by encode_fim() of
mistral-common, which must be installed.
"""
import gzip
import json
import pathlib
import sys
import tempfile

BAR, BLANK = '\uff5c', '\u2581'
PYTHON = ('def add(a, b):\n    """Adds."""\n    return ', '\n\n\nprint(add(1, 2))\n')
TEXTS = [('', ''), ('a', ''), ('', 'b'), PYTHON, ('x = ', 'y'), (' lead', ' trail '), ('tab\t', '\t\tif x:\n'),
         ('caf\u00e9 ', '\u4f60\u597d\n'), ('for (int i = 0; i < n; i++) {\n    sum += ', ';\n}\n'), ('1234567', '89'), ('a\n\n', '\n\nb')]
FILES = [('util/math.py', 'PI = 3\n'), ('README.md', '# Sums\n\nAdds.\n')]


def star(prefix, suffix, order, name=None):
    head = f'{name}\n' if name else ''
    if order == 'spm':
        return f'<fim_prefix><fim_suffix>{suffix}<fim_middle>{head}{prefix}'
    return f'<fim_prefix>{head}{prefix}<fim_suffix>{suffix}<fim_middle>'


def star_files(prefix, suffix, order):
    before = ''.join(f'<file_sep>{name}\n{text}' for name, text in FILES)
    return f'<repo_name>sums{before}<file_sep>' + star(prefix, suffix, order, 'main.py')


def deepseek(prefix, suffix, order):
    del order
    mark = [f'<{BAR}fim{BLANK}{name}{BAR}>' for name in ('begin', 'hole', 'end')]
    return f'{mark[0]}{prefix}{mark[1]}{suffix}{mark[2]}'


def pipes(prefix, suffix, order):
    if order == 'spm':
        return f'<|fim_suffix|>{suffix}<|fim_prefix|>{prefix}<|fim_middle|>'
    return f'<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>'


def by_llama_cpp(shared, vocab, spell, orders, has_files):
    sys.path.insert(0, str(shared / 'peers'))
    import llama_cpp
    with tempfile.NamedTemporaryFile(suffix='.gguf') as f:
        f.write(gzip.open(shared / 'vectors/tokenizers' / vocab / 'vocab.gguf.gz').read())
        f.flush()
        model = llama_cpp.Model(llama_cpp.load(), f.name, vocab_only=True)
        for prefix, suffix in TEXTS:
            for order in orders:
                ids = model.tokenize(spell(prefix, suffix, order).encode(), True, True)
                yield {'vocab': vocab, 'order': order, 'prefix': prefix, 'suffix': suffix, 'files': has_files, 'ids': list(ids)}


def by_mistral_common():
    from mistral_common.protocol.fim.request import FIMRequest
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
    tokenizer = MistralTokenizer.v3()
    for prefix, suffix in TEXTS:
        ids = tokenizer.encode_fim(FIMRequest(prompt=prefix, suffix=suffix)).tokens
        yield {'vocab': 'mistral-v3-spm', 'order': 'spm', 'prefix': prefix, 'suffix': suffix, 'files': False, 'ids': ids}


def main():
    shared = pathlib.Path(sys.argv[1])
    cases = [*by_llama_cpp(shared, 'starcoder2', star, ('psm', 'spm'), False),
             *by_llama_cpp(shared, 'starcoder2', star_files, ('psm', 'spm'), True),
             *by_llama_cpp(shared, 'deepseek-coder', deepseek, ('psm',), False),
             *by_llama_cpp(shared, 'cl100k', pipes, ('psm', 'spm'), False), *by_mistral_common()]
    lines = ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases)
    pathlib.Path(sys.argv[2]).write_text(f'[\n{lines}\n]\n')


main()
