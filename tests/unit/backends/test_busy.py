"""Threads of a pass on a busy machine and on an idle one: the same bits, no processor time while nothing is asked.

What is counted is the processor time of this process, never the time on the clock; benchmarks/threads.py measures that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from headstart.backends.machine import most_threads
from headstart.backends.native import NativeModel
from headstart.protocols import Batch
from support.passes import start
from support.tiny import tiny_weights

PROMPT = [7, 3, 99, 12, 250, 41, 8]
# Wide enough that every step has work for several threads.
WEIGHTS = tiny_weights(kind="Q4_1", hidden=512, heads=8, kv_heads=4, mlp=1536)
BURN = "print('burning', flush=True)\nwhile True: pass"


@contextmanager
def burner() -> Iterator[None]:
    """A process that spins for as long as the block lasts."""
    with subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()


@contextmanager
def one_core() -> Iterator[None]:
    """What is started in the block shares one core, where the system can be told so."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, cores)


def model_of(threads: int) -> NativeModel:
    return NativeModel(WEIGHTS, threads=threads)


def bits(model: NativeModel, sequence: int, rows: int, seed: int) -> list[bytes]:
    """Logits of a pass of so many rows after what the sequence holds; nothing of it is kept."""
    tokens = [(37 * seed + 11 * row) % 300 for row in range(rows)]
    result = model.forward(Batch.chain(sequence, tokens, wanted="all"))
    return [result.logits(row).tobytes() for row in range(rows)]


def all_bits(model: NativeModel, repeats: int) -> list[list[bytes]]:
    sequence = start(model, PROMPT)
    return [bits(model, sequence, rows, seed) for seed in range(repeats) for rows in (1, 4, 8)]


def helpers_s() -> float:
    """Processor time that all threads but this one have spent."""
    return time.process_time() - time.thread_time()


@pytest.mark.parametrize("threads", sorted({2, min(most_threads(), 4)}))
def test_a_busy_machine_changes_no_bit(threads: int) -> None:
    alone = all_bits(model_of(1), 20)
    with ExitStack() as burners:
        for _ in range(os.cpu_count() or 1):
            burners.enter_context(burner())
        assert all_bits(model_of(threads), 20) == alone


def test_threads_and_a_burner_on_one_core_change_no_bit() -> None:
    """Now and then a thread is put aside amid its work, and whoever waits for it has to give the core away."""
    alone = all_bits(model_of(1), 200)
    with one_core(), burner():
        assert all_bits(model_of(2), 200) == alone


def test_idle_threads_take_no_processor_time() -> None:
    model = model_of(2)
    all_bits(model, 2)
    time.sleep(0.1)  # threads look out for work for some milliseconds, then sleep
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.03, "a thread that kept looking would take 0.3 s"


def test_threads_that_went_to_sleep_wake_and_change_no_bit() -> None:
    alone, model = model_of(1), model_of(2)
    expected, sequence = bits(alone, start(alone, PROMPT), 8, 0), start(model, PROMPT)
    for _ in range(5):
        time.sleep(0.1)
        asleep = helpers_s()
        assert bits(model, sequence, 8, 0) == expected
        passes = 1
        while helpers_s() - asleep < 1e-4 and passes < 10_000:
            assert bits(model, sequence, 8, 0) == expected
            passes += 1
        assert helpers_s() - asleep >= 1e-4, f"the other thread slept through {passes} passes"
