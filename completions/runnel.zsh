#compdef runnel
# _runnel - completion for zsh; tools/make_completions.py makes it of the help pages.

_runnel_models() {
  local -a names=( ${(f)"$(runnel list 2>/dev/null | sed -n '2,$s/ .*//p')"} )
  (( $#names )) || names=( ${RUNNEL_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/runnel/models}/*.gguf(N:t:r) )
  _alternative 'models:fetched model:compadd -a names' 'files:file:_files'
}

_runnel() {
  local -a commands=(
    'run:continue a prompt, streaming the text'
    'infill:write what stands between two texts'
    'chat:chat with a model at a terminal, or from a pipe'
    'chats:list the conversations that chat kept'
    'compare:continue a prompt in several ways, side by side'
    'serve:serve many clients over HTTP'
    'batch:answer many requests from a file of JSON lines'
    'score:compute how probable a text is, token by token'
    'embed:convert texts to vectors, or score them with a reranker'
    'tokenize:convert text to token ids'
    'detokenize:convert token ids to text'
    'watermark:find out whether a text bears a watermark'
    'grammar:check texts against a JSON Schema or another form'
    'template:render a conversation with a chat template'
    'pull:fetch a model by name'
    'list:list the models that are fetched'
    'show:show where a fetched model came from'
    'rm:delete a fetched model'
    'config:show the settings that are in force'
    'info:describe a model file and how it would run here'
    'bench:measure prompt and generation speed'
    'convert:convert a Hugging Face folder to a GGUF file'
    'merge:write a model with LoRA adapters merged into it'
    'quantize:convert a GGUF file to fewer bits per weight'
    'imatrix:measure which weights matter most, for quantize'
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
      '--ids=[the prompt is these token ids\: 1,2,3]:LIST: ' \
      '*--image=[a picture in the prompt, for models that see\: PNG, JPEG, WebP, GIF or BMP]:FILE:_files' \
      '*--video=[a video in the prompt, for models that take some]:FILE:_files' \
      '--video-fps=[look at X frames of each second of a video]:X: ' \
      '--video-frames=[look at N frames of a video, whatever its length]:N: ' \
      '--chat[the prompt is a user message]' \
      '--system=[a system message before it]:TEXT: ' \
      '--show-reasoning[write reasoning to stderr even when that is not a terminal]' \
      '--chat-template=[use this Jinja file, or a built-in template by name, instead of the model'\''s]:FILE|NAME:_files' \
      '--output-format=[how the model writes reasoning and tool calls]:NAME:(none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm)' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--mmproj=[the vision part of the model, for pictures]:FILE:_files' \
      '--preset=[a named set of sampling settings, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens whose probabilities add up to this]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely token'\''s probability]:X: ' \
      '--min-keep=[minimum number of tokens that top-k, top-p and min-p keep]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[how many past tokens penalties look at]:N: ' \
      '--dry-multiplier=[DRY]:X: ' \
      '--dry-base=[DRY]:X: ' \
      '--dry-allowed-length=[DRY]:N: ' \
      '--dry-penalty-last-n=[DRY]:N: ' \
      '--xtc-probability=[XTC]:X: ' \
      '--xtc-threshold=[XTC]:X: ' \
      '--typical-p=[keep the tokens whose surprise is nearest to the entropy, up to this probability]:X: ' \
      '--top-n-sigma=[keep tokens at most so many standard deviations of the logits below the best]:X: ' \
      '--dynatemp-range=[let the temperature follow the entropy, within this distance]:X: ' \
      '--dynatemp-exponent=[exponent of the entropy in the dynamic temperature]:X: ' \
      '--mirostat=[hold the surprise of the text at a target, in place of other truncation]:N: ' \
      '--mirostat-tau=[mirostat]:X: ' \
      '--mirostat-eta=[mirostat]:X: ' \
      '--min-tokens=[tokens to generate before the text may end]:N: ' \
      '--no-repeat-ngram-size=[no sequence of so many tokens occurs twice, prompt included]:N: ' \
      '--epsilon-cutoff=[drop tokens less likely than this]:X: ' \
      '--eta-cutoff=[drop tokens less likely than this, or less for a high entropy]:X: ' \
      '--top-a=[drop tokens less likely than this times the square of the best probability]:X: ' \
      '--top-h=[keep the most likely tokens that have this share of the entropy of the first 100]:X: ' \
      '--tfs-z=[tail-free]:X: ' \
      '--adaptive-target=[adaptive-p]:X: ' \
      '--adaptive-decay=[adaptive-p]:X: ' \
      '--encoder-repetition-penalty=[multiplies the logits of the prompt'\''s tokens]:X: ' \
      '--exponential-decay-start=[generated tokens after which end tokens become more likely]:N: ' \
      '--exponential-decay-factor=[by which power of this, for each further token]:X: ' \
      '--samplers=[the order of the stages, separated by '\'';'\'']:LIST: ' \
      '*--dry-sequence-breaker=[DRY]:TEXT: ' \
      '*--ban-token=[never generate this token]:ID: ' \
      '--penalty-prompt=[whether penalties count the prompt'\''s tokens too]:on|off:(on off)' \
      '--sampler-order=[the order of the stages of one of these]:llama.cpp|transformers|exllamav2:(llama.cpp transformers exllamav2)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '*--sequence-bias=[add BIAS to the logit of the last of these tokens behind the others]:ID,ID,..=BIAS: ' \
      '--guidance-scale=[classifier-free guidance]:X: ' \
      '--negative-prompt=[with --guidance-scale]:TEXT: ' \
      '*--banned-string=[never generate this text, in whatever case]:TEXT: ' \
      '--banned-match-case[banned strings are those in this case only]' \
      '--watermark=[mark the text by the keys in FILE\: {"keys"\: \[..\], "ngram_len"\: 5, ..}, SynthID-Text as transformers configures it]:FILE:_files' \
      '--seed=[seed of the random numbers]:N: ' \
      '--strategy=[how tokens are chosen]:sample|beam|best-of|contrastive|contrastive-decoding|dola|tree:(sample beam best-of contrastive contrastive-decoding dola tree)' \
      '--num-beams=[beam]:N: ' \
      '--num-beam-groups=[beam]:N: ' \
      '--diversity-penalty=[beam]:X: ' \
      '--length-penalty=[beam]:X: ' \
      '--early-stopping=[beam]:false|true|never:(false true never)' \
      '--do-sample=[beam]:false|true:(false true)' \
      '--renormalize-logits=[beam]:false|true:(false true)' \
      '--num-return-sequences=[beam|best-of]:N: ' \
      '--penalty-alpha=[contrastive]:X: ' \
      '--num-candidates=[contrastive]:N: ' \
      '--amateur-model=[contrastive-decoding]:N: ' \
      '--amateur-weight=[contrastive-decoding]:X: ' \
      '--amateur-temperature=[contrastive-decoding]:X: ' \
      '--relative-top=[contrastive-decoding|dola]:X: ' \
      '--dola-layers=[dola]:TEXT: ' \
      '--simulations=[tree]:N: ' \
      '--tree-width=[tree]:N: ' \
      '--c-puct=[tree]:X: ' \
      '--value=[tree]:TEXT: ' \
      '--best-of=[best-of]:N: ' \
      '--majority=[best-of]:TEXT: ' \
      '--amateur=[a model with the same vocabulary that knows less, for --strategy contrastive-decoding]:MODEL:_runnel_models' \
      '(-n --max-tokens)-n+[maximum number of tokens to generate]:N: ' \
      '(-n --max-tokens)--max-tokens=[maximum number of tokens to generate]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[do not stop at the model'\''s end tokens]' \
      '--draft=[a smaller model, best with the same vocabulary, which guesses what follows]:MODEL:_runnel_models' \
      '--ngram-cache=[counts of what followed what in other texts, which guess what follows]:FILE:_files' \
      '*--speculate=[guess what follows, the same text in fewer steps]:NAME:(none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS)' \
      '--no-speculate[guess nothing, as --speculate none]' \
      '--draft-max=[guesses of a step, at most]:N: ' \
      '--draft-min=[guesses of a step, at least, whether they pay or not]:N: ' \
      '--draft-min-p=[with --draft]:P: ' \
      '--spec-verify=[how guesses are verified]:match|reject|typical:(match reject typical)' \
      '--prediction=[a text that the answer is expected to repeat in large part, such as the file that it edits]:FILE:_files' \
      '--special[show control tokens in the text]' \
      '--parse-special[parse control tokens in the prompt]' \
      '--token-healing[let the answer begin inside the prompt'\''s last word]' \
      '--no-forced-tokens[draw also tokens that the form of the answer leaves no choice about]' \
      '--echo[output the prompt before the generated text]' \
      '--logprobs=[in JSON, give each token'\''s log-probability and the K best candidates, 0..20]:K: ' \
      '--sampled-logprobs=[in JSON, also what each token was drawn from, after all sampling stages, and entropies, 0..20]:K: ' \
      '--json-schema=[JSON that this JSON Schema allows]:FILE:_files' \
      '--json-mode[any JSON object]' \
      '--regex=[a text that the regular expression R matches as a whole]:R: ' \
      '--grammar=[a text of this context-free grammar, GBNF or Lark]:FILE:_files' \
      '--structural-tag=[free text in which tags hold forms, as XGrammar'\''s structural tags in FILE say]:FILE:_files' \
      '--choice=[TEXT, or one of several]:TEXT: ' \
      '--json-space=[white space within JSON]:dumps|compact|free:(dumps compact free)' \
      '--stream-interval=[tokens in each chunk, 1..1024]:N: ' \
      '--show-probs[at a terminal, colour the text by the probability of its tokens]' \
      '--top-probs=[instead of the text, a line for each token]:K: ' \
      '--json[a line of JSON for each chunk]' \
      '--no-newline[into a file or a pipe, write the text as it is generated, without a line break behind a last line that has none]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  infill)
    _arguments -s -S \
      '--prefix=[the text before the hole]:FILE:_files' \
      '--suffix=[the text behind the hole]:FILE:_files' \
      '--marker=[in the one FILE, the hole is where this stands, once]:TEXT: ' \
      '--at=[in the one FILE, the hole is before this character, as editors count, from 1]:LINE\:COLUMN: ' \
      '--middle=[the middle begins with this text, which is not written again]:TEXT: ' \
      '--infill-order=[prefix first]:published|psm|spm:(published psm spm)' \
      '*--context=[another file of the repository, which stands in front]:FILE:_files' \
      '--repo-name=[name of the repository]:NAME: ' \
      '--file-name=[name of the file with the hole]:NAME:(FILE if)' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--preset=[a named set of sampling settings, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens whose probabilities add up to this]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely token'\''s probability]:X: ' \
      '--min-keep=[minimum number of tokens that top-k, top-p and min-p keep]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[how many past tokens penalties look at]:N: ' \
      '--dry-multiplier=[DRY]:X: ' \
      '--dry-base=[DRY]:X: ' \
      '--dry-allowed-length=[DRY]:N: ' \
      '--dry-penalty-last-n=[DRY]:N: ' \
      '--xtc-probability=[XTC]:X: ' \
      '--xtc-threshold=[XTC]:X: ' \
      '--typical-p=[keep the tokens whose surprise is nearest to the entropy, up to this probability]:X: ' \
      '--top-n-sigma=[keep tokens at most so many standard deviations of the logits below the best]:X: ' \
      '--dynatemp-range=[let the temperature follow the entropy, within this distance]:X: ' \
      '--dynatemp-exponent=[exponent of the entropy in the dynamic temperature]:X: ' \
      '--mirostat=[hold the surprise of the text at a target, in place of other truncation]:N: ' \
      '--mirostat-tau=[mirostat]:X: ' \
      '--mirostat-eta=[mirostat]:X: ' \
      '--min-tokens=[tokens to generate before the text may end]:N: ' \
      '--no-repeat-ngram-size=[no sequence of so many tokens occurs twice, prompt included]:N: ' \
      '--epsilon-cutoff=[drop tokens less likely than this]:X: ' \
      '--eta-cutoff=[drop tokens less likely than this, or less for a high entropy]:X: ' \
      '--top-a=[drop tokens less likely than this times the square of the best probability]:X: ' \
      '--top-h=[keep the most likely tokens that have this share of the entropy of the first 100]:X: ' \
      '--tfs-z=[tail-free]:X: ' \
      '--adaptive-target=[adaptive-p]:X: ' \
      '--adaptive-decay=[adaptive-p]:X: ' \
      '--encoder-repetition-penalty=[multiplies the logits of the prompt'\''s tokens]:X: ' \
      '--exponential-decay-start=[generated tokens after which end tokens become more likely]:N: ' \
      '--exponential-decay-factor=[by which power of this, for each further token]:X: ' \
      '--samplers=[the order of the stages, separated by '\'';'\'']:LIST: ' \
      '*--dry-sequence-breaker=[DRY]:TEXT: ' \
      '*--ban-token=[never generate this token]:ID: ' \
      '--penalty-prompt=[whether penalties count the prompt'\''s tokens too]:on|off:(on off)' \
      '--sampler-order=[the order of the stages of one of these]:llama.cpp|transformers|exllamav2:(llama.cpp transformers exllamav2)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '*--sequence-bias=[add BIAS to the logit of the last of these tokens behind the others]:ID,ID,..=BIAS: ' \
      '--guidance-scale=[classifier-free guidance]:X: ' \
      '--negative-prompt=[with --guidance-scale]:TEXT: ' \
      '*--banned-string=[never generate this text, in whatever case]:TEXT: ' \
      '--banned-match-case[banned strings are those in this case only]' \
      '--watermark=[mark the text by the keys in FILE\: {"keys"\: \[..\], "ngram_len"\: 5, ..}, SynthID-Text as transformers configures it]:FILE:_files' \
      '--seed=[seed of the random numbers]:N: ' \
      '--strategy=[how tokens are chosen]:sample|beam|best-of|contrastive|contrastive-decoding|dola|tree:(sample beam best-of contrastive contrastive-decoding dola tree)' \
      '--num-beams=[beam]:N: ' \
      '--num-beam-groups=[beam]:N: ' \
      '--diversity-penalty=[beam]:X: ' \
      '--length-penalty=[beam]:X: ' \
      '--early-stopping=[beam]:false|true|never:(false true never)' \
      '--do-sample=[beam]:false|true:(false true)' \
      '--renormalize-logits=[beam]:false|true:(false true)' \
      '--num-return-sequences=[beam|best-of]:N: ' \
      '--penalty-alpha=[contrastive]:X: ' \
      '--num-candidates=[contrastive]:N: ' \
      '--amateur-model=[contrastive-decoding]:N: ' \
      '--amateur-weight=[contrastive-decoding]:X: ' \
      '--amateur-temperature=[contrastive-decoding]:X: ' \
      '--relative-top=[contrastive-decoding|dola]:X: ' \
      '--dola-layers=[dola]:TEXT: ' \
      '--simulations=[tree]:N: ' \
      '--tree-width=[tree]:N: ' \
      '--c-puct=[tree]:X: ' \
      '--value=[tree]:TEXT: ' \
      '--best-of=[best-of]:N: ' \
      '--majority=[best-of]:TEXT: ' \
      '--amateur=[a model with the same vocabulary that knows less, for --strategy contrastive-decoding]:MODEL:_runnel_models' \
      '(-n --max-tokens)-n+[maximum number of tokens to generate]:N: ' \
      '(-n --max-tokens)--max-tokens=[maximum number of tokens to generate]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[do not stop at the model'\''s end tokens]' \
      '--draft=[a smaller model, best with the same vocabulary, which guesses what follows]:MODEL:_runnel_models' \
      '--ngram-cache=[counts of what followed what in other texts, which guess what follows]:FILE:_files' \
      '*--speculate=[guess what follows, the same text in fewer steps]:NAME:(none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS)' \
      '--no-speculate[guess nothing, as --speculate none]' \
      '--draft-max=[guesses of a step, at most]:N: ' \
      '--draft-min=[guesses of a step, at least, whether they pay or not]:N: ' \
      '--draft-min-p=[with --draft]:P: ' \
      '--spec-verify=[how guesses are verified]:match|reject|typical:(match reject typical)' \
      '--special[show control tokens in the text]' \
      '--parse-special[parse control tokens in the prompt]' \
      '--token-healing[let the answer begin inside the prompt'\''s last word]' \
      '--no-forced-tokens[draw also tokens that the form of the answer leaves no choice about]' \
      '--echo[output the prompt before the generated text]' \
      '--logprobs=[in JSON, give each token'\''s log-probability and the K best candidates, 0..20]:K: ' \
      '--sampled-logprobs=[in JSON, also what each token was drawn from, after all sampling stages, and entropies, 0..20]:K: ' \
      '--json-schema=[JSON that this JSON Schema allows]:FILE:_files' \
      '--json-mode[any JSON object]' \
      '--regex=[a text that the regular expression R matches as a whole]:R: ' \
      '--grammar=[a text of this context-free grammar, GBNF or Lark]:FILE:_files' \
      '--structural-tag=[free text in which tags hold forms, as XGrammar'\''s structural tags in FILE say]:FILE:_files' \
      '--choice=[TEXT, or one of several]:TEXT: ' \
      '--json-space=[white space within JSON]:dumps|compact|free:(dumps compact free)' \
      '--stream-interval=[tokens in each chunk, 1..1024]:N: ' \
      '--show-probs[at a terminal, colour the text by the probability of its tokens]' \
      '--top-probs=[instead of the text, a line for each token]:K: ' \
      '--json[a line of JSON for each chunk]' \
      '--show-prompt[output the prompt with its control tokens, and generate nothing]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_files'
    ;;
  chat)
    _arguments -s -S \
      '--system=[a system message before it]:TEXT: ' \
      '--chat-template=[use this Jinja file, or a built-in template by name, instead of the model'\''s]:FILE|NAME:_files' \
      '--output-format=[how the model writes reasoning and tool calls]:NAME:(none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm)' \
      '--beams=[most texts that a strategy chosen by /set may follow at once]:N: ' \
      '--reasoning=[whether to show the model'\''s reasoning]:show|hide:(show hide)' \
      '--plain[print replies as the model writes them]' \
      '--truncate=[when the context is full]:none|old|middle:(none old middle)' \
      '--each-line[from a pipe]' \
      '--continue[go on with the last conversation at a terminal, with its model unless one is given]' \
      '--resume=[go on with this conversation]:ID: ' \
      '--no-history[do not keep the conversation, a history of input, nor which model this was]' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--mmproj=[the vision part of the model, for pictures]:FILE:_files' \
      '--preset=[a named set of sampling settings, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens whose probabilities add up to this]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely token'\''s probability]:X: ' \
      '--min-keep=[minimum number of tokens that top-k, top-p and min-p keep]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[how many past tokens penalties look at]:N: ' \
      '--dry-multiplier=[DRY]:X: ' \
      '--dry-base=[DRY]:X: ' \
      '--dry-allowed-length=[DRY]:N: ' \
      '--dry-penalty-last-n=[DRY]:N: ' \
      '--xtc-probability=[XTC]:X: ' \
      '--xtc-threshold=[XTC]:X: ' \
      '--typical-p=[keep the tokens whose surprise is nearest to the entropy, up to this probability]:X: ' \
      '--top-n-sigma=[keep tokens at most so many standard deviations of the logits below the best]:X: ' \
      '--dynatemp-range=[let the temperature follow the entropy, within this distance]:X: ' \
      '--dynatemp-exponent=[exponent of the entropy in the dynamic temperature]:X: ' \
      '--mirostat=[hold the surprise of the text at a target, in place of other truncation]:N: ' \
      '--mirostat-tau=[mirostat]:X: ' \
      '--mirostat-eta=[mirostat]:X: ' \
      '--min-tokens=[tokens to generate before the text may end]:N: ' \
      '--no-repeat-ngram-size=[no sequence of so many tokens occurs twice, prompt included]:N: ' \
      '--epsilon-cutoff=[drop tokens less likely than this]:X: ' \
      '--eta-cutoff=[drop tokens less likely than this, or less for a high entropy]:X: ' \
      '--top-a=[drop tokens less likely than this times the square of the best probability]:X: ' \
      '--top-h=[keep the most likely tokens that have this share of the entropy of the first 100]:X: ' \
      '--tfs-z=[tail-free]:X: ' \
      '--adaptive-target=[adaptive-p]:X: ' \
      '--adaptive-decay=[adaptive-p]:X: ' \
      '--encoder-repetition-penalty=[multiplies the logits of the prompt'\''s tokens]:X: ' \
      '--exponential-decay-start=[generated tokens after which end tokens become more likely]:N: ' \
      '--exponential-decay-factor=[by which power of this, for each further token]:X: ' \
      '--samplers=[the order of the stages, separated by '\'';'\'']:LIST: ' \
      '*--dry-sequence-breaker=[DRY]:TEXT: ' \
      '*--ban-token=[never generate this token]:ID: ' \
      '--penalty-prompt=[whether penalties count the prompt'\''s tokens too]:on|off:(on off)' \
      '--sampler-order=[the order of the stages of one of these]:llama.cpp|transformers|exllamav2:(llama.cpp transformers exllamav2)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '*--sequence-bias=[add BIAS to the logit of the last of these tokens behind the others]:ID,ID,..=BIAS: ' \
      '--guidance-scale=[classifier-free guidance]:X: ' \
      '--negative-prompt=[with --guidance-scale]:TEXT: ' \
      '*--banned-string=[never generate this text, in whatever case]:TEXT: ' \
      '--banned-match-case[banned strings are those in this case only]' \
      '--watermark=[mark the text by the keys in FILE\: {"keys"\: \[..\], "ngram_len"\: 5, ..}, SynthID-Text as transformers configures it]:FILE:_files' \
      '--seed=[seed of the random numbers]:N: ' \
      '--strategy=[how tokens are chosen]:sample|beam|best-of|contrastive|contrastive-decoding|dola|tree:(sample beam best-of contrastive contrastive-decoding dola tree)' \
      '--num-beams=[beam]:N: ' \
      '--num-beam-groups=[beam]:N: ' \
      '--diversity-penalty=[beam]:X: ' \
      '--length-penalty=[beam]:X: ' \
      '--early-stopping=[beam]:false|true|never:(false true never)' \
      '--do-sample=[beam]:false|true:(false true)' \
      '--renormalize-logits=[beam]:false|true:(false true)' \
      '--num-return-sequences=[beam|best-of]:N: ' \
      '--penalty-alpha=[contrastive]:X: ' \
      '--num-candidates=[contrastive]:N: ' \
      '--amateur-model=[contrastive-decoding]:N: ' \
      '--amateur-weight=[contrastive-decoding]:X: ' \
      '--amateur-temperature=[contrastive-decoding]:X: ' \
      '--relative-top=[contrastive-decoding|dola]:X: ' \
      '--dola-layers=[dola]:TEXT: ' \
      '--simulations=[tree]:N: ' \
      '--tree-width=[tree]:N: ' \
      '--c-puct=[tree]:X: ' \
      '--value=[tree]:TEXT: ' \
      '--best-of=[best-of]:N: ' \
      '--majority=[best-of]:TEXT: ' \
      '--amateur=[a model with the same vocabulary that knows less, for --strategy contrastive-decoding]:MODEL:_runnel_models' \
      '--value-model=[a model with the same vocabulary that says what texts are worth, for --strategy tree with --value model]:MODEL:_runnel_models' \
      '--early-layers=[layers of the first model that requests with the strategy dola may compare with]:low|high|N,N..:(low high)' \
      '(-n --max-tokens)-n+[maximum number of tokens to generate]:N: ' \
      '(-n --max-tokens)--max-tokens=[maximum number of tokens to generate]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[do not stop at the model'\''s end tokens]' \
      '--draft=[a smaller model, best with the same vocabulary, which guesses what follows]:MODEL:_runnel_models' \
      '--ngram-cache=[counts of what followed what in other texts, which guess what follows]:FILE:_files' \
      '*--speculate=[guess what follows, the same text in fewer steps]:NAME:(none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS)' \
      '--no-speculate[guess nothing, as --speculate none]' \
      '--draft-max=[guesses of a step, at most]:N: ' \
      '--draft-min=[guesses of a step, at least, whether they pay or not]:N: ' \
      '--draft-min-p=[with --draft]:P: ' \
      '--spec-verify=[how guesses are verified]:match|reject|typical:(match reject typical)' \
      '--json-schema=[JSON that this JSON Schema allows]:FILE:_files' \
      '--json-mode[any JSON object]' \
      '--regex=[a text that the regular expression R matches as a whole]:R: ' \
      '--grammar=[a text of this context-free grammar, GBNF or Lark]:FILE:_files' \
      '--structural-tag=[free text in which tags hold forms, as XGrammar'\''s structural tags in FILE say]:FILE:_files' \
      '--choice=[TEXT, or one of several]:TEXT: ' \
      '--json-space=[white space within JSON]:dumps|compact|free:(dumps compact free)' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_runnel_models'
    ;;
  chats)
    _arguments -s -S \
      '--show=[print one conversation as Markdown]:ID: ' \
      '--delete=[delete one conversation, or all]:ID|all:(all)' \
      '--json[a JSON line for each conversation, with its messages]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  compare)
    _arguments -s -S \
      '*-m+[a GGUF file, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '*--model=[a GGUF file, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '*-s+[a way of generating]:NAME|JSON:(greedy focused balanced creative wild beam best-of contrastive contrastive-decoding dola tree)' \
      '*--settings=[a way of generating]:NAME|JSON:(greedy focused balanced creative wild beam best-of contrastive contrastive-decoding dola tree)' \
      '(-p --prompt)-p+[the prompt, like PROMPT]:TEXT: ' \
      '(-p --prompt)--prompt=[the prompt, like PROMPT]:TEXT: ' \
      '(-f --file)-f+[the prompt is the file'\''s text without its last line break]:FILE:_files' \
      '(-f --file)--file=[the prompt is the file'\''s text without its last line break]:FILE:_files' \
      '--ids=[the prompt is these token ids\: 1,2,3]:LIST: ' \
      '--chat[the prompt is a user message]' \
      '--system=[a system message before it]:TEXT: ' \
      '--chat-template=[use this Jinja file, or a built-in template by name, instead of the model'\''s]:FILE|NAME:_files' \
      '--output-format=[how the model writes reasoning and tool calls]:NAME:(none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm)' \
      '--json[one JSON object, when all have ended]' \
      '--html=[also write a page]:FILE:_files' \
      '(-n --max-tokens)-n+[maximum number of tokens of each text]:N: ' \
      '(-n --max-tokens)--max-tokens=[maximum number of tokens of each text]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[do not stop at the model'\''s end tokens]' \
      '--preset=[a named set of sampling settings, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens whose probabilities add up to this]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely token'\''s probability]:X: ' \
      '--min-keep=[minimum number of tokens that top-k, top-p and min-p keep]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[how many past tokens penalties look at]:N: ' \
      '--dry-multiplier=[DRY]:X: ' \
      '--dry-base=[DRY]:X: ' \
      '--dry-allowed-length=[DRY]:N: ' \
      '--dry-penalty-last-n=[DRY]:N: ' \
      '--xtc-probability=[XTC]:X: ' \
      '--xtc-threshold=[XTC]:X: ' \
      '--typical-p=[keep the tokens whose surprise is nearest to the entropy, up to this probability]:X: ' \
      '--top-n-sigma=[keep tokens at most so many standard deviations of the logits below the best]:X: ' \
      '--dynatemp-range=[let the temperature follow the entropy, within this distance]:X: ' \
      '--dynatemp-exponent=[exponent of the entropy in the dynamic temperature]:X: ' \
      '--mirostat=[hold the surprise of the text at a target, in place of other truncation]:N: ' \
      '--mirostat-tau=[mirostat]:X: ' \
      '--mirostat-eta=[mirostat]:X: ' \
      '--min-tokens=[tokens to generate before the text may end]:N: ' \
      '--no-repeat-ngram-size=[no sequence of so many tokens occurs twice, prompt included]:N: ' \
      '--epsilon-cutoff=[drop tokens less likely than this]:X: ' \
      '--eta-cutoff=[drop tokens less likely than this, or less for a high entropy]:X: ' \
      '--top-a=[drop tokens less likely than this times the square of the best probability]:X: ' \
      '--top-h=[keep the most likely tokens that have this share of the entropy of the first 100]:X: ' \
      '--tfs-z=[tail-free]:X: ' \
      '--adaptive-target=[adaptive-p]:X: ' \
      '--adaptive-decay=[adaptive-p]:X: ' \
      '--encoder-repetition-penalty=[multiplies the logits of the prompt'\''s tokens]:X: ' \
      '--exponential-decay-start=[generated tokens after which end tokens become more likely]:N: ' \
      '--exponential-decay-factor=[by which power of this, for each further token]:X: ' \
      '--samplers=[the order of the stages, separated by '\'';'\'']:LIST: ' \
      '*--dry-sequence-breaker=[DRY]:TEXT: ' \
      '*--ban-token=[never generate this token]:ID: ' \
      '--penalty-prompt=[whether penalties count the prompt'\''s tokens too]:on|off:(on off)' \
      '--sampler-order=[the order of the stages of one of these]:llama.cpp|transformers|exllamav2:(llama.cpp transformers exllamav2)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '*--sequence-bias=[add BIAS to the logit of the last of these tokens behind the others]:ID,ID,..=BIAS: ' \
      '--guidance-scale=[classifier-free guidance]:X: ' \
      '--negative-prompt=[with --guidance-scale]:TEXT: ' \
      '*--banned-string=[never generate this text, in whatever case]:TEXT: ' \
      '--banned-match-case[banned strings are those in this case only]' \
      '--watermark=[mark the text by the keys in FILE\: {"keys"\: \[..\], "ngram_len"\: 5, ..}, SynthID-Text as transformers configures it]:FILE:_files' \
      '--seed=[seed of the random numbers]:N: ' \
      '--amateur=[a model with the same vocabulary that knows less, for --strategy contrastive-decoding]:MODEL:_runnel_models' \
      '--special[show control tokens in the text]' \
      '--parse-special[parse control tokens in the prompt]' \
      '--token-healing[let the answer begin inside the prompt'\''s last word]' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  serve)
    _arguments -s -S \
      '*-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:[NAME=]MODEL:_runnel_models' \
      '*--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:[NAME=]MODEL:_runnel_models' \
      '*--alias=[another name for the first model, or for the one that requests call MODEL, without a second copy]:NAME[=MODEL]:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--streams=[streams that run at once]:N: ' \
      '--queue=[streams that may wait, each of which takes 150 KiB of the memory plan]:N: ' \
      '--queue-tokens=[total prompt tokens that may wait]:N: ' \
      '--queue-seconds=[longest wait in the queue]:S: ' \
      '--workers=[threads that parse, tokenize and render requests]:N: ' \
      '--work-memory=[MiB for what requests of 64 KiB and more take while they are parsed, rendered and tokenized]:MIB: ' \
      '--beams=[beams, or samples of best-of, of a request, at most]:N: ' \
      '--target-itl-ms=[split prefill so that running streams get a token at least this often, or at least every two decode-only step times]:MS: ' \
      '--memory=[memory limit in MiB for everything]:MIB: ' \
      '--key-tokens-per-minute=[tokens that each API key may use per minute, prompts included]:N: ' \
      '--watermark=[mark all answers by the keys in FILE, {"keys"\: \[..\], ..}, but for those at temperature 0, with mirostat or with adaptive-p]:FILE:_files' \
      '--no-vision[take no pictures, and leave the memory for towers free]' \
      '*--allow-media-domain=[fetch pictures that requests name by an http or https address from this host\: HOST, *.HOST for all names below it, HOST\:PORT for another port than the usual one]:HOST: ' \
      '--share-prefixes[share cached prompts among all API keys. This gives away, by response times, whether another key has sent a prompt with the same beginning, 64 tokens at a time]' \
      '--no-speculate[guess nothing for requests without `speculate`, which otherwise have the drafters that need no model]' \
      '*--draft-heads=[draft heads for the first model, which requests name in `speculate`]:mtp|medusa=FILE|eagle=FILE|layer-skip=LAYERS:(mtp medusa=FILE eagle=FILE layer-skip=LAYERS)' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--mmproj=[the vision part of the model, for pictures]:FILE:_files' \
      '--draft=[a smaller model, best with the same vocabulary, which guesses what follows]:MODEL:_runnel_models' \
      '--ngram-cache=[counts of what followed what in other texts, which guess what follows]:FILE:_files' \
      '--amateur=[a model with the same vocabulary that knows less, for --strategy contrastive-decoding]:MODEL:_runnel_models' \
      '--value-model=[a model with the same vocabulary that says what texts are worth, for --strategy tree with --value model]:MODEL:_runnel_models' \
      '--early-layers=[layers of the first model that requests with the strategy dola may compare with]:low|high|N,N..:(low high)' \
      '--chat-template=[use this Jinja file, or a built-in template by name, instead of the model'\''s]:FILE|NAME:_files' \
      '--output-format=[how the model writes reasoning and tool calls]:NAME:(none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm)' \
      '--host=[address to listen at]:ADDRESS: ' \
      '--port=[port]:N: ' \
      '--no-page[serve the API only, without the page at /]' \
      '*--mcp=[offer the tools of this MCP server]:URL: ' \
      '--drain-seconds=[after SIGTERM, how long running answers may take]:N: ' \
      '--tls-cert=[certificate chain]:FILE:_files' \
      '--tls-key=[its private key]:FILE:_files' \
      '*--api-key=[accept this API key of 16 to 256 characters]:[NAME\:]KEY: ' \
      '--api-key-file=[API keys, one per line, as KEY or NAME\:KEY]:FILE:_files' \
      '--no-auth[allow requests without a key from other machines]' \
      '*--allow-host=[accept this host name too]:NAME: ' \
      '*--trusted-proxy=[read the client'\''s address, for limits, fairness and the log, from X-Forwarded-For]:ADDRESS[/BITS]: ' \
      '*--cors=[let pages of this origin use the server, * for all]:ORIGIN: ' \
      '--access-log=[log a line for each request, without query, body and key]:FILE:_files' \
      '--max-connections=[maximum open connections]:N: ' \
      '--max-connections-per-address=[maximum open connections from one address]:N: ' \
      '--max-line=[maximum bytes of a request line]:N: ' \
      '--max-header-block=[maximum bytes of a request'\''s headers]:N: ' \
      '--max-headers=[maximum number of headers]:N: ' \
      '--max-header=[maximum bytes of one header]:N: ' \
      '--max-body=[maximum MiB of a request'\''s body]:MIB: ' \
      '--max-bodies=[maximum MiB of all bodies being received]:MIB: ' \
      '--header-seconds=[time limit for a request'\''s headers]:N: ' \
      '--body-seconds=[time limit for the whole of a body]:N: ' \
      '--idle-seconds=[how long an idle connection stays open]:N: ' \
      '--write-seconds=[how long a client may stop reading an answer]:N: ' \
      '--ping-seconds=[seconds without an event after which a stream gets a comment line]:N: ' \
      '--resume-grace-seconds=[how long a resumable stream keeps running without a reader]:N: ' \
      '--resume-seconds=[how long its events are kept after its end]:N: ' \
      '--resume-mib=[MiB for the events of all resumable streams]:MIB: ' \
      '--responses-mib=[MiB for stored answers of /v1/responses]:MIB: ' \
      '--outputs-mib=[MiB for finished answers, in which drafts of the same client'\''s requests look for what follows]:MIB: ' \
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
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--parallel=[requests that run at once, 1..1024]:N: ' \
      '--in-order[write answers in input order]' \
      '--token-times[add token_ms, each token'\''s time, to timing]' \
      '--outputs-mib=[MiB for finished answers, in which drafts of later lines look for what follows]:MIB: ' \
      '--chat-template=[use this Jinja file, or a built-in template by name, instead of the model'\''s]:FILE|NAME:_files' \
      '--output-format=[how the model writes reasoning and tool calls]:NAME:(none think hermes qwen3-coder seed-oss minicpm llama-3 llama-4 mistral deepseek deepseek-dsml kimi kimi-k3 harmony muse gemma-4 functiongemma command-r command-a glm hy3 granite functionary-3.1 functionary-3.2 functools nemotron tool-calls apriel minimax-m2 minimax-m3 lfm2 olmo-3 apertus solar gigachat yandexgpt internlm)' \
      '--preset=[a named set of sampling settings, which single options override]:NAME:(greedy focused balanced creative wild code chat story summary)' \
      '--temp=[temperature]:X: ' \
      '--top-k=[keep the k most likely tokens]:N: ' \
      '--top-p=[keep the most likely tokens whose probabilities add up to this]:X: ' \
      '--min-p=[drop tokens less likely than this share of the most likely token'\''s probability]:X: ' \
      '--min-keep=[minimum number of tokens that top-k, top-p and min-p keep]:N: ' \
      '--repeat-penalty=[divides the logits of tokens already seen]:X: ' \
      '--frequency-penalty=[subtracted once for each time a token was seen]:X: ' \
      '--presence-penalty=[subtracted from each token already seen]:X: ' \
      '--penalty-last-n=[how many past tokens penalties look at]:N: ' \
      '--dry-multiplier=[DRY]:X: ' \
      '--dry-base=[DRY]:X: ' \
      '--dry-allowed-length=[DRY]:N: ' \
      '--dry-penalty-last-n=[DRY]:N: ' \
      '--xtc-probability=[XTC]:X: ' \
      '--xtc-threshold=[XTC]:X: ' \
      '--typical-p=[keep the tokens whose surprise is nearest to the entropy, up to this probability]:X: ' \
      '--top-n-sigma=[keep tokens at most so many standard deviations of the logits below the best]:X: ' \
      '--dynatemp-range=[let the temperature follow the entropy, within this distance]:X: ' \
      '--dynatemp-exponent=[exponent of the entropy in the dynamic temperature]:X: ' \
      '--mirostat=[hold the surprise of the text at a target, in place of other truncation]:N: ' \
      '--mirostat-tau=[mirostat]:X: ' \
      '--mirostat-eta=[mirostat]:X: ' \
      '--min-tokens=[tokens to generate before the text may end]:N: ' \
      '--no-repeat-ngram-size=[no sequence of so many tokens occurs twice, prompt included]:N: ' \
      '--epsilon-cutoff=[drop tokens less likely than this]:X: ' \
      '--eta-cutoff=[drop tokens less likely than this, or less for a high entropy]:X: ' \
      '--top-a=[drop tokens less likely than this times the square of the best probability]:X: ' \
      '--top-h=[keep the most likely tokens that have this share of the entropy of the first 100]:X: ' \
      '--tfs-z=[tail-free]:X: ' \
      '--adaptive-target=[adaptive-p]:X: ' \
      '--adaptive-decay=[adaptive-p]:X: ' \
      '--encoder-repetition-penalty=[multiplies the logits of the prompt'\''s tokens]:X: ' \
      '--exponential-decay-start=[generated tokens after which end tokens become more likely]:N: ' \
      '--exponential-decay-factor=[by which power of this, for each further token]:X: ' \
      '--samplers=[the order of the stages, separated by '\'';'\'']:LIST: ' \
      '*--dry-sequence-breaker=[DRY]:TEXT: ' \
      '*--ban-token=[never generate this token]:ID: ' \
      '--penalty-prompt=[whether penalties count the prompt'\''s tokens too]:on|off:(on off)' \
      '--sampler-order=[the order of the stages of one of these]:llama.cpp|transformers|exllamav2:(llama.cpp transformers exllamav2)' \
      '*--logit-bias=[add BIAS]:ID=BIAS: ' \
      '*--sequence-bias=[add BIAS to the logit of the last of these tokens behind the others]:ID,ID,..=BIAS: ' \
      '--guidance-scale=[classifier-free guidance]:X: ' \
      '--negative-prompt=[with --guidance-scale]:TEXT: ' \
      '*--banned-string=[never generate this text, in whatever case]:TEXT: ' \
      '--banned-match-case[banned strings are those in this case only]' \
      '--watermark=[mark the text by the keys in FILE\: {"keys"\: \[..\], "ngram_len"\: 5, ..}, SynthID-Text as transformers configures it]:FILE:_files' \
      '--seed=[seed of the random numbers]:N: ' \
      '--strategy=[how tokens are chosen]:sample|beam|best-of|contrastive|contrastive-decoding|dola|tree:(sample beam best-of contrastive contrastive-decoding dola tree)' \
      '--num-beams=[beam]:N: ' \
      '--num-beam-groups=[beam]:N: ' \
      '--diversity-penalty=[beam]:X: ' \
      '--length-penalty=[beam]:X: ' \
      '--early-stopping=[beam]:false|true|never:(false true never)' \
      '--do-sample=[beam]:false|true:(false true)' \
      '--renormalize-logits=[beam]:false|true:(false true)' \
      '--num-return-sequences=[beam|best-of]:N: ' \
      '--penalty-alpha=[contrastive]:X: ' \
      '--num-candidates=[contrastive]:N: ' \
      '--amateur-model=[contrastive-decoding]:N: ' \
      '--amateur-weight=[contrastive-decoding]:X: ' \
      '--amateur-temperature=[contrastive-decoding]:X: ' \
      '--relative-top=[contrastive-decoding|dola]:X: ' \
      '--dola-layers=[dola]:TEXT: ' \
      '--simulations=[tree]:N: ' \
      '--tree-width=[tree]:N: ' \
      '--c-puct=[tree]:X: ' \
      '--value=[tree]:TEXT: ' \
      '--best-of=[best-of]:N: ' \
      '--majority=[best-of]:TEXT: ' \
      '--amateur=[a model with the same vocabulary that knows less, for --strategy contrastive-decoding]:MODEL:_runnel_models' \
      '--value-model=[a model with the same vocabulary that says what texts are worth, for --strategy tree with --value model]:MODEL:_runnel_models' \
      '--early-layers=[layers of the first model that requests with the strategy dola may compare with]:low|high|N,N..:(low high)' \
      '(-n --max-tokens)-n+[maximum number of tokens to generate]:N: ' \
      '(-n --max-tokens)--max-tokens=[maximum number of tokens to generate]:N: ' \
      '*--stop=[end before this text]:TEXT: ' \
      '*--stop-token=[end at this token, in addition to the model'\''s end tokens]:ID: ' \
      '--ignore-eos[do not stop at the model'\''s end tokens]' \
      '--draft=[a smaller model, best with the same vocabulary, which guesses what follows]:MODEL:_runnel_models' \
      '--ngram-cache=[counts of what followed what in other texts, which guess what follows]:FILE:_files' \
      '*--speculate=[guess what follows, the same text in fewer steps]:NAME:(none ngram suffix ngram-cache lookahead draft mtp medusa=FILE eagle=FILE layer-skip=LAYERS)' \
      '--no-speculate[guess nothing, as --speculate none]' \
      '--draft-max=[guesses of a step, at most]:N: ' \
      '--draft-min=[guesses of a step, at least, whether they pay or not]:N: ' \
      '--draft-min-p=[with --draft]:P: ' \
      '--spec-verify=[how guesses are verified]:match|reject|typical:(match reject typical)' \
      '--special[show control tokens in the text]' \
      '--parse-special[parse control tokens in the prompt]' \
      '--token-healing[let the answer begin inside the prompt'\''s last word]' \
      '--no-forced-tokens[draw also tokens that the form of the answer leaves no choice about]' \
      '--echo[output the prompt before the generated text]' \
      '--logprobs=[in JSON, give each token'\''s log-probability and the K best candidates, 0..20]:K: ' \
      '--sampled-logprobs=[in JSON, also what each token was drawn from, after all sampling stages, and entropies, 0..20]:K: ' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_files'
    ;;
  score)
    _arguments -s -S \
      '(-p --prompt)-p+[the text, like TEXT]:TEXT: ' \
      '(-p --prompt)--prompt=[the text, like TEXT]:TEXT: ' \
      '--ids=[these token ids\: 1,2,3]:LIST: ' \
      '(-f --text-file)-f+[the file'\''s text, with the model'\''s begin and end tokens]:FILE:_files' \
      '(-f --text-file)--text-file=[the file'\''s text, with the model'\''s begin and end tokens]:FILE:_files' \
      '--parse-special[control tokens spelled in the text become those tokens]' \
      '--logits=[write all logits, float32 \[tokens\]\[vocabulary\]]:OUT.npy:_files' \
      '--kl=[compare with this reference model, such as the one that MODEL was quantized from]:REFERENCE: ' \
      '--html=[also write a page]:FILE:_files' \
      '--json[{"nll"\: \[..\], "argmax"\: \[..\], "ppl"\: ..}, with --kl also {"kl"\: {"mean"\: .., "p99"\: .., "top1"\: ..}}]' \
      '*--image=[a picture in the prompt, for models that see\: PNG, JPEG, WebP, GIF or BMP]:FILE:_files' \
      '*--video=[a video in the prompt, for models that take some]:FILE:_files' \
      '--video-fps=[look at X frames of each second of a video]:X: ' \
      '--video-frames=[look at N frames of a video, whatever its length]:N: ' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--mmproj=[the vision part of the model, for pictures]:FILE:_files' \
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
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--mmproj=[the vision part of the model, for pictures]:FILE:_files' \
      '(-f --file)-f+[embed each line of the file]:FILE:_files' \
      '(-f --file)--file=[embed each line of the file]:FILE:_files' \
      '--pooling=[how the tokens'\'' vectors become one]:model|none|mean|first|last|rank:(model none mean first last rank)' \
      '--query=[score each text as an answer to this query, with the model'\''s template for rerankers or as an encoder'\''s pair of texts]:TEXT: ' \
      '--prompt-name=[put the model'\''s prompt of this name before each text, such as query]:NAME: ' \
      '--dimensions=[the first N numbers of each vector, scaled to length 1 again, of models trained so]:N: ' \
      '--no-normalize[do not scale the vector to length 1]' \
      '--encoding=[numbers, or base64 of their bytes as float32, little-endian]:float|base64:(float base64)' \
      '--json[{"index"\: .., "n_tokens"\: .., "embedding"\: \[..\]} for each text]' \
      '--parallel=[texts evaluated at once, 1..1024]:N: ' \
      '--image=[in place of texts, a picture\: PNG, JPEG, WebP, GIF or BMP]:FILE:_files' \
      '--stage=[decoded]:decoded|pixels|features|projected:(decoded pixels features projected)' \
      '--npy=[where they go, in NumPy'\''s format]:FILE:_files' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  tokenize)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-f --file)-f+[the file'\''s text]:FILE:_files' \
      '(-f --file)--file=[the file'\''s text]:FILE:_files' \
      '--add-special[add the model'\''s begin and end tokens]' \
      '--parse-special[parse control tokens]' \
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
  watermark)
    _arguments -s -S \
      '--watermark=[the keys, as they were given to runnel run\: {"keys"\: \[..\], "ngram_len"\: 5, ..}]:FILE:_files' \
      '--ids=[token ids of the text, in place of the text]:LIST: ' \
      '--p-value=[the verdict is yes if a text without the watermark scores as high with at most this probability, 0..1]:P: ' \
      '--json[write the result as JSON]' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  grammar)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '--check=[check the text of FILE]:FILE:_files' \
      '--cases[check many cases, each a line of JSON from stdin]' \
      '--parse-special[control tokens spelled in a text become those tokens]' \
      '--json-schema=[JSON that this JSON Schema allows]:FILE:_files' \
      '--json-mode[any JSON object]' \
      '--regex=[a text that the regular expression R matches as a whole]:R: ' \
      '--grammar=[a text of this context-free grammar, GBNF or Lark]:FILE:_files' \
      '--structural-tag=[free text in which tags hold forms, as XGrammar'\''s structural tags in FILE say]:FILE:_files' \
      '--choice=[TEXT, or one of several]:TEXT: ' \
      '--json-space=[white space within JSON]:dumps|compact|free:(dumps compact free)' \
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
      '--builtin=[a built-in template, by name]:NAME: ' \
      '--segments[a line of JSON for each part of the text, saying whether it comes from the template or from a variable]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  pull)
    _arguments -s -S \
      '(-j --connections)-j+[connections to fetch a file over, 1..16]:N: ' \
      '(-j --connections)--connections=[connections to fetch a file over, 1..16]:N: ' \
      '--timeout=[seconds after which a connection that brings nothing is given up and made anew, 1..3600]:SECONDS: ' \
      '--dry-run[say which files would be fetched, and fetch none]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  list)
    _arguments -s -S \
      '--json[a JSON line for each model]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  show)
    _arguments -s -S \
      '--json[one JSON object]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_runnel_models'
    ;;
  rm)
    _arguments -s -S \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_runnel_models'
    ;;
  config)
    _arguments -s -S \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_runnel_models'
    ;;
  info)
    _arguments -s -S \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--json[one JSON object]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_runnel_models'
    ;;
  bench)
    _arguments -s -S \
      '(-p --n-prompt)-p+[prompt tokens]:N,...: ' \
      '(-p --n-prompt)--n-prompt=[prompt tokens]:N,...: ' \
      '(-n --n-gen)-n+[generated tokens]:N,...: ' \
      '(-n --n-gen)--n-gen=[generated tokens]:N,...: ' \
      '(-b --batch)-b+[streams that run at once, 1..64]:N,...: ' \
      '(-b --batch)--batch=[streams that run at once, 1..64]:N,...: ' \
      '(-d --depth)-d+[tokens in each context beforehand]:N,...: ' \
      '(-d --depth)--depth=[tokens in each context beforehand]:N,...: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N,...: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N,...: ' \
      '--kv-type=[how keys and values are kept]:TYPE,...: ' \
      '(-r --repeats)-r+[runs of each, 1..100]:N: ' \
      '(-r --repeats)--repeats=[runs of each, 1..100]:N: ' \
      '--no-limits[do not measure the machine'\''s memory bandwidth and arithmetic]' \
      '--json[write a JSON array with an object for each configuration]' \
      '--html=[also write a page]:FILE:_files' \
      '--vs=[compare with a file that --json wrote]:FILE:_files' \
      '--fail-on-regression[with --vs]' \
      '--profile[one more run of each, with its time by operation and by layer]' \
      '--trace=[one more run of each as a timeline in Chrome'\''s trace format]:FILE:_files' \
      '*-m+[a GGUF file, or the name of a fetched model]:MODEL:_runnel_models' \
      '*--model=[a GGUF file, or the name of a fetched model]:MODEL:_runnel_models' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  convert)
    _arguments -s -S \
      '--type=[type of the matrices, see below]:TYPE: ' \
      '--imatrix=[importance matrix, from `runnel imatrix` or from llama.cpp]:FILE:_files' \
      '*--keep=[use this type for matrices whose name matches\: *ffn_down*=Q6_K]:PATTERN=TYPE: ' \
      '--allow-requantize[quantize matrices that are quantized already, too]' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--json[print a JSON line for each tensor, and one for the file]' \
      '--lora[FOLDER is a PEFT adapter]' \
      '(-m --model)-m+[with --lora]:MODEL:_runnel_models' \
      '(-m --model)--model=[with --lora]:MODEL:_runnel_models' \
      '--draft-heads[FOLDER has Medusa heads or an EAGLE head, or is the file of these]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_files'
    ;;
  merge)
    _arguments -s -S \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '--type=[type of the matrices, see below]:TYPE: ' \
      '--imatrix=[importance matrix, from `runnel imatrix` or from llama.cpp]:FILE:_files' \
      '*--keep=[use this type for matrices whose name matches\: *ffn_down*=Q6_K]:PATTERN=TYPE: ' \
      '--allow-requantize[quantize matrices that are quantized already, too]' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--json[print a JSON line for each tensor, and one for the file]' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument:_runnel_models'
    ;;
  quantize)
    _arguments -s -S \
      '--imatrix=[importance matrix, from `runnel imatrix` or from llama.cpp]:FILE:_files' \
      '*--keep=[use this type for matrices whose name matches\: *ffn_down*=Q6_K]:PATTERN=TYPE: ' \
      '--allow-requantize[quantize matrices that are quantized already, too]' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--json[print a JSON line for each tensor, and one for the file]' \
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
      '--chunk=[tokens in each chunk of text]:N: ' \
      '(-m --model)-m+[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-m --model)--model=[a GGUF file, any part of a split one, a Hugging Face folder, or the name of a fetched model]:MODEL:_runnel_models' \
      '(-c --ctx)-c+[context length in tokens]:N: ' \
      '(-c --ctx)--ctx=[context length in tokens]:N: ' \
      '(-t --threads)-t+[compute threads, 1..64]:N: ' \
      '(-t --threads)--threads=[compute threads, 1..64]:N: ' \
      '--kv-type=[how keys and values are kept]:f16|f32|q8|bf16:(f16 f32 q8 bf16)' \
      '--cpu=[kernel set]:SET:(ref avx2 avx512 avx512vnni amx neon neondot neoni8mm)' \
      '--load=[map the file, read it into memory, or map and lock it there]:map|read|lock:(map read lock)' \
      '--no-repack[use the weights as the file stores them]' \
      '(-v --verbose)-v[print on stderr what was chosen and why]' \
      '(-v --verbose)--verbose[print on stderr what was chosen and why]' \
      '--lora=[a LoRA adapter of the model]:FILE[=SCALE]:_files' \
      '(-h --help)-h[show this page]' \
      '(-h --help)--help[show this page]' \
      '--version[show the program'\''s version]' \
      '*:argument: '
    ;;
  help)
    _arguments -s -S \
      '*:argument:(run infill chat chats compare serve batch score embed tokenize detokenize watermark grammar template pull list show rm config info bench convert merge quantize imatrix)'
    ;;
  version)
    _arguments -s -S \
      '*:argument: '
    ;;
  esac
}

_runnel "$@"
