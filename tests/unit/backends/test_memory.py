"""What a loaded model holds of the machine's memory: its weights once, and keys and values as tokens come.

Resident memory is the system's own figure, of a process that does nothing else. A second copy of the weights, or a
mapped file that is not given back, would double it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.files import write_gguf
from support.tiny import tiny_weights

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc/self/status is Linux's")

START = """
import json, sys
from headstart.backends.native import NativeModel
from headstart.models import load
from headstart.protocols import Batch
from support.tiny import tiny_weights

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) * 1024

def read(model, count, sequence):
    for first in range(0, count, 256):
        tokens = [(first + i) % 256 for i in range(min(256, count - first))]
        model.forward(Batch.chain(sequence, tokens))
        model.keep(sequence, range(len(tokens)))
"""

WEIGHTS = """
NativeModel(tiny_weights(), threads=2)  # what libraries take for themselves is there before
before = resident()
weights = load(sys.argv[1])
model = NativeModel(weights, threads=2)
loaded = resident() - before
read(model, 8, model.open())
print(json.dumps({"loaded": loaded, "used": resident() - before - model.cache_bytes}))
"""

CACHE = """
shape = dict(layers=4, hidden=128, mlp=128, heads=8, kv_heads=8, head_size=64, kind="Q8_0", context=2**20)
weights = tiny_weights(**shape)
first = NativeModel(weights, threads=2, context=64)
before = resident()
model = NativeModel(weights, threads=2)
opened = resident() - before
read(model, 256, model.open())
warm, held, sequence = resident(), model.cache_bytes, model.open()
read(model, 5000, sequence)
grown, pages = resident() - warm, model.cache_bytes - held
model.close(sequence)
print(json.dumps({"opened": opened, "grown": grown, "pages": pages, "left": resident() - warm}))
"""

MB = 10**6


def measured(code: str, *arguments: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", START + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("kind", "layers"), [("Q4_1", 12), ("Q4_0", 12), ("Q8_0", 6), ("F16", 3)])
def test_weights_are_held_once(kind: str, layers: int, tmp_path: Path) -> None:
    shape = {"layers": layers, "hidden": 768, "mlp": 2048, "heads": 12, "kv_heads": 6, "vocab": 4096}
    file = write_gguf(tiny_weights(kind=kind, context=2**17, **shape), tmp_path / "model.gguf")
    found, size = measured(WEIGHTS, file), file.stat().st_size
    file.unlink()
    assert size > 40 * MB
    assert 0.8 * size < found["loaded"] < 1.3 * size
    assert found["used"] < 1.3 * size


def test_keys_and_values_take_memory_as_tokens_come() -> None:
    """The context would take 8 GB; 5000 tokens take 41 MB, in pages of 32, and most of it comes back."""
    found = measured(CACHE)
    assert found["opened"] < 8 * MB
    assert found["pages"] == 157 * 32 * (2 * 4 * 8 * 64 * 2)
    assert 0.8 * found["pages"] < found["grown"] < found["pages"] + 8 * MB
    assert found["left"] < found["pages"] / 2
