"""What only the native backend does: threads, instruction sets, memory, views, damaged weights."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import _native
from headstart.backends import machine, native
from headstart.backends.native import NativeModel, NativeRows
from headstart.errors import CorruptModelError, InputError, ModelError, NumericsError
from headstart.models import Tensor, Weights
from headstart.protocols import Batch
from support.tiny import tiny_weights


def with_values(weights: Weights, name: str, **at: float) -> Weights:
    """The same model with some values of an F32 tensor replaced: ``with_values(w, "0.q", at3=1e30)``."""
    tensor = weights.tensors[name]
    values = tensor.data.view(np.float32).copy()
    for place, value in at.items():
        values[int(place.removeprefix("at"))] = value
    changed = Tensor("F32", tensor.shape, values.view(np.uint8))
    return replace(weights, tensors={**weights.tensors, name: changed})


def rows_of(model: NativeModel, tokens: list[int]) -> NativeRows:
    return model.forward(Batch.chain(model.open(), tokens, wanted="all"))


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("threads", [0, -3, 100_000])
def test_thread_counts_that_make_no_sense_are_refused(threads: int) -> None:
    with pytest.raises(InputError, match=rf"threads is {threads}; this machine allows 1 to"):
        NativeModel(tiny_weights(), threads=threads)


def test_by_default_there_is_a_thread_for_each_core_at_hand() -> None:
    assert NativeModel(tiny_weights()).threads == machine.default_threads() >= 1


def test_a_quota_of_processor_time_limits_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert machine.default_threads() == 2


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_a_model_larger_than_memory_is_refused_before_it_is_read(
    precision: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text("150000\n")
    (tmp_path / "memory.current").write_text("50000\n")
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    assert machine.available_memory_bytes() == 100_000
    with pytest.raises(ModelError, match=r"needs 0\.\d GB of memory and 0\.0 GB are available"):
        NativeModel(tiny_weights(), precision=precision)


def test_forced_instruction_set_is_in_the_name_of_the_numerics() -> None:
    code = """
from headstart.backends.native import NativeModel
from support.tiny import tiny_weights
print(NativeModel(tiny_weights(kind="Q8_0"), threads=1).numerics_id)
"""
    done = run(code, HEADSTART_ISA="portable", PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    assert (done.stdout.strip(), done.stderr) == ("native-portable-int8", "")


def test_a_forked_process_uses_and_leaves_what_it_inherits() -> None:
    """Of the threads of a model only the one that forked is there; ending must not wait for the others."""
    code = """
import os, sys, warnings
from headstart.backends.native import NativeModel
from headstart.protocols import Batch
from support.tiny import tiny_weights

def bits(model):
    return model.forward(Batch.chain(model.open(), [1, 2, 3], wanted="all")).logits(2).tobytes()

warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
weights = tiny_weights(kind="Q4_1", hidden=512, heads=8, kv_heads=4, mlp=1536)
inherited = [NativeModel(weights, threads=2) for _ in range(2)]
expected = [bits(model) for model in inherited]
child = os.fork()
if child == 0:
    own = NativeModel(weights, threads=2)
    sys.exit(0 if [bits(own), bits(inherited[0])] == expected else 5)
assert os.waitpid(child, 0)[1] == 0
assert [bits(model) for model in inherited] == expected
"""
    done = run(code, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("isa", ["sse9", "neon" if "avx2" in _native.available_isas() else "avx512"])
def test_instruction_sets_that_are_not_here_are_refused(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=rf"instruction set '{isa}' is not available; this machine has portable"):
        NativeModel(tiny_weights(), isa=isa)
    monkeypatch.setenv("HEADSTART_ISA", isa)
    with pytest.raises(InputError, match=rf"HEADSTART_ISA is '{isa}'; this machine has portable"):
        NativeModel(tiny_weights())


@pytest.mark.parametrize("name", ["0.q", "embed", "1.down", "0.attn_norm", "final_norm"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_numbers_are_refused(name: str, value: float) -> None:
    with pytest.raises(CorruptModelError, match=f"'{name}'"):
        NativeModel(with_values(tiny_weights(), name, at3=value))


@pytest.mark.parametrize("name", ["0.q", "0.k", "0.v", "0.o", "0.gate", "0.up", "1.down"])
@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_numbers_that_overflow_are_reported_by_row(name: str, precision: Any) -> None:
    """Weights of 1e38 are numbers; what they make of a row is not, wherever in a layer they stand."""
    weights = tiny_weights()
    many = {f"at{i}": 3e38 for i in range(200)}
    rows = rows_of(NativeModel(with_values(weights, name, **many), precision=precision), [1, 2])
    for row in range(2):
        with pytest.raises(NumericsError, match=f"a logit of row {row} is not a number"):
            rows.argmax(row)
        with pytest.raises(NumericsError):
            rows.top(row, 3)


@pytest.mark.parametrize("name", ["0.k", "0.v"])
def test_keys_and_values_beyond_half_precision_are_reported(name: str) -> None:
    """They fit a float32 cache; a half-precision one must not change them silently."""
    weights = with_values(tiny_weights(), name, **{f"at{i}": 1e6 for i in range(64)})
    with pytest.raises(NumericsError, match="row 0"):
        rows_of(NativeModel(weights), [1]).argmax(0)
    rows_of(NativeModel(weights, precision="float32"), [1]).argmax(0)


def test_a_row_that_overflows_leaves_its_neighbours_alone() -> None:
    weights = tiny_weights(tied=False)
    width = weights.config.hidden_size
    bad = with_values(weights, "embed", **{f"at{7 * width + i}": 3e38 for i in range(width)})
    model, sound = NativeModel(bad, threads=1), NativeModel(weights, threads=1)
    sequence = model.open()
    siblings = Batch(*(np.array(a, np.int32) for a in ([sequence] * 3, [5, 7, 9], [-1, -1, -1])), np.ones(3, bool))
    rows = model.forward(siblings)
    with pytest.raises(NumericsError, match="row 1"):
        rows.argmax(1)
    for row, token in ((0, 5), (2, 9)):
        assert rows.logits(row).tobytes() == rows_of(sound, [token]).logits(0).tobytes()


def test_views_outlive_the_next_pass() -> None:
    model = NativeModel(tiny_weights())
    first = rows_of(model, [1, 2, 3])
    view, before = first.logits(2), first.logits(2).copy()
    hidden = model.forward(Batch.chain(model.open(), [4]), taps=[1]).hidden(1, 0)
    kept = hidden.copy()
    del first
    for token in range(20):
        rows_of(model, [token])
    assert (view == before).all()
    assert (hidden == kept).all()
    del model
    assert (view == before).all()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_the_memory_of_a_pass_is_used_again_once_nobody_looks() -> None:
    model = NativeModel(tiny_weights())
    places = {rows_of(model, [token]).logits(0).ctypes.data for token in range(10)}
    assert len(places) == 1


@pytest.mark.parametrize("count", [1, 2, 17, 300, 1000])
def test_top_is_a_stable_sort(count: int) -> None:
    model = NativeModel(tiny_weights())
    rows = rows_of(model, [5])
    logits = rows.logits(0)
    ids, values = rows.top(0, count)
    assert ids.tolist() == np.argsort(-logits, kind="stable")[:count].tolist()
    assert values.tolist() == logits[ids].tolist()
    with pytest.raises(InputError, match="count is 0"):
        rows.top(0, 0)


def test_argmax_across_the_units_of_a_large_head() -> None:
    """A head wide enough to be cut into many units, none of them a multiple of 16 at the end."""
    model = NativeModel(tiny_weights(vocab=300, hidden=512, heads=4, mlp=64), threads=2)
    for token in range(40):
        rows = rows_of(model, [token])
        assert rows.argmax(0) == int(rows.logits(0).argmax())


def test_passes_from_several_threads() -> None:
    model = NativeModel(tiny_weights(kind="Q8_0", context=100), threads=2)
    expected = [rows_of(model, list(range(seed, seed + 9))).logits(8).tobytes() for seed in range(4)]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for _ in range(30):
            sequence = model.open()
            for token in range(seed, seed + 9):
                rows = model.forward(Batch.chain(sequence, [token]))
                model.keep(sequence, [0])
            if rows.logits(0).tobytes() != expected[seed]:
                wrong.append(seed)
            model.close(sequence)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_cache_memory_grows_on_demand_and_is_given_back() -> None:
    model = NativeModel(tiny_weights(context=512))
    assert model.cache_bytes == 0
    sequence = model.open()
    grown = []
    for _ in range(4):
        model.forward(Batch.chain(sequence, list(range(64)), wanted="none"))
        model.keep(sequence, range(64))
        grown.append(model.cache_bytes)
    assert grown == [grown[0] * n for n in (1, 2, 3, 4)]
    branch = model.fork(sequence, 200)
    assert model.cache_bytes == grown[3], "a fork shares its memory"
    model.close(sequence)
    model.close(branch)
    assert model.cache_bytes == 0


def test_memory_that_may_be_given_back_is_known_by_its_map(tmp_path: Path) -> None:
    import mmap

    (tmp_path / "weights").write_bytes(bytes(8192))
    with (tmp_path / "weights").open("r+b") as file:
        readable = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        private = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    assert native._in_read_only_map(np.frombuffer(readable, np.uint8)[16:32])
    assert not native._in_read_only_map(np.frombuffer(private, np.uint8)[16:32])
    assert not native._in_read_only_map(np.zeros(64, np.uint8))
