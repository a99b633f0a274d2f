"""Assertions and prints: tensors as TensorFlow writes them in messages."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


@host("Assert")
def assert_(condition, data, *, summarize):
    if condition.ndim:
        raise RunFailed("the condition must be a scalar")
    if not condition:
        raise RunFailed("assertion failed: " + " ".join(f"[{summary(one, summarize)}]" for one in data))


class _Count:
    """How often a node has printed."""

    def __init__(self) -> None:
        self.ahead = itertools.count()


@host("Print")
def print_(input, data, *, message, first_n, summarize, context):
    count = context.state.resource(_Count, context.name, _Count)
    if first_n < 0 or next(count.ahead) < first_n:
        print(message + "".join(f"[{summary(one, summarize)}]" for one in data), file=sys.stderr, flush=True)
    return input


@host("PrintV2")
def print_v2(input, *, output_stream, end):
    if input.ndim:
        raise RunFailed("it prints one string")
    if output_stream.startswith("file://"):
        raise RunFailed(f"a model is not let write to {output_stream}")
    stream = sys.stdout if output_stream == "stdout" else sys.stderr
    stream.write(input[()].decode(errors="replace") + end)
    stream.flush()


def summary(array, most):
    """The first elements of a tensor; `...` stands for the others, and -1 asks for all."""
    limit = array.size if most < 0 else min(most, array.size)
    elements = iter(array.reshape(-1)[:limit])
    said = _axes(array.shape, elements, [limit], 0) if array.ndim else " ".join(map(_element, elements))
    return said + ("..." if array.size > limit else "")


def _axes(shape, elements, left, depth):
    """One axis and those within it; `left` counts what may still be said."""
    if left[0] <= 0:
        return ""
    if depth == len(shape) - 1:
        count = min(shape[depth], left[0])
        left[0] -= count
        said = " ".join(map(_element, itertools.islice(elements, count)))
        return said + ("..." if count < shape[depth] and depth else "")
    said = ""
    for _ in range(shape[depth]):
        opened = left[0] > 0
        inner = _axes(shape, elements, left, depth + 1)
        said += f"[{inner}]" if opened else inner
    return said


def _element(one):
    if isinstance(one, bytes):
        return _escaped(one)
    if isinstance(one, np.bool_ | bool):
        return str(int(one))
    if isinstance(one, np.complexfloating):
        return "?"
    if isinstance(one, np.integer):
        return str(int(one))
    return _number(one)


def _number(one):
    """As few digits as give the number back, of two lengths that C++ tries."""
    short, long, kind = (15, 17, np.float64) if isinstance(one, np.float64) else (6, 9, np.float32)
    value = float(one)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    said = f"{value:.{short}g}"
    return said if kind(said) == kind(value) else f"{value:.{long}g}"


_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def _escaped(text):
    plain = text.decode(errors="replace")
    return "".join(
        _ESCAPES.get(ord(c)) or (c if ord(c) >= 32 and ord(c) != 127 else f"\\{ord(c):03o}") for c in plain
    )
