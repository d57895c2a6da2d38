"""One way in: a catalog name, a GGUF file or a Hugging Face folder becomes Weights."""

from __future__ import annotations

import os
from pathlib import Path

from headstart.errors import ModelNotFoundError
from headstart.models.config import Weights
from headstart.models.gguf import read_gguf
from headstart.models.gguf_model import gguf_config, gguf_tensors
from headstart.models.vocabulary import gguf_tokenizer

__all__ = ["load"]


def load(name_or_path: str | os.PathLike[str]) -> Weights:
    """Open a model; its weights are mapped, not read.

    Parameters
    ----------
    name_or_path : str or path
        A ``.gguf`` file.

    Returns
    -------
    Weights

    Raises
    ------
    ModelNotFoundError, CorruptModelError, UnsupportedModelError

    """
    path = Path(name_or_path)
    if not path.exists():
        raise ModelNotFoundError(f"{os.fspath(name_or_path)!r} is not a file.")
    return _load_gguf(path)


def _load_gguf(path: Path) -> Weights:
    file = read_gguf(path)
    config = gguf_config(file)
    tensors = gguf_tensors(file, config)
    tokenizer = gguf_tokenizer(file.metadata, vocab_size=config.vocab_size, source=str(path))
    template = file.metadata.get("tokenizer.chat_template")
    return Weights(config, tensors, tokenizer, template if isinstance(template, str) else None, path.stem)
