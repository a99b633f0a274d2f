"""What an op does to the world outside of its tensors: files, network, programs, waiting, memory.

`effects_of(op)` is one row of `op_effects.toml`, which decides for every op that a recorded TensorFlow
release or add-on registers. None means that the op does nothing of the kind, or that nobody has recorded it.
Whether a node of a model is reached, and with which path, is decided elsewhere.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

from tfport.startup.dataclass import dataclass

TABLE = os.path.join(os.path.dirname(__file__), "op_effects.toml")
EFFECTS = (
    "reads files",
    "writes files",
    "deletes files",
    "lists files",
    "network",
    "python",
    "runs programs",
    "reads environment",
    "reads clock or host randomness",
    "reads raw memory",
    "unbounded memory",
    "unbounded time",
    "waits for others",
    "loads code",
    "other machines",
    "ends the process",
)


@dataclass(frozen=True, slots=True)
class OpEffect:
    """What an op does. Names of inputs and attributes are those of the OpDef."""

    does: tuple[str, ...]
    """Some of `EFFECTS`."""
    source: str
    """The kernel's source file in TensorFlow's repository, or in that of the add-on."""
    path: tuple[str, ...] = ()
    """Inputs or attributes with the path or the address."""
    through: tuple[str, ...] = ()
    """Inputs that are handles of objects other ops made, where the path is at those ops."""
    unless: tuple[str, ...] = ()
    """Values of `path` with which the op does nothing of this; `x*` is a prefix."""
    code: tuple[str, ...] = ()
    """Inputs or attributes with a program, or with the name of a function."""
    size: tuple[str, ...] = ()
    """Inputs or attributes whose values, not shapes, decide how large the output is or how long it takes."""
    seeds: tuple[str, ...] = ()
    """Inputs or attributes that make it repeatable: it reads host randomness only if all of them are 0."""
    returns: bool = False
    """Whether what it reads comes out as a tensor, or as elements of what it returns."""

    def is_harmless_path(self, value: str) -> bool:
        """Return whether the op does nothing with files or the network if `path` has this value."""
        return any(
            value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern
            for pattern in self.unless
        )


def effects_of(op: str) -> OpEffect | None:
    """Return what an op does; None if it does nothing but compute."""
    return op_effects().get(op)


@functools.cache
def op_effects() -> Mapping[str, OpEffect]:
    """Return the whole table, by op."""
    import tomllib  # imported here, as few models need the table

    with open(TABLE, "rb") as file:
        rows = tomllib.load(file)["effect"]
    return {op: effect for row in rows for effect in [_effect(row)] for op in row["ops"]}


def _effect(row: dict[str, Any]) -> OpEffect:
    names = {key: _names(value) for key, value in row.items() if key not in ("ops", "source", "returns")}
    return OpEffect(source=row["source"], returns=row.get("returns", False), **names)


def _names(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
