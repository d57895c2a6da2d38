"""Every module of models lists its public names, and nothing else is public."""

import ast
import pkgutil
from pathlib import Path

import pytest

from headstart import models

FOLDER = Path(models.__file__).parent


def public_names(tree):
    """Names that a module's own top-level statements define, those with an underscore left out."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        else:
            names = []
        yield from (name for name in names if not name.startswith("_"))


@pytest.mark.parametrize("name", [entry.name for entry in pkgutil.iter_modules([str(FOLDER)])])
def test_all_equals_the_public_names(name):
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    listed = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert sorted(public_names(tree)) == sorted(listed)
