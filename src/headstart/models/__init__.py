"""Model files: catalog, readers, tokenizers, chat templates."""

from __future__ import annotations

from headstart.models.config import ModelConfig, Rope, Tensor, Weights
from headstart.models.loading import load
from headstart.models.store import CatalogEntry, catalog, installed, models_folder, pull

__all__ = [
    "CatalogEntry",
    "ModelConfig",
    "Rope",
    "Tensor",
    "Weights",
    "catalog",
    "installed",
    "load",
    "models_folder",
    "pull",
]
