"""Downloading a standard data set by torchvision, where that is installed."""

import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from labelnoise.data.standard.cache import data_root, path_of
from labelnoise.data.standard.catalogue import Card, find
from labelnoise.data.standard.convert import convert
from labelnoise.errors import InputError
from labelnoise.files import explained


def fetch(name: str, *, force: bool = False, say: Callable[[str], None] = lambda _: None) -> Path:
    """Download the official files into a temporary folder below the data root, then convert them."""
    card = find(name)
    if not card.torchvision:
        raise InputError(f"{card.name} cannot be downloaded by a program; {card.by_hand}")
    if path_of(card).exists() and not force:
        raise InputError(f"{path_of(card)} exists; use --force to replace it")
    download = getattr(_torchvision(card), card.torchvision)
    with explained(path_of(card)):
        data_root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data_root(), prefix=".fetch-") as folder:
        say(f"downloading {card.title}, {card.size}")
        _download(download, folder, card)
        return convert(name, Path(folder), force=force, say=say)


def _torchvision(card: Card) -> Any:
    try:
        return import_module("torchvision.datasets")
    except (ImportError, RuntimeError):  # the latter where it was built for another torch
        raise InputError(
            f"{card.name} is downloaded by torchvision, which cannot be imported; install it, or {card.by_hand}"
        ) from None


def _download(download: Any, folder: str, card: Card) -> None:
    try:
        for part in ("train", "test"):
            chosen = {"split": part} if card.torchvision == "SVHN" else {"train": part == "train"}
            download(folder, download=True, **chosen)
    except (OSError, RuntimeError) as problem:  # no network, or a damaged download
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(f"{card.name} cannot be downloaded now ({reason}); {card.by_hand}") from None
