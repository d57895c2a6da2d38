"""Coins: shared vectors, keys drawn once, open-interval uniforms, own logarithm and exponential, the sampler's own law."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from headstart import coins as coins_module
from headstart.coins import Coin, RoundCoins, exp, log, noise, pick, race, uniform, words
from headstart.errors import InputError
from headstart.law import Law
from headstart.tree import ROOT

GOLDEN = Path(__file__).parents[1] / "golden"
JS = Path(coins_module.__file__).parent / "lesson" / "js" / "coins.js"


def test_threefry_matches_the_published_vectors() -> None:
    ones = 2**32 - 1
    assert words((0, 0), (0, 0)) == (0x6B200159, 0x99BA4EFE)
    assert words((ones, ones), (ones, ones)) == (0x1CB996FC, 0xBB002BE7)
    assert words((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3)) == (0xC4923A9C, 0x483DF7A0)


def test_numpy_reproduces_the_golden_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coins_module, "native", None)
    spec = importlib.util.spec_from_file_location("make_coins", GOLDEN / "make_coins.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert json.loads(json.dumps(module.vectors())) == json.loads((GOLDEN / "coins.json").read_text())


@pytest.mark.skipif(shutil.which("node") is None, reason="the JavaScript twin is run by node, which is not installed")
def test_javascript_reproduces_the_golden_vectors(tmp_path: Path) -> None:
    module = tmp_path / "coins.mjs"
    module.write_text(JS.read_text())
    command = ["node", str(GOLDEN / "coins_check.mjs"), str(module), str(GOLDEN / "coins.json")]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert report.keys() == json.loads((GOLDEN / "coins.json").read_text()).keys()
    assert {name: r["wrong"] for name, r in report.items()} == dict.fromkeys(report, 0)
    assert all(r["rows"] > 10 for r in report.values())


def test_uniforms_stay_inside_the_open_interval() -> None:
    least, most = uniform(0, 0), uniform(2**32 - 1, 2**32 - 1)
    assert least == 2.0**-53
    assert most == 1 - 2.0**-53
    assert -log(np.array([most]))[0] > 0


def test_log_and_exp_are_within_two_units_in_the_last_place() -> None:
    rng = np.random.default_rng(5)
    xs = np.concatenate([rng.random(800), 1 - rng.random(400) * 1e-7, 2.0 ** rng.uniform(-1000, 1000, 400)])
    zs = np.concatenate([-rng.random(500), -rng.random(500) * 700, rng.random(300) * 700])
    with localcontext() as context:
        context.prec = 40
        for x, y in zip(xs, log(xs), strict=True):
            assert abs(Decimal(float(y)) - Decimal(float(x)).ln()) <= 2 * Decimal(float(np.spacing(abs(y))))
        for x, y in zip(zs, exp(zs), strict=True):
            assert abs(Decimal(float(y)) - Decimal(float(x)).exp()) <= 2 * Decimal(float(np.spacing(y)))


def test_a_key_is_drawn_once_but_target_noise_as_often_as_wished() -> None:
    coins, law = RoundCoins(3, 0, 5), Law.of([0.5, 0.5])
    coins.accept(1, 2, 0)
    coins.recover(law, 0)
    with pytest.raises(AssertionError, match="accept coin of node 0 in round 5 was drawn twice"):
        coins.accept(1, 2, 0)
    assert coins.target(law, 9) == coins.target(law, 9)


def test_every_part_of_a_key_moves_the_coin() -> None:
    draws = [
        RoundCoins(seed, choice, round_)._draw(stream, node)
        for seed in (0, 2**32)
        for choice in (0, 1)
        for round_ in (0, 1)
        for stream in ("propose", "accept", "recover")
        for node in (ROOT, 0, 1)
    ]
    assert len(set(draws)) == len(draws)


def test_target_noise_does_not_know_the_round() -> None:
    law = Law.of(np.random.default_rng(0).dirichlet(np.ones(50)).tolist())
    assert RoundCoins(1, 2, 0).target(law, 7) == RoundCoins(1, 2, 40).target(law, 7)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    with pytest.raises(InputError, match="from 0 to"):
        RoundCoins(seed)


def test_a_log_holds_every_coin() -> None:
    kept: list[Coin] = []
    coins, law = RoundCoins(3, log=kept), Law.of([0.2, 0.8])
    coins.propose(law, 0)
    coins.accept(1, 2, 0)
    coins.target(law, 4)
    assert [(c.stream, c.place) for c in kept] == [("propose", 0), ("accept", 0), ("target", 4)]
    assert kept[2].token is not None
    assert 0 < kept[2].uniform < 1


def test_the_extreme_uniforms_pick_the_ends_of_the_support() -> None:
    law = Law.of([0.0, 0.25, 0.75, 0.0])
    assert pick(law, 2.0**-53) == 1
    assert pick(law, 1 - 2.0**-53) == 2
    crumbs = Law.of([0.1] * 10)  # running sum 0.9999999999999999
    assert pick(crumbs, 1 - 2.0**-53) == 9


def test_a_vocabulary_of_one_needs_no_luck() -> None:
    assert race(Law.of([1.0]), (1, 2)) == [0]
    assert pick(Law.of([1.0]), 0.3) == 0


def test_the_race_is_a_sample_of_its_law() -> None:
    """Chi-square with 3 degrees of freedom; a right sampler passes all but once in 10**6 seeds."""
    p, n = np.array([0.5, 0.3, 0.15, 0.05]), 20_000
    law = Law.of(p.tolist())
    counts = np.bincount([race(law, (t, 77))[0] for t in range(n)], minlength=4)
    assert ((counts - n * p) ** 2 / (n * p)).sum() < 31.0


def test_the_order_of_the_race_is_a_draw_without_replacement() -> None:
    p, n = np.array([0.5, 0.3, 0.2]), 20_000
    law = Law.of(p.tolist())
    pairs = [tuple(race(law, (t, 5), 2)) for t in range(n)]
    for i in range(3):
        for j in range(3):
            if i != j:
                expected = p[i] * p[j] / (1 - p[i])
                assert abs(pairs.count((i, j)) / n - expected) < 5 * np.sqrt(expected / n)


def test_noise_of_a_token_does_not_depend_on_its_company() -> None:
    ids = np.arange(100)
    assert noise((8, 9), ids)[ids[40:41]] == noise((8, 9), ids[40:41])
