"""Case 21: the draft model's own cache stays in step with the text. mlxcel 994, vllm 47926."""

import numpy as np
import pytest

from headstart.draft import ModelDrafter
from headstart.protocols import Batch
from support.kit import LENGTHS, Scripted, engine, random_model

PROMPT = [50, 60, 70]


@pytest.mark.parametrize("length", LENGTHS)
def test_scores_from_the_cache_equal_a_fresh_pass(length):
    """Every kept length from 0 to all, in random order: after each round the next scores are bit-equal to a fresh pass."""
    model, rng = random_model(seed=5, context=512), np.random.default_rng(length)
    checked = []

    class Checked(ModelDrafter):
        def propose(self, request, budget):
            rows, row = self._reader.catch_up(request.id, request.tokens)
            cached = rows.logits(row).copy()
            fresh = model.open()
            logits = model.forward(Batch.chain(fresh, request.tokens)).logits(len(request.tokens) - 1)
            assert (cached == logits).all()
            model.close(fresh)
            checked.append(len(request.tokens))
            super().propose(request, budget)
            return script.propose(request, budget)

    plain = engine(random_model(seed=2), ignore_eos=True, drafter="none").generate(PROMPT, max_tokens=230)
    script = Scripted([*PROMPT, *plain.tokens], rng.integers(0, length + 1, 200).tolist())
    drafter = Checked(model, 300)
    result = engine(random_model(seed=2), ignore_eos=True, drafter=drafter).generate(
        PROMPT, max_tokens=230, draft_length=length
    )
    assert result.tokens == plain.tokens
    assert len(checked) > 25
    assert {0, length} <= set(np.diff(checked) - 1)


@pytest.mark.parametrize("length", LENGTHS)
def test_acceptance_returns_after_a_forced_refusal(length):
    """The target drafts for itself, with one draft made wrong: the round after it is accepted whole."""
    model = random_model(seed=2)
    accepted = []

    class Wrong(ModelDrafter):
        rounds = 0

        def propose(self, request, budget):
            draft = super().propose(request, budget)
            self.rounds += 1
            if self.rounds % 3:
                return draft
            return type(draft).chain([(draft.tokens[0] + 1) % 300, *draft.tokens[1:]])

    one = engine(model, ignore_eos=True, drafter=Wrong(model, 300))
    with one.stream(PROMPT, max_tokens=100, draft_length=length) as stream:
        for _ in range(12):
            before = stream.result.statistics.tokens_accepted
            stream.advance()
            accepted.append(stream.result.statistics.tokens_accepted - before)
    assert accepted == [length, length, 0] * 4
