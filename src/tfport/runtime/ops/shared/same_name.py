"""Lowerings for ops that ONNX has too, with the same inputs and no attributes."""

from __future__ import annotations

from typing import Any

from tfport.runtime.lower import lower


def same_name(ops: str) -> None:
    """Lower each op to the ONNX op of the same name, or of the name after a colon: `AddV2:Add`."""
    for op in ops.split():
        tensorflow_op, _, onnx_op = op.partition(":")
        lower(tensorflow_op)(_node(onnx_op or tensorflow_op))


def _node(op: str) -> Any:
    def lowered(b: Any, *inputs: Any) -> Any:
        return b.nodes(op, *inputs)[0]

    return lowered
