"""The bug zoo: known ways of getting speculation wrong, as working parts, for tests, audit and lesson.

bug.py       what a bug is, and how it is put into a request
chains.py    token rejection with one part exchanged       blocks.py   block verification
trees.py     multi-step rejection and walking              drafts.py   drafters
noise.py     coins that are looked at twice                faults.py   cache, rows, ends of a text
zoo.py       ``ZOO``: all of them by name                  exposure.py their exact laws

None of these is a verifier that ``headstart.verify.choose`` or the engine knows by name.
"""

from __future__ import annotations

from headstart.verify.broken.bug import Bug
from headstart.verify.broken.exposure import distance, output_law
from headstart.verify.broken.zoo import ZOO

__all__ = ["ZOO", "Bug", "distance", "output_law"]
