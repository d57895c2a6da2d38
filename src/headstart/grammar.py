"""Structured output: which tokens a grammar allows after any text, asked of llguidance.

One matcher per request stands somewhere in the text; asked about another place, which may lie on another branch of a
draft, it rolls back what differs and reads on. Knows nothing of logits or drafts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError, RefusedError
from headstart.prefixes import common_length

__all__ = ["Grammar", "Matcher"]


Kind = Literal["json_schema", "regex", "lark"]
"""What a grammar is written in."""


@dataclass(frozen=True)
class Grammar:
    """What the answer must look like.

    Parameters
    ----------
    kind : {"json_schema", "regex", "lark"}
        ``lark`` is a context-free grammar in Lark's notation with a ``start`` rule.
    source : str
        The schema as JSON text, the expression, or the grammar.
    after : str or None
        Free text until this marker, then the grammar, then free text again; None constrains the whole answer.

    Raises
    ------
    InputError
        For an unknown kind, an empty marker, or a schema that is not JSON.
    """

    kind: Kind
    source: str
    after: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("json_schema", "regex", "lark"):
            raise InputError(f"grammar kind {self.kind!r} is unknown; use json_schema, regex or lark")
        if self.after == "":
            raise InputError("the marker that a grammar begins after is empty; give at least one character")
        if self.kind == "json_schema":
            try:
                json.loads(self.source)
            except ValueError as error:
                raise InputError(f"the JSON schema is not JSON: {error}; give an object such as {{}}") from error
            except RecursionError:
                raise InputError("the JSON schema is nested too deeply to be read; give a flatter one") from None

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any] | str, *, after: str | None = None) -> Grammar:
        """Grammar of the JSON texts that a schema admits."""
        return cls("json_schema", schema if isinstance(schema, str) else json.dumps(schema), after)

    def text(self) -> str:
        """The grammar in llguidance's own notation."""
        from llguidance import LLMatcher

        if self.after is None:
            if self.kind == "json_schema":
                return LLMatcher.grammar_from_json_schema(self.source)
            return (LLMatcher.grammar_from_regex if self.kind == "regex" else LLMatcher.grammar_from_lark)(self.source)
        body = {"json_schema": f"%json {self.source}", "regex": _regex(self.source), "lark": "@body"}[self.kind]
        free = (
            "start: (marked body)* FREE\n"
            + f"marked[lazy]: FREE {json.dumps(self.after)}\nFREE: /(.|\\n)*/\nbody: {body}\n"
        )
        if self.kind != "lark":
            return str(LLMatcher.grammar_from_lark("%llguidance {}\n" + free))
        parts = [{"name": "whole", "lark_grammar": free}, {"name": "body", "lark_grammar": self.source}]
        return json.dumps({"grammars": parts})


class Matcher:
    """Which tokens may follow an output, for one request.

    Parameters
    ----------
    grammar : Grammar
    tokenizer : headstart.models.tokenizer.Tokenizer
        Its ``token_bytes``, ``special_ids`` and ``eos_ids`` are what the grammar sees; the end token is allowed where the grammar may end.
    vocab_size : int
        The model's number of ids; those without a text are never allowed.

    Raises
    ------
    InputError
        If the grammar does not compile, with its own complaint.
    RefusedError
        If the tokenizer has no end token.
    """

    def __init__(self, grammar: Grammar, tokenizer: Any, vocab_size: int) -> None:
        from llguidance import LLMatcher

        if not tokenizer.eos_ids:
            raise RefusedError("a grammar ends an answer with the model's end token, and this tokenizer has none")
        self.grammar, self._vocab_size = grammar, vocab_size
        self._eos_ids = tokenizer.eos_ids
        self._matcher = LLMatcher(_llguidance_tokenizer(tokenizer), grammar.text(), log_level=0)
        self._read: list[int] = []
        if self._matcher.is_error():
            complaint = " ".join(self._matcher.get_error().split())
            raise InputError(f"the {grammar.kind} grammar cannot be used: {complaint}")

    def allowed(self, output: Sequence[int]) -> NDArray[np.bool_]:
        """Tokens that may follow an output, shape (vocab,).

        After an output that the grammar does not admit every token is allowed: such a place has probability 0.
        """
        if not self._go_to(output) or self._ended():
            return np.ones(self._vocab_size, np.bool_)
        packed = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        return np.unpackbits(packed, count=self._vocab_size, bitorder="little").view(np.bool_)

    def valid(self, output: Sequence[int], tokens: Sequence[int]) -> int:
        """How many of ``tokens`` may follow ``output``, one after the other."""
        if not self._go_to(output) or self._ended():
            return 0
        return int(self._matcher.validate_tokens(list(tokens)))

    def forced(self, output: Sequence[int]) -> list[int]:
        """Tokens that spell the only text that may follow, as the tokenizer would write it; often none."""
        if not self._go_to(output) or self._matcher.is_stopped():
            return []
        return list(self._matcher.compute_ff_tokens())

    def _ended(self) -> bool:
        return bool(self._read) and self._read[-1] in self._eos_ids

    def _go_to(self, output: Sequence[int]) -> bool:
        """Stand after ``output``; False if the grammar does not admit it."""
        same = common_length(self._read, output)
        if same < len(self._read):
            self._matcher.rollback(len(self._read) - same)
            del self._read[same:]
        new = list(output[same:])
        if not new:
            return True
        if self._ended():
            return False
        taken = self._matcher.try_consume_tokens(new)
        self._read.extend(new[:taken])
        return bool(taken == len(new))


def _regex(expression: str) -> str:
    return "/" + expression.replace("/", "\\/") + "/"


@lru_cache(maxsize=4)
def _llguidance_tokenizer(tokenizer: Any) -> Any:
    """llguidance's view of a tokenizer; made once, it takes a good part of a second for a large vocabulary."""
    from llguidance import LLTokenizer

    class View:
        eos_token_id = min(tokenizer.eos_ids)
        bos_token_id = tokenizer.bos_id
        tokens = tuple(tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size))
        special_token_ids = sorted(tokenizer.special_ids)
        is_tokenizer_wrapper = True

        def __call__(self, text: str | bytes) -> list[int]:
            return list(tokenizer.encode(text if isinstance(text, str) else text.decode("utf-8", "ignore")))

    view: Any = View()
    return LLTokenizer(view, n_vocab=tokenizer.vocab_size, eos_token=sorted(tokenizer.eos_ids))
