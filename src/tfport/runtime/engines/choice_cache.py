"""Which engine was fastest for an island, or which device for a plan, on this machine, remembered in a file.

The file is `engines.json` in `$TFPORT_CACHE`, or else in `tfport` in the user's folder for caches
(`$XDG_CACHE_HOME` or `~/.cache`). An empty `TFPORT_CACHE` remembers nothing. A file that is damaged or of
another version is ignored and replaced; where nothing can be written, choices last as long as the process.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tfport.formats.output import replace_file

VERSION = 1
MAX_CHOICES = 1000
MAX_BYTES = 1 << 20
FILE = "engines.json"
CPU, GPU, TENSORRT = "cpu", "gpu", "tensorrt"
"""What a whole plan runs on, for the device `auto`."""
ENGINES = ("onnxruntime", "openvino", "litert", CPU, GPU, TENSORRT)
MAX_THREADS = 4096


class Choice(NamedTuple):
    """An engine and its number of threads."""

    engine: str
    threads: int


class ChoiceCache:
    """Choices by the key of an island; `folder` is None to remember them only in this process."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder and folder / FILE
        self._lock = threading.Lock()
        self._choices = self._read()

    def get(self, key: str) -> Choice | None:
        return self._choices.get(key)

    def put(self, key: str, choice: Choice) -> None:
        """Remember a choice, and forget the oldest if there are too many."""
        with self._lock:
            choices = {**self._read(), **self._choices, key: choice}
            self._choices = dict(list(choices.items())[-MAX_CHOICES:])
            self._write()

    def _read(self) -> dict[str, Choice]:
        if self._file is None:
            return {}
        try:
            with self._file.open("rb") as file:
                content = json.loads(file.read(MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return _valid_choices(content)

    def _write(self) -> None:
        if self._file is None:
            return
        content = json.dumps({"version": VERSION, "choices": self._choices}).encode()
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._file, content)


def choices_of_user() -> ChoiceCache:
    """The choices in the user's folder."""
    return _choices_in(default_folder())


@functools.cache
def _choices_in(folder: Path | None) -> ChoiceCache:
    return ChoiceCache(folder)


def default_folder() -> Path | None:
    """The folder for choices; None if they are not to be kept."""
    chosen = os.environ.get("TFPORT_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    caches = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(caches) if caches else Path.home() / ".cache") / "tfport"
    except RuntimeError:  # there is no home
        return None


def _valid_choices(content: Any) -> dict[str, Choice]:
    if not isinstance(content, Mapping) or content.get("version") != VERSION:
        return {}
    choices = content.get("choices")
    if not isinstance(choices, Mapping):
        return {}
    return {key: Choice(*value) for key, value in choices.items() if _is_valid(value)}


def _is_valid(value: Any) -> bool:
    match value:
        case [str(engine), int(threads)]:
            return engine in ENGINES and not isinstance(threads, bool) and 0 < threads <= MAX_THREADS
        case _:
            return False


class FixedChoice(ChoiceCache):
    """The user's choice for every island, which replaces those that races make."""

    def __init__(self, choice: Choice) -> None:
        super().__init__(None)
        self._choice = choice

    def get(self, key: str) -> Choice:
        return self._choice

    def put(self, key: str, choice: Choice) -> None:
        """There is nothing to remember."""
