"""The benchmark on models that take no time: what it times, what it prints, what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from headstart import _native
from headstart.backends.native import NativeModel
from headstart.bench import kernel, synthetic
from headstart.bench.kernel import Cell, KernelOptions, main, run
from headstart.bench.kernel_report import as_object, ratios
from headstart.bench.subjects import Llama
from headstart.bench.synthetic import Shape
from headstart.cli.bench import app
from headstart.errors import InputError
from headstart.models.kinds import KINDS
from headstart.protocols import Batch
from support.files import write_gguf
from support.tiny import tiny_weights

TINY = Shape(hidden=256, mlp=256, layers=1, heads=4, kv_heads=2, head_size=64, vocab=300, tied=True)


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A tiny model and tiny synthetic shapes in place of the real ones; memory is read in small."""
    path = write_gguf(tiny_weights(kind="Q8_0"), tmp_path / "tiny.gguf")
    tiny = dict.fromkeys(synthetic.SHAPES, TINY)
    monkeypatch.setattr(synthetic, "SHAPES", tiny)
    monkeypatch.setattr(
        kernel, "bandwidth", lambda threads: 1e-9 * (1 << 20) / min(_native.time_reading(1 << 20, threads, 2))
    )
    few = {"rows": (1, 4, 8), "contexts": (10, 40), "prefill": 20, "rounds": 3, "shapes": (), "formats": ()}
    return {"model": str(path), "threads": 1, **few}


def test_every_cell_is_timed_every_round(options: dict[str, Any]) -> None:
    report = run(KernelOptions(**options))
    cells = {Cell("headstart", context, rows) for context in (10, 40) for rows in (1, 4, 8)}
    assert set(report.seconds) == cells | {Cell("headstart", 20, 0)}
    assert all(len(seconds) == 3 and min(seconds) > 0 for seconds in report.seconds.values())
    assert len(report.bandwidths["headstart"]) == 3 * 3  # before each context and the prompt, every round
    assert report.cache_bytes_per_token == 2 * 2 * 2 * 2 * 16  # keys and values, half precision, layers, kv heads


def test_the_last_line_is_json(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    main(KernelOptions(**{**options, "formats": ("F16",)}))
    *tables, last = capsys.readouterr().out.splitlines()
    assert tables[0].startswith("memory: ")
    found = json.loads(last)
    assert list(found["curve"]) == ["1", "4", "8"]
    assert found["bandwidth_gb_s"] > 0
    assert list(found["bandwidth_quartiles"]) == ["headstart", "smollm2-135m F16"]
    assert found["curve"] == found["contexts"]["10"]
    assert list(found["synthetic"]) == ["smollm2-135m F16"]
    main(KernelOptions(**options), as_json=True)
    assert json.loads(capsys.readouterr().out)["machine"]["isa"] == _native.chosen_isa()


def test_ratios_are_of_medians() -> None:
    report = kernel.Report(KernelOptions(contexts=(200, 1200)), cache_bytes_per_token=20_000)
    report.bandwidths = {"headstart": [30, 10, 5]}
    report.seconds = {
        Cell("headstart", 200, 1): [0.003, 0.001, 0.002],
        Cell("headstart", 200, 4): [0.003] * 3,
        Cell("headstart", 1200, 1): [0.005] * 3,
        Cell("llama.cpp", 200, 1): [0.008] * 3,
    }
    assert ratios(report) == {
        "t(4)/t(1)": 1.5,
        "added from 200 to 1200, 1 rows / cache bytes at bandwidth": 1.5,
        "t(1) at 200 / llama.cpp": 0.25,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_synthetic_models_run_in_every_format(kind: str, options: dict[str, Any]) -> None:
    assert options
    model = NativeModel(synthetic.synthetic("smollm2-135m", kind), context=50)
    rows = model.forward(Batch.chain(model.open(), [1, 2, 3], wanted="all"))
    assert np.isfinite(rows.logits(2)).all()
    assert np.ptp(rows.logits(2)) > 0


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"peer": "vllm"}, "peer is 'vllm'; choose one of llama.cpp"),
        ({"rounds": 0}, "must all be at least 1"),
        ({"rows": ()}, "must all be at least 1"),
        ({"formats": ("Q3_K",)}, "format is 'Q3_K'"),
        ({"shapes": ("gpt-5",)}, "shape is 'gpt-5'"),
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        KernelOptions(**wrong)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"threads": 0}, "threads is 0; this machine allows 1 to"),
        ({"threads": 10**20}, f"threads is {10**20}; this machine allows 1 to"),
        ({"contexts": (10, 10**9)}, "ask for 1000000008 tokens; the model .* holds"),
        ({"rows": (1, 10**20)}, "tokens; the model .* holds"),
        ({"prefill": 1 << 32}, "ask for 4294967296 tokens; the model .* holds"),
    ],
)
def test_what_the_model_or_machine_does_not_allow_is_refused_before_measuring(
    options: dict[str, Any], wrong: dict[str, Any], complaint: str
) -> None:
    said: list[str] = []
    with pytest.raises(InputError, match=complaint):
        run(KernelOptions(**{**options, **wrong}), say=said.append)
    assert said == []


def test_a_peer_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be run"):
        Llama(tmp_path / "m.gguf", kind="", threads=1, python=str(tmp_path / "python"))
    with pytest.raises(InputError, match=r"llama.cpp ended: .*; install llama-cpp-python"):
        Llama(tmp_path / "missing.gguf", kind="", threads=1, python=sys.executable)


def test_the_peer_takes_its_turn_in_every_round(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for llama-cpp-python that answers at once: the process, its questions and the interleaving are real."""
    (tmp_path / "llama_cpp.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = run(KernelOptions(**options, peer="llama.cpp"))
    assert {cell.subject for cell in report.seconds} == {"headstart", "llama.cpp", "llama.cpp Q4_0"}
    assert len(report.seconds[Cell("llama.cpp", 40, 8)]) == 3
    assert report.about_peer == {"version": "stand-in", "system": "none"}
    assert "prefill / llama.cpp Q4_0" in as_object(report)["ratios"]


STAND_IN = """
import ctypes
from types import SimpleNamespace
__version__ = "stand-in"
LLAMA_FTYPE_MOSTLY_Q4_0 = 2
class Parameters(ctypes.Structure):
    pass
def plain(*_): return Parameters()
llama_context_default_params = llama_model_default_params = llama_model_quantize_default_params = plain
def llama_batch_init(n, *_):
    seq = [[0] for _ in range(n)]
    return SimpleNamespace(n_tokens=0, token=[0]*n, pos=[0]*n, n_seq_id=[0]*n, seq_id=seq, logits=[0]*n)
def llama_log_callback(f): return f
def llama_log_set(*_): pass
def llama_model_load_from_file(*_): return 1
def llama_model_quantize(*_): return 0
def llama_init_from_model(*_): return 1
def llama_get_memory(*_): return 1
def llama_decode(*_): return 0
def llama_synchronize(*_): pass
def llama_memory_seq_rm(*_): return True
def llama_print_system_info(): return b"none"
"""


def test_a_picture_of_the_curve(options: dict[str, Any], tmp_path: Path) -> None:
    main(KernelOptions(**options), as_json=True, plot=tmp_path / "curve.png", say=lambda _: None)
    assert (tmp_path / "curve.png").stat().st_size > 5000


def test_the_command_line_reaches_all_of_it(options: dict[str, Any]) -> None:
    words = ["kernel", "--model", options["model"], "--contexts", "10,40", "--rows", "1,4", "--prefill", "20"]
    words += ["--rounds", "1", "--shapes", "none", "--formats", "Q8_0,Q4_K", "--threads", "1", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert list(json.loads(done.output)["synthetic"]) == ["smollm2-135m Q8_0", "llama-3.2-1b Q4_K"]
    wrong = CliRunner().invoke(app, ["kernel", "--rows", "many"])
    assert "rows is 'many'; give whole numbers" in str(wrong.exception)


@pytest.mark.parametrize(
    ("name", "says"), [("a.foo", "use .png, .svg or .pdf"), ("none/a.png", "its folder is not there")]
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_measuring(
    options: dict[str, Any], tmp_path: Path, name: str, says: str
) -> None:
    said: list[str] = []
    with pytest.raises(InputError, match=says):
        main(KernelOptions(**options), plot=tmp_path / name, say=said.append)
    assert said == []
