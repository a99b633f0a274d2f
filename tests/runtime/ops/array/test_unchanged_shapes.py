"""A reshape to the shape that a tensor has is not computed; any other is."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

START = """
    x = Placeholder() {dtype=float32, shape=(?, ?, 3)}
    other = Placeholder() {dtype=float32, shape=(?, ?, 3)}
    first = Const() {dtype=int32, value=int32(1)[0]}
    second = Const() {dtype=int32, value=int32(1)[1]}
    third = Const() {dtype=int32, value=int32(1)[2]}
    one = Const() {dtype=int32, value=int32()[1]}
    three = Const() {dtype=int32, value=int32()[3]}
    rest = Const() {dtype=int32, value=int32()[-1]}
    shape = Shape(x) {T=float32, out_type=int32}
    others = Shape(other) {T=float32, out_type=int32}
    rows = StridedSlice(shape, first, second, second) {T=int32, Index=int32, shrink_axis_mask=1}
    columns = StridedSlice(shape, second, third, second) {T=int32, Index=int32, shrink_axis_mask=1}
    y = Reshape(x, sizes) {T=float32, Tshape=int32}
    flat = Reshape(x, wide) {T=float32, Tshape=int32}
    wide = Pack(rest, three) {N=2, T=int32, axis=0}
    again = Reshape(flat, wide) {T=float32, Tshape=int32}
    like = Reshape(flat, others) {T=float32, Tshape=int32}
    like_again = Reshape(like, others) {T=float32, Tshape=int32}
"""
PACK = "sizes = Pack({}) {{N=3, T=int32, axis=0}}"
X = np.arange(18, dtype=np.float32).reshape(2, 3, 3)


def run(sizes, fetch="y:0", x=X, other=X):
    """The answer, and how many reshapes were computed."""
    session = session_of(START + "    " + PACK.format(sizes))
    answer = session.run(fetch, {"x:0": x, "other:0": other})
    (plan,) = session.plans.plans
    return answer, plan.ops.count("Reshape")


def test_the_sizes_of_the_tensor_itself():
    answer, reshapes = run("rows, columns, three")
    assert reshapes == 0
    assert answer.tobytes() == X.tobytes()
    assert answer.shape == X.shape


@pytest.mark.parametrize(
    "sizes", ["columns, rows, three", "rows, rest, three", "rest, columns, three", "rows, columns, rest"]
)
def test_sizes_that_may_differ(sizes):
    answer, reshapes = run(sizes)
    assert reshapes == 1
    assert answer.shape == ((3, 2, 3) if sizes.startswith("columns") else X.shape)


def test_an_inferred_size_beside_a_constant():
    answer, reshapes = run("rows, columns, three", "again:0")
    assert reshapes == 1
    assert answer.shape == (6, 3)


def test_two_unequal_inferred_sizes_are_an_error():
    with pytest.raises(Exception, match="Reshape"):
        run("rest, rest, three")


def test_the_shape_of_another_tensor_is_known_after_the_first_reshape():
    answer, reshapes = run("rows, columns, three", "like_again:0", other=X.reshape(3, 2, 3))
    assert reshapes == 2  # of `flat` and `like`
    assert answer.shape == (3, 2, 3)


def test_a_tensor_without_rows():
    empty = np.zeros((0, 4, 3), np.float32)
    answer, _ = run("rows, columns, three", x=empty)
    assert answer.shape == empty.shape
