"""TensorFlowOpLayer: a node of TensorFlow in models of TensorFlow 1.15 to 2.3.

The configuration has the NodeDef, and the inputs that are constants by their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfport.formats.keras.records import Json
from tfport.frontends.keras.arrays import batch_matmul, concat, expand_dims, gather, select, split, stack
from tfport.frontends.keras.indexing import Range, get_item
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.operations.linear import matrix_product
from tfport.frontends.keras.layers.tensorflow.function import tensors_of
from tfport.frontends.keras.rearranging import padded, reshaped, squeezed, tiled, transposed
from tfport.frontends.keras.reductions import arg_extreme, reduced
from tfport.frontends.keras.softmax import log_softmax, softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import INT32, DType
from tfport.graph.op_facts.kinds import ELEMENTWISE, REDUCTIONS

HANDLED = ("alpha", "incompatible_shape_error")
Attrs = Mapping[str, Any]
Rule = Callable[..., Any]
"""A function of the builder, the attributes and the inputs of a node."""


@layer("TensorFlowOpLayer", casts_inputs=False)
def tensorflow_op(b: LayerBuilder, inputs: Any, *, node_def: Json, constants: Json = None) -> Any:
    node = _node(b, node_def)
    operands = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    for place, value in sorted((int(key), value) for key, value in (constants or {}).items()):
        operands.insert(place, value)
    op, attrs = node["op"], {name: _attr(value) for name, value in node.get("attr", {}).items()}
    if op in RULES:
        return RULES[op](b, attrs, *operands)
    if op in REDUCTIONS.split():
        x, axis = operands
        return reduced(b, op, x, axis, attrs.get("keep_dims", False))
    if op not in ELEMENTWISE or not _is_plain(b, op):
        raise b.refuse(f"it computes the op `{op}`, which tfport does not build")
    numbers = {"alpha": float(attrs["alpha"])} if "alpha" in attrs else {}
    return getattr(b, op)(*operands, **numbers)


def _is_plain(b: LayerBuilder, op: str) -> bool:
    """Whether an op has single tensors as inputs, and besides types no attribute that is not handled here."""
    signature = b.model.graph.ops.get(op)
    if signature is None or not signature.flat_inputs:
        return False
    return all(kind == "type" or name in HANDLED for name, kind in signature.attr_types.items())


def _node(b: LayerBuilder, stored: Json) -> Mapping[str, Any]:
    if isinstance(stored, str):
        from tfport.formats.encoding.json_text import parse_json

        stored = parse_json(stored.encode(), f"{b.model.where}: node_def", dict)
    if not isinstance(stored, Mapping) or not isinstance(stored.get("op"), str):
        raise b.refuse("its node is not in the file")
    return stored


def _attr(stored: Json) -> Any:
    """An attribute as plain Python; integers are strings in the JSON of protocol buffers."""
    kind: str = ""
    value: Any = None
    if isinstance(stored, Mapping) and stored:
        kind, value = next(iter(stored.items()))
    if kind == "i":
        return int(value)
    if kind == "list" and isinstance(value, Mapping):
        return [int(number) for number in value.get("i", ())]
    return value


def _dtype(stored: str) -> DType:
    name = stored.removeprefix("DT_").lower()
    return DType.parse({"float": "float32", "double": "float64", "half": "float16"}.get(name, name))


def _strided_slice(b: LayerBuilder, attrs: Attrs, x: LayerTensor, begin: Any, end: Any, strides: Any) -> Any:
    if any(isinstance(part, LayerTensor) for part in (begin, end, strides)):
        raise b.refuse("it takes a computed part of a tensor, which tfport does not build here")
    key: list[Any] = []
    for place, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        has = {name: bool(attrs.get(f"{name}_mask", 0) >> place & 1) for name in MASKS}
        if has["ellipsis"]:
            key.append(...)
        elif has["new_axis"]:
            key.append(None)
        elif has["shrink_axis"]:
            key.append(start)
        else:
            key.append(Range(None if has["begin"] else start, None if has["end"] else stop, step))
    return get_item(b, x, key)


MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")


def _matmul(b: LayerBuilder, attrs: Attrs, x: Any, y: Any) -> LayerTensor:
    left, right = tensors_of(b, [x, y])
    adj_x = attrs.get("transpose_a", False) or attrs.get("adj_x", False)
    adj_y = attrs.get("transpose_b", False) or attrs.get("adj_y", False)
    if adj_x or adj_y:
        return batch_matmul(b, left, right, adj_x=adj_x, adj_y=adj_y)
    return matrix_product(b, left, right)


def _gather(b: LayerBuilder, attrs: Attrs, params: LayerTensor, indices: Any, axis: int = 0) -> LayerTensor:
    places = indices if isinstance(indices, LayerTensor) else b.constant(indices, INT32)
    return gather(b, params, places, axis)


def _select(b: LayerBuilder, attrs: Attrs, condition: LayerTensor, x: Any, y: Any) -> LayerTensor:
    return select(b, condition, *tensors_of(b, [x, y]))


RULES: dict[str, Rule] = {
    "ArgMax": lambda b, attrs, x, axis: arg_extreme(
        b, "ArgMax", x, axis, False, _dtype(attrs.get("output_type", "DT_INT64"))
    ),
    "BatchMatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "BiasAdd": lambda b, attrs, x, bias: b.Add(x, bias),
    "Cast": lambda b, attrs, x: b.cast(x, _dtype(attrs["DstT"])),
    "ConcatV2": lambda b, attrs, *operands: concat(b, tensors_of(b, list(operands[:-1])), operands[-1]),
    "ExpandDims": lambda b, attrs, x, axis: expand_dims(b, x, axis),
    "GatherV2": _gather,
    "LogSoftmax": lambda b, attrs, x: log_softmax(b, x),
    "MatMul": _matmul,
    "Pack": lambda b, attrs, *operands: stack(b, tensors_of(b, list(operands)), attrs.get("axis", 0)),
    "Pad": lambda b, attrs, x, paddings: padded(b, x, paddings, "constant", 0),
    "Reshape": lambda b, attrs, x, shape: reshaped(b, x, shape),
    "Select": _select,
    "SelectV2": _select,
    "Shape": lambda b, attrs, x: b.tensor(
        b.node("Shape", x, out_type=_dtype(attrs.get("out_type", "DT_INT32"))), (x.rank,)
    ),
    "Softmax": lambda b, attrs, x: softmax(b, x),
    "Split": lambda b, attrs, axis, x: split(b, x, attrs["num_split"], axis),
    "Squeeze": lambda b, attrs, x: squeezed(b, x, attrs.get("squeeze_dims") or None),
    "StridedSlice": _strided_slice,
    "Tile": lambda b, attrs, x, multiples: tiled(b, x, multiples),
    "Transpose": lambda b, attrs, x, order: transposed(b, x, order),
}
"""Ops whose result has another shape than its inputs."""
