"""The files of a folder at a local path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tfport.audit.store import ModelFolder


@contextmanager
def staged(folder: ModelFolder) -> Iterator[str]:
    """The local path of a folder."""
    yield folder.path
