"""Make the chat goldens beside this file: what transformers renders for templates in the styles of published models.

Needs transformers, and the catalog's model through the gguf package; run by hand, `python tests/golden/make_chat.py`.
The tests read only what it leaves in `chat.json` and `smollm.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import jinja2
import tokenizers
from make_tokenizers import ids_of
from tokenizers import decoders, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from headstart import models

FOLDER = Path(__file__).parent

TEMPLATES = {
    "system by default": """{%- if messages[0].role != 'system' %}<|im_start|>system
You are helpful.<|im_end|>
{% endif %}
{%- for message in messages %}
    <|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}""",
    "instructions between brackets": """{{ bos_token }}
{%- set ns = namespace(system='') %}
{%- if messages[0].role == 'system' %}{% set ns.system = messages[0].content ~ '\\n\\n' %}{% set messages = messages[1:] %}{% endif %}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate.') }}
    {%- endif %}
    {%- if message.role == 'user' %}{{ ' [INST] ' + (ns.system if loop.first else '') + message.content | trim + ' [/INST]' }}
    {%- else %}{{ ' ' + message.content | trim + eos_token }}{% endif %}
{%- endfor %}""",
    "headers": """{% for message in messages %}
{% set content = '<|start|>' + message['role'] + '<|end|>\\n\\n' + message['content'] | trim + '<|stop|>' %}
{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}
{{ content }}
{% endfor %}
{% if add_generation_prompt %}{{ '<|start|>assistant<|end|>\\n\\n' }}{% endif %}""",
    "thoughts left out": """{%- for message in messages %}
    {%- set text = message.content if message.content is string else '' %}
    {%- if message.role == 'assistant' and '</think>' in text and not loop.last %}
        {%- set text = text.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {{- '[' + message.role | upper + '] ' + text + '\\n' }}
    {%- if loop.index > 9 %}{% break %}{% endif %}
{%- endfor %}
{%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\\n\\n</think>\\n' }}{% endif %}""",
    "tools": """{%- if tools %}{% for tool in tools %}{{ tool | tojson(indent=2) }}
{% endfor %}{% endif %}
{%- for message in messages %}
    {%- generation %}{{ message | tojson }}{% endgeneration %}
    {%- if not loop.last %}{% continue %}{% endif %}
    {{- '|' ~ messages | length }}
{%- endfor %}""",
}

CONVERSATIONS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "Why is the sky blue?"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "  Hi \n"}],
    [
        {"role": "user", "content": '2 < 3 & "so"? 你好 é\n\n'},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."},
        {"role": "user", "content": "Thanks </think> 👍"},
    ],
    [{"role": "assistant", "content": "I begin."}, {"role": "user", "content": ""}],
]
TOOLS = [
    {"type": "function", "function": {"name": "look", "description": "Größe <b>", "parameters": {"type": "object"}}}
]
VARIABLES: list[dict[str, Any]] = [{}, {"tools": TOOLS, "enable_thinking": False}]


def real_tokenizer() -> PreTrainedTokenizerFast:
    """SmolLM2's as transformers has it, from the vocabulary in the GGUF file."""
    fields = gguf.GGUFReader(models.pull("smollm2-135m-instruct")).fields
    tokens, kinds, merges = (fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges"))
    vocab = {token: index for index, token in enumerate(tokens)}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [tuple(merge.split(" ")) for merge in merges]))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<|im_start|>", eos_token="<|im_end|>")
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == 3]
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    tokenizer.chat_template = fields["tokenizer.chat_template"].contents()
    return tokenizer


def rendered(tokenizer: PreTrainedTokenizerFast) -> list[dict[str, Any]]:
    """Text of every template, conversation and choice of variables; None where the template refuses."""
    cases = []
    for template in TEMPLATES.values():
        for messages in CONVERSATIONS:
            for variables in VARIABLES:
                case = {"template": template, "messages": messages, "variables": variables}
                cases.append(case | {"text": applied(tokenizer, case)})
    return cases


def applied(tokenizer: PreTrainedTokenizerFast, case: dict[str, Any]) -> str | None:
    options = {"tokenize": False, "add_generation_prompt": True, **case["variables"]}
    try:
        return tokenizer.apply_chat_template(case["messages"], chat_template=case["template"], **options)
    except jinja2.TemplateError as error:
        if "alternate" not in str(error):
            raise
        return None


def write(name: str, content: Any) -> None:
    (FOLDER / name).write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    tokenizer = real_tokenizer()
    write("chat.json", rendered(tokenizer))
    chats = [
        {"messages": messages, "ids": tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]}
        for messages in CONVERSATIONS
    ]
    write("smollm.json", {"texts": ids_of(tokenizer), "chats": chats})
