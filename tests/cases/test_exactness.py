"""docs/exactness.md is what its maker makes, and the maker fails where a parameter has no line or a line no test."""

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def maker():
    found = importlib.util.spec_from_file_location("make_exactness", HERE / "make_exactness.py")
    module = sys.modules[found.name] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker):
    page = HERE.parents[1] / "docs" / "exactness.md"
    assert page.read_text(encoding="utf-8") == maker.page(), "run python tests/cases/make_exactness.py"


def test_a_parameter_without_a_line_is_an_error(maker, monkeypatch):
    assert {"grammar", "top_k", "draft_vocabulary", "raw"} <= maker.public_parameters()
    assert maker.without_a_line(maker.public_parameters()) == []
    monkeypatch.delitem(maker.OTHERS, "raw")
    with pytest.raises(SystemExit, match="no line for the parameter raw"):
        maker.page()


def test_a_line_without_a_test_is_an_error(maker, monkeypatch):
    monkeypatch.setitem(maker.OTHERS, "raw", maker.same("makes the prompt", "tests/unit/test_engine.py::test_none"))
    with pytest.raises(SystemExit, match="there is no test tests/unit"):
        maker.page()


def test_a_cell_without_a_test_is_an_error(maker):
    with pytest.raises(SystemExit, match="no test holds top_k under block"):
        maker.cell("top_k", "block", known=set())
