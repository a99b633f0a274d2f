"""Cases of ops that touch the world: how they are declared, and what they are made of.

A case prepares its files and returns what `traced_ops.py` runs under strace. `harmless` cases have a path or an address
with which the table (`src/tfport/scan/op_effects.toml`) says that the op does nothing.
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


CASES: list[EffectCase] = []


def effect_case(*ops: str, harmless: bool = False) -> Callable[[Any], Any]:
    """Declare a case; with several ops, the function gets the op too."""

    def add(prepare: Any) -> Any:
        for op in ops:
            prepared = prepare if len(ops) == 1 else functools.partial(prepare, op)
            CASES.append(EffectCase(op, prepared, harmless))
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


def node(op: str, inputs: Iterable[Any] = (), **attrs: Any) -> Any:
    """A node of the graph that is being built, also of an op that `tf.raw_ops` lacks."""
    made = v1.get_default_graph()
    dtypes = [t.dtype for t in inputs]
    values = {name: _attr(value) for name, value in attrs.items()}
    return made.create_op(op, list(inputs), _output_types(op, attrs, dtypes), attrs=values)


def _attr(value: Any) -> Any:
    attr = tf.compat.v1.AttrValue()
    if isinstance(value, list):
        attr.list.s.extend(v.encode() for v in value)
    elif isinstance(value, bool):
        attr.b = value
    elif isinstance(value, str):
        attr.s = value.encode()
    elif isinstance(value, tf.DType):
        attr.type = value.as_datatype_enum
    return attr


def _output_types(op: str, attrs: Any, inputs: list[Any]) -> list[Any]:
    return {"DumpTensor": [], "CalibrationStatisticsSaver": []}.get(op, inputs)
