"""Indices for an engine that does not check them: one that is out of range must not reach its kernels.

A kernel of a GPU that reads outside of a tensor ends the process, or leaves the GPU unusable to it. Such
indices are replaced by 0, and a flag says how many there were; if any, the host computes the answer, or says
what is wrong. Nodes inside of loops and branches are not changed: `reads_by_index` finds those.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT32, INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import nodes_of
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program

ALONG_AXIS = frozenset(["Gather", "GatherElements", "ScatterElements"])
BY_COORDINATES = frozenset(["GatherND", "ScatterND"])


def reads_by_index(program: Program) -> bool:
    """Whether a loop body or branch may read or write outside of a tensor."""
    nodes = list(nodes_of(program))
    makers = {output: node for node in nodes for output in node.outputs}
    return any(
        (node.op in ALONG_AXIS | BY_COORDINATES and not _is_safe(node, makers))
        or any(map(reads_by_index, node.programs))
        for node in nodes
    )


def with_safe_indices(nodes: Sequence[OnnxNode]) -> tuple[list[OnnxNode], Operand | None]:
    """The nodes with safe indices, and the flag that some were not, if that is possible."""
    makers = {output: node for node in nodes for output in node.outputs}
    made: list[OnnxNode] = []
    flags: list[Operand] = []
    for node in nodes:
        if node.op in ALONG_AXIS | BY_COORDINATES and not _is_safe(node, makers):
            b = Builder("index")
            indices, flag = _checked(b, node, makers)
            inputs = (node.inputs[0], indices, *node.inputs[2:])
            flags.append(flag)
            made += [*b.made, OnnxNode(node.op, inputs, node.outputs, node.attrs, node.domain, node.means)]
        else:
            made.append(node)
    if not flags:
        return made, None
    b = Builder("index")
    flag = flags[0]
    for other in flags[1:]:
        flag = b.Add(flag, other)
    return made + b.made, flag


def _is_safe(node: OnnxNode, makers: dict[Operand, OnnxNode]) -> bool:
    """Whether constant indices are in range, as far as the sizes are known; those of shapes always are."""
    data, indices = node.inputs[0], node.inputs[1]
    assert data is not None
    assert indices is not None
    if indices.array is None:
        return False
    if data in makers and makers[data].op == "Shape":
        return True
    sizes = _known_sizes(node, data, indices)
    if sizes is None or None in sizes:
        return False
    known = np.array(sizes, np.int64)
    return bool(np.all((indices.array >= -known) & (indices.array < known)))


def _known_sizes(node: OnnxNode, data: Operand, indices: Operand) -> Sequence[int | None] | None:
    """The sizes that the indices must be below: one, or one for each coordinate."""
    if data.shape is None:
        return None
    if node.op in ALONG_AXIS:
        return (data.shape[int(node.attrs.get("axis", 0))],)
    depth = indices.shape[-1] if indices.shape else None
    batch = int(node.attrs.get("batch_dims", 0))
    sizes = data.shape[batch : batch + (depth or 0)]
    return sizes if len(sizes) == depth else None


def _checked(b: Builder, node: OnnxNode, makers: dict[Operand, OnnxNode]) -> tuple[Operand, Operand]:
    """Indices that are in range, and how many differ from those of the node."""
    data, indices = node.inputs[0], node.inputs[1]
    assert data is not None
    assert indices is not None
    known = _known_size(node, data, indices)
    signed = _with_sign(indices, makers)
    counted = _from_the_end(signed, known, makers) if signed is not None else None
    if counted is not None:
        indices, signed = counted, None
    if known is not None and indices.dtype == INT32 and known <= np.iinfo(np.int32).max:
        compared, size = signed or indices, b.const(known, INT32)
    else:
        compared, size = b.int64(signed or indices), _size(b, node, data, indices)
    least = b.const(0, compared.dtype)
    if signed is None:
        least = b.const(-known, compared.dtype) if known is not None else b.Neg(size)
    wrong = b.Or(b.Less(compared, least), b.GreaterOrEqual(compared, size))
    safe = b.Where(wrong, b.const(0, indices.dtype), signed or indices)
    # a GPU has a fast kernel for the sum of floats only; more than one is not 0, however many there are
    return safe, b.nodes("ReduceSum", b.cast(wrong, FLOAT32), keepdims=0, shape=())[0]


def _known_size(node: OnnxNode, data: Operand, indices: Operand) -> int | None:
    """The size that all indices must be below, if it is known."""
    sizes = _known_sizes(node, data, indices) if node.op in ALONG_AXIS else None
    return sizes[0] if sizes is not None else None


def _size(b: Builder, node: OnnxNode, data: Operand, indices: Operand) -> Operand:
    sizes = _known_sizes(node, data, indices)
    if sizes is not None and None not in sizes:
        known = np.array(sizes, np.int64)
        return b.const(known[0] if node.op in ALONG_AXIS else known, INT64)
    shape = b.Shape(data)
    if node.op in ALONG_AXIS:
        axis = int(node.attrs.get("axis", 0))
        return b.Gather(shape, b.const(axis, INT64), axis=0)
    batch = int(node.attrs.get("batch_dims", 0))
    depth = b.Gather(b.Shape(indices), b.ints(-1), axis=0)
    return b.Slice(shape, b.ints(batch), b.Add(depth, b.ints(batch)))


def _from_the_end(indices: Operand, size: int | None, makers: dict[Operand, OnnxNode]) -> Operand | None:
    """The indices before the size was added to negative ones: ONNX reads those in the same way."""
    where = makers.get(indices)
    if size is None or where is None or where.op != "Where" or where.inputs[2] is None:
        return None
    index = where.inputs[2]
    before = [
        (node.op, node.inputs[0], _number(node.inputs[1])) for node in _makers(where.inputs[:2], makers)
    ]
    return index if before == [("Less", index, 0), ("Add", index, size)] else None


def _makers(operands: Sequence[Operand | None], makers: dict[Operand, OnnxNode]) -> list[OnnxNode]:
    return [makers[o] for o in operands if o is not None and o in makers and len(makers[o].inputs) == 2]


def _number(operand: Operand | None) -> int | None:
    array = operand.array if operand is not None else None
    return int(array) if array is not None and array.ndim == 0 else None


def _with_sign(indices: Operand, makers: dict[Operand, OnnxNode]) -> Operand | None:
    """The indices before a lowering removed their sign, so that negative ones are out of range."""
    maker = makers.get(indices)
    if maker is None or maker.op != "BitwiseAnd":
        return None
    mask = maker.inputs[1]
    largest = np.iinfo(indices.dtype.numpy).max
    is_mask = mask is not None and mask.array is not None and mask.array.ndim == 0 and mask.array == largest
    return maker.inputs[0] if is_mask else None
