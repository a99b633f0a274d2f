"""Reference and resource variables: the same outputs, or a refusal."""

import numpy as np
import pytest
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.variables import to_references, to_resources
from tfport.graph.build import graph_to_def

RESOURCES = """
h = VarHandleOp() {dtype=float32, shape=(2,), shared_name="v"}
start = Const() {dtype=float32, value=float32(2)[1.0, 2.0]}
set = AssignVariableOp(h, start) {dtype=float32}
one = Const() {dtype=float32, value=float32(2)[1.0, 1.0]}
more = AssignAddVariableOp(h, one, ^set) {dtype=float32}
read = ReadVariableOp(h, ^more) {dtype=float32}
y = Neg(read) {T=float32}
there = VarIsInitializedOp(h, ^set)
size = VariableShape(h, ^set) {out_type=int32}
"""
REFERENCES = """
h = VariableV2() {dtype=float32, shape=(2,), shared_name="v"}
start = Const() {dtype=float32, value=float32(2)[1.0, 2.0]}
set = Assign(h, start) {T=float32}
one = Const() {dtype=float32, value=float32(2)[1.0, 1.0]}
more = AssignAdd(h, one, ^set) {T=float32}
y = Neg(h, ^more) {T=float32}
there = IsVariableInitialized(h, ^set) {dtype=float32}
"""


def answers(made, *fetches):
    return tfport.Session(tfport.load(graph_to_def(made).SerializeToString())).run(list(fetches))


def test_resources_become_references():
    made = graph(RESOURCES)
    changed = to_references(made)
    assert changed == [("h", "VarHandleOp")]
    assert {made[n].op for n in ("h", "set", "more", "read", "there", "size")} == {
        "VariableV2", "Assign", "AssignAdd", "Identity", "IsVariableInitialized", "Shape",
    }  # fmt: skip
    for ours, theirs in zip(
        answers(made, "y:0", "size:0"), answers(graph(RESOURCES), "y:0", "size:0"), strict=True
    ):
        assert np.array_equal(ours, theirs)


def test_references_become_resources_and_are_read_through_nodes():
    made = graph(REFERENCES)
    to_resources(made)
    assert made["y"].inputs[0].node.op == "ReadVariableOp"
    assert np.array_equal(answers(made, "y:0")[0], answers(graph(REFERENCES), "y:0")[0])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "z = ResourceScatterUpdate(h, i, one) {dtype=float32, Tindices=int32}",
            "`z` (ResourceScatterUpdate)",
        ),
        ("z = Identity(h) {T=resource}", "`z` (Identity)"),
    ],
)
def test_what_needs_a_resource_keeps_it(line, says):
    text = f"{RESOURCES}i = Const() {{dtype=int32, value=int32(1)[0]}}\n{line}"
    made = graph(text)
    with pytest.raises(StructureRefusal) as refused:
        to_references(made)
    assert says in str(refused.value)
    assert made["h"].op == "VarHandleOp"


def test_a_reference_that_is_handed_on_stays():
    made = graph(REFERENCES + "z = Neg(set) {T=float32}")
    with pytest.raises(StructureRefusal, match="passes on the reference"):
        to_resources(made)
