"""Ragged variants are removed where they are only unpacked."""

import pytest
from tests.recorded_models import graph
from tests.runtime.cases import f32, i64

import tfport
from tfport.fix.structure.ragged_variants import drop_ragged_variants
from tfport.graph.build import graph_to_def

HEAD = """
    s = Placeholder() {dtype=int64, shape=(?)}
    v = Placeholder() {dtype=float32, shape=(?)}
"""
PACK = "b = RaggedTensorToVariant(s, v) {{RAGGED_RANK=1, Tvalues=float32, Tsplits=int64, batched_input={}}}\n"
UNPACK = ("u = RaggedTensorFromVariant({}) "
          "{{input_ragged_rank={}, output_ragged_rank=1, Tvalues={}, Tsplits=int64}}\n")  # fmt: skip
PASSED = {
    "one box": PACK.format("false") + UNPACK.format("b", 1, "float32"),
    "a box for each row": PACK.format("true") + UNPACK.format("b", 0, "float32"),
    "of a rank that is found": PACK.format("true") + UNPACK.format("b", -1, "float32"),
    "handed on": PACK.format("false") + "c = Identity(b) {T=variant}\n" + UNPACK.format("c", 1, "float32"),
}
KEPT = {
    "read otherwise": PACK.format("false")
    + UNPACK.format("b", 1, "float32")
    + "z = ZerosLike(b) {T=variant}",
    "of another rank": PACK.format("true") + UNPACK.format("b", 1, "float32"),
    "of another type": PACK.format("false") + UNPACK.format("b", 1, "int32"),
    "never unpacked": PACK.format("false"),
    "waited for": PACK.format("false") + UNPACK.format("b", 1, "float32") + "z = NoOp(^b)",
}


@pytest.mark.parametrize("name", PASSED)
def test_what_was_packed_is_handed_on(name):
    made = graph(HEAD + PASSED[name])
    feeds = {"s:0": i64(0, 2, 2, 3), "v:0": f32(1, 2, 3)}
    before = tfport.Session(tfport.load(graph_to_def(made).SerializeToString())).run(["u:0", "u:1"], feeds)
    gone = drop_ragged_variants(made)
    assert {op for _, op in gone} >= {"RaggedTensorToVariant", "RaggedTensorFromVariant"}
    assert {node.op for node in made} == {"Placeholder", "IdentityN"}
    after = tfport.Session(tfport.load(graph_to_def(made).SerializeToString())).run(["u:0", "u:1"], feeds)
    assert (
        [array.tolist() for array in after]
        == [array.tolist() for array in before]
        == [[0, 2, 2, 3], [1, 2, 3]]
    )


@pytest.mark.parametrize("name", KEPT)
def test_other_boxes_stay(name):
    made = graph(HEAD + KEPT[name])
    before = graph_to_def(made).SerializeToString(deterministic=True)
    assert drop_ragged_variants(made) == []
    assert graph_to_def(made).SerializeToString(deterministic=True) == before
