"""Backends: what runs a model. Imported when one is asked for, so that the others cost nothing."""

from __future__ import annotations

from typing import Literal

from headstart.backends.checks import is_whole
from headstart.errors import InputError
from headstart.models.config import Weights
from headstart.protocols import Model

__all__ = ["BACKENDS", "PRECISIONS", "load_backend"]

BACKENDS = ("native", "reference")
PRECISIONS = ("auto", "float32")


def load_backend(
    weights: Weights,
    *,
    backend: str = "native",
    threads: int | None = None,
    context: int | None = None,
    precision: Literal["auto", "float32"] = "auto",
) -> Model:
    """Make a loaded model computable.

    Parameters
    ----------
    weights : Weights
    backend : {"native", "reference"}
        The C++ kernels, or NumPy row by row: slow, and for comparison.
    threads : int, optional
        Threads of a pass; all available cores by default. They change no bit. The reference uses one.
    context : int, optional
        Most tokens a sequence may hold; by default, and at most, what the model was made for.
    precision : {"auto", "float32"}
        ``"auto"`` multiplies quantised matrices with int8 activations; ``"float32"`` computes everything in float32.

    Returns
    -------
    Model

    Raises
    ------
    InputError
        If a value is not allowed.
    """
    if precision not in PRECISIONS:
        raise InputError(f"precision is {precision!r}; choose one of {', '.join(PRECISIONS)}")
    if threads is not None and not (is_whole(threads) and threads >= 1):
        raise InputError(f"threads is {threads!r}; use 1 or more")
    if backend == "native":
        from headstart.backends.native import NativeModel

        return NativeModel(weights, threads=threads, context=context, precision=precision)
    if backend == "reference":
        from headstart.backends.reference import ReferenceModel

        return ReferenceModel(weights, context=context, precision=precision)
    raise InputError(f"backend is {backend!r}; choose one of {', '.join(BACKENDS)}")
