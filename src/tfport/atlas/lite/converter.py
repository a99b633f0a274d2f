"""What the TensorFlow Lite converter of a release makes of an op, as recorded from real conversions.

The record is `converter.json`, written by `tools/atlas/lite_converter.py`.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from enum import Enum
from typing import Any

PACKAGE = "tflite-converter"
"""What users name for `tf.lite.TFLiteConverter`; its versions are those of TensorFlow."""
STRUCTURE = frozenset(
    """
    Placeholder PlaceholderWithDefault Const Identity NoOp VarHandleOp ReadVariableOp VariableV2
    AssignVariableOp PartitionedCall StatefulPartitionedCall If StatelessIf While StatelessWhile Assert
    """.split()  # noqa: SIM905
)
"""Ops that the converter inlines, freezes, drops, or turns into subgraphs; no case of one node shows them."""


ANY = "any"
"""The row of an op that was recorded in whole models, whatever its types."""


class Converted(Enum):
    """What becomes of an op."""

    BUILTIN = "b"
    """Builtin ops compute it."""
    KEPT = "c"
    """It stays as it is: a Flex op if the list of these has it, otherwise a custom op."""
    DEPENDS = "m"
    """It depends on its attributes or inputs."""
    FAILS = "e"
    """The converter fails."""
    MISSING = "-"
    """The release does not have the op."""
    UNKNOWN = "?"
    """Nobody has tried it."""


def converter_releases() -> list[str]:
    """The TensorFlow releases whose converters are recorded, from the oldest."""
    releases: list[str] = _record()["releases"]
    return releases


def converted(
    release: str, op: str, types: Mapping[str, str], defaults: Mapping[str, str] | None = None
) -> Converted:
    """What the converter of a release makes of an op with these types, `{"T": "float32"}`.

    Recorded cases leave out types that are the `defaults` of their op.
    """
    if op in STRUCTURE:
        return Converted.BUILTIN
    rows: dict[str, str] = _record()["ops"].get(op, {})  # by types; `any` for those of whole models
    column = converter_releases().index(release)
    usual = (defaults or {}).items()
    for row in sorted(rows, key=len, reverse=True):
        stated = dict(part.split("=") for part in row.split() if row != ANY)
        others = {item for item in types.items() if item[0] not in stated}
        if row != ANY and stated.items() <= types.items() and others <= set(usual):
            return Converted(rows[row][column])
    answers = {row[column] for row in rows.values()} - {Converted.UNKNOWN.value}
    if len(answers) == 1:
        return Converted(answers.pop())
    return Converted.DEPENDS if answers else Converted.UNKNOWN


@functools.cache
def _record() -> dict[str, Any]:
    with open(os.path.join(os.path.dirname(__file__), "converter.json"), encoding="utf-8") as file:
        record: dict[str, Any] = json.load(file)
    return record
