"""The narrowest floating-point type on the way from the inputs of a signature to each of its outputs.

A model may take and return float32 and compute in half precision in between: its outputs have the
rounding errors of half. Types are followed forwards from the inputs, through functions, loops and lists.
What does not depend on an input does not count: weights that are stored in half are the same numbers in
both models. A type is not followed through integers, bools and strings: a rounding error changes them by
whole steps or not at all, and fake quantization keeps float32.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.fix.certify.compare import NarrowestType, is_float, precision
from tfport.graph.graph import ARG, RETURN, Function, Node, Value
from tfport.graph.model import Model, Signature
from tfport.graph.op_facts.kinds import WHILES
from tfport.graph.value_readers import PASS_THROUGH, CallPath
from tfport.startup.dataclass import dataclass

HANDLES = ("variant", "resource")
"""Types of lists and variables, which carry the precision of what is stored in them."""
ONLY_MOVE = PASS_THROUGH | {"Cast", "Placeholder", ARG, RETURN}
"""Ops that say less about where a model computes in a type than others."""
MOST_VISITS = 1_000_000
"""An untrusted graph may be large."""


def narrowest_types(model: Model, signature: Signature) -> dict[str, NarrowestType]:
    """The narrowest type for each output whose own type is wider, and a node that computes in it."""
    reached = _Flow(model, signature).reached
    narrower: dict[str, NarrowestType] = {}
    for name, spec in signature.outputs.items():
        for value in (model.graph.value(tensor) for tensor in spec.tensors if model.has_tensor(tensor)):
            step, dtype = reached.get(value), _float_type(value)
            if step is not None and dtype is not None and precision(step.dtype) < precision(dtype):
                narrower[name] = NarrowestType(step.dtype, step.name)
    return narrower


@dataclass(frozen=True, slots=True)
class _NarrowStep:
    """A node that computes in a type, or that only converts to it."""

    dtype: np.dtype[Any]
    name: str
    moves: bool

    def beats(self, other: _NarrowStep | None) -> bool:
        return other is None or (precision(self.dtype), self.moves) < (precision(other.dtype), other.moves)


class _Flow:
    """Follows types from inputs until nothing gets narrower."""

    def __init__(self, model: Model, signature: Signature) -> None:
        self.reached: dict[Value, _NarrowStep | None] = {}
        """The narrowest step on the way to each value that depends on an input; None if there is none."""
        self._path = CallPath({}, {})
        self._modules: dict[Node, _NarrowStep | None] = {}
        self._waiting: deque[Value] = deque()
        for spec in signature.inputs.values():
            for tensor in spec.tensors:
                if model.has_tensor(tensor):
                    self._reach(model.graph.value(tensor), None)
        for _ in range(MOST_VISITS):
            if not self._waiting:
                break
            self._visit(self._waiting.popleft())

    def _visit(self, value: Value) -> None:
        carried = self.reached[value] if _carries(value) else None
        for node in dict.fromkeys(value.uses):
            inside = _narrower(carried, self._module(node))
            for index in (i for i, read in enumerate(node.inputs) if read is value):
                for following in self._following(node, index):
                    self._reach(following, inside)

    def _following(self, node: Node, index: int) -> Iterator[Value]:
        """The values that an input of a node goes on to."""
        if node.op != RETURN:
            yield from list(self._path.into(node, index)) or node.outputs
            return
        for output in self._path.out_of(node, index):
            yield output
            if output.node.op in WHILES:  # the next iteration reads it
                yield from self._path.into(output.node, output.index)

    def _reach(self, value: Value, carried: _NarrowStep | None) -> None:
        dtype = _float_type(value)
        own = None if dtype is None else _NarrowStep(dtype, _name(value.node), value.node.op in ONLY_MOVE)
        best = _narrower(carried if _carries(value) else None, own)
        if value not in self.reached or (best is not None and best.beats(self.reached[value])):
            self.reached[value] = best
            self._waiting.append(value)

    def _module(self, node: Node) -> _NarrowStep | None:
        """The narrowest type that a StableHLO program in a node computes in."""
        if node.op != "XlaCallModule":
            return None
        if node not in self._modules:
            dtypes = list(_module_types(node))
            narrowest = min(dtypes, key=precision) if dtypes else None
            self._modules[node] = None if narrowest is None else _NarrowStep(narrowest, _name(node), False)
        return self._modules[node]


def _narrower(first: _NarrowStep | None, second: _NarrowStep | None) -> _NarrowStep | None:
    """The narrower of two steps; of equal ones the first."""
    return second if second is not None and second.beats(first) else first


def _carries(value: Value) -> bool:
    return _float_type(value) is not None or value.dtype.name in HANDLES


def _float_type(value: Value) -> np.dtype[Any] | None:
    dtype = value.dtype.base
    if not (dtype.is_floating or dtype.is_complex):
        return None
    try:
        return dtype.numpy if is_float(dtype.numpy) else None
    except KeyError:  # a type that tfport does not know
        return None


def _name(node: Node) -> str:
    return f"{node.graph.name}/{node.name}" if isinstance(node.graph, Function) else node.name


def _module_types(node: Node) -> Iterator[np.dtype[Any]]:
    """The floating-point types of what a StableHLO program computes."""
    module: Any = node.attrs.get("module", b"")
    try:
        from tfport.formats.stablehlo.vhlo import read_vhlo  # few models need it

        functions = read_vhlo(module.encode() if isinstance(module, str) else bytes(module))
    except UnreadableFile:
        return
    for op in (op for function in functions.values() for op in function.ops if op.name != "constant_v1"):
        for dtype in (np.dtype(t.element) for t in op.types if t.element is not None):
            if is_float(dtype):
                yield dtype
