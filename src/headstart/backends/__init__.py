"""Backends: what runs a model. Imported when one is asked for, so that the others cost nothing."""

from __future__ import annotations

from typing import Literal

from headstart.errors import InputError
from headstart.models.config import Weights
from headstart.protocols import Model

__all__ = ["load_backend"]


def load_backend(
    weights: Weights,
    *,
    backend: str = "native",
    threads: int | None = None,
    context: int | None = None,
    precision: Literal["auto", "float32"] = "auto",
) -> Model:
    """Make a model of weights.

    Parameters
    ----------
    weights : Weights
    backend : {"native", "reference"}
        C++ kernels, or the slow twin in NumPy.
    threads : int or None
        Native only; all available cores by default.
    context : int or None
        Positions a sequence may have; the model's own limit by default.
    precision : {"auto", "float32"}
        ``"auto"``: int8 activations for quantised weights. ``"float32"``: dequantised weights throughout.

    Raises
    ------
    InputError
        For an unknown backend or precision.
    """
    if precision not in ("auto", "float32"):
        raise InputError(f"precision is {precision!r}; it must be auto or float32")
    if backend == "native":
        from headstart.backends.native import NativeModel

        return NativeModel(weights, threads=threads, context=context, precision=precision)
    if backend == "reference":
        from headstart.backends.reference import ReferenceModel

        return ReferenceModel(weights, context=context, precision="float32" if precision == "float32" else "int8")
    raise InputError(f"backend is {backend!r}; it must be native or reference")
