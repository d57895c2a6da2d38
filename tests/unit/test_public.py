"""What every module shows to the outside, and what it may know of the others."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import headstart

FOLDER = Path(headstart.__file__).parent
MODULES = {
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(FOLDER.rglob("*.py"))
    if not path.name.startswith("_") or path.name == "__init__.py"
}
ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"


def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def listed(tree: ast.Module) -> list[str]:
    return next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ),
        [],
    )


def defined(tree: ast.Module) -> list[str]:
    """Functions and classes of a module that are not private and no commands of the command line."""
    kinds = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    own = [node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]
    return [node.name for node in own if not any("app." in ast.unparse(each) for each in node.decorator_list)]


def imported(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Modules of the package that a module imports when it is loaded or later, each with the name taken; not for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "headstart":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole, None) if whole in MODULES else (node.module, alias.name)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "headstart")


@pytest.mark.parametrize("module", list(MODULES))
def test_all_equals_the_public_names(module: str) -> None:
    tree = tree_of(module)
    names = listed(tree)
    assert [name for name in defined(tree) if name not in names] == []
    loaded = importlib.import_module(module)
    assert [name for name in names if not hasattr(loaded, name)] == []


def layers() -> list[list[str]]:
    """The list of layers in ARCHITECTURE.md, from the top: two columns of names and words, names first."""
    block = ARCHITECTURE.read_text(encoding="utf-8").split("## Layers")[1].split("```")[1]
    return [line.split("   ")[0].split() for line in block.strip().splitlines()]


def place(module: str) -> int:
    """Number of the layer that a module belongs to, by the longest name that it begins with."""
    found = [
        (len(name), number)
        for number, names in enumerate(layers())
        for name in names
        if f"{module}.".startswith(f"headstart.{name}.")
    ]
    assert found, f"{module} stands in no layer of ARCHITECTURE.md"
    return max(found)[1]


@pytest.mark.parametrize("module", [module for module in MODULES if module != "headstart"])
def test_imports_point_down(module: str) -> None:
    up = [other for other, _ in imported(tree_of(module)) if other != "headstart" and place(other) < place(module)]
    assert up == []


def test_an_import_that_points_up_would_be_found() -> None:
    assert place("headstart.engine") < place("headstart.decode") < place("headstart.tree")
    found = list(
        imported(ast.parse("from headstart.engine import Engine\nif TYPE_CHECKING:\n    import headstart.cli"))
    )
    assert found == [("headstart.engine", "Engine")]
