"""Read `tfport.toml`, which declares the checks of a project for `tfport check` without arguments.

It also lists what `tfport scan` may find in the models of the project (`cli.scan_allowed`).

    [[check]]
    model = "export/1"
    on = ["tensorflow==2.8.4", "tensorflow-serving==2.8"]

The same tables can be in pyproject.toml as `[[tool.tfport.check]]`. Paths are relative to the
folder of the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tfport.cli.arguments import DEVICES, LOADERS
from tfport.cli.check.request import FAIL_ON, CheckRequest
from tfport.errors import Error
from tfport.formats.files import reason
from tfport.startup.dataclass import dataclass

OWN, SHARED = "tfport.toml", "pyproject.toml"
CHOICES = {"device": DEVICES, "loader": LOADERS, "fail-on": FAIL_ON}
LISTS = ("model", "on", "loader", "signatures", "fetch", "feed", "tags", "custom")
TEXTS = ("device", "fail-on")
FLAGS = ("soft-placement",)
KEYS = (*LISTS, *TEXTS, *FLAGS)
CHECK, SCAN = "check", "scan"
NEEDED = ("model", "on")


@dataclass(frozen=True)
class ProjectConfig:
    """The checks that a configuration file declares."""

    folder: Path
    """The folder of the file; paths are relative to it."""
    requests: list[CheckRequest]


def find_project(start: Path) -> ProjectConfig | None:
    """Find the nearest file with checks, from a folder up to the root of its repository."""
    declared = find_table(start)
    if declared is None:
        return None
    file, table = declared
    return ProjectConfig(file.parent, list(_requests(relative(file), table)))


def find_table(start: Path) -> tuple[Path, dict[str, Any]] | None:
    """The nearest file with a table for tfport, and that table."""
    for folder in (start, *start.parents):
        for file in (folder / OWN, folder / SHARED):
            table = _table(file) if file.is_file() else None
            if table is not None:
                return file, table
        if (folder / ".git").exists():
            break
    return None


def _table(file: Path) -> dict[str, Any] | None:
    """The table for tfport in a file; None if there is none."""
    try:
        with open(file, "rb") as opened:
            document = tomllib.load(opened)
    except OSError as error:
        raise Error(f"{relative(file)}: {reason(error)}") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise Error(f"{relative(file)}: not a TOML file: {error}") from None
    if file.name == OWN:
        return document
    table = document.get("tool", {}).get("tfport")
    if not isinstance(table, dict | None):
        raise Error(f"{relative(file)}: `tool.tfport` is {toml_type(table)}; expected [[tool.tfport.check]]")
    return table


def relative(file: Path) -> str:
    return os.path.relpath(file)


def _requests(file: str, table: dict[str, Any]) -> Iterator[CheckRequest]:
    if other := next((key for key in table if key not in (CHECK, SCAN)), None):
        raise Error(f"{file}: unknown key `{other}`; expected [[check]] or [[scan.allow]]")
    entries = table.get(CHECK, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Error(f"{file}: `check` is {toml_type(entries)}; expected tables with the header [[check]]")
    if not entries:
        raise Error(f"{file}: no [[check]] table; add one with `model` and `on`")
    for number, entry in enumerate(entries, 1):
        yield from _requests_of(f"{file}: check {number}", entry)


def _requests_of(where: str, entry: dict[str, Any]) -> Iterator[CheckRequest]:
    """A request for each model of a [[check]] table."""
    for key in entry:
        if key not in KEYS:
            raise Error(f"{where}: unknown key `{key}`{expected(KEYS)}")
    lists = {key: _texts(where, key, entry[key]) for key in LISTS if key in entry}
    texts = {key: _text(where, key, entry[key]) for key in TEXTS if key in entry}
    for key in NEEDED:
        if not lists.get(key):
            raise Error(f"{where}: `{key}` is missing")
    soft = entry.get("soft-placement")
    if not isinstance(soft, bool | None):
        raise Error(f"{where}: `soft-placement` is {toml_type(soft)}; expected true or false")
    for model in lists["model"]:
        yield CheckRequest(
            model,
            on=lists["on"],
            device=texts.get("device"),
            loaders=lists.get("loader"),
            signatures=lists.get("signatures"),
            fetches=lists.get("fetch", ()),
            feeds=lists.get("feed", ()),
            soft_placement=soft,
            tags=lists.get("tags"),
            custom=lists.get("custom", ()),
            fail_on=texts.get("fail-on"),
        )


def _texts(where: str, key: str, value: object) -> tuple[str, ...]:
    """A string, or a list of strings."""
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(element, str) for element in values):
        wrong = next(element for element in values if not isinstance(element, str))
        raise Error(f"{where}: `{key}` contains {toml_type(wrong)}; expected a string or a list of strings")
    return tuple(_text(where, key, element) for element in values)


def _text(where: str, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise Error(f"{where}: `{key}` is {toml_type(value)}; expected a string")
    choices = CHOICES.get(key)
    if choices and value not in choices:
        raise Error(f'{where}: `{key}` is "{value}"{expected(choices)}')
    return value


def expected(names: Sequence[str]) -> str:
    return f"; expected {', '.join(names[:-1])} or {names[-1]}"


def toml_type(value: object) -> str:
    """The TOML type of a value."""
    kinds = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return kinds.get(type(value), "a table" if isinstance(value, dict) else "a date")
