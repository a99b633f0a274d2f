"""Translate an ONNX model into a TensorFlow Lite model: an island for the engine, or a whole model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.formats.lite.records import LiteFile, LiteSignature
from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.litert.island_node import NAMES, IslandNode, IslandValue, NotInLite
from tfport.runtime.engines.litert.lite_scribe import TYPES, LiteModelWriter, LiteScribe
from tfport.runtime.engines.litert.rules import (
    comparing,
    control,
    convolution,
    elementwise,
    hosted,
    moving,
    places,
    products,
    recurrent,
    volumes,
    whole_axes,
)
from tfport.runtime.engines.litert.simplify import simplify
from tfport.runtime.engines.litert.translator import ControlRule, GraphTranslator, Rule
from tfport.runtime.hosted import DONE, OP
from tfport.runtime.onnx.model import OnnxModel
from tfport.runtime.program import Step
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _cast(out: LiteScribe, node: IslandNode) -> IslandValue:
    """XNNPACK has only floats, so LiteRT's own kernel computes it."""
    x, dtype = node.first, NAMES[node.attrs["to"]]
    if not {dtype, x.dtype} <= CASTS:
        raise NotInLite(f"Cast from {x.dtype} to {dtype}")
    return out.cast(x, dtype)


CASTS = frozenset(TYPES) - {"string", "resource", "variant"}


def _convolution(out: LiteScribe, node: IslandNode) -> IslandValue:
    is_volume = len(node.first.sizes) == 5
    return volumes.volume_convolution(out, node) if is_volume else convolution.convolution(out, node)


def _pooling(out: LiteScribe, node: IslandNode) -> IslandValue:
    is_volume = len(node.first.sizes) == 5 and "kernel_shape" in node.attrs
    return volumes.volume_pooling(out, node) if is_volume else convolution.pooling(out, node)


RULES: dict[str, Rule] = {
    **dict.fromkeys(elementwise.BINARY, elementwise.binary),
    **dict.fromkeys(elementwise.UNARY, elementwise.unary),
    **dict.fromkeys(comparing.COMPARISONS, comparing.comparison),
    **dict.fromkeys(convolution.OPS, _pooling),
    **dict.fromkeys(whole_axes.REDUCTIONS, whole_axes.reduction),
    **dict.fromkeys(whole_axes.EXTREMES, whole_axes.extreme),
    **dict.fromkeys(recurrent.OPS, recurrent.recurrent),
    "BatchNormalization": elementwise.batch_normalization,
    "BitwiseAnd": comparing.bitwise_and,
    "Cast": _cast,
    "Clip": elementwise.clip,
    "Concat": moving.concat,
    "ConstantOfShape": places.filled,
    "Conv": _convolution,
    "ConvTranspose": convolution.transposed_convolution,
    "CumSum": whole_axes.running_sum,
    "DepthToSpace": moving.blocks,
    "Einsum": products.einsum,
    "Elu": elementwise.elu,
    "Erf": elementwise.error_function,
    "Expand": places.expand,
    "Flatten": moving.flatten,
    "Gather": places.gather,
    "GatherND": places.gather_nd,
    "Gelu": elementwise.gelu,
    "Gemm": products.gemm,
    "GlobalAveragePool": whole_axes.global_mean,
    "HardSigmoid": elementwise.hard_sigmoid,
    "Identity": moving.identity,
    "InstanceNormalization": whole_axes.normalization,
    "IsInf": comparing.is_infinite,
    "IsNaN": comparing.is_nan,
    "LayerNormalization": whole_axes.normalization,
    "LogSoftmax": whole_axes.softmax,
    "MatMul": products.matmul,
    "Mod": elementwise.remainder,
    "NonMaxSuppression": places.suppression,
    "NonZero": places.nonzero,
    "Not": comparing.negation,
    "OneHot": places.one_hot,
    "PRelu": elementwise.slopes,
    "Pad": moving.pad,
    "Range": places.numbers,
    "Reciprocal": elementwise.reciprocal,
    "Reshape": moving.reshape,
    "Resize": whole_axes.resize,
    "Selu": elementwise.selu,
    "Slice": moving.slices,
    "Softmax": whole_axes.softmax,
    "Softplus": elementwise.softplus,
    "Softsign": elementwise.softsign,
    "SpaceToDepth": moving.blocks,
    "Split": moving.split,
    "Squeeze": moving.squeeze,
    "Tile": places.tile,
    "TopK": whole_axes.largest,
    "Transpose": moving.transpose,
    "Unsqueeze": moving.unsqueeze,
    "Where": comparing.choice,
}
CONTROL: dict[str, ControlRule] = {"If": control.branch, "Loop": control.loop, OP: hosted.hosted}


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
    """The model with its constants inside; `NotInLite` if a node has no translation.

    All sizes must be known, so that nodes that compute shapes need not run.
    """
    graph, out = model.graph, LiteScribe()
    translator = GraphTranslator(out, weights, RULES, {})
    translator.constants(graph)
    infos = {info.name: info for info in graph.input}
    fed = []
    for name in inputs:
        value = _input(out, infos[name])
        if not all(isinstance(size, int) for size in value.sizes):
            raise NotInLite("an input of unknown size")
        translator.values[name] = value
        fed.append(value.tensor)
    watched = []
    for proto in graph.node:
        results = translator.add(proto)
        if proto.op_type in elementwise.UNLIMITED and not _is_limited(translator, proto):
            watched += [value.tensor for value in results if value.array is None]
    written = [_output(out, translator.value(name)) for name in outputs]
    tensors = [tensor for tensor in written if isinstance(tensor, int)]
    content = out.model.bytes(fed, list(dict.fromkeys([*tensors, *watched])))
    return LiteTranslation(content, fed, written, watched)


def _is_limited(translator: GraphTranslator, proto: pb.NodeProto) -> bool:
    """Whether a node divides by constants, which are not about zero."""
    return proto.op_type == "Div" and translator.value(proto.input[1]).array is not None


def lite_model(
    models: Mapping[str, tuple[OnnxModel, Sequence[Step]]], *, allow_flex: bool = False
) -> tuple[LiteFile, dict[str, dict[str, str]]]:
    """A file with a signature for each model, and for each why nodes cannot be said, with their names.

    Each model comes with its steps that ONNX does not have (`runtime.hosted`).
    """
    writer, every = LiteModelWriter(len(models), is_small=True), dict[str, dict[str, str]]()
    file = writer.file()
    for number, (key, (model, steps)) in enumerate(models.items()):
        graph, out, reasons = model.model.graph, LiteScribe(writer), every.setdefault(key, {})
        translator = GraphTranslator(
            out, model.weights, RULES, CONTROL, reasons, steps, allow_flex=allow_flex
        )
        translator.constants(graph)
        inputs, outputs = {}, {}
        try:
            for info in graph.input:
                value = _input(out, info)
                translator.values[info.name], inputs[info.name] = value, value.tensor
            translator.translate(graph.node)
            if not reasons:
                shown = [info.name for info in graph.output if info.name != DONE]
                outputs = {name: out.plain(translator.value(name)) for name in shown}
        except NotInLite as error:
            reasons[str(error)] = ""
        ends = list(inputs.values()), list(outputs.values())
        writer.subgraphs[number] = out.model.subgraph(key, *ends)
        file.signatures.append(LiteSignature(key, number, inputs, outputs))
    for subgraph in writer.subgraphs[: len(models)]:
        writer.call_starts(subgraph)
    failed = {key: reasons for key, reasons in every.items() if reasons}
    if not failed:
        simplify(file)
    return file, failed


def _input(out: LiteScribe, info: pb.ValueInfoProto) -> IslandValue:
    tensor = info.type.tensor_type
    dtype = NAMES[tensor.elem_type]
    if not tensor.HasField("shape"):
        raise NotInLite(f"the rank of the input `{info.name}` is unknown")
    if dtype not in TYPES:
        raise NotInLite(f"the input `{info.name}` is {dtype}")
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return out.input(sizes, dtype, info.name)


def _output(out: LiteScribe, value: IslandValue) -> int | NDArray[Any]:
    return out.plain(value) if value.array is None else value.array
