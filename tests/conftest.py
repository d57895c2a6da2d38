"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("shared", deadline=None, derandomize=True)  # a busy machine is no failure; runs repeat
settings.load_profile("shared")
