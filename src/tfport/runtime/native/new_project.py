"""Write a small complete project for a custom op in C++: source, Makefile, test and README."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tfport.errors import Error

TEMPLATES = Path(__file__).parent / "project"
TEMPLATE_NAME, TEMPLATE_ENDING = "my_op", ".in"
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def write_project(name: str, folder: str | None = None) -> list[str]:
    """Write the files of a project to a new or empty folder; their paths."""
    if not NAME.fullmatch(name):
        raise Error(f"`{name}` is not a valid project name; expected a name such as my_op")
    into = Path(folder if folder is not None else name)
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise Error(f"{into}: already exists; choose another folder with --folder")
    try:
        into.mkdir(parents=True, exist_ok=True)
        return [_write(template, into, name) for template in sorted(TEMPLATES.glob(f"*{TEMPLATE_ENDING}"))]
    except OSError as error:
        raise Error(f"{into}: cannot be written: {error.strerror}") from None


def op_name(name: str) -> str:
    """The op name of a project: `MyOp` for `my_op`."""
    return "".join(word.capitalize() for word in name.split("_"))


def _write(template: Path, into: Path, name: str) -> str:
    path = into / template.name.removesuffix(TEMPLATE_ENDING).replace(TEMPLATE_NAME, name)
    path.write_text(template.read_text("utf-8").replace("@name@", name).replace("@Op@", op_name(name)))
    return os.fspath(path)
