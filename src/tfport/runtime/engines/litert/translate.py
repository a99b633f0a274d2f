"""Translate an ONNX model with inputs of known sizes into a TensorFlow Lite model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.litert.island_node import (
    IslandNode,
    IslandValue,
    NotInLite,
    attributes_of,
    constant_value,
)
from tfport.runtime.engines.litert.lite_scribe import TYPES, LiteScribe
from tfport.runtime.engines.litert.rules import convolution, elementwise, moving, products, whole_axes
from tfport.runtime.onnx.known_results import OF_SIZES, NotKnown, known_result, of_sizes
from tfport.runtime.program import ONNX_TYPES
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


Rule = Callable[[LiteScribe, IslandNode], "IslandValue | list[IslandValue]"]
_NAMES = {number: name for name, number in ONNX_TYPES.items()}


def _cast(out: LiteScribe, node: IslandNode) -> IslandValue:
    """From integers, as in images; XNNPACK has only floats, so LiteRT's own kernel computes it."""
    x = node.first
    if node.attrs["to"] != ONNX_TYPES["float32"] or x.dtype not in TYPES:
        raise NotInLite("Cast to such a type")
    if x.dtype == "float32":
        return x
    return out.add("CAST", [x.tensor], x.sizes, x.order, in_data_type=TYPES[x.dtype], out_data_type="FLOAT32")


RULES: dict[str, Rule] = {
    **dict.fromkeys(elementwise.BINARY, elementwise.binary),
    **dict.fromkeys(elementwise.UNARY, elementwise.unary),
    **dict.fromkeys(convolution.OPS, convolution.pooling),
    **dict.fromkeys(whole_axes.REDUCTIONS, whole_axes.reduction),
    "BatchNormalization": elementwise.batch_normalization,
    "Cast": _cast,
    "Clip": elementwise.clip,
    "Concat": moving.concat,
    "Conv": convolution.convolution,
    "ConvTranspose": convolution.transposed_convolution,
    "DepthToSpace": moving.blocks,
    "Flatten": moving.flatten,
    "Gather": moving.gather,
    "Gelu": elementwise.gelu,
    "Gemm": products.gemm,
    "GlobalAveragePool": whole_axes.global_mean,
    "HardSigmoid": elementwise.hard_sigmoid,
    "Identity": moving.identity,
    "MatMul": products.matmul,
    "PRelu": elementwise.slopes,
    "Pad": moving.pad,
    "Reciprocal": elementwise.reciprocal,
    "Reshape": moving.reshape,
    "Resize": whole_axes.resize,
    "Slice": moving.slices,
    "Softmax": whole_axes.softmax,
    "SpaceToDepth": moving.blocks,
    "Split": moving.split,
    "Squeeze": moving.squeeze,
    "Transpose": moving.transpose,
    "Unsqueeze": moving.unsqueeze,
}


@dataclass(frozen=True, slots=True)
class LiteTranslation:
    """A file, and which of its tensors are the inputs and outputs of the model."""

    content: bytes
    inputs: list[int]
    outputs: list[int | NDArray[Any]]
    """A constant for what is known without a run: a shape."""
    watched: list[int]
    """Tensors that may have infinities, NaN or huge numbers, which later operators may drop."""


def translate(
    model: pb.ModelProto, weights: Mapping[str, NDArray[Any]], inputs: Sequence[str], outputs: Sequence[str]
) -> LiteTranslation:
    """The model with its constants inside; `NotInLite` if a node has no translation."""
    graph, out = model.graph, LiteScribe()
    values = {tensor.name: constant_value(_array(tensor, weights)) for tensor in graph.initializer}
    infos = {info.name: info for info in graph.input}
    values |= {name: _input(out, infos[name]) for name in inputs}
    fed = [values[name].tensor for name in inputs]
    watched = []
    for proto in graph.node:
        reads = tuple(values[name] if name else None for name in proto.input)
        node = IslandNode(proto.op_type, reads, attributes_of(proto), len(proto.output))
        results = _results(out, node, proto.domain)
        values.update(zip(proto.output, results, strict=True))
        if not elementwise.is_limited(node):
            watched += [value.tensor for value in results if value.array is None]
    written = [_output(out, values[name]) for name in outputs]
    tensors = [tensor for tensor in written if isinstance(tensor, int)]
    content = out.model.bytes(fed, list(dict.fromkeys([*tensors, *watched])))
    return LiteTranslation(content, fed, written, watched)


def _results(out: LiteScribe, node: IslandNode, domain: str) -> Sequence[IslandValue]:
    known = known_value(node)
    if known is not None:
        return [known]
    if node.op not in RULES or domain:
        raise NotInLite(f"{node.op} has no translation")
    integers = [
        value.dtype for value in node.inputs if value and value.array is None and value.dtype != "float32"
    ]
    if integers and node.op not in ("Cast", "Transpose", "Identity"):
        raise NotInLite(f"{node.op} of integers")
    results = RULES[node.op](out, node)
    return results if isinstance(results, list) else [results]


def _input(out: LiteScribe, info: pb.ValueInfoProto) -> IslandValue:
    dtype = _NAMES[info.type.tensor_type.elem_type]
    dims = info.type.tensor_type.shape.dim
    if dtype not in TYPES or not all(dim.HasField("dim_value") for dim in dims):
        raise NotInLite("an input of such a type, or of unknown size")
    return out.input([dim.dim_value for dim in dims], dtype)


def _output(out: LiteScribe, value: IslandValue) -> int | NDArray[Any]:
    return out.plain(value) if value.array is None else value.array


def _array(tensor: pb.TensorProto, weights: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    if tensor.name in weights:
        return np.asarray(weights[tensor.name])
    dtype = np.dtype(_NAMES[tensor.data_type])
    return np.frombuffer(tensor.raw_data, dtype).reshape(tuple(tensor.dims))


def known_value(node: IslandNode) -> IslandValue | None:
    """The result of a node on constants, or the shape of a value; None if it is computed in each run.

    All sizes are known, so that nodes that compute shapes need not run.
    """
    if node.op in OF_SIZES:
        return constant_value(of_sizes(node.op, node.attrs, node.first.sizes))
    arrays = [value.array if value is not None else None for value in node.inputs]
    if any(value is not None and value.array is None for value in node.inputs):
        return None
    try:
        return constant_value(known_result(node.op, node.attrs, arrays))
    except NotKnown as error:
        raise NotInLite(str(error)) from None
