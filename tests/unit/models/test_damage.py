"""No damage to a file crashes, hangs or allocates wildly: each gives a model, or one sentence that says what is wrong."""

import json
import random
import tracemalloc

import pytest

from headstart import models
from headstart.errors import CorruptModelError, ModelError
from headstart.models import gguf
from support.files import write_gguf, write_hf
from support.tiny import tiny_weights

MOST_BYTES = 20_000_000  # the readers need some 2 MB for these files
EXTREMES = [0, 1, 2**31 - 1, 2**32 - 1]
ODDITIES = [None, True, -1, 0, 2**31, 10**400, 1e308, float("nan"), float("inf"), "x", [], {}, [[]], {"a": {}}]


@pytest.fixture(scope="module")
def weights():
    return tiny_weights(layers=1, heads=2, kv_heads=1, hidden=32)


@pytest.fixture(autouse=True)
def no_wild_allocation():
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES


def loads(path):
    """Whether it loads; refusing it must take one sentence."""
    try:
        models.load(path)
    except ModelError as error:
        refusal = str(error)
    else:
        return True
    assert len(refusal.splitlines()) == 1
    assert len(refusal) < 600
    return False


def damaged(raw, rng, reach):
    """A copy with a few bytes or counts changed, removed, or everything behind some place cut off."""
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(min(reach, len(raw)))
        change = rng.randrange(5)
        if change == 0:
            raw[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            raw[at] = rng.choice([0, 1, 127, 128, 255])
        elif change == 2:
            raw[at : at + 8] = rng.choice([0, 2**31, 2**62, 2**64 - 1]).to_bytes(8, "little")
        elif change == 3:
            del raw[at]
        elif len(raw) > 100:
            del raw[max(at, 100) :]
    return bytes(raw)


def test_gguf_cut_off_at_every_boundary_of_its_header(weights, tmp_path, monkeypatch):
    path = write_gguf(weights, tmp_path / "tiny.gguf")
    boundaries = set(range(64))
    claim = gguf._Cursor.claim

    def recording(cursor, size):
        boundaries.update((cursor.position - 1, cursor.position, cursor.position + 1))
        return claim(cursor, size)

    with monkeypatch.context() as patch:
        patch.setattr(gguf._Cursor, "claim", recording)
        assert loads(path)
    raw = path.read_bytes()
    assert len(boundaries) > 500
    for boundary in sorted(boundaries | {len(raw) - 1}):
        path.write_bytes(raw[:boundary])
        with pytest.raises(CorruptModelError):
            models.load(path)


def test_gguf_with_bytes_changed(weights, tmp_path):
    path = write_gguf(weights, tmp_path / "tiny.gguf")
    raw, rng = path.read_bytes(), random.Random(1)
    reach = raw.index(b"output_norm.weight") + 64
    outcomes = []
    for _ in range(500):
        path.write_bytes(damaged(raw, rng, reach))
        outcomes.append(loads(path))
    assert 20 < sum(outcomes) < 400


@pytest.mark.parametrize("extreme", EXTREMES)
def test_gguf_with_extreme_numbers(weights, tmp_path, extreme):
    path = write_gguf(weights, tmp_path / "tiny.gguf")
    fields = models.gguf.read_gguf(path).metadata
    numbers = [key for key, value in fields.items() if type(value) is int]
    assert len(numbers) >= 10
    for key in numbers:
        loads(write_gguf(weights, path, metadata={key: extreme}))


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_folders_with_bytes_changed(weights, tmp_path, name):
    folder = write_hf(weights, tmp_path / "tiny")
    raw, rng = (folder / name).read_bytes(), random.Random(2)
    reach = 2 * int.from_bytes(raw[:8], "little") if name == "model.safetensors" else len(raw)
    outcomes = []
    for _ in range(300):
        (folder / name).write_bytes(damaged(raw, rng, reach))
        outcomes.append(loads(folder))
    assert 5 < sum(outcomes) < 250


def test_safetensors_cut_off_anywhere_in_its_header(weights, tmp_path):
    folder = write_hf(weights, tmp_path / "tiny")
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    for end in [*range(0, int.from_bytes(raw[:8], "little") + 9, 5), len(raw) - 1]:
        path.write_bytes(raw[:end])
        assert not loads(folder)


@pytest.mark.parametrize("oddity", ODDITIES, ids=lambda value: repr(value)[:12])
def test_configurations_with_odd_values(weights, tmp_path, oddity):
    folder = write_hf(weights, tmp_path / "tiny")
    config = json.loads((folder / "config.json").read_text())
    more = {"rope_scaling", "rope_parameters", "quantization_config", "layer_types", "hidden_act", "use_sliding_window"}
    for key in config.keys() | more:
        (folder / "config.json").write_text(json.dumps(config | {key: oddity}))
        loads(folder)
    scaling = {"rope_type": "yarn", "factor": 2.0, "beta_fast": 32, "beta_slow": 1, "truncate": True, "mscale": 1.0}
    for key in scaling:
        (folder / "config.json").write_text(json.dumps(config | {"rope_scaling": scaling | {key: oddity}}))
        loads(folder)


@pytest.mark.parametrize("oddity", ODDITIES, ids=lambda value: repr(value)[:12])
def test_safetensors_headers_with_odd_entries(weights, tmp_path, oddity):
    folder = write_hf(weights, tmp_path / "tiny")
    entry = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    for changed in (oddity, *({**entry, key: value} for key in entry for value in (oddity, [oddity], [oddity, 16]))):
        header = json.dumps({"model.norm.weight": changed}).encode()
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
        assert not loads(folder)
