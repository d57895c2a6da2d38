"""Settings of the whole suite: ``pytest --profile=long`` runs many thousands of random examples instead of hundreds."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# a busy machine is no failure; runs repeat
settings.register_profile("shared", deadline=None, derandomize=True)
settings.register_profile(
    "long", settings.get_profile("shared"), max_examples=20_000, derandomize=False, print_blob=True
)
settings.load_profile("shared")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--profile", default="shared", choices=["shared", "long"], help="how many random examples to try")


def pytest_configure(config: pytest.Config) -> None:
    # shells start jobs in the background with Ctrl-C ignored, which the commands under test would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile(config.getoption("--profile"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--profile") == "long":
        for item in items:
            item.add_marker(pytest.mark.timeout(0))  # many thousands of examples take longer than any one test should


@pytest.fixture(scope="session", autouse=True)
def _models_are_let_go() -> Iterator[None]:
    """Let go of the models that tests share, before the interpreter ends."""
    yield
    for module in ("support.kit", "support.requests", "support.passes"):
        for value in vars(sys.modules[module]).values() if module in sys.modules else ():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
