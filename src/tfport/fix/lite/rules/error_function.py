"""The error function, and GELU by it, written with products and a quotient."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import ROUNDING, Refusal
from tfport.formats.lite.records import LiteOperator

LIMIT = 4.0
"""erf is 1 in float32 from here on."""
NUMERATOR = (1.1283791393, 0.1935451537, 0.0531017626, 3.8833496681e-3, 2.8456633472e-4, 1.9867854478e-6)
DENOMINATOR = (1.0, 0.5048574821, 0.1153500423, 1.5207261635e-2, 1.1855731239e-3, 3.7420230153e-5)
"""erf(x) = x * P(x * x) / Q(x * x) for |x| < 4: a fit with a relative error of 2.5e-8."""


@lite_rule("FlexErf", keeps=ROUNDING)
def erf_by_quotient(e: SubgraphEditor, n: LiteOperator) -> None:
    """A quotient of two polynomials is the error function, within 5e-7."""
    e.require(n.inputs[0], "FLOAT32")
    _erf(e, n.inputs[0], n.outputs[0], to=n.outputs[0])


@lite_rule("FlexErfc", keeps=ROUNDING)
def erfc_by_quotient(e: SubgraphEditor, n: LiteOperator) -> None:
    """1 minus the error function is its complement, within 5e-7."""
    e.require(n.inputs[0], "FLOAT32")
    bent = _erf(e, n.inputs[0], n.outputs[0])
    e.op("SUB", (e.constant(1.0), bent), to=n.outputs[0])


@lite_rule("GELU", keeps=ROUNDING)
def gelu_by_erf(e: SubgraphEditor, n: LiteOperator) -> None:
    """The exact form of GELU is x * (1 + erf(x / sqrt(2))) / 2; a quotient of polynomials is erf."""
    x, y = n.inputs[0], n.outputs[0]
    e.require(x, "FLOAT32")
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
