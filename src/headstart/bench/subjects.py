"""What ``headstart bench kernel`` times: our backend, and llama.cpp in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from headstart.backends.native import NativeModel
from headstart.bench import llama_worker
from headstart.errors import InputError
from headstart.models.config import Weights
from headstart.protocols import Batch

__all__ = ["Llama", "Native", "Subject"]

BAND = 256


class Subject(Protocol):
    """Something that runs passes of one model; all figures are seconds."""

    def time_pass(self, context: int, rows: int) -> float:
        """One pass of ``rows`` rows, all with logits, after ``context`` tokens; its rows are dropped."""

    def time_prefill(self, tokens: int) -> float:
        """A prompt of that many tokens, from nothing."""

    def close(self) -> None:
        """Let go of memory and processes."""


class Native:
    """Our own backend, with a sequence of random tokens for each context length that is asked for."""

    def __init__(self, weights: Weights, *, threads: int | None, context: int) -> None:
        limit = min(context, weights.config.context_length)
        self.model = NativeModel(weights, threads=threads, context=limit)
        self._sequences: dict[int, int] = {}
        self._random = np.random.default_rng(0)

    def time_pass(self, context: int, rows: int) -> float:
        if context not in self._sequences:
            self._sequences[context] = self._grown(context)
        batch = Batch.chain(self._sequences[context], self._tokens(rows), wanted="all")
        begin = perf_counter()
        self.model.forward(batch)
        return perf_counter() - begin

    def time_prefill(self, tokens: int) -> float:
        sequence = self.model.open()
        batch = Batch.chain(sequence, self._tokens(tokens))
        begin = perf_counter()
        self.model.forward(batch)
        seconds = perf_counter() - begin
        self.model.close(sequence)
        return seconds

    def close(self) -> None:
        for sequence in self._sequences.values():
            self.model.close(sequence)
        self._sequences.clear()

    def _grown(self, length: int) -> int:
        sequence = self.model.open()
        for start in range(0, length, BAND):
            count = min(BAND, length - start)
            self.model.forward(Batch.chain(sequence, self._tokens(count), wanted="none"))
            self.model.keep(sequence, range(count))
        return sequence

    def _tokens(self, count: int) -> list[int]:
        tokens: list[int] = self._random.integers(0, self.model.vocab_size, count).tolist()
        return tokens


class Llama:
    """llama.cpp through llama-cpp-python, driven by ``llama_worker.py`` in an interpreter that has it.

    Parameters
    ----------
    path : Path
        The GGUF file.
    kind : str
        A format to requantise it to first, or "" for the file as it is.
    threads : int
    python : str or None
        The interpreter; by default the one that runs this.
    """

    def __init__(self, path: Path, *, kind: str, threads: int, python: str | None) -> None:
        command = [python or sys.executable, str(Path(llama_worker.__file__)), str(path), kind, str(threads)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise InputError(f"the peer's interpreter {command[0]!r} cannot be run: {error.strerror}") from None
        self.about = self._read()

    def time_pass(self, context: int, rows: int) -> float:
        return self._ask(context=context, rows=rows)

    def time_prefill(self, tokens: int) -> float:
        return self._ask(prefill=tokens)

    def close(self) -> None:
        self._process.communicate()

    def _ask(self, **request: int) -> float:
        assert self._process.stdin is not None, "the process was started with a pipe"
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return float(self._read()["seconds"])

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None, "the process was started with a pipe"
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        _, errors = self._process.communicate()
        code = self._process.returncode
        if code < 0:
            raise InputError(f"llama.cpp was ended by signal {-code}; try another build of llama-cpp-python")
        last = errors.strip().splitlines()[-1] if errors.strip() else "no reason given"
        raise InputError(
            f"llama.cpp ended: {last}; install llama-cpp-python, or name an interpreter that has it by --peer-python"
        )
