"""tests/serve/soak_options.py - the options of a soak's servers, drawn at random. soak_test.py holds the table to `runnel serve --help`."""

from serving import MODEL

# None: not given. Values are such that answers stay as they are, and a busy machine under sanitizers still keeps every time limit
# but --queue-seconds, and the streams that clients come back to are held until then whatever else is finished. `--memory` is a little more than the server's own plan.
FITTING = 'what the plan takes'
VALUES = {
    '--threads': (1, 1, 2, 3), '--ctx': (256, 256, 320, 512), '--streams': (1, 2, 4, 4, 16), '--queue': (8, 24, 24, None),
    '--queue-tokens': (None, 1024), '--queue-seconds': (None, 0, 2), '--workers': (None, 2, 3, 8), '--work-memory': (None, 256), '--target-itl-ms': (None, 0, 1),
    '--memory': (None, FITTING), '--key-tokens-per-minute': (None, None, 100000), '--share-prefixes': (None, True), '--watermark': (None,),
    '--kv-type': (None, None, 'f32', 'q8', 'bf16'), '--cpu': (None, 'avx2'), '--load': (None, 'read'), '--no-repack': (None, True),
    '--verbose': (None, True), '--no-page': (None, True), '--drain-seconds': (120,), '--tls-cert': (None, None, None, 'cert.pem'),
    '--api-key-file': (None, 'keys', 'keys'), '--trusted-proxy': (None, None, '127.0.0.1', '::1/128'),
    '--mcp': (None, 'http://127.0.0.1:9/mcp'), '--allow-media-domain': (None, None, '127.0.0.1:9'), '--cors': (None, '*', 'https://chat.example'), '--allow-host': (None, 'chat.example'), '--access-log': ('none', 'access.log'),
    '--max-connections': (None, None, 10), '--max-connections-per-address': (None, 2), '--max-line': (None, 1024, 1 << 20),
    '--max-header-block': (None, 4096, 1 << 20), '--max-headers': (None, 16, 1024), '--max-header': (None, 512, 1 << 20),
    '--max-body': (None, 1), '--max-bodies': (None, 1, 64), '--header-seconds': (None, 0, 3600), '--body-seconds': (None, 0, 3600),
    '--idle-seconds': (None, 0, 30), '--write-seconds': (None, 0, 30), '--ping-seconds': (1, 1, 0, None),
    '--resume-grace-seconds': (None, 20), '--resume-seconds': (None, 3600), '--resume-mib': (16, 64), '--responses-mib': (0, 1, 1), '--outputs-mib': (0, 1, 16),
    '--no-vision': (None, None, True), '--draft': (None, None, MODEL), '--no-speculate': (None, None, True),
    '--amateur': (None, None, None, MODEL), '--value-model': (None, None, None, MODEL), '--early-layers': (None, None, 'low'), '--beams': (None, 1, 4),
}
NOT_DRAWN = {
    '--lora': 'adapters are of one shape of model: serve/lora_test.py',
    '--draft-heads': 'heads are of one shape of model: serve/draft_heads_test.py',
    '--ngram-cache': 'a file of one vocabulary: serve/speculation_test.py',
    '--mmproj': 'its models see nothing: serve/pictures_test.py',
    '--model': 'always two of them', '--alias': 'always one', '--host': 'everything stays on the loopback', '--port': 'one that is free',
    '--tls-key': 'with --tls-cert', '--api-key': 'keys that cannot be revoked', '--no-auth': 'has no effect on the loopback',
    '--chat-template': 'changes answers', '--output-format': 'changes answers', '--help': 'not a server', '--version': 'not a server',
}


def draw(rng):
    """{option: value} of one server."""
    drawn = {name: rng.choice(values) for name, values in VALUES.items()}
    drawn = {name: value for name, value in drawn.items() if value is not None}
    if drawn.get('--max-bodies') == 1:
        drawn['--max-body'] = 1         # all bodies together hold the largest one
    return drawn


def arguments(drawn, folder, memory_mib=None):
    """Of the command line; files are in the folder."""
    args = []
    for name, value in drawn.items():
        if value == FITTING:
            args += [name, memory_mib] if memory_mib else []
        elif value is True:
            args.append(name)
        elif name in ('--tls-cert', '--api-key-file') or value == 'access.log':
            args += [name, folder / value]
        else:
            args += [name, value]
    return [*args, *(('--tls-key', folder / 'key.pem') if '--tls-cert' in drawn else ())]
