"""Several threads on one engine, streams closed midway, thousands of requests: answers as alone, and nothing left open."""

from __future__ import annotations

import threading

import pytest

from support.kit import engine, random_model

PROMPTS = [[10 + 7 * n, 11, 12, 10 + 7 * n] for n in range(6)]


def options(number):
    asked = [{}, {"repetition_penalty": 1.3}, {"top_k": 9}, {"guarantee": "law"}, {"logprobs": 2}, {"stop": "e"}]
    return {"seed": number, "temperature": 0.0 if number % 2 else 1.0, "draft_length": 3, **asked[number % 6]}


def make(**more):
    return engine(random_model(seed=2), ignore_eos=True, max_tokens=30, **more)


def open_sequences(model):
    return len(model._native.lengths())


@pytest.mark.parametrize(
    "drafter", [{"drafter": "lookup"}, {"draft_model": random_model(seed=5)}], ids=["lookup", "model"]
)
def test_streams_of_several_threads_are_what_they_are_alone(drafter):
    alone = [make(**drafter).generate(prompt, **options(n)).tokens for n, prompt in enumerate(PROMPTS)]
    one, found = make(**drafter), {}

    def run(number):
        for repeat in range(3):
            with one.stream(PROMPTS[number], **options(number)) as stream:
                pieces = list(stream)
            found[number, repeat] = stream.result.tokens
            assert "".join(piece.text for piece in pieces) == stream.result.text

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(PROMPTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {(n, repeat): alone[n] for n in range(len(PROMPTS)) for repeat in range(3)}


@pytest.mark.parametrize("rounds", range(6))
def test_a_stream_closed_by_another_thread_ends_as_cancelled(rounds):
    one, arrived, closed = make(), threading.Semaphore(0), threading.Event()
    stream = one.stream(PROMPTS[0], seed=1, temperature=1.0, max_tokens=400)
    pieces = []

    def read():
        for piece in stream:
            pieces.append(piece)
            arrived.release()
        closed.set()

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(rounds):
        arrived.acquire()
    stream.close()
    assert closed.wait(60)
    reader.join()
    assert stream.result.finish_reason == "cancelled"
    assert "".join(piece.text for piece in pieces) == stream.result.text
    assert (
        stream.result.tokens
        == one.generate(PROMPTS[0], seed=1, temperature=1.0, max_tokens=400).tokens[: len(stream.result.tokens)]
    )


def test_a_closed_stream_stays_closed():
    stream = make().stream(PROMPTS[0], seed=1)
    stream.close()
    stream.advance()
    assert list(stream) == []
    assert stream.result.tokens == ()


def test_an_abandoned_iteration_frees_its_caches():
    model = random_model(seed=2)
    with make() as one:
        before = open_sequences(model)
        for _ in range(20):
            next(iter(one.stream(PROMPTS[0], seed=1)))
        one.close()
        assert open_sequences(model) == before


def test_thousands_of_requests_leave_nothing_open():
    model, draft = random_model(seed=2), random_model(seed=5)
    before = open_sequences(model), open_sequences(draft)
    with engine(model, draft_model=draft, ignore_eos=True, max_tokens=2, draft_length=1) as one:
        for number in range(1500):
            drafter = ("lookup", "model", "none")[number % 3]
            if number % 7:
                one.generate([number % 256, 5], drafter=drafter)
            else:
                with one.stream([number % 256, 5], drafter=drafter) as stream:
                    next(iter(stream))
            kept = len(one._prefixes._kept) + len(one._prefixes._running)
            assert open_sequences(model) <= before[0] + kept <= before[0] + 4
        lookup = one._drafters["lookup"]
        assert not lookup._texts
        assert not lookup._guesses
        assert not one._drafters["model"]._reader._sequences
    assert (open_sequences(model), open_sequences(draft)) == before


class Slow:
    """A model that lets another thread in before every pass."""

    def __init__(self, model, before):
        self._model, self._before, self.passes = model, before, 0

    def __getattr__(self, name):
        return getattr(self._model, name)

    def forward(self, batch, *, taps=()):
        self.passes += 1
        self._before(self.passes)
        return self._model.forward(batch, taps=taps)


def test_a_long_prompt_is_given_up_between_two_passes():
    began, go_on = threading.Event(), threading.Event()

    def wait(passes):
        began.set()
        assert go_on.wait(60)

    model = Slow(random_model(seed=2, context=4096), wait)
    before = open_sequences(model)
    with engine(model, ignore_eos=True) as one:
        stream = one.stream([5] * 4000)
        reader = threading.Thread(target=lambda: list(stream))
        reader.start()
        assert began.wait(60)
        closer = threading.Thread(target=stream.close)
        closer.start()
        while not stream.request.cancelled:
            pass
        go_on.set()
        reader.join()
        closer.join()
        assert model.passes == 1
        assert stream.result.finish_reason == "cancelled"
    assert open_sequences(model) == before


def test_a_stream_that_is_closed_while_it_waits_to_begin_opens_nothing():
    one = make()
    before = open_sequences(one.model)
    stream = one.stream([5, 6])
    with one._lock:
        reader = threading.Thread(target=lambda: list(stream))
        reader.start()
        while stream._state == "new":
            pass
        stream.request.cancelled = True
    reader.join()
    stream.close()
    assert open_sequences(one.model) == before
    assert stream.result.tokens == ()
