"""Numbers, sizes and batches that TensorFlow.js has otherwise: rewritten, or refused with the reason."""

import json

import numpy as np
import pytest
from tests.fix.test_tfjs import fixed, model_of

import tfport


def test_sizes_of_zero_are_written(tmp_path):
    model = model_of("x = Placeholder() {dtype=float32, shape=(2, 0, 3)}\ny = Neg(x) {T=float32}")
    fixed(model).save(tmp_path / "out")
    document = json.loads((tmp_path / "out/model.json").read_text())
    (placeholder,) = [n for n in document["modelTopology"]["node"] if n["op"] == "Placeholder"]
    assert [dim["size"] for dim in placeholder["attr"]["shape"]["shape"]["dim"]] == ["2", "0", "3"]
    (described,) = document["signature"]["inputs"].values()
    assert [dim["size"] for dim in described["tensorShape"]["dim"]] == ["2", "0", "3"]


@pytest.mark.parametrize(("dtype", "kept"), [("uint8", [44, 112, 255]), ("int8", [44, 112, -1])])
def test_integers_that_become_bytes_keep_their_low_bits(dtype, kept):
    model = model_of(
        f"x = Placeholder() {{dtype=int32, shape=(3)}}\ny = Cast(x) {{SrcT=int32, DstT={dtype}}}"
    )
    written = fixed(model).model
    session, x = tfport.Session(written), np.array([300, 70000, -1], np.int32)
    assert session.run([written.graph.nodes["y"].inputs[0].name], {"x:0": x})[0].tolist() == kept


@pytest.mark.parametrize(
    ("node", "leaves"),
    [
        ("Div(x, x) {T=int32}", {"Div"}),
        ("TruncateDiv(x, x) {T=int32}", {"Div", "TruncateDiv"}),
        ("Mean(x, a) {T=int32, Tidx=int32, keep_dims=false}", {"Mean"}),
    ],
)
def test_quotients_of_integers_are_rounded_towards_zero(node, leaves):
    axes = "a = Const() {dtype=int32, value=int32(1)[0]}\n" if "a)" in node else ""
    result = fixed(model_of(f"x = Placeholder() {{dtype=int32, shape=(3)}}\n{axes}y = {node}"))
    assert result.model is not None
    assert leaves.isdisjoint(node.op for node in result.model.graph)


@pytest.mark.parametrize(
    ("left", "right", "repeated"), [((2, 1, 3, 4), (5, 4, 2), 2), ((2, 2, 3, 4), (4, 2), 0)]
)
def test_batches_that_are_broadcast_get_one_shape(left, right, repeated):
    result = fixed(
        model_of(
            f"x = Placeholder() {{dtype=float32, shape={left}}}\n"
            f"w = Placeholder() {{dtype=float32, shape={right}}}\n"
            "y = BatchMatMulV2(x, w) {T=float32}"
        )
    )
    assert sum(node.op == "BroadcastTo" for node in result.model.graph) == repeated
    x, w = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in (left, right))
    (y,) = tfport.Session(result.model).run(["y:0"], {"x:0": x, "w:0": w})
    assert np.array_equal(y, x @ w)


VECTOR, IMAGE = "x = Placeholder() {dtype=%s, shape=(4)}\n", "x = Placeholder() {dtype=float32, shape=%s}\n"
BOUNDS = "b = Const() {dtype=int32, value=int32(%s)[%s]}\ne = Const() {dtype=int32, value=int32(%s)[%s]}\n"
SLICE = (
    BOUNDS
    + "s = Const() {dtype=int32, value=int32(%s)[%s]}\ny = StridedSlice(x, b, e, s) {T=%s, Index=int32}"
)


@pytest.mark.parametrize(
    ("on", "text", "what"),
    [
        ("tfjs", VECTOR % "int32" + "y = Cast(x) {SrcT=int32, DstT=float16}", "SrcT=int32 DstT=float16"),
        ("tfjs", VECTOR % "int8" + "y = Neg(x) {T=int8}", "T=int8"),
        ("tfjs", IMAGE % "(1, 4, 4, 6)" + "w = Placeholder() {dtype=float32, shape=(3, 3, 3, 4)}\n"
         'y = Conv2D(x, w) {T=float32, padding="SAME", strides=[1, 1, 1, 1]}', "groups of channels"),
        ("tfjs", IMAGE % "(3, 4)" + SLICE % (2, "2, 0", 2, "1, 9", 2, "1, 1", "float32"), "without elements"),
        ("tfjs", IMAGE % "(2, 1, 3, 4)" + "w = Placeholder() {dtype=float32, shape=(5, 4, 2)}\n"
         "y = BatchMatMulV2(x, w) {T=float32}", "batches that are broadcast"),
        ("tfjs", IMAGE % "(2, 0)" + "a = Const() {dtype=int32, value=int32(1)[1]}\n"
         "y = Mean(x, a) {T=float32, Tidx=int32, keep_dims=false}", "`Mean` with no elements"),
        ("tfjs[wasm]", VECTOR % "int32" + SLICE % (1, 0, 1, 4, 1, 2, "int32"), "steps and T=int32"),
        ("tfjs[wasm]", IMAGE % "(2, 0)" + "a = Const() {dtype=int32, value=int32(1)[1]}\n"
         "y = Prod(x, a) {T=float32, Tidx=int32, keep_dims=false}", "`Prod` with no elements"),
        ("tfjs[wasm]", IMAGE % "(2, 4)" + "i = Placeholder() {dtype=int32, shape=(2, 1)}\n"
         "a = Const() {dtype=int32, value=int32()[1]}\n"
         "y = GatherV2(x, i, a) {Tparams=float32, Tindices=int32, Taxis=int32, batch_dims=1}",
         "batch_dims=1"),
        ("tfjs[wasm]", VECTOR % "bool" + "y = SelectV2(x, x, x) {T=bool}", "T=bool"),
    ],
)  # fmt: skip
def test_what_real_releases_answer_wrongly_is_found(on, text, what):
    (result,) = tfport.check(model_of(text), on=f"{on}==4.22.0").results
    assert result.verdict == "fails"
    assert any(what in finding.message for finding in result.findings)


def test_slices_that_leave_elements_are_supported():
    text = IMAGE % "(3, 4)" + SLICE % (2, "1, 0", 2, "-1, 9", 2, "1, 1", "float32")
    assert tfport.check(model_of(text), on="tfjs[wasm]==4.22.0").verdict == "runs"


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_long_integers_have_a_caveat(dtype):
    result = fixed(model_of(f"x = Placeholder() {{dtype={dtype}, shape=(3)}}\ny = Neg(x) {{T={dtype}}}"))
    assert any("int32 for int64" in text for text in result.verification.caveats) == (dtype == "int64")
