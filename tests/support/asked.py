"""Every parameter that a request may carry into its rows or its ends, by name, with values that change the answer.

``TOY`` is for the world of love, hate and ``</s>``, of which everything can be enumerated; ``REAL`` for the random model of
300 tokens. Both hold the same names: those lines of docs/exactness.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from headstart.grammar import Grammar

__all__ = ["REAL", "TOY"]


def dead_end(logits: Any, history: Any, prompt_length: int) -> Any:
    """Nothing may follow two equal words."""
    return np.full_like(logits, -np.inf) if len(history) > prompt_length + 1 and history[-1] == history[-2] else logits


def odd_only(logits: Any, history: Any, prompt_length: int) -> Any:
    """Depends on the last token of the history."""
    logits[history[-1] % 2 :: 2] -= 9.0
    return logits


TOY: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "max_tokens": {"max_tokens": 2},
        "min_tokens": {"min_tokens": 2, "stop_token_ids": [1]},
        "temperature": {"temperature": 0.6},
        "top_k": {"top_k": 2},
        "top_p": {"top_p": 0.8},
        "min_p": {"min_p": 0.3},
        "typical_p": {"typical_p": 0.7},
        "repetition_penalty": {"repetition_penalty": 1.7},
        "presence_penalty": {"presence_penalty": 0.5},
        "frequency_penalty": {"frequency_penalty": 0.4},
        "logit_bias": {"logit_bias": {1: 0.8}},
        "banned_tokens": {"banned_tokens": [0]},
        "forced_tokens": {"forced_tokens": {1: 1}},
        "processors": {"processors": [dead_end]},
        "grammar": {"grammar": Grammar("regex", "( love)+( hate)?")},
        "stop": {"stop": ["e h", "hate"]},
        "include_stop": {"stop": ["ate", "love love"], "include_stop": True},
        "stop_token_ids": {"stop_token_ids": [1]},
        "ignore_eos": {"ignore_eos": True},
        "logprobs": {"logprobs": 1},
        "prompt_logprobs": {"prompt_logprobs": 1},
    }
)
REAL: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "max_tokens": {"max_tokens": 13},
        "min_tokens": {"min_tokens": 12, "stop_token_ids": list(range(0, 300, 3))},
        "temperature": {"temperature": 0.6},
        "top_k": {"top_k": 4},
        "top_p": {"top_p": 0.5},
        "min_p": {"min_p": 0.2},
        "typical_p": {"typical_p": 0.4},
        "repetition_penalty": {"repetition_penalty": 2.0},
        "presence_penalty": {"presence_penalty": 2.0},
        "frequency_penalty": {"frequency_penalty": 2.0},
        "logit_bias": {"logit_bias": dict.fromkeys(range(100), 2.0)},
        "banned_tokens": {"banned_tokens": list(range(100, 250))},
        "forced_tokens": {"forced_tokens": {0: 9, 5: 10, 6: 11}},
        "processors": {"processors": [odd_only]},
        "grammar": {"grammar": Grammar("regex", "[0-9]+(,[0-9]+)*;")},
        "stop": {"stop": list("etaoin")},
        "include_stop": {"stop": list("etaoin"), "include_stop": True},
        "stop_token_ids": {"stop_token_ids": list(range(3, 300, 9))},
        "ignore_eos": {"ignore_eos": True, "logit_bias": {2: 6.0}},
        "logprobs": {"logprobs": 3},
        "prompt_logprobs": {"prompt_logprobs": 2},
    }
)
