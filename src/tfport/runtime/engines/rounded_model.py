"""A model that rounds otherwise: what another order of its sums may change, as a model that can be run.

A sum of n products rounds n times. Its error is about that of changing the last bits of all its factors,
times a part of the root of n: weights are changed by that much, up or down. A mean over images has no
weights: it is computed in another order. Measured on ARM64 with random weights: LiteRT's convolutions with 27
to 4,600 products differ from ONNX Runtime's by 0.1 to 0.25 times the root of their number, times what the
last bits of the weights change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.engine import NO_HINTS, Compiled, IslandHints
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.program import ONNX_TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART_OF_ROOT = 0.14
"""A rounding is off by 0.29 of a last bit, and partial sums grow as the root of their length."""
LAST_BIT = 0.72 * 2.0**-23
"""The last bit of a float32, as a part of the number: between 2^-24 and 2^-23."""
_FLOAT = ONNX_TYPES["float32"]


class RoundedRuntime(OnnxRuntime):
    """ONNX Runtime with islands that round otherwise, another way for each seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        return super().compile(*rounded_model(model, weights, self._seed), inputs, outputs, hints)


def rounded_model(
    model: bytes, weights: Mapping[str, NDArray[Any]], seed: int
) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """A model and its weights with float32 numbers changed, another time for each seed.

    Small constants inside of the model stay, unless they are weights of products: they may be sizes.
    """
    changed = pb.ModelProto.FromString(model)
    graph, random = changed.graph, np.random.default_rng(seed)
    lengths = dict(_lengths_of_sums(graph))
    for tensor in graph.initializer:
        if tensor.name in lengths and tensor.name not in weights and tensor.data_type == _FLOAT:
            array = np.frombuffer(tensor.raw_data, np.float32)
            tensor.raw_data = _changed(array, lengths[tensor.name], random).tobytes()
    nodes = [part for node in graph.node for part in _rounded(node, graph)]
    del graph.node[:]
    graph.node.extend(nodes)
    others = {name: _changed(array, lengths.get(name, 1), random) for name, array in weights.items()}
    return changed.SerializeToString(), others


def _lengths_of_sums(graph: pb.GraphProto) -> Iterator[tuple[str, int]]:
    """How many products there are in a sum, for the weights of each convolution and matrix product."""
    dims = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    for node in graph.node:
        of_weights = dims.get(node.input[1]) if len(node.input) > 1 else None
        if not of_weights:
            continue
        match node.op_type:
            case "Conv":
                yield node.input[1], math.prod(of_weights[1:])
            case "ConvTranspose":
                yield node.input[1], math.prod(of_weights) // of_weights[1]
            case "Gemm" | "MatMul":
                yield node.input[1], of_weights[-2] if len(of_weights) > 1 else of_weights[0]


def _changed(array: NDArray[Any], length: int, random: np.random.Generator) -> NDArray[Any]:
    if array.dtype != np.float32:
        return array
    part = LAST_BIT * max(1.0, PART_OF_ROOT * math.sqrt(length))
    up = random.integers(2, size=array.shape, dtype=np.int8)
    return (array * np.where(up, 1 + part, 1 - part)).astype(np.float32)


def _rounded(node: pb.NodeProto, graph: pb.GraphProto) -> Sequence[pb.NodeProto]:
    """A node; a mean over several axes as two, over the last axis first."""
    rows = f"{node.output[0]}@rows"
    match node.op_type:
        case "AveragePool":
            return _pools(node, rows)
        case "GlobalAveragePool":
            return _means(node, rows, -1, graph)
        case "ReduceMean" if len(axes := _axes(node, graph)) > 1:
            return _means(node, rows, max(axes), graph)
    return [node]


def _means(node: pb.NodeProto, rows: str, axis: int, graph: pb.GraphProto) -> Sequence[pb.NodeProto]:
    inputs, number = [node.input[0], f"{rows}@axis"], np.array([axis], np.int64).tobytes()
    graph.initializer.add(name=inputs[1], dims=[1], data_type=ONNX_TYPES["int64"], raw_data=number)
    first = pb.NodeProto(op_type="ReduceMean", name=rows, input=inputs, output=[rows])
    node.input[0] = rows
    return [first, node]


def _axes(node: pb.NodeProto, graph: pb.GraphProto) -> list[int]:
    """The axes of a mean, if they are constant."""
    for tensor in graph.initializer:
        if tensor.name in node.input[1:2]:
            return [int(axis) for axis in np.frombuffer(tensor.raw_data, np.int64)]
    return []


def _pools(node: pb.NodeProto, rows: str) -> Sequence[pb.NodeProto]:
    """A pooling over windows of an image as one over their rows, and one over the results for these."""
    attrs = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    kernel, strides = attrs.pop("kernel_shape"), attrs.pop("strides", [])
    if len(kernel) != 2 or len(strides) != 2 or any(map(any, attrs.values())) or not attrs.keys() <= {"pads"}:
        return [node]
    by_row = pb.NodeProto(op_type="AveragePool", name=rows, input=node.input, output=[rows])
    by_column = pb.NodeProto(op_type="AveragePool", name=node.name, input=[rows], output=node.output)
    for part, across in ((by_row, 0), (by_column, 1)):
        for name, sizes in (("kernel_shape", kernel), ("strides", strides)):
            lengths = [1 if axis == across else size for axis, size in enumerate(sizes)]
            part.attribute.add(name=name, type=pb.AttributeProto.INTS, ints=lengths)
    return [by_row, by_column]
