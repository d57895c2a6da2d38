"""Everything Headstart raises on purpose, in one tree.

HeadstartError                 caught by the command line: one sentence on stderr, then ``exit_code``
├── InputError (ValueError)    a parameter or a prompt is not allowed                      exit 2, HTTP 400
│   ├── RefusedError           the parts are each fine but do not go together              exit 2, HTTP 400
│   └── DeadEndError           what was asked for leaves no token that may follow          exit 2, HTTP 400
├── ModelError                 a model cannot be used                                      exit 2
│   ├── ModelNotFoundError     nothing is there under that name or path                    exit 2
│   ├── CorruptModelError      a file is truncated, damaged or inconsistent                exit 2
│   └── UnsupportedModelError  a well-formed model of a kind that is not supported         exit 2
├── DownloadError              a model could not be fetched or stored                      exit 1
├── NumericsError              the model produced a NaN or an infinity                     exit 1
├── TraceError                 a trace is malformed, or its arithmetic does not hold       exit 1
└── DivergenceError            a text that must be equal to plain decoding is not          exit 1
"""

from __future__ import annotations

__all__ = [
    "CorruptModelError",
    "DeadEndError",
    "DivergenceError",
    "DownloadError",
    "HeadstartError",
    "InputError",
    "ModelError",
    "ModelNotFoundError",
    "NumericsError",
    "RefusedError",
    "TraceError",
    "UnsupportedModelError",
]


class HeadstartError(Exception):
    """Base of all; ``exit_code`` is what the command line ends with."""

    exit_code = 1


class InputError(HeadstartError, ValueError):
    """A value that is not allowed: says what was given, what is allowed, what to do."""

    exit_code = 2


class RefusedError(InputError):
    """Values that are each allowed but cannot be honoured together."""


class DeadEndError(InputError):
    """Bans, forced tokens, processors and grammar together leave no token that may follow."""


class ModelError(HeadstartError):
    """A model cannot be used."""

    exit_code = 2


class ModelNotFoundError(ModelError):
    """No model of that name or at that path."""


class CorruptModelError(ModelError):
    """A model file is truncated, damaged or contradicts itself."""


class UnsupportedModelError(ModelError):
    """A well-formed model of a kind that Headstart does not run."""


class DownloadError(HeadstartError):
    """A model could not be fetched, checked or stored."""


class NumericsError(HeadstartError):
    """A model produced a value that is not a number."""


class TraceError(HeadstartError):
    """A trace is malformed, or a decision in it does not follow from its numbers."""


class DivergenceError(HeadstartError):
    """Drafted and plain decoding gave different texts under the guarantee ``text``."""
