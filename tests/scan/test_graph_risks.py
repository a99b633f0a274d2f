"""What the nodes of a graph could do, how bad it is in this model, and when it happens."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.proto.saved_model_pb2 import MetaGraphDef, SavedModel
from tfport.graph.build import graph_to_def

X = "x = Placeholder() {dtype=string, shape=()}\n"
NAME = 'f = Const() {dtype=string, value=string()["/etc/passwd"]}\n'
JOINED = """
a = Const() {dtype=string, value=string()["/etc"]}
b = Const() {dtype=string, value=string()["passwd"]}
f = StringJoin(a, b) {N=2, separator="/"}
"""
CALLED = """
x = Placeholder() {dtype=string, shape=()}
y = PartitionedCall(x) {f=@read, Tin=[string], Tout=[string]}

def read(n: string) -> (r: string):
  c = ReadFile(n)
  return r=c
"""
READ = X + NAME + "r = ReadFile(f)\n"
AFTER = "\ny = Identity(x, ^w) {T=string}"
PYTHON = X + 'y = PyFunc(x) {token="pyfunc_7", Tin=[string], Tout=[string]}'
LEAVES = "it leaves the machine with the answer"

GRAPHS = [  # graph, code, severity, what the message says, what the reason says
    (X + NAME + "y = ReadFile(f)", "TFP901", "error", "reads `/etc/passwd` when signature", LEAVES),
    (X + JOINED + "y = ReadFile(f)", "TFP901", "error", "reads `/etc/passwd`", LEAVES),
    (X + "y = ReadFile(x)", "TFP901", "error", "the file that input `in` names", "whoever calls the model"),
    (CALLED, "TFP901", "error", "the file that input `in` names", "its content is returned"),
    (READ + "y = Identity(x, ^r) {T=string}", "TFP901", "warning", "`/etc/passwd`", "not part"),
    (READ + "y = Identity(x) {T=string}", "TFP901", "note", "neither loading nor", ""),
    (X + NAME + "w = WriteFile(f, x)" + AFTER, "TFP902", "error", "writes `/etc/passwd`", ""),
    (X + "w = WriteFile(x, x)" + AFTER, "TFP902", "error", "input `in` names", "chooses the file"),
    (PYTHON, "TFP905", "warning", "`pyfunc_7`", ""),
    (X + "y = AcmeZap(x)", "TFP907", "warning", "no recorded package has", ""),
    (X + "y = MatchingFiles(x)", "TFP901", "error", "input `in` names", ""),
    (X + "t = Timestamp()\ny = Identity(x, ^t) {T=string}", "TFP908", "note", "reads the clock", ""),
]  # fmt: skip


def saved_model(folder, text: str, init: str = "") -> str:
    """A SavedModel with one signature, from `x` to `y`."""
    meta = MetaGraphDef(graph_def=graph_to_def(graph(text)))
    meta.meta_info_def.tags.append("serve")
    signature = meta.signature_def["serving_default"]
    signature.inputs["in"].name, signature.outputs["out"].name = "x:0", "y:0"
    signature.inputs["in"].dtype = signature.outputs["out"].dtype = 7
    if init:
        meta.collection_def["saved_model_main_op"].node_list.value.append(init)
    file = SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (folder / "saved_model.pb").write_bytes(file.SerializeToString())
    return str(folder)


@pytest.mark.parametrize(("text", "code", "severity", "message", "why"), GRAPHS)
def test_what_happens_decides_the_severity(tmp_path, text, code, severity, message, why):
    (risk,) = [risk for risk in tfport.scan(saved_model(tmp_path, text)).risks if risk.code == code]
    assert risk.severity == severity
    assert message in risk.message
    assert why in risk.why


def test_what_loading_runs_happens_while_the_model_loads(tmp_path):
    text = X + NAME + "w = WriteFile(f, f)\ny = Identity(x) {T=string}"
    (risk,) = tfport.scan(saved_model(tmp_path, text, init="w")).risks
    assert (risk.severity, risk.moment) == ("error", "while the model loads")


def test_an_asset_is_a_file_of_the_model(tmp_path):
    text = X + 'f = Const() {dtype=string, value=string()["assets/v.txt"]}\ny = ReadFile(f)'
    path = saved_model(tmp_path, text)
    file = SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes())
    asset = pb.AssetFileDef(filename="v.txt")
    asset.tensor_info.name = "f:0"
    file.meta_graphs[0].asset_file_def.append(asset)
    (tmp_path / "saved_model.pb").write_bytes(file.SerializeToString())
    assert tfport.scan(path).risks == []


@pytest.mark.parametrize(
    "name", ["classifier", "keras_lstm", "table_from_file", "tables_in_memory", "optimizer_slots"]
)
def test_ordinary_models_do_nothing_of_concern(name):
    assert tfport.scan(f"tests/models/{name}").severity in (None, "note")


def test_printing_is_no_file(tmp_path):
    text = X + "p = PrintV2(x)\ny = Identity(x, ^p) {T=string}"
    assert tfport.scan(saved_model(tmp_path, text)).risks == []
    text = X + 'p = PrintV2(x) {output_stream="file:///tmp/x"}\ny = Identity(x, ^p) {T=string}'
    (risk,) = tfport.scan(saved_model(tmp_path, text)).risks
    assert risk.code == "TFP902"


def test_what_saves_a_checkpoint_is_not_run_by_a_model_without_signatures(tmp_path):
    path = saved_model(
        tmp_path, X + "s = SaveV2(x, x, x, x) {dtypes=[string]}\ny = Identity(x, ^s) {T=string}"
    )
    file = SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes())
    (meta,) = file.meta_graphs
    meta.signature_def.clear()
    (tmp_path / "saved_model.pb").write_bytes(file.SerializeToString())
    assert tfport.scan(path).severity == "error"
    meta.saver_def.save_tensor_name = "s"
    (tmp_path / "saved_model.pb").write_bytes(file.SerializeToString())
    assert tfport.scan(path).risks == []
