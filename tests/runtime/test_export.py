"""Export to ONNX: valid files with the names of the signature and the same outputs, or an error."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.recorded_models import load
from tests.runtime.programs import session_of

import tfport
from tfport.formats.lite.records import LiteFile, Subgraph
from tfport.formats.lite.write import lite_bytes
from tfport.runtime.export import export_signature
from tfport.runtime.onnx import file
from tfport.runtime.select_signature import select_signature


def run_onnx(path, **inputs):
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def exported(session, path):
    export_signature(session, select_signature(session.model), str(path))
    return path


@pytest.mark.parametrize("name", ["keras_sequential", "keras_functional", "custom_gradient"])
def test_an_exported_model_has_the_same_outputs_as_the_session(name, tmp_path):
    session = tfport.Session(load(name))
    signature = select_signature(session.model)
    rng = np.random.default_rng(0)
    inputs = {
        n: rng.random([2 if d is None else d for d in s.shape.dims]).astype(s.dtype.numpy)
        for n, s in signature.inputs.items()
    }
    answers = run_onnx(exported(session, tmp_path / "m.onnx"), **inputs)
    expected = session.signature(signature.name)(**inputs)
    assert answers.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_allclose(answers[key], array, rtol=1e-6)


def test_constants_inputs_and_duplicates_may_be_outputs(tmp_path):
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(?,)}
        y = Neg(x) {T=float32}
        same = Identity(x) {T=float32}
        again = Identity(y) {T=float32}
        one = Const() {dtype=int32, value=int32()[1]}
        k = Identity(one) {T=int32}
    """)
    signature = select_signature(session.model, fetches=["y", "same", "again", "k"])
    export_signature(session, signature, str(tmp_path / "m.onnx"))
    answers = run_onnx(tmp_path / "m.onnx", x=np.float32([1, 2]))
    assert {k: v.tolist() for k, v in answers.items()} == {
        "y": [-1, -2], "same": [1, 2], "again": [-1, -2], "k": 1,
    }  # fmt: skip


def test_weights_too_large_for_one_message_are_in_a_separate_file(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "MAX_INLINE_BYTES", 10)
    monkeypatch.setattr("tfport.runtime.onnx.model.SMALL", 4)
    session = tfport.Session(load("keras_sequential"))
    exported(session, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx.data").stat().st_size > 10
    ((name, spec),) = select_signature(session.model).inputs.items()
    x = np.ones([2 if d is None else d for d in spec.shape.dims], np.float32)
    ((key, expected),) = session.signature("serving_default")(**{name: x}).items()
    np.testing.assert_allclose(run_onnx(tmp_path / "m.onnx", **{name: x})[key], expected, rtol=1e-6)


def test_nodes_without_a_lowering_are_listed_and_nothing_is_written(tmp_path):
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(?,)}
        s = AsString(x) {T=float32}
        n = StringToNumber(s) {out_type=float32}
    """)
    with pytest.raises(
        tfport.CannotRun, match=r"2 nodes cannot be exported to ONNX, only run: `s` \(AsString\).*`n`"
    ):
        exported(session, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_every_node_without_a_lowering_has_a_reason(tmp_path):
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(2,)}
        i = Placeholder() {dtype=int32, shape=()}
        n = Const() {dtype=int32, value=int32()[2]}
        a = TensorArrayV3(n) {dtype=float32, element_shape=(2,)}
        w = TensorArrayWriteV3(a, i, x, a:1) {T=float32}
        y = TensorArrayReadV3(a, i, w) {dtype=float32}
    """)
    with pytest.raises(tfport.CannotRun, match="cannot be exported to ONNX, only run") as refused:
        exported(session, tmp_path / "m.onnx")
    _, _, reasons = str(refused.value).partition("only run: ")
    assert all(reason.partition(": ")[2] for reason in reasons.split("; "))


def test_side_effects_cannot_be_exported(tmp_path):
    with pytest.raises(tfport.CannotRun, match=r"`AssignAddVariableOp`.*: it has side effects"):
        exported(tfport.Session(load("module")), tmp_path / "m.onnx")


def test_string_inputs_cannot_be_exported(tmp_path):
    session = session_of("x = Placeholder() {dtype=string, shape=(?,)}\ny = StringLower(x)")
    with pytest.raises(tfport.CannotRun, match="`x` is dense string, which ONNX does not support"):
        exported(session, tmp_path / "m.onnx")


def test_padding_of_int16_is_exported(tmp_path):
    """ONNX Runtime itself pads no int16."""
    session = session_of("""
        x = Placeholder() {dtype=int16, shape=(2,)}
        sides = Const() {dtype=int32, value=int32(1,2)[1, 2]}
        with = Const() {dtype=int16, value=int16()[-7]}
        y = PadV2(x, sides, with) {T=int16, Tpaddings=int32}
    """)
    made = run_onnx(exported(session, tmp_path / "m.onnx"), x=np.array([300, -300], np.int16))
    assert [(array.dtype, array.tolist()) for array in made.values()] == [(np.int16, [-7, 300, -300, -7, -7])]


def test_a_model_without_outputs_is_not_exported(tmp_path):
    empty = lite_bytes(LiteFile("", 3, "", [], [Subgraph("main", [], [], (), ())], [], [b""], []))
    with pytest.raises(tfport.CannotRun, match="nothing to export: the signature has no outputs"):
        exported(tfport.Session(tfport.load(empty)), tmp_path / "m.onnx")


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "m.onnx").write_text("mine")
    with pytest.raises(tfport.Error, match="already exists"):
        exported(tfport.Session(load("keras_sequential")), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_text() == "mine"


def test_variables_without_a_value_are_named(tmp_path):
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(2)}
        v = VarHandleOp() {dtype=float32, shape=(2), shared_name="scale", container=""}
        w = ReadVariableOp(v) {dtype=float32}
        y = Mul(x, w) {T=float32}
        z = Neg(x) {T=float32}
    """)
    says = r"variable `scale` is uninitialized; .*; --fetch names outputs that do not need them"
    with pytest.raises(tfport.CannotRun, match=says):
        exported(session, tmp_path / "m.onnx")
