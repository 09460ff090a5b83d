"""tests/serve/request_fields.py - every member of every request: values that are answered, values that are refused by name, and random
requests made of them.

One table, held to docs/server-api.md and to the server's own tables by request_fields_test.py.
"""
import collections
import copy
import json

# good: with one of these alone beside the route's least body the answer is 200. bad: 400, the member named. needs: what must stand beside it.
Field = collections.namedtuple('Field', 'good bad needs', defaults=((), {}))

CHAT, COMPLETIONS, RESPONSES, GENERATE = '/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/runnel/generate'
LLAMA, LLAMA_OTHER = '/completion', '/completions'
MESSAGES_OF_ANTHROPIC, COUNT = '/v1/messages', '/v1/messages/count_tokens'
OLLAMA_CHAT, OLLAMA_GENERATE, OLLAMA_EMBED, OLLAMA_EMBEDDINGS, OLLAMA_SHOW = '/api/chat', '/api/generate', '/api/embed', '/api/embeddings', '/api/show'
GRAMMAR = '/v1/runnel/grammar'
EMBEDDINGS, RERANK, TOKENIZE, DETOKENIZE, TEMPLATE = '/v1/embeddings', '/v1/rerank', '/tokenize', '/detokenize', '/apply-template'

LONG = 'Once upon a time there was a dog. ' * 12
EMOJI = '\U0001f600 \u0e20\u0e32\u0e29\u0e32 e\u0301\x00\ufffd'
FUNCTION = {'name': 'look', 'parameters': {'type': 'object', 'properties': {'at': {'type': 'string'}}}}
CALLS = [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': None, 'tool_calls': [
    {'id': 'c', 'type': 'function', 'function': {'name': 'look', 'arguments': '{}'}}]}, {'role': 'tool', 'tool_call_id': 'c', 'content': 'b'}]
BEGUN = {'messages': [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'The'}]}
SWITCH = Field((True, False), ('true', 1, [], {}))
NOTE = Field(('', 'x', {}, {'a': [1]}, 5, True))
PROMPTS = Field(('', 'The cat', LONG, EMOJI, [427, 438], [5] * 40), ([-1], [4096], [1.5], {}, [], 5, True, [[1], 'a', {}], ['a'] * 129))
MESSAGES = Field(([{'role': 'user', 'content': 'The cat'}], [{'role': 'system', 'content': ''}, {'role': 'user', 'content': EMOJI}],
                  [{'role': 'user', 'content': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': LONG}]}], CALLS,
                  [{'role': r, 'content': 'a'} for r in ('user', 'assistant') * 9] + [{'role': 'user', 'content': 'b'}]),
                 (5, 'a', {}, [5], [[]], [{'content': 'a'}], [{'role': 5, 'content': 'a'}], [{'role': 'user', 'content': {}}], [{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': ''}}]}]))


def whole(good, low, high):
    return Field(tuple(good), (low - 1, high + 1, 1.5, 'x', [], {}, True))


def real(good, low, high):
    return Field((*good, low, high), (low - 0.5 if low else -0.1, high * 1.01, 1e300, 'x', [], {}, True))


def word(*good):
    return Field(good, ('', 'no-such', 5 if 'low' not in good else 0.5, [], {}, True))


# ---- the fields, by subject ------------------------------------------------------------------------------------------

COMMON = {'model': Field(('m', None)), 'user': NOTE, 'metadata': NOTE, 'safety_identifier': NOTE, 'prompt_cache_key': NOTE}

SAMPLING = {
    'temp': real((0.8, 1), 0, 5), 'temperature': real((0.8, 1.5), 0, 5), 'top_k': whole((-1, 0, 1, 40, 40.0, 1000000), -1, 1000000),
    'top_p': real((0.9,), 0, 1), 'min_p': real((0.1,), 0, 1), 'min_keep': whole((1, 5, 1000000), 1, 1000000),
    'repeat_penalty': real((1, 1.3), 0.01, 10), 'repetition_penalty': real((1.1,), 0.01, 10), 'frequency_penalty': real((0, 0.5), -2, 2),
    'presence_penalty': real((0, 0.5), -2, 2), 'penalty_last_n': whole((-1, 0, 64, 1000000), -1, 1000000),
    'repeat_last_n': whole((-1, 0, 64), -1, 1000000), 'penalty_prompt': SWITCH, 'sampler_order': word('llama.cpp', 'transformers', 'exllamav2'),
    'dry_multiplier': real((0.8,), 0, 100), 'dry_base': real((1.75,), 1, 100), 'dry_allowed_length': whole((0, 2, 1000000), 0, 1000000),
    'dry_penalty_last_n': whole((-1, 0, 64), -1, 1000000),
    'dry_sequence_breakers': Field(([], ['\n', ':'], ['the end'], ['b' * 40], list('abcdefghijklmnopqrstuvwxyz123456')),
                                   ('x', 5, {}, True, [''], ['b' * 41], ['a\0'], [5], ['a'] * 33)),
    'xtc_probability': real((0.5,), 0, 1), 'xtc_threshold': real((0.1,), 0, 1), 'typical_p': real((0.5,), 0, 1), 'typ_p': real((0.5,), 0, 1),
    'top_n_sigma': real((-1, 0, 1), -1, 100), 'dynatemp_range': real((0.5,), 0, 5), 'dynatemp_exponent': real((1,), 0, 10),
    'mirostat': Field((0, 1, 2), (-1, 3, 1.5, 'x', [], {}, True), {'adaptive_target': -1}), 'mirostat_tau': real((5,), 0, 100), 'mirostat_eta': real((0.1,), 0, 1),
    'min_tokens': whole((0, 1, 5, 2**31 - 1), 0, 2**31 - 1), 'no_repeat_ngram_size': whole((0, 3, 1000000), 0, 1000000),
    'epsilon_cutoff': real((0.001,), 0, 1), 'eta_cutoff': real((0.001,), 0, 1), 'top_a': real((0.2,), 0, 1), 'top_h': real((0.4,), 0, 1),
    'tfs_z': real((0.9,), 0, 1), 'adaptive_target': Field((-1, 0, 0.5, 1), (-1.1, 1.1, 'x', [], {}, True), {'mirostat': 0}), 'adaptive_decay': real((0.5,), 0, 0.99),
    'encoder_repetition_penalty': real((1.2,), 0.01, 10), 'exponential_decay_start': whole((0, 20, 1000000), 0, 1000000),
    'exponential_decay_factor': real((1.1,), 1, 10), 'banned_tokens': Field(([], [3], [3.0, 4], list(range(700, 1000))), ([-1], [4096], ['x'], 5, 'x', {}, True, list(range(1025)))),
    'samplers': Field(('top_k', 'penalties;dry;top_k;temperature', ['dry', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature']),
                      ('', [], [''], 'top_q', 'top_k;top_k', ['top_k', 'infill'], [5], 5, {}, True)),
    'preset': Field(('greedy', 'focused', 'balanced', 'creative', 'wild', 'code', 'chat', 'story', 'summary'), ('', 'no-such', 5, [], {}, True)),
    'logit_bias': Field(({}, {'5': 1.5}, {'5': '-inf', '4095': -100}, {str(i): 100 for i in range(1024)}),
                        ([], 'x', 5, {'x': 1}, {'-1': 1}, {'4096': 1}, {'5': 101}, {'5': 'inf'}, {str(i): 0 for i in range(1025)})),
    'sequence_bias': Field(([], [[[5], 1.5]], [[[5, 6.0], '-inf'], [[4095] * 64, -100]], [[[i % 99, i], 1] for i in range(1024)]),
                           (5, 'x', {}, True, [5], [[5, 1]], [[[], 1]], [[[5]]], [[[5], 1, 2]], [[['x'], 1]], [[[-1], 1]], [[[4096], 1]], [[[5], 101]], [[[5], 'inf']],
                            [[[5] * 65, 1]], [[[5], 1]] * 1025)),
    'watermark': Field(({'keys': [1, -5, 2**53 - 1]}, {'keys': list(range(64)), 'ngram_len': 2, 'context_history_size': 0, 'sampling_table_size': 1, 'sampling_table_seed': 7,
                                                      'skip_first_ngram_calls': True, 'debug_mode': False}),
                       (5, 'x', [], {}, True, {'keys': []}, {'keys': 5}, {'keys': ['x']}, {'keys': [2**53]}, {'keys': [1] * 65}, {'keys': [1], 'ngram_len': 1},
                        {'keys': [1], 'sampling_table_size': 0}, {'keys': [1], 'sampling_table_seed': -1}, {'keys': [1], 'debug_mode': True}, {'keys': [1], 'x': 1}),
                       {'temp': 1, 'mirostat': 0, 'adaptive_target': -1}),
    'seed': Field((-1, 0, 1, 7.0, 2**53, 2**63 - 1, 2**63, 2**64 - 1, '5'), (-2, 2**64, 10**70, 1.5, 'x', [], {})),
}
# Of a strategy's options the defaults alone go with any request; beam_test.py has the others.
SEARCH = {
    'strategy': Field(('sample',), ('', 'no-such', 5, [], {}, True)), 'num_beams': Field((4,), (0, 33, 1.5, 'x', [], {}, True)), 'num_beam_groups': Field((1,), (0, 33, 'x', True)),
    'diversity_penalty': Field((0,), (-0.5, 101, 'x', True)), 'length_penalty': Field((1, 1.0), (-101, 101, 'x', [], {})),
    'early_stopping': Field((False,), ('', 'always', 5, 'true', [], {})), 'do_sample': Field((False,), ('', 5, 'true', [], {})),
    'penalty_alpha': Field((0.6,), (-0.5, 1.5, 'x', True)), 'num_candidates': Field((4,), (0, 65, 'x', True)), 'amateur_model': Field((0,), (-1, 16, 'x', True)),
    'amateur_weight': Field((1,), (-0.5, 11, 'x', True)), 'amateur_temperature': Field((1,), (0, 101, 'x', True)), 'relative_top': Field((0.1,), (-0.5, 1.5, 'x', True)),
    'simulations': Field((32,), (0, 4097, 'x', True)), 'tree_width': Field((4,), (0, 17, 'x', True)), 'c_puct': Field((1.25,), (-0.5, 101, 'x', True)),
    'value': Field((), ('likelihood', 5, [], {})), 'dola_layers': Field((), ('low', 5, [], {})),  # of one strategy alone
    'renormalize_logits': Field((False,), (5, 'x')), 'best_of': Field((1,), (0, 33, 'x', [], {})), 'use_beam_search': Field((False,), ('', 5, 'true', [], {})),
    'beam_width': Field((4,), (0, 33, 'x')), 'majority': Field((), (5, [], {}, True)), 'num_return_sequences': Field((1,), (0, 33, 'x', True)),
}
LIMITS = {
    'stop': Field(('.', EMOJI, ['a'], ['.', ' the', 'zz'], [f'{i}?' for i in range(16)], 'z' * 256, []),
                  ('', [''], 'z' * 257, ['a'] * 17, 5, {}, [5], True)),
    'stop_tokens': Field(([], [5], list(range(3, 131))), ([4096], [-1], [1.5], 'x', 5, {}, ['x'], list(range(129)))),
    'banned_strings': Field(('zz', EMOJI[:5], [' the', 'CAT'], [f'{i}?' for i in range(512)], 'z' * 256, []),
                            ('', [''], 'z' * 257, ['a'] * 513, 5, {}, [5], True, '\ufffd')),
    'banned_match_case': SWITCH, 'token_healing': SWITCH, 'guidance_scale': real((1, 1.5), 0, 100), 'cfg_scale': real((1, 7.5), 0, 100),
    'speculate': Field(('none', 'ngram', 'suffix', 'ngram-cache', 'lookahead', 'lookahead=16:4:16', ['ngram', 'lookahead=4:3:2'], 'draft', ['ngram'], ['draft', 'ngram'], ['suffix', 'ngram'], ['none'], []), ('', 'no-such', 'lookahead=17:4:1', 'lookahead=5:3', 'lookahead=', 5, {}, True, ['no-such'], [5], ['ngram', 'ngram'], ['none', 'ngram'])), 'draft_min_p': real((0, 0.5, 1), 0, 1)._replace(needs={'speculate': 'draft'}), 'spec_verify': Field(('match', 'reject', 'typical'), ('', 'exact', 5, {}, True, ['match'])), 'draft_max': whole((1, 16, 63), 1, 63), 'draft_min': Field((0, 1, 16), (-1, 64, 1.5, 'x', [], {}, True)),
    'prediction': Field(('', 'a', EMOJI, 'Once upon a time, there was a cat.', {'type': 'content', 'content': 'a'}, {'type': 'content', 'content': []},
                         {'type': 'content', 'content': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}]}),
                        (5, [], ['a'], {}, True, {'type': 'content'}, {'type': 'x', 'content': 'a'}, {'type': 'content', 'content': 5},
                         {'type': 'content', 'content': ['a']}, {'type': 'content', 'content': 'a', 'x': 1})),
    'negative_prompt': Field(('', 'a', EMOJI), (5, [], {}, True), {'guidance_scale': 2}),
    **SEARCH,
    'stop_token_ids': Field(([], [5, 6]), ([-1], 'x')), 'ignore_eos': SWITCH, 'skip_eos': SWITCH, 'special': SWITCH, 'parse_special': SWITCH,
    'max_tokens': whole((0, 1, 2, 8.0, 40, 2**31 - 1, -1), -1, 2**31 - 1), 'n_predict': whole((0, 1, 40, -1), -1, 2**31 - 1),
    'n': whole((1, 2, 8), 1, 128),
}
VLLM = {
    'allowed_token_ids': Field(([5], [5.0, 6], list(range(300, 700))), ([], [-1], [4096], ['x'], 5, 'x', {}, True)),
    'bad_words': Field(([], ['the'], [' the', 'a cat'], ['w' * 256], [f'w{i}' for i in range(128)]),
                       ([''], ['w' * 257], [5], 5, 'x', {}, True, ['w'] * 129)),
    'include_stop_str_in_output': SWITCH, 'skip_special_tokens': SWITCH, 'spaces_between_special_tokens': SWITCH,
}
SCHEMA = {'type': 'object', 'properties': {'at': {'enum': ['sky', 'sea']}, 'n': {'type': 'integer', 'minimum': 0, 'maximum': 99}}, 'required': ['at', 'n'],
          'additionalProperties': False}
BAD_SCHEMAS = ({'type': 'objec'}, {'pattern': '('}, {'type': 'array', 'uniqueItems': True}, {'$ref': 'http://a/b'}, False)
CHOICE = Field((['red', 'green'], ['a'], [EMOJI], [f'c{i}' for i in range(10000)]), ([], 'a', 5, {}, True, [5], ['a'] * 10001))
REGEX = Field(('[a-c]{3}', '(yes|no)!?', '\\d+'), ('(', '[', 'a{2,1}', '(?<=a)b', 5, [], {}, True))
TEXT_OF_GRAMMAR = Field(('', 'root ::= "a" | "b" root', 'start: "a" start | /[b-c]{2}/'), ('root ::= x', 'start: "', 'root ::= root', 5, [], {}, True))
TAGS = {'format': {'type': 'triggered_tags', 'triggers': ['<f'], 'tags': [{'type': 'tag', 'begin': '<f>', 'content': {'type': 'json_schema', 'json_schema': SCHEMA}, 'end': '</f>'}]}}
OLD_TAGS = {'structures': [{'begin': '<f>', 'schema': SCHEMA, 'end': '</f>'}], 'triggers': ['<f']}
BAD_TAGS = ({}, {'format': {}}, {'format': {'type': 'x'}}, {'structures': [], 'triggers': []}, {'structures': [{'begin': '<f>', 'schema': 5, 'end': ''}], 'triggers': ['<']})
STRUCTURAL = Field((TAGS, OLD_TAGS, {'type': 'structural_tag', **TAGS}, json.dumps(TAGS)), (5, [], True, 'x', '', *BAD_TAGS))
FORM = {
    'structural_tag': STRUCTURAL, 'forced_tokens': SWITCH,
    'json_schema': Field((SCHEMA, {}, True, {'type': 'array', 'items': {'type': 'boolean'}, 'maxItems': 3}), (5, 'x', [], *BAD_SCHEMAS)),
    'grammar': TEXT_OF_GRAMMAR, 'guided_grammar': TEXT_OF_GRAMMAR, 'json_mode': SWITCH, 'regex': REGEX, 'choices': CHOICE, 'json_space': word('dumps', 'compact', 'free'),
    'guided_json': Field((SCHEMA, json.dumps(SCHEMA), True), (5, 'x', [], '{"type":', *BAD_SCHEMAS)), 'guided_regex': REGEX, 'guided_choice': CHOICE,
    'guided_json_object': SWITCH,
    'structured_outputs': Field(({}, {'json': SCHEMA, 'regex': None}, {'json': json.dumps(SCHEMA), 'disable_any_whitespace': True}, {'regex': 'a+'}, {'choice': ['a', 'b']}, {'grammar': 'root ::= "a"'}, {'structural_tag': TAGS}, {'structural_tag': json.dumps(OLD_TAGS)},
                                 {'json_object': True, 'disable_fallback': True}),
                                (5, 'x', [], {'x': 1}, {'json': 5}, {'regex': '('}, {'choice': []}, {'json_object': 5}, {'grammar': 'a'}, {'grammar': 5}, {'structural_tag': {}},
                                 {'regex': 'a', 'choice': ['a']}, {'disable_additional_properties': True}, {'whitespace_pattern': ' '})),
    'response_format': Field(({'type': 'text'}, {'type': 'json_object'}, {'type': 'json_object', 'schema': SCHEMA},
                              {'type': 'json_schema', 'json_schema': {'name': 'x', 'strict': False, 'schema': SCHEMA}}, {'type': 'json_schema', 'schema': SCHEMA},
                              {'type': 'structural_tag', **TAGS}, {'type': 'structural_tag', **OLD_TAGS}),
                             (5, 'x', [], {}, *({'type': 'structural_tag', **bad} for bad in BAD_TAGS), {'type': 'xml'}, {'type': 'json_schema'}, {'type': 'json_schema', 'json_schema': {'name': 'x'}},
                              *({'type': 'json_schema', 'json_schema': {'schema': bad}} for bad in (5, [], *BAD_SCHEMAS)))),
}
FORMAT = Field(({'type': 'text'}, {'type': 'json_object'}, {'type': 'json_schema', 'name': 'x', 'schema': SCHEMA}), (5, 'x', [], {}, {'type': 'xml'}, {'type': 'json_schema'}))
TOKEN_IDS = {'return_token_ids': SWITCH, 'return_tokens_as_token_ids': SWITCH}
KEPT = {'truncate_prompt_tokens': Field((-1, 1, 2, 200), (-2, 0, 257, 1.5, 'x', [], {}, True))}
LORA = Field(([],), ('x', 5, {}, True, [5], [{}], [{'id': 0}], [{'id': -1}], [{'name': 'x'}], [{'id': 0, 'scale': 1001}]))
DELIVERY = {
    'stream': SWITCH, 'stream_options': Field(({}, {'include_usage': True}, {'include_usage': False, 'continuous_usage_stats': True}), (5, 'x', [], {'include_usage': 5}, {'continuous_usage_stats': 5}), {'stream': True}),
    'stream_interval': whole((1, 2, 7, 1023, 1024), 1, 1024), 'overflow': word('park', 'drop-oldest', 'cancel'),
    'buffer_tokens': whole((1, 2, 1024, 65536), 1, 65536), 'max_tokens_per_second': real((0, 200), 0, 1e6),
    'timeout': Field((0.001, 0.05, 1, 86400), (0, -1, 86401, 'x', [], {}, True)), 'priority': Field(('low', 'normal', 'high', 0, -5, 7), ('', 'first', 1.5, [], {}, True)),
    'cache_salt': Field(('', 'a', EMOJI.replace('\0', ''), 's' * 300), (5, [], {}, True, 'a\0b')), 'cache_prompt': SWITCH,
    'session': Field(('s1', 's2', 's' * 256), ('', 's' * 257, 5, [], {}, True, 'a\0b')), 'resumable': Field((True, False), ('x', 1), {'stream': True}),
    'return_progress': SWITCH,
    'lora': LORA,
}
CONVERSATION = {
    'messages': MESSAGES, 'tools': Field(([], [{'type': 'function', 'function': FUNCTION}]), (5, 'x', {}, [5], [None])),
    'tool_choice': Field(('auto', 'none'), ('required', 'x', 5, [], {'type': 'function', 'function': {'name': 'look'}}, True)),
    'parallel_tool_calls': SWITCH, 'chat_template_kwargs': Field(({}, {'a': 1, 'b': [None, {'c': 'd'}], EMOJI.replace('\0', ''): True}),
                                                                (5, 'x', [], {'messages': []}, {'bos_token': 'a'})),
    'reasoning_effort': Field(('low', 'high', ''), (5, [], {}, True)),
    'reasoning_format': Field(('separate', 'none', 'tags', 'auto', 'deepseek'), ('', 'x', 5, [], {}, True)),
    'continue_final_message': SWITCH._replace(needs=BEGUN), 'continue_final': SWITCH._replace(needs=BEGUN), 'add_generation_prompt': SWITCH,
    'truncate': word('none', 'old', 'middle'), 'reply_tokens': Field(([], [402], [5] * 40), ([4096], [-1], 'x', 5, {}, [1.5], ['x'])),
}

# Anthropic's.
BLOCKS = [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': EMOJI, 'cache_control': {'type': 'ephemeral'}}]
USED = [{'role': 'user', 'content': BLOCKS}, {'role': 'assistant', 'content': [
    {'type': 'thinking', 'thinking': 'hm', 'signature': ''}, *BLOCKS, {'type': 'tool_use', 'id': 'c', 'name': 'look', 'input': {'at': [1, None, EMOJI]}}]},
    {'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'c', 'content': BLOCKS}, {'type': 'tool_result', 'tool_use_id': 'd', 'is_error': True},
                                 *BLOCKS]}]
ANTHROPIC = {
    'messages': Field((MESSAGES.good[0], USED, [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'The'}], [{'role': 'system', 'content': 'a'}, *USED]),
                      (5, 'a', {}, [], [5], [[]], [{'role': 'x', 'content': 'a'}], [{'role': 'user', 'content': [{'type': 'image'}]}],
                       [{'role': 'user', 'content': [{'type': 'tool_use', 'id': 'a', 'name': 'b', 'input': {}}]}])),
    'system': Field(('', 'Tell.', EMOJI, BLOCKS, []), (5, {}, True, [5], [{'type': 'image'}], [{'type': 'text'}])),
    'tools': Field(([], [{'name': 'look', 'description': 'd', 'input_schema': {'type': 'object'}}], [{'type': 'custom', 'name': 'look', 'input_schema': {}}]),
                   (5, 'x', {}, [5], [{}], [{'name': 'a'}], [{'type': 'web_search_20250305', 'name': 'a'}], [{'name': 'a', 'input_schema': {}, 'strict': 5}])),
    'tool_choice': Field(({'type': 'auto'}, {'type': 'none'}, {'type': 'auto', 'disable_parallel_tool_use': True}),
                         (5, 'auto', [], {}, {'type': 'any'}, {'type': 'tool', 'name': 'look'}, {'type': 'auto', 'disable_parallel_tool_use': 5})),
    'thinking': Field(({'type': 'disabled'}, {'type': 'enabled', 'budget_tokens': 1024}, {'type': 'adaptive', 'display': 'omitted'}),
                      (5, 'x', [], {}, {'type': 'x'}, {'type': 'enabled', 'budget_tokens': 0}, {'type': 'enabled', 'budget_tokens': 'x'})),
    'output_config': Field(({}, {'effort': 'low'}, {'x': 1}, {'format': FORMAT.good[2]}), (5, 'x', [], {'effort': 5}, *({'format': f} for f in FORMAT.bad))),
    'output_format': FORMAT,
    'cache_control': Field(({'type': 'ephemeral'},)), 'chat_template_kwargs': CONVERSATION['chat_template_kwargs'], 'truncate': CONVERSATION['truncate'],
    'stop_sequences': LIMITS['stop']}

# Ollama's.
CALLED = [{'role': 'user', 'content': 'a', 'images': []}, {'role': 'assistant', 'thinking': 'hm', 'tool_calls': [{'function': {'name': 'look', 'arguments': {'at': EMOJI}}}]},
          {'role': 'tool', 'content': 'b', 'tool_name': 'look'}, {'role': 'user', 'content': EMOJI}]
OLLAMA = {
    'name': Field(('m',), (5, [], {}, True, 'a\0b')), 'stream': SWITCH, 'keep_alive': Field(('5m', -1, 0, 300, ''), ([], {}, True)),
    'options': Field(({}, {'num_predict': 4, 'temperature': 0.5, 'seed': 7}, {'num_predict': -2, 'stop': ['.'], 'num_thread': 4}, {'num_ctx': 64, 'mirostat': 2, 'typical_p': 0.5}, {'top_k': 5, 'session': 's9'}),
                     (5, 'x', [], True, {'temperature': 9}, {'num_predict': -3}, {'num_ctx': 10**6}, {'mirostat': 3}, {'typical_p': 1.5}))}
OLLAMA_TEXT = {**OLLAMA, 'format': Field(('', 'json', SCHEMA), ('xml', 5, [], True, *BAD_SCHEMAS[:-1])), 'think': Field((True, False, 'low', 'high'), ('', 'x', 5, [], {})), 'logprobs': SWITCH, 'top_logprobs': whole((0, 1, 20), 0, 20),
               'tools': CONVERSATION['tools'], 'chat_template_kwargs': CONVERSATION['chat_template_kwargs'], 'truncate': CONVERSATION['truncate']}
NUMBER_OF_TOP = whole((0, 1, 20), 0, 20)
TOKEN_DATA = {'logprobs': NUMBER_OF_TOP, 'prompt_logprobs': NUMBER_OF_TOP, 'echo': SWITCH}

# ---- the routes: the least body, and what else it may have -----------------------------------------------------------

Route = collections.namedtuple('Route', 'least fields')
# The models that these requests go to have no tokens for a hole: REFUSED has a suffix that is not empty.
NO_SUFFIX = Field(('',), (5, [], {}, True))
ROUTES = {
    CHAT: Route({'messages': MESSAGES.good[0], 'max_tokens': 8}, {
        **COMMON, **SAMPLING, **LIMITS, **VLLM, **FORM, **TOKEN_IDS, **DELIVERY, **CONVERSATION, 'logprobs': SWITCH,
        'top_logprobs': NUMBER_OF_TOP._replace(needs={'logprobs': True}), 'max_completion_tokens': LIMITS['max_tokens']}),
    COMPLETIONS: Route({'prompt': 'The cat', 'max_tokens': 8}, {
        **COMMON, **SAMPLING, **LIMITS, **VLLM, **FORM, **TOKEN_IDS, **KEPT, **DELIVERY, **TOKEN_DATA, 'prompt': PROMPTS._replace(good=(*PROMPTS.good, ['a', LONG], [[5], [6, 7]], ['a'] * 32)),
        'suffix': NO_SUFFIX}),
    GENERATE: Route({'prompt': 'The cat', 'max_tokens': 8}, {
        **COMMON, **SAMPLING, **LIMITS, **VLLM, **FORM, **TOKEN_IDS, **KEPT, **DELIVERY, **TOKEN_DATA, **CONVERSATION, 'prompt': PROMPTS, 'ids': Field(([427, 438],), ([-1], [4096], {}, 5), {'prompt': None}), 'token_times': SWITCH, 'with_pieces': SWITCH, 'sampled_logprobs': NUMBER_OF_TOP,
        'accept_revisions': SWITCH._replace(needs={'stream': True})}),
    LLAMA: Route({'prompt': 'The cat', 'n_predict': 8}, {
        **COMMON, **SAMPLING, **{k: v for k, v in LIMITS.items() if k != 'n'}, **VLLM, **FORM, **KEPT, **DELIVERY, 'prompt': PROMPTS,
        'image_data': Field(([],), (5, 'x', {}, [5], [{}], [{'data': 5}], [{'data': 'x', 'id': -1}], [{'data': 'Qk0='}])),
        'n_probs': whole((0, 1, 20), 0, 20), 'return_tokens': SWITCH, 'id_slot': whole((-1, 0, 5), -1, 2**31 - 1),
        't_max_predict_ms': whole((0, 1, 5000), 0, 86400000), 'post_sampling_probs': SWITCH}),
    RESPONSES: Route({'input': 'The cat', 'max_output_tokens': 8}, {
        **COMMON, **SAMPLING, **{k: v for k, v in LIMITS.items() if k not in ('n', 'max_tokens', 'n_predict')}, **VLLM, **FORM,
        **{k: v for k, v in DELIVERY.items() if k not in ('stream_options', 'resumable')},
        'input': Field(('a', LONG, EMOJI, [{'role': 'user', 'content': 'a'}], [
            {'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': 'a'}]}, {'type': 'reasoning', 'summary': []},
            {'type': 'function_call', 'call_id': 'c', 'name': 'look', 'arguments': '{}'},
            {'type': 'function_call_output', 'call_id': 'c', 'output': 'b'}]),
            (5, {}, True, [], [5], [{}], [{'type': 'x'}], [{'type': 'function_call'}], [{'type': 'function_call_output', 'call_id': 5}])),
        'instructions': Field(('', 'Tell.', EMOJI), (5, [], {}, True)), 'max_output_tokens': LIMITS['max_tokens'],
        'tools': Field(([], [{'type': 'function', **FUNCTION}], [{'type': 'web_search'}]), (5, 'x', {}, [5], [{'type': 5}], [{}])),
        'include': Field(([], ['reasoning.encrypted_content']), ([5], 5, 'x', {})),
        'text': Field(({}, *({'format': f} for f in FORMAT.good), {'verbosity': 'low'}), (5, 'x', [], {'verbosity': 'x'}, *({'format': f} for f in FORMAT.bad), {'x': 1})),
        'tool_choice': CONVERSATION['tool_choice'], 'parallel_tool_calls': SWITCH,
        'reasoning': Field(({}, {'effort': 'low'}, {'effort': 'low', 'summary': 'auto'}), (5, 'x', [], {'effort': 5}, {'x': 1})),
        'truncation': Field(('auto', 'disabled'), ('', 'x', 5, [], {}, True)), 'store': SWITCH,
        'previous_response_id': Field((None,), (5, [], {}, True))}),
    MESSAGES_OF_ANTHROPIC: Route({'messages': MESSAGES.good[0], 'max_tokens': 8}, {
        **COMMON, **SAMPLING, **{k: v for k, v in LIMITS.items() if k not in ('n', 'stop')}, **VLLM, **FORM, **{k: v for k, v in DELIVERY.items() if k != 'stream_options'}, **ANTHROPIC}),
    COUNT: Route({'messages': MESSAGES.good[0]}, {**COMMON, **ANTHROPIC}),
    OLLAMA_CHAT: Route({'messages': MESSAGES.good[0], 'stream': False, 'options': {'num_predict': 8, 'seed': 1}}, {
        **COMMON, **OLLAMA_TEXT, 'messages': Field((MESSAGES.good[0], CALLED, []), (5, 'a', {}, [5], [[]], [{'role': 'x'}], [{'role': 'user', 'content': 'a', 'images': ['x']}]))}),
    OLLAMA_GENERATE: Route({'prompt': 'The cat', 'stream': False, 'options': {'num_predict': 8, 'seed': 1}}, {
        **COMMON, **OLLAMA_TEXT, 'prompt': Field(('', 'a', EMOJI), (5, [], {}, True)), 'system': Field(('', 'Tell.', EMOJI), (5, [], {}, True)),
        'suffix': NO_SUFFIX, 'raw': SWITCH, 'context': Field(([], [427, 438]), ([-1], [1.5], ['x'], 5, 'x', {})),
        'images': Field(([],), (5, 'x', {}, [5], ['x'], ['Qk0='], ['x'] * 17))}),
    OLLAMA_EMBED: Route({'input': 'The cat'}, {
        **COMMON, **OLLAMA, 'input': Field(('a', EMOJI, [], ['a', LONG]), (5, {}, True, [5], ['a'] * 2049)), 'truncate': SWITCH, 'dimensions': whole((1, 8, 256), 1, 256)}),
    OLLAMA_EMBEDDINGS: Route({'prompt': 'The cat'}, {**COMMON, **OLLAMA, 'prompt': Field(('', 'a', EMOJI), (5, [], {}, True))}),
    OLLAMA_SHOW: Route({'model': 'm'}, {**{k: v for k, v in COMMON.items() if k != 'model'}, 'verbose': SWITCH}),
    EMBEDDINGS: Route({'input': 'The cat'}, {
        **COMMON, 'input': PROMPTS._replace(good=(*PROMPTS.good[1:], ['a', LONG], [[5], [6, 7]], ['a'] * 32), bad=(*PROMPTS.bad[:-1], ['a'] * 2049)),
        'encoding_format': Field(('float', 'base64'), ('', 'x', 5, [], {}, True)), 'dimensions': whole((1, 8, 256), 1, 256),
        'prompt_name': Field((None,), ('x', 5, [], {}, True)),
        'pooling': Field(('mean', 'first', 'last'), ('', 'none', 'rank', 'x', 5, [], {}, True)), 'normalize': SWITCH, 'lora': LORA}),
    RERANK: Route({'query': 'cats', 'documents': ['A cat.', 'Dogs.'], 'model': 'r'}, {
        **{k: v for k, v in COMMON.items() if k != 'model'}, 'query': Field(('', 'cats', EMOJI), (5, [], {}, True)),
        'documents': Field((['a'], [{'text': 'a'}, 'b', {'text': EMOJI, 'x': 1}], ['x'] * 30), ([], 5, 'x', {}, [5], [{}], ['x'] * 1001)),
        'top_n': whole((1, 2, 2**31 - 1), 1, 2**31 - 1), 'return_documents': SWITCH, 'lora': LORA}),
    '/score': Route({'text_1': 'cats', 'text_2': ['A cat.'], 'model': 'r'}, {
        **{k: v for k, v in COMMON.items() if k != 'model'}, 'text_1': Field(('', 'cats', EMOJI), (5, [], {}, True)),
        'text_2': Field(('a', ['a'], ['x'] * 30), ([], 5, {}, [5], [{}], ['x'] * 1001)), 'lora': LORA}),
    '/infill': Route({'input_prefix': 'a', 'input_suffix': 'b', 'model': 'h', 'n_predict': 4}, {
        'input_prefix': Field(('', LONG[:100], EMOJI), (5, [], {}, True)), 'input_suffix': Field(('', LONG[:100], EMOJI), (5, [], {}, True)),
        'input_extra': Field(([], [{'text': 'a'}], [{'filename': 'f', 'text': EMOJI}]), (5, {}, [5], [{}], [{'text': 5}], [{'text': ''}] * 65)),
        'prompt': Field(('', 'a'), ([5], ['a', 'b'], 5, {})), 'repo_name': Field(('', 'r', EMOJI), (5, [], {}, True)),
        'file_name': Field(('', 'f.c', EMOJI), (5, [], {}, True)), 'infill_order': Field(('published', 'psm', 'spm'), ('', 'mps', 5, [], {}, True))}),
    '/lora-adapters': Route({'adapters': []}, {**COMMON, 'adapters': Field(([],), ('x', 5, {}, True, [5], [{}], [{'id': 0}]))}),
    GRAMMAR: Route({'regex': 'a'}, {
        **COMMON, 'regex': REGEX, 'json_space': FORM['json_space'], **{k: FORM[k]._replace(needs={'regex': None}) for k in ('json_schema', 'choices', 'structural_tag')},
        'json_mode': Field((True,), SWITCH.bad, {'regex': None}), 'grammar': TEXT_OF_GRAMMAR._replace(good=TEXT_OF_GRAMMAR.good[1:], needs={'regex': None})}),
    TOKENIZE: Route({'content': 'The cat'}, {
        **COMMON, 'content': Field(('', LONG, EMOJI), (5, [], {}, True)), 'add_special': SWITCH, 'parse_special': SWITCH, 'with_pieces': SWITCH,
        'prompt': Field(('', 'a'), (5, [], {}, True)), 'add_special_tokens': SWITCH, 'return_token_strs': SWITCH,
        **{k: f._replace(needs={**f.needs, 'content': None}) if k == 'messages' or f.needs else f for k, f in CONVERSATION.items()}}),
    DETOKENIZE: Route({'tokens': [427, 438]}, {
        **COMMON, 'tokens': Field(([], [5] * 500, [4095]), ([4096], [-1], [1.5], ['x'], 5, 'x', {})), 'special': SWITCH}),
    TEMPLATE: Route({'messages': MESSAGES.good[0]}, {**COMMON, **{k: v for k, v in CONVERSATION.items() if k != 'truncate'}}),
}
# Other paths of the same requests.
ROUTES.update({other: ROUTES[path] for path, others in {
    LLAMA: (LLAMA_OTHER,), RERANK: ('/rerank', '/v2/rerank'), '/score': ('/v1/score',), EMBEDDINGS: ('/pooling',), RESPONSES: (f'{RESPONSES}/input_tokens',),
}.items() for other in others})
# Messages of the WebSocket: `generate` has GENERATE's fields and these, the others say something about a stream that runs.
SOCKET = {'type': Field(('generate',), ('', 'x', 5, [], {})), 'id': Field(('a', 'i' * 256, EMOJI.replace('\0', '')), ('', 'i' * 300, 5, [], {}, 'a\0b')),
          'credit': whole((0, 1, 16, 2**31 - 1), 0, 2**31 - 1)}
CONTROLS = {'credit': {'tokens': whole((1, 1000, 2**31 - 1), 1, 2**31 - 1)}, 'rate': {'max_tokens_per_second': real((0, 200), 0, 1e6)},
            'pause': {}, 'resume': {}, 'cancel': {}}

# Known and not honoured: 400 `unsupported_parameter`, but for values that ask for nothing.
GUIDED = {'guided_whitespace_pattern': ' '}
REFUSED = {
    COMPLETIONS: {**GUIDED, 'logits_processors': ['a.b'], 'detokenize': False,
                  'prompt_embeds': 'a', 'n_probs': 5, 'n_keep': 4, 'n_discard': 4, 'id_slot': 1, 'store': True, 'suffix': 'a'},
    CHAT: {**GUIDED, 'store': True, 'prompt_logprobs': 1, 'truncate_prompt_tokens': 5, 'modalities': ['audio'], 'audio': {}},
    LLAMA: {'n': 2, 'guided_whitespace_pattern': ' '},
    RESPONSES: {'conversation': 'c', 'truncate_prompt_tokens': 5, 'return_token_ids': True, 'background': True, 'prompt': {'id': 'a'}},
    MESSAGES_OF_ANTHROPIC: {**GUIDED, 'container': 'c', 'mcp_servers': [{}], 'service_tier': 'flex', 'speed': 'fast',
                            'prompt_logprobs': 1, 'logprobs': True, 'truncate_prompt_tokens': 5, 'return_token_ids': True},
    OLLAMA_GENERATE: {'suffix': 'a', 'template': 'a'},
    GENERATE: {'want_logits': True, 'raw_bytes': True, **GUIDED},
}
JUNK = (None, True, -1, 0, 1.5, 1e308, '', 'x', EMOJI, [], {}, [None], [[]], {'a': {}}, 2**64, 'y' * 5000, [1] * 500)


# ---- random requests -------------------------------------------------------------------------------------------------

def some_value(rng, field):
    draw = rng.random()
    if field.good and (draw < 0.95 or not field.bad):
        return copy.deepcopy(rng.choice(field.good))
    return copy.deepcopy(rng.choice(field.bad if draw < 0.985 else JUNK))


def some_body(rng, path):
    """A request to this path: any of its fields, nearly always with values that are answered."""
    least, fields = ROUTES[path]
    body = copy.deepcopy(least)
    for name in rng.sample(sorted(fields), min(len(fields), rng.choice((0, 1, 2, 3, 5, 8, 12)))):
        body[name] = some_value(rng, fields[name])
        if rng.random() < 0.8:
            body.update(copy.deepcopy(fields[name].needs))
    if 'prompt' in fields and 'messages' in body and rng.random() < 0.9:
        body.pop('prompt' if rng.random() < 0.5 else 'messages', None)      # one excludes the other
    if rng.random() < 0.03 and path in REFUSED:
        body.update([rng.choice(sorted(REFUSED[path].items()))])
    return body


def some_path(rng):
    often = {CHAT: 3, COMPLETIONS: 3, GENERATE: 3, RESPONSES: 2, MESSAGES_OF_ANTHROPIC: 2, LLAMA: 2, OLLAMA_CHAT: 2}
    return rng.choices(list(ROUTES), [often.get(path, 1) for path in ROUTES])[0]


def some_control(rng, name):
    kind = rng.choice(sorted(CONTROLS))
    message = {'type': kind, 'id': name, **{k: some_value(rng, f) for k, f in CONTROLS[kind].items() if rng.random() < 0.9}}
    if rng.random() < 0.05:
        message[rng.choice(('type', 'id'))] = rng.choice(JUNK)
    return message
