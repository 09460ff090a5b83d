# runnel.bash - completion for bash; tools/make_completions.py makes it of the help pages.

_runnel_models() { # as `runnel list` has them; without the program, the files of the cache's folder
    local names folder=${RUNNEL_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/runnel/models} file
    names=$("${COMP_WORDS[0]}" list 2>/dev/null | sed -n '2,$s/ .*//p')
    [[ ! $names ]] || { echo "$names" && return; }
    for file in "$folder"/*.gguf; do
        [[ ! -e $file ]] || basename "$file" .gguf
    done
}

_runnel() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local options='' words='' files='' models=''
    if [[ $word == = ]]; then # --name=value comes as three words
        word=''
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    local line=${COMP_LINE:0:${COMP_POINT:-0}}
    local typed=${line##* }
    if [[ $typed == *:* ]]; then # bash cuts names such as hf:ORG/REPO at the colon
        line=${line% *}
        before=${line##* }
    fi
    ((COMP_CWORD > 1)) || command=''
    case $command:$before in
    run:-p | run:--prompt | run:--ids | run:--video-fps | run:--video-frames | run:--system | run:-c | run:--ctx | run:-t | run:--threads | run:--temp | run:--top-k | run:--top-p | run:--min-p | run:--min-keep | run:--repeat-penalty | run:--frequency-penalty | run:--presence-penalty | run:--penalty-last-n | run:--dry-multiplier | run:--dry-base | run:--dry-allowed-length | run:--dry-penalty-last-n | run:--xtc-probability | run:--xtc-threshold | run:--typical-p | run:--top-n-sigma | run:--dynatemp-range | run:--dynatemp-exponent | run:--mirostat | run:--mirostat-tau | run:--mirostat-eta | run:--min-tokens | run:--no-repeat-ngram-size | run:--epsilon-cutoff | run:--eta-cutoff | run:--top-a | run:--top-h | run:--tfs-z | run:--adaptive-target | run:--adaptive-decay | run:--encoder-repetition-penalty | run:--exponential-decay-start | run:--exponential-decay-factor | run:--samplers | run:--dry-sequence-breaker | run:--ban-token | run:--logit-bias | run:--sequence-bias | run:--guidance-scale | run:--negative-prompt | run:--banned-string | run:--seed | run:--num-beams | run:--num-beam-groups | run:--diversity-penalty | run:--length-penalty | run:--num-return-sequences | run:--penalty-alpha | run:--num-candidates | run:--amateur-model | run:--amateur-weight | run:--amateur-temperature | run:--relative-top | run:--dola-layers | run:--simulations | run:--tree-width | run:--c-puct | run:--value | run:--best-of | run:--majority | run:-n | run:--max-tokens | run:--stop | run:--stop-token | run:--draft-max | run:--draft-min | run:--draft-min-p | run:--logprobs | run:--sampled-logprobs | run:--regex | run:--choice | run:--stream-interval | run:--top-probs) : ;;
    run:-f | run:--file | run:--image | run:--video | run:--lora | run:--mmproj | run:--watermark | run:--ngram-cache | run:--prediction | run:--json-schema | run:--grammar | run:--structural-tag) files=1 ;;
    run:--chat-template) words='chatml llama-2 llama-3 llama-4 mistral gemma phi-3 phi-4 zephyr vicuna alpaca deepseek command-r granite' files=1 ;;
    run:--output-format) words='none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm' ;;
    run:-m | run:--model | run:--amateur | run:--draft) files=1 models=1 ;;
    run:--kv-type) words='f16 f32 q8 bf16' ;;
    run:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    run:--load) words='map read lock' ;;
    run:--preset) words='greedy focused balanced creative wild code chat story summary' ;;
    run:--penalty-prompt) words='on off' ;;
    run:--sampler-order) words='llama.cpp transformers exllamav2' ;;
    run:--strategy) words='sample beam best-of contrastive contrastive-decoding dola tree' ;;
    run:--early-stopping) words='false true never' ;;
    run:--do-sample | run:--renormalize-logits) words='false true' ;;
    run:--speculate) words='none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS' ;;
    run:--spec-verify) words='match reject typical' ;;
    run:--json-space) words='dumps compact free' ;;
    infill:--prefix | infill:--suffix | infill:--context | infill:--lora | infill:--watermark | infill:--ngram-cache | infill:--json-schema | infill:--grammar | infill:--structural-tag) files=1 ;;
    infill:--marker | infill:--at | infill:--middle | infill:--repo-name | infill:-c | infill:--ctx | infill:-t | infill:--threads | infill:--temp | infill:--top-k | infill:--top-p | infill:--min-p | infill:--min-keep | infill:--repeat-penalty | infill:--frequency-penalty | infill:--presence-penalty | infill:--penalty-last-n | infill:--dry-multiplier | infill:--dry-base | infill:--dry-allowed-length | infill:--dry-penalty-last-n | infill:--xtc-probability | infill:--xtc-threshold | infill:--typical-p | infill:--top-n-sigma | infill:--dynatemp-range | infill:--dynatemp-exponent | infill:--mirostat | infill:--mirostat-tau | infill:--mirostat-eta | infill:--min-tokens | infill:--no-repeat-ngram-size | infill:--epsilon-cutoff | infill:--eta-cutoff | infill:--top-a | infill:--top-h | infill:--tfs-z | infill:--adaptive-target | infill:--adaptive-decay | infill:--encoder-repetition-penalty | infill:--exponential-decay-start | infill:--exponential-decay-factor | infill:--samplers | infill:--dry-sequence-breaker | infill:--ban-token | infill:--logit-bias | infill:--sequence-bias | infill:--guidance-scale | infill:--negative-prompt | infill:--banned-string | infill:--seed | infill:--num-beams | infill:--num-beam-groups | infill:--diversity-penalty | infill:--length-penalty | infill:--num-return-sequences | infill:--penalty-alpha | infill:--num-candidates | infill:--amateur-model | infill:--amateur-weight | infill:--amateur-temperature | infill:--relative-top | infill:--dola-layers | infill:--simulations | infill:--tree-width | infill:--c-puct | infill:--value | infill:--best-of | infill:--majority | infill:-n | infill:--max-tokens | infill:--stop | infill:--stop-token | infill:--draft-max | infill:--draft-min | infill:--draft-min-p | infill:--logprobs | infill:--sampled-logprobs | infill:--regex | infill:--choice | infill:--stream-interval | infill:--top-probs) : ;;
    infill:--infill-order) words='published psm spm' ;;
    infill:--file-name) words='FILE if' ;;
    infill:-m | infill:--model | infill:--amateur | infill:--draft) files=1 models=1 ;;
    infill:--kv-type) words='f16 f32 q8 bf16' ;;
    infill:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    infill:--load) words='map read lock' ;;
    infill:--preset) words='greedy focused balanced creative wild code chat story summary' ;;
    infill:--penalty-prompt) words='on off' ;;
    infill:--sampler-order) words='llama.cpp transformers exllamav2' ;;
    infill:--strategy) words='sample beam best-of contrastive contrastive-decoding dola tree' ;;
    infill:--early-stopping) words='false true never' ;;
    infill:--do-sample | infill:--renormalize-logits) words='false true' ;;
    infill:--speculate) words='none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS' ;;
    infill:--spec-verify) words='match reject typical' ;;
    infill:--json-space) words='dumps compact free' ;;
    chat:--system | chat:--beams | chat:--resume | chat:-c | chat:--ctx | chat:-t | chat:--threads | chat:--temp | chat:--top-k | chat:--top-p | chat:--min-p | chat:--min-keep | chat:--repeat-penalty | chat:--frequency-penalty | chat:--presence-penalty | chat:--penalty-last-n | chat:--dry-multiplier | chat:--dry-base | chat:--dry-allowed-length | chat:--dry-penalty-last-n | chat:--xtc-probability | chat:--xtc-threshold | chat:--typical-p | chat:--top-n-sigma | chat:--dynatemp-range | chat:--dynatemp-exponent | chat:--mirostat | chat:--mirostat-tau | chat:--mirostat-eta | chat:--min-tokens | chat:--no-repeat-ngram-size | chat:--epsilon-cutoff | chat:--eta-cutoff | chat:--top-a | chat:--top-h | chat:--tfs-z | chat:--adaptive-target | chat:--adaptive-decay | chat:--encoder-repetition-penalty | chat:--exponential-decay-start | chat:--exponential-decay-factor | chat:--samplers | chat:--dry-sequence-breaker | chat:--ban-token | chat:--logit-bias | chat:--sequence-bias | chat:--guidance-scale | chat:--negative-prompt | chat:--banned-string | chat:--seed | chat:--num-beams | chat:--num-beam-groups | chat:--diversity-penalty | chat:--length-penalty | chat:--num-return-sequences | chat:--penalty-alpha | chat:--num-candidates | chat:--amateur-model | chat:--amateur-weight | chat:--amateur-temperature | chat:--relative-top | chat:--dola-layers | chat:--simulations | chat:--tree-width | chat:--c-puct | chat:--value | chat:--best-of | chat:--majority | chat:-n | chat:--max-tokens | chat:--stop | chat:--stop-token | chat:--draft-max | chat:--draft-min | chat:--draft-min-p | chat:--regex | chat:--choice) : ;;
    chat:--chat-template) words='chatml llama-2 llama-3 llama-4 mistral gemma phi-3 phi-4 zephyr vicuna alpaca deepseek command-r granite' files=1 ;;
    chat:--output-format) words='none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm' ;;
    chat:--reasoning) words='show hide' ;;
    chat:--truncate) words='none old middle' ;;
    chat:-m | chat:--model | chat:--amateur | chat:--value-model | chat:--draft) files=1 models=1 ;;
    chat:--kv-type) words='f16 f32 q8 bf16' ;;
    chat:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    chat:--load) words='map read lock' ;;
    chat:--lora | chat:--mmproj | chat:--watermark | chat:--ngram-cache | chat:--json-schema | chat:--grammar | chat:--structural-tag) files=1 ;;
    chat:--preset) words='greedy focused balanced creative wild code chat story summary' ;;
    chat:--penalty-prompt) words='on off' ;;
    chat:--sampler-order) words='llama.cpp transformers exllamav2' ;;
    chat:--strategy) words='sample beam best-of contrastive contrastive-decoding dola tree' ;;
    chat:--early-stopping) words='false true never' ;;
    chat:--do-sample | chat:--renormalize-logits) words='false true' ;;
    chat:--early-layers) words='low high' ;;
    chat:--speculate) words='none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS' ;;
    chat:--spec-verify) words='match reject typical' ;;
    chat:--json-space) words='dumps compact free' ;;
    chats:--show) : ;;
    chats:--delete) words='all' ;;
    compare:-m | compare:--model | compare:--amateur) files=1 models=1 ;;
    compare:-s | compare:--settings) words='greedy focused balanced creative wild beam best-of contrastive contrastive-decoding dola tree' ;;
    compare:-p | compare:--prompt | compare:--ids | compare:--system | compare:-n | compare:--max-tokens | compare:--stop | compare:--stop-token | compare:--temp | compare:--top-k | compare:--top-p | compare:--min-p | compare:--min-keep | compare:--repeat-penalty | compare:--frequency-penalty | compare:--presence-penalty | compare:--penalty-last-n | compare:--dry-multiplier | compare:--dry-base | compare:--dry-allowed-length | compare:--dry-penalty-last-n | compare:--xtc-probability | compare:--xtc-threshold | compare:--typical-p | compare:--top-n-sigma | compare:--dynatemp-range | compare:--dynatemp-exponent | compare:--mirostat | compare:--mirostat-tau | compare:--mirostat-eta | compare:--min-tokens | compare:--no-repeat-ngram-size | compare:--epsilon-cutoff | compare:--eta-cutoff | compare:--top-a | compare:--top-h | compare:--tfs-z | compare:--adaptive-target | compare:--adaptive-decay | compare:--encoder-repetition-penalty | compare:--exponential-decay-start | compare:--exponential-decay-factor | compare:--samplers | compare:--dry-sequence-breaker | compare:--ban-token | compare:--logit-bias | compare:--sequence-bias | compare:--guidance-scale | compare:--negative-prompt | compare:--banned-string | compare:--seed | compare:-c | compare:--ctx | compare:-t | compare:--threads) : ;;
    compare:-f | compare:--file | compare:--html | compare:--watermark) files=1 ;;
    compare:--chat-template) words='chatml llama-2 llama-3 llama-4 mistral gemma phi-3 phi-4 zephyr vicuna alpaca deepseek command-r granite' files=1 ;;
    compare:--output-format) words='none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm' ;;
    compare:--preset) words='greedy focused balanced creative wild code chat story summary' ;;
    compare:--penalty-prompt) words='on off' ;;
    compare:--sampler-order) words='llama.cpp transformers exllamav2' ;;
    compare:--kv-type) words='f16 f32 q8 bf16' ;;
    compare:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    compare:--load) words='map read lock' ;;
    serve:-m | serve:--model | serve:--alias | serve:--draft | serve:--amateur | serve:--value-model) files=1 models=1 ;;
    serve:-c | serve:--ctx | serve:-t | serve:--threads | serve:--streams | serve:--queue | serve:--queue-tokens | serve:--queue-seconds | serve:--workers | serve:--work-memory | serve:--beams | serve:--target-itl-ms | serve:--memory | serve:--key-tokens-per-minute | serve:--allow-media-domain | serve:--host | serve:--port | serve:--mcp | serve:--drain-seconds | serve:--api-key | serve:--allow-host | serve:--trusted-proxy | serve:--cors | serve:--max-connections | serve:--max-connections-per-address | serve:--max-line | serve:--max-header-block | serve:--max-headers | serve:--max-header | serve:--max-body | serve:--max-bodies | serve:--header-seconds | serve:--body-seconds | serve:--idle-seconds | serve:--write-seconds | serve:--ping-seconds | serve:--resume-grace-seconds | serve:--resume-seconds | serve:--resume-mib | serve:--responses-mib | serve:--outputs-mib) : ;;
    serve:--watermark | serve:--lora | serve:--mmproj | serve:--ngram-cache | serve:--tls-cert | serve:--tls-key | serve:--api-key-file | serve:--access-log) files=1 ;;
    serve:--draft-heads) words='mtp medusa=FILE eagle=FILE layer-skip=LAYERS' ;;
    serve:--kv-type) words='f16 f32 q8 bf16' ;;
    serve:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    serve:--load) words='map read lock' ;;
    serve:--early-layers) words='low high' ;;
    serve:--chat-template) words='chatml llama-2 llama-3 llama-4 mistral gemma phi-3 phi-4 zephyr vicuna alpaca deepseek command-r granite' files=1 ;;
    serve:--output-format) words='none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm' ;;
    batch:-m | batch:--model | batch:--amateur | batch:--value-model | batch:--draft) files=1 models=1 ;;
    batch:-c | batch:--ctx | batch:-t | batch:--threads | batch:--parallel | batch:--outputs-mib | batch:--temp | batch:--top-k | batch:--top-p | batch:--min-p | batch:--min-keep | batch:--repeat-penalty | batch:--frequency-penalty | batch:--presence-penalty | batch:--penalty-last-n | batch:--dry-multiplier | batch:--dry-base | batch:--dry-allowed-length | batch:--dry-penalty-last-n | batch:--xtc-probability | batch:--xtc-threshold | batch:--typical-p | batch:--top-n-sigma | batch:--dynatemp-range | batch:--dynatemp-exponent | batch:--mirostat | batch:--mirostat-tau | batch:--mirostat-eta | batch:--min-tokens | batch:--no-repeat-ngram-size | batch:--epsilon-cutoff | batch:--eta-cutoff | batch:--top-a | batch:--top-h | batch:--tfs-z | batch:--adaptive-target | batch:--adaptive-decay | batch:--encoder-repetition-penalty | batch:--exponential-decay-start | batch:--exponential-decay-factor | batch:--samplers | batch:--dry-sequence-breaker | batch:--ban-token | batch:--logit-bias | batch:--sequence-bias | batch:--guidance-scale | batch:--negative-prompt | batch:--banned-string | batch:--seed | batch:--num-beams | batch:--num-beam-groups | batch:--diversity-penalty | batch:--length-penalty | batch:--num-return-sequences | batch:--penalty-alpha | batch:--num-candidates | batch:--amateur-model | batch:--amateur-weight | batch:--amateur-temperature | batch:--relative-top | batch:--dola-layers | batch:--simulations | batch:--tree-width | batch:--c-puct | batch:--value | batch:--best-of | batch:--majority | batch:-n | batch:--max-tokens | batch:--stop | batch:--stop-token | batch:--draft-max | batch:--draft-min | batch:--draft-min-p | batch:--logprobs | batch:--sampled-logprobs) : ;;
    batch:--kv-type) words='f16 f32 q8 bf16' ;;
    batch:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    batch:--load) words='map read lock' ;;
    batch:--lora | batch:--watermark | batch:--ngram-cache) files=1 ;;
    batch:--chat-template) words='chatml llama-2 llama-3 llama-4 mistral gemma phi-3 phi-4 zephyr vicuna alpaca deepseek command-r granite' files=1 ;;
    batch:--output-format) words='none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm' ;;
    batch:--preset) words='greedy focused balanced creative wild code chat story summary' ;;
    batch:--penalty-prompt) words='on off' ;;
    batch:--sampler-order) words='llama.cpp transformers exllamav2' ;;
    batch:--strategy) words='sample beam best-of contrastive contrastive-decoding dola tree' ;;
    batch:--early-stopping) words='false true never' ;;
    batch:--do-sample | batch:--renormalize-logits) words='false true' ;;
    batch:--early-layers) words='low high' ;;
    batch:--speculate) words='none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS' ;;
    batch:--spec-verify) words='match reject typical' ;;
    score:-p | score:--prompt | score:--ids | score:--kl | score:--video-fps | score:--video-frames | score:-c | score:--ctx | score:-t | score:--threads) : ;;
    score:-f | score:--text-file | score:--logits | score:--html | score:--image | score:--video | score:--lora | score:--mmproj) files=1 ;;
    score:-m | score:--model) files=1 models=1 ;;
    score:--kv-type) words='f16 f32 q8 bf16' ;;
    score:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    score:--load) words='map read lock' ;;
    embed:-m | embed:--model) files=1 models=1 ;;
    embed:-c | embed:--ctx | embed:-t | embed:--threads | embed:--query | embed:--prompt-name | embed:--dimensions | embed:--parallel) : ;;
    embed:--kv-type) words='f16 f32 q8 bf16' ;;
    embed:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    embed:--load) words='map read lock' ;;
    embed:--lora | embed:--mmproj | embed:-f | embed:--file | embed:--image | embed:--npy) files=1 ;;
    embed:--pooling) words='model none mean first last rank' ;;
    embed:--encoding) words='float base64' ;;
    embed:--stage) words='decoded pixels features projected' ;;
    tokenize:-m | tokenize:--model) files=1 models=1 ;;
    tokenize:-f | tokenize:--file) files=1 ;;
    detokenize:-m | detokenize:--model) files=1 models=1 ;;
    watermark:--watermark) files=1 ;;
    watermark:--ids | watermark:--p-value) : ;;
    watermark:-m | watermark:--model) files=1 models=1 ;;
    grammar:-m | grammar:--model) files=1 models=1 ;;
    grammar:--check | grammar:--json-schema | grammar:--grammar | grammar:--structural-tag) files=1 ;;
    grammar:--regex | grammar:--choice) : ;;
    grammar:--json-space) words='dumps compact free' ;;
    template:-m | template:--model) files=1 models=1 ;;
    template:--file) files=1 ;;
    template:--builtin) : ;;
    pull:-j | pull:--connections | pull:--timeout) : ;;
    info:-m | info:--model) files=1 models=1 ;;
    info:-c | info:--ctx | info:-t | info:--threads) : ;;
    info:--kv-type) words='f16 f32 q8 bf16' ;;
    info:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    info:--load) words='map read lock' ;;
    info:--lora) files=1 ;;
    bench:-p | bench:--n-prompt | bench:-n | bench:--n-gen | bench:-b | bench:--batch | bench:-d | bench:--depth | bench:-t | bench:--threads | bench:--kv-type | bench:-r | bench:--repeats) : ;;
    bench:--html | bench:--vs | bench:--trace | bench:--lora) files=1 ;;
    bench:-m | bench:--model) files=1 models=1 ;;
    bench:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    bench:--load) words='map read lock' ;;
    convert:--type | convert:--keep | convert:-t | convert:--threads) : ;;
    convert:--imatrix) files=1 ;;
    convert:-m | convert:--model) files=1 models=1 ;;
    merge:--lora | merge:--imatrix) files=1 ;;
    merge:--type | merge:--keep | merge:-t | merge:--threads) : ;;
    quantize:--imatrix) files=1 ;;
    quantize:--keep | quantize:-t | quantize:--threads) : ;;
    imatrix:-f | imatrix:--file | imatrix:-o | imatrix:--out | imatrix:--lora) files=1 ;;
    imatrix:--chunk | imatrix:-c | imatrix:--ctx | imatrix:-t | imatrix:--threads) : ;;
    imatrix:-m | imatrix:--model) files=1 models=1 ;;
    imatrix:--kv-type) words='f16 f32 q8 bf16' ;;
    imatrix:--cpu) words='ref avx2 avx512 avx512vnni amx neon neondot neoni8mm' ;;
    imatrix:--load) words='map read lock' ;;
    *)
        case $command in
        run) options='-p --prompt -f --file --ids --image --video --video-fps --video-frames --chat --system --show-reasoning --chat-template --output-format -m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora --mmproj --preset --temp --top-k --top-p --min-p --min-keep --repeat-penalty --frequency-penalty --presence-penalty --penalty-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --xtc-probability --xtc-threshold --typical-p --top-n-sigma --dynatemp-range --dynatemp-exponent --mirostat --mirostat-tau --mirostat-eta --min-tokens --no-repeat-ngram-size --epsilon-cutoff --eta-cutoff --top-a --top-h --tfs-z --adaptive-target --adaptive-decay --encoder-repetition-penalty --exponential-decay-start --exponential-decay-factor --samplers --dry-sequence-breaker --ban-token --penalty-prompt --sampler-order --logit-bias --sequence-bias --guidance-scale --negative-prompt --banned-string --banned-match-case --watermark --seed --strategy --num-beams --num-beam-groups --diversity-penalty --length-penalty --early-stopping --do-sample --renormalize-logits --num-return-sequences --penalty-alpha --num-candidates --amateur-model --amateur-weight --amateur-temperature --relative-top --dola-layers --simulations --tree-width --c-puct --value --best-of --majority --amateur -n --max-tokens --stop --stop-token --ignore-eos --draft --ngram-cache --speculate --no-speculate --draft-max --draft-min --draft-min-p --spec-verify --prediction --special --parse-special --token-healing --no-forced-tokens --echo --logprobs --sampled-logprobs --json-schema --json-mode --regex --grammar --structural-tag --choice --json-space --stream-interval --show-probs --top-probs --json --no-newline -h --help --version' ;;
        infill) options='--prefix --suffix --marker --at --middle --infill-order --context --repo-name --file-name -m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora --preset --temp --top-k --top-p --min-p --min-keep --repeat-penalty --frequency-penalty --presence-penalty --penalty-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --xtc-probability --xtc-threshold --typical-p --top-n-sigma --dynatemp-range --dynatemp-exponent --mirostat --mirostat-tau --mirostat-eta --min-tokens --no-repeat-ngram-size --epsilon-cutoff --eta-cutoff --top-a --top-h --tfs-z --adaptive-target --adaptive-decay --encoder-repetition-penalty --exponential-decay-start --exponential-decay-factor --samplers --dry-sequence-breaker --ban-token --penalty-prompt --sampler-order --logit-bias --sequence-bias --guidance-scale --negative-prompt --banned-string --banned-match-case --watermark --seed --strategy --num-beams --num-beam-groups --diversity-penalty --length-penalty --early-stopping --do-sample --renormalize-logits --num-return-sequences --penalty-alpha --num-candidates --amateur-model --amateur-weight --amateur-temperature --relative-top --dola-layers --simulations --tree-width --c-puct --value --best-of --majority --amateur -n --max-tokens --stop --stop-token --ignore-eos --draft --ngram-cache --speculate --no-speculate --draft-max --draft-min --draft-min-p --spec-verify --special --parse-special --token-healing --no-forced-tokens --echo --logprobs --sampled-logprobs --json-schema --json-mode --regex --grammar --structural-tag --choice --json-space --stream-interval --show-probs --top-probs --json --show-prompt -h --help --version' files=1 ;;
        chat) options='--system --chat-template --output-format --beams --reasoning --plain --truncate --each-line --continue --resume --no-history -m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora --mmproj --preset --temp --top-k --top-p --min-p --min-keep --repeat-penalty --frequency-penalty --presence-penalty --penalty-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --xtc-probability --xtc-threshold --typical-p --top-n-sigma --dynatemp-range --dynatemp-exponent --mirostat --mirostat-tau --mirostat-eta --min-tokens --no-repeat-ngram-size --epsilon-cutoff --eta-cutoff --top-a --top-h --tfs-z --adaptive-target --adaptive-decay --encoder-repetition-penalty --exponential-decay-start --exponential-decay-factor --samplers --dry-sequence-breaker --ban-token --penalty-prompt --sampler-order --logit-bias --sequence-bias --guidance-scale --negative-prompt --banned-string --banned-match-case --watermark --seed --strategy --num-beams --num-beam-groups --diversity-penalty --length-penalty --early-stopping --do-sample --renormalize-logits --num-return-sequences --penalty-alpha --num-candidates --amateur-model --amateur-weight --amateur-temperature --relative-top --dola-layers --simulations --tree-width --c-puct --value --best-of --majority --amateur --value-model --early-layers -n --max-tokens --stop --stop-token --ignore-eos --draft --ngram-cache --speculate --no-speculate --draft-max --draft-min --draft-min-p --spec-verify --json-schema --json-mode --regex --grammar --structural-tag --choice --json-space -h --help --version' files=1 models=1 ;;
        chats) options='--show --delete --json -h --help --version' ;;
        compare) options='-m --model -s --settings -p --prompt -f --file --ids --chat --system --chat-template --output-format --json --html -n --max-tokens --stop --stop-token --ignore-eos --preset --temp --top-k --top-p --min-p --min-keep --repeat-penalty --frequency-penalty --presence-penalty --penalty-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --xtc-probability --xtc-threshold --typical-p --top-n-sigma --dynatemp-range --dynatemp-exponent --mirostat --mirostat-tau --mirostat-eta --min-tokens --no-repeat-ngram-size --epsilon-cutoff --eta-cutoff --top-a --top-h --tfs-z --adaptive-target --adaptive-decay --encoder-repetition-penalty --exponential-decay-start --exponential-decay-factor --samplers --dry-sequence-breaker --ban-token --penalty-prompt --sampler-order --logit-bias --sequence-bias --guidance-scale --negative-prompt --banned-string --banned-match-case --watermark --seed --amateur --special --parse-special --token-healing -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose -h --help --version' ;;
        serve) options='-m --model --alias -c --ctx -t --threads --streams --queue --queue-tokens --queue-seconds --workers --work-memory --beams --target-itl-ms --memory --key-tokens-per-minute --watermark --no-vision --allow-media-domain --share-prefixes --no-speculate --draft-heads --kv-type --cpu --load --no-repack -v --verbose --lora --mmproj --draft --ngram-cache --amateur --value-model --early-layers --chat-template --output-format --host --port --no-page --mcp --drain-seconds --tls-cert --tls-key --api-key --api-key-file --no-auth --allow-host --trusted-proxy --cors --access-log --max-connections --max-connections-per-address --max-line --max-header-block --max-headers --max-header --max-body --max-bodies --header-seconds --body-seconds --idle-seconds --write-seconds --ping-seconds --resume-grace-seconds --resume-seconds --resume-mib --responses-mib --outputs-mib -h --help --version' ;;
        batch) options='-m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora --parallel --in-order --token-times --outputs-mib --chat-template --output-format --preset --temp --top-k --top-p --min-p --min-keep --repeat-penalty --frequency-penalty --presence-penalty --penalty-last-n --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --xtc-probability --xtc-threshold --typical-p --top-n-sigma --dynatemp-range --dynatemp-exponent --mirostat --mirostat-tau --mirostat-eta --min-tokens --no-repeat-ngram-size --epsilon-cutoff --eta-cutoff --top-a --top-h --tfs-z --adaptive-target --adaptive-decay --encoder-repetition-penalty --exponential-decay-start --exponential-decay-factor --samplers --dry-sequence-breaker --ban-token --penalty-prompt --sampler-order --logit-bias --sequence-bias --guidance-scale --negative-prompt --banned-string --banned-match-case --watermark --seed --strategy --num-beams --num-beam-groups --diversity-penalty --length-penalty --early-stopping --do-sample --renormalize-logits --num-return-sequences --penalty-alpha --num-candidates --amateur-model --amateur-weight --amateur-temperature --relative-top --dola-layers --simulations --tree-width --c-puct --value --best-of --majority --amateur --value-model --early-layers -n --max-tokens --stop --stop-token --ignore-eos --draft --ngram-cache --speculate --no-speculate --draft-max --draft-min --draft-min-p --spec-verify --special --parse-special --token-healing --no-forced-tokens --echo --logprobs --sampled-logprobs -h --help --version' files=1 ;;
        score) options='-p --prompt --ids -f --text-file --parse-special --logits --kl --html --json --image --video --video-fps --video-frames -m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora --mmproj -h --help --version' ;;
        embed) options='-m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora --mmproj -f --file --pooling --query --prompt-name --dimensions --no-normalize --encoding --json --parallel --image --stage --npy -h --help --version' ;;
        tokenize) options='-m --model -f --file --add-special --parse-special --json -h --help --version' ;;
        detokenize) options='-m --model --special -h --help --version' ;;
        watermark) options='--watermark --ids --p-value --json -m --model -h --help --version' ;;
        grammar) options='-m --model --check --cases --parse-special --json-schema --json-mode --regex --grammar --structural-tag --choice --json-space -h --help --version' ;;
        template) options='-m --model --file --builtin --segments -h --help --version' ;;
        pull) options='-j --connections --timeout --dry-run -h --help --version' ;;
        list) options='--json -h --help --version' ;;
        show) options='--json -h --help --version' files=1 models=1 ;;
        rm) options='-h --help --version' files=1 models=1 ;;
        config) options='-h --help --version' files=1 models=1 ;;
        info) options='-m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora --json -h --help --version' files=1 models=1 ;;
        bench) options='-p --n-prompt -n --n-gen -b --batch -d --depth -t --threads --kv-type -r --repeats --no-limits --json --html --vs --fail-on-regression --profile --trace -m --model --cpu --load --no-repack -v --verbose --lora -h --help --version' ;;
        convert) options='--type --imatrix --keep --allow-requantize -t --threads --json --lora -m --model --draft-heads -h --help --version' files=1 ;;
        merge) options='--lora --type --imatrix --keep --allow-requantize -t --threads --json -h --help --version' files=1 models=1 ;;
        quantize) options='--imatrix --keep --allow-requantize -t --threads --json -h --help --version' words='F32 F16 BF16 Q8_0 Q6_K Q5_K_M Q5_K_S Q5_K Q5_1 Q5_0 Q4_K_M Q4_K_S Q4_K IQ4_NL IQ4_XS Q4_1 Q4_0 IQ3_M IQ3_S IQ3_XS Q3_K_L Q3_K_M Q3_K_S Q3_K Q2_K Q2_K_S IQ2_M IQ2_S IQ2_XS IQ1_M IQ1_S TQ2_0 TQ1_0 Q2_0 Q1_0' files=1 ;;
        imatrix) options='-f --file -o --out --chunk -m --model -c --ctx -t --threads --kv-type --cpu --load --no-repack -v --verbose --lora -h --help --version' ;;
        help) words='run infill chat chats compare serve batch score embed tokenize detokenize watermark grammar template pull list show rm config info bench convert merge quantize imatrix' ;;
        version) : ;;
        '') words='run infill chat chats compare serve batch score embed tokenize detokenize watermark grammar template pull list show rm config info bench convert merge quantize imatrix help version --help --version' ;;
        esac
        ;;
    esac
    [[ $word != -* || ! $options ]] || words=$options files='' models=''
    [[ ! $models ]] || words+=" $(_runnel_models)"
    if [[ $models && $typed == *:* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$typed")
        COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*:}"}"}")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [[ $files ]]; then
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _runnel runnel
