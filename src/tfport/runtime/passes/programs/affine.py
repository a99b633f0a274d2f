"""Express a tensor as a sum of matrix products, `x @ W + h @ R + b`, whatever steps compute it.

Recurrent cells compute the same sums in many ways: separate products or one of a concatenation,
gates split before or after the activation, a bias added to one of them. All of them become one
`Affine`, in which each gate is a range of columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.operand import Operand
from tfport.runtime.passes.programs.rnn_activations import Activation, ActivationReader
from tfport.runtime.program import Program, Step
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

ADDS = ("Add", "AddV2", "BiasAdd")


@dataclass(frozen=True)
class Affine:
    """A sum of products: a matrix for each source operand, and a bias."""

    terms: Mapping[Operand, NDArray[Any]]
    bias: NDArray[Any]

    @property
    def size(self) -> int:
        return int(self.bias.shape[0])

    def columns(self, which: slice) -> Affine:
        return Affine({s: m[:, which] for s, m in self.terms.items()}, self.bias[which])

    def times(self, matrix: NDArray[Any]) -> Affine:
        return Affine({s: m @ matrix for s, m in self.terms.items()}, self.bias @ matrix)

    def negative(self) -> Affine:
        return Affine({s: -m for s, m in self.terms.items()}, -self.bias)

    def plus(self, other: Affine) -> Affine:
        terms = dict(self.terms)
        for source, matrix in other.terms.items():
            terms[source] = terms[source] + matrix if source in terms else matrix
        return Affine(terms, self.bias + other.bias)


class AffineReader(ActivationReader):
    """Finds the affine form of operands from the steps of one program."""

    def __init__(self, program: Program, sources: Collection[Operand]) -> None:
        super().__init__(program)
        self.sources = set(sources)

    def affine(self, operand: Operand) -> Affine | None:
        """The affine form of an operand of rank 2, or None."""
        if operand in self.sources:
            size = operand.shape[-1] if operand.shape else None
            if size is None:
                return None
            return Affine({operand: np.eye(size, dtype=np.float32)}, np.zeros(size, np.float32))
        step = self.producer(operand)
        if step is None:
            return None
        if step.op == "MatMul":
            return self._product(step)
        if step.op == "_FusedMatMul" and step.attrs.get("fused_ops") == ["BiasAdd"]:
            product = self._product(step)
            return _plus_vector(product, step.inputs[2]) if product is not None else None
        if step.op in ADDS and len(step.inputs) == 2:
            return self._sum(*step.inputs)
        if step.op == "ConcatV2":
            return self._concatenation(step)
        if step.op == "Mul":
            x, mask = step.inputs
            return self.affine(x) if self._is_ones_like(mask, x) else None
        if (which := columns_of(step, operand)) is not None:
            whole = self.affine(_split_input(step))
            return whole.columns(which) if whole is not None else None
        return None

    def activated(self, operand: Operand) -> tuple[Activation, Affine] | None:
        """An activation and the affine form of its input; its columns may be selected afterwards."""
        step = self.producer(operand)
        if step is None:
            return None
        if (function := self.activation_of(operand)) is not None:
            inside = self.affine(function[1])
            return (function[0], inside) if inside is not None else None
        if (which := columns_of(step, operand)) is not None:
            whole = self.activated(_split_input(step))
            return (whole[0], whole[1].columns(which)) if whole is not None else None
        return None

    def _product(self, step: Step) -> Affine | None:
        left, right = step.inputs[:2]
        if step.attrs.get("transpose_a") or right.array is None or right.array.ndim != 2:
            return None
        matrix = right.array.T if step.attrs.get("transpose_b") else right.array
        parts = self.producer(left, "ConcatV2")
        if parts is not None and left not in self.sources:
            return self._product_of_parts(parts, matrix)
        return self._times(left, matrix)

    def _times(self, operand: Operand, matrix: NDArray[Any]) -> Affine | None:
        if operand in self.sources:  # even if its size is unknown
            return Affine({operand: matrix}, np.zeros(matrix.shape[1], matrix.dtype))
        inside = self.affine(operand)
        return inside.times(matrix) if inside is not None else None

    def _is_ones_like(self, operand: Operand, x: Operand) -> bool:
        """Whether an operand is the mask of a dropout of nothing: ones in the shape of another operand."""
        fill = self.producer(operand, "Fill")
        size = None if fill is None else self.producer(fill.inputs[0], "Shape")
        if fill is None or size is None or size.inputs[0] is not x:
            return False
        value = fill.inputs[1].array
        return value is not None and float(value) == 1

    def _product_of_parts(self, parts: Step, matrix: NDArray[Any]) -> Affine | None:
        """The product of a concatenation, of which one width may be unknown: it follows from the matrix."""
        *operands, axis = parts.inputs
        widths = [o.shape[-1] if o.shape else None for o in operands]
        if axis.array is None or int(axis.array) not in (1, -1) or widths.count(None) > 1:
            return None
        known = sum(size for size in widths if size is not None)
        sizes = [matrix.shape[0] - known if size is None else size for size in widths]
        rows = np.split(matrix, np.cumsum(sizes)[:-1])
        total = Affine({}, np.zeros(matrix.shape[1], matrix.dtype))
        for operand, part in zip(operands, rows, strict=True):
            product = self._times(operand, part)
            if product is None:
                return None
            total = total.plus(product)
        return total

    def _sum(self, left: Operand, right: Operand) -> Affine | None:
        if left.array is not None:
            left, right = right, left
        inside = self.affine(left)
        if inside is None:
            return None
        if right.array is not None:
            return _plus_vector(inside, right)
        other = self.affine(right)
        return inside.plus(other) if other is not None and other.size == inside.size else None

    def _concatenation(self, step: Step) -> Affine | None:
        *operands, axis = step.inputs
        parts = [self.affine(operand) for operand in operands]
        if axis.array is None or int(axis.array) not in (1, -1) or any(part is None for part in parts):
            return None
        sizes = [part.size for part in parts if part is not None]
        total = Affine({}, np.zeros(sum(sizes), np.float32))
        for i, part in enumerate(parts):
            assert part is not None
            around = (sum(sizes[:i]), sum(sizes[i + 1 :]))
            terms = {s: np.pad(m, ((0, 0), around)) for s, m in part.terms.items()}
            total = total.plus(Affine(terms, np.pad(part.bias, around)))
        return total


def _plus_vector(affine: Affine, operand: Operand) -> Affine | None:
    """An affine form with a constant added, a number or one per column."""
    vector = operand.array
    if vector is None or vector.size not in (1, affine.size) or vector.ndim > 2:
        return None
    if vector.ndim and vector.shape[-1] != vector.size:
        return None
    return Affine(affine.terms, affine.bias + vector.reshape(-1))


def _split_input(step: Step) -> Operand:
    return step.inputs[1] if step.op == "Split" else step.inputs[0]


def columns_of(step: Step, operand: Operand) -> slice | None:
    """The columns of its input that an output of a split or slice is; None for other steps."""
    if step.op == "Split":
        axis, shape = step.inputs[0].array, step.inputs[1].shape
        if axis is None or int(axis) not in (1, -1) or shape is None or len(shape) != 2 or shape[1] is None:
            return None
        size, at = shape[1] // len(step.outputs), step.outputs.index(operand)
        return slice(at * size, (at + 1) * size)
    if step.op == "SplitV":
        sizes, axis = step.inputs[1].array, step.inputs[2].array
        shape = step.inputs[0].shape
        if sizes is None or axis is None or shape is None or len(shape) != 2 or int(axis) not in (1, -1):
            return None
        if (sizes < 0).any():  # at most one: what is left
            if shape[1] is None:
                return None
            sizes = np.where(sizes < 0, shape[1] - sizes[sizes > 0].sum(), sizes)
        at = step.outputs.index(operand)
        start = int(sizes[:at].sum())
        return slice(start, start + int(sizes[at]))
    return _strided(step) if step.op == "StridedSlice" else None


def _strided(step: Step) -> slice | None:
    """`x[:, a:b]`"""
    begin, end, strides = (operand.array for operand in step.inputs[1:4])
    if step.inputs[0].rank != 2 or begin is None or end is None or strides is None or len(begin) != 2:
        return None
    masks = {name: step.attrs.get(name) or 0 for name in ("begin_mask", "end_mask")}
    if any(step.attrs.get(f"{name}_mask") for name in ("ellipsis", "new_axis", "shrink_axis")):
        return None
    if (strides != 1).any() or not (masks["begin_mask"] & 1 or begin[0] == 0) or not masks["end_mask"] & 1:
        return None
    return slice(
        None if masks["begin_mask"] & 2 else int(begin[1]), None if masks["end_mask"] & 2 else int(end[1])
    )
