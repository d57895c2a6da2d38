"""Sampling parameters and logit processors as plain data, and back: what shaped a trace's laws. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from headstart.errors import RefusedError
from headstart.grammar import Grammar, Matcher
from headstart.processors import Ban, Bias, Force, Grammatical, MinTokens, Penalties, Processor
from headstart.sampling import Sampling

__all__ = ["sampling_of", "sampling_record"]

PLAIN: Mapping[str, Any] = MappingProxyType({kind.__name__: kind for kind in (Penalties, Bias, Ban, MinTokens, Force)})
"""Processors that their fields make up."""


def sampling_record(sampling: Sampling) -> dict[str, Any]:
    """What a trace's header says of sampling; a processor that is code is named only."""
    return {**sampling.as_dict(), "processors": [_record(processor) for processor in sampling.processors]}


def sampling_of(record: Mapping[str, Any], *, tokenizer: Any = None, vocab_size: int) -> Sampling:
    """The sampling that a header describes.

    Raises
    ------
    RefusedError
        If a processor was code, or a grammar and no tokenizer is given to read it by.
    """
    parameters = dict(record)
    processors = parameters.pop("processors")
    return Sampling(**parameters, processors=tuple(_processor(each, tokenizer, vocab_size) for each in processors))


def _record(processor: Processor) -> dict[str, Any]:
    name = type(processor).__name__
    if name in PLAIN:
        return {"name": name, **asdict(processor)}  # type: ignore[call-overload]
    if isinstance(processor, Grammatical):
        return {"name": name, **asdict(processor.matcher.grammar)}
    return {"name": name}


def _processor(record: Mapping[str, Any], tokenizer: Any, vocab_size: int) -> Processor:
    fields = dict(record)
    name = fields.pop("name")
    if name in PLAIN:
        processor: Processor = PLAIN[name](**{key: _field(value) for key, value in fields.items()})
        return processor
    if name == "Grammatical" and tokenizer is not None:
        return Grammatical(Matcher(Grammar(**fields), tokenizer, vocab_size))
    raise RefusedError(f"the laws were shaped by {name}, which a trace names but does not hold")


def _field(value: Any) -> Any:
    """A field as it was: JSON knows no tuples, and only text as keys."""
    if isinstance(value, Mapping):
        return {int(key): each for key, each in value.items()}
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
