"""The affine form of products of concatenations."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32, INT32
from tfport.runtime.operand import Operand
from tfport.runtime.passes.programs.affine import AffineReader
from tfport.runtime.program import Program, Step

MATRIX = np.arange(20, dtype=np.float32).reshape(5, 4)


def step(op, *inputs, size):
    return Step(op, op, inputs, (Operand(FLOAT32, (None, size), name=op),))


def product_of(*operands):
    axis = Operand(INT32, value=np.array(1, np.int32))
    both = step("ConcatV2", *operands, axis, size=None)
    return both, step("MatMul", *both.outputs, Operand(FLOAT32, value=MATRIX), size=4)


@pytest.mark.parametrize("width", [3, None])
def test_each_part_has_its_rows_of_the_matrix(width):
    """They are views: no product with a matrix of zeros and ones is computed."""
    x, h = Operand(FLOAT32, (None, width), name="x"), Operand(FLOAT32, (None, 2), name="h")
    steps = product_of(x, h)
    affine = AffineReader(Program([], list(steps)), [x, h]).affine(*steps[-1].outputs)
    assert {**affine.terms}.keys() == {x, h}
    assert affine.terms[x].tolist() == MATRIX[:3].tolist()
    assert affine.terms[h].tolist() == MATRIX[3:].tolist()
    assert all(np.shares_memory(rows, MATRIX) for rows in affine.terms.values())
    assert affine.bias.tolist() == [0] * 4


def test_a_part_may_be_computed_from_sources():
    x, h = Operand(FLOAT32, (None, 1), name="x"), Operand(FLOAT32, (None, 2), name="h")
    weights = np.float32([[1, 2, 3]])
    inner = step("MatMul", x, Operand(FLOAT32, value=weights), size=3)
    steps = inner, *product_of(*inner.outputs, h)
    affine = AffineReader(Program([], list(steps)), [x, h]).affine(*steps[-1].outputs)
    assert affine.terms[x].tolist() == (weights @ MATRIX[:3]).tolist()
    assert affine.terms[h].tolist() == MATRIX[3:].tolist()


def test_a_part_that_is_no_sum_of_products_has_no_affine_form():
    x, h = Operand(FLOAT32, (None, 3), name="x"), Operand(FLOAT32, (None, 2), name="h")
    steps = product_of(x, h)
    assert AffineReader(Program([], list(steps)), [x]).affine(*steps[-1].outputs) is None
