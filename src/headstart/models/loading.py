"""One way in: a catalog name, a GGUF file or a Hugging Face folder becomes Weights."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from headstart.errors import ModelNotFoundError
from headstart.models.config import Weights
from headstart.models.gguf import read_gguf
from headstart.models.gguf_model import gguf_config, gguf_tensors
from headstart.models.store import CatalogEntry, catalog, find, installed, pull
from headstart.models.vocabulary import gguf_tokenizer

__all__ = ["load", "locate"]


def load(name_or_path: str | os.PathLike[str]) -> Weights:
    """Open a model; its weights are mapped, not read.

    Parameters
    ----------
    name_or_path : str or path
        A name from the catalog (fetched where it is not there yet), a ``.gguf`` file, or a Hugging Face folder
        (``config.json``, safetensors, ``tokenizer.json``).

    Returns
    -------
    Weights

    Raises
    ------
    ModelNotFoundError, CorruptModelError, UnsupportedModelError
    DownloadError
        A catalog model is absent and cannot be fetched.
    """
    place = locate(name_or_path)
    if isinstance(place, CatalogEntry):
        return replace(_load_gguf(installed(place.name) or pull(place.name)), name=place.name)
    return _load_folder(place) if place.is_dir() else _load_gguf(place)


def locate(name_or_path: str | os.PathLike[str]) -> CatalogEntry | Path:
    """What ``load`` would open: an entry of the catalog, fetched or not, or a path that exists.

    Raises
    ------
    ModelNotFoundError
    """
    entry = find(os.fspath(name_or_path))
    if entry is not None:
        return entry
    path = Path(name_or_path).expanduser()
    if not path.exists():
        names = ", ".join(entry.name for entry in catalog())
        raise ModelNotFoundError(f"{str(path)!r} is neither a file, nor a folder, nor in the catalog ({names}).")
    return path


def _load_gguf(path: Path) -> Weights:
    file = read_gguf(path)
    config = gguf_config(file)
    tensors = gguf_tensors(file, config)
    tokenizer = gguf_tokenizer(file.metadata, vocab_size=config.vocab_size, source=str(path))
    template = file.metadata.get("tokenizer.chat_template")
    return Weights(config, tensors, tokenizer, template if isinstance(template, str) else None, path.stem)


def _load_folder(folder: Path) -> Weights:
    from headstart.models.hf_model import hf_config, hf_tensors
    from headstart.models.tokenizer_json import hf_chat_template, hf_tokenizer

    if not (folder / "config.json").exists():
        raise ModelNotFoundError(f"{folder} has no config.json; give a Hugging Face folder or a .gguf file.")
    config = hf_config(folder)
    tensors = hf_tensors(folder, config)
    tokenizer = hf_tokenizer(folder, vocab_size=config.vocab_size)
    return Weights(config, tensors, tokenizer, hf_chat_template(folder), folder.resolve().name)
