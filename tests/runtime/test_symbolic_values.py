"""Elements of small integer tensors as expressions of the sizes of an input."""

from tests.runtime.programs import session_of

from tfport.runtime.engines.no_engine import NoEngine
from tfport.runtime.size_expression import SizeExpression
from tfport.runtime.symbolic_values import SymbolicValues
from tfport.runtime.trace import Tracer

START = """
    x = Placeholder() {dtype=float32, shape=(?, ?, 3)}
    shape = Shape(x) {T=float32, out_type=int32}
    zero = Const() {dtype=int32, value=int32()[0]}
    one = Const() {dtype=int32, value=int32()[1]}
    four = Const() {dtype=int32, value=int32()[4]}
    at1 = Const() {dtype=int32, value=int32(1)[1]}
    at2 = Const() {dtype=int32, value=int32(1)[2]}
    step = Const() {dtype=int32, value=int32(1)[1]}
    width = StridedSlice(shape, at1, at2, step) {T=int32, Index=int32, shrink_axis_mask=1}
"""


def value_of(text, name="y"):
    """The elements of a node, where `x.i` is the size of an axis of the placeholder."""
    session = session_of(START + text)
    graph = session.model.graph
    tracer = Tracer(session.state, NoEngine())
    env = {}
    tracer.region([graph.find(name)], env)
    value = SymbolicValues(tracer).of(env[graph.find(name).output(0)])
    x = env[graph.find("x").output(0)]
    sizes = [SizeExpression.unknown((x, axis)) for axis in range(3)]
    return (None if value is None else value.tolist()), sizes


def test_shape_and_slice():
    value, sizes = value_of("", "shape")
    assert value == [sizes[0], sizes[1], 3]
    value, sizes = value_of("", "width")
    assert value == sizes[1]


def test_arithmetic_and_packing():
    value, sizes = value_of("""
        more = AddV2(width, four) {T=int32}
        rest = FloorMod(more, four) {T=int32}
        y = Pack(rest, one, more) {N=3, T=int32, axis=0}
    """)
    assert value == [sizes[1] % 4, 1, sizes[1] + 4]


def test_a_matrix_of_sizes():
    value, sizes = value_of("""
        row = Pack(zero, width) {N=2, T=int32, axis=0}
        rows = Pack(row, row) {N=2, T=int32, axis=0}
        y = ConcatV2(rows, rows, one) {N=2, T=int32, Tidx=int32}
    """)
    assert value == [[0, sizes[1], 0, sizes[1]]] * 2


def test_the_shape_of_an_activation_is_that_of_its_input():
    value, sizes = value_of("""
        relu = Relu(x) {T=float32}
        y = Shape(relu) {T=float32, out_type=int64}
    """)
    assert value == [sizes[0], sizes[1], 3]


def test_what_cannot_be_expressed_is_unknown():
    assert value_of("y = Mul(width, width) {T=int32}")[0] is None
    assert value_of("y = FloorMod(width, zero) {T=int32}")[0] is None
    assert value_of("y = FloorMod(four, width) {T=int32}")[0] is None
    assert value_of("y = Cast(shape) {SrcT=int32, DstT=int8}")[0] is None
    assert (
        value_of("""
        unknown = Placeholder() {dtype=float32}
        either = Shape(unknown) {T=float32, out_type=int32}
        y = ConcatV2(shape, either, zero) {N=2, T=int32, Tidx=int32}
    """)[0]
        is None
    )
