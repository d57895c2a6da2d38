"""What a distribution test can tell, and where it goes blind.

Six words whose law hangs on the last one, temperature 0.8, top-k 4, blocks of 2, the first 3 tokens of 5 000 runs against
their exact probabilities by chi-square, flagged at p < 1e-4. The three right samplers would be flagged by luck with
chance 3 in 10 000 together; the seeds are fixed. Every broken one is flagged, two of them with a higher acceptance
than the right one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from headstart.coins import RoundCoins
from headstart.draft.draw import sampled_chain
from headstart.law import Law
from headstart.protocols import Coins, Verifier
from headstart.sampling import Sampling
from headstart.theory import chi_square
from headstart.toy import WORLDS, Rule, TableModel, joint
from headstart.tree import Draft
from headstart.verify import TokenRejection, Walk
from headstart.verify.broken import ZOO
from headstart.verify.broken.chains import BrokenChain, threshold
from headstart.verify.proof import Draw, target_laws

RUNS, LEVEL = 5000, 1e-4
WORLD = WORLDS["six-word"]
START = (0,)


def good_draft(context: tuple[int, ...]) -> Law:
    """The target's law half mixed with another."""
    p, q = WORLD.target(context), WORLD.draft(context)
    return Law((p.weights + q.weights) / 2, None, 6)


def filtered(rule: Rule, sampling: Sampling) -> Rule:
    """A rule after sampling parameters; it depends on the last word alone."""
    model = TableModel(rule, 6)
    by_word = cache(lambda word: sampling.law(model.logits((word,)), [word], 1))
    return lambda context: by_word(context[-1])


ASKED = Sampling(temperature=0.8, top_k=4)
TARGET, DRAFT = filtered(WORLD.target, ASKED), filtered(good_draft, ASKED)
RAW = filtered(good_draft, Sampling(temperature=1.0))
RAW_OF = {id(DRAFT((word,))): RAW((word,)) for word in range(6)}


def likeliest(law: Law) -> int:
    return max(law.support(), key=lambda pair: (pair[1], -pair[0]))[0]


def best_chain(law_of: Rule, length: int, *, sampled: bool) -> Draft:
    """The drafter's likeliest words, handed over as certain, or as sampled from the laws they come first in."""
    tokens: tuple[int, ...] = ()
    laws: list[Law] = []
    for _ in range(length):
        laws.append(law_of(tokens))
        tokens += (likeliest(laws[-1]),)
    return Draft.chain(tokens, origin="sampled", laws=laws) if sampled else Draft.chain(tokens)


def with_raw_laws(law_of: Rule, length: int, coins: Coins) -> Draft:
    """Words drawn after temperature and top-k, with the laws from before them."""
    draft = sampled_chain(law_of, length, coins)
    return Draft.chain(draft.tokens, origin="sampled", laws=[RAW_OF[id(law)] for law in draft.laws])


def chain(length: int) -> Draw:
    return lambda law_of, coins: sampled_chain(law_of, length, coins)


PAIRS = chain(2)


@dataclass(frozen=True)
class Sampler:
    verifier: Callable[[], Verifier]
    draw: Draw = PAIRS


RIGHT = {
    "ratio test": Sampler(TokenRejection),
    "argmax drafter, certain": Sampler(TokenRejection, lambda of, _coins: best_chain(of, 2, sampled=False)),
    "equal to the target's own sample": Sampler(
        Walk, lambda of, coins: Draft.chain(sampled_chain(of, 2, coins).tokens)
    ),
}
BROKEN = {
    "argmax drafter, softmax q": Sampler(TokenRejection, lambda of, _coins: best_chain(of, 2, sampled=True)),
    "q before top-k and temperature": Sampler(TokenRejection, lambda of, coins: with_raw_laws(of, 2, coins)),
    "residual through softmax": Sampler(ZOO["residual-softmax"].verifier),
    "replacement drawn from p": Sampler(ZOO["redraw-from-p"].verifier),
    "one number for test and replacement": Sampler(ZOO["accept-coin-reused"].verifier),
    "bonus from the wrong row": Sampler(ZOO["bonus-from-wrong-row"].verifier),
    "fixed threshold": Sampler(lambda: BrokenChain("threshold", accept=threshold(0.2))),
}


@dataclass(frozen=True)
class Seen:
    acceptance: float
    texts: list[tuple[int, ...]]

    def p_value(self, begin: int, end: int) -> float:
        """Chi-square of the words from place ``begin`` to ``end`` against their exact probabilities."""
        expected: dict[tuple[int, ...], float] = {}
        for tokens, weight in joint(TARGET, end, context=START).items():
            expected[tokens[begin:]] = expected.get(tokens[begin:], 0.0) + float(weight)
        words = [text[begin:end] for text in self.texts]
        cells = sorted({*expected, *words})
        counts = dict.fromkeys(cells, 0)
        for word in words:
            counts[word] += 1
        return chi_square([counts[c] for c in cells], [len(words) * expected.get(c, 0.0) for c in cells]).p_value


def run(sampler: Sampler, length: int) -> Seen:
    drafted = accepted = 0
    texts: list[tuple[int, ...]] = []
    for seed in range(RUNS):
        text, round_ = START, 0
        while len(text) <= length:
            coins = RoundCoins(seed, 0, round_)
            draft = sampler.draw(lambda tokens, at=text: DRAFT((*at, *tokens)), coins)
            verdict = sampler.verifier().verify(draft, target_laws(TARGET, text, draft), coins, len(text))
            text += (*(draft.tokens[node] for node in verdict.path), verdict.token)
            drafted, accepted, round_ = drafted + len(draft), accepted + len(verdict.path), round_ + 1
        texts.append(text[1 : length + 1])
    return Seen(accepted / drafted, texts)


@cache
def right() -> Seen:
    return run(RIGHT["ratio test"], 3)


@pytest.mark.parametrize("name", RIGHT)
def test_right_samplers_are_not_flagged(name: str) -> None:
    seen = right() if name == "ratio test" else run(RIGHT[name], 3)
    assert seen.p_value(0, 3) > LEVEL


@pytest.mark.parametrize("name", BROKEN)
def test_broken_samplers_are_flagged(name: str) -> None:
    seen = run(BROKEN[name], 3)
    assert seen.p_value(0, 3) < LEVEL
    if name in ("argmax drafter, softmax q", "q before top-k and temperature"):
        assert seen.acceptance > right().acceptance


def test_a_window_that_stops_short_of_the_bonus_sees_nothing() -> None:
    seen = run(Sampler(ZOO["bonus-from-wrong-row"].verifier, chain(4)), 6)
    assert seen.p_value(0, 3) > LEVEL
    assert seen.p_value(3, 6) < LEVEL
