"""Functions of single elements, written with older ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT, ROUNDING
from tfport.formats.lite.records import LiteOperator
from tfport.graph.building.node_builder import Refusal

FLOAT = "FLOAT32"


@lite_rule("SQUARED_DIFFERENCE FlexSquaredDifference", keeps=EXACT)
def squared_difference(e: SubgraphEditor, n: LiteOperator) -> None:
    """SUB and MUL compute the square of a difference."""
    e.require(n.outputs[0], FLOAT, "INT32")
    difference = e.op("SUB", n.inputs, like=n.outputs[0])
    e.op("MUL", (difference, difference), to=n.outputs[0])


@lite_rule("SQUARE FlexSquare", keeps=EXACT)
def square(e: SubgraphEditor, n: LiteOperator) -> None:
    """MUL computes the square."""
    e.require(n.inputs[0], FLOAT)
    e.op("MUL", (n.inputs[0], n.inputs[0]), to=n.outputs[0])


@lite_rule("NEG FlexNeg", keeps=EXACT)
def negative(e: SubgraphEditor, n: LiteOperator) -> None:
    """MUL by -1 computes the negative."""
    e.require(n.inputs[0], FLOAT)
    e.op("MUL", (n.inputs[0], e.constant(-1.0)), to=n.outputs[0])


@lite_rule("ABS FlexAbs", keeps=EXACT)
def absolute(e: SubgraphEditor, n: LiteOperator) -> None:
    """MAXIMUM of a number and its negative is its absolute value."""
    e.require(n.inputs[0], FLOAT)
    other = e.op("MUL", (n.inputs[0], e.constant(-1.0)), like=n.outputs[0])
    e.op("MAXIMUM", (n.inputs[0], other), to=n.outputs[0])


@lite_rule("RELU_0_TO_1", keeps=EXACT)
def relu_up_to_one(e: SubgraphEditor, n: LiteOperator) -> None:
    """MAXIMUM and MINIMUM bound a number by 0 and 1."""
    e.require(n.inputs[0], FLOAT)
    positive = e.op("MAXIMUM", (n.inputs[0], e.constant(0.0)), like=n.outputs[0])
    e.op("MINIMUM", (positive, e.constant(1.0)), to=n.outputs[0])


@lite_rule("LEAKY_RELU", keeps=EXACT)
def leaky_relu(e: SubgraphEditor, n: LiteOperator) -> None:
    """MAXIMUM of a number and its product with a slope up to 1 is LEAKY_RELU."""
    e.require(n.inputs[0], FLOAT)
    slope = e.option(n, "alpha") or 0.0
    if not 0 <= slope <= 1:
        raise Refusal(f"its slope is {slope}")
    smaller = e.op("MUL", (n.inputs[0], e.constant(slope)), like=n.outputs[0])
    e.op("MAXIMUM", (n.inputs[0], smaller), to=n.outputs[0])


@lite_rule("HARD_SWISH", keeps=ROUNDING)
def hard_swish(e: SubgraphEditor, n: LiteOperator) -> None:
    """ADD with RELU6 and MUL compute HARD_SWISH."""
    e.require(n.inputs[0], FLOAT)
    gate = e.op("ADD", (n.inputs[0], e.constant(3.0)), like=n.outputs[0], fused_activation_function="RELU6")
    product = e.op("MUL", (n.inputs[0], gate), like=n.outputs[0])
    e.op("MUL", (product, e.constant(1 / 6)), to=n.outputs[0])


@lite_rule("GELU", keeps=ROUNDING)
def gelu_by_tanh(e: SubgraphEditor, n: LiteOperator) -> None:
    """TANH of a polynomial computes the approximate form of GELU."""
    x, y = n.inputs[0], n.outputs[0]
    e.require(x, FLOAT)
    if not e.option(n, "approximate"):
        raise Refusal("it is the exact form, which needs the error function")
    cube = e.op("MUL", (e.op("MUL", (x, x), like=y), x), like=y)
    inner = e.op("ADD", (x, e.op("MUL", (cube, e.constant(0.044715)), like=y)), like=y)
    bent = e.op("TANH", (e.op("MUL", (inner, e.constant(sqrt(2 / pi))), like=y),), like=y)
    half = e.op("MUL", (x, e.constant(0.5)), like=y)
    e.op("MUL", (half, e.op("ADD", (bent, e.constant(1.0)), like=y)), to=y)


@lite_rule("SIGN FlexSign", keeps=ROUNDING)
def sign(e: SubgraphEditor, n: LiteOperator) -> None:
    """A number times a very large one, bounded by -1 and 1, is its sign; subnormal ones need it twice.

    Without bounds between the products, the interpreter of TensorFlow 2.21 multiplies the factors first: to
    infinity, and then zero to NaN.
    """
    x, y = n.inputs[0], n.outputs[0]
    e.require(x, FLOAT)
    large, lowest, highest = map(e.constant, (float(np.finfo(np.float32).max), -1.0, 1.0))
    above = e.op("MAXIMUM", (e.op("MUL", (x, large), like=y), lowest), like=y)
    nearly = e.op("MINIMUM", (above, highest), like=y)
    above = e.op("MAXIMUM", (e.op("MUL", (nearly, large), like=y), lowest), like=y)
    e.op("MINIMUM", (above, highest), to=y)


@lite_rule("FlexSoftplus", keeps=ROUNDING)
def softplus(e: SubgraphEditor, n: LiteOperator) -> None:
    """max(x, 0) + log(1 + exp(-abs(x))) is softplus without overflow."""
    x, y = n.inputs[0], n.outputs[0]
    e.require(x, FLOAT)
    decay = e.op("EXP", (e.op("NEG", (e.op("ABS", (x,), like=y),), like=y),), like=y)
    tail = e.op("LOG", (e.op("ADD", (decay, e.constant(1.0)), like=y),), like=y)
    e.op("ADD", (e.op("RELU", (x,), like=y), tail), to=y)


@lite_rule("FlexReciprocal FlexInv", keeps=EXACT)
def reciprocal(e: SubgraphEditor, n: LiteOperator) -> None:
    """DIV of 1 by a number is its reciprocal."""
    e.require(n.inputs[0], FLOAT)
    e.op("DIV", (e.constant(1.0), n.inputs[0]), to=n.outputs[0])


@lite_rule("FlexTan", keeps=ROUNDING)
def tangent(e: SubgraphEditor, n: LiteOperator) -> None:
    """SIN divided by COS is the tangent."""
    x, y = n.inputs[0], n.outputs[0]
    e.require(x, FLOAT)
    e.op("DIV", (e.op("SIN", (x,), like=y), e.op("COS", (x,), like=y)), to=y)


# The error function and GELU, by a quotient of polynomials.

LIMIT = 4.0
"""erf is 1 in float32 from here on."""
NUMERATOR = (1.1283791393, 0.1935451537, 0.0531017626, 3.8833496681e-3, 2.8456633472e-4, 1.9867854478e-6)
DENOMINATOR = (1.0, 0.5048574821, 0.1153500423, 1.5207261635e-2, 1.1855731239e-3, 3.7420230153e-5)
"""erf(x) = x * P(x * x) / Q(x * x) for |x| < 4: a fit with a relative error of 2.5e-8."""


@lite_rule("FlexErf", keeps=ROUNDING)
def erf_by_quotient(e: SubgraphEditor, n: LiteOperator) -> None:
    """A quotient of two polynomials is the error function, within 5e-7."""
    e.require(n.inputs[0], FLOAT)
    _erf(e, n.inputs[0], n.outputs[0], to=n.outputs[0])


@lite_rule("FlexErfc", keeps=ROUNDING)
def erfc_by_quotient(e: SubgraphEditor, n: LiteOperator) -> None:
    """1 minus the error function is its complement, within 5e-7."""
    e.require(n.inputs[0], FLOAT)
    bent = _erf(e, n.inputs[0], n.outputs[0])
    e.op("SUB", (e.constant(1.0), bent), to=n.outputs[0])


@lite_rule("GELU", keeps=ROUNDING)
def gelu_by_erf(e: SubgraphEditor, n: LiteOperator) -> None:
    """The exact form of GELU is x * (1 + erf(x / sqrt(2))) / 2; a quotient of polynomials is erf."""
    x, y = n.inputs[0], n.outputs[0]
    e.require(x, FLOAT)
    if e.option(n, "approximate"):
        raise Refusal("it is the approximate form")
    bent = _erf(e, e.op("MUL", (x, e.constant(sqrt(0.5))), like=y), y)
    half = e.op("MUL", (x, e.constant(0.5)), like=y)
    e.op("MUL", (half, e.op("ADD", (bent, e.constant(1.0)), like=y)), to=y)


def _erf(e: SubgraphEditor, x: int, like: int, to: int | None = None) -> int:
    bounded = e.op(
        "MINIMUM", (e.op("MAXIMUM", (x, e.constant(-LIMIT)), like=like), e.constant(LIMIT)), like=like
    )
    square = e.op("MUL", (bounded, bounded), like=like)
    top = e.op("MUL", (bounded, _polynomial(e, square, NUMERATOR, like)), like=like)
    return e.op("DIV", (top, _polynomial(e, square, DENOMINATOR, like)), to=to, like=like)


def _polynomial(e: SubgraphEditor, x: int, coefficients: Sequence[float], like: int) -> int:
    """The polynomial by Horner's method; the first coefficient is the constant one."""
    *rest, second, first = coefficients
    value = e.op("MUL", (x, e.constant(first)), like=like)
    for factor in reversed((*rest, second)):
        value = e.op("ADD", (value, e.constant(factor)), like=like)
        if factor is not rest[0]:
            value = e.op("MUL", (value, x), like=like)
    return value
