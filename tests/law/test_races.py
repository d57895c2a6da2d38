"""Coupled rules proved exactly: draft and target sampled by one noise, every way it can fall, in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from headstart.coins import race
from headstart.draft.draw import coupled_chain
from headstart.law import Law, excess
from headstart.outcomes import BranchCoins, outcomes
from headstart.theory import chi_square, coupling_acceptance, rematch
from headstart.toy import WORLDS, in_floats, joint, random_world
from headstart.verify import Coupled
from headstart.verify.proof import output_law, play_round, total_variation


@pytest.mark.parametrize("seed", range(40))
def test_a_rematch_sums_to_one_keeps_the_second_law_and_meets_as_often_as_the_formula_says(seed):
    world = random_world(4, seed=seed)
    first, second = world.draft((0,)), world.target((0,))
    marginal = [Fraction(0)] * 4
    met = Fraction(0)
    for x, weight in first.support():
        law = rematch(first, x, second)
        assert sum(law.weights) == 1
        met += weight * law.prob(x)
        for y, share in law.support():
            marginal[y] += weight * share
    assert marginal == [second.prob(y) for y in range(4)]
    assert met == coupling_acceptance(second, first)


def test_a_rematch_is_what_real_races_do():
    """Chi-square of pairs of winners on 4 000 noises; the seeds are fixed, chance of failing by luck 1 in 1 000."""
    p, q = (in_floats(rule(())) for rule in (WORLDS["three-word"].target, WORLDS["three-word"].draft))
    residual, n = excess(p, q).law(), 4000
    pairs = [(race(q, (1, key))[0], race(residual, (1, key))[0]) for key in range(n)]
    cells = [(x, y) for x in range(3) for y in range(3)]
    expected = [n * q.prob(x) * rematch(q, x, residual).prob(y) for x, y in cells]
    assert chi_square([pairs.count(cell) for cell in cells], expected).p_value > 1e-3


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("length", [1, 2, 3])
def test_coupled_chains_have_the_targets_law(seed, length):
    world = random_world(3, seed=seed)
    law = output_law(
        Coupled(), world.target, world.draft, lambda of, coins: coupled_chain(of, length, coins, 0), length + 1
    )
    assert total_variation(law, joint(world.target, length + 1)) == 0


@pytest.mark.parametrize("name", WORLDS)
def test_coupled_acceptance_is_the_closed_form(name):
    world = WORLDS[name]

    def play(coins):
        return len(
            play_round(Coupled(), world.target, world.draft, lambda of, c: coupled_chain(of, 1, c, 0), (), coins)
        )

    assert outcomes(play)[2] == coupling_acceptance(world.target(()), world.draft(()))


def test_a_third_law_on_one_noise_is_refused():
    law, coins = Law.of([Fraction(1, 2)] * 2), BranchCoins()
    coins.target(law, 5)
    coins.next_round()
    coins.target(law, 5)
    with pytest.raises(AssertionError, match="drawn twice"):
        coins.target(law, 5)
    with pytest.raises(AssertionError, match="order"):
        coins.rank(law, 6, 2)
    assert np.allclose([float(w) for w in rematch(law, 0, law).weights], [1, 0])
