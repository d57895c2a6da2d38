"""The kit of the field cases: models, drafters that guess as scripted, and the demand "equal to plain"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from headstart.backends import load_backend
from headstart.engine import Engine
from headstart.protocols import Needs
from headstart.result import Result
from headstart.tree import Draft
from support.tiny import tiny_tokenizer, tiny_weights

__all__ = ["LENGTHS", "Scripted", "both", "drafters", "engine", "equal_to_plain", "random_model", "run"]

LENGTHS = tuple(range(1, 9))
RULES = ("greedy", "walk", "token", "block", "multi-step", "traversal")
TREE_RULES = ("greedy", "walk", "multi-step", "traversal")
"""Rules that take drafts without randomness: chains, and trees."""


@cache
def random_model(seed: int = 0, *, window: int | None = None, vocab: int = 300, context: int = 512) -> Any:
    """RP, SW: an untrained model of two layers on the native backend."""
    weights = tiny_weights(seed=seed, window=window, vocab=vocab, context=context, tied=False)
    return load_backend(weights, threads=1)


def engine(model: Any, **options: Any) -> Engine:
    """An engine on a random model with the byte-level tokenizer."""
    return Engine(model, tokenizer=tiny_tokenizer(), **options)


class Scripted:
    """Proposes a known continuation, made wrong at one chosen place of every block; with ``branch`` the right token is the second child there."""

    name = "scripted"
    needs = Needs()

    def __init__(
        self, truth: Sequence[int], wrong_places: Sequence[int], *, vocab: int = 300, branch: bool = False
    ) -> None:
        self.truth, self.wrong_places, self.vocab, self.branch = list(truth), list(wrong_places), vocab, branch
        self.rounds = 0

    def start(self, request: Any) -> None:
        self.rounds = 0

    def propose(self, request: Any, budget: int) -> Draft:
        at = len(request.tokens)
        tokens = self.truth[at : at + budget]
        wrong = self.wrong_places[self.rounds % len(self.wrong_places)]
        self.rounds += 1
        if wrong >= len(tokens):
            return Draft.chain(tokens)
        right = tokens[wrong]
        tokens[wrong] = (right + 1) % self.vocab
        if not self.branch or len(tokens) >= budget:
            return Draft.chain(tokens)
        n = len(tokens)
        parents = (*range(-1, n - 1), wrong - 1)
        return Draft((*tokens, right), parents, ("certain",) * (n + 1), (None,) * (n + 1))

    def observe(self, request: Any, tokens: Sequence[int], rows: Any) -> None:
        pass

    def fork(self, request: Any, copy: Any) -> None:
        pass

    def close(self, request: Any) -> None:
        pass


def drafters(
    model: Any, truth: Sequence[int], length: int, draft_models: Iterable[Any] = ()
) -> Iterable[dict[str, Any]]:
    """Every kind of drafter: lookup, draft models, scripted chains with each place wrong in turn, a scripted tree."""
    yield {"drafter": "lookup"}
    for draft_model in (model, *draft_models):
        yield {"draft_model": draft_model}
    yield {"drafter": Scripted(truth, list(range(length + 1)), vocab=model.vocab_size)}
    yield {"drafter": Scripted(truth, [0, length, 1], vocab=model.vocab_size, branch=True)}


def equal_to_plain(
    make: Callable[..., Engine],
    prompt: Any,
    *,
    lengths: Sequence[int] = LENGTHS,
    draft_models: Sequence[Any] = (),
    **options: Any,
) -> Result:
    """Demand that every drafter at every length gives plain decoding's ids, text, ends, usage, logprobs and stream.

    At temperature 0 that is so under the guarantee ``law`` too, for there the law is one text: every rule has its turn.
    """
    plain = run(make, {"drafter": "none"}, prompt, options)
    unended = {
        name: value for name, value in options.items() if name not in ("stop", "stop_token_ids", "logprobs", "trace")
    }
    longer = {**unended, "max_tokens": 80, "min_tokens": 0, "seed": plain.seed, "ignore_eos": "grammar" not in options}
    with make(drafter="none") as engine:
        truth = [*engine.encode(prompt, raw=options.get("raw", False)), *engine.generate(prompt, **longer).tokens]
    for length in lengths:
        for kind, drafter in enumerate(drafters(engine.model, truth, length, draft_models)):
            how = {**options, "draft_length": length, "seed": plain.seed}
            drafted = run(make, drafter, prompt, how)
            assert both(drafted) == both(plain), (length, drafter)
            if not options.get("temperature") and "guarantee" not in options:
                _ruled(make, drafter, prompt, how, plain, length + kind)
    return plain


def _ruled(
    make: Callable[..., Engine], drafter: dict[str, Any], prompt: Any, how: dict[str, Any], plain: Result, turn: int
) -> None:
    """The same by a rule whose turn it is."""
    branching = getattr(drafter.get("drafter"), "branch", False)
    rule = (TREE_RULES if branching else RULES)[turn % len(TREE_RULES if branching else RULES)]
    guarantee = "text" if rule == "greedy" else "law"
    drafted = run(make, drafter, prompt, {**how, "guarantee": guarantee, "verifier": rule})
    assert both(drafted) == both(plain), (rule, drafter)
    assert drafted.verifier == rule or not drafted.statistics.tokens_drafted


def run(make: Callable[..., Engine], drafter: dict[str, Any], prompt: Any, options: dict[str, Any]) -> Result:
    """Stream an answer; its pieces must join to its text and hold its tokens."""
    with make(**drafter) as engine, engine.stream(prompt, **options) as stream:
        pieces = list(stream)
    result = stream.result
    assert "".join(piece.text for piece in pieces) == result.text
    assert tuple(token for piece in pieces for token in piece.tokens) == result.tokens
    return result


def both(result: Result) -> tuple[Any, ...]:
    """What must be equal to plain."""
    usage = (result.statistics.prompt_tokens, result.statistics.tokens)
    assert usage[1] == len(result.tokens) == len(result.origins)
    return (
        result.tokens,
        result.text,
        result.finish_reason,
        result.stop_reason,
        usage,
        result.logprobs,
        result.prompt_logprobs,
    )
