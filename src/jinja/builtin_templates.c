// jinja/builtin_templates.c - see builtin_templates.h: one row for each format.
#include "jinja/builtin_templates.h"
#include <string.h>

// The beginning of every template. said(m): the text of a message, whether its content is a string
// or parts. fail(m): raises an error for a role that the format does not support.
#define HEAD                                                                                                         \
    "{%- if tools %}{{ raise_exception('tools: this built-in chat template has no form for them') }}{% endif -%}\n"  \
    "{%- macro said(m) -%}\n"                                                                                        \
    "{%- if m.content is string %}{{ m.content }}\n"                                                                 \
    "{%- elif m.content %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif -%}\n"                      \
    "{%- endmacro -%}\n"                                                                                             \
    "{%- macro fail(m) -%}\n"                                                                                        \
    "{{ raise_exception('role: this built-in chat template has no form for ' + m.role) }}\n"                         \
    "{%- endmacro -%}\n"

// Formats in which all roles are written alike: BEFORE the role, BEHIND it, and END after the
// content.
#define ALIKE(FIRST, BEFORE, BEHIND, SAID, END)                                                                      \
    HEAD FIRST "{%- for m in messages %}{{ '" BEFORE "' + m.role + '" BEHIND "' + " SAID " + '" END                  \
               "' }}{% endfor -%}\n"                                                                                 \
               "{%- if add_generation_prompt %}{{ '" BEFORE "assistant" BEHIND "' }}{% endif -%}\n"

// Formats that write the system message as part of the next user message.
#define WITH_SYSTEM_BEFORE_USER(SYSTEM, USER, ASSISTANT, PROMPT)                                                     \
    HEAD "{%- set at = namespace(system='') -%}\n"                                                                   \
         "{{- bos_token -}}\n"                                                                                       \
         "{%- for m in messages -%}\n"                                                                               \
         "{%- if m.role == 'system' or m.role == 'developer' %}{% set at.system = at.system + " SYSTEM " -%}\n"      \
         "{%- elif m.role == 'user' %}{{ " USER " }}{% set at.system = '' -%}\n"                                     \
         "{%- elif m.role == 'assistant' %}{{ " ASSISTANT " }}\n"                                                    \
         "{%- else %}{{ fail(m) }}{% endif -%}\n"                                                                    \
         "{%- endfor -%}\n"                                                                                          \
         "{%- if add_generation_prompt %}{{ '" PROMPT "' }}{% endif -%}\n"

// Formats that write each role in its own way.
#define OF_ROLES(FIRST, SYSTEM, USER, ASSISTANT, PROMPT)                                                             \
    HEAD FIRST "{%- for m in messages -%}\n"                                                                         \
               "{%- if m.role == 'system' or m.role == 'developer' %}{{ " SYSTEM " }}\n"                             \
               "{%- elif m.role == 'user' %}{{ " USER " }}\n"                                                        \
               "{%- elif m.role == 'assistant' %}{{ " ASSISTANT " }}\n"                                              \
               "{%- else %}{{ fail(m) }}{% endif -%}\n"                                                              \
               "{%- endfor -%}\n"                                                                                    \
               "{%- if add_generation_prompt %}{{ " PROMPT " }}{% endif -%}\n"

#define BOS "{{- bos_token -}}\n"

const struct builtin_template builtin_templates[] = {
    {"chatml", "Qwen, SmolLM, Yi and many others: <|im_start|>",
     ALIKE("", "<|im_start|>", "\\n", "said(m)", "<|im_end|>\\n")},
    {"llama-2", "Llama 2 Chat, Code Llama: [INST] <<SYS>>",
     HEAD "{%- set at = namespace(system='') -%}\n"
          "{%- for m in messages -%}\n"
          "{%- if m.role == 'system' %}{% set at.system = '<<SYS>>\\n' + said(m) + '\\n<</SYS>>\\n\\n' -%}\n"
          "{%- elif m.role == 'user' %}{{ bos_token ~ '[INST] ' + at.system + said(m) | trim + ' [/INST]' }}"
          "{% set at.system = '' -%}\n"
          "{%- elif m.role == 'assistant' %}{{ ' ' + said(m) | trim + ' ' ~ eos_token }}\n"
          "{%- else %}{{ fail(m) }}{% endif -%}\n"
          "{%- endfor -%}\n"},
    {"llama-3", "Llama 3: <|start_header_id|>",
     ALIKE(BOS, "<|start_header_id|>", "<|end_header_id|>\\n\\n", "said(m) | trim", "<|eot_id|>")},
    {"llama-4", "Llama 4: <|header_start|>",
     ALIKE(BOS, "<|header_start|>", "<|header_end|>\\n\\n", "said(m) | trim", "<|eot|>")},
    {"mistral", "Mistral 7B Instruct v0.3 and its like: [INST] without <<SYS>>",
     WITH_SYSTEM_BEFORE_USER("said(m) + '\\n\\n'", "'[INST] ' + at.system + said(m) + '[/INST]'",
                             "' ' + said(m) | trim ~ eos_token", "")},
    {"gemma", "Gemma 1 to 3: <start_of_turn>",
     WITH_SYSTEM_BEFORE_USER(
         "said(m) | trim + '\\n\\n'", "'<start_of_turn>user\\n' + at.system + said(m) | trim + '<end_of_turn>\\n'",
         "'<start_of_turn>model\\n' + said(m) | trim + '<end_of_turn>\\n'", "<start_of_turn>model\\n")},
    {"phi-3", "Phi-3: <|user|> and <|end|>",
     OF_ROLES("", "'<|system|>\\n' + said(m) + '<|end|>\\n'", "'<|user|>\\n' + said(m) + '<|end|>\\n'",
              "'<|assistant|>\\n' + said(m) + '<|end|>\\n'", "'<|assistant|>\\n'")},
    {"phi-4", "Phi-4: <|im_start|> and <|im_sep|>", ALIKE("", "<|im_start|>", "<|im_sep|>", "said(m)", "<|im_end|>")},
    {"zephyr", "Zephyr, TinyLlama Chat: <|user|> and the end token",
     OF_ROLES("", "'<|system|>\\n' + said(m) ~ eos_token ~ '\\n'", "'<|user|>\\n' + said(m) ~ eos_token ~ '\\n'",
              "'<|assistant|>\\n' + said(m) ~ eos_token ~ '\\n'", "'<|assistant|>\\n'")},
    {"vicuna", "Vicuna 1.1 and 1.5: USER: and ASSISTANT:",
     OF_ROLES(BOS, "said(m) + ' '", "'USER: ' + said(m) + ' ASSISTANT:'", "' ' + said(m) ~ eos_token", "''")},
    {"alpaca", "Alpaca and its like: ### Instruction:",
     OF_ROLES(BOS, "said(m) + '\\n\\n'", "'### Instruction:\\n' + said(m) + '\\n\\n### Response:\\n'",
              "said(m) + '\\n\\n'", "''")},
    {"deepseek", "DeepSeek V2.5, V3, R1: <\xEF\xBD\x9CUser\xEF\xBD\x9C>",
     OF_ROLES(BOS, "said(m)", "'<\xEF\xBD\x9CUser\xEF\xBD\x9C>' + said(m)",
              "'<\xEF\xBD\x9C"
              "Assistant\xEF\xBD\x9C>' + said(m) ~ eos_token",
              "'<\xEF\xBD\x9C"
              "Assistant\xEF\xBD\x9C>'")},
    {"command-r", "Command R: <|START_OF_TURN_TOKEN|>",
     OF_ROLES(BOS, "'<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + said(m) | trim + '<|END_OF_TURN_TOKEN|>'",
              "'<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + said(m) | trim + '<|END_OF_TURN_TOKEN|>'",
              "'<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' + said(m) | trim + '<|END_OF_TURN_TOKEN|>'",
              "'<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>'")},
    {"granite", "Granite 3: <|start_of_role|>",
     ALIKE("", "<|start_of_role|>", "<|end_of_role|>", "said(m)", "<|end_of_text|>\\n")},
};
const size_t n_builtin_templates = sizeof builtin_templates / sizeof *builtin_templates;

const struct builtin_template *builtin_template_named(const char *name) {
    for (size_t i = 0; i < n_builtin_templates; i++)
        if (strcmp(builtin_templates[i].name, name) == 0) return &builtin_templates[i];
    return NULL;
}
