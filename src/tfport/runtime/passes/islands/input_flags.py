"""Flags for inputs that an engine's kernels do not handle; if one is raised, the host computes the answer.

A GPU does not check indices: a kernel that reads outside of a tensor ends the process, or leaves the GPU
unusable to it. Such indices are replaced by 0, and a flag says how many there were; if any, the host computes
the answer, or says what is wrong. Nodes inside of loops and branches are not changed: `reads_by_index` finds
those.

ONNX Runtime's recurrent kernels on a CPU drop NaN: their activations limit the numbers first, which makes a
number of NaN. TensorFlow's answer is NaN from there on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT32, INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.onnx.known_values import index_mask
from tfport.runtime.onnx.model import nodes_of
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import CPU, GPU, island_pass
from tfport.runtime.program import OnnxNode, Program

ALONG_AXIS = frozenset(["Gather", "GatherElements", "ScatterElements"])
BY_COORDINATES = frozenset(["GatherND", "ScatterND"])
BY_LENGTH = "ReverseSequence"
BY_INDEX = ALONG_AXIS | BY_COORDINATES | {BY_LENGTH}
DROP_NAN = frozenset(["LSTM", "GRU", "RNN"])
FED = (0, 5, 6)
"""The indices of the inputs that are not weights: the rows, and the states before the first."""
ARRANGES = frozenset(
    [
        "Expand", "Gather", "Identity", "Reshape", "ReverseSequence", "Slice", "Squeeze", "Tile", "Transpose",
        "Unsqueeze",
    ]
)  # fmt: skip
"""Nodes whose numbers are those of their first input."""
JOINS = frozenset(["Add", "Concat"])
"""Nodes whose numbers are finite if those of all inputs are."""
BOUNDED = frozenset(["HardSigmoid", "Sigmoid", "Tanh"])
"""Activations with which the outputs of recurrent nodes are finite."""


def reads_by_index(program: Program) -> bool:
    """Whether a loop body or branch may read or write outside of a tensor."""
    graph = OnnxGraph(nodes_of(program))
    return any(
        (node.op in BY_INDEX and not _is_safe(node, graph)) or any(map(reads_by_index, node.programs))
        for node in graph.nodes
    )


@island_pass(when=GPU, bodies=False)
def safe_indices(graph: IslandGraph) -> None:
    """Indices that are out of range do not reach the kernels of a GPU; a flag says that there were some."""
    unsafe = [node for node in graph.nodes if node.op in BY_INDEX and not _is_safe(node, graph)]
    flags: list[Operand] = []
    for node in unsafe:
        b = Builder("index")
        indices, flag = _checked(b, node, graph)
        inputs = (node.inputs[0], indices, *node.inputs[2:])
        flags.append(flag)
        safe = OnnxNode(node.op, inputs, node.outputs, node.attrs, node.domain, node.means)
        graph.replace(node, *b.added, safe)
    if flags:
        b = Builder("index")
        flag = flags[0]
        for other in flags[1:]:
            flag = b.Add(flag, other)
        graph.append(*b.added)
        graph.add_flag(flag)


@island_pass(when=CPU, bodies=False)
def finite_inputs(graph: IslandGraph) -> None:
    """A flag says that a recurrent node reads what is not finite.

    Each operand is read as soon as it is computed, so that its memory is free when the last layer was.
    """
    fed = dict.fromkeys(operand for node in graph.nodes for operand in _fed(node, graph))
    if not fed:
        return
    sums, early = [], list[OnnxNode]()
    for operand in fed:
        b, producer = Builder("finite"), graph.producer(operand)
        wide = b.cast(operand, FLOAT32)  # sums of float16 overflow soon
        sums.append(b.nodes("ReduceSum", wide, keepdims=0, shape=())[0])
        if producer is None:
            early += b.added
        else:
            graph.replace(producer, producer, *b.added)
    b = Builder("finite")
    total, *others = sums
    for other in others:
        total = b.Add(total, other)
    flag = b.Mul(total, b.const(0, FLOAT32))  # of NaN and infinities, this is NaN
    graph.nodes = [*early, *graph.nodes, *b.added]
    graph.add_flag(flag)


def _is_safe(node: OnnxNode, graph: OnnxGraph) -> bool:
    """Whether constant indices are in range, as far as the sizes are known; those of shapes always are."""
    data, indices = node.inputs[0], node.inputs[1]
    assert data is not None
    assert indices is not None
    if indices.array is None:
        return False
    if graph.producer(data, "Shape") is not None:
        return True
    sizes = _known_sizes(node, data, indices)
    if sizes is None or None in sizes:
        return False
    known = np.array(sizes, np.int64)
    if node.op == BY_LENGTH:
        return bool(np.all((indices.array >= 0) & (indices.array <= known)))
    return bool(np.all((indices.array >= -known) & (indices.array < known)))


def _known_sizes(node: OnnxNode, data: Operand, indices: Operand) -> Sequence[int | None] | None:
    """The sizes that the indices must be below: one, or one for each coordinate."""
    if data.shape is None:
        return None
    if (axis := _axis(node)) is not None:
        return (data.shape[axis],)
    depth = indices.shape[-1] if indices.shape else None
    batch = int(node.attrs.get("batch_dims", 0))
    sizes = data.shape[batch : batch + (depth or 0)]
    return sizes if len(sizes) == depth else None


def _checked(b: Builder, node: OnnxNode, graph: OnnxGraph) -> tuple[Operand, Operand]:
    """Indices that are in range, and how many differ from those of the node."""
    data, indices = node.inputs[0], node.inputs[1]
    assert data is not None
    assert indices is not None
    if node.op == BY_LENGTH:
        return _checked_lengths(b, node, data, indices)
    known = _known_size(node, data, indices)
    signed = _with_sign(indices, graph)
    counted = _from_the_end(signed, known, graph) if signed is not None else None
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


def _checked_lengths(b: Builder, node: OnnxNode, data: Operand, lengths: Operand) -> tuple[Operand, Operand]:
    """Lengths that are at most that of the sequences, and how many differ from those of the node."""
    wrong = b.Or(b.Less(lengths, b.const(0, INT64)), b.Greater(lengths, _size(b, node, data, lengths)))
    safe = b.Where(wrong, b.const(0, INT64), lengths)
    return safe, b.nodes("ReduceSum", b.cast(wrong, FLOAT32), keepdims=0, shape=())[0]


def _axis(node: OnnxNode) -> int | None:
    """The axis that indices or lengths count along; None for coordinates."""
    if node.op == BY_LENGTH:
        return int(node.attrs.get("time_axis", 0))
    return int(node.attrs.get("axis", 0)) if node.op in ALONG_AXIS else None


def _known_size(node: OnnxNode, data: Operand, indices: Operand) -> int | None:
    """The size that all indices must be below, if it is known."""
    sizes = _known_sizes(node, data, indices) if node.op in ALONG_AXIS else None
    return sizes[0] if sizes is not None else None


def _size(b: Builder, node: OnnxNode, data: Operand, indices: Operand) -> Operand:
    sizes, axis = _known_sizes(node, data, indices), _axis(node)
    if sizes is not None and None not in sizes:
        known = np.array(sizes, np.int64)
        return b.const(known if axis is None else known[0], INT64)
    shape = b.Shape(data)
    if axis is not None:
        return b.Gather(shape, b.const(axis, INT64), axis=0)
    batch = int(node.attrs.get("batch_dims", 0))
    depth = b.Gather(b.Shape(indices), b.ints(-1), axis=0)
    return b.Slice(shape, b.ints(batch), b.Add(depth, b.ints(batch)))


def _from_the_end(indices: Operand, size: int | None, graph: OnnxGraph) -> Operand | None:
    """The indices before the size was added to negative ones: ONNX reads those in the same way."""
    where = graph.producer(indices, "Where")
    if size is None or where is None or where.inputs[2] is None:
        return None
    index = where.inputs[2]
    before = [
        (node.op, node.inputs[0], _number(node.inputs[1])) for node in _producers(where.inputs[:2], graph)
    ]
    return index if before == [("Less", index, 0), ("Add", index, size)] else None


def _producers(operands: Sequence[Operand | None], graph: OnnxGraph) -> list[OnnxNode]:
    nodes = map(graph.producer, operands)
    return [node for node in nodes if node is not None and len(node.inputs) == 2]


def _number(operand: Operand | None) -> int | None:
    array = operand.array if operand is not None else None
    return int(array) if array is not None and array.ndim == 0 else None


def _with_sign(indices: Operand, graph: OnnxGraph) -> Operand | None:
    """The indices before a lowering made negative ones out of range."""
    masked = graph.producer(indices, "BitwiseAnd")
    if masked is None:
        return None
    mask = masked.inputs[1]
    array = mask.array if mask is not None else None
    is_mask = array is not None and array.ndim == 0 and array == index_mask(indices.dtype)
    return masked.inputs[0] if is_mask else None


def _fed(node: OnnxNode, graph: OnnxGraph) -> Iterator[Operand]:
    if node.op not in DROP_NAN:
        return
    for index in FED:
        operand = node.inputs[index] if index < len(node.inputs) else None
        if operand is not None and not _is_known(operand, graph):
            yield operand


def _is_known(operand: Operand | None, graph: OnnxGraph) -> bool:
    """Whether these are numbers of the model, such as states of zero, or of a recurrent node before."""
    node = graph.producer(operand)
    if operand is None or node is None:
        return operand is not None and operand.is_constant
    if node.op in ARRANGES:
        return _is_known(node.inputs[0], graph)
    if node.op in JOINS:
        return all(_is_known(term, graph) for term in node.inputs)
    if node.op in DROP_NAN:
        return BOUNDED.issuperset(node.attrs.get("activations", ()))
    return node.op == "ConstantOfShape"
