"""Sessions of models whose variables cannot get their values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.truth_models import model_folder

import tfport
from tfport.formats.checkpoint.write import write_bundle
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.build import graph_to_def

FLOAT, DOUBLE = graph_pb2.DT_FLOAT, graph_pb2.DT_DOUBLE

GRAPH = """
    file = Const() {{dtype=string, value=string()["model"]}}
    names = Const() {{dtype=string, value=string(2,)["w", "slot"]}}
    parts = Const() {{dtype=string, value=string(2,)["{part}", ""]}}
    restored = RestoreV2(file, names, parts) {{dtypes=[float32, float32]}}
    w = {variable} {{dtype=float32, shape=(2, 3)}}
    slot = {variable} {{dtype=float32, shape=(5,)}}
    local = {variable} {{dtype=float32, shape=(2,)}}
    sizes = Const() {{dtype=int32, value=int32(2,)[2, 3]}}
    shaped = Reshape(restored, sizes) {{T=float32, Tshape=int32}}
    set_w = {assign}(w, {value}) {{T=float32, dtype=float32}}
    set_slot = {assign}(slot, restored:1) {{T=float32, dtype=float32}}
    restore = NoOp(^set_w, ^set_slot)
    x = Placeholder() {{dtype=float32, shape=(?, 2)}}
    {read}
    y = MatMul(x, read) {{T=float32}}
    z = Neg(x) {{T=float32}}
"""
REF = {"variable": "VariableV2()", "assign": "Assign", "read": "read = Identity(w) {T=float32}"}
RESOURCE = {
    "variable": "VarHandleOp()",
    "assign": "AssignVariableOp",
    "read": "read = ReadVariableOp(w) {dtype=float32}",
}
KINDS = {"ref": REF, "resource": RESOURCE}
W, SLOT = np.ones((2, 3), np.float32), np.ones(5, np.float32)


def meta_graph(folder, kind, tensors, *, part="", value="restored", signatures=()):
    """A `.meta` file with its checkpoint."""
    text = GRAPH.format(**KINDS[kind], part=part, value=value)
    unknown = "T=float32, dtype=float32"
    text = text.replace(unknown, "T=float32" if kind == "ref" else "dtype=float32")
    meta = pb.MetaGraphDef()
    meta.graph_def.CopyFrom(graph_to_def(graph(text)))
    meta.saver_def.filename_tensor_name = "file:0"
    meta.saver_def.restore_op_name = "restore"
    for name in signatures:
        signature = meta.signature_def[name]
        signature.inputs["x"].name, signature.outputs["y"].name = "x:0", f"{name}:0"
    (folder / "model.meta").write_bytes(meta.SerializeToString())
    if tensors is not None:
        write_bundle(folder / "model", tensors)
    return str(folder / "model.meta")


@pytest.mark.parametrize("kind", KINDS)
def test_matching_tensors_are_restored(tmp_path, kind):
    session = tfport.Session(meta_graph(tmp_path, kind, {"w": (W, FLOAT), "slot": (SLOT, FLOAT)}))
    assert session.run("y:0", {"x:0": np.ones((1, 2), np.float32)}).tolist() == [[2, 2, 2]]


MISMATCHES = {
    "shape": ({"w": (W[:1], FLOAT)}, ["tensor `w` is float32 (1, 3), but variable `w` is float32 (2, 3)"]),
    "type": ({"w": (W.astype(np.float64), DOUBLE)}, ["tensor `w` is float64 (2, 3), but variable `w`"]),
    "missing": ({"w": None}, ["there is no tensor `w` for variable `w` (float32 (2, 3))"]),
    "slot": ({"slot": (SLOT[:1], FLOAT)}, ["tensor `slot` is float32 (1,), but variable `slot` is float32"]),
    "both": (
        {"w": (W.T, FLOAT), "slot": None},
        ["2 tensors do not match", "tensor `w` is float32 (3, 2)", "no tensor `slot`"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("changes", "texts"), MISMATCHES.values(), ids=MISMATCHES)
def test_a_session_refuses_all_tensors_that_do_not_match(tmp_path, kind, changes, texts):
    tensors = {"w": (W, FLOAT), "slot": (SLOT, FLOAT), "other": (SLOT, FLOAT), **changes}
    path = meta_graph(tmp_path, kind, {name: tensor for name, tensor in tensors.items() if tensor})
    with pytest.raises(tfport.Error) as caught:
        tfport.Session(path)
    for text in (*texts, f"{tmp_path}/model: ", "use the checkpoint that was written with this graph"):
        assert text in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_slice_must_come_from_a_tensor_of_the_declared_shape(tmp_path, kind):
    whole = np.arange(12, dtype=np.float32).reshape(4, 3)
    tensors = {"w": (whole, FLOAT), "slot": (SLOT, FLOAT)}
    session = tfport.Session(meta_graph(tmp_path, kind, tensors, part="4 3 2,2:-"))
    assert session.run("read:0").tolist() == whole[2:].tolist()
    write_bundle(tmp_path / "model", {"w": (np.ones((6, 3), np.float32), FLOAT), "slot": (SLOT, FLOAT)})
    with pytest.raises(tfport.Error, match=r"tensor `w` is float32 \(6, 3\), .* is float32 \(4, 3\)"):
        tfport.Session(str(tmp_path / "model.meta"))


def test_a_tensor_that_the_saver_reshapes_needs_the_same_number_of_elements(tmp_path):
    path = meta_graph(tmp_path, "ref", {"w": (W.reshape(6), FLOAT), "slot": (SLOT, FLOAT)}, value="shaped")
    assert tfport.Session(path).run("read:0").shape == (2, 3)
    write_bundle(tmp_path / "model", {"w": (np.ones(7, np.float32), FLOAT), "slot": (SLOT, FLOAT)})
    with pytest.raises(tfport.Error, match=r"tensor `w` is float32 \(7,\)"):
        tfport.Session(path)


SAVED_MODELS = {
    "tensor_of_another_shape": "tensor `v` is float32 (3,), but variable `v` is float32 (2,)",
    "ref_tensor_of_another_shape": "tensor `v` is float32 (3,), but variable `v` is float32 (2,)",
    "tensor_of_another_type": "tensor `v` is float64 (2,), but variable `v` is float32 (2,)",
    "tensor_missing": "there is no tensor `v` for variable `v`",
    "index_missing": "variables/variables.index: missing",
}


@pytest.mark.parametrize(("name", "text"), SAVED_MODELS.items(), ids=SAVED_MODELS)
def test_a_saved_model_is_refused_and_its_own_target_says_so(name, text):
    model = model_folder(f"tests/truth/models/{name}")
    with pytest.raises(tfport.Error) as caught:
        tfport.Session(model)
    assert text in str(caught.value)
    result = tfport.check(model, on="tfport").results[0]
    assert (result.verdict, result.stage) == ("fails", "load")


def test_a_session_is_refused_if_no_signature_has_its_variables(tmp_path):
    path = meta_graph(tmp_path, "resource", None, signatures=["y"])
    with pytest.raises(tfport.Error, match=r"variable `w` is uninitialized; .*model.index, which should"):
        tfport.Session(path)


def test_a_signature_that_needs_no_variable_runs(tmp_path):
    session = tfport.Session(meta_graph(tmp_path, "ref", None, signatures=["y", "z"]))
    assert session.signature("z")(x=[[1, 2]])["y"].tolist() == [[-1, -2]]
    with pytest.raises(tfport.Error, match="variable `w` is uninitialized"):
        session.signature("y")
    session.state.variable("w", None, (2, 3)).assign(W)
    assert session.signature("y")(x=[[1, 2]])["y"].tolist() == [[3, 3, 3]]


def test_a_fetch_names_the_file_that_should_have_its_variable(tmp_path):
    session = tfport.Session(meta_graph(tmp_path, "resource", None))
    with pytest.raises(
        tfport.Error, match=r"`w` is uninitialized; .*/model\.index, which should have it, is"
    ):
        session.run("y:0", {"x:0": W[:, :2]})
