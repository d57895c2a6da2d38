"""The real model of the catalog, for tests: fetched once, kept where a user's models are kept."""

from __future__ import annotations

import functools

import pytest

from headstart import models
from headstart.errors import DownloadError
from headstart.models import Weights


def smollm() -> Weights:
    """SmolLM2 135M Instruct; a test that asks for it is skipped where it is absent and cannot be fetched."""
    found = _load()
    if isinstance(found, str):
        pytest.skip(f"needs the real model: {found}")
    return found


@functools.cache
def _load() -> Weights | str:
    try:
        return models.load("smollm2-135m-instruct")
    except DownloadError as error:
        return str(error)
