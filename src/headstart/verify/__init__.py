"""Verification: which drafts are kept, and the token that follows. Every rule of the family behind one seam.

=================  ==========  =============================================  ======================================
verifier           guarantee   drafts                                         source
=================  ==========  =============================================  ======================================
greedy             text        any, at temperature 0 (heads' guesses too)     Stern et al. 2018 (blockwise parallel)
coupled            text        any; best if coupled                           Daliri et al. 2024
walk               law         certain: n-grams, argmax, top-k trees          sample and walk
token              law         a chain                                        Leviathan et al. 2023, Chen et al. 2023
block              law         a chain                                        Sun et al. 2024
multi-step         law         a chain or tree, with or without replacement   Miao et al. 2024, Yang et al. 2024
traversal          law         a chain or tree, with or without replacement   Weng et al. 2025
multi-path-block   law         independent chains                             Thomas, Pal 2026
k-seq              law         a chain or tree, siblings with replacement     Sun et al. 2023 (SpecTr)
lossy-lenience     lossy       a chain or tree                                Leviathan et al. 2023
lossy-typical      lossy       a chain or tree                                Cai et al. 2024 (Medusa)
=================  ==========  =============================================  ======================================

A rule is a pure function of draft, laws, coins and position, generic in its numbers, and asks only for the rows it visits:
the code that runs is the code that is proved, by running it down every branch in fractions.
"""

from __future__ import annotations

from headstart.verify.block import Block
from headstart.verify.choice import GUARANTEES, VERIFIERS, choose, named
from headstart.verify.coupled import Coupled
from headstart.verify.greedy import Greedy
from headstart.verify.k_seq import KSeq
from headstart.verify.lossy import LossyLenience, LossyTypical
from headstart.verify.multi_path import MultiPathBlock
from headstart.verify.multi_step import MultiStep
from headstart.verify.token import TokenRejection
from headstart.verify.traversal import Traversal
from headstart.verify.walk import Walk

__all__ = [
    "GUARANTEES",
    "VERIFIERS",
    "Block",
    "Coupled",
    "Greedy",
    "KSeq",
    "LossyLenience",
    "LossyTypical",
    "MultiPathBlock",
    "MultiStep",
    "TokenRejection",
    "Traversal",
    "Walk",
    "choose",
    "named",
]
