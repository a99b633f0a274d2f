"""Declare shape rules of ops, `@shape_rule("Abs Neg")`, and what rules share, with TensorFlow's words.

A rule gets an `OpCall`, which a node of a graph and a step of the runtime both can be, and returns the
sizes of each output: None for an unknown size, and None instead of the sizes where the rank is unknown.
A rule knows no more than is true, and what it does not know stays unknown. Where TensorFlow refuses the
inputs it raises `ShapeConflict`.
Those in `compared` were compared with what real releases infer: they may know less than TensorFlow does,
never something else, so that `check` can tell what a release refuses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfport.discovery import Catalog
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape

Dim = int | None
Dims = tuple[Dim, ...]
Outputs = list[Dims | None]
Changes = frozenset[str]
"""The releases of `CHANGED_IN` that a target is, or is later than."""
CHANGED_IN = {
    "BiasAddGrad": ("1.13",),
    **dict.fromkeys(("DynamicStitch", "ParallelDynamicStitch"), ("2.1",)),
    "SerializeIterator": ("2.2",),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), ("1.6",)),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"), ("2.2",)),
    **dict.fromkeys(("UniqueV2", "UniqueWithCountsV2"), ("2.1", "2.5")),
}
"""The releases in which an op began to infer other shapes. Of complete inputs, these rules know all that
TensorFlow does. Of 1,200 ops, each tried with random inputs in 1.4.1, 1.15.5 and 2.21.0, only these infer
shapes that contradict those of another release."""
NEWEST: Changes = frozenset(release for changed in CHANGED_IN.values() for release in changed)
VECTOR: Dims = (None,)
MOST_AXES = 254
"""TensorFlow's limit: a longer vector of sizes is no shape."""
MOST_OUTPUTS = 1 << 20


class ShapeConflict(Exception):
    """TensorFlow refuses the node; the text is the first words of its message."""


class OpCall(ABC):
    """An op with its inputs, as far as shapes are concerned."""

    __slots__ = ("changes", "op", "shapes")
    version: int = 1 << 31
    """The GraphDef version of the graph."""

    def __init__(self, op: str, shapes: Sequence[Dims | None], changes: Changes = NEWEST) -> None:
        self.op, self.shapes, self.changes = op, shapes, changes

    @abstractmethod
    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute; its default, or the given one, if the node does not have it."""

    @abstractmethod
    def elements(self, index: int) -> Dims | None:
        """The elements of a small integer input, None for unknown ones; None if nothing is known."""

    @abstractmethod
    def dtype(self, index: int) -> DType:
        """The type of an input."""

    def integers(self, index: int) -> tuple[int, ...] | None:
        """The elements of a small integer input, if all are known."""
        known = self.elements(index)
        if known is None or None in known:
            return None
        return known  # type: ignore[return-value]

    def number(self, name: str) -> int:
        """An attribute that says how many outputs there are."""
        number = self.attr(name)
        if not isinstance(number, int) or not 0 <= number <= MOST_OUTPUTS:
            raise ValueError(f"{name} is no number of outputs")
        return number

    def length(self, index: int) -> Dim:
        """The length of an input that is a vector."""
        shape = self.shapes[index]
        return shape[0] if shape is not None and len(shape) == 1 else None

    def axis(self, index: int, rank: int) -> int | None:
        """The axis that a scalar input names, counted from the first; None if it is unknown or invalid."""
        known = self.integers(index)
        return known[0] % rank if known and -rank <= known[0] < rank else None


ShapeRule = Callable[[OpCall], Outputs]
RULES: Catalog[ShapeRule] = Catalog("shape_rules", "tfport.graph.op_facts")


def shape_rule(ops: str) -> Callable[[ShapeRule], ShapeRule]:
    """Declare the rule of ops (names separated by blanks)."""

    def declare(function: ShapeRule) -> ShapeRule:
        for op in ops.split():
            RULES.add(op, function)
        return function

    return declare


def merge(a: Dims | None, b: Dims | None) -> Dims | None:
    """The shape that both are."""
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        raise ShapeConflict(ranks_differ(a, b))
    dims = []
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is not None and y is not None and x != y:
            raise ShapeConflict(
                f"Dimension {axis} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {text(a)} and {text(b)}."
            )
        dims.append(y if x is None else x)
    return tuple(dims)


def merge_dims(a: Dim, b: Dim) -> Dim:
    if a is not None and b is not None and a != b:
        raise ShapeConflict(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def broadcast(*shapes: Dims | None) -> Dims | None:
    """The shape of several after broadcasting."""
    whole: Dims = ()
    for shape in shapes:
        if shape is None:
            return None
        rank = max(len(whole), len(shape))
        whole = tuple(map(_broadcast_dims, _padded(whole, rank), _padded(shape, rank)))
    return whole


def _padded(dims: Sequence[Dim], rank: int) -> Iterable[Dim]:
    return [1] * (rank - len(dims)) + list(dims)


def _broadcast_dims(a: Dim, b: Dim) -> Dim:
    if a is None or b is None:
        known = b if a is None else a
        return known if known is not None and known > 1 else None
    return b if a == 1 else a if b == 1 else merge_dims(a, b)


def of_rank(shape: Dims | None, rank: int) -> Dims:
    """A shape that must have this rank; of unknown sizes if nothing is known."""
    if shape is not None and len(shape) != rank:
        raise ShapeConflict(f"Shape must be rank {rank} but is rank {len(shape)}")
    return (None,) * rank if shape is None else shape


def at_least_rank(shape: Dims | None, rank: int) -> Dims | None:
    if shape is not None and len(shape) < rank:
        raise ShapeConflict(f"Shape must be at least rank {rank} but is rank {len(shape)}")
    return shape


def ranks_differ(a: Dims, b: Dims) -> str:
    return f"Shapes must be equal rank, but are {len(a)} and {len(b)}"


def of_unknown_sizes(rank: Dim) -> Dims | None:
    """A shape of which only the rank is known."""
    return None if rank is None or rank > MOST_AXES else (None,) * rank


def unknown_of_rank(shape: Dims | None) -> Dims | None:
    """The same rank, of unknown sizes."""
    return None if shape is None else (None,) * len(shape)


def count(shape: Iterable[Dim]) -> Dim:
    """The number of elements, if it is known and less than 2**63."""
    return Shape(tuple(shape)).size


def shape_in(call: OpCall, index: int) -> Dims | None:
    """The shape that an input contains as a vector of sizes, as far as it is known; -1 is an unknown size."""
    known, shape = call.elements(index), call.shapes[index]
    if known is not None and (shape is None or len(shape) == 1):
        return tuple(None if size is None or size < 0 else size for size in known)
    return of_unknown_sizes(call.length(index))


def text(shape: Dims | None) -> str:
    """A shape as TensorFlow prints it: `[?,3]`, `<unknown>`."""
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"
