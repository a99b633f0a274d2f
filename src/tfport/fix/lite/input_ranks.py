"""The shapes of inputs of unknown rank, as far as the nodes that read them accept only one.

A TensorFlow Lite file states the rank of every input, and many ONNX nodes need it; placeholders of old graphs
do not state it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfport.fix.options import SignatureChanges
from tfport.graph.graph import Node, Value
from tfport.graph.model import Model
from tfport.graph.op_facts import kinds
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import replace

Dims = tuple[int | None, ...]
IMAGE, VOLUME, MATRIX, SCALAR = (None,) * 4, (None,) * 5, (None,) * 2, ()
_IMAGES = (
    "AvgPool Conv2D DepthToSpace DepthwiseConv2dNative FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 "
    "LRN MaxPool ResizeBicubic ResizeBilinear ResizeNearestNeighbor SpaceToDepth"
)
SHAPES: Mapping[str, Mapping[int, Dims]] = {
    **{op: {0: IMAGE} for op in _IMAGES.split()},
    **{op: {0: VOLUME} for op in ("AvgPool3D", "Conv3D", "MaxPool3D")},
    **{op: {0: SCALAR} for op in ("If", "StatelessIf")},
    "MatMul": {0: MATRIX, 1: MATRIX},
    "Switch": {1: SCALAR},
}
"""The rank that each input of an op must have, by its index."""
CHANNELS = {"Conv2D": -2, "DepthwiseConv2dNative": -2, "Conv3D": -2, "FusedBatchNorm": 0,
            "FusedBatchNormV2": 0, "FusedBatchNormV3": 0}  # fmt: skip
"""The axis of the second input whose size is the number of channels of the first."""
SAME = frozenset(f"{kinds.COMPARED_UNARY} {kinds.OTHER_UNARY} Identity Cast Enter".split())
BROADCASTING = frozenset(f"{kinds.COMPARED_BROADCASTING} {kinds.OTHER_BROADCASTING}".split())
DEEPEST = 8


def with_known_ranks(model: Model, changes: SignatureChanges) -> SignatureChanges:
    """The changes with shapes for the inputs whose rank follows from the nodes that read them."""
    shapes = dict(changes.shapes)
    for signature in model.signatures.values():
        for name, spec in signature.inputs.items():
            if spec.shape.dims is not None or spec.form != "dense" or name in shapes:
                continue
            value = model.graph.value(spec.tensors[0])
            recorded = value.node.output_shape(value.index).dims
            shape = recorded if recorded is not None else _shape(value, 0)
            if shape is not None:
                shapes[name] = shape
    return replace(changes, shapes=shapes)


def _shape(value: Value, depth: int) -> Dims | None:
    """The shape of a value; None if its readers accept several ranks."""
    if depth > DEEPEST:
        return None
    shapes = (_shape_in(value, node, depth) for node in value.uses)
    return next((shape for shape in shapes if shape is not None), None)


def _shape_in(value: Value, node: Node, depth: int) -> Dims | None:
    index = next(index for index, read in enumerate(node.inputs) if read == value)
    if (shape := SHAPES.get(node.op, {}).get(index)) is not None:
        return _with_channels(node, shape)
    if node.op in SAME:
        return _shape(node.output(0), depth + 1)
    if node.op == "Reshape" or (node.op == "Transpose" and index):
        return None
    if node.op == "Transpose":
        return _transposed(node, _shape(node.output(0), depth + 1))
    return _shape_beside(node, 1 - index, depth) if node.op in BROADCASTING else None


def _with_channels(node: Node, shape: Dims) -> Dims:
    weights = _constant(node.inputs[1]) if node.op in CHANNELS else None
    if weights is None:
        return shape
    sizes = list(shape)
    at = 1 if str(node.attrs.get("data_format", "NHWC")).startswith("NC") else -1
    sizes[at] = weights[CHANNELS[node.op]]
    return tuple(sizes)


def _transposed(node: Node, result: Dims | None) -> Dims | None:
    source = _source(node.inputs[1])
    if source.op != "Const":
        return None
    perm = source.attrs["value"].integers()
    if result is None or len(result) != len(perm):
        return (None,) * len(perm)
    return tuple(result[perm.index(axis)] for axis in range(len(perm)))


def _shape_beside(node: Node, other: int, depth: int) -> Dims | None:
    """The shape of one of two inputs that are broadcast: that of the result, if the other one is smaller."""
    if any(reader.op == "Floor" for reader in node.output(0).uses):  # dropout: a probability + random numbers
        return SCALAR
    if node.op == "GreaterEqual" and not other and _is_random(node.inputs[0]):  # dropout since 1.13
        return SCALAR
    shape, own = _shape(node.output(0), depth + 1), _constant(node.inputs[other])
    if shape == SCALAR:
        return SCALAR
    return shape if shape is not None and own is not None and len(own) < len(shape) else None


def _is_random(value: Value) -> bool:
    node = value.node
    while node.op in ("Add", "AddV2", "Mul"):  # to the limits of the numbers
        node = node.inputs[0].node
    return node.op == "RandomUniform"


def _constant(value: Value) -> Dims | None:
    """The shape of a constant, or a variable that is read."""
    node = _source(value)
    shape: Shape | None = node.attrs.get("shape")
    if node.op == "Const":
        shape = node.attrs["value"].shape
    elif node.op not in ("VariableV2", "VarHandleOp", "Variable"):
        return None
    return shape.dims if shape is not None else None


def _source(value: Value) -> Node:
    node = value.node
    while node.op in ("Dequantize", "Identity", "ReadVariableOp"):
        node = node.inputs[0].node
    return node
