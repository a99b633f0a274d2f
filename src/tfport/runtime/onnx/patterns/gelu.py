"""Both forms of GELU as one node `Gelu`.

`x/2 · erfc(-x/√2)`, as Keras 3 writes it, and `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`, the approximate
form of BERT, GPT-2 and Flax, with its factors in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.patterns.producers import Producers, scalar_and_other
from tfport.runtime.operand import Operand
from tfport.runtime.program import ERFC, OnnxNode

ROOT, CUBIC = math.sqrt(2 / math.pi), 0.044715
TOLERANCE = 1e-6
"""How much a factor may differ, in relation to itself: constants are rounded to float32, or written so."""
MOST_FACTORS = 5


def gelu(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    """The Gelu that replaces a product that ends one of these patterns."""
    for half, tail in producers.pairs(node.outputs[0], "Mul"):
        producer = producers.any(tail)
        if producer is None or producer.means is None or producer.means[0] != ERFC:
            continue
        x = _times(half, 0.5, producers)
        minus = producers.of(_times(producer.means[1], math.sqrt(0.5), producers), "Neg")
        if x is not None and minus is not None and minus.inputs[0] is x:
            return OnnxNode("Gelu", (x,), node.outputs, {"approximate": "none"})
    return _by_tanh(node, producers)


def _by_tanh(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    if node.outputs[0].dtype != FLOAT32:
        return None
    for tail in _factors_around(node.outputs[0], producers):
        tanh = producers.of(_plus(tail, 1.0, producers), "Tanh")
        argument = _times(tanh.inputs[0], ROOT, producers) if tanh is not None else None
        for x, cubic in producers.pairs(argument, "Add"):
            if x is None or cubic is None or x.rank is None or x.rank != node.outputs[0].rank:
                continue
            is_cubic = _is_product(cubic, CUBIC, [x, x, x], producers)
            if is_cubic and _is_product(node.outputs[0], 0.5, [x, tail], producers):
                return OnnxNode("Gelu", (x,), node.outputs, {"approximate": "tanh"})
    return None


def _factors_around(product: Operand, producers: Producers) -> Iterator[Operand]:
    """The computed factors of a product, and of a factor that is a product with a constant or `x`."""
    for factor, other in producers.pairs(product, "Mul"):
        for inner, _ in (*producers.pairs(factor, "Mul"), (factor, other)):
            if inner is not None and producers.of(inner, "Add") is not None:
                yield inner


def _is_product(operand: Operand, constant: float, wanted: list[Operand], producers: Producers) -> bool:
    """Whether an operand is the product of a constant and certain operands, in any order."""
    missing, number, factors = list(wanted), 1.0, [operand]
    for _ in range(2 * MOST_FACTORS):
        if not factors:
            return not missing and bool(np.isclose(number, constant, rtol=TOLERANCE, atol=0))
        factor = factors.pop()
        if factor in missing:
            missing.remove(factor)
        elif factor.array is not None:
            if factor.array.size != 1 or factor.array.ndim > (wanted[0].rank or 0):
                return False
            number *= float(factor.array.reshape(()))
        elif (parts := _parts(factor, producers)) is not None:
            factors += parts
        else:
            return False
    return False


def _parts(factor: Operand, producers: Producers) -> list[Operand] | None:
    """The factors of a product, or of a square or cube."""
    node = producers.any(factor)
    if node is None or node.op not in ("Mul", "Pow") or None in node.inputs:
        return None
    x, other = (operand for operand in node.inputs if operand is not None)
    if node.op == "Mul":
        return [x, other]
    power = other.array.reshape(()) if other.array is not None and other.array.size == 1 else 0
    return [x] * int(power) if power in (2, 3) else None


def _plus(operand: Operand | None, number: float, producers: Producers) -> Operand | None:
    """`x` if an operand is `x` plus this number."""
    node = producers.of(operand, "Add")
    constant, x = scalar_and_other(node) if node is not None else (None, None)
    return x if constant == number else None


def _times(operand: Operand | None, factor: float, producers: Producers) -> Operand | None:
    """`x` if an operand is `x · factor`."""
    for x, c in producers.pairs(operand, "Mul"):
        if c is not None and c.array is not None and c.array.size == 1:
            return x if np.isclose(c.array.reshape(-1)[0], factor, rtol=TOLERANCE) else None
    return None
