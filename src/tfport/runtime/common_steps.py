"""Find nodes that compute what an earlier node of the same program computed already.

Models compute many things twice: each feature column converts the same strings to a sparse tensor, each
layer reads the same shape. Two nodes compute the same if op, attributes and inputs are the same; small
constants are compared by value. Nodes with state, and those that use resources or variants (a tensor list
may be changed in place), are never shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.operand import Operand

if TYPE_CHECKING:
    from collections.abc import Iterable

SMALL = 1024
"""Constants of at most this many bytes are compared by value."""
_PLAIN = (int, str, bytes, DType, Shape)
_SHARED_STATE = frozenset(("resource", "variant"))


class CommonSteps:
    """The outputs of the steps of one program, by what they compute."""

    def __init__(self) -> None:
        self._outputs: dict[Hashable, Sequence[Operand]] = {}

    def find(self, key: Hashable | None) -> Sequence[Operand] | None:
        """The outputs of an earlier step that computes the same."""
        return None if key is None else self._outputs.get(key)

    def record(self, key: Hashable | None, outputs: Sequence[Operand]) -> None:
        """Remember the outputs of a step."""
        if key is not None:
            self._outputs[key] = tuple(outputs)


def step_key(
    op: str, inputs: Sequence[Operand], attrs: Mapping[str, Attr], types: Iterable[DType]
) -> Hashable | None:
    """What a node without state computes; None where it cannot be shared or compared."""
    if not inputs:
        return None
    for dtype in (*types, *[operand.dtype for operand in inputs]):
        if dtype.is_ref or dtype.name in _SHARED_STATE:
            return None
    named = []
    for name, value in attrs.items():
        if not name.startswith("_"):
            key = _attr_key(value)
            if key is None:
                return None
            named.append((name, key))
    return op, tuple([operand_key(operand) for operand in inputs]), frozenset(named)


def operand_key(operand: Operand) -> Hashable:
    """Equal for the same operand, and for small constants of the same value."""
    array = operand.array
    if array is None:
        return operand
    if array.dtype.kind == "O":
        texts = array.reshape(-1)
        small = array.size <= 1 and all(isinstance(text, bytes) and len(text) <= SMALL for text in texts)
        return (operand.dtype, array.shape, tuple(texts)) if small else id(array)
    return (operand.dtype, array.shape, array.tobytes()) if array.nbytes <= SMALL else id(array)


def _attr_key(value: Attr) -> Hashable | None:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return value.hex()  # 0.0 and -0.0 are equal, but not the same
    if isinstance(value, list):
        keys = tuple(_attr_key(element) for element in value)
        return None if None in keys else keys
    return None
