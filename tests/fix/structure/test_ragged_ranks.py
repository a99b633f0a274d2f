"""Ragged variants with one more axis: rows that are plain tensors become ragged tensors of one row."""

import pytest
from tests.recorded_models import graph
from tests.runtime.cases import f32, i64

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.ragged_variants import add_ragged_axis
from tfport.graph.build import graph_to_def
from tfport.graph.reach import every_node

OLD = NodeChecker(resolve_targets("tensorflow==1.15.5")[0], 2474)
HEAD = """
    s = Placeholder() {dtype=int64, shape=(?)}
    t = Placeholder() {dtype=int64, shape=(?)}
    v = Placeholder() {dtype=float32, shape=(?)}
    scalar = Const() {dtype=int32, value=int32(0)[]}
    zero = Const() {dtype=int32, value=int32()[0]}
    one = Const() {dtype=int32, value=int32()[1]}
"""
TYPES = "Tvalues=float32, Tsplits=int64"


def pack(name, inputs, rank, *, batched):
    return (
        f"{name} = RaggedTensorToVariant({inputs}) {{RAGGED_RANK={rank}, {TYPES}, batched_input={batched}}}\n"
    )


def unpack(name, source, inner, outer):
    ranks = f"input_ragged_rank={inner}, output_ragged_rank={outer}"
    return f"{name} = RaggedTensorFromVariant({source}) {{{ranks}, {TYPES}}}\n"


ITEM = """l = TensorListFromTensor(b, scalar) {element_dtype=variant, shape_type=int32}
    g = TensorListGetItem(l, one, scalar) {element_dtype=variant}
"""
AGAIN = """r = TensorListReserve(scalar, one) {element_dtype=variant, shape_type=int32}
    o = TensorListSetItem(r, zero, p) {element_dtype=variant}
    k = TensorListStack(o, scalar) {element_dtype=variant}
"""
PROGRAMS = {
    "a row of numbers": (pack("b", "s, v", 1, batched="true") + ITEM + unpack("u", "g", -1, 0), ["u:0"]),
    "a row, by its rank": (pack("b", "s, v", 1, batched="true") + ITEM + unpack("u", "g", 0, 0), ["u:0"]),
    "a row of rows": (
        pack("b", "t, s, v", 2, batched="true") + ITEM + unpack("u", "g", -1, 1),
        ["u:0", "u:1"],
    ),
    "a tensor without rows": (pack("b", "v", 0, batched="false") + unpack("u", "b", 0, 0), ["u:0"]),
    "rows that are packed again": (
        pack("b", "s, v", 1, batched="true")
        + ITEM
        + unpack("h", "g", -1, 0)
        + "n = Neg(h) {T=float32}\n"
        + pack("p", "n", 0, batched="false")
        + AGAIN
        + unpack("u", "k", 0, 1),
        ["u:0", "u:1"],
    ),
    "all rows": (pack("b", "t, s, v", 2, batched="true") + unpack("u", "b", 1, 2), ["u:0", "u:1", "u:2"]),
}
FEEDS = {"s:0": i64(0, 2, 2, 3), "t:0": i64(0, 1, 3), "v:0": f32(1, 2, 3)}


def program(text):
    return graph("\n".join(line.strip() for line in (HEAD + text).splitlines()))


def answers(made, fetches):
    session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))
    return [array.tolist() for array in session.run(fetches, FEEDS)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_answers_stay_and_the_old_release_takes_it(name):
    text, fetches = PROGRAMS[name]
    made = program(text)
    before = answers(made, fetches)
    add_ragged_axis(list(every_node(made)), Facts(), OLD)
    assert answers(made, fetches) == before
    assert not [node for node in made if "Ragged" in node.op and OLD.unresolved(node)]


REFUSED = {
    "packs each row": pack("b", "v", 0, batched="true"),
    "with 2 axes": "m = Placeholder() {dtype=variant, shape=(?,?)}\n" + unpack("u", "m", -1, 2),
    "with unknown axes": "m = Placeholder() {dtype=variant}\n" + unpack("u", "m", -1, 2),
    "reads a ragged variant": "m = Placeholder() {dtype=variant, shape=()}\n"
    "g = RaggedTensorToVariantGradient(m, s, one) {Tvalues=float32, Tsplits=int64}",
}


@pytest.mark.parametrize("why", REFUSED)
def test_refuses_before_anything_changes(why):
    made = program(REFUSED[why])
    before = graph_to_def(made).SerializeToString(deterministic=True)
    with pytest.raises(StructureRefusal, match=why):
        add_ragged_axis(list(every_node(made)), Facts(), OLD)
    assert graph_to_def(made).SerializeToString(deterministic=True) == before
