"""Model files: catalog, readers, tokenizers, chat templates."""

from __future__ import annotations

from headstart.models.config import ModelConfig, Rope, Tensor, Weights
from headstart.models.loading import load

__all__ = ["ModelConfig", "Rope", "Tensor", "Weights", "load"]
