"""Shapes of nodes and graphs, by the rules of ops: calls, branches, loops, variables, sizes."""

import pytest
from tests.recorded_models import graph

from tfport.graph.infer_shapes import FedShapes, infer_shapes, node_shapes
from tfport.graph.shapes import UNKNOWN, Shape

X = "x = Placeholder() {dtype=float32, shape=(?, 4, 6)}\n"


def last_shape(text: str, name: str = "y", output: int = 0) -> Shape:
    made = graph(text)
    made.rest.versions.producer = 1000
    return infer_shapes(made).shape(made[name].output(output))


def const(name: str, *values: int) -> str:
    return f"{name} = Const() {{dtype=int32, value=int32({len(values)},){list(values)}}}\n"


CASES = [  # nodes after x: float32(?, 4, 6)                                        shape of y
    ("y = Neg(x) {T=float32}", (None, 4, 6)),
    (const("s", -1, 24) + "y = Reshape(x, s) {T=float32, Tshape=int32}", (None, 24)),
    (const("p", 0, 2, 1) + "y = Transpose(x, p) {T=float32, Tperm=int32}", (None, 6, 4)),
    (const("a", 1) + "y = Sum(x, a) {T=float32, Tidx=int32, keep_dims=true}", (None, 1, 6)),
    ("y = Pack(x, x) {T=float32, N=2, axis=1}", (None, 2, 4, 6)),
    ("y = Unpack(x) {T=float32, num=4, axis=1}", (None, 6)),
    ("y = Shape(x) {T=float32, out_type=int32}", (3,)),
    ("y = Squeeze(x) {T=float32, squeeze_dims=[]}", None),
    ("y = BatchMatMulV2(x, x) {T=float32, adj_x=true}", (None, 6, 6)),
    ('y = Einsum(x, x) {N=2, T=float32, equation="bij,bkj->bik"}', (None, 4, 4)),
    ("y = MyOwn(x) {T=float32}", None),
]


def test_shapes_for_different_sizes_of_a_fed_value():
    made = graph(f"""{X}{const("s", -1, 24)}
        r = Reshape(x, s) {{T=float32, Tshape=int32}}
        y = Neg(r) {{T=float32}}
        z = Neg(y) {{T=float32}}
    """)
    x, seen = made["x"].output(0), []
    shapes = FedShapes(made, [made["y"]], [x])
    for rows in (2, 5):
        shapes.infer({x: (rows, 4, 6)}, lambda node, inputs: seen.append((node.name, inputs[:1])))
    assert [row for row in seen if row[0] != "x"] == [
        ("r", [(2, 4, 6)]), ("y", [(2, 24)]), ("r", [(5, 4, 6)]), ("y", [(5, 24)])
    ]  # fmt: skip


@pytest.mark.parametrize(("nodes", "expected"), CASES)
def test_the_shape_of_a_node(nodes, expected):
    assert last_shape(X + nodes) == Shape(expected)


def test_a_builder_asks_for_one_node():
    made = graph(X + const("s", 3, 8) + "y = Reshape(x, s) {T=float32, Tshape=int32}")
    assert node_shapes(made["y"], [UNKNOWN, Shape((2,))]) == [Shape((3, 8))]
    split = graph(X + "n = Placeholder() {dtype=int32}\ny = Split(n, x) {T=float32, num_split=2}")
    known = {split["n"].output(0): (2,)}
    assert node_shapes(split["y"], [Shape(()), Shape((None, 4, 6))], known) == [Shape((None, 4, 3))] * 2


def test_shapes_that_do_not_fit_are_unknown():
    assert last_shape(X + "y = MatMul(x, x) {T=float32}") == UNKNOWN


SIZES = """
s = Shape(x) {T=float32, out_type=int32}
zero = Const() {dtype=int32, value=int32(1,)[0]}
one = Const() {dtype=int32, value=int32(1,)[1]}
three = Const() {dtype=int32, value=int32(1,)[3]}
batch = StridedSlice(s, zero, one, one) {T=int32, Index=int32, shrink_axis_mask=1}
rest = StridedSlice(s, one, three, one) {T=int32, Index=int32}
axis = Const() {dtype=int32, value=int32()[0]}
count = Prod(rest, axis) {T=int32, Tidx=int32}
sizes = Pack(batch, count) {T=int32, N=2, axis=0}
y = Reshape(x, sizes) {T=float32, Tshape=int32}
"""


def test_sizes_that_are_computed_are_known():
    assert last_shape(X + SIZES) == Shape((None, 24))


CALLS = """
y = PartitionedCall(x) {f=@body, Tin=[float32], Tout=[float32]}

def body(a: float32) -> (r: float32):
  m = Neg(a) {T=float32}
  return r=m
"""
BRANCHES = """
c = Placeholder() {dtype=bool, shape=()}
y = StatelessIf(c, x) {Tcond=bool, Tin=[float32], Tout=[float32], then_branch=@some, else_branch=@all}

def some(a: float32) -> (r: float32):
  i = Const() {dtype=int32, value=int32(1,)[0]}
  m = GatherV2(a, i, z) {Tparams=float32, Tindices=int32, Taxis=int32}
  z = Const() {dtype=int32, value=int32()[1]}
  return r=m

def all(a: float32) -> (r: float32):
  m = Neg(a) {T=float32}
  return r=m
"""
LOOP = """
n = Const() {dtype=int32, value=int32()[0]}
y = StatelessWhile(n, x) {T=[int32, float32], cond=@go, body=@turn, output_shapes=[], parallel_iterations=1}

def go(n: int32, a: float32) -> (r: bool):
  c = Const() {dtype=bool, value=bool()[false]}
  return r=c

def turn(n: int32, a: float32) -> (m: int32, r: float32):
  axis = Const() {dtype=int32, value=int32()[1]}
  j = ConcatV2(a, a, axis) {N=2, T=float32, Tidx=int32}
  return m=n, r=j
"""
FRAME = """
i = Const() {dtype=int32, value=int32()[0]}
n = Const() {dtype=int32, value=int32()[3]}
ei = Enter(i) {T=int32, frame_name="f"}
ex = Enter(x) {T=float32, frame_name="f"}
mi = Merge(ei, ni) {T=int32, N=2}
mx = Merge(ex, nx) {T=float32, N=2}
en = Enter(n) {T=int32, frame_name="f", is_constant=true}
less = Less(mi, en) {T=int32}
go = LoopCond(less)
si = Switch(mi, go) {T=int32}
sx = Switch(mx, go) {T=float32}
one = Const(^si) {dtype=int32, value=int32()[1]}
ai = Add(si:1, one) {T=int32}
ax = ConcatV2(sx:1, sx:1, one) {N=2, T=float32, Tidx=int32}
ni = NextIteration(ai) {T=int32}
nx = NextIteration(ax) {T=float32}
y = Exit(sx) {T=float32}
"""
VARIABLE = """
v = VarHandleOp() {dtype=float32, shape=(5, 7)}
y = ReadVariableOp(v) {dtype=float32}
"""


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        (X + CALLS, 0, (None, 4, 6)),
        (X + BRANCHES, 0, (None, None, 6)),
        (X + LOOP, 1, (None, None, 6)),
        (X + LOOP, 0, ()),
        (X + FRAME, 0, (None, None, 6)),
        (
            X
            + FRAME.replace(
                "ConcatV2(sx:1, sx:1, one) {N=2, T=float32, Tidx=int32}", "Neg(sx:1) {T=float32}"
            ),
            0,
            (None, 4, 6),
        ),
        (VARIABLE, 0, (5, 7)),
    ],
)
def test_shapes_are_passed_through_calls_branches_loops_and_variables(text, output, expected):
    assert last_shape(text, output=output) == Shape(expected)
