import pytest
from tests.graph.test_graph import assert_true_uses
from tests.recorded_models import graph, load, of_kind

from tfport.errors import MalformedGraph
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Graph
from tfport.graph.inline import callee, inline
from tfport.graph.reach import in_order, needed_by
from tfport.graph.text import node_text


def lines(g: Graph) -> list[str]:
    return [node_text(node) for node in g]


SQUARE = """
def square(x: float32) -> (y: float32):
  two = Const() {dtype=float32}
  m = Mul(x, x) {T=float32}
  p = Pow(m, two) {T=float32}
  return y=p
"""


def test_a_call_becomes_the_body_and_keeps_its_name():
    g = graph(f"x = Placeholder() {{dtype=float32}}\nc = square(x)\nz = Neg(c) {{T=float32}}\n{SQUARE}")
    made = inline(g["c"])
    assert lines(g) == [
        "x = Placeholder() {dtype=float32}",
        "c = Identity(c/p) {T=float32}",
        "z = Neg(c/p) {T=float32}",
        "c/two = Const() {dtype=float32}",
        "c/m = Mul(x, x) {T=float32}",
        "c/p = Pow(c/m, c/two) {T=float32}",
    ]
    assert [node.name for node in made] == ["c/two", "c/m", "c/p"]
    assert_true_uses(g)


def test_the_first_nodes_of_the_body_wait_for_the_control_inputs_of_the_call():
    g = graph(
        f"x = Placeholder()\nw = NoOp()\nc = PartitionedCall(x, ^w) {{f=@square, Tout=[float32]}}\n{SQUARE}"
    )
    inline(g["c"])
    assert lines(g)[2:] == [
        "c = Identity(c/p, ^c/before) {T=float32}",
        "c/before = NoOp(^w)",
        "c/two = Const() {dtype=float32}",  # a constant is the same at any time
        "c/m = Mul(x, x, ^c/before) {T=float32}",
        "c/p = Pow(c/m, c/two) {T=float32}",
    ]


EFFECTS = """
def count(v: resource, x: float32) -> (y: float32):
  one = Const() {dtype=float32}
  add = AssignAddVariableOp(v, one) {dtype=float32}
  out = Neg(x) {T=float32}
  return y=out, ^add
"""


def test_users_of_the_call_still_run_its_side_effects():
    g = graph(f"""\
v = VarHandleOp() {{dtype=float32}}
x = Placeholder() {{dtype=float32}}
c = StatefulPartitionedCall(v, x) {{f=@count, Tout=[float32]}}
reader = Abs(c) {{T=float32}}
waiter = NoOp(^c)
{EFFECTS}""")
    inline(g["c"])
    assert node_text(g["c"]) == "c = Identity(c/out, ^c/add) {T=float32}"
    assert g["c/add"] in needed_by([g["reader"]])
    assert g["c/add"] in needed_by([g["waiter"]])
    assert_true_uses(g)


def test_without_control_returns_all_stateful_nodes_are_side_effects():
    g = graph("v = VarHandleOp()\nx = Placeholder()\nc = count(v, x)\n" + EFFECTS.replace(", ^add", ""))
    inline(g["c"])
    assert g["c/add"] in needed_by([g["c"]])


def test_several_results_become_identity_n_and_none_a_no_op():
    g = graph("""\
x = Placeholder() {dtype=float32}
n = Placeholder() {dtype=int32}
two = swap(x, n)
none = silent(^x)
r = Neg(two:1) {T=float32}
def swap(x: float32, n: int32) -> (n2: int32, x2: float32):
  return n2=n, x2=x
def silent() -> ():
  return
""")
    inline(g["two"])
    inline(g["none"])
    assert lines(g)[2:] == [
        "two = IdentityN(n, x) {T=[int32, float32]}",
        "none = NoOp(^x)",
        "r = Neg(x) {T=float32}",
    ]
    assert g["two"].attrs["T"] == [INT32, FLOAT32]


def test_in_a_function_no_name_needs_to_be_kept():
    g = graph(f"""{SQUARE}
def outer(x: float32) -> (y: float32):
  c = square(x)
  d = Neg(c) {{T=float32}}
  return y=c, ^c
""")
    outer = g.library.functions["outer"]
    inline(outer["c"])
    assert node_text(outer["d"]) == "d = Neg(c/p) {T=float32}"
    assert [str(v) for v in outer.results] == ["c/p"]
    assert node_text(outer["c"]) == "c = Identity(c/p) {T=float32}"  # the control return waits for it
    outer.control_returns.popitem()[1].set_controls(())
    inline(outer.add("square", [outer.arguments[0]], name="again"))
    assert "again" not in outer


def test_calls_inside_calls_are_inlined_one_by_one():
    g = graph(f"""\
x = Placeholder()
c = twice(x)
def twice(x: float32) -> (y: float32):
  a = square(x)
  b = PartitionedCall(a) {{f=@square, Tout=[float32]}}
  return y=b
{SQUARE}""")
    inline(g["c"])
    inline(g["c/a"])
    inline(g["c/b"])
    assert not [node for node in g if callee(node)]
    assert next(n.name for n in in_order(g)) == "x"
    assert node_text(g["c/b/m"]) == "c/b/m = Mul(c/a/p, c/a/p) {T=float32}"
    assert_true_uses(g)


GENERIC = """
def generic(x: $T) -> (y: $T):
  m = Mul(x, x) {T=$T}
  n = PartitionedCall(m) {f=@inner {U=$T, n=1}, Tin=[float32], Tout=[float32]}
  w = Case(m) {branches=[@inner {U=$T}]}
  return y=n
"""


def test_placeholders_become_attributes_of_the_call_at_any_depth():
    g = graph(f"x = Placeholder()\nc = generic(x) {{T=int32}}\n{GENERIC}")
    inline(g["c"])
    assert node_text(g["c/m"]) == "c/m = Mul(x, x) {T=int32}"
    assert g["c/n"].attrs["f"].attrs == {"U": INT32, "n": 1}
    assert g["c/w"].attrs["branches"][0].attrs == {"U": INT32}
    assert g["c"].attrs == {"T": INT32}


def test_a_function_called_by_attribute_gets_the_attributes_there():
    g = graph(
        f"x = Placeholder()\nc = PartitionedCall(x) {{f=@generic {{T=int32}}, Tout=[int32]}}\n{GENERIC}"
    )
    inline(g["c"])
    assert g["c/m"].attrs == {"T": INT32}


def test_loops_and_colocations_get_their_own_names():
    g = graph("""\
x = Placeholder()
a = f(x)
b = f(x)
def f(x: float32) -> (y: float32):
  e = Enter(x) {frame_name="loop", T=float32}
  n = Neg(e) {T=float32, _class=["loc:@e", "loc:@gone", "kept"]}
  return y=n
""")
    inline(g["a"])
    inline(g["b"])
    assert [g[n].attrs["frame_name"] for n in ("a/e", "b/e")] == ["a/loop", "b/loop"]
    assert g["b/n"].attrs["_class"] == ["loc:@b/e", "kept"]


def test_in_a_branch_constants_and_passed_results_wait_for_the_branch():
    g = graph(f"""\
x = Placeholder()
p = Placeholder()
s = Switch(x, p) {{T=float32}}
c = square(s:1)
{SQUARE}""")
    inline(g["c"])
    assert node_text(g["c/two"]) == "c/two = Const(^c/before) {dtype=float32}"
    assert node_text(g["c/before"]) == "c/before = NoOp(^c/arrival)"
    assert node_text(g["c/arrival"]) == "c/arrival = Identity(s:1) {T=float32}"


def test_the_body_has_the_device_of_the_call():
    text = SQUARE.replace("Mul(x, x) {T=float32}", 'Mul(x, x) {T=float32} @"/gpu:0"')
    g = graph(f'x = Placeholder()\nc = square(x) @"/cpu:0"\n{text}')
    inline(g["c"])
    assert (g["c/p"].device, g["c/m"].device) == ("/cpu:0", "/gpu:0")


REFUSED = [
    ("c = Neg(x)", "", "`c` calls a function that the model does not define"),
    ("c = PartitionedCall(x) {f=@nobody}", "", "`c` calls a function that the model does not define"),
    ("c = square(x, x)", SQUARE, "`c` passes 2 tensors; square takes 1"),
    ("c = square(x)\nd = Neg(c:3)", SQUARE, "`c` has 4 results; square returns 1"),
    ("c = PartitionedCall(x) {f=@square}", SQUARE, "`c` has 0 results; square returns 1"),
    (
        "c = PartitionedCall(x) {f=@square, Tout=[1]}",
        SQUARE,
        "the types of the results of `c` are unknown",
    ),
    ("c = generic(x)", GENERIC, "`c` passes no value for the attribute T of generic"),
    (
        "c = PartitionedCall(x) {f=@generic, Tout=[int32]}",
        GENERIC,
        "`c` passes no value for the attribute T of generic",
    ),
]


@pytest.mark.parametrize(("call", "functions", "sentence"), REFUSED)
def test_a_call_that_cannot_be_inlined_stays_unchanged(call, functions, sentence):
    g = graph(f"x = Placeholder()\n{call}\n{functions}")
    before = lines(g)
    with pytest.raises(MalformedGraph) as refused:
        inline(g["c"])
    assert str(refused.value) == sentence
    assert lines(g) == before


def test_a_recursive_function_is_inlined_one_level_at_a_time():
    g = graph("""\
x = Placeholder()
c = f(x)
def f(x: float32) -> (y: float32):
  c = f(x)
  return y=c
""")
    inline(g["c"])
    assert node_text(g["c/c"]) == "c/c = f(x)"


def test_the_call_determines_the_length_of_lists():
    g = load("list_arguments").graph
    assert node_text(g.library.functions["Interleave"]["pack"]) == "pack = Pack(parts:*) {N=$N, T=$T, axis=1}"
    inline(g["y"])
    assert lines(g)[2:] == [
        "y = IdentityN(y/pack, y/same, y/same:1) {T=[float32, string, float32]}",
        "text = Identity(y/same) {T=string}",
        "y/pack = Pack(a, a) {N=2, T=float32, axis=1}",
        "y/same = IdentityN(b, a, ^y/pack) {T=[string, float32]}",
    ]


def calls_in(g: Graph) -> list:
    return [node for node in g if callee(node) is not None]


@pytest.mark.parametrize("name", of_kind("saved_model", "graph_def"))
def test_every_call_of_a_recorded_model_can_be_inlined(name):
    model = load(name)
    while calls := calls_in(model.graph):
        for call in calls:
            inline(call)
    assert_true_uses(model.graph)
    assert len(in_order(model.graph)) == len(model.graph)
    for signature in model.signatures.values():
        for spec in signature.outputs.values():
            assert all(map(model.has_tensor, spec.tensors))
    assert graph_to_def(model.graph).node
