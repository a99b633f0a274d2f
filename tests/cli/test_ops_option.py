"""`--ops FILE.py`: a Python file with custom ops is executed, and only if it is named."""

import json
import shutil

import pytest
from tests.built_ops import needs_compiler
from tests.recorded_models import graph

import tfport
from tfport.cli.main import main
from tfport.formats.proto.saved_model_pb2 import SavedModel
from tfport.frontends.keras.layer import CUSTOM_CLASSES
from tfport.graph.build import graph_to_def
from tfport.runtime.custom.registry import PROCESS_WIDE

OPS = """
import tfport

@tfport.op("OptionTriple: (x: float) -> tripled: float")
@tfport.kernel("OptionTriple")
def triple(x):
    return 3 * x
"""


@pytest.fixture
def model(tmp_path):
    lines = "x = Placeholder() {dtype=float32, shape=(?,)}\ny = OptionTriple(x)"
    path = tmp_path / "m.pb"
    path.write_bytes(graph_to_def(graph(lines)).SerializeToString())
    return str(path)


@pytest.fixture
def ops_file(tmp_path):
    path = tmp_path / "my_ops.py"
    path.write_text(OPS)
    yield str(path)
    tables = (PROCESS_WIDE.definitions, PROCESS_WIDE.providers, PROCESS_WIDE.shapes, PROCESS_WIDE.kernels)
    for table in tables:
        table.pop("OptionTriple", None)


@pytest.fixture
def saved_model(tmp_path):
    """A TF2 model with a custom op inside a function."""
    folder = tmp_path / "saved_model"
    shutil.copytree("tests/models/keras_sequential", folder)
    record = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    for function in record.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "Relu":
                node.op = "OptionNowhere"
                node.ClearField("attr")
    text = record.SerializeToString().replace(b":activations:0", b":undeclared_:0")
    (folder / "saved_model.pb").write_bytes(text)
    return str(folder)


def test_the_file_adds_its_ops_to_run_and_check(model, ops_file, capsys):
    assert tfport.check(model, on="tfport").verdict == "fails"
    assert main(["check", model, "--on", "tfport", "--ops", ops_file]) == 0
    capsys.readouterr()
    assert main(["run", model, "--input", "x=[1, 2]", "--ops", ops_file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"]["y"]["value"] == [3.0, 6.0]


def test_a_custom_op_in_a_function_is_named_with_the_ways_out(saved_model, capsys):
    assert main(["run", saved_model, "--input", "x=[[1, 2, 3]]"]) == 2
    error = capsys.readouterr().err
    assert "(OptionNowhere) in function `__inference_" in error
    assert "tfport has no kernel for the custom op `OptionNowhere`" in error
    assert "--library FILE.so" in error
    assert "--ops FILE.py" in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module", "line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("\nx = (", "line 2: SyntaxError: '(' was never closed"),
        ("x = 1", "declares no custom op and no layer; expected `import tfport`"),
        (None, "expected a Python file with custom ops"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(text, message, model, tmp_path, capsys):
    path = tmp_path / "ops.py"
    if text is not None:
        path.write_text(text)
    assert main(["run", model, "--ops", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path}" in error
    assert message in error
    assert error.count("\n") == 1


@needs_compiler
def test_building_an_op_of_tensorflow_hints_at_its_target(tmp_path, capsys):
    source = tmp_path / "op.cc"
    source.write_text('#include "tensorflow/core/framework/op.h"\nREGISTER_OP("Acme").Output("y: float");\n')
    assert main(["lib", "build", str(source), "-o", str(tmp_path / "op.so")]) == 2
    assert "--for tensorflow==2.21.0" in capsys.readouterr().err


def test_the_file_declares_keras_layers(tmp_path, capsys, request):
    request.addfinalizer(lambda: CUSTOM_CLASSES.pop("OptionScale", None))
    layers = [
        {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 2]}},
        {"class_name": "OptionScale", "config": {"name": "scale", "factor": 3.0}},
    ]
    model, declarations = tmp_path / "m.json", tmp_path / "my_layers.py"
    model.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "m", "layers": layers}}))
    declarations.write_text(
        'import tfport\n@tfport.layer("OptionScale")\n'
        "def scale(b, x, *, factor):\n    return b.Mul(x, factor)\n"
    )
    assert main(["run", str(model), "--input", "x=[[1, 2]]"]) == 2
    assert '`OptionScale`, which tfport does not know; declare it with `@tfport.layer("OptionScale")`' in (
        capsys.readouterr().err
    )
    assert main(["run", str(model), "--input", "x=[[1, 2]]", "--ops", str(declarations), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"]["scale"]["value"] == [[3.0, 6.0]]
