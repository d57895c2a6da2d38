"""Rotary embedding: turns what a model file says of base and scaling into inverse frequencies.

It knows Hugging Face's names for the scaling parameters; the GGUF reader translates into them. Formulas: linear
(position interpolation), llama3 (three bands by wavelength), yarn (Peng et al. 2023, arXiv:2309.00071).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headstart.errors import CorruptModelError, UnsupportedModelError
from headstart.models.config import Rope
from headstart.models.fields import Fields

__all__ = ["make_rope", "scaling_type"]

_PLAIN = ("default", "none")
_TYPES = ("linear", "llama3", "yarn")

_Floats = NDArray[np.float64]


def scaling_type(scaling: Fields) -> str:
    """``"default"``, ``"linear"``, ``"llama3"`` or ``"yarn"``; anything else is refused by name."""
    name = scaling.text("rope_type", scaling.text("type", "default"))
    if name in _PLAIN:
        return "default"
    if name not in _TYPES:
        raise UnsupportedModelError(
            f"{scaling.source}: RoPE scaling {name!r} is not supported; supported are {', '.join(_TYPES)}."
        )
    return name


def make_rope(
    head_size: int,
    base: float,
    scaling: Fields,
    *,
    context: int,
    interleaved: bool = False,
    divisors: _Floats | None = None,
) -> Rope:
    """Work out all scaling.

    Parameters
    ----------
    head_size : int
        Even; all of it is rotated.
    base : float
        Frequency base (theta), above 1.
    scaling : Fields
        ``rope_type`` (or ``type``), ``factor`` and what else the type needs, named as in Hugging Face's configurations.
    context : int
        The model's context, the default of ``original_max_position_embeddings``.
    divisors : ndarray of shape (head_size / 2,), optional
        Extra factors that divide the frequencies (GGUF's ``rope_freqs.weight``, which holds llama3 scaling).

    Returns
    -------
    Rope

    Examples
    --------
    >>> make_rope(4, 100.0, Fields({"rope_type": "linear", "factor": 2.0}, "example"), context=64).inverse_frequencies
    (0.5, 0.05)
    """
    kind = scaling_type(scaling)
    frequencies = base ** -(np.arange(0, head_size, 2, dtype=np.float64) / head_size)
    attention_factor = 1.0
    if kind == "linear":
        frequencies = frequencies / _factor(scaling)
    elif kind == "llama3":
        frequencies = _llama3(frequencies, scaling, context)
    elif kind == "yarn":
        frequencies = _yarn(frequencies, base, scaling, context)
        attention_factor = _yarn_attention_factor(scaling)
    if divisors is not None:
        frequencies = frequencies / divisors
    if not np.all((frequencies > 0) & (frequencies < np.inf)) or not 0 < attention_factor < math.inf:
        raise CorruptModelError(f"{scaling.source} is damaged: its RoPE scaling gives no usable frequencies.")
    return Rope(tuple(frequencies.tolist()), attention_factor, interleaved)


def _factor(scaling: Fields) -> float:
    factor = scaling.number("factor")
    if factor <= 0:
        raise CorruptModelError(f"{scaling.source} is damaged: the RoPE factor is {factor:g}, but must be positive.")
    return factor


def _llama3(frequencies: _Floats, scaling: Fields, context: int) -> _Floats:
    """Long waves are slowed by the factor, short ones kept, those between blended by their wavelength."""
    factor = _factor(scaling)
    low, high = scaling.number("low_freq_factor"), scaling.number("high_freq_factor")
    if not 0 < low < high:
        raise CorruptModelError(f"{scaling.source} is damaged: low_freq_factor {low:g} must be in (0, {high:g}).")
    original = scaling.integer("original_max_position_embeddings", context, low=1)
    turns = original * frequencies / (2 * math.pi)  # full turns within the original context
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return kept * frequencies + (1 - kept) * frequencies / factor


def _yarn(frequencies: _Floats, base: float, scaling: Fields, context: int) -> _Floats:
    """A linear ramp over the pairs, from kept (fast) to interpolated (slow) frequencies."""
    original = scaling.integer("original_max_position_embeddings", context, low=1)
    size = 2 * len(frequencies)

    def pair_with(turns: float) -> float:
        return size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    begin = pair_with(scaling.number("beta_fast", 32.0, low=1e-6))
    end = pair_with(scaling.number("beta_slow", 1.0, low=1e-6))
    if scaling.flag("truncate", True):
        begin, end = math.floor(begin), math.ceil(end)
    begin, end = max(begin, 0), min(end, size - 1)
    if begin == end:
        end += 0.001
    slowed = np.clip((np.arange(len(frequencies)) - begin) / (end - begin), 0.0, 1.0)
    blended: _Floats = frequencies * (1 - slowed) + frequencies / _factor(scaling) * slowed
    return blended


def _yarn_attention_factor(scaling: Fields) -> float:
    """Given, or ``0.1 ln(factor) + 1``, or the ratio of two such terms (mscale over mscale_all_dim)."""
    if scaling.has("attention_factor"):
        return scaling.number("attention_factor")
    factor = _factor(scaling)

    def term(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    above, below = scaling.number("mscale", 0.0), scaling.number("mscale_all_dim", 0.0)
    return term(above) / term(below) if above and below else term(1.0)
