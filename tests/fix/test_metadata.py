"""Shapes in the file that the target contradicts, or may contradict, are removed and nothing else."""

import numpy as np
import pytest
from tests.recorded_models import graph, load
from tests.truth_models import model_folder

import tfport
from tfport.check.refused_shapes import stated_shapes
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import FLOAT32, STRING
from tfport.graph.graph import Graph, Value
from tfport.graph.tensors import Tensor

TRUTH = "tests/truth/models"
RULE = "without inferred shapes"


def names(graph: Graph) -> list[tuple[str, str]]:
    return [(node.name, node.op) for node in graph]


@pytest.mark.parametrize("name", ["output_shapes_of_batch_norm_gradient", "output_shape_contradicts.main"])
def test_contradicted_shapes_are_removed_and_nothing_else(name, tmp_path):
    before = tfport.load(model_folder(f"{TRUTH}/{name}"))
    assert tfport.check(before, on="tensorflow==2.8.4", loader="capi").findings[0].code == "TFP210"
    result = tfport.fix(before, target="tensorflow==2.8.4", loaders=("capi",))
    assert [entry.name for entry in result.attempt.journal.entries] == [RULE]
    result.save(tmp_path / "out")
    after = tfport.load(tmp_path / "out")
    assert names(after.graph) == names(before.graph)
    assert not any(map(stated_shapes, after.graph))


def test_shapes_that_fit_stay():
    model = model_folder(f"{TRUTH}/output_shape_fits.main")
    result = tfport.fix(model, target="tensorflow==2.8.4", loaders=("capi",))
    assert not result.attempt.journal.entries


def test_nodes_follow_their_inputs_in_the_file():
    made = graph("""
        x = Placeholder() {dtype=string, shape=(?)}
        i = Placeholder() {dtype=int32, shape=(?)}
        n = Placeholder() {dtype=int32, shape=()}
        y = UnsortedSegmentJoin(x, i, n) {separator="+", Tindices=int32, Tnumsegments=int32}
        z = Identity(y) {T=string}
    """)
    result = tfport.fix(graph_to_def(made).SerializeToString(), target="tensorflow==1.4.1", fetches=("z:0",))
    after = result.attempt.model.graph
    assert result.attempt.runs
    places = {node: place for place, node in enumerate(after)}
    assert all(places[value.node] < places[node] for node in after for value in node.inputs)


def test_collections_name_only_what_is_in_the_graph():
    """Python in TensorFlow 2 refuses a file whose `summaries` name a node that writes none any more."""
    before = load("classifier")
    summary = before.graph.add("ScalarSummary", _summed(before.graph), {"T": FLOAT32}, name="seen")
    before.meta.collection_def["summaries"].node_list.value.extend([f"{summary.name}:0"])
    before.meta.collection_def["kept"].node_list.value.extend(["gone", next(iter(before.graph)).name])
    after = tfport.fix(before, target="tensorflow==2.8.4").model
    assert "summaries" not in after.meta.collection_def
    assert list(after.meta.collection_def["kept"].node_list.value) == [next(iter(before.graph)).name]


def _summed(graph: Graph) -> list[Value]:
    tag, number = (
        Tensor.from_numpy(np.array(b"a", object), STRING),
        Tensor.from_numpy(np.float32([1]), FLOAT32),
    )
    values = {"tag": (STRING, tag), "number": (FLOAT32, number)}
    nodes = [graph.add("Const", [], {"dtype": d, "value": v}, name=name) for name, (d, v) in values.items()]
    return [node.output(0) for node in nodes]
