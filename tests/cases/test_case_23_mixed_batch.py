"""Case 23: requests of different kinds together equal each alone, in any order. vllm 14645, 10863, 6038."""

import pytest

from support.kit import LENGTHS, engine, random_model

REQUESTS = [
    ([10, 11, 12, 10, 11], {"temperature": 0.0}),
    ([40, 41, 42], {"temperature": 1.0, "seed": 3}),
    ([90, 91], {"temperature": 0.8, "seed": 5, "top_k": 20}),
    ([7], {"temperature": 0.0, "repetition_penalty": 1.4}),
    ([120, 121, 120, 121, 120], {"temperature": 1.0, "seed": 8, "guarantee": "law"}),
]


def make(**options):
    return engine(random_model(seed=2), ignore_eos=True, max_tokens=30, **options)


@pytest.mark.parametrize(
    "drafter", [{"drafter": "none"}, {"drafter": "lookup"}, {"draft_model": random_model(seed=5)}], ids=str
)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 2, 0, 3, 1)])
def test_together_equals_alone(drafter, order, length):
    alone = [make(**drafter).generate(prompt, draft_length=length, **options).tokens for prompt, options in REQUESTS]
    together = make(**drafter).generate_batch(
        [REQUESTS[i][0] for i in order], each=[{"draft_length": length, **REQUESTS[i][1]} for i in order]
    )
    assert [result.tokens for result in together] == [alone[i] for i in order]


def test_three_choices_have_noise_of_their_own_and_share_the_prompt():
    options = {"temperature": 1.0, "seed": 3}
    choices = make(drafter="lookup").generate_choices([40, 41, 42], 3, **options)
    assert len({choice.tokens for choice in choices}) == 3
    assert choices[0].tokens == make(drafter="none").generate([40, 41, 42], **options).tokens
    assert [choice.tokens for choice in choices] == [
        choice.tokens for choice in make(drafter="none").generate_choices([40, 41, 42], 3, **options)
    ]
    assert all(choice.statistics.cached_tokens == 2 for choice in choices[1:])
    assert len({choice.tokens for choice in make().generate_choices([40, 41, 42], 3)}) == 1
