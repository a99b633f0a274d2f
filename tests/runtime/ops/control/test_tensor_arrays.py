"""TensorArray ops, versions 1 to 3."""

import pytest
from tests.recorded_models import graph
from tests.runtime.cases import check, checks, f32, graph_case, i32, i64, numbers, scalar
from tests.runtime.programs import session_of

import tfport
from tfport.graph.build import graph_to_def

ARRAY = "{dtype=float32, element_shape=ELEMENT, dynamic_size=DYNAMIC}"


def array(lines, fetches, *, size=3, element="(...)", dynamic="false", version="V3", **feeds):
    """A case with an array `a` and more lines."""
    head = f"""
    x = Placeholder() {{dtype=float32, shape=(?, ?)}}
    v = Placeholder() {{dtype=float32, shape=(?)}}
    size = Const() {{dtype=int32, value=int32()[{size}]}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    one = Const() {{dtype=int32, value=int32()[1]}}
    two = Const() {{dtype=int32, value=int32()[2]}}
    all = Const() {{dtype=int32, value=int32(3,)[0, 1, 2]}}
    a = TensorArrayV3(size) {ARRAY.replace("ELEMENT", element).replace("DYNAMIC", dynamic)}
"""
    body = "\n".join(f"    {line.strip()}" for line in lines.strip().splitlines())
    feeds.setdefault("x", numbers(3, 2))
    feeds.setdefault("v", f32(7, 8))
    return graph_case(head + body, fetches=fetches, name="array", **feeds)


T, D = "{T=float32}", "{dtype=float32}"
ROWS_OF_2 = "{dtype=float32, element_shape_except0=(2)}"
FED = "i = Placeholder() {dtype=int32, shape=()}"
UNSTACK = f"s = TensorArrayScatterV3(a, all, x, a:1) {T}"
WRITE = f"w = TensorArrayWriteV3(a, one, v, a:1) {T}"
CASES = [
    array(f"{UNSTACK}\ny = TensorArrayGatherV3(a, all, s) {D}\nn = TensorArraySizeV3(a, s)", ["y:0", "n:0"]),
    array(f"{UNSTACK}\ny = TensorArrayReadV3(a, one, s) {D}", ["y:0"]),
    array(f"{UNSTACK}\n{FED}\ny = TensorArrayReadV3(a, i, s) {D}", ["y:0"],
          i=scalar(2)),
    array(f"{UNSTACK}\n{FED}\ny = TensorArrayReadV3(a, i, s) {D}", ["y:0"],
          i=scalar(3), fails=True),
    array(f"{UNSTACK}\ny = TensorArrayConcatV3(a, s) {D}", ["y:0", "y:1"]),
    array(f"i = Placeholder() {{dtype=int32, shape=(?)}}\ns = TensorArrayScatterV3(a, i, x, a:1) {T}\n"
          f"y = TensorArrayGatherV3(a, all, s) {D}", ["y:0"], i=i32(2, 0, 1)),
    array(f"{WRITE}\ny = TensorArrayReadV3(a, one, w) {D}\nn = TensorArraySizeV3(a, w)", ["y:0", "n:0"]),
    array(f"{WRITE}\ny = TensorArrayReadV3(a, two, w) {D}", ["y:0"], fails=True),
    array(f"{WRITE}\ny = TensorArrayReadV3(a, two, w) {D}", ["y:0"], element="(2)"),
    array(f"{WRITE}\nz = TensorArrayWriteV3(a, one, v, w) {T}\ny = TensorArrayReadV3(a, one, z) {D}", ["y:0"],
          fails=True),
    array(f"{WRITE}\ny = TensorArrayReadV3(a, one, w) {D}", ["y:0"], size=1, fails=True),
    array(f"{WRITE}\ny = TensorArrayReadV3(a, one, w) {D}\nn = TensorArraySizeV3(a, w, ^y)", ["y:0", "n:0"],
          size=0, dynamic="true"),
    array(f"{WRITE}\nc = TensorArrayCloseV3(a)\ny = TensorArrayReadV3(a, one, w) {D}", ["y:0"]),
    array(f"n = Placeholder() {{dtype=int64, shape=(?)}}\ns = TensorArraySplitV3(a, x, n, a:1) {T}\n"
          f"y = TensorArrayConcatV3(a, s) {D}", ["y:0", "y:1"], n=i64(2, 0, 1)),
    array(f"n = Placeholder() {{dtype=int64, shape=(?)}}\ns = TensorArraySplitV3(a, x, n, a:1) {T}\n"
          f"y = TensorArrayConcatV3(a, s) {D}", ["y:0", "y:1"], n=i64(2, 2), fails=True),
    array(f"{UNSTACK}\ny = TensorArrayGatherV3(a, all, s) {D}", ["y:0"], size=0, dynamic="true"),
    array(f"y = TensorArrayConcatV3(a, a:1) {ROWS_OF_2}", ["y:0", "y:1"], size=0),
    array(f"y = TensorArrayConcatV3(a, a:1) {D}", ["y:0", "y:1"], size=0, fails=True),
    array(f"y = TensorArrayConcatV3(a, a:1) {D}", ["y:0", "y:1"], size=0, element="(?, 2)", fails=True),
    array(f"w = TensorArrayWriteV3(a, zero, x, a:1) {T}\ny = TensorArrayConcatV3(a, w) {ROWS_OF_2}", ["y:0"],
          size=1),
    array(f"w = TensorArrayWriteV3(a, zero, x, a:1) {T}\ny = TensorArrayConcatV3(a, w) {ROWS_OF_2}", ["y:0"],
          size=1, x=numbers(2, 3), fails=True),
]  # fmt: skip
FRAME = 'frame_name="loop", is_constant'
SQUARES = f"""
    x = Placeholder() {{dtype=float32, shape=(?, 2)}}
    shape = Shape(x) {{T=float32, out_type=int32}}
    zeros = Const() {{dtype=int32, value=int32(1,)[0]}}
    ones = Const() {{dtype=int32, value=int32(1,)[1]}}
    n = StridedSlice(shape, zeros, ones, ones) {{Index=int32, T=int32, shrink_axis_mask=1}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    first = Const() {{dtype=int32, value=int32()[1]}}
    places = Range(zero, n, first) {{Tidx=int32}}
    a = TensorArrayV3(n) {{dtype=float32, identical_element_shapes=true}}
    r = TensorArrayV3(n) {{dtype=float32, identical_element_shapes=true}}
    s = TensorArrayScatterV3(a, places, x, a:1) {T}
    ei = Enter(zero) {{T=int32, {FRAME}=false}}
    ef = Enter(r:1) {{T=float32, {FRAME}=false}}
    en = Enter(n) {{T=int32, {FRAME}=true}}
    ea = Enter(a) {{T=resource, {FRAME}=true}}
    es = Enter(s) {{T=float32, {FRAME}=true}}
    er = Enter(r) {{T=resource, {FRAME}=true}}
    mi = Merge(ei, ni) {{N=2, T=int32}}
    mf = Merge(ef, nf) {{N=2, T=float32}}
    less = Less(mi, en) {{T=int32}}
    go = LoopCond(less)
    si = Switch(mi, go) {{T=int32}}
    sf = Switch(mf, go) {{T=float32}}
    i = Identity(si:1) {{T=int32}}
    one = Const(^i) {{dtype=int32, value=int32()[1]}}
    i1 = AddV2(i, one) {{T=int32}}
    row = TensorArrayReadV3(ea, i, es) {D}
    square = Square(row) {{T=float32}}
    w = TensorArrayWriteV3(er, i, square, sf:1) {T}
    ni = NextIteration(i1) {{T=int32}}
    nf = NextIteration(w) {{T=float32}}
    xi = Exit(si) {{T=int32}}
    f = Exit(sf) {{T=float32}}
    many = TensorArraySizeV3(r, f)
    back = Range(zero, many, first) {{Tidx=int32}}
    y = TensorArrayGatherV3(r, back, f) {D}
"""
PARTS = SQUARES.replace("identical_element_shapes=true", "identical_element_shapes=false").replace(
    "w = TensorArrayWriteV3(er, i, square, sf:1)",
    f"""ex = Enter(x) {{T=float32, {FRAME}=true}}
    column = Const(^i) {{dtype=int32, value=int32()[0]}}
    begin = Pack(i, column) {{N=2, T=int32, axis=0}}
    rest = Const(^i) {{dtype=int32, value=int32(2,)[-1, -1]}}
    part = Slice(ex, begin, rest) {{Index=int32, T=float32}}
    w = TensorArrayWriteV3(er, i, part, sf:1)""",
)
PARTS += """
    parts = TensorArrayConcatV3(r, f) {dtype=float32}
    twice = ConcatV2(parts, parts, first) {N=2, T=float32, Tidx=int32}
"""
"""Elements of different lengths: the rows of x from the first, from the second …"""
CASES += [
    graph_case(PARTS, fetches=["twice:0", "parts:1"], name="parts", x=numbers(4, 2)),
    graph_case(PARTS, fetches=["twice:0"], name="parts", x=numbers(0, 2), fails=True),
    graph_case(SQUARES, fetches=["y:0", "xi:0"], name="loop", x=numbers(4, 2)),
    graph_case(SQUARES, fetches=["y:0"], name="loop", x=numbers(1, 2)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_tensor_arrays(c, ways):
    check("tensor_arrays", c, ways)


def test_a_loop_over_arrays_is_lowered_to_onnx():
    model = tfport.load(graph_to_def(graph(SQUARES)).SerializeToString())
    program = tfport.Session(model).program(["y:0"], ["x:0"])
    assert all(step.lowered for step in program.steps)


def test_the_rank_of_what_a_loop_writes_is_known_after_a_concatenation():
    """The array states none; what follows can run in the engine."""
    program = session_of(PARTS).program(["twice:0"], ["x:0"])
    (twice,) = (step for step in program.steps if step.name == "twice")
    assert twice.lowered
    assert twice.outputs[0].rank == 2


def test_the_first_flow_of_version_2_is_a_number():
    text = """
        x = Placeholder() {dtype=float32, shape=(?, ?)}
        size = Const() {dtype=int32, value=int32()[2]}
        zero = Const() {dtype=int32, value=int32()[0]}
        a = TensorArrayV2(size) {dtype=float32}
        flow = Const() {dtype=float32, value=float32()[0.0]}
        u = TensorArrayUnpack(a, x, flow) {T=float32}
        y = TensorArrayReadV2(a, zero, u) {dtype=float32}
    """
    model = tfport.load(graph_to_def(graph(text)).SerializeToString())
    assert tfport.Session(model).run("y:0", {"x:0": f32([1, 2], [3, 4])}).tolist() == [1, 2]


def test_an_array_longer_than_the_unstacked_tensor_keeps_its_size():
    text = """
        x = Placeholder() {dtype=float32, shape=(?, 2)}
        size = Placeholder() {dtype=int32, shape=()}
        n = Placeholder() {dtype=int32, shape=()}
        zero = Const() {dtype=int32, value=int32()[0]}
        one = Const() {dtype=int32, value=int32()[1]}
        places = Range(zero, n, one) {Tidx=int32}
        a = TensorArrayV3(size) {dtype=float32}
        s = TensorArrayScatterV3(a, places, x, a:1) {T=float32}
        y = TensorArrayReadV3(a, one, s) {dtype=float32}
        many = TensorArraySizeV3(a, s)
    """
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    feeds = {"x:0": numbers(3, 2), "size:0": scalar(5), "n:0": scalar(3)}
    y, many = session.run(["y:0", "many:0"], feeds)
    assert (many, y.tolist()) == (5, numbers(3, 2)[1].tolist())
