"""TensorList ops, alone and in loops as Keras and tf.map_fn create them."""

import pytest
from tests.recorded_models import graph
from tests.runtime.cases import check, checks, f32, graph_case, i32, i64, numbers, scalar, strings

import tfport
from tfport.graph.build import graph_to_def

E = "element_dtype=float32"
ES = "element_dtype=float32, shape_type=int32"


def const(name, *values, kind="int32", shape=None):
    dims = f"({len(values)},)" if shape is None else shape
    return f"    {name} = Const() {{dtype={kind}, value={kind}{dims}[{', '.join(map(str, values))}]}}\n"


def filled(lines, fetches, **feeds):
    """A case with a list `l` of the rows of `x` and more lines."""
    head = (
        "    x = Placeholder() {dtype=float32, shape=(?, ?)}\n"
        + const("any", -1, shape="()")
        + f"    l = TensorListFromTensor(x, any) {{{ES}}}\n"
    )
    body = "\n".join(f"    {line.strip()}" for line in lines.strip().splitlines())
    feeds.setdefault("x", numbers(3, 2))
    return graph_case(head + body, fetches=fetches, name="list", **feeds)


def reserved(lines, fetches, shape=(2,), size=3, **feeds):
    """A case with a list `l` of unset elements and more lines."""
    dims = const("dims", *shape) if shape is not None else const("dims", -1, shape="()")
    head = (
        dims
        + const("size", size, shape="()")
        + f"    l = TensorListReserve(dims, size) {{{ES}}}\n"
        + const("any", -1, shape="()")
        + const("zero", 0, shape="()")
        + const("one", 1, shape="()")
        + "    v = Placeholder() {dtype=float32, shape=(?)}\n"
    )
    body = "\n".join(f"    {line.strip()}" for line in lines.strip().splitlines())
    feeds.setdefault("v", f32(5, 6))
    return graph_case(head + body, fetches=fetches, name="list", **feeds)


STACK = f"y = TensorListStack(m, any) {{{E}}}"
FED_INDEX = "i = Placeholder() {dtype=int32, shape=()}"
PLACES, LENGTHS = (
    f"{n} = Placeholder() {{dtype={t}, shape=(?)}}" for n, t in (("i", "int32"), ("n", "int64"))
)
COUNT, VALUE = "n = Placeholder() {dtype=int32, shape=()}", "v = Placeholder() {dtype=float32, shape=(?)}"
NONE = "none = Const() {dtype=int64, value=int64(0,)[]}"
GET = f"y = TensorListGetItem(l, i, any) {{{E}}}"
CASES = [
    filled(f"y = TensorListStack(l, any) {{{E}}}\nn = TensorListLength(l)", ["y:0", "n:0"]),
    filled(f"y = TensorListStack(l, any) {{{E}, num_elements=3}}", ["y:0"]),
    filled(f"y = TensorListStack(l, any) {{{E}, num_elements=4}}", ["y:0"], fails=True),
    *(filled(f"{FED_INDEX}\n{GET}", ["y:0"], i=scalar(i)) for i in (0, 2)),
    *(filled(f"{FED_INDEX}\n{GET}", ["y:0"], i=scalar(i), fails=True) for i in (3, -1)),
    filled(f"{FED_INDEX}\n{GET}", ["y:0"], x=numbers(0, 2), i=scalar(0), fails=True),
    filled(
        f"{PLACES}\ny = TensorListGather(l, i, any) {{{E}}}", ["y:0"], i=i32(2, 0, 0)
    ),
    filled(
        f"{PLACES}\ny = TensorListGather(l, i, any) {{{E}}}", ["y:0"],
        i=i32(-1), fails=True,
    ),
    filled(
        f"{VALUE}\n{FED_INDEX}\nm = TensorListSetItem(l, i, v) {{{E}}}\n{STACK}"
        f"\nold = TensorListStack(l, any) {{{E}}}", ["y:0", "old:0"], v=f32(8, 9), i=scalar(1),
    ),
    filled(
        f"{VALUE}\nm = TensorListPushBack(l, v) {{{E}}}\n{STACK}", ["y:0"],
        v=f32(8, 9),
    ),
    filled(f"p = TensorListPopBack(l, any) {{{E}}}\nm = Identity(p) {{T=variant}}\n{STACK}", ["y:0", "p:1"]),
    filled(f"p = TensorListPopBack(l, any) {{{E}}}", ["p:1"], x=numbers(0, 2), fails=True),
    filled(f"m = TensorListConcatLists(l, l) {{{E}}}\n{STACK}", ["y:0"]),
    filled("s = TensorListElementShape(l) {shape_type=int32}\n"
           "t = TensorListElementShape(l) {shape_type=int64}",
           ["s:0", "t:0"]),
    filled(f"{COUNT}\nm = TensorListResize(l, n)\nk = TensorListLength(m)\n{STACK}",
           ["y:0", "k:0"], n=scalar(2)),
    filled(f"{COUNT}\nm = TensorListResize(l, n)\nk = TensorListLength(m)\n{STACK}",
           ["y:0", "k:0"], n=scalar(5)),
    filled(f"{NONE}\ny = TensorListConcatV2(l, any, none) {{{ES}}}",
           ["y:0", "y:1"]),
    filled(f"y = TensorListConcat(l) {{{E}, element_shape=(...)}}", ["y:0", "y:1"]),
    filled(f"{PLACES}\nm = TensorListScatter(x, i, any) {{{ES}}}\n{STACK}",
           ["y:0"], i=i32(3, 0, 1)),
    filled(f"{PLACES}\n{const('n', 6, shape='()').strip()}\n"
           f"m = TensorListScatterV2(x, i, any, n) {{{ES}}}\n{STACK}", ["y:0"], i=i32(3, 0, 1)),
    filled(f"{PLACES}\nm = TensorListScatterIntoExistingList(l, x, i) {{{E}}}\n{STACK}",
           ["y:0"], i=i32(2, 0, 1)),
    filled(f"{LENGTHS}\ns = TensorListSplit(x, any, n) {{{ES}}}\n"
           f"{NONE}\ny = TensorListConcatV2(s, any, none) {{{ES}}}",
           ["y:0", "y:1"], n=i64(2, 0, 1)),
    filled(f"{LENGTHS}\ns = TensorListSplit(x, any, n) {{{ES}}}\n"
           "k = TensorListLength(s)", ["k:0"], n=i64(2, 2), fails=True),
    reserved(f"y = TensorListStack(l, any) {{{E}}}", ["y:0"]),
    reserved(f"y = TensorListStack(l, any) {{{E}}}", ["y:0"], shape=None, fails=True),
    reserved(f"y = TensorListGetItem(l, one, any) {{{E}}}", ["y:0"]),
    reserved(f"y = TensorListGetItem(l, one, any) {{{E}}}", ["y:0"], shape=None, fails=True),
    reserved(f"m = TensorListSetItem(l, one, v) {{{E}}}\n{STACK}", ["y:0"]),
    reserved(f"m = TensorListSetItem(l, one, v) {{{E}}}\n{STACK}", ["y:0"], shape=None),
    reserved(f"m = TensorListSetItem(l, one, v) {{{E}}}\n{STACK}", ["y:0"], v=f32(1, 2, 3), fails=True),
    reserved(f"m = TensorListSetItem(l, one, v) {{{E}}}\n{STACK}", ["y:0"], size=1, fails=True),
    reserved(f"m = TensorListSetItem(l, one, v) {{{E}, resize_if_index_out_of_bounds=true}}\n{STACK}",
             ["y:0"], size=1),
    reserved(f"y = TensorListStack(l, any) {{{E}}}", ["y:0"], size=0),
    graph_case(const("any", -1, shape="()") + """
    v = Placeholder() {dtype=string, shape=(?)}
    l = EmptyTensorList(any, any) {element_dtype=string, shape_type=int32}
    m = TensorListPushBack(l, v) {element_dtype=string}
    o = TensorListPushBack(m, v) {element_dtype=string}
    y = TensorListStack(o, any) {element_dtype=string}
    """, fetches=["y:0"], name="strings", v=strings("a", "b")),
]  # fmt: skip

MAPS = f"""
    x = Placeholder() {{dtype=float32, shape=(?, 2)}}
    shape = Shape(x) {{T=float32, out_type=int32}}
    first = Const() {{dtype=int32, value=int32(1,)[0]}}
    second = Const() {{dtype=int32, value=int32(1,)[1]}}
    rows = StridedSlice(shape, first, second, second) {{Index=int32, T=int32, shrink_axis_mask=1}}
    any = Const() {{dtype=int32, value=int32()[-1]}}
    many = Identity(SIZE) {{T=int32}}
    l = TensorListFromTensor(x, any) {{{ES}}}
    r = TensorListReserve(any, many) {{{ES}}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    w = StatelessWhile(zero, rows, r, l) {{T=[int32, int32, variant, variant], cond=@go, body=@turn}}
    y = TensorListStack(w:2, any) {{{E}}}
    n = TensorListLength(w:2)
    def go(i: int32, n: int32, r: variant, l: variant) -> (c: bool):
      c1 = Less(i, n) {{T=int32}}
      return c=c1
    def turn(i: int32, n: int32, r: variant, l: variant) -> (i1: int32, n1: int32, r1: variant, l1: variant):
      one = Const() {{dtype=int32, value=int32()[1]}}
      any = Const() {{dtype=int32, value=int32()[-1]}}
      j = AddV2(i, one) {{T=int32}}
      row = TensorListGetItem(l, i, any) {{{E}}}
      square = Square(row) {{T=float32}}
      set = TensorListSetItem(r, i, square) {{{E}}}
      return i1=j, n1=n, r1=set, l1=l
"""
NESTED = f"""
    x = Placeholder() {{dtype=float32, shape=(?, 3)}}
    n = Placeholder() {{dtype=int32, shape=()}}
    m = Placeholder() {{dtype=int32, shape=()}}
    any = Const() {{dtype=int32, value=int32()[-1]}}
    three = Const() {{dtype=int32, value=int32(1)[3]}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    r = TensorListReserve(any, zero) {{{ES}}}
    w = StatelessWhile(zero, n, m, r, x) {{T=[int32, int32, int32, variant, float32], cond=@go, body=@row}}
    y = TensorListStack(w:3, three) {{{E}}}
    def go(i: int32, n: int32, m: int32, r: variant, x: float32) -> (c: bool):
      c1 = Less(i, n) {{T=int32}}
      return c=c1
    def row(i: int32, n: int32, m: int32, r: variant, x: float32) -> (STATE):
      one = Const() {{dtype=int32, value=int32()[1]}}
      any = Const() {{dtype=int32, value=int32()[-1]}}
      three = Const() {{dtype=int32, value=int32(1)[3]}}
      zero = Const() {{dtype=int32, value=int32()[0]}}
      j = AddV2(i, one) {{T=int32}}
      l = TensorListReserve(any, zero) {{{ES}}}
      w = StatelessWhile(zero, m, i, l, x) {{T=[int32, int32, int32, variant, float32], cond=@go, body=@item}}
      s = TensorListStack(w:3, three) {{{E}}}
      sum = Sum(s, zero) {{T=float32, Tidx=int32}}
      set = TensorListSetItem(r, i, sum) {{{E}, resize_if_index_out_of_bounds=true}}
      return i1=j, n1=n, m1=m, r1=set, x1=x
    def item(i: int32, n: int32, m: int32, r: variant, x: float32) -> (STATE):
      one = Const() {{dtype=int32, value=int32()[1]}}
      j = AddV2(i, one) {{T=int32}}
      after = AddV2(m, one) {{T=int32}}
      from = Pack(m) {{T=int32, N=1}}
      until = Pack(after) {{T=int32, N=1}}
      step = Pack(one) {{T=int32, N=1}}
      row = StridedSlice(x, from, until, step) {{Index=int32, T=float32, shrink_axis_mask=1}}
      set = TensorListSetItem(r, i, row) {{{E}, resize_if_index_out_of_bounds=true}}
      return i1=j, n1=n, m1=m, r1=set, x1=x
"""
NESTED = NESTED.replace("STATE", "i1: int32, n1: int32, m1: int32, r1: variant, x1: float32")
PUSHES = f"""
    x = Placeholder() {{dtype=float32, shape=(2)}}
    any = Const() {{dtype=int32, value=int32()[-1]}}
    l = EmptyTensorList(any, any) {{{ES}}}
    h = TensorListPushBack(l, x) {{{E}}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    w = StatelessWhile(zero, x, h) {{T=[int32, float32, variant], cond=@go, body=@turn}}
    y = TensorListStack(w:2, any) {{{E}}}
    def go(i: int32, x: float32, h: variant) -> (c: bool):
      n = Const() {{dtype=int32, value=int32()[3]}}
      c1 = Less(i, n) {{T=int32}}
      return c=c1
    def turn(i: int32, x: float32, h: variant) -> (i1: int32, x1: float32, h1: variant):
      one = Const() {{dtype=int32, value=int32()[1]}}
      j = AddV2(i, one) {{T=int32}}
      twice = AddV2(x, x) {{T=float32}}
      set = TensorListPushBack(h, twice) {{{E}}}
      return i1=j, x1=twice, h1=set
"""
FALLS = (
    MAPS.replace("w = StatelessWhile(zero, rows, r, l)", "START\n    w = StatelessWhile(last, zero, SET, l)")
    .replace("c1 = Less(i, n)", "c1 = GreaterEqual(i, n)")
    .replace("j = AddV2(i, one)", "j = Sub(i, one)")
    .replace("    zero = Const", "    one = Const() {dtype=int32, value=int32()[1]}\n    zero = Const")
    .replace("row = TensorListGetItem(l, i, any)", "row = TensorListGetItem(l, READ, any)")
)
"""A loop that sets the elements of a list from the end, as `tf.scan(reverse=True)` does."""
FROM_LAST = "last = Sub(rows, one) {T=int32}"
AFTER_LAST = f"""{FROM_LAST.replace("last", "end")}
    item = TensorListGetItem(l, end, any) {{{E}}}
    set = TensorListSetItem(r, end, item) {{{E}}}
    last = Sub(end, one) {{T=int32}}"""


def falls(start=FROM_LAST, size="rows", read="i", until=0):
    text = FALLS.replace("START", start).replace("SIZE", size).replace("READ", read)
    text = text.replace("zero = Const() {dtype=int32, value=int32()[0]}", f"zero = {constant(until)}")
    text = text.replace("    many =", f"    six = {constant(6)}\n    many =")
    return text.replace("SET", "set" if start is AFTER_LAST else "r")


def constant(value):
    return f"Const() {{dtype=int32, value=int32()[{value}]}}"


def falls_case(x, start=FROM_LAST, fails=False, **changes):
    return graph_case(falls(start, **changes), fetches=["y:0", "n:0"], name="falls", x=x, fails=fails)


def maps(size, x, **feeds):
    text = MAPS.replace("SIZE", "rows" if size is None else "size")
    if size is not None:
        text = text.replace("    any = Const", const("size", size, shape="()") + "    any = Const", 1)
    return graph_case(text, fetches=["y:0", "n:0"], name="map", x=x, **feeds)


TWO = "    two = Const() {dtype=int32, value=int32(1,)[2]}\n"
CASES += [
    maps(None, numbers(4, 2)),
    maps(6, numbers(4, 2)),
    maps(3, numbers(4, 2), fails=True),
    maps(None, numbers(0, 2), fails=True),  # no element is set, and no shape is stated
    maps(6, numbers(0, 2), fails=True),
    graph_case(
        MAPS.replace("SIZE", "rows").replace("w:2, any", "w:2, two").replace("    l =", f"{TWO}    l ="),
        fetches=["y:0", "n:0"],
        name="map",
        x=numbers(0, 2),
    ),
    graph_case(PUSHES, fetches=["y:0", "w:1"], name="push", x=f32(1, 2)),
    *(
        graph_case(NESTED, fetches=["y:0"], name="nested", x=numbers(3, 3), n=scalar(n), m=scalar(m))
        for n, m in ((3, 2), (3, 0), (0, 2))
    ),
    falls_case(numbers(4, 2)),
    falls_case(numbers(4, 2), AFTER_LAST),
    falls_case(numbers(1, 2), AFTER_LAST),
    falls_case(numbers(0, 2), AFTER_LAST, fails=True),
    falls_case(numbers(4, 2), until=2),
    falls_case(numbers(4, 2), AFTER_LAST, until=2),
    falls_case(numbers(4, 2), read="one", until=-1, fails=True),
    falls_case(numbers(4, 2), size="six"),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_tensor_lists(c, ways):
    check("tensor_lists", c, ways)


@pytest.mark.parametrize("text", [MAPS.replace("SIZE", "rows"), PUSHES, falls(), falls(AFTER_LAST)])
def test_a_loop_over_lists_is_lowered_to_onnx(text):
    model = tfport.load(graph_to_def(graph(text)).SerializeToString())
    program = tfport.Session(model).program(["y:0"], ["x:0"])
    assert all(step.lowered for step in program.steps)
    assert "Loop" in {node.op for step in program.steps for node in step.lowered}
