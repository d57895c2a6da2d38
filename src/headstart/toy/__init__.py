"""Toy worlds: a few words whose next-word laws are written down exactly, and models made of them.

rules.py     next-token laws: constant, Markov, random
model.py     TableModel and WordTokenizer, usable wherever real ones are
worlds.py    the named worlds of lesson and tests
"""

from __future__ import annotations

from headstart.toy.model import TableModel, TableRows, WordTokenizer
from headstart.toy.rules import Rule, always, exact, in_floats, joint, markov, random_draft, random_rule
from headstart.toy.worlds import WORLDS, World, random_world

__all__ = [
    "WORLDS",
    "Rule",
    "TableModel",
    "TableRows",
    "WordTokenizer",
    "World",
    "always",
    "exact",
    "in_floats",
    "joint",
    "markov",
    "random_draft",
    "random_rule",
    "random_world",
]
