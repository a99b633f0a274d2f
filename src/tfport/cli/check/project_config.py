"""What a repository declares once, so that a bare `tfport check` asks it: `tfport.toml`.

    [[check]]
    model = "export/1"
    on = ["tensorflow==2.8.4", "tensorflow-serving==2.8"]

The same may stand in pyproject.toml as `[[tool.tfport.check]]`. Paths are meant from
the folder of the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfport.cli.check.request import Asked
from tfport.cli.choices import DEVICES, FAIL_ON, LOADERS
from tfport.errors import Error
from tfport.formats.files import reason

OWN, SHARED = "tfport.toml", "pyproject.toml"
CHOICES = {"device": DEVICES, "loader": LOADERS, "fail-on": FAIL_ON}
LISTS = ("model", "on", "loader", "signatures", "tags")
TEXTS = ("device", "fail-on")
FLAGS = ("soft-placement",)
KEYS = (*LISTS, *TEXTS, *FLAGS)
NEEDED = ("model", "on")


@dataclass(frozen=True)
class Project:
    """A file that declares checks."""

    folder: Path
    """What its paths are meant from."""
    checks: list[Asked]


def find_project(start: Path) -> Project | None:
    """The nearest file with checks, from a folder upwards to the top of its repository."""
    for folder in (start, *start.parents):
        for file in (folder / OWN, folder / SHARED):
            table = _table(file) if file.is_file() else None
            if table is not None:
                return Project(folder, list(_checks(_shown(file), table)))
        if (folder / ".git").exists():
            break
    return None


def _table(file: Path) -> dict[str, Any] | None:
    """What a file says to tfport; None where it says nothing."""
    try:
        with open(file, "rb") as opened:
            found = tomllib.load(opened)
    except OSError as error:
        raise Error(f"{_shown(file)}: {reason(error)}") from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise Error(f"{_shown(file)}: no TOML: {error}") from None
    if file.name == OWN:
        return found
    own = found.get("tool", {}).get("tfport")
    if not isinstance(own, dict | None):
        raise Error(f"{_shown(file)}: `tool.tfport` is {_kind(own)}; expected [[tool.tfport.check]]")
    return own


def _shown(file: Path) -> str:
    return os.path.relpath(file)


def _checks(file: str, table: dict[str, Any]) -> Iterator[Asked]:
    if other := next((key for key in table if key != "check"), None):
        raise Error(f"{file}: a key `{other}`; expected [[check]] only")
    entries = table.get("check", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Error(f"{file}: `check` is {_kind(entries)}; expected tables, each headed [[check]]")
    if not entries:
        raise Error(f"{file}: no [[check]] in it; declare one with `model` and `on`")
    for number, entry in enumerate(entries, 1):
        yield from _asked(f"{file}: check {number}", entry)


def _asked(where: str, entry: dict[str, Any]) -> Iterator[Asked]:
    """One check: a question for each of its models."""
    for key in entry:
        if key not in KEYS:
            raise Error(f"{where}: a key `{key}`{_expected(KEYS)}")
    lists = {key: _texts(where, key, entry[key]) for key in LISTS if key in entry}
    texts = {key: _text(where, key, entry[key]) for key in TEXTS if key in entry}
    for key in NEEDED:
        if not lists.get(key):
            raise Error(f"{where}: no `{key}`")
    soft = entry.get("soft-placement")
    if not isinstance(soft, bool | None):
        raise Error(f"{where}: `soft-placement` is {_kind(soft)}; expected true or false")
    for model in lists["model"]:
        yield Asked(
            model,
            on=lists["on"],
            device=texts.get("device"),
            loaders=lists.get("loader"),
            signatures=lists.get("signatures"),
            soft_placement=soft,
            tags=lists.get("tags"),
            fail_on=texts.get("fail-on"),
        )


def _texts(where: str, key: str, value: object) -> tuple[str, ...]:
    """A text, or a list of texts."""
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in values):
        wrong = next(one for one in values if not isinstance(one, str))
        raise Error(f"{where}: `{key}` has {_kind(wrong)}; expected a text, or a list of texts")
    return tuple(_text(where, key, one) for one in values)


def _text(where: str, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise Error(f"{where}: `{key}` is {_kind(value)}; expected a text")
    choices = CHOICES.get(key)
    if choices and value not in choices:
        raise Error(f'{where}: `{key}` is "{value}"{_expected(choices)}')
    return value


def _expected(names: Sequence[str]) -> str:
    return f"; expected {', '.join(names[:-1])} or {names[-1]}"


def _kind(value: object) -> str:
    """What TOML calls it."""
    kinds = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return kinds.get(type(value), "a table" if isinstance(value, dict) else "a date")
