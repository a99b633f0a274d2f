"""Replacing a node by the result of a rule."""

import pytest
from tests.fix.rule_cases import apply, rule_case
from tests.runtime.cases import f32

from tfport.fix.rule import EXACT, Rule
from tfport.graph.shapes import Shape


@pytest.mark.parametrize(("op", "keeps"), [("Neg", True), ("Merge", False)])
def test_recorded_shapes_stay_if_the_new_node_has_as_many_outputs(op, keeps):
    made = Rule(
        "made", ("Identity",), EXACT, "", lambda b, n: b.node(op, n.inputs[0] if keeps else [n.inputs[0]]), ""
    )
    model = rule_case(made, "y = Identity(x) {T=float32}", x=f32(1, 2)).model()
    model.graph["y"].attrs["_output_shapes"] = [Shape((2,))]
    apply(made, model)
    assert model.graph["y"].op == op
    assert ("_output_shapes" in model.graph["y"].attrs) is keeps
