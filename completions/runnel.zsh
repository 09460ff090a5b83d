#compdef runnel
# _runnel - completion for zsh; tools/make_completions.py makes it of the help pages.

_runnel_models() {
  local -a names=( ${RUNNEL_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/runnel/models}/*.gguf(N:t:r) )
  _alternative 'models:fetched model:compadd -a names' 'files:file:_files'
}

_runnel() {
  local -a commands=(
    'run:continue a prompt'
    'chat:talk with a model at a terminal, or from a pipe'
    'serve:answer many clients at once over HTTP'
    'batch:many requests from a file of JSON lines, through one engine'
    'score:how probable a text is, token by token'
    'embed:texts as vectors, or a reranker'\''s scores'
    'tokenize:text to token ids'
    'detokenize:token ids to text'
    'template:a conversation as its chat template writes it'
    'info:what a model file holds and how this machine would run it'
    'bench:measure prompt and generation speed'
    'convert:a GGUF file out of a Hugging Face folder'
    'quantize:a GGUF file with fewer bits for each weight'
    'imatrix:measure which weights matter, for quantize'
    'help:this page, or the page of a command'
    'version:the program'\''s version'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
  run)
    _arguments -s -S \
      '(-p --prompt)-p+[the prompt, like PROMPT]:TEXT: ' \
      '(-p --prompt)--prompt=[the prompt, like PROMPT]:TEXT: ' \
      '(-f --file)-f+[the prompt is the file'\''s text without its last line break]:FILE:_files' \
      '(-f --file)--file=[the prompt is the file'\''s text without its last line break]:FILE:_files' \
      '--ids=[the prompt is these token ids, taken as they are\: 1,2,3]:LIST: ' \
      '--chat[the prompt is what the user says, and the answer one turn of a conversation]' \
      '--system=[a system message before it]:TEXT: ' \
      '--show-reasoning[reasoning goes to stderr also when that is no terminal]' \
      '--chat-template=[a Jinja file, or a built-in template by name, in place of the model'\''s]:FILE|NAME:(FILE NAME)' \
      '--output-format=[how reasoning and tool calls are written]:NAME: ' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '--preset=[settings that go together, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens that together reach this probability]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely one]:X: ' \
      '--min-keep=[tokens that top-k, top-p and min-p leave at least]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[tokens that penalties look back]:N: ' \
      '--penalty-prompt=[whether penalties look at the prompt too]:on|off:(on off)' \
      '--sampler-order=[truncate first and take temperature last, or temperature first]:llama.cpp|transformers:(llama.cpp transformers)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '--seed=[seed of the random numbers]:N: ' \
      '(-n --max-tokens)-n+[tokens to generate at most]:N: ' \
      '(-n --max-tokens)--max-tokens=[tokens to generate at most]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[go on past the model'\''s end tokens]' \
      '--special[show control tokens in the text]' \
      '--parse-special[control-token spellings in the prompt become those tokens]' \
      '--echo[the prompt'\''s text comes first]' \
      '--logprobs=[in JSON, each token'\''s log-probability and the K best candidates, 0..20]:K: ' \
      '--stream-interval=[tokens of a chunk, 1..1024]:N: ' \
      '--json[a line of JSON for each chunk]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  chat)
    _arguments -s -S \
      '--system=[a system message before it]:TEXT: ' \
      '--chat-template=[a Jinja file, or a built-in template by name, in place of the model'\''s]:FILE|NAME:(FILE NAME)' \
      '--output-format=[how reasoning and tool calls are written]:NAME: ' \
      '--reasoning=[whether what the model thinks is shown]:show|hide:(show hide)' \
      '--truncate=[when the context is full]:none|old|middle:(none old middle)' \
      '--each-line[from a pipe]' \
      '--no-history[keep no history of what is typed]' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '--preset=[settings that go together, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens that together reach this probability]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely one]:X: ' \
      '--min-keep=[tokens that top-k, top-p and min-p leave at least]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[tokens that penalties look back]:N: ' \
      '--penalty-prompt=[whether penalties look at the prompt too]:on|off:(on off)' \
      '--sampler-order=[truncate first and take temperature last, or temperature first]:llama.cpp|transformers:(llama.cpp transformers)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '--seed=[seed of the random numbers]:N: ' \
      '(-n --max-tokens)-n+[tokens to generate at most]:N: ' \
      '(-n --max-tokens)--max-tokens=[tokens to generate at most]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[go on past the model'\''s end tokens]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  serve)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:[NAME=]MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:[NAME=]MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--streams=[generations that run at once]:N: ' \
      '--queue=[generations that may wait]:N: ' \
      '--queue-tokens=[tokens of prompts that may wait, together]:N: ' \
      '--queue-seconds=[longest wait in the queue, then the answer is 503]:S: ' \
      '--target-itl-ms=[prefill beside running generations is divided so that the time between two tokens stays below this, or below twice the decode-only time]:MS: ' \
      '--memory=[memory limit in MiB for everything]:MIB: ' \
      '--key-tokens-per-minute=[tokens that each API key may spend in a minute, prompts included]:N: ' \
      '--isolate-keys[cached prompts are shared among requests of the same API key only, so that no key can tell what another one has sent]' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '--chat-template=[a Jinja file, or a built-in template by name, in place of the model'\''s]:FILE|NAME:(FILE NAME)' \
      '--output-format=[how reasoning and tool calls are written]:NAME: ' \
      '--host=[address to listen at]:ADDRESS: ' \
      '--port=[port]:N: ' \
      '--no-page[the API alone, without the page at /]' \
      '--drain-seconds=[after SIGTERM, how long running answers may go on]:N: ' \
      '--tls-cert=[certificate chain]:FILE:_files' \
      '--tls-key=[its private key]:FILE:_files' \
      '--api-key=[clients must send this key, of 16 to 256 characters]:KEY: ' \
      '--api-key-file=[keys, one a line]:FILE:_files' \
      '--no-auth[at an address that others reach]' \
      '--allow-host=[the server also goes by this name]:NAME: ' \
      '--cors=[pages of this origin may use the server, * for all]:ORIGIN: ' \
      '--access-log=[a line for each request, without its query, body and key]:FILE:_files' \
      '--max-connections=[connections at once]:N: ' \
      '--max-connections-per-address=[of these, from one address]:N: ' \
      '--max-line=[bytes of a request line]:N: ' \
      '--max-header-block=[bytes of all headers of a request]:N: ' \
      '--max-headers=[headers of a request]:N: ' \
      '--max-header=[bytes of one header]:N: ' \
      '--max-body=[MiB of a request'\''s body]:MIB: ' \
      '--header-seconds=[time for a request'\''s headers]:N: ' \
      '--body-seconds=[time for a body that comes slower than 1 KiB/s]:N: ' \
      '--idle-seconds=[how long a connection may wait for its next request]:N: ' \
      '--write-seconds=[how long a client may read nothing of an answer]:N: ' \
      '--ping-seconds=[seconds of silence after which an event stream gets a comment line]:N: ' \
      '--resume-grace-seconds=[how long a resumable stream goes on without a reader]:N: ' \
      '--resume-seconds=[how long its events are held after its end]:N: ' \
      '--resume-mib=[MiB of events that all resumable streams hold together]:MIB: ' \
      '--responses-mib=[MiB of answers of /v1/responses that later requests may go on from]:MIB: ' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  batch)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '--parallel=[requests that run at once, 1..1024]:N: ' \
      '--in-order[answers in the order of their lines]' \
      '--token-times[timing gets token_ms, each token'\''s time]' \
      '--chat-template=[a Jinja file, or a built-in template by name, in place of the model'\''s]:FILE|NAME:(FILE NAME)' \
      '--output-format=[how reasoning and tool calls are written]:NAME: ' \
      '--preset=[settings that go together, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens that together reach this probability]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely one]:X: ' \
      '--min-keep=[tokens that top-k, top-p and min-p leave at least]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[tokens that penalties look back]:N: ' \
      '--penalty-prompt=[whether penalties look at the prompt too]:on|off:(on off)' \
      '--sampler-order=[truncate first and take temperature last, or temperature first]:llama.cpp|transformers:(llama.cpp transformers)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '--seed=[seed of the random numbers]:N: ' \
      '(-n --max-tokens)-n+[tokens to generate at most]:N: ' \
      '(-n --max-tokens)--max-tokens=[tokens to generate at most]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[go on past the model'\''s end tokens]' \
      '--special[show control tokens in the text]' \
      '--parse-special[control-token spellings in the prompt become those tokens]' \
      '--echo[the prompt'\''s text comes first]' \
      '--logprobs=[in JSON, each token'\''s log-probability and the K best candidates, 0..20]:K: ' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_files'
    ;;
  score)
    _arguments -s -S \
      '--ids=[these token ids, taken as they are\: 1,2,3]:LIST: ' \
      '--text-file=[the file'\''s text, with begin and end tokens as the model says]:FILE:_files' \
      '--logits=[write all logits, float32 \[tokens\]\[vocabulary\]]:OUT.npy:_files' \
      '--kl=[a second model, such as the one that MODEL was quantized from]:REFERENCE: ' \
      '--json[{"nll"\: \[..\], "argmax"\: \[..\], "ppl"\: ..}, with --kl also {"kl"\: {"mean"\: .., "p99"\: .., "top1"\: ..}}]' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  embed)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '(-f --file)-f+[each line of the file is a text]:FILE:_files' \
      '(-f --file)--file=[each line of the file is a text]:FILE:_files' \
      '--pooling=[what of a text'\''s rows counts]:model|none|mean|first|last|rank:(model none mean first last rank)' \
      '--query=[score each text as an answer to this]:TEXT: ' \
      '--no-normalize[leave the length as it is]' \
      '--encoding=[numbers, or base64 of their bytes as float32, little-endian]:float|base64:(float base64)' \
      '--json[{"index"\: .., "n_tokens"\: .., "embedding"\: \[..\]} for each text]' \
      '--parallel=[texts that are evaluated at once, 1..1024]:N: ' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  tokenize)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '--add-special[begin and end tokens as the model says]' \
      '--parse-special[control-token spellings become those tokens]' \
      '--json[{"ids"\: \[..\]}]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  detokenize)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '--special[show control tokens]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  template)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '--file=[the template in a Jinja file]:FILE:_files' \
      '--builtin=[one that comes with the program, by name]:NAME: ' \
      '--segments[a line of JSON for each stretch of the text]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  info)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '--json[one JSON object]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_runnel_models'
    ;;
  bench)
    _arguments -s -S \
      '(-p --n-prompt)-p+[tokens of the prompt]:N,...: ' \
      '(-p --n-prompt)--n-prompt=[tokens of the prompt]:N,...: ' \
      '(-n --n-gen)-n+[tokens generated]:N,...: ' \
      '(-n --n-gen)--n-gen=[tokens generated]:N,...: ' \
      '(-b --batch)-b+[streams that generate side by side, 1..64]:N,...: ' \
      '(-b --batch)--batch=[streams that generate side by side, 1..64]:N,...: ' \
      '(-d --depth)-d+[tokens in each context before either]:N,...: ' \
      '(-d --depth)--depth=[tokens in each context before either]:N,...: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N,...: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N,...: ' \
      '--kv-type=[how keys and values are kept]:TYPE,...: ' \
      '(-r --repeats)-r+[runs of each, 1..100]:N: ' \
      '(-r --repeats)--repeats=[runs of each, 1..100]:N: ' \
      '--no-limits[do not measure what the machine can read and multiply]' \
      '--json[an array with an object for each configuration]' \
      '--vs=[compare with a file that --json wrote]:FILE:_files' \
      '--fail-on-regression[with --vs]' \
      '--profile[one more run of each, and where its time went]' \
      '--trace=[one more run of each as a timeline, in Chrome'\''s trace format]:FILE:_files' \
      '*-m+[a GGUF file, or the name of a fetched model]:MODEL:_runnel_models' \
      '*--model=[a GGUF file, or the name of a fetched model]:MODEL:_runnel_models' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  convert)
    _arguments -s -S \
      '--type=[of the matrices, see below]:TYPE: ' \
      '--imatrix=[what matters more is rounded more finely]:FILE:_files' \
      '*--keep=[matrices whose name matches get this type\: *ffn_down*=Q6_K]:PATTERN=TYPE: ' \
      '--allow-requantize[also matrices that are quantized already]' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--json[a JSON line for each tensor, and one for the file]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_files'
    ;;
  quantize)
    _arguments -s -S \
      '--imatrix=[what matters more is rounded more finely]:FILE:_files' \
      '*--keep=[matrices whose name matches get this type\: *ffn_down*=Q6_K]:PATTERN=TYPE: ' \
      '--allow-requantize[also matrices that are quantized already]' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--json[a JSON line for each tensor, and one for the file]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_files'
    ;;
  imatrix)
    _arguments -s -S \
      '(-f --file)-f+[the text]:FILE:_files' \
      '(-f --file)--file=[the text]:FILE:_files' \
      '(-o --out)-o+[the file to write]:OUT.gguf:_files' \
      '(-o --out)--out=[the file to write]:OUT.gguf:_files' \
      '--chunk=[tokens evaluated as one text]:N: ' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[computing threads, 1..64]:N: ' \
      '(-t --threads)--threads=[computing threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use weights as the file has them]' \
      '(-v --verbose)-v[say on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[say on stderr what was chosen and why]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  help)
    _arguments -s -S \
      '*:argument:(run chat serve batch score embed tokenize detokenize template info bench convert quantize imatrix)'
    ;;
  version)
    _arguments -s -S \
      '*:argument: '
    ;;
  esac
}

_runnel "$@"
