"""How positions along an axis of a node's output depend on positions along axes of its inputs.

An element of the output at position p reads its inputs at p, or, for windows with stride 1 as in a
convolution, from p - before to p + after. Nothing is known of other nodes and axes. `Lengths` says which
unknown sizes of an island's tensors are equal, or differ by a known number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tfport.runtime.onnx.op_facts import TOGETHER, UNARY
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

_UNARY, _TOGETHER = frozenset(UNARY.split()), frozenset(TOGETHER.split())
_WINDOWS = frozenset(["Conv", "MaxPool", "AveragePool"])
_FIRST_SPACE = 2
"""The first axis of an image that is neither batch nor channels."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The input and its axis that an axis of the output follows."""

    input: int
    axis: int


@dataclass(frozen=True, slots=True)
class ReadWindow:
    """How many positions a window reads before and after its own; the image has so much padding."""

    before: int = 0
    after: int = 0
    extent: int = 1

    @property
    def growth(self) -> int:
        """How much longer the output is than the input."""
        return self.before + self.after + 1 - self.extent


POINT = ReadWindow()


def followed_axes(node: OnnxNode, axis: int) -> list[Followed]:
    """What an axis of the first output follows; nothing if that is unknown."""
    rule = None if node.domain or len(node.outputs) != 1 else _RULES.get(node.op)
    return [] if rule is None else rule(node, axis)


def window_of(node: OnnxNode, axis: int) -> ReadWindow:
    """The window of a node along an axis of its output that follows one of its input."""
    if node.op not in _WINDOWS or axis < _FIRST_SPACE:
        return POINT
    kernel = _kernel(node)
    space = axis - _FIRST_SPACE
    extent = (kernel[space] - 1) * _each(node, "dilations")[space] + 1
    if node.attrs.get("auto_pad") == "SAME_UPPER":
        return ReadWindow((extent - 1) // 2, extent // 2, extent)
    pads = node.attrs.get("pads") or [0] * (2 * len(kernel))
    return ReadWindow(pads[space], pads[space + len(kernel)], extent)


def with_padding(node: OnnxNode, windows: dict[int, ReadWindow]) -> dict[str, object]:
    """The attributes of a node with other padding along some axes."""
    if node.op not in _WINDOWS:
        return node.attrs
    rank = len(_kernel(node))
    all_windows = [windows.get(i + _FIRST_SPACE) or window_of(node, i + _FIRST_SPACE) for i in range(rank)]
    pads = [w.before for w in all_windows] + [w.after for w in all_windows]
    return {**{k: v for k, v in node.attrs.items() if k != "auto_pad"}, "pads": pads}


def _same(node: OnnxNode, axis: int) -> list[Followed]:
    return [Followed(0, axis)]


def _together(node: OnnxNode, axis: int) -> list[Followed]:
    """All inputs but those that are repeated along the axis."""
    shapes = [o.shape if o is not None else None for o in node.inputs]
    rank = node.outputs[0].rank
    if rank is None or None in shapes:
        return []
    axes = [(i, axis - rank + len(shape), shape) for i, shape in enumerate(shapes) if shape is not None]
    return [Followed(i, own) for i, own, shape in axes if own >= 0 and shape[own] != 1]


def _window(node: OnnxNode, axis: int) -> list[Followed]:
    if axis == 0:
        return [Followed(0, 0)]
    if axis < _FIRST_SPACE or not _kernel(node) or node.attrs.get("ceil_mode", 0):
        return []
    if node.attrs.get("auto_pad", "NOTSET") not in ("NOTSET", "SAME_UPPER"):
        return []
    window = window_of(node, axis)
    # a window that reads nothing but padding would be an element of an image without elements
    is_usual = 0 <= window.before < window.extent and 0 <= window.after < window.extent
    is_dense = _each(node, "strides")[axis - _FIRST_SPACE] == 1
    return [Followed(0, axis)] if is_dense and is_usual else []


def _normalization(node: OnnxNode, axis: int) -> list[Followed]:
    return [Followed(0, axis)] if axis != 1 and not node.attrs.get("training_mode", 0) else []


def _transpose(node: OnnxNode, axis: int) -> list[Followed]:
    return [Followed(0, node.attrs["perm"][axis])] if "perm" in node.attrs else []


def _unsqueeze(node: OnnxNode, axis: int) -> list[Followed]:
    added = _constant_axes(node, node.outputs[0].rank)
    if added is None or axis in added:
        return []
    return [Followed(0, axis - sum(a < axis for a in added))]


def _squeeze(node: OnnxNode, axis: int) -> list[Followed]:
    x = node.inputs[0]
    removed = _constant_axes(node, x.rank if x is not None else None)
    if removed is None or x is None or x.rank is None:
        return []
    return [Followed(0, [a for a in range(x.rank) if a not in removed][axis])]


def _concat(node: OnnxNode, axis: int) -> list[Followed]:
    rank = node.outputs[0].rank
    if rank is None or node.attrs["axis"] % rank == axis:
        return []
    return [Followed(i, axis) for i in range(len(node.inputs))]


def _softmax(node: OnnxNode, axis: int) -> list[Followed]:
    rank = node.outputs[0].rank
    return [Followed(0, axis)] if rank is not None and node.attrs.get("axis", -1) % rank != axis else []


def _product(node: OnnxNode, axis: int) -> list[Followed]:
    """A product with a constant matrix: the same for each position."""
    x, weights = node.inputs[0], node.inputs[1]
    if x is None or x.rank is None or weights is None or weights.array is None or weights.array.ndim != 2:
        return []
    return [Followed(0, axis)] if axis < x.rank - 1 else []


def _slice(node: OnnxNode, axis: int) -> list[Followed]:
    rank = node.outputs[0].rank
    sliced = sliced_axes(node, rank)
    return [Followed(0, axis)] if sliced is not None and axis not in sliced else []


def sliced_axes(node: OnnxNode, rank: int | None) -> list[int] | None:
    """The axes of a Slice; None if they are unknown."""
    axes = node.inputs[3] if len(node.inputs) > 3 else None
    if rank is None or axes is None or axes.array is None:
        return None
    return [int(axis) % rank for axis in axes.array.reshape(-1)]


def _constant_axes(node: OnnxNode, rank: int | None) -> list[int] | None:
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if axes is None or axes.array is None or rank is None:
        return None
    return [int(axis) % rank for axis in axes.array.reshape(-1)]


def _kernel(node: OnnxNode) -> Sequence[int]:
    if "kernel_shape" in node.attrs:
        return list(node.attrs["kernel_shape"])
    weights: Operand | None = node.inputs[1] if len(node.inputs) > 1 else None
    return weights.array.shape[2:] if weights is not None and weights.array is not None else []


def _each(node: OnnxNode, attribute: str) -> Sequence[int]:
    return node.attrs.get(attribute) or [1] * len(_kernel(node))


_RULES: dict[str, Callable[[OnnxNode, int], list[Followed]]] = {
    **dict.fromkeys(_UNARY, _same),
    **dict.fromkeys(_TOGETHER, _together),
    **dict.fromkeys(_WINDOWS, _window),
    "BatchNormalization": _normalization,
    "Concat": _concat,
    "LogSoftmax": _softmax,
    "MatMul": _product,
    "Slice": _slice,
    "Softmax": _softmax,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}

Base = tuple[Operand, int]
"""An operand and its axis, whose size is unknown."""


class Length(NamedTuple):
    """The size of a base, or nothing, and a known number."""

    base: Base | None
    offset: int


class Lengths:
    """The sizes of all operands of an island along each axis."""

    def __init__(self, nodes: Sequence[OnnxNode]) -> None:
        self._open: dict[Base, Length] = {}
        for node in nodes:
            for output in node.outputs:
                for axis, size in enumerate(output.shape or ()):
                    if size is None and (followed := self.followed(node, axis)):
                        source, at = node.inputs[followed[0].input], followed[0].axis
                        assert source is not None
                        base, offset = self.of(source, at)
                        self._open[output, axis] = Length(base, offset + window_of(node, axis).growth)

    def of(self, operand: Operand, axis: int) -> Length:
        """The size of an operand along an axis."""
        size = operand.shape[axis] if operand.shape is not None else None
        if size is not None:
            return Length(None, size)
        return self._open.get((operand, axis)) or Length((operand, axis), 0)

    def followed(self, node: OnnxNode, axis: int) -> list[Followed]:
        """What an axis of a node's output follows: inputs of the same length, none of them repeated."""
        followed, lengths = followed_axes(node, axis), set[Length]()
        for each in followed:
            operand = node.inputs[each.input]
            if operand is None or operand.shape is None:
                return []
            lengths.add(self.of(operand, each.axis))
        size = (node.outputs[0].shape or ())[axis] if followed else None
        if size is not None:
            lengths.add(Length(None, size - window_of(node, axis).growth))
        return followed if len(lengths) == 1 else []
