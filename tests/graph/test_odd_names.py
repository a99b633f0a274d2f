"""Names with a colon: TensorFlow reads a colon without a number as part of the name, and so does tfport."""

from tests.odd_names import odd_name

import tfport


def test_a_node_with_a_colon_in_its_name_is_read_and_is_a_finding(tmp_path):
    path = odd_name(tmp_path / "odd.pb", ("Placeholder", "x"), ("Relu", "a:b"), ("Relu", "out"))
    model = tfport.load(path)
    assert model.graph.nodes["out"].inputs[0].node is model.graph.nodes["a:b"]
    assert model.graph.value("a:b").node.name == "a:b"
    assert "a:b" not in str(tfport.inspect(model)).partition("ops")[0]
    report = tfport.check(model, on="tensorflow==2.8.4")
    assert [finding.code for finding in report.results[0].findings] == ["TFP013"]
