"""Let the layers before a crop compute only what the crop leaves.

A network for sequences may keep the middle 1,000 of 11,000 positions of its last layer: what the first
layers compute at the ends matters, what the last ones compute there does not. Each layer gets the crop
instead, less what the windows of the layers after it reach beyond; where nothing of it is left, padding
remains. So all elements that the crop leaves are computed from the same numbers. An exported model keeps all
nodes, and so does OpenVINO, which rejects the convolutions if a size is unknown (2026.4).

If a size is unknown, it may be so small that the crop leaves nothing, and then the windows of the layers do
not fit. So what the layers read is padded to the least size at which something is left, and the crop
leaves out everything: of longer sequences, that is a copy of the first layer's input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.graph import like
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.islands.crop_axes import Base, sliced_axes, window_of, with_padding
from tfport.runtime.passes.islands.crop_margins import (
    Margins,
    UnreadMargins,
    cut_window,
    needs_of,
    unread_margins,
)
from tfport.runtime.passes.pass_list import ONNX_RUNTIME_CPU, island_pass
from tfport.runtime.program import OnnxNode

LEAST_SAVED = 16
"""Products that must be saved for each element that is copied."""
USUAL_SIZE = 4
"""An unknown size is taken to be so many times the least at which a crop leaves something."""
_TO_THE_END = 2**31 - 1
_PADDED = frozenset(["float32", "float64", "int32", "int64", "int8", "uint8", "bool"])
"""The types that ONNX Runtime can pad."""
_WITH_PRODUCTS = frozenset(["Conv", "MatMul"])


@island_pass(when=ONNX_RUNTIME_CPU)
def cropped_layers(graph: IslandGraph) -> None:
    """The layers before a crop compute only what it leaves, if that pays."""
    nodes = graph.nodes
    if not _may_crop(nodes):
        return
    unread = unread_margins(nodes, graph.outputs)
    if not any(node.op in _WITH_PRODUCTS and node.outputs[0] in unread.cuts for node in nodes):
        return
    rewriter = _Rewriter(unread)
    for node in nodes:
        rewriter.take(node)
    if rewriter.can_pad and rewriter.saved >= LEAST_SAVED * rewriter.copied:
        graph.nodes = rewriter.nodes


def least_sizes(nodes: Sequence[OnnxNode]) -> Mapping[Base, int]:
    """The sizes from which crops leave something, of operands and axes of unknown size."""
    return unread_margins(nodes, ()).least if _may_crop(nodes) else {}


def _may_crop(nodes: Iterable[OnnxNode]) -> bool:
    """Whether there is a Slice after a node with products."""
    ops = iter(node.op for node in nodes)
    return any(op in _WITH_PRODUCTS for op in ops) and any(op == "Slice" for op in ops)


class _Rewriter:
    """The nodes added so far, and what stands for operands of which less is computed."""

    def __init__(self, unread: UnreadMargins) -> None:
        self.unread, self.nodes = unread, list[OnnxNode]()
        self.saved = self.copied = 0
        self.can_pad = True
        self._new: dict[Operand, Operand] = {}
        self._copies: dict[tuple[Operand, tuple[tuple[int, tuple[int, int]], ...]], Operand] = {}
        self._numbers: dict[tuple[str, Base], Operand] = {}

    def take(self, node: OnnxNode) -> None:
        output = node.outputs[0] if len(node.outputs) == 1 else None
        cut = self.unread.cuts.get(output, {}) if output is not None else {}
        if output is None or (not cut and node not in self.unread.crops):
            self.nodes.append(node)
            return
        if cut:
            shape = [_less(size, cut.get(axis)) for axis, size in enumerate(output.shape or ())]
            self._new[output] = Operand(output.dtype, shape, name=output.name.partition("#")[0])
        outputs = (self._new.get(output, output),)
        needs = needs_of(node, cut)
        inputs = tuple(self._read(o, needs.get(i, {})) for i, o in enumerate(node.inputs))
        if node in self.unread.crops:
            self.nodes.append(self._slice(node, inputs, outputs))
            return
        windows = {axis: cut_window(window_of(node, axis), margin) for axis, margin in cut.items()}
        self.nodes.append(OnnxNode(node.op, inputs, outputs, with_padding(node, windows)))
        if node.op in _WITH_PRODUCTS:
            self.saved += (self._elements(output) - self._elements(output, cut)) * _products(node)

    def _read(self, operand: Operand | None, needs: Margins) -> Operand | None:
        """An operand without these margins."""
        if operand is None or not needs:
            return self._new.get(operand, operand) if operand is not None else None
        key = operand, tuple(sorted(needs.items()))
        if key not in self._copies:
            self._copies[key] = self._without(operand, needs)
        return self._copies[key]

    def _without(self, operand: Operand, needs: Margins) -> Operand:
        if operand.array is not None:
            kept = tuple(_kept(needs.get(axis), size) for axis, size in enumerate(operand.array.shape))
            return Operand(operand.dtype, value=np.ascontiguousarray(operand.array[kept]), name="cropped")
        current, before = self._new.get(operand, operand), self.unread.cuts.get(operand, {})
        for axis in sorted(needs.keys() - before.keys()):
            current = self._padded(current, operand, axis)
        left = {
            a: (need[0] - b, need[1] - e) for a, need in needs.items() for b, e in [before.get(a, (0, 0))]
        }
        axes = [axis for axis in sorted(left) if any(left[axis])]
        if not axes:
            return current
        shape = [_less(size, left.get(axis)) for axis, size in enumerate(current.shape or ())]
        output = Operand(operand.dtype, shape, name="cropped")
        bounds = [left[a][0] for a in axes], [-left[a][1] or _TO_THE_END for a in axes], axes
        self.nodes.append(OnnxNode("Slice", (current, *(_ints(*b) for b in bounds)), (output,), {}))
        self.copied += self._elements(operand)
        return output

    def _padded(self, current: Operand, operand: Operand, axis: int) -> Operand:
        """An operand with the positions that it lacks at its end, if its size may be too small."""
        base = self.unread.lengths.of(operand, axis).base
        if base is None:
            return current
        rank = operand.rank or 0
        at_end = np.zeros(2 * rank, np.int64)
        at_end[rank + axis] = 1
        pads = self._node("Mul", self._missing_of(base), _ints(*at_end))
        output = Operand(operand.dtype, current.shape, name="padded")
        self.nodes.append(OnnxNode("Pad", (current, pads), (output,), {}))
        self.copied += self._elements(operand)
        self.can_pad &= operand.dtype.name in _PADDED
        return output

    def _slice(
        self, node: OnnxNode, inputs: Sequence[Operand | None], outputs: tuple[Operand, ...]
    ) -> OnnxNode:
        """A Slice of what is left of its input."""
        x, (current, *bounds) = node.inputs[0], inputs
        assert x is not None
        crop, before = self.unread.crops.get(node, {}), self.unread.cuts.get(x, {})
        starts, ends = (list(_elements_of(bound)) for bound in bounds[:2])
        computed: dict[int, Operand] = {}
        for i, axis in enumerate(sliced_axes(node, x.rank) or ()):
            if axis in before:
                base = self.unread.lengths.of(x, axis).base
                starts[i] = crop[axis][0] - before[axis][0]
                ends[i] = before[axis][1] - crop[axis][1] or _TO_THE_END
                if base is not None:
                    computed[i] = self._node("Add", self._left_of(base), _ints(starts[i]))
        self.copied += self._elements(outputs[0]) if computed else 0
        whole = _ints(*ends)
        if computed:
            parts = [computed.get(i) or _ints(end) for i, end in enumerate(ends)]
            whole = self._node("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
        return like(node, (current, _ints(*starts), whole, *bounds[2:]), outputs)

    def _missing_of(self, base: Base) -> Operand:
        """How many positions a size is smaller than the least at which crops leave something."""
        return self._once("missing", base, lambda size, least: self._node("Sub", _ints(least), size))

    def _left_of(self, base: Base) -> Operand:
        """How many positions crops leave of a size."""
        return self._once("left", base, lambda size, least: self._node("Sub", size, _ints(least - 1)))

    def _once(self, what: str, base: Base, number: Callable[[Operand, int], Operand]) -> Operand:
        """A number that depends on a size, or 0 if it is less."""
        if (what, base) not in self._numbers:
            operand, axis = base
            size = self._node("Shape", self._new.get(operand, operand), start=axis, end=axis + 1)
            difference = number(size, self.unread.least[base])
            self._numbers[what, base] = self._node("Max", difference, _ints(0))
        return self._numbers[what, base]

    def _node(self, op: str, *inputs: Operand, **attrs: int) -> Operand:
        output = Operand(INT64, (None,), name="size")
        self.nodes.append(OnnxNode(op, inputs, (output,), attrs))
        return output

    def _elements(self, operand: Operand, cut: Margins | None = None) -> int:
        """The number of elements, less the margins, for usual sizes."""
        total = 1
        for axis in range(operand.rank or 0):
            base, size = self.unread.lengths.of(operand, axis)
            if base is not None:
                size = max(1, size + USUAL_SIZE * self.unread.least.get(base, 0))
            total *= max(1, size - sum((cut or {}).get(axis, ())))
        return total


def _less(size: int | None, margin: tuple[int, int] | None) -> int | None:
    return size if size is None or margin is None else size - sum(margin)


def _kept(margin: tuple[int, int] | None, size: int) -> slice:
    return slice(None) if margin is None else slice(margin[0], size - margin[1])


def _products(node: OnnxNode) -> int:
    """The number of products for one element of the output."""
    weights = node.inputs[1]
    shape = weights.shape if weights is not None and weights.shape is not None else ()
    return math.prod(n or 1 for n in (shape[1:] if node.op == "Conv" else shape[-2:-1]))


def _elements_of(operand: Operand | None) -> Iterable[int]:
    assert operand is not None
    assert operand.array is not None
    return operand.array.reshape(-1).tolist()


def _ints(*values: int) -> Operand:
    return Operand(INT64, value=np.array(values, np.int64))
