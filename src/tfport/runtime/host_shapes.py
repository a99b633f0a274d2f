"""The output shapes of a node on the host, by the rules of `graph.op_facts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.graph.dtypes import DType
from tfport.graph.op_facts.node_call import MOST_ELEMENTS, output_dims
from tfport.graph.op_facts.rule import Dims, OpCall
from tfport.runtime.operand import Operand


def host_shapes(
    op: str, inputs: Sequence[Operand], attrs: Mapping[str, Any], outputs: int
) -> list[Dims | None]:
    """The shape of each output; None where the rank is unknown."""
    return output_dims(_OperandCall(op, inputs, attrs), outputs)


class _OperandCall(OpCall):
    """An op on operands, as shape rules see it; the attributes have all defaults."""

    __slots__ = ("_attrs", "_inputs")

    def __init__(self, op: str, inputs: Sequence[Operand], attrs: Mapping[str, Any]) -> None:
        super().__init__(op, [operand.shape for operand in inputs])
        self._inputs, self._attrs = inputs, attrs

    def attr(self, name: str, default: Any = None) -> Any:
        value = self._attrs.get(name)
        return default if value is None else value

    def elements(self, index: int) -> Dims | None:
        operand = self._inputs[index]
        array = operand.array
        if operand.known is not None or array is None:
            return operand.known
        short = array.size <= MOST_ELEMENTS and array.dtype.kind in "iu"
        return tuple(array.reshape(-1).tolist()) if short else None

    def dtype(self, index: int) -> DType:
        return self._inputs[index].dtype
