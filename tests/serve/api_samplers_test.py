#!/usr/bin/env python3
"""Samplers over HTTP, as llama-server, vLLM, OpenAI's extras and Ollama name them: the text is that of `runnel run` with the same settings."""
import json

from api import chat_model, good, post, serving
from serving import MODEL, ROOT, Folder, check, equal, main, runnel, test

KEYS = ROOT / 'docs/examples/watermark.json'
PROMPT, N = 'Lily saw a cat. The cat', 40
NATIVE, TEXT, LLAMA, OLLAMA = '/v1/runnel/generate', '/v1/completions', '/completion', '/api/generate'
# members of a request, options of the command line
ROWS = [
    ({'temperature': 0, 'dry_multiplier': 1, 'dry_allowed_length': 1}, ['--temp', '0', '--dry-multiplier', '1', '--dry-allowed-length', '1']),
    ({'temperature': 0, 'dry_multiplier': 1, 'dry_allowed_length': 1, 'dry_sequence_breakers': []},
     ['--temp', '0', '--dry-multiplier', '1', '--dry-allowed-length', '1', '--dry-sequence-breaker', 'none']),
    ({'temperature': 0, 'dry_multiplier': 1, 'dry_allowed_length': 1, 'dry_sequence_breakers': ['a', 'e']},
     ['--temp', '0', '--dry-multiplier', '1', '--dry-allowed-length', '1', '--dry-sequence-breaker', 'a', '--dry-sequence-breaker', 'e']),
    ({'temperature': 1, 'dry_multiplier': 1, 'dry_base': 3, 'dry_penalty_last_n': 12}, ['--temp', '1', '--dry-multiplier', '1', '--dry-base', '3', '--dry-penalty-last-n', '12']),
    ({'temperature': 1, 'xtc_probability': 1, 'xtc_threshold': 0.05}, ['--temp', '1', '--xtc-probability', '1', '--xtc-threshold', '0.05']),
    ({'temperature': 1, 'typical_p': 0.3}, ['--temp', '1', '--typical-p', '0.3']),
    ({'temperature': 1, 'typ_p': 0.3}, ['--temp', '1', '--typical-p', '0.3']),
    ({'temperature': 1.5, 'top_n_sigma': 0.5}, ['--temp', '1.5', '--top-n-sigma', '0.5']),
    ({'temperature': 1, 'dynatemp_range': 0.9, 'dynatemp_exponent': 2}, ['--temp', '1', '--dynatemp-range', '0.9', '--dynatemp-exponent', '2']),
    ({'temperature': 1, 'mirostat': 2, 'mirostat_tau': 3, 'mirostat_eta': 0.5}, ['--temp', '1', '--mirostat', '2', '--mirostat-tau', '3', '--mirostat-eta', '0.5']),
    ({'temperature': 1, 'mirostat': 1, 'mirostat_tau': 2}, ['--temp', '1', '--mirostat', '1', '--mirostat-tau', '2']),
    ({'temperature': 1, 'tfs_z': 0.5}, ['--temp', '1', '--tfs-z', '0.5']),
    ({'temperature': 1, 'adaptive_target': 0.3, 'adaptive_decay': 0.5}, ['--temp', '1', '--adaptive-target', '0.3', '--adaptive-decay', '0.5']),
    ({'temperature': 1, 'no_repeat_ngram_size': 2}, ['--temp', '1', '--no-repeat-ngram-size', '2']),
    ({'temperature': 1.5, 'samplers': ['dry', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature'], 'repeat_penalty': 5}, ['--temp', '1.5']),
    ({'temperature': 1.5, 'samplers': 'temperature;min_p'}, ['--temp', '1.5', '--samplers', 'temperature;min_p']),
    ({'temperature': 0, 'banned_tokens': [261, 267, 300]}, ['--temp', '0', '--ban-token', '261', '--ban-token', '267', '--ban-token', '300']),
    ({'temperature': 0, 'sequence_bias': [[[263, 267], 50], [[300], '-inf']]}, ['--temp', '0', '--sequence-bias', '263,267=50', '--sequence-bias', '300=-inf']),
    ({'temperature': 1, 'watermark': json.loads(KEYS.read_text())}, ['--temp', '1', '--watermark', str(KEYS)]),
    ({'temperature': 1.5, 'sampler_order': 'exllamav2', 'top_p': 0.9}, ['--temp', '1.5', '--sampler-order', 'exllamav2', '--top-p', '0.9']),
    ({'temperature': 0, 'exponential_decay_start': 5, 'exponential_decay_factor': 2}, ['--temp', '0', '--exponential-decay-start', '5', '--exponential-decay-factor', '2']),
]


def text_of(s, path, body):
    own = {NATIVE: ('max_tokens', lambda a: a['choices'][0]['text']), TEXT: ('max_tokens', lambda a: a['choices'][0]['text']),
           LLAMA: ('n_predict', lambda a: a['content']), OLLAMA: ('num_predict', lambda a: a['response'])}
    limit, read = own[path]
    members = {**body, 'seed': 3, limit: N}
    if path == OLLAMA:
        return read(good(s, path, prompt=PROMPT, raw=True, stream=False, options=members))
    return read(good(s, path, prompt=PROMPT, **members))


@test
def samplers_do_over_http_what_they_do_at_the_command_line():
    texts = set()
    with Folder() as folder, serving(chat_model(folder)) as s:
        for body, args in ROWS:
            want = runnel('run', '--no-newline', '-m', MODEL, PROMPT, '-n', str(N), '--seed', '3', *args).ok().text
            texts.add(want)
            for path in (NATIVE, TEXT, LLAMA, OLLAMA):
                equal(text_of(s, path, body).rstrip('\n'), want.rstrip('\n'), f'{path} {body}')
    check(len(texts) > len(ROWS) * 2 // 3, texts)


@test
def a_servers_watermark_is_on_every_answer_that_is_drawn():
    bodies = [({'temperature': 1}, ['--temp', '1', '--watermark', str(KEYS)]), ({'temperature': 0}, ['--temp', '0']),
              ({'temperature': 1, 'mirostat': 2}, ['--temp', '1', '--mirostat', '2']), ({'temperature': 1, 'adaptive_target': 0.3}, ['--temp', '1', '--adaptive-target', '0.3']),
              ({'temperature': 1, 'strategy': 'beam', 'num_beams': 2}, ['--strategy', 'beam', '--num-beams', '2']), ({'temperature': 1, 'strategy': 'contrastive'}, ['--strategy', 'contrastive'])]
    with Folder() as folder, serving(chat_model(folder), '--watermark', KEYS, '--beams', '2') as s:
        for body, args in bodies:
            want = runnel('run', '--no-newline', '-m', MODEL, PROMPT, '-n', str(N), '--seed', '3', *args).ok().text
            for path in (NATIVE, TEXT, LLAMA, OLLAMA):
                equal(text_of(s, path, body).rstrip('\n'), want.rstrip('\n'), f'{path} {body}')
        post(s, NATIVE, prompt=PROMPT, watermark={'keys': [1]}).refuses(400, 'unsupported_parameter', 'this server marks its answers with keys of its own')


@test
def llama_servers_answer_tells_the_settings():
    with Folder() as folder, serving(chat_model(folder)) as s:
        body = {'dry_multiplier': 0.5, 'mirostat': 2, 'mirostat_tau': 3, 'xtc_probability': 0.25, 'top_n_sigma': 1, 'typical_p': 0.5, 'dynatemp_range': 0.5}
        settings = good(s, LLAMA, prompt=PROMPT, n_predict=2, **body)['generation_settings']
        equal({name: settings[name] for name in body}, body)


main()
