"""The adapter in Model Explorer itself: `make test-clients` installs it.

Its package brings native adapters of several hundred megabytes, so the everyday environment is without it.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.recorded_models import MODELS, PROGRAMS, graph, path_of, shared

import tfport
from tfport.cli.main import main
from tfport.graph.build import graph_to_def
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.model_explorer.shown_graphs import ShownGraphs

ROOT = Path(__file__).parents[3]
ATTENTION = ROOT / "examples/attention"
FILES = {
    "a SavedModel by its file": ATTENTION / "saved_model.pb",
    "a GraphDef": MODELS / "frozen/graph.pb",
    "a GraphDef as text": MODELS / "frozen_text/graph.pbtxt",
    "TensorFlow Lite": ROOT / "examples/wake_word.tflite",
    "Keras": ROOT / "tests/frontends/keras/models/reviews.h5",
}
with_package = pytest.mark.skipif(
    find_spec("model_explorer") is None, reason="needs ai-edge-model-explorer: make test-clients"
)


@pytest.fixture(scope="module")
def manager():
    """Model Explorer's own manager of extensions, with ours."""
    from model_explorer.extension_manager import ExtensionManager

    manager = ExtensionManager(["tfport.web.model_explorer"])
    manager.load_extensions()
    return manager


def converted(manager, path):
    """The graphs that Model Explorer sends to its page, by name."""
    command = {"cmdId": "convert", "extensionId": "tfport", "modelPath": str(path), "settings": {}}
    answer = json.loads(json.dumps(manager.run_cmd({**command, "deleteAfterConversion": False})))
    graphs = [graph for collection in answer["graphCollections"] for graph in collection["graphs"]]
    assert len({graph["id"] for graph in graphs}) == len(graphs)
    return {graph["id"]: graph for graph in graphs}


def test_without_the_package_one_sentence_says_what_to_install():
    program = (
        "import sys; sys.modules['model_explorer'] = None\n"
        "try: import tfport.web.model_explorer.main\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "model_explorer is not installed: pip install ai-edge-model-explorer\n"


@with_package
def test_model_explorer_loads_the_extension(manager):
    (ours,) = [entry for entry in manager.get_extensions_metadata() if entry["id"] == "tfport"]
    assert ours["type"] == "adapter"
    assert {path.suffix[1:] for path in FILES.values()} <= set(ours["fileExts"])


@with_package
@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_every_format_is_read(manager, path):
    graphs = converted(manager, path)
    shown = ShownGraphs(ModelGraphs(tfport.load(path)))
    assert set(graphs) == set(shown.names.values())
    for id, (family, _) in shown.graphs.items():
        assert [node["id"] for node in graphs[shown.names[id]]["nodes"]] == family.columns(id).names


@with_package
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_edge_is_between_nodes_of_its_graph(manager, name):
    graphs = converted(manager, path_of(name))
    model = ModelGraphs(shared(name))
    ids = {name: id for id, name in ShownGraphs(model).names.items()}
    for graph_name, shown in graphs.items():
        nodes = {node["id"]: node for node in shown["nodes"]}
        columns = model.nodes.columns(ids[graph_name])
        edges = [edge for node in nodes.values() for edge in node["incomingEdges"]]
        assert len(edges) == len(columns.source) + len(columns.control_source)
        for edge in edges:
            outputs = {item["id"] for item in nodes[edge["sourceNodeId"]]["outputsMetadata"]}
            assert edge["sourceNodeOutputId"] in outputs | {"control"}
        for node in nodes.values():
            assert set(node["subgraphIds"]) <= set(graphs)


@with_package
def test_a_node_has_its_scope_types_and_attributes(manager):
    nodes = {node["id"]: node for node in converted(manager, ATTENTION / "saved_model.pb")["main"]["nodes"]}
    read = nodes["embedding/read"]
    assert (read["label"], read["namespace"]) == ("Identity", "embedding")
    assert {"key": "T", "value": "float32"} in read["attrs"]
    assert read["outputsMetadata"] == [
        {"id": "0", "attrs": [{"key": "dtype", "value": "float32"}, {"key": "shape", "value": "[49, 8]"}]}
    ]


@with_package
def test_loops_lead_to_their_graphs(manager):
    graphs = converted(manager, path_of("keras_lstm"))
    assert next(iter(graphs)) == "__inference___call___1618"
    called = {name for node in graphs["__inference___call___1618"]["nodes"] for name in node["subgraphIds"]}
    assert called >= {"sequential_1_lstm_1_while_cond_1312", "sequential_1_lstm_1_while_body_1313"}


@with_package
def test_hostile_names_and_values_are_bounded(tmp_path, manager):
    deep = "/".join(["s"] * 5000)
    text = f"""
        {deep} = Placeholder() {{dtype=float32, _note="{"n" * 100_000}"}}
        y = PartitionedCall({deep}) {{Tin=[float32], Tout=[float32], f=@again}}
        def again(x: float32) -> (r: float32):
          z = PartitionedCall(x) {{Tin=[float32], Tout=[float32], f=@again}}
          return r=z
    """
    path = tmp_path / "graph.pb"
    path.write_bytes(graph_to_def(graph(text)).SerializeToString())
    graphs = converted(manager, path)
    (first, y) = graphs["main"]["nodes"]
    assert first["namespace"].count("/") < 100
    assert all(len(attribute["value"]) <= 501 for attribute in first["attrs"])
    assert y["subgraphIds"] == ["again"]
    assert not any(node["subgraphIds"] for node in graphs["again"]["nodes"])  # its list of graphs must end


@with_package
def test_a_file_that_is_no_model_is_refused_in_a_sentence(tmp_path, manager):
    path = tmp_path / "graph.json"
    path.write_text('[{"id": "g", "nodes": []}]')
    with pytest.raises(tfport.Error, match=r"graph\.json: "):
        converted(manager, path)


@with_package
def test_its_own_builder_reads_the_node_data(tmp_path):
    from dacite import Config, from_dict
    from model_explorer import config
    from model_explorer.node_data_builder import GraphNodeData, ModelNodeData

    findings, times = tmp_path / "findings.json", tmp_path / "times.json"
    main(["check", str(ATTENTION), "--on", "tensorflow==1.13.2", "--node-data", str(findings)])
    main(["bench", str(ATTENTION), "--profile", "--seconds", "0", "--node-data", str(times)])
    for file in (findings, times):
        document = json.loads(file.read_text())
        strict = Config(strict=True, check_types=file is times)  # it allows texts, and its types do not
        data = {name: from_dict(GraphNodeData, entry, strict) for name, entry in document.items()}
        again = json.loads(ModelNodeData(data).to_json_string())
        for name, entry in document.items():
            assert {key: again[name][key] for key in entry} == entry
        assert config().add_node_data_from_path(str(file)).node_data_sources == [str(file)]
