import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.recorded_models import EXPECTED, NAMES, OPS, load, path_of, shared
from tests.truth_models import model_folder

import tfport
from tfport.formats.files import Folder
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.graph import Graph
from tfport.graph.model import Model
from tfport.inspection.inspection import Inspection
from tfport.reports.console import plain
from tfport.reports.inspection import inspection_text
from tfport.words import byte_size

KERAS = "tests/truth/keras"


def copy(name: str, to: Path) -> Path:
    """A recorded model to take pieces away from."""
    return Path(shutil.copytree(path_of(name), to / "m"))


def inspected(path: object) -> Inspection:
    return tfport.inspect(str(path))


TENSOR = {"dtype": str, "shape": list | None, "form": str, "tensors": [str]}
ARRAY = {"dtype": str, "shape": list | None}
COUNTS = {str: int}
CONTRACT = {
    "version": int,
    "model": str,
    "kind": str,
    "tags": [str],
    "tag_sets": [list],
    "producer": {"tensorflow": str | None, "graph_def": int, "min_consumer": int, "made_with": [str]},
    "signatures": {
        str: {"method": str, "inputs": {str: TENSOR}, "outputs": {str: TENSOR}, "defaults": [str]}
    },
    "inputs": {str: TENSOR},
    "outputs": [str],
    "fetched": dict | None,
    "graph": {"nodes": int, "functions": int, "devices": [str]},
    "ops": {
        "signatures": {str: COUNTS},
        "loading": COUNTS,
        "saving": COUNTS,
        "rest": COUNTS,
        "total": COUNTS,
        "custom": COUNTS,
        "addons": {str: [str]},
        "newest": {str: str},
        "gone": {str: str},
        "releases": {str: {"since": str | None, "until": str | None}},
    },
    "variables": [{"name": str, **ARRAY, "key": str | None, "slice": str | None}],
    "checkpoint": [{"key": str, **ARRAY, "bytes": int | None, "variable": str | None}],
    "tables": [
        {
            "name": str,
            "op": str,
            "key": str,
            "value": str,
            "filled_by": str | None,
            "asset": str | None,
        }
    ],
    "assets": [{"file": str, "tensor": str, "bytes": int | None}],
    "problems": [str],
    "keras": dict | None,
    "lite": dict | None,
    "forests": list,
}


def text_of(report, *, everything=False):
    return plain(lambda width: inspection_text(report, width, everything=everything))


def assert_fits(value: object, kind: object, where: str = "") -> None:
    """Whether JSON has the form that the contract promises."""
    if isinstance(kind, list):
        assert isinstance(value, list), where
        for i, element in enumerate(value):
            assert_fits(element, kind[0], f"{where}[{i}]")
    elif isinstance(kind, dict):
        assert isinstance(value, dict), where
        names = dict.fromkeys(value, kind[str]) if str in kind else kind
        assert set(value) == set(names), where
        for name, inner in names.items():
            assert_fits(value[name], inner, f"{where}.{name}")
    else:
        assert isinstance(value, kind), where


@pytest.mark.parametrize("name", NAMES)
def test_json_has_the_structure_of_version_1(name):
    record = json.loads(json.dumps(tfport.inspect(shared(name)).to_json()))
    assert record["version"] == 1
    assert_fits(record, CONTRACT)
    assert record["kind"] == EXPECTED[name]["kind"]
    assert record["problems"] == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("everything", [False, True])
def test_text_fits_80_columns(name, everything):
    text = text_of(tfport.inspect(shared(name)), everything=everything)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text == text.strip("\n").join(["\n", ""])
    assert not any(line.endswith(" ") for line in text.splitlines())


REPORT = """
MODEL  SavedModel
  made by   TensorFlow 2.21.0, TF2 objects
  GraphDef  producer 2474, min_consumer 12
  tags      serve
  graph     10 nodes, 6 functions
  devices   /device:CPU:*, /device:CPU:0

signature serving_default  predict
  in   x         float32 (?,)  serving_default_x:0
  out  output_0  float32 (?,)  StatefulPartitionedCall:0

ops  21 kinds
  serving_default  StatefulPartitionedCall 6, Identity 4, NoOp 4, AddV2 2,
                   Cast 2, Const 2, Mul, Placeholder, ReadVariableOp, Sum,
                   VarHandleOp
  loading only     Identity 3, NoOp 3, Const 2, AssignVariableOp, Placeholder,
                   RestoreV2, StatefulPartitionedCall
  saving only      Const 7, Identity 4, DisableCopyOnRead, MergeV2Checkpoints,
                   NoOp, Pack, ReadVariableOp, SaveV2, Select, ShardedFilename,
                   StatefulPartitionedCall, StaticRegexFullMatch, StringJoin
  the rest         ReadVariableOp

checkpoint  2 tensors, 199 B
  _CHECKPOINTABLE_OBJECT_GRAPH  string ()   195 B
  scale                         float32 ()    4 B"""


def test_a_whole_report():
    report = tfport.inspect(shared("nested_functions"))
    report.newest_ops.clear()  # what releases there were is the atlas's to say
    assert str(report).replace(path_of("nested_functions"), "MODEL") == REPORT


def test_json_of_a_small_model():
    record = tfport.inspect(shared("frozen")).to_json()
    expected = EXPECTED["frozen"]["graphs"][0]
    assert record["graph"] == {
        "nodes": sum(expected["main"]["ops"].values()),
        "functions": 0,
        "devices": expected["devices"],
    }
    assert record["ops"]["total"] == expected["main"]["ops"]
    assert record["inputs"]
    assert record["outputs"]
    assert record["signatures"] == {}


def test_counts_come_with_the_most_frequent_first():
    counts = list(tfport.inspect(shared("keras_lstm")).to_json()["ops"]["total"].values())
    assert counts == sorted(counts, reverse=True)


MADE_WITH = [
    ("module", ["TF2 objects"]),
    ("keras_sequential", ["Keras 3", "TF2 objects"]),
    ("estimator", ["TF1 session", "Estimator-style signatures"]),
    ("ref_variables", ["TF1 session", "ref variables"]),
    ("frozen", []),
]


@pytest.mark.parametrize(("name", "traces"), MADE_WITH)
def test_what_made_a_model_is_derived_from_its_traces(name, traces):
    assert tfport.inspect(shared(name)).made_with == traces


def test_ops_that_are_not_tensorflows_own_are_named():
    model = load("frozen")
    last = list(model.graph)[-1]
    model.graph.add("Acme>Tokenize", [last.output(0)])
    report = tfport.inspect(model)
    assert report.custom_ops == Counter({"Acme>Tokenize": 1})
    assert list(report.outputs) == ["Acme>Tokenize"]
    assert str(report).endswith("custom ops  in no recorded release or add-on\n    Acme>Tokenize")


def test_functions_are_not_custom_ops():
    report = tfport.inspect(shared("defun"))
    assert report.custom_ops == Counter()


def test_several_metagraphs_are_listed_with_their_tags():
    assert "tags      serve, cpu+train" in str(tfport.inspect(shared("estimator")))
    assert tfport.inspect(load("estimator", ["cpu", "train"])).tags == ("cpu", "train")


LOST = [
    ("table_from_file", "assets/words.txt", ["assets/words.txt: missing"]),
    (
        "module",
        "variables/variables.index",
        ["variables/variables.index: missing"],
    ),
    (
        "module",
        "variables/variables.data-00000-of-00001",
        ["variables/variables.data-00000-of-00001: missing; it contains variables"],
    ),
    ("module", "variables", ["variables/variables.index: missing; it contains variables"]),
    ("module", "fingerprint.pb", []),
]


@pytest.mark.parametrize(("name", "lost", "problems"), LOST)
def test_a_missing_file_is_a_problem_not_an_error(name, lost, problems, tmp_path):
    folder = copy(name, tmp_path)
    shutil.rmtree(folder / lost) if (folder / lost).is_dir() else (folder / lost).unlink()
    report = inspected(folder)
    relative_problems = [p.replace(f"{folder}/", "") for p in report.problems]
    assert [p[: len(start)] for p, start in zip(relative_problems, problems, strict=True)] == problems
    assert ("problems" in str(report)) == bool(problems)
    assert report.signatures


def test_a_missing_shard_is_a_problem(tmp_path):
    for file in Path(path_of("sharded_checkpoint")).parent.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "model.ckpt.data-00001-of-00002").unlink()
    [problem] = inspected(tmp_path / "model.ckpt.meta").problems
    assert problem.endswith("model.ckpt.data-00001-of-00002: missing; it contains variables")


def test_an_invalid_index_is_a_problem_not_an_error(tmp_path):
    folder = copy("module", tmp_path)
    (folder / "variables/variables.index").write_bytes(
        b"no table at all, and long enough to have had a footer" * 2
    )
    report = inspected(folder)
    assert len(report.problems) == 1
    assert "variables.index" in report.problems[0]
    assert report.stored == []
    assert len(report.variables) == 3


def test_a_missing_input_is_a_problem():
    model = load("frozen")
    gone = next(node for node in model.graph if node.users)
    name, user = gone.name, gone.users[0].name
    record = tfport.graph.build.graph_to_def(model.graph)
    record.node.remove(next(n for n in record.node if n.name == name))
    report = tfport.inspect(tfport.load(record.SerializeToString()))
    assert report.problems == [f"node `{user}` reads `{name}`, which is not in the graph"]


def model_of(*signatures: str) -> Model:
    graph = Graph(OPS)
    graph.add("Placeholder", name="x" * 70)
    graph.add("Neg", [next(iter(graph)).output(0)], name="y")
    meta = pb.MetaGraphDef()
    for name in signatures:
        meta.signature_def[name].inputs["in" * 30].name = "x" * 70 + ":0"
        meta.signature_def[name].outputs["out"].name = "y:0"
    return Model("m" * 100, SAVED_MODEL, Folder("."), graph, meta)


NAMES_OF_SIGNATURES = [
    ("s" * 200,),
    tuple(f"signature_with_a_long_name_{i}" for i in range(5)),
    tuple(f"s{i}" for i in range(100)),
    ("\x1b[2J\n\r\u2028", "名前" * 30),
]


@pytest.mark.parametrize("names", NAMES_OF_SIGNATURES, ids=["long", "several", "many", "strange"])
def test_names_of_any_length_fit_80_columns(names):
    report = tfport.inspect(model_of(*names))
    for text in (str(report), text_of(report, everything=True)):
        assert all(len(line) <= 80 for line in text.splitlines())
        assert all(line.isprintable() for line in text.split("\n"))
    assert json.loads(json.dumps(report.to_json()))["signatures"].keys() == set(names)


def test_long_lists_are_cut_unless_everything_is_requested():
    report = tfport.inspect(shared("large_index"))
    short, full = text_of(report), text_of(report, everything=True)
    more = len(report.stored) - 8
    assert f"… {more} more; --all shows them" in short
    assert "more; --all" not in full
    assert all(t.key in full for t in report.stored)
    signatures = tfport.inspect(model_of(*(f"s{i:03}" for i in range(100))))
    assert "… 92 more signatures; --all shows them" in str(signatures)
    assert "signature s099" in text_of(signatures, everything=True)


SIZES = [
    (None, ""),
    (0, "0 B"),
    (999, "999 B"),
    (1000, "1.0 kB"),
    (25_600_000, "25.6 MB"),
    (10**13, "10.0 TB"),
]


@pytest.mark.parametrize(("n", "text"), SIZES)
def test_sizes_have_decimal_units(n, text):
    assert byte_size(n) == text


KERAS_LAYERS = {
    "functional_adam-2.0.4": ("2.2.4-tf", [("InputLayer", [[None, 3]], 0), ("Dense", [[None, 2]], 8)], []),
    "convolution-2.8.4": (
        "2.8.0",
        [
            ("InputLayer", [[None, 4, 4, 1]], 0),
            ("Conv2D", [[None, 4, 4, 2]], 18),
            ("BatchNormalization", [[None, 4, 4, 2]], 8),
        ],
        [],
    ),
    "custom_layer-2.6.5": ("2.6.0", [("InputLayer", [[None, 3]], 0), ("Doubling", [], None)], ["Doubling"]),
    "lambda_layer-2.11.1": ("2.11.0", [("InputLayer", [[None, 3]], 0), ("Lambda", [], None)], []),
    "subclassed-2.3.4": ("2.4.0", [], []),
}


@pytest.mark.parametrize("name", KERAS_LAYERS)
def test_a_saved_model_of_keras_2_shows_its_layers(name):
    version, layers, custom = KERAS_LAYERS[name]
    report = inspected(model_folder(f"{KERAS}/{name}"))
    keras = report.to_json()["keras"]
    assert (keras["layout"], keras["version"], keras["weights"]) == ("saved_model", version, True)
    assert keras["no_graph"] is None
    assert [(row["class"], row["shapes"], row["parameters"]) for row in keras["layers"]] == layers
    assert keras["custom_classes"] == custom
    text = text_of(report)
    assert f", Keras {version}, TF2 objects\n" in text
    assert ("\nlayers  Functional model" in text or "\nlayers  Model model" in text) == bool(layers)


def test_damaged_keras_metadata_is_a_problem_of_the_model(tmp_path):
    folder = Path(shutil.copytree(model_folder(f"{KERAS}/convolution-2.8.4"), tmp_path / "m"))
    (folder / "keras_metadata.pb").write_bytes(b"\x0a\xff")
    report = inspected(folder)
    assert report.keras is None
    assert [problem.partition("keras_metadata.pb")[2][:8] for problem in report.problems] == [", byte 1"]
