"""TensorLists as TensorArrays: flows and handles, the order of reads and writes, and what stays a list."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.tensor_lists import lists_to_arrays
from tfport.graph.build import graph_to_def

HEAD = """
    n = Placeholder() {dtype=int32, shape=()}
    x = Placeholder() {dtype=float32, shape=(?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    one = Const() {dtype=int32, value=int32()[1]}
    two = Const() {dtype=int32, value=int32()[2]}
    shape = Const() {dtype=int32, value=int32(1)[2]}
    any = Const() {dtype=int32, value=int32()[-1]}
    a = Const() {dtype=float32, value=float32(2)[1.0, 2.0]}
    b = Const() {dtype=float32, value=float32(2)[3.0, 4.0]}
    l = TensorListReserve(shape, two) {element_dtype=float32, shape_type=int32}
"""
ITEM = "{element_dtype=float32}"
FILLED = f"""
    m = TensorListSetItem(l, zero, a) {ITEM}
    o = TensorListSetItem(m, one, b) {ITEM}
"""
STACK = "y = TensorListStack(o, shape) {element_dtype=float32}"
LOOP = HEAD + """
    r = TensorListReserve(SHAPE, n) {element_dtype=float32, shape_type=int32}
    f = TensorListFromTensor(x, scalar) {element_dtype=float32, shape_type=int32}
    scalar = Const() {dtype=int32, value=int32(0)[]}
    w = StatelessWhile(zero, n, f, r) {T=[int32, int32, variant, variant], cond=@go, body=@turn, SHAPES}
    y = TensorListStack(w:3, SHAPE) {element_dtype=float32}
    size = TensorListLength(w:3)
    def go(i: int32, n: int32, f: variant, r: variant) -> (go: bool):
      less = Less(i, n) {T=int32}
      return go=less
    def turn(i: int32, n: int32, f: variant, r: variant) -> (j: int32, m: int32, g: variant, s: variant):
      one = Const() {dtype=int32, value=int32()[1]}
      shape = Const() {dtype=int32, value=int32(0)[]}
      next = Add(i, one) {T=int32}
      item = TensorListGetItem(f, i, shape) {element_dtype=float32}
      square = Mul(item, item) {T=float32}
      set = TensorListSetItem(r, i, square) {element_dtype=float32}
      return j=next, m=n, g=f, s=set
"""  # fmt: skip
LOOP = LOOP.replace("SHAPES", "output_shapes=[(), (), (), ()]")


def arrays(text):
    made = graph(text)
    lower_all(made)
    return made, lists_to_arrays(made)


def session_of(made):
    return tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))


def test_a_list_that_is_filled_and_stacked():
    made, granted = arrays(HEAD + FILLED + STACK)
    array = made["l/array"]
    assert array.attrs["clear_after_read"] is False
    assert (str(array.attrs["element_shape"]), array.attrs["dynamic_size"]) == ("(2,)", False)
    assert (made["l"].op, made["l"].inputs) == ("Identity", (array.output(1),))
    assert (made["m"].op, made["y"].op) == ("TensorArrayWriteV3", "TensorArrayGatherV3")
    assert made["m"].inputs == (
        array.output(0),
        made["zero"].output(0),
        made["a"].output(0),
        made["l"].output(0),
    )
    assert granted == ["each element of `l` is set once, and before it is read (until TensorFlow 1.4)"]
    assert session_of(made).run("y:0").tolist() == [[1, 2], [3, 4]]


def test_the_handle_enters_a_loop_as_a_constant_and_the_flow_goes_round():
    made, granted = arrays(LOOP.replace("SHAPE", "scalar"))
    handles = [node for node in made if node.op == "Enter" and node.attrs["T"].name == "resource"]
    assert len(handles) == 2
    assert all(node.attrs["is_constant"] and node.attrs["frame_name"] == "w" for node in handles)
    write = made["w/body/set"]
    assert write.op == "TensorArrayWriteV3"
    assert write.inputs[0].node in handles
    assert made["y"].inputs[0] == made["r/array"].output(0)
    assert not any(v.dtype.name == "variant" for node in made for v in node.inputs)
    assert {text.split("`")[1] for text in granted} == {"l", "r", "f"}


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
def test_a_loop_over_arrays_answers_as_before(x):
    made, granted = arrays(LOOP.replace("SHAPE", "any"))
    assert "each element of `r` is set once, and before it is read" in granted
    feeds = {"n:0": np.int32(len(x)), "x:0": np.array(x, np.float32)}
    rows, size = session_of(made).run(["y:0", "size:0"], feeds)
    assert (rows.tolist(), int(size)) == ([v * v for v in x], len(x))


def test_readers_of_an_earlier_version_run_first():
    read = f"g = TensorListGetItem(m, zero, shape) {ITEM}\n    y = Neg(g) {{T=float32}}"
    made, _ = arrays(HEAD + FILLED + "    " + read)
    assert made["g"] in made["o"].controls
    assert session_of(made).run("y:0").tolist() == [-1, -2]


BRANCH = """
    p = Placeholder() {dtype=bool, shape=()}
    s = Switch(m, p) {T=variant}
    g = TensorListGetItem(s:1, zero, shape) {element_dtype=float32}
    t = Switch(a, p) {T=float32}
    last = Merge(t, g) {T=float32, N=2}
    o = TensorListSetItem(m, one, ITEM) {element_dtype=float32}
"""
FIRST = HEAD + "    m = TensorListSetItem(l, zero, b) {element_dtype=float32}" + BRANCH


@pytest.mark.parametrize("p", [True, False])
def test_a_read_in_a_branch_whose_result_is_written(p):
    made, _ = arrays(FIRST.replace("ITEM", "last") + "    " + STACK)
    assert session_of(made).run("y:0", {"p:0": p}).tolist() == [[3, 4], [3, 4] if p else [1, 2]]


def test_a_list_that_grows():
    text = (
        HEAD
        + f"""
    e = EmptyTensorList(shape, any) {{element_dtype=float32, shape_type=int32}}
    m = TensorListPushBack(e, a) {ITEM}
    o = TensorListPushBack(m, b) {ITEM}
    {STACK}
    k = TensorListGather(o, at, shape) {ITEM}
    at = Const() {{dtype=int32, value=int32(2)[1, 0]}}
    """
    )
    made, _ = arrays(
        text.replace("l = TensorListReserve(shape, two) {element_dtype=float32, shape_type=int32}", "")
    )
    assert made["e/array"].attrs["dynamic_size"] is True
    rows, picked = session_of(made).run(["y:0", "k:0"])
    assert (rows.tolist(), picked.tolist()) == ([[1, 2], [3, 4]], [[3, 4], [1, 2]])


def test_lists_made_of_tensors():
    text = (
        HEAD
        + """
    t = Const() {dtype=float32, value=float32(3, 2)[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    at = Const() {dtype=int32, value=int32(3)[2, 0, 1]}
    lengths = Const() {dtype=int64, value=int64(2)[1, 2]}
    s = TensorListScatterV2(t, at, shape, any) {element_dtype=float32, shape_type=int32}
    p = TensorListSplit(t, rows, lengths) {element_dtype=float32, shape_type=int32}
    rows = Const() {dtype=int32, value=int32(2)[-1, 2]}
    y = TensorListStack(s, shape) {element_dtype=float32}
    c = TensorListConcatV2(p, rows, none) {element_dtype=float32, shape_type=int32}
    none = Const() {dtype=int64, value=int64(0)[]}
    """
    )
    made, _ = arrays(text)
    rows, whole, lengths = session_of(made).run(["y:0", "c:0", "c:1"])
    assert rows.tolist() == [[3, 4], [5, 6], [1, 2]]
    assert (whole.tolist(), lengths.tolist()) == ([[1, 2], [3, 4], [5, 6]], [1, 2])


CELL = LOOP.replace("n) {element_dtype=float32, shape_type", "one) {element_dtype=float32, shape_type")
CELL = CELL.replace("TensorListSetItem(r, i, square)", "TensorListSetItem(r, none, square)")
CELL = CELL.replace("      next =", "      none = Const() {dtype=int32, value=int32()[0]}\n      next =")


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_list_of_one_element_that_each_turn_sets_is_that_element(n):
    made, granted = arrays(CELL.replace("SHAPE", "scalar"))
    assert (made["r"].op, made["w/body/set"].op, made["y"].op) == ("Const", "Identity", "ExpandDims")
    assert [text.split("`")[1] for text in granted] == ["l", "f"]
    feeds = {"n:0": np.int32(n), "x:0": np.float32([2, 3, 4])}
    rows, size = session_of(made).run(["y:0", "size:0"], feeds)
    assert (rows.tolist(), int(size)) == ([[0, 4, 9, 16][n]], 1)


TWICE = f"""
    m = TensorListSetItem(l, zero, a) {ITEM}
    o = TensorListSetItem(l, one, b) {ITEM}
    {STACK}
"""
LATE = f"""
    m = TensorListSetItem(l, zero, a) {ITEM}
    k = TensorListStack(m, shape) {ITEM}
    g = TensorListGetItem(l, late, shape) {ITEM}
    late = Size(k) {{T=float32}}
"""
OTHER = """
    e = EmptyTensorList(shape, any) {element_dtype=float32, shape_type=int32}
    p = Placeholder() {dtype=bool, shape=()}
    se = Switch(e, p) {T=variant}
    sl = Switch(l, p) {T=variant}
    m = Merge(se, sl:1) {T=variant, N=2}
    y = TensorListStack(m, shape) {element_dtype=float32}
"""
EACH_TURN = LOOP.replace("TensorListSetItem(r, i, square)", "TensorListSetItem(r, one, square)")
ANEW = LOOP.replace("s=set", "s=r").replace("Mul(item, item)", "Mul(item, other)")
ANEW = ANEW.replace(
    "      square", "      other = TensorListGetItem(set, i, shape) {element_dtype=float32}\n      square"
)
ANEW = ANEW.replace("TensorListSetItem(r, i, square)", "TensorListSetItem(r, i, item)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HEAD + TWICE, "`m` and `o` both change the list `l`"),
        (HEAD + LATE, "`g` reads the list `l`, which `m` may change before"),
        (FIRST.replace("ITEM", "a"), "`g` reads the list `m`, which `o` may change before"),
        (HEAD + OTHER, "a list may come from `l`, `e`; an array has one origin"),
        (EACH_TURN.replace("SHAPE", "scalar"), "`w/body/set` sets the same element in each iteration"),
        (ANEW.replace("SHAPE", "scalar"), "each iteration of a loop changes the original list `w/enter_3`"),
        (HEAD + "v = Placeholder() {dtype=variant}\n    y = TensorListLength(v)", "no node of this graph"),
        (HEAD + f"y = TensorListPopBack(l, shape) {ITEM}", "has no equivalent for a TensorArray"),
        (HEAD + "y = ZerosLike(l) {T=variant}", r"`y` \(ZerosLike\) reads the list of `l`"),
        (HEAD.replace("element_dtype=float32", "element_dtype=variant"), "`l` is a list of variants"),
    ],
)  # fmt: skip
def test_what_stays_a_list_and_why(text, why):
    made = graph(text)
    lower_all(made)
    before = graph_to_def(made).SerializeToString(deterministic=True)
    with pytest.raises(StructureRefusal, match=why):
        lists_to_arrays(made)
    assert graph_to_def(made).SerializeToString(deterministic=True) == before


def test_functional_branches_and_loops_come_first():
    with pytest.raises(StructureRefusal, match=r"`w` \(StatelessWhile\) must be lowered"):
        lists_to_arrays(graph(LOOP.replace("SHAPE", "scalar")))
