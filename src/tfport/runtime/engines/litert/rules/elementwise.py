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
from tfport.runtime.size_expression import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINARY = {
    "Add": "ADD",
    "Div": "DIV",
    "Max": "MAXIMUM",
    "Min": "MINIMUM",
    "Mul": "MUL",
    "Pow": "POW",
    "Sub": "SUB",
    "Sum": "ADD",
}
UNARY = {
    "Abs": "ABS", "Ceil": "CEIL", "Cos": "COS", "Exp": "EXP", "Floor": "FLOOR", "HardSwish": "HARD_SWISH",
    "LeakyRelu": "LEAKY_RELU", "Log": "LOG", "Neg": "NEG", "Relu": "RELU", "Round": "ROUND",
    "Sigmoid": "LOGISTIC", "Sign": "SIGN", "Sin": "SIN", "Sqrt": "SQRT", "Tanh": "TANH",
}  # fmt: skip
UNLIMITED = frozenset(["Div", "Exp", "Reciprocal", "Sqrt"])
"""Ops that may make infinities, NaN or huge numbers of ordinary ones."""
LIMITS: dict[tuple[float | None, float | None], str] = {
    (0.0, None): "RELU",
    (0.0, 6.0): "RELU6",
    (-1.0, 1.0): "RELU_N1_TO_1",
    (0.0, 1.0): "RELU_0_TO_1",
}
ELU_ALPHA, LEAKY_ALPHA, SELU_ALPHA, SELU_GAMMA = (
    1.0,
    0.01,
    1.67326319217681884765625,
    1.05070102214813232421875,
)
ERF_LIMIT = 4.0
ERF_ABOVE = (
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
    -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
ERF_BELOW = (
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
    -1.42647390514189e-02,
)  # fmt: skip
"""The factors of the polynomials by which Eigen computes the error function, from the highest power."""


def unary(out: LiteScribe, node: IslandNode) -> IslandValue:
    if node.op == "LeakyRelu":
        return _of_elements(out, "LEAKY_RELU", node.first, alpha=node.attrs.get("alpha", LEAKY_ALPHA))
    if node.op == "Abs" and node.first.dtype == "int64":  # ABS has no kernel for it
        return _two(out, "MAXIMUM", node.first, _of_elements(out, "NEG", node.first))
    return _of_elements(out, UNARY[node.op], node.first)


def elu(out: LiteScribe, node: IslandNode) -> IslandValue:
    alpha = node.attrs.get("alpha", ELU_ALPHA)
    if alpha == ELU_ALPHA:
        return _of_elements(out, "ELU", node.first)
    return _exponential(out, node.first, alpha)


def selu(out: LiteScribe, node: IslandNode) -> IslandValue:
    result = _exponential(out, node.first, node.attrs.get("alpha", SELU_ALPHA))
    return _two(out, "MUL", result, _number(node.attrs.get("gamma", SELU_GAMMA)))


def _exponential(out: LiteScribe, x: IslandValue, alpha: float) -> IslandValue:
    """x where it is positive, elsewhere alpha times exp(x) - 1."""
    negative = _of_elements(out, "ELU", _two(out, "MINIMUM", x, _number(0.0)))
    return _two(out, "ADD", _of_elements(out, "RELU", x), _two(out, "MUL", negative, _number(alpha)))


def softplus(out: LiteScribe, node: IslandNode) -> IslandValue:
    """max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    x = node.first
    tail = _of_elements(out, "EXP", _of_elements(out, "NEG", _of_elements(out, "ABS", x)))
    log = _of_elements(out, "LOG", _two(out, "ADD", tail, _number(1.0)))
    return _two(out, "ADD", _of_elements(out, "RELU", x), log)


def softsign(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    return _two(out, "DIV", x, _two(out, "ADD", _of_elements(out, "ABS", x), _number(1.0)))


def error_function(out: LiteScribe, node: IslandNode) -> IslandValue:
    """A quotient of polynomials of the clipped number, as Eigen and ONNX Runtime compute it."""
    x = _two(out, "MINIMUM", _two(out, "MAXIMUM", node.first, _number(-ERF_LIMIT)), _number(ERF_LIMIT))
    square = _two(out, "MUL", x, x)
    above, below = (_polynomial(out, square, factors) for factors in (ERF_ABOVE, ERF_BELOW))
    return _two(out, "DIV", _two(out, "MUL", x, above), below)


def _polynomial(out: LiteScribe, x: IslandValue, factors: Sequence[float]) -> IslandValue:
    total = _two(out, "MUL", x, _number(factors[0]))
    for factor in factors[1:-1]:
        total = _two(out, "MUL", _two(out, "ADD", total, _number(factor)), x)
    return _two(out, "ADD", total, _number(factors[-1]))


def clip(out: LiteScribe, node: IslandNode) -> IslandValue:
    value, limits = node.first, [node.optional(1), node.optional(2)]
    known = [None if v is None or v.array is None else float(v.constant().reshape(())) for v in limits]
    is_known = all(v is None or v.array is not None for v in limits)
    least, most = known
    if is_known and (least, most) in LIMITS and value.dtype == "float32":
        return _of_elements(out, LIMITS[least, most], value)
    for op, limit in zip(("MAXIMUM", "MINIMUM"), limits, strict=True):
        if limit is not None:
            value = broadcast(out, op, [value, limit])
    return value


def remainder(out: LiteScribe, node: IslandNode) -> IslandValue:
    """With the sign of the divisor; with `fmod`, that of the dividend, for integers that are not negative."""
    x, y = node.first, node.value(1)
    if not node.attrs.get("fmod"):
        return broadcast(out, "FLOOR_MOD", [x, y])
    quotient = broadcast(out, "DIV", [x, y])
    if quotient.dtype == "float32":
        size = _of_elements(out, "FLOOR", _of_elements(out, "ABS", quotient))
        quotient = _two(out, "MUL", size, _of_elements(out, "SIGN", quotient))
    return broadcast(out, "SUB", [x, broadcast(out, "MUL", [quotient, y])])


def binary(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Two inputs, or more one after another."""
    result, *others = (node.value(number) for number in range(len(node.inputs)))
    if node.op == "Div" and others[0].array is not None and _is_about_zero(others[0].array):
        raise NotInLite("a divisor about zero")
    for other in others:
        result = broadcast(out, BINARY[node.op], [result, other])
    return result


def _is_about_zero(divisor: NDArray[Any]) -> bool:
    return bool((np.abs(divisor) < LEAST_DIVISOR).any())


def reciprocal(out: LiteScribe, node: IslandNode) -> IslandValue:
    return _two(out, "DIV", _number(1.0), node.first)


def hard_sigmoid(out: LiteScribe, node: IslandNode) -> IslandValue:
    alpha, beta = (
        _number(node.attrs.get(name, default)) for name, default in (("alpha", 0.2), ("beta", 0.5))
    )
    return _of_elements(out, "RELU_0_TO_1", _two(out, "ADD", _two(out, "MUL", node.first, alpha), beta))


def gelu(out: LiteScribe, node: IslandNode) -> IslandValue:
    """The approximate form by TANH, which XNNPACK has; the exact one by its own operator."""
    x = node.first
    if node.attrs.get("approximate") != "tanh":
        return out.add("GELU", [x.tensor], x.sizes, x.order, approximate=False)
    cube = _two(out, "MUL", _two(out, "MUL", x, x), x)
    sum_ = _two(out, "ADD", x, _two(out, "MUL", cube, _number(CUBIC)))
    tanh = _of_elements(out, "TANH", _two(out, "MUL", sum_, _number(ROOT)))
    half = _two(out, "MUL", x, _number(0.5))
    return _two(out, "MUL", half, _two(out, "ADD", tanh, _number(1.0)))


def batch_normalization(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    scale, offset, mean, variance = (
        node.value(number).constant().astype(np.float64) for number in range(1, 5)
    )
    factor = scale / np.sqrt(variance + node.attrs.get("epsilon", 1e-5))
    sizes = (-1, *[1] * (len(x.sizes) - 2))
    numbers = [a.astype(np.float32).reshape(sizes) for a in (factor, offset - mean * factor)]
    scaled = _two(out, "MUL", x, constant_value(numbers[0]))
    return _two(out, "ADD", scaled, constant_value(numbers[1]))


def slopes(out: LiteScribe, node: IslandNode) -> IslandValue:
    """PRelu with a slope for each channel, or one, or one for each element of an example."""
    x, slope = node.first, node.value(1).constant()
    full = slope.reshape((1,) * (len(x.sizes) - slope.ndim) + slope.shape)
    axes = [axis for axis, size in enumerate(full.shape) if size > 1]
    if not x.sizes or 0 in axes:
        raise NotInLite("PRelu with slopes for each example")
    order = last_axis(x, axes[0]) if len(axes) == 1 else x.order
    length = x.sizes[order[-1]]
    if order[0] == 0 and len(axes) > 1:
        alpha = out.array(full.transpose(order)[0])
    elif len(axes) > 1 or not isinstance(length, int):
        raise NotInLite("PRelu with slopes for several axes")
    else:
        by_channel = np.broadcast_to(full.reshape(-1), (length,))
        alpha = out.array(by_channel.reshape((1,) * max(len(x.sizes) - 2, 0) + by_channel.shape))
    return out.add("PRELU", [out.in_order(x, order), alpha], x.sizes, order)


def last_axis(x: IslandValue, axis: int) -> tuple[int, ...]:
    """The order of a value with this axis last."""
    return (*(other for other in x.order if other != axis), axis)


def broadcast(out: LiteScribe, op: str, values: Sequence[IslandValue], dtype: str = "") -> IslandValue:
    """An operator on values of which some may be shorter, in the order of the largest one."""
    sizes = broadcast_sizes([value.sizes for value in values])
    computed = [value for value in values if value.array is None and len(value.sizes) == len(sizes)]
    leader = max(computed, key=lambda value: value.weight, default=None)
    order = leader.order if leader is not None else plain_order(sizes)
    tensors = [out.in_order(_extended(out, value, len(sizes)), order) for value in values]
    return out.add(op, tensors, sizes, order, dtype or values[-1].dtype)


def broadcast_sizes(shapes: Sequence[Sequence[Number]]) -> list[Number | None]:
    """The sizes of a result; None where only a run shows which of several unknown ones is not 1."""
    rank = max(map(len, shapes))
    padded = [(*[1] * (rank - len(shape)), *shape) for shape in shapes]
    return [_common_size(set(sizes) - {1}) for sizes in zip(*padded, strict=True)]


def _common_size(sizes: set[Number]) -> Number | None:
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) > 1:
        raise NotInLite(f"sizes that do not fit: {' and '.join(map(str, sorted(known)))}")
    if known:
        return known[0]  # an unknown size is the same, or 1
    return None if len(sizes) > 1 else next(iter(sizes), 1)


def _two(out: LiteScribe, op: str, first: IslandValue, second: IslandValue) -> IslandValue:
    return broadcast(out, op, [first, second])


def _number(value: float) -> IslandValue:
    return constant_value(np.array(value, np.float32))


def _of_elements(out: LiteScribe, op: str, x: IslandValue, **options: float) -> IslandValue:
    return out.add(op, [x.tensor], x.sizes, x.order, x.dtype, **options)


def _extended(out: LiteScribe, value: IslandValue, rank: int) -> IslandValue:
    """A value with as many axes as the result."""
    sizes = (1,) * (rank - len(value.sizes)) + value.sizes
    if len(sizes) == len(value.sizes):
        return value
    if value.array is not None:
        return constant_value(value.array.reshape(tuple(map(int, sizes))), value.dtype)  # type: ignore[arg-type]
    return out.reshaped(out.plain(value), sizes, None, value.dtype)
