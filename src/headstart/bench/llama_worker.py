"""The peer's side of ``headstart bench kernel --peer llama.cpp``: llama-cpp-python in a process of its own.

Run as a script by an interpreter that has ``llama_cpp``; imports nothing of Headstart. Reads one JSON request a line,
answers with one JSON line. Every context length has its own llama context, so that none pays for another's cells; all
rows of a pass ask for logits, as verification does.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import random
import sys
import time
from typing import Any

__all__ = ["Context", "Worker", "main"]


class Context:
    """One llama.cpp context whose cache holds ``length`` tokens."""

    def __init__(self, llama: Any, model: Any, length: int, room: int, threads: int) -> None:
        self.llama, self.length = llama, length
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = length + room
        parameters.n_batch = parameters.n_ubatch = 512
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.no_perf = True
        self.context = llama.llama_init_from_model(model, parameters)
        self.batch = llama.llama_batch_init(512, 0, 1)
        self.memory = llama.llama_get_memory(self.context)
        for start in range(0, length, 512):
            self.decode(start, min(512, length - start), logits=False)

    def decode(self, start: int, count: int, *, logits: bool) -> float:
        """Seconds for one pass of ``count`` rows from position ``start`` on."""
        batch = self.batch
        batch.n_tokens = count
        for row in range(count):
            batch.token[row] = random.randrange(100, 30000)
            batch.pos[row] = start + row
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = 0
            batch.logits[row] = logits or row == count - 1
        begin = time.perf_counter()
        if self.llama.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        self.llama.llama_synchronize(self.context)
        return time.perf_counter() - begin

    def forget(self, start: int) -> None:
        """Drop all tokens from position ``start`` on."""
        self.llama.llama_memory_seq_rm(self.memory, 0, start, -1)

    def time_pass(self, rows: int) -> float:
        """Seconds for one pass over the cached tokens; its rows are dropped."""
        seconds = self.decode(self.length, rows, logits=True)
        self.forget(self.length)
        return seconds


class Worker:
    """Loads the model once, and a context for each length that is asked for."""

    def __init__(self, path: str, kind: str, threads: int) -> None:
        llama_cpp = importlib.import_module("llama_cpp")
        self.llama, self.threads = llama_cpp, threads
        silent = llama_cpp.llama_log_callback(lambda *_: None)
        self.silent = silent  # kept alive for as long as the library may call it
        llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
        if kind:
            path = self.requantised(path, kind)
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if kind:
            os.remove(path)
        if not self.model:
            raise RuntimeError(f"llama.cpp cannot load {path}")
        self.contexts: dict[int, Context] = {}
        self.version = llama_cpp.__version__
        self.system = llama_cpp.llama_print_system_info().decode().strip()

    def requantised(self, path: str, kind: str) -> str:
        """The same model as another format, made by llama.cpp itself, in a temporary file."""
        import tempfile

        llama = self.llama
        parameters = llama.llama_model_quantize_default_params()
        parameters.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{kind}")
        parameters.allow_requantize = True
        parameters.nthread = self.threads
        handle, made = tempfile.mkstemp(suffix=".gguf")
        os.close(handle)
        if llama.llama_model_quantize(path.encode(), made.encode(), ctypes.byref(parameters)) != 0:
            raise RuntimeError(f"llama.cpp cannot requantise to {kind}")
        return made

    def context(self, length: int) -> Context:
        if length not in self.contexts:
            self.contexts[length] = Context(self.llama, self.model, length, 600, self.threads)
        return self.contexts[length]

    def answer(self, request: dict[str, int]) -> dict[str, Any]:
        if "rows" in request:
            return {"seconds": self.context(request["context"]).time_pass(request["rows"])}
        empty = self.context(0)
        seconds = empty.decode(0, request["prefill"], logits=False)
        empty.forget(0)
        return {"seconds": seconds}


def main(path: str, kind: str, threads: str) -> None:
    """Serve until the input ends."""
    worker = Worker(path, kind, int(threads))
    print(json.dumps({"version": worker.version, "system": worker.system}), flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
