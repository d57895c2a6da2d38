"""Choosing a verifier, refusing what does not go together, lossy rules by name, and drawing drafts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from headstart.coins import RoundCoins
from headstart.draft.draw import coupled_tree, sampled_chain, sampled_paths, sampled_tree
from headstart.errors import InputError, RefusedError
from headstart.law import Law
from headstart.tree import ROOT, Draft
from headstart.verify import VERIFIERS, LossyLenience, LossyTypical, choose
from headstart.verify.proof import target_laws

HALF = Law.of([0.5, 0.5])


@pytest.mark.parametrize(
    ("origin", "guarantee", "tree", "name"),
    [
        ("certain", "text", False, "coupled"),
        ("coupled", "text", True, "coupled"),
        ("sampled", "text", True, "coupled"),
        ("certain", "law", True, "walk"),
        ("coupled", "law", False, "coupled"),
        ("sampled", "law", False, "block"),
        ("sampled", "law", True, "traversal"),
        ("certain", "lossy", True, "lossy-typical"),
        ("coupled", "lossy", False, "coupled"),
    ],
)
def test_the_default_follows_from_draft_and_guarantee(origin: Any, guarantee: str, tree: bool, name: str) -> None:
    verifier = choose(origin, guarantee, tree=tree)
    assert verifier.name == name
    assert choose(origin, guarantee, tree=tree, name=name) is verifier


@pytest.mark.parametrize(
    ("origin", "guarantee", "tree", "name", "text"),
    [
        (
            "sampled",
            "text",
            False,
            "block",
            "verifier 'block' keeps the guarantee 'law', which is less than 'text'",
        ),
        ("sampled", "law", False, "lossy-lenience", "verifier 'lossy-lenience' keeps the guarantee 'lossy'"),
        ("sampled", "law", True, "block", "block verification takes chains, and this draft branches"),
        ("coupled", "law", False, "block", "takes drafts that are certain or sampled, and node 0 is coupled"),
        ("certain", "law", False, "k-seq", "takes drafts that are sampled, and node 0 is certain"),
        ("sampled", "law", False, "walk", "takes drafts that are certain, and node 0 is sampled; use verifier block"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(
    origin: Any, guarantee: str, tree: bool, name: str, text: str
) -> None:
    with pytest.raises(RefusedError, match=text):
        choose(origin, guarantee, tree=tree, name=name)


def test_unknown_words_are_refused() -> None:
    with pytest.raises(InputError, match="guarantee is 'exact'; it must be one of text, law, lossy"):
        choose("sampled", "exact")
    with pytest.raises(InputError, match="verifier 'hsd' is unknown; use one of greedy, coupled"):
        choose("sampled", "law", name="hsd")


def test_names_and_guarantees_agree() -> None:
    for name, verifier in VERIFIERS.items():
        assert verifier.name == name
        assert name.startswith("lossy-") == (verifier.guarantee == "lossy")


def test_siblings_without_replacement_are_not_for_k_seq_nor_shared_stems_for_paths() -> None:
    law = Law.of([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    draft = sampled_tree(lambda _: law, (2, 2), RoundCoins(0))
    assert "with replacement" in str(VERIFIERS["k-seq"].accepts(draft))
    assert "separate chains" in str(VERIFIERS["multi-path-block"].accepts(draft))
    assert VERIFIERS["k-seq"].accepts(sampled_tree(lambda _: law, (2, 2), RoundCoins(0), replacement=True)) is None
    assert VERIFIERS["multi-path-block"].accepts(sampled_paths(lambda _: law, 2, 3, RoundCoins(0))) is None


def test_a_tree_is_drawn_level_by_level_with_the_laws_it_was_drawn_from() -> None:
    law = Law.of([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    draft = sampled_tree(lambda _: law, (2, 1), RoundCoins(7))
    assert draft.parents == (ROOT, ROOT, 0, 1)
    assert draft.laws[0] is law
    assert draft.laws[1] is not None
    assert draft.laws[1].weights.tolist() == law.without(draft.tokens[0]).weights.tolist()  # type: ignore[union-attr]
    assert draft.tokens[0] != draft.tokens[1]


def test_without_replacement_a_law_can_run_out() -> None:
    assert len(sampled_tree(lambda _: HALF, (5,), RoundCoins(1))) == 2
    assert len(coupled_tree(lambda _: HALF, (5,), RoundCoins(1), 0)) == 2


def test_lenience_bounds() -> None:
    for value in (0, 1.5, -1):
        with pytest.raises(InputError, match=f"lenience is {value}"):
            LossyLenience(value)
    with pytest.raises(InputError, match="epsilon is 0"):
        LossyTypical(epsilon=0)


def test_typical_acceptance_keeps_the_longest_typical_path() -> None:
    """Entropy of (.5, .25, .25): exp(-1.04) = .354, so the floor is .09 * .354 = .032; the word of .02 is turned down."""
    laws = [Law.of([0.5, 0.25, 0.25, 0.0]), Law.of([0.49, 0.49, 0.02, 0.0])]
    draft = Draft((3, 1, 2, 0), (ROOT, ROOT, 1, 1), ("certain",) * 4, (None,) * 4)
    verdict = LossyTypical().verify(draft, lambda n: laws[0 if n == ROOT else 1], RoundCoins(0), 0)
    assert verdict.path == (1, 3)
    assert verdict.kind == "bonus"


def test_only_rows_on_the_way_are_asked_for() -> None:
    """A lost first word leaves the other rows alone."""
    asked: list[int] = []

    def laws(node: int) -> Law:
        asked.append(node)
        return Law.of([1.0, 0.0])

    draft = Draft.chain([1, 0, 0], origin="sampled", laws=[HALF] * 3)
    for name in ("token", "block", "multi-step", "traversal", "coupled", "greedy"):
        asked.clear()
        assert VERIFIERS[name].verify(draft, laws, RoundCoins(0), 0).path == ()
        assert set(asked) == {ROOT}, name


def test_kinds() -> None:
    chain = sampled_chain(lambda _: HALF, 2, RoundCoins(5))
    laws = target_laws(lambda _: HALF, (), chain)
    assert VERIFIERS["token"].verify(chain, laws, RoundCoins(5), 0).kind == "bonus"
    assert VERIFIERS["token"].verify(Draft(), laws, RoundCoins(5), 0).kind == "plain"
    never = Law.of([0.0, 1.0]) if chain.tokens[0] == 0 else Law.of([1.0, 0.0])
    assert VERIFIERS["token"].verify(chain, lambda _: never, RoundCoins(5), 0).kind == "recovered"
