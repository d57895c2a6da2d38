"""Random requests: a model, a drafter scripted to any accept pattern, and any mix of parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from headstart.engine import Engine
from headstart.errors import HeadstartError
from headstart.grammar import Grammar
from headstart.protocols import Model
from headstart.request import Request
from headstart.result import Result
from headstart.toy import TableModel, random_world
from support.kit import Scripted, random_model
from support.other import Other
from support.tiny import tiny_tokenizer

__all__ = ["Trial", "answer", "trials"]

GRAMMARS = (
    Grammar("regex", "[0-9]+(,[0-9]+)*;"),
    Grammar("regex", "(yes|no)[.!]?"),
    Grammar.json_schema({"type": "array", "items": {"type": "boolean"}}),
    Grammar("regex", "[a-z]{2,4}", after="e"),
)


@dataclass(frozen=True)
class Trial:
    """One request, and how its drafter behaves."""

    model: str
    prompt: tuple[int, ...]
    drafter: str
    wrong_places: tuple[int, ...]
    draft_length: int
    options: dict[str, Any] = field(hash=False)


def odd_only(logits: Any, history: Any, prompt_length: int) -> Any:
    """A custom processor that depends on the last token of the history."""
    logits[history[-1] % 2 :: 2] -= 1.5
    return logits


@cache
def model_of(name: str) -> tuple[Model, Any]:
    """A model and its tokenizer by name: an untrained pair, one with a window of 8, or a table."""
    if name == "table":
        world = random_world(12, seed=4)
        return TableModel(lru_cache(4096)(world.target), 12), world.tokenizer()
    return random_model(seed=2, window=8 if name == "window" else None), tiny_tokenizer()


def trials(*, model: str | None = None) -> st.SearchStrategy[Trial]:
    """Any request."""
    names = st.sampled_from(["pair", "window", "table"]) if model is None else st.just(model)
    return names.flatmap(_trials_on)


def _trials_on(name: str) -> st.SearchStrategy[Trial]:
    vocab = model_of(name)[0].vocab_size
    token = st.integers(0, vocab - 1)
    maybe: dict[str, st.SearchStrategy[Any]] = {
        "temperature": st.sampled_from([0.0, 0.3, 1.0, 1.5]),
        "top_k": st.integers(0, 10),
        "top_p": st.sampled_from([1.0, 0.9, 0.5]),
        "min_p": st.sampled_from([0.0, 0.05, 0.3]),
        "typical_p": st.sampled_from([1.0, 0.8]),
        "repetition_penalty": st.sampled_from([0.8, 1.3, 2.0]),
        "presence_penalty": st.sampled_from([-1.0, 0.7]),
        "frequency_penalty": st.sampled_from([-0.4, 0.6]),
        "logit_bias": st.dictionaries(token, st.sampled_from([-100.0, -2.0, 3.0]), max_size=3),
        "banned_tokens": st.lists(token, max_size=3),
        "forced_tokens": st.dictionaries(st.integers(0, 20), token, max_size=3),
        "processors": st.just([odd_only]),
        "min_tokens": st.integers(0, 12),
        "stop_token_ids": st.lists(token, min_size=1, max_size=vocab // 4),
        "include_stop": st.booleans(),
        "logprobs": st.integers(0, 4),
        "prompt_logprobs": st.integers(0, 2),
    }
    if name != "table":
        maybe["grammar"] = st.sampled_from(GRAMMARS)
        maybe["stop"] = st.lists(st.text("eat s0123,;yno", min_size=1, max_size=3), min_size=1, max_size=3)
    options = st.fixed_dictionaries({"max_tokens": st.integers(12, 32), "seed": st.integers(0, 1000)}, optional=maybe)
    return st.builds(
        Trial,
        st.just(name),
        st.lists(token, min_size=1, max_size=9).map(tuple),
        st.sampled_from([*["scripted"] * 4, "branching", "lookup", "model", "larger", "smaller", "other", "strings"]),
        st.lists(st.integers(0, 8), min_size=1, max_size=6).map(tuple),
        st.integers(1, 8),
        options,
    )


def answer(trial: Trial, *, drafted: bool, meddle: Callable[[Request], None] | None = None) -> Result:
    """Run a trial, plainly or drafted; ``meddle`` may plant a fault in the drafted request."""
    model, tokenizer = model_of(trial.model)
    ignore_eos = "grammar" not in trial.options
    how = _drafter(trial, model, tokenizer) if drafted else {"drafter": "none"}
    with (
        Engine(model, tokenizer=tokenizer, ignore_eos=ignore_eos, **how) as engine,
        engine.stream(list(trial.prompt), draft_length=trial.draft_length, **trial.options) as stream,
    ):
        if meddle is not None and drafted:
            meddle(stream.request)
        pieces = list(stream)
    result = stream.result
    assert "failed" not in (result.statistics.note or ""), result.statistics.note
    if meddle is None:
        assert "".join(piece.text for piece in pieces) == result.text
        assert tuple(token for piece in pieces for token in piece.tokens) == result.tokens
    return result


def _drafter(trial: Trial, model: Model, tokenizer: Any) -> dict[str, Any]:
    if trial.drafter == "lookup":
        return {"drafter": "lookup"}
    if trial.drafter == "model":
        return {"draft_model": model, "draft_vocabulary": "same"}
    if trial.drafter in ("larger", "smaller"):
        return {"draft_model": _padded(trial.model, model.vocab_size, 20 if trial.drafter == "larger" else -20)}
    if trial.drafter in ("other", "strings") and trial.model != "table":
        return {"draft_model": Other(), "draft_vocabulary": "auto" if trial.drafter == "other" else "strings"}
    truth = [*trial.prompt, *unended(trial)]
    branch = trial.drafter == "branching"
    return {"drafter": Scripted(truth, trial.wrong_places, vocab=model.vocab_size, branch=branch)}


@cache
def _padded(name: str, vocab_size: int, more: int) -> Model:
    """A draft model of another size."""
    if name == "table":
        return random_world(vocab_size + more // 4, seed=5).model()
    return random_model(seed=4, vocab=vocab_size + more)


def unended(trial: Trial) -> tuple[int, ...]:
    """What plain decoding writes if nothing ends it but the limit, or a dead end: drafts run on past every end."""
    ends = ("stop", "stop_token_ids", "logprobs", "prompt_logprobs", "include_stop")
    options = {name: value for name, value in trial.options.items() if name not in ends} | {"max_tokens": 40}
    model, tokenizer = model_of(trial.model)
    with (
        Engine(model, tokenizer=tokenizer, ignore_eos="grammar" not in options, drafter="none") as engine,
        contextlib.suppress(HeadstartError),
        engine.stream(list(trial.prompt), **options) as stream,
    ):
        list(stream)
    tokens = stream.result.tokens
    filler = np.random.default_rng(trial.options["seed"]).integers(model.vocab_size, size=12)
    return (*tokens, *filler.tolist())
