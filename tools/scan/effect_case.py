"""Cases of ops that touch the world: how they are declared, and what they are made of.

A case prepares its files and returns what `traced_ops.py` runs under strace. `harmless` cases have a path or
an address with which the table (`src/tfport/graph/op_effects.toml`) says that the op does nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

raw = tf.raw_ops
v1 = tf.compat.v1
Action = Callable[[], Any]
NOBODY = "127.0.0.1:1"
"""An address where nobody listens."""


@dataclass
class EffectCase:
    """An op, and how to run it in an empty folder."""

    op: str
    prepare: Callable[[Path], Action]
    harmless: bool = False
    waits: bool = False


CASES: list[EffectCase] = []


def effect_case(*ops: str, harmless: bool = False, waits: bool = False) -> Callable[[Any], Any]:
    """Declare a case; with several ops, the function gets the op too. `waits`: it may not come back."""

    def add(prepare: Any) -> Any:
        for op in ops:
            prepared = prepare if len(ops) == 1 else functools.partial(prepare, op)
            CASES.append(EffectCase(op, prepared, harmless, waits))
        return prepare

    return add


def text(folder: Path, name: str = "in.txt", content: str = "a b\nc d\n") -> str:
    """Write a file and return its path."""
    (folder / name).write_text(content)
    return str(folder / name)


def records(folder: Path) -> str:
    path = str(folder / "in.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"one")
    return path


def graph(build: Callable[[], Any], before: Callable[[], Any] | None = None) -> Action:
    """Build a graph now; return what runs it, after `before` was run in it."""
    with tf.Graph().as_default() as made:
        first = before() if before else None
        fetched = build()
    session = v1.Session(graph=made)
    if first is not None:
        session.run(first)
    return lambda: session.run(fetched)


def node(op: str, inputs: Iterable[Any], outputs: list[Any], **attrs: Any) -> Any:
    """A node of the graph that is being built, of an op that `tf.raw_ops` lacks."""
    values = {name: attr(value) for name, value in attrs.items()}
    return v1.get_default_graph().create_op(op, list(inputs), outputs, attrs=values)


def attr(value: Any) -> Any:
    made = v1.AttrValue()
    if isinstance(value, list):
        for part in value:
            field = {str: made.list.s, int: made.list.i, tf.DType: made.list.type}[type(part)]
            field.append({str: str.encode, int: int, tf.DType: _enum}[type(part)](part))
    elif isinstance(value, bool):
        made.b = value
    elif isinstance(value, str):
        made.s = value.encode()
    else:
        made.type = _enum(value)
    return made


def _enum(dtype: Any) -> Any:
    return dtype.as_datatype_enum
