"""Recurrent layers over a batch without rows, which ONNX Runtime does not survive."""

from __future__ import annotations

from typing import Any

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand


def refuse_empty_batch(b: Builder, x: Operand, state: Operand) -> Any:
    """The initial state, for an `x` of shape (time, batch, inputs) that has rows.

    ONNX Runtime's LSTM, GRU and RNN divide by the number of rows, which ends the process. Without rows,
    an index out of range fails before them, and the host computes the empty result.
    """
    if x.shape is not None and x.shape[1]:
        return state
    too_far = b.cast(b.Equal(b.Shape(x, start=1, end=2), b.ints(0)), INT64)
    return b.Add(state, b.Gather(b.const([0], x.dtype), too_far, axis=0))
