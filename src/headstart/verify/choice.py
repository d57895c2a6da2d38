"""Which verifier: it follows from how the draft is made and from the guarantee asked for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headstart.errors import InputError, RefusedError
from headstart.law import Law
from headstart.protocols import Verifier
from headstart.tree import Draft, Origin
from headstart.verify.block import Block
from headstart.verify.coupled import Coupled
from headstart.verify.greedy import Greedy
from headstart.verify.k_seq import KSeq
from headstart.verify.lossy import LossyLenience, LossyTypical
from headstart.verify.multi_path import MultiPathBlock
from headstart.verify.multi_step import MultiStep
from headstart.verify.token import TokenRejection
from headstart.verify.traversal import Traversal
from headstart.verify.walk import Walk

__all__ = ["GUARANTEES", "VERIFIERS", "choose", "named"]

GUARANTEES = ("lossy", "law", "text")
"""From the weakest to the strongest; each holds all before it."""

VERIFIERS: Mapping[str, Verifier] = MappingProxyType(
    {
        verifier.name: verifier
        for verifier in (
            Greedy(),
            Coupled(),
            Walk(),
            TokenRejection(),
            Block(),
            MultiStep(),
            Traversal(),
            MultiPathBlock(),
            KSeq(),
            LossyLenience(),
            LossyTypical(),
        )
    }
)
"""Every verifier by name."""


def choose(origin: Origin, guarantee: str = "text", *, tree: bool = False, name: str | None = None) -> Verifier:
    """Choose the verifier for a kind of draft and a guarantee, or check the one that was named.

    Parameters
    ----------
    origin : {"sampled", "coupled", "certain"}
        How the drafter draws its tokens.
    guarantee : {"text", "law", "lossy"}
        The least that is asked for.
    tree : bool, default False
        Whether drafts branch.
    name : str, optional
        A verifier of ``VERIFIERS``; by default coupled for ``text``; for ``law`` walk (certain), block (sampled chain),
        traversal (sampled tree); lossy-typical for ``lossy``; for coupled drafts always coupled.

    Raises
    ------
    InputError
        If the guarantee or the name is unknown.
    RefusedError
        If the named verifier does not keep that guarantee, or cannot take such drafts.

    Examples
    --------
    >>> choose("sampled", "law").name
    'block'
    """
    if guarantee not in GUARANTEES:
        raise InputError(f"guarantee is {guarantee!r}; it must be one of {', '.join(reversed(GUARANTEES))}")
    if name is None:
        return VERIFIERS[_default(origin, guarantee, tree)]
    verifier = named(name, guarantee)
    reason = verifier.accepts(_specimen(origin, tree))
    if reason is not None:
        raise RefusedError(f"{reason}; use verifier {_default(origin, guarantee, tree)} with this drafter")
    return verifier


def named(name: str, guarantee: str) -> Verifier:
    """Find a verifier by name; raises InputError if there is none, RefusedError if it keeps less than the guarantee."""
    if name not in VERIFIERS:
        raise InputError(f"verifier {name!r} is unknown; use one of {', '.join(VERIFIERS)}")
    verifier = VERIFIERS[name]
    if GUARANTEES.index(verifier.guarantee) < GUARANTEES.index(guarantee):
        raise RefusedError(
            f"verifier {name!r} keeps the guarantee {verifier.guarantee!r}, which is less than {guarantee!r}; ask for the "
            f"guarantee {verifier.guarantee!r}, or leave the verifier to be chosen"
        )
    return verifier


def _default(origin: Origin, guarantee: str, tree: bool) -> str:
    if guarantee == "text" or origin == "coupled":
        return "coupled"
    if guarantee == "lossy":
        return "lossy-typical"
    return "walk" if origin == "certain" else "traversal" if tree else "block"


def _specimen(origin: Origin, tree: bool) -> Draft:
    """Smallest draft of a kind."""
    law = Law.of([0.5, 0.5]) if origin == "sampled" else None
    if not tree:
        return Draft.chain([0], origin=origin, laws=[law])
    return Draft((0, 1), (-1, -1), (origin,) * 2, (law,) * 2)
