"""What tells one loaded model from another: a hash over its shape and its weights, wherever the file lies."""

from __future__ import annotations

import hashlib

from headstart.models.config import Weights

__all__ = ["fingerprint"]


def fingerprint(weights: Weights) -> str:
    """SHA-256, in hexadecimal, over the shape and every tensor's name, kind, shape and bytes."""
    digest = hashlib.sha256(repr(weights.config).encode())
    for name, tensor in sorted(weights.tensors.items()):
        digest.update(f"\n{name} {tensor.kind} {tensor.shape}\n".encode())
        digest.update(tensor.data.data)
    return digest.hexdigest()
