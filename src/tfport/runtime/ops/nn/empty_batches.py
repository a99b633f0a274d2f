"""Recurrent layers without rows or steps, which ONNX Runtime does not survive."""

from __future__ import annotations

from typing import Any

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand

TIME, BATCH = 0, 1
MUST_NOT_BE_EMPTY = {"GRU": (TIME, BATCH), "LSTM": (BATCH,), "RNN": (BATCH,)}
"""The axes of `x` whose size the kernels of ONNX Runtime divide by, or index the last of."""


def refuse_empty_batch(b: Builder, kind: str, x: Operand, state: Operand) -> Any:
    """The initial state, for an `x` of shape (time, batch, inputs) that has rows, and steps if it needs them.

    ONNX Runtime's LSTM, GRU and RNN end the process otherwise. An index out of range fails before
    them, and the host computes the empty result.
    """
    for axis in MUST_NOT_BE_EMPTY[kind]:
        if x.shape is None or not x.shape[axis]:
            too_far = b.cast(b.Equal(b.Shape(x, start=axis, end=axis + 1), b.ints(0)), INT64)
            state = b.Add(state, b.Gather(b.const([0], x.dtype), too_far, axis=0))
    return state
