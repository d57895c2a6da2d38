"""``python -m headstart.verify``: one worked round in the three-word world, every coin and its reason."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from headstart.coins import Coin, RoundCoins, log
from headstart.draft.draw import coupled_chain, sampled_chain
from headstart.law import Law, Number
from headstart.protocols import Coins
from headstart.toy import WORLDS
from headstart.tree import Draft
from headstart.verify.choice import VERIFIERS
from headstart.verify.narration import WORDS
from headstart.verify.proof import output_law, target_laws

__all__ = ["main", "tell"]

WORLD = WORLDS["three-word"]
LENGTH = 3
RULES = ("token", "block", "coupled")
SEED = 2
"""Token rejection loses the second word here, and block verification keeps it: a later word rescues it."""


class TellingCoins:
    """Coins of one round that say what they decide and why (the ``Coins`` seam)."""

    def __init__(self, seed: int, lang: str) -> None:
        self._log: list[Coin] = []
        self._coins, self._words = RoundCoins(seed, log=self._log), WORDS[lang]
        self._drafted: dict[int, int] = {}
        self.lines: list[str] = []

    def rank(self, law: Law, position: int, count: int) -> list[int]:
        """First of the race at a position."""
        uniforms = [self._coins.uniform_of(position, token) for token, _ in law.support()]
        times = -log(np.array(uniforms)) / np.array([float(weight) for _, weight in law.support()])
        told = ", ".join(f"{name(token)} {time:.3f}" for (token, _), time in zip(law.support(), times, strict=True))
        tokens = self._coins.rank(law, position, count)
        self._say("race", position=position, times=told, word=name(tokens[0]))
        return tokens

    def target(self, law: Law, position: int) -> int:
        """Winner of the race at a position."""
        return self.rank(law, position, 1)[0]

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        """Whether a draft is kept."""
        kept = self._coins.accept(numerator, denominator, node)
        chance = min(Fraction(1), Fraction(numerator) / Fraction(denominator))
        verdict, word = self._words["kept" if kept else "lost"], name(self._drafted[node])
        self._say(
            "accept", node=node, word=word, numerator=numerator, denominator=denominator, chance=chance, verdict=verdict
        )
        return kept

    def recover(self, law: Law, node: int) -> int:
        """Word that follows."""
        if law.mass is not None:
            self._say("leftover", mass=law.mass, law=table(law))
        token = self._coins.recover(law, node)
        self._say("recover", word=name(token), parts=parts(law))
        return token

    def propose(self, law: Law, node: int) -> int:
        """Word of a draft node."""
        self._drafted[node] = self._coins.propose(law, node)
        self._say("propose", node=node, word=name(self._drafted[node]), parts=parts(law))
        return self._drafted[node]

    def _say(self, key: str, **values: object) -> None:
        u = self._log[-1].uniform if self._log else None
        self.lines.append("   " + self._words[key].format(u=u, **values))


def name(token: int) -> str:
    """Word of a token."""
    return WORLD.words[token]


def table(law: Law) -> str:
    """Words with their probabilities."""
    return ", ".join(f"{name(token)} {weight}" for token, weight in law.support())


def parts(law: Law) -> str:
    """Words with the ends of their parts of the unit interval."""
    running, told = Fraction(0), []
    for token, weight in law.support():
        told.append(f"{name(token)} [{running}, {running + weight})")
        running += weight
    return " ".join(told)


def draw(rule: str, coins: Coins) -> Draft:
    """Draft of the round, as the rule wants it drawn."""
    if rule == "coupled":
        return coupled_chain(WORLD.draft, LENGTH, coins, 0)
    return sampled_chain(WORLD.draft, LENGTH, coins)


def tell(rule: str = "token", *, seed: int = SEED, lang: str = "en") -> Iterable[str]:
    """Lines that tell one round.

    Parameters
    ----------
    rule : {"token", "block", "coupled"}
    seed : int
    lang : {"en", "zh"}
    """
    words, coins = WORDS[lang], TellingCoins(seed, lang)
    yield words["title"].format(length=LENGTH, rule=rule, seed=seed)
    yield f"   {table(WORLD.target(()))}   {words['target']}"
    yield f"   {table(WORLD.draft(()))}   {words['draft']}"
    yield words["foreseeing" if rule == "coupled" else "drafting"]
    draft = draw(rule, coins)
    drafted = len(coins.lines)
    verdict = VERIFIERS[rule].verify(draft, target_laws(WORLD.target, (), draft), coins, 0)
    yield from coins.lines[:drafted]
    yield words["judging"]
    yield from coins.lines[drafted:]
    text = [*(draft.tokens[node] for node in verdict.path), verdict.token]
    written = " ".join(name(token) for token in text)
    yield words["written"].format(words=written, kept=len(verdict.path), kind=words[verdict.kind])
    law = output_law(VERIFIERS[rule], WORLD.target, WORLD.draft, lambda _law, coins: draw(rule, coins), 1)
    yield words["proof"].format(law=", ".join(f"{name(token)} {law[(token,)]}" for token in range(len(WORLD.words))))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one round."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--lang", choices=sorted(WORDS), default="en")
    words = WORDS[first.parse_known_args(arguments)[0].lang]
    parser = argparse.ArgumentParser(prog="python -m headstart.verify", description=words["help"], parents=[first])
    parser.add_argument("--rule", choices=RULES, default="token")
    parser.add_argument("--seed", type=int, default=SEED, help=words["help_seed"])
    options = parser.parse_args(arguments)
    print("\n".join(tell(options.rule, seed=options.seed, lang=options.lang)))


if __name__ == "__main__":
    main()
