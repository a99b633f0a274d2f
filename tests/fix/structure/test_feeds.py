"""Fed tensors become placeholders of the same name."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.fix.journal import Journal
from tfport.fix.structure.signature_outputs import feeds_to_placeholders
from tfport.graph.build import graph_to_def
from tfport.graph.text import node_text

TEXT = """
    x = Placeholder() {dtype=float32, shape=(2,)}
    q = Acme(x)
    y = Neg(q) {T=float32}
    u = Unique(y) {T=float32}
    z = Neg(u) {T=float32}
    i = Neg(u:1) {T=int32}
"""


def model():
    return tfport.load(graph_to_def(graph(TEXT)).SerializeToString())


def test_a_fed_node_becomes_a_placeholder():
    changed, journal = model(), Journal()
    feeds_to_placeholders(changed, ["y", "x:0"], journal)
    assert node_text(changed.graph["y"]) == "y = Placeholder() {dtype=float32, shape=(...)}"
    assert [entry.name for entry in journal.entries] == ["fed"]


@pytest.mark.parametrize(
    ("feed", "why"),
    [
        ("u", "`u` cannot become a placeholder: `i` reads `u:1`"),
        ("u:1", "`u:1` cannot become a placeholder: `z` reads `u:0`"),
    ],
)
def test_other_outputs_of_a_fed_node_must_be_unread(feed, why):
    with pytest.raises(tfport.Error, match=why):
        feeds_to_placeholders(model(), [feed], Journal())


def test_a_placeholder_has_one_output():
    changed = model()
    changed.graph["z"].set_inputs([changed.graph["y"].output(0)])
    with pytest.raises(tfport.Error, match="a placeholder has only the output `u:0`; feed what `i` computes"):
        feeds_to_placeholders(changed, ["u:1"], Journal())
