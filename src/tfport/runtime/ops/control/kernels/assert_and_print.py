"""Assert, Print and PrintV2; tensors are formatted as in TensorFlow's messages."""

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
        raise RunFailed(f"condition must be a scalar, found shape {list(condition.shape)}")
    if not condition:
        raise RunFailed("assertion failed: " + " ".join(f"[{summary(array, summarize)}]" for array in data))


class _PrintCount:
    """Number of times a node has printed."""

    def __init__(self) -> None:
        self.calls = itertools.count()


@host("Print")
def print_(input, data, *, message, first_n, summarize, context):
    count = context.state.resource(_PrintCount, context.name, _PrintCount)
    if first_n < 0 or next(count.calls) < first_n:
        print(
            message + "".join(f"[{summary(array, summarize)}]" for array in data), file=sys.stderr, flush=True
        )
    return input


@host("PrintV2")
def print_v2(input, *, output_stream, end):
    if input.ndim:
        raise RunFailed(f"input must be a scalar, found shape {list(input.shape)}")
    if output_stream.startswith("file://"):
        raise RunFailed(f"models may not write files: output_stream is {output_stream}")
    stream = sys.stdout if output_stream == "stdout" else sys.stderr
    stream.write(input[()].decode(errors="replace") + end)
    stream.flush()


def summary(array, limit):
    """Format the first `limit` elements of a tensor, all if negative; `...` marks omitted elements."""
    limit = array.size if limit < 0 else min(limit, array.size)
    elements = iter(array.reshape(-1)[:limit])
    text = (
        _format_axis(array.shape, elements, [limit], 0)
        if array.ndim
        else " ".join(map(_format_element, elements))
    )
    return text + ("..." if array.size > limit else "")


def _format_axis(shape, elements, left, depth):
    """Format an axis and its inner axes; `left[0]` counts the elements that may still be printed."""
    if left[0] <= 0:
        return ""
    if depth == len(shape) - 1:
        count = min(shape[depth], left[0])
        left[0] -= count
        text = " ".join(map(_format_element, itertools.islice(elements, count)))
        return text + ("..." if count < shape[depth] and depth else "")
    text = ""
    for _ in range(shape[depth]):
        opened = left[0] > 0
        inner = _format_axis(shape, elements, left, depth + 1)
        text += f"[{inner}]" if opened else inner
    return text


def _format_element(value):
    if isinstance(value, bytes):
        return _escaped(value)
    if isinstance(value, np.bool_ | bool):
        return str(int(value))
    if isinstance(value, np.complexfloating):
        return "?"
    if isinstance(value, np.integer):
        return str(int(value))
    return _format_number(value)


def _format_number(value):
    """The shorter of two lengths if it parses back to the same number, as in TensorFlow."""
    short, long, dtype = (15, 17, np.float64) if isinstance(value, np.float64) else (6, 9, np.float32)
    value = float(value)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    text = f"{value:.{short}g}"
    return text if dtype(text) == dtype(value) else f"{value:.{long}g}"


_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def _escaped(text):
    plain = text.decode(errors="replace")
    return "".join(
        _ESCAPES.get(ord(c)) or (c if ord(c) >= 32 and ord(c) != 127 else f"\\{ord(c):03o}") for c in plain
    )
