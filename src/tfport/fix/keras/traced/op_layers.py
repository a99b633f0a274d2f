"""TensorFlow ops as functions and layers of Keras.

`OP_LAYERS` has a function for each op: it gets the values and the node, and returns the tensor in the new
model, or a list of them. Layers with weights are in `weighted_ops`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tfport.fix.keras.traced.functional import SLICING
from tfport.fix.keras.traced.values import TracedValues
from tfport.fix.keras.traced.weighted_ops import WEIGHTED
from tfport.frontends.keras.config import TensorRef
from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.rule import Dims

BINARY = {
    "Add": "math.add",
    "AddV2": "math.add",
    "BiasAdd": "math.add",
    "Sub": "math.subtract",
    "Mul": "math.multiply",
    "RealDiv": "math.truediv",
    "FloorDiv": "math.floordiv",
    "FloorMod": "math.floormod",
    "Pow": "math.pow",
    "Maximum": "math.maximum",
    "Minimum": "math.minimum",
    "Greater": "math.greater",
    "GreaterEqual": "math.greater_equal",
    "Less": "math.less",
    "LessEqual": "math.less_equal",
    "Equal": "math.equal",
    "NotEqual": "math.not_equal",
    "LogicalAnd": "math.logical_and",
    "LogicalOr": "math.logical_or",
}
UNARY = {
    "Neg": "math.negative",
    "Abs": "math.abs",
    "Exp": "math.exp",
    "Log": "math.log",
    "Sqrt": "math.sqrt",
    "Square": "math.square",
    "Sin": "math.sin",
    "Cos": "math.cos",
    "Tanh": "math.tanh",
    "Floor": "math.floor",
    "Ceil": "math.ceil",
    "Sign": "math.sign",
    "LogicalNot": "math.logical_not",
    "Erf": "math.erf",
    "Rsqrt": "math.rsqrt",
    "Round": "math.round",
    "Relu": "nn.relu",
    "Relu6": "nn.relu6",
    "Sigmoid": "math.sigmoid",
    "Softplus": "math.softplus",
    "OnesLike": "ones_like",
    "ZerosLike": "zeros_like",
}
ACTIVATIONS = {"Elu": "elu", "Selu": "selu", "Softsign": "softsign"}
REDUCTIONS = {
    "Mean": "math.reduce_mean",
    "Sum": "math.reduce_sum",
    "Prod": "math.reduce_prod",
    "Max": "math.reduce_max",
    "Min": "math.reduce_min",
}
NO_LAYER = "no layer and no operation of Keras computes it"
EVERYTHING = {"start": None, "stop": None, "step": None}


def binary(t: TracedValues, node: Node) -> TensorRef:
    first, second = (t.operand(value) for value in node.inputs)
    if node.op == "BiasAdd" and t.attr(node, "data_format") == "NCHW":
        bias = np.asarray(second)
        second = bias.reshape(-1, *[1] * (t.rank(node.inputs[0]) - 2))
    return t.functional.function(BINARY[node.op], first, y=second)


def unary(t: TracedValues, node: Node) -> TensorRef:
    return t.functional.function(UNARY[node.op], t.tensor(node.inputs[0]))


def activation(t: TracedValues, node: Node) -> TensorRef:
    return t.functional.activation(ACTIVATIONS[node.op], t.tensor(node.inputs[0]))


def leaky_relu(t: TracedValues, node: Node) -> TensorRef:
    return t.functional.function("nn.leaky_relu", t.tensor(node.inputs[0]), alpha=t.attr(node, "alpha"))


def softmax(t: TracedValues, node: Node) -> TensorRef:
    return t.functional.function("nn.softmax", t.tensor(node.inputs[0]), axis=-1)


def reduction(t: TracedValues, node: Node) -> TensorRef:
    x, axes = node.inputs
    axis = [int(i) for i in t.array(axes).reshape(-1)]
    keepdims = bool(t.attr(node, "keep_dims"))
    return t.functional.function(REDUCTIONS[node.op], t.tensor(x), axis=axis, keepdims=keepdims)


def squared_difference(t: TracedValues, node: Node) -> TensorRef:
    first, second = (t.operand(value) for value in node.inputs)
    return t.functional.function("math.square", t.functional.function("math.subtract", first, y=second))


def sum_of_many(t: TracedValues, node: Node) -> TensorRef:
    total = t.tensor(node.inputs[0])
    for value in node.inputs[1:]:
        total = t.functional.function("math.add", total, y=t.operand(value))
    return total


def where(t: TracedValues, node: Node) -> TensorRef:
    condition, x, y = node.inputs
    return t.functional.function("where", t.tensor(condition), x=t.operand(x), y=t.operand(y))


def cast(t: TracedValues, node: Node) -> TensorRef:
    return t.functional.function("cast", t.tensor(node.inputs[0]), dtype=node.output(0).dtype.name)


def product(t: TracedValues, node: Node) -> TensorRef:
    """A product of two computed matrices, or batches of them."""
    flags = [
        bool(t.attr(node, f"transpose_{side}")) or bool(t.attr(node, f"adj_{other}"))
        for side, other in ("ax", "by")
    ]
    x, y = (_transposed(t, v) if flag else t.tensor(v) for v, flag in zip(node.inputs, flags, strict=True))
    return t.functional.function("linalg.matmul", x, b=y)


def _transposed(t: TracedValues, value: Value) -> TensorRef:
    rank = t.rank(value)
    order = [*range(rank - 2), rank - 1, rank - 2]
    return t.functional.function("transpose", t.tensor(value), perm=order)


def reshape(t: TracedValues, node: Node) -> TensorRef:
    x, shape = node.inputs
    known = [t.shape(node.output(0)), t.inferred.elements.get(shape)]
    known.append(_with_batch(t.shape(x), known[1]))
    for dims in known:
        sizes = [-1 if size is None else size for size in dims or (None, None)]
        if sizes.count(-1) <= 1:
            t.improve(node.output(0), tuple(None if size == -1 else size for size in sizes))
            return t.functional.function("reshape", t.tensor(x), shape=sizes)
    raise t.refuse(node, "several sizes of its result are not known")


def _with_batch(dims: Dims | None, wanted: Dims | None) -> Dims | None:
    """The sizes of a result whose first one is the batch of its input, and another one is left open."""
    if dims is None or wanted is None or None in dims[1:] or dims[0] is not None or wanted[:1] != (None,):
        return None
    rest, stated = prod(n for n in dims[1:] if n), prod(n for n in wanted[1:] if n and n > 0)
    if None in wanted[1:] or wanted.count(-1) != 1 or rest % max(stated, 1):
        return None
    return tuple(rest // stated if n == -1 else n for n in wanted)


def transpose(t: TracedValues, node: Node) -> TensorRef:
    order = [int(i) for i in t.array(node.inputs[1])]
    return t.functional.function("transpose", t.tensor(node.inputs[0]), perm=order)


def expand_dims(t: TracedValues, node: Node) -> TensorRef:
    axis = int(t.array(node.inputs[1]).reshape(-1)[0])
    return t.functional.function("expand_dims", t.tensor(node.inputs[0]), axis=axis)


def squeeze(t: TracedValues, node: Node) -> TensorRef:
    axes = list(t.attr(node, "squeeze_dims") or [])
    if not axes:
        dims = t.shape(node.inputs[0])
        if dims is None or None in dims:
            raise t.refuse(node, "which axes have the size 1 is not known")
        axes = [axis for axis, size in enumerate(dims) if size == 1]
    return t.functional.function("squeeze", t.tensor(node.inputs[0]), axis=axes)


def concat(t: TracedValues, node: Node) -> TensorRef:
    *values, axis = node.inputs
    tensors = [t.tensor(value) for value in values]
    if len(tensors) == 1:
        return tensors[0]
    return t.functional.function("concat", tensors, axis=int(t.array(axis)))


def pack(t: TracedValues, node: Node) -> TensorRef:
    tensors = [t.tensor(value) for value in node.inputs]
    if len(tensors) == 1:
        return t.functional.function("expand_dims", tensors[0], axis=int(t.attr(node, "axis") or 0))
    return t.functional.function("stack", tensors, axis=int(t.attr(node, "axis") or 0))


def split(t: TracedValues, node: Node) -> list[TensorRef]:
    axis, value = int(t.array(node.inputs[0])), node.inputs[1]
    count = int(t.attr(node, "num_split"))
    if count == 1:
        return [t.tensor(value)]
    ref = t.functional.function("split", t.tensor(value), num_or_size_splits=count, axis=axis)
    return [TensorRef(ref.layer, ref.call, index) for index in range(count)]


def split_sizes(t: TracedValues, node: Node) -> list[TensorRef]:
    value, sizes, axis = node.inputs
    ends = np.cumsum(t.array(sizes))
    if any(size < 0 for size in t.array(sizes)):
        raise t.refuse(node, "one of its sizes is not stated")
    spec = [_part(int(end - size), int(end)) for end, size in zip(ends, t.array(sizes), strict=True)]
    return [_sliced(t, value, int(t.array(axis)), part) for part in spec]


def unpack(t: TracedValues, node: Node) -> list[TensorRef]:
    axis = int(t.attr(node, "axis") or 0)
    return [_sliced(t, node.inputs[0], axis, number) for number in range(int(t.attr(node, "num")))]


def _part(start: int | None, stop: int | None, step: int | None = None) -> dict[str, int | None]:
    return {"start": start, "stop": stop, "step": step}


def _sliced(t: TracedValues, value: Value, axis: int, part: Any) -> TensorRef:
    spec: list[Any] = [EVERYTHING] * t.rank(value)
    spec[axis] = part
    return t.functional.function(SLICING, t.tensor(value), slice_spec=spec)


def strided_slice(t: TracedValues, node: Node) -> TensorRef:
    x, *ranges = node.inputs
    begin, end, step = (t.array(value).reshape(-1) for value in ranges)
    masks = {
        name: int(t.attr(node, f"{name}_mask") or 0)
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    spec: list[Any] = []
    for index in range(len(begin)):
        bit = 1 << index
        if masks["ellipsis"] & bit:
            new = sum(bool(masks["new_axis"] & (1 << i)) for i in range(len(begin)))
            spec += [EVERYTHING] * (t.rank(x) - (len(begin) - 1 - new))
        elif masks["new_axis"] & bit:
            spec.append(None)
        elif masks["shrink_axis"] & bit:
            spec.append(int(begin[index]))
        else:
            start = None if masks["begin"] & bit else int(begin[index])
            stop = None if masks["end"] & bit else int(end[index])
            spec.append(_part(start, stop, None if step[index] == 1 else int(step[index])))
    return t.functional.function(SLICING, t.tensor(x), slice_spec=spec)


def slice_of(t: TracedValues, node: Node) -> TensorRef:
    x, begin, size = node.inputs
    pairs = zip(t.array(begin).tolist(), t.array(size).tolist(), strict=True)
    spec = [_part(start or None, None if count == -1 else start + count) for start, count in pairs]
    return t.functional.function(SLICING, t.tensor(x), slice_spec=spec)


def tile(t: TracedValues, node: Node) -> TensorRef:
    repeats = [int(n) for n in t.array(node.inputs[1])]
    return t.functional.function("tile", t.tensor(node.inputs[0]), multiples=repeats)


def one_hot(t: TracedValues, node: Node) -> TensorRef:
    indices, depth, on, off = node.inputs
    if (float(t.array(on)), float(t.array(off))) != (1.0, 0.0) or node.output(0).dtype.name != "float32":
        raise t.refuse(node, "it has other values than 1 and 0 in float32")
    axis = int(t.attr(node, "axis"))
    return t.functional.function("one_hot", t.tensor(indices), depth=int(t.array(depth)), axis=axis)


def cumulative_sum(t: TracedValues, node: Node) -> TensorRef:
    if t.attr(node, "exclusive") or t.attr(node, "reverse"):
        raise t.refuse(node, "it is exclusive or reversed")
    return t.functional.function("math.cumsum", t.tensor(node.inputs[0]), axis=int(t.array(node.inputs[1])))


def clip(t: TracedValues, node: Node) -> TensorRef:
    x, low, high = node.inputs
    limits = {"clip_value_min": float(t.array(low)), "clip_value_max": float(t.array(high))}
    return t.functional.function("clip_by_value", t.tensor(x), **limits)


def pad(t: TracedValues, node: Node) -> TensorRef:
    """Zeros around images and sequences with channels last."""
    amounts = t.array(node.inputs[1]).tolist()
    value = float(t.array(node.inputs[2])) if len(node.inputs) > 2 else 0.0
    names = {3: "ZeroPadding1D", 4: "ZeroPadding2D", 5: "ZeroPadding3D"}
    if value or len(amounts) not in names or any(amounts[0]) or any(amounts[-1]):
        raise t.refuse(node, "it adds something other than zeros around images or sequences")
    inner = amounts[1:-1]
    options = {"padding": inner[0] if len(inner) == 1 else inner, "trainable": True}
    if len(inner) > 1:
        options["data_format"] = "channels_last"
    layer = t.functional.layer(names[len(amounts)], "zero_padding", options)
    return t.functional.call(layer, t.tensor(node.inputs[0]))


OpLayer = Callable[[TracedValues, Node], Any]
OP_LAYERS: dict[str, OpLayer] = {
    **dict.fromkeys(BINARY, binary),
    **dict.fromkeys(UNARY, unary),
    **dict.fromkeys(ACTIVATIONS, activation),
    **dict.fromkeys(REDUCTIONS, reduction),
    "LeakyRelu": leaky_relu,
    "Softmax": softmax,
    "SquaredDifference": squared_difference,
    "AddN": sum_of_many,
    "SelectV2": where,
    "Cast": cast,
    "MatMul": product,
    "BatchMatMul": product,
    "BatchMatMulV2": product,
    "Reshape": reshape,
    "Transpose": transpose,
    "ExpandDims": expand_dims,
    "Squeeze": squeeze,
    "ConcatV2": concat,
    "Pack": pack,
    "Split": split,
    "SplitV": split_sizes,
    "Unpack": unpack,
    "StridedSlice": strided_slice,
    "Slice": slice_of,
    "Tile": tile,
    "OneHot": one_hot,
    "Cumsum": cumulative_sum,
    "ClipByValue": clip,
    "Pad": pad,
    "PadV2": pad,
}


def with_weights(op: str) -> OpLayer:
    """A layer if the node is one, else what the op is without weights."""
    weighted, plain = WEIGHTED[op], OP_LAYERS.get(op)

    def make(t: TracedValues, node: Node) -> Any:
        layer = weighted(t, node)
        if layer is None and plain is None:
            raise t.refuse(node, f"{NO_LAYER} with these inputs and options")
        return layer if layer is not None or plain is None else plain(t, node)

    return make


OP_LAYERS |= {op: with_weights(op) for op in WEIGHTED}
