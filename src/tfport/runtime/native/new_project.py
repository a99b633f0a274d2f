"""A small complete project for an op in C++: source, build, test and README, written where nothing is yet."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tfport.errors import Error

TEMPLATES = Path(__file__).parent / "project"
TEMPLATE_NAME, TEMPLATE_ENDING = "my_op", ".in"
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def write_project(name: str, folder: str | None = None) -> list[str]:
    """Write the files of a project; their paths."""
    if not NAME.fullmatch(name):
        raise Error(f"`{name}` is no name for an op's project; expected one such as my_op")
    into = Path(folder if folder is not None else name)
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise Error(f"{into}: is there already; give another place with --folder")
    try:
        into.mkdir(parents=True, exist_ok=True)
        return [_write(template, into, name) for template in sorted(TEMPLATES.glob(f"*{TEMPLATE_ENDING}"))]
    except OSError as error:
        raise Error(f"{into}: cannot be written: {error.strerror}") from None


def op_name(name: str) -> str:
    """`my_op` as ops are called: `MyOp`."""
    return "".join(word.capitalize() for word in name.split("_"))


def _write(template: Path, into: Path, name: str) -> str:
    path = into / template.name.removesuffix(TEMPLATE_ENDING).replace(TEMPLATE_NAME, name)
    path.write_text(template.read_text().replace("@name@", name).replace("@Op@", op_name(name)))
    return os.fspath(path)
