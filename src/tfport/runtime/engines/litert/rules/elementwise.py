"""Sums, products and functions of single elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.litert.island_node import (
    IslandNode,
    IslandValue,
    NotInLite,
    constant_value,
    plain_order,
)
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.openvino_nodes import LEAST_DIVISOR
from tfport.runtime.passes.islands.activations import CUBIC, ROOT

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINARY = {
    "Add": "ADD",
    "Div": "DIV",
    "Max": "MAXIMUM",
    "Min": "MINIMUM",
    "Mul": "MUL",
    "Sub": "SUB",
    "Sum": "ADD",
}
UNARY = {
    "Abs": "ABS", "Elu": "ELU", "Exp": "EXP", "HardSwish": "HARD_SWISH", "LeakyRelu": "LEAKY_RELU",
    "Neg": "NEG", "Relu": "RELU", "Sigmoid": "LOGISTIC", "Sqrt": "SQRT", "Tanh": "TANH",
}  # fmt: skip
UNLIMITED = frozenset(["Div", "Exp", "Reciprocal", "Sqrt"])
"""Ops that may make infinities, NaN or huge numbers of ordinary ones."""
LIMITS: dict[tuple[float | None, float | None], str] = {
    (0.0, None): "RELU",
    (0.0, 6.0): "RELU6",
    (-1.0, 1.0): "RELU_N1_TO_1",
    (0.0, 1.0): "RELU_0_TO_1",
}
ELU_ALPHA, LEAKY_ALPHA = 1.0, 0.01


def unary(out: LiteScribe, node: IslandNode) -> IslandValue:
    if node.op == "Elu" and node.attrs.get("alpha", ELU_ALPHA) != ELU_ALPHA:
        raise NotInLite("Elu with another alpha")
    if node.op == "LeakyRelu":
        return _of_elements(out, "LEAKY_RELU", node.first, alpha=node.attrs.get("alpha", LEAKY_ALPHA))
    return _of_elements(out, UNARY[node.op], node.first)


def clip(out: LiteScribe, node: IslandNode) -> IslandValue:
    least, most = (None if limit is None else float(limit) for limit in (node.known(1), node.known(2)))
    if (least, most) in LIMITS:
        return _of_elements(out, LIMITS[least, most], node.first)
    value = node.first
    for op, limit in (("MAXIMUM", least), ("MINIMUM", most)):
        if limit is not None:
            value = broadcast(out, op, [value, _number(limit)], value.sizes)
    return value


def binary(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Two inputs, or more one after another."""
    result, *others = (node.value(number) for number in range(len(node.inputs)))
    if node.op == "Div" and others[0].array is not None and _is_about_zero(others[0].array):
        raise NotInLite("a divisor about zero")
    for other in others:
        sizes = np.broadcast_shapes(result.sizes, other.sizes)
        result = broadcast(out, BINARY[node.op], [result, other], sizes)
    return result


def is_limited(node: IslandNode) -> bool:
    """Whether a node makes ordinary numbers of ordinary ones. Of others, the results must be looked at."""
    return node.op not in UNLIMITED or (node.op == "Div" and node.value(1).array is not None)


def _is_about_zero(divisor: NDArray[Any]) -> bool:
    return bool((np.abs(divisor) < LEAST_DIVISOR).any())


def reciprocal(out: LiteScribe, node: IslandNode) -> IslandValue:
    return broadcast(out, "DIV", [_number(1.0), node.first], node.first.sizes)


def hard_sigmoid(out: LiteScribe, node: IslandNode) -> IslandValue:
    alpha, beta = (
        _number(node.attrs.get(name, default)) for name, default in (("alpha", 0.2), ("beta", 0.5))
    )
    scaled = broadcast(out, "MUL", [node.first, alpha], node.first.sizes)
    return _of_elements(out, "RELU_0_TO_1", broadcast(out, "ADD", [scaled, beta], scaled.sizes))


def gelu(out: LiteScribe, node: IslandNode) -> IslandValue:
    """The approximate form, by TANH, which XNNPACK has."""
    if node.attrs.get("approximate") != "tanh":
        raise NotInLite("Gelu by the error function")
    x, sizes = node.first, node.first.sizes
    cube = broadcast(out, "MUL", [broadcast(out, "MUL", [x, x], sizes), x], sizes)
    sum_ = broadcast(out, "ADD", [x, broadcast(out, "MUL", [cube, _number(CUBIC)], sizes)], sizes)
    tanh = _of_elements(out, "TANH", broadcast(out, "MUL", [sum_, _number(ROOT)], sizes))
    half = broadcast(out, "MUL", [x, _number(0.5)], sizes)
    return broadcast(out, "MUL", [half, broadcast(out, "ADD", [tanh, _number(1.0)], sizes)], sizes)


def batch_normalization(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    scale, offset, mean, variance = (
        node.value(number).constant().astype(np.float64) for number in range(1, 5)
    )
    factor = scale / np.sqrt(variance + node.attrs.get("epsilon", 1e-5))
    sizes = (-1, *[1] * (len(x.sizes) - 2))
    numbers = [a.astype(np.float32).reshape(sizes) for a in (factor, offset - mean * factor)]
    scaled = broadcast(out, "MUL", [x, constant_value(numbers[0])], x.sizes)
    return broadcast(out, "ADD", [scaled, constant_value(numbers[1])], x.sizes)


def slopes(out: LiteScribe, node: IslandNode) -> IslandValue:
    """PRelu with a slope for each channel, or one."""
    x, slope = node.first, node.value(1).constant()
    full = slope.reshape((1,) * (len(x.sizes) - slope.ndim) + slope.shape)
    axes = [axis for axis, size in enumerate(full.shape) if size > 1]
    if len(axes) > 1 or not x.sizes:
        raise NotInLite("PRelu with slopes for several axes")
    order = last_axis(x, axes[0]) if axes else x.order
    by_channel = np.broadcast_to(full.reshape(-1), (x.sizes[order[-1]],))
    alpha = out.array(by_channel.reshape((1,) * max(len(x.sizes) - 2, 0) + by_channel.shape))
    return out.add("PRELU", [out.in_order(x, order), alpha], x.sizes, order)


def last_axis(x: IslandValue, axis: int) -> tuple[int, ...]:
    """The order of a value with this axis last."""
    return (*(other for other in x.order if other != axis), axis)


def broadcast(out: LiteScribe, op: str, values: Sequence[IslandValue], sizes: Sequence[int]) -> IslandValue:
    """An operator on values of which some may be shorter, in the order of the largest one."""
    computed = [value for value in values if value.array is None and len(value.sizes) == len(sizes)]
    leader = max(computed, key=lambda value: value.elements, default=None)
    order = leader.order if leader is not None else plain_order(sizes)
    tensors = [out.in_order(_extended(out, value, len(sizes)), order) for value in values]
    return out.add(op, tensors, sizes, order)


def _number(value: float) -> IslandValue:
    return constant_value(np.array([value], np.float32))


def _of_elements(out: LiteScribe, op: str, x: IslandValue, **options: float) -> IslandValue:
    return out.add(op, [x.tensor], x.sizes, x.order, **options)


def _extended(out: LiteScribe, value: IslandValue, rank: int) -> IslandValue:
    """A value with as many axes as the result."""
    sizes = (1,) * (rank - len(value.sizes)) + value.sizes
    if len(sizes) == len(value.sizes):
        return value
    if value.array is not None:
        return constant_value(value.array.reshape(sizes))
    return out.reshaped(out.plain(value), sizes)
