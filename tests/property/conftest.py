"""Lets go of the models that tests share, before the interpreter ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.passes import made, plain


@pytest.fixture(scope="session", autouse=True)
def _models_are_let_go() -> Iterator[None]:
    yield
    plain.cache_clear()
    made.cache_clear()
