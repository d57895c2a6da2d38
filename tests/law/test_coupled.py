"""Coupled verification writes plain decoding's text, token for token, whatever was drafted; greedy is its temperature 0."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headstart.coins import RoundCoins
from headstart.draft.draw import coupled_chain, coupled_tree, sampled_chain, sampled_tree
from headstart.errors import RefusedError
from headstart.law import Law
from headstart.outcomes import GivenNoise
from headstart.protocols import Coins, Verifier
from headstart.sampling import Sampling
from headstart.theory import coupling_acceptance
from headstart.toy import WORLDS, Rule, in_floats, random_world
from headstart.tree import Draft
from headstart.verify import Coupled, Greedy
from headstart.verify.proof import target_laws

Tokens = tuple[int, ...]
Drafting = Callable[[Rule, Coins, int], Draft]

COUPLED: dict[str, Drafting] = {
    "nothing": lambda _l, _c, _p: Draft(),
    "chain": lambda law_of, coins, p: coupled_chain(law_of, 2, coins, p),
    "tree": lambda law_of, coins, p: coupled_tree(law_of, (2, 2), coins, p),
    "wide tree": lambda law_of, coins, p: coupled_tree(law_of, (3,), coins, p),
    "certain chain": lambda _l, _c, _p: Draft.chain((1, 0, 1)),
    "twins": lambda _l, _c, _p: Draft((0, 0, 1, 1, 0), (-1, -1, -1, 1, 3), ("certain",) * 5, (None,) * 5),
}
SAMPLED: dict[str, Drafting] = {
    "sampled chain": lambda law_of, coins, _p: sampled_chain(law_of, 3, coins),
    "sampled tree": lambda law_of, coins, _p: sampled_tree(law_of, (2, 2), coins),
}


def plain(target: Rule, coins_of: Callable[[int], Any], length: int) -> Tokens:
    text: Tokens = ()
    while len(text) < length:
        text += (coins_of(len(text)).target(target(text), len(text)),)
    return text


def drafted(
    verifier: Verifier, target: Rule, source: Rule, draw: Drafting, coins_of: Callable[[int], Any], length: int
) -> Tokens:
    text: Tokens = ()
    for number in itertools.count():
        if len(text) >= length:
            return text[:length]
        coins, context = coins_of(number), text
        draft = draw(lambda tokens, context=context: source((*context, *tokens)), coins, len(text))  # type: ignore[misc]
        verdict = verifier.verify(draft, target_laws(target, text, draft), coins, len(text))
        text += (*(draft.tokens[node] for node in verdict.path), verdict.token)
    raise AssertionError("unreachable")


@pytest.mark.parametrize("name", COUPLED)
def test_on_every_noise_of_a_grid(name: str) -> None:
    """Two words and three places, three words and two places; ties of the race are on the grid."""
    for size, places, grid in ((2, 3, (1, 2, 5)), (3, 2, (1, 2, 3))):
        for seed in range(2):
            world = random_world(size, seed=seed)
            for values in itertools.product(itertools.product(grid, repeat=size), repeat=places):
                noise = GivenNoise(dict(enumerate(values * 3)))  # a draft may look beyond the end
                expected = plain(world.target, lambda _, n=noise: n, places)  # type: ignore[misc]
                got = drafted(Coupled(), world.target, world.draft, COUPLED[name], lambda _, n=noise: n, places)  # type: ignore[misc]
                assert got == expected


def _of_logits(rule_seed: int, sampling: Sampling, size: int, sharpness: float) -> Rule:
    """Laws made of logits that hang on the whole context."""

    def rule(context: Tokens) -> Law:
        rng = np.random.default_rng([rule_seed, *context])
        return sampling.law(rng.normal(0, sharpness, size).astype(np.float32), context, 0)

    return rule


@pytest.mark.parametrize("temperature", [0, 0.3, 1.0, 1.5])
@pytest.mark.parametrize("filters", [{}, {"top_k": 5}, {"top_p": 0.8}, {"min_p": 0.1}])
def test_with_real_coins_and_every_sampling(temperature: float, filters: dict[str, Any]) -> None:
    sampling = Sampling(temperature=temperature, **filters)
    target, source = _of_logits(1, sampling, 30, 2.0), _of_logits(2, Sampling(), 30, 2.0)
    for seed in range(4):
        expected = plain(target, lambda n, s=seed: RoundCoins(s, 0, n), 12)  # type: ignore[misc]
        for draw in (COUPLED | SAMPLED).values():
            for aide in (source, target):
                assert expected == drafted(Coupled(), target, aide, draw, lambda n, s=seed: RoundCoins(s, 0, n), 12)  # type: ignore[misc]


def test_a_perfect_drafter_is_always_right() -> None:
    target = _of_logits(1, Sampling(), 30, 2.0)
    for seed in range(20):
        coins = RoundCoins(seed)
        draft = coupled_chain(target, 4, coins, 0)
        verdict = Coupled().verify(draft, target_laws(target, (), draft), coins, 0)
        assert (verdict.path, verdict.kind) == ((0, 1, 2, 3), "bonus")


@pytest.mark.parametrize("name", ["two-word", "three-word", "break-it"])
def test_acceptance_is_the_closed_form(name: str) -> None:
    """5 000 seeds; five standard deviations, so luck fails it once in 1.7 million runs."""
    p, q = (in_floats(rule(())) for rule in (WORLDS[name].target, WORLDS[name].draft))
    n = 5_000
    kept = 0
    for seed in range(n):
        coins = RoundCoins(seed)
        kept += coins.target(p, 0) == coins.target(q, 0)
    rate = float(coupling_acceptance(WORLDS[name].target(()), WORLDS[name].draft(())))
    assert abs(kept / n - rate) < 5 * np.sqrt(rate * (1 - rate) / n)


def test_greedy_is_the_rule_at_temperature_0() -> None:
    target, source = _of_logits(1, Sampling(temperature=0), 8, 2.0), _of_logits(1, Sampling(temperature=2), 8, 2.0)
    expected = plain(target, RoundCoins, 12)
    for draw in (COUPLED | SAMPLED).values():
        assert drafted(Greedy(), target, source, draw, lambda n: RoundCoins(3, 0, n), 12) == expected


def test_greedy_refuses_a_choice() -> None:
    with pytest.raises(RefusedError, match="2 tokens are possible; use coupled"):
        Greedy().verify(Draft(), lambda _: Law.of([Fraction(1, 2), Fraction(1, 2)]), RoundCoins(0), 0)
