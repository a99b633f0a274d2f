"""A drawing matches nodes that compute it, in any order of sums and factors, and nothing else."""

import functools
import itertools

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.drawn_pattern import draw
from tfport.runtime.passes.island_graph import IslandGraph

X = Operand(FLOAT32, (2, 3), name="x")
CUBE = draw(lambda op, x: op.Tanh(x) * 0.5 * x * x * x)


def matches(pattern, say):
    b = Builder("test")
    output = say(b)
    return IslandGraph(b.added, [output]).match(pattern)


def number(b, value, rank=0):
    return b.const(np.full((1,) * rank, value), FLOAT32)


def test_factors_match_in_any_order():
    for order in itertools.permutations(range(5)):
        b = Builder("test")
        factors = [b.Tanh(X), number(b, 0.5), X, X, X]
        output = functools.reduce(b.Mul, [factors[index] for index in order])
        (match,) = IslandGraph(b.added, [output]).match(CUBE)
        assert match.x is X, order


@pytest.mark.parametrize(
    ("say", "count"),
    [
        (lambda b: b.Mul(b.Mul(b.Tanh(X), number(b, 0.5)), b.Pow(X, number(b, 3))), 1),
        (lambda b: b.Mul(b.Mul(X, number(b, 2)), b.Mul(b.Tanh(X), b.Mul(b.Mul(X, X), number(b, 0.25)))), 1),
        (lambda b: b.Mul(b.Tanh(X), b.Mul(b.Mul(X, X), number(b, 0.5))), 0),  # a factor is missing
        (lambda b: b.Mul(b.Tanh(X), b.Mul(b.Mul(X, b.Mul(X, X)), number(b, 0.6))), 0),
        (lambda b: b.Mul(b.Tanh(X), b.Mul(b.Mul(X, b.Mul(X, X)), number(b, 0.5, rank=3))), 0),  # adds an axis
        (lambda b: b.Mul(b.Tanh(b.Neg(X)), b.Mul(b.Mul(X, b.Mul(X, X)), number(b, 0.5))), 0),
    ],
)
def test_powers_and_numbers_are_factors_too(say, count):
    assert len(matches(CUBE, say)) == count


def test_sums_match_in_both_orders_and_differences_do_not():
    total, difference = draw(lambda op, x: op.Neg(x) + 1), draw(lambda op, x: op.Neg(x) - x)
    assert matches(total, lambda b: b.Add(number(b, 1), b.Neg(X)))
    assert not matches(total, lambda b: b.Add(number(b, 1, rank=3), b.Neg(X)))
    assert matches(difference, lambda b: b.Sub(b.Neg(X), X))
    assert not matches(difference, lambda b: b.Sub(X, b.Neg(X)))


def test_constants_alternatives_and_names():
    pattern = draw(
        lambda op, x, bias: op.either(op.Relu(x).named("above"), op.Abs(x)) + bias, constants="bias"
    )
    (match,) = matches(pattern, lambda b: b.Add(b.Relu(X), b.const([1, 2, 3], FLOAT32)))
    assert match.above.name != X.name
    (other,) = matches(pattern, lambda b: b.Add(b.const([1, 2, 3], FLOAT32), b.Abs(X)))
    assert not other.has("above")
    assert not matches(pattern, lambda b: b.Add(b.Abs(X), X))


def test_a_match_is_replaced():
    b = Builder("test")
    output = b.Mul(b.Mul(b.Tanh(X), number(b, 0.5)), b.Mul(X, b.Mul(X, X)))
    graph = IslandGraph(b.added, [output])
    for match in graph.match(CUBE):
        match.replace("Gelu", match.x, approximate="none")
    graph.remove_unused()
    (node,) = graph.nodes
    assert (node.op, node.inputs, node.outputs) == ("Gelu", (X,), (output,))
