"""Models as TensorFlow.js models: what is written, and what the real TensorFlow.js did with the files."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.fix.structure.test_unwritten_elements import program
from tests.recorded_models import graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.cli.main import main
from tfport.fix.options import FixOptions
from tfport.fix.tfjs import fix_tfjs
from tfport.fix.tfjs_layers import _names_both_ways, _problems, _weights, _with_renamed_parts
from tfport.graph.build import graph_to_def
from tfport.graph.model import MAIN_OP
from tfport.graph.save import as_saved_model

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests/models"
FAILS = ("cispliceai-1.2.2/cispliceai/data/CI-SpliceAI.pb",)
"""Written, and TensorFlow.js fails: a slice of an input that is shorter than what is cut off."""
EVIDENCE = ROOT / "docs/evidence/tfjs.json"


def model_of(text):
    return tfport.load(graph_to_def(graph(text)).SerializeToString())


def fixed(model, on="tfjs==4.22.0"):
    (target,) = resolve_targets(on)
    return fix_tfjs(model, target, FixOptions())


@pytest.mark.parametrize("name", ["half_plus_two", "keras_lstm", "keras_functional", "table_from_file"])
def test_models_are_written(tmp_path, name):
    result = fixed(tfport.load(MODELS / name))
    assert result.verdict == "fixed"
    result.save(tmp_path / "out")
    written = tfport.load(tmp_path / "out")
    assert list(written.signatures) == ["serving_default"]
    ops = {
        node["op"] for node in json.loads((tmp_path / "out/model.json").read_text())["modelTopology"]["node"]
    }
    assert ops.isdisjoint({"VarHandleOp", "ReadVariableOp", "PartitionedCall", "While", "Assert"})


def test_op_that_tensorflow_js_lacks_is_replaced(tmp_path):
    model = model_of("x = Placeholder() {dtype=float32, shape=(2, 3)}\ny = Xlogy(x, x) {T=float32}")
    result = fixed(model)
    assert result.verdict == "fixed"
    assert "Xlogy" not in {node.op for node in result.model.graph}


def test_channels_first_become_channels_last():
    model = model_of(
        "x = Placeholder() {dtype=float32, shape=(1, 3, 8, 8)}\n"
        "w = Const() {dtype=float32, value=float32(2, 2, 3, 1)[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}\n"
        'y = Conv2D(x, w) {T=float32, data_format="NCHW", padding="VALID", strides=[1, 1, 1, 1]}'
    )
    result = fixed(model)
    assert result.verdict == "fixed"
    assert {n.attrs["data_format"] for n in result.model.graph if n.op == "Conv2D"} == {"NHWC"}


def test_negative_axes_are_counted_from_the_start():
    model = model_of(
        "x = Placeholder() {dtype=float32, shape=(2, 3)}\n"
        "a = Const() {dtype=int32, value=int32()[-1]}\n"
        "p = Const() {dtype=int32, value=int32(2)[-1, 0]}\n"
        "s = Cumsum(x, a) {T=float32, Tidx=int32, exclusive=false, reverse=false}\n"
        "y = Transpose(s, p) {T=float32, Tperm=int32}"
    )
    assert "with a negative axis" in str(
        tfport.check(model, on="tfjs==4.22.0").results[0].findings[0].message
    )
    result = fixed(model)
    assert result.verdict == "fixed"
    axes = {
        n.op: n.inputs[1].node.attrs["value"].numpy().tolist()
        for n in result.model.graph
        if n.op in ("Cumsum", "Transpose")
    }
    assert axes == {"Cumsum": 1, "Transpose": [1, 0]}


@pytest.mark.parametrize("shape", [", shape=(?, 2, 2)", ""])
def test_a_condition_for_each_row_gets_the_other_axes(shape):
    model = model_of(
        "c = Placeholder() {dtype=bool, shape=(?)}\n"
        f"x = Placeholder() {{dtype=float32{shape}}}\n"
        "n = Neg(x) {T=float32}\n"
        "y = Select(c, x, n) {T=float32}"
    )
    (finding,) = tfport.check(model, on="tfjs==4.22.0").results[0].findings
    assert "`Select` with a condition for each row" in finding.message
    result = fixed(model)
    assert result.verdict == "fixed"
    assert "Select" not in {node.op for node in result.model.graph}
    x, c = np.arange(8, dtype=np.float32).reshape(2, 2, 2), np.array([True, False])
    (y,) = tfport.Session(result.model).run(["y:0"], {"c:0": c, "x:0": x})
    assert y.tolist() == [x[0].tolist(), (-x[1]).tolist()]


@pytest.mark.parametrize("condition", [[True, False], [[True, False], [False, True]]])
def test_a_condition_of_unknown_rank_gets_the_axes_that_it_lacks(condition):
    result = fixed(
        model_of(
            "c = Placeholder() {dtype=bool}\n"
            "x = Placeholder() {dtype=float32, shape=(?, 2)}\n"
            "n = Neg(x) {T=float32}\n"
            "y = Select(c, x, n) {T=float32}"
        )
    )
    assert "Select" not in {node.op for node in result.model.graph}
    x, c = np.arange(1, 5, dtype=np.float32).reshape(2, 2), np.array(condition)
    (y,) = tfport.Session(result.model).run(["y:0"], {"c:0": c, "x:0": x})
    assert np.array_equal(y, np.where(c if c.ndim == 2 else c[:, np.newaxis], x, -x))


def test_a_slice_with_steps_drops_axes_afterwards():
    result = fixed(
        model_of(
            "x = Placeholder() {dtype=float32, shape=(?, 4, 3)}\n"
            "b = Const() {dtype=int32, value=int32(3)[0, 0, -1]}\n"
            "e = Const() {dtype=int32, value=int32(3)[0, 0, 0]}\n"
            "s = Const() {dtype=int32, value=int32(3)[1, 2, 1]}\n"
            "y = StridedSlice(x, b, e, s) {T=float32, Index=int32, begin_mask=3, end_mask=3, "
            "ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=4}"
        )
    )
    assert [n.attrs["shrink_axis_mask"] for n in result.model.graph if n.op == "StridedSlice"] == [0]
    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    (y,) = tfport.Session(result.model).run(["y:0"], {"x:0": x})
    assert np.array_equal(y, x[:, ::2, -1])


def test_elements_that_a_loop_does_not_write_are_appended():
    result = fixed(tfport.load(program()))
    assert result.verdict == "fixed"
    gather = next(node for node in result.model.graph if node.op == "TensorArrayGatherV3")
    assert gather.inputs[1].node.inputs[1].node.op == "Exit"
    assert result.model.graph["y"].op == "ConcatV2"
    assert result.model.graph["y/left"].inputs[0].node.op == "Const"


def test_a_number_becomes_true_by_comparison():
    model = model_of(
        "x = Placeholder() {dtype=float32, shape=(2)}\ny = Cast(x) {SrcT=float32, DstT=bool, Truncate=false}"
    )
    result = fixed(model)
    assert result.model.graph["y"].op == "NotEqual"
    (y,) = tfport.Session(result.model).run(["y:0"], {"x:0": np.float32([0.5, 0])})
    assert y.tolist() == [True, False]


def test_what_is_found_in_a_table_has_the_shape_of_the_keys():
    text = (
        "x = Placeholder() {dtype=int64, shape=(?, 1)}\n"
        't = HashTableV2() {key_dtype=int64, value_dtype=int64, shared_name="t"}\n'
        "k = Const() {dtype=int64, value=int64(2)[5, 6]}\nd = Const() {dtype=int64, value=int64()[0]}\n"
        "i = LookupTableImportV2(t, k, k) {Tin=int64, Tout=int64}\n"
        "y = LookupTableFindV2(t, x, d) {Tin=int64, Tout=int64}"
    )
    model = model_of(text)
    findings = tfport.check(model, on="tfjs==4.22.0", fetches=["y:0"]).results[0].findings
    assert any("`LookupTableFindV2` with keys that are not a vector" in f.message for f in findings)
    (target,) = resolve_targets("tfjs==4.22.0")
    result = fix_tfjs(model, target, FixOptions(fetches=("y:0",)))
    assert result.model.graph["y"].op == "Reshape"
    assert [value.node.op for value in result.model.graph["y"].inputs] == ["LookupTableFindV2", "Shape"]


@pytest.mark.parametrize("on", ["tfjs[cpu]==3.21.0", "tfjs[wasm]==3.21.0", "tfjs==2.8.6"])
def test_a_table_becomes_a_comparison_where_it_is_empty_in_the_second_call(on):
    text = (
        "t = HashTableV2() {key_dtype=int64, value_dtype=float32}\n"
        "k = Const() {dtype=int64, value=int64(2)[5, 6]}\n"
        "v = Const() {dtype=float32, value=float32(2)[1, 2]}\n"
        "i = LookupTableImportV2(t, k, v) {Tin=int64, Tout=float32}\n"
        "x = Placeholder() {dtype=int64, shape=(?)}\nd = Const() {dtype=float32, value=float32()[0]}\n"
        "y = LookupTableFindV2(t, x, d) {Tin=int64, Tout=float32}"
    )
    model = as_saved_model(model_of(text), ["y:0"], ["x:0"])
    model.meta.collection_def[MAIN_OP].node_list.value.append("i")
    (finding,) = tfport.check(model, on=on).results[0].findings
    assert "op `HashTableV2`, but the table is empty from the second call on" in finding.message
    assert tfport.check(model, on="tfjs==4.22.0").verdict == "runs"
    result = fixed(model, on)
    assert result.verdict == "fixed"
    assert "HashTableV2" not in {node.op for node in result.model.graph}
    answers = tfport.Session(result.model).signature("serving_default")(x=np.array([6, 7]))
    assert next(iter(answers.values())).tolist() == [2, 0]


def test_a_number_for_nan_is_a_note():
    model = model_of("x = Placeholder() {dtype=float32, shape=(?)}\ny = Relu6(x) {T=float32}")
    on_wasm = tfport.check(model, on="tfjs[wasm]==4.22.0")
    assert on_wasm.verdict == "runs"
    assert [(f.code, f.severity) for f in on_wasm.results[0].findings] == [("TFP835", "note")]
    assert not tfport.check(model, on="tfjs[cpu]==4.22.0").results[0].findings


@pytest.mark.parametrize(("node", "codes"), [
    ("y = Cast(x) {SrcT=float32, DstT=bool}", ["TFP836"]),
    ("y = Cast(x) {SrcT=float32, DstT=int32}", []),
    ('y = MaxPoolWithArgmax(x) {T=float32, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="VALID"}',
     ["TFP836"]),
])  # fmt: skip
def test_wrong_answers_for_some_numbers_are_a_note(node, codes):
    model = model_of(f"x = Placeholder() {{dtype=float32, shape=(1, 4, 4, 1)}}\n{node}")
    on_wasm = tfport.check(model, on="tfjs[wasm]==4.22.0")
    assert on_wasm.verdict == "runs"
    assert [f.code for f in on_wasm.results[0].findings] == codes
    assert not tfport.check(model, on="tfjs[cpu]==4.22.0").results[0].findings


def test_numbers_that_are_not_zero_are_found_by_comparison():
    result = fixed(model_of("x = Placeholder() {dtype=float32, shape=(?)}\ny = Where(x) {T=float32}"))
    assert result.verdict == "fixed"
    assert result.model.graph["y"].inputs[0].node.op == "NotEqual"
    (y,) = tfport.Session(result.model).run(["y:0"], {"x:0": np.float32([0.5, 0, -0.5])})
    assert y.tolist() == [[0], [2]]


@pytest.mark.parametrize(("op", "strides", "becomes"), [
    ("MaxPool", [1, 2, 3, 1], "StridedSlice"), ("AvgPool", [1, 1, 2, 1], "StridedSlice"),
    ("MaxPool", [1, 1, 1, 1], "Identity"),
])  # fmt: skip
def test_a_pool_with_a_window_of_one_element_is_a_slice(op, strides, becomes):
    model = model_of(
        "x = Placeholder() {dtype=float32, shape=(?, ?, ?, 2)}\n"
        f'y = {op}(x) {{T=float32, ksize=[1, 1, 1, 1], strides={strides}, padding="SAME"}}'
    )
    finding, *_notes = tfport.check(model, on="tfjs[wasm]==3.21.0").results[0].findings
    assert f"`{op}` with ksize=[1, 1, 1, 1]" in finding.message
    assert tfport.check(model, on="tfjs[wasm]==4.22.0").verdict == "runs"
    assert fixed(model).model.graph["y"].op == op
    result = fixed(model, "tfjs[wasm]==3.21.0")
    assert result.verdict == "fixed"
    assert result.model.graph["y"].op == becomes
    x = np.arange(70, dtype=np.float32).reshape(1, 5, 7, 2)
    (y,) = tfport.Session(result.model).run(["y:0"], {"x:0": x})
    assert y.tolist() == x[:, :: strides[1], :: strides[2]].tolist()


@pytest.mark.parametrize(("begin", "end", "masks"), [
    ([0, 3, 0], [0, -2, 0], "begin_mask=5, end_mask=5"),
    ([3, 0], [-2, 0], "ellipsis_mask=2"),
    ([0, 3, 1], [0, -2, -1], "ellipsis_mask=1"),
    ([0, 0, 3, 0], [0, 0, -2, 1], "new_axis_mask=1, begin_mask=2, end_mask=2, shrink_axis_mask=8"),
])  # fmt: skip
@pytest.mark.parametrize("sizes", ["?, ?, 4", ""])
def test_an_axis_that_is_too_short_for_both_crops_gets_empty(begin, end, masks, sizes):
    count = len(begin)
    shape = f", shape=({sizes})" if sizes else ""
    model = model_of(
        f"x = Placeholder() {{dtype=float32{shape}}}\n"
        f"b = Const() {{dtype=int32, value=int32({count}){begin}}}\n"
        f"e = Const() {{dtype=int32, value=int32({count}){end}}}\n"
        f"s = Const() {{dtype=int32, value=int32({count}){[1] * count}}}\n"
        f"y = StridedSlice(x, b, e, s) {{T=float32, Index=int32, {masks}}}"
    )
    result = fixed(model)
    assert result.verdict == "fixed"
    assert "y/without_end" in result.model.graph
    for size in (9, 5, 4, 1):
        x = np.arange(size * size * 4, dtype=np.float32).reshape(size, size, 4)
        ours, theirs = (tfport.Session(m).run(["y:0"], {"x:0": x})[0] for m in (result.model, model))
        assert ours.shape == theirs.shape
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(("begin", "end", "size"), [(3, -2, 9), (0, -2, "?"), (3, 5, "?"), (-4, -2, "?")])
def test_slices_that_leave_something_stay(begin, end, size):
    model = model_of(
        f"x = Placeholder() {{dtype=float32, shape=({size})}}\n"
        f"b = Const() {{dtype=int32, value=int32(1)[{begin}]}}\n"
        f"e = Const() {{dtype=int32, value=int32(1)[{end}]}}\n"
        "s = Const() {dtype=int32, value=int32(1)[1]}\n"
        "y = StridedSlice(x, b, e, s) {T=float32, Index=int32}"
    )
    assert "y/without_end" not in fixed(model).model.graph


def test_what_a_loop_starts_with_waits_for_its_other_values():
    result = fixed(tfport.load(MODELS / "keras_lstm"))
    enters = [node for node in result.model.graph if node.op == "Enter" and not node.attrs["is_constant"]]
    first = [node.inputs[0].node for node in enters]
    assert not any(node.op == "Const" for node in first)
    assert any(node.name.endswith("/start") and node.controls for node in first)


def test_weights_of_both_directions_have_the_names_of_tensorflow_js():
    names = _names_both_ways("both", "lstm", ["lstm/kernel", "lstm/bias", "lstm/kernel_1", "lstm/bias_1"])
    ways = ("both/forward_lstm", "both/backward_lstm")
    assert names == [f"{way}/{leaf}" for way in ways for leaf in ("kernel", "bias")]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = Placeholder() {dtype=int32, shape=(2)}\nd = Const() {dtype=int32, value=int32()[3]}\n"
         "a = Const() {dtype=float32, value=float32()[1]}\nb = Const() {dtype=float32, value=float32()[0]}\n"
         "y = OneHot(x, d, a, b) {T=float32, TI=int32, axis=0}", "`OneHot` with axis=0"),
        ("x = Placeholder() {dtype=float32, shape=(2, 2, 2, 1)}\n"
         "s = Const() {dtype=float32, value=float32(1)[1]}\ne = Const() {dtype=float32, value=float32(0)[]}\n"
         "y = FusedBatchNormV3(x, s, s, e, e) {T=float32, U=float32, is_training=true}\n"
         "z = Relu(y) {T=float32}",
         "`FusedBatchNormV3` with is_training=True"),
    ],
)  # fmt: skip
def test_attributes_that_tensorflow_js_ignores_are_avoided(text, what):
    model = model_of(text)
    assert any(what in f.message for f in tfport.check(model, on="tfjs==4.22.0").results[0].findings)
    assert fixed(model).verdict == "fixed"


def test_strings_have_a_caveat():
    result = fixed(tfport.load(ROOT / "examples/attention"))
    assert any("UTF-8" in text for text in result.verification.caveats)


def test_what_cannot_be_written_is_refused_with_the_reason():
    result = fixed(tfport.load(MODELS / "sparse"))
    assert result.verdict == "remains"
    assert any("does not know op `SparseDenseCwiseMul`" in reason for reason in result.remaining)


def test_command_quantizes_and_says_what_it_cannot_do(tmp_path, capsys):
    source = str(MODELS / "keras_functional")
    assert main(["export", source, "--format", "tfjs", "--quantize", "uint8", "-o", str(tmp_path / "q")]) == 0
    entries = json.loads((tmp_path / "q/model.json").read_text())["weightsManifest"][0]["weights"]
    assert any(entry.get("quantization", {}).get("dtype") == "uint8" for entry in entries)
    assert (
        main(["export", source, "--format", "tfjs", "--for", "tensorflow==2.8.4", "-o", str(tmp_path / "t")])
        == 2
    )
    assert main(["export", source, "--format", "tfjs-layers", "-o", str(tmp_path / "l")]) == 2
    assert "has no layers; `--format tfjs` writes its graph" in capsys.readouterr().err


def test_the_certificate_has_the_loss_of_quantized_weights(tmp_path, capsys):
    source = str(ROOT / "tests/fix/files/keras_3.keras")
    for kind in ("tfjs", "tfjs-layers"):
        options = ["--format", kind, "--quantize", "uint8", "--json"]
        assert main(["export", source, *options, "-o", str(tmp_path / kind)]) == 0
        certificate = json.loads(capsys.readouterr().out)["certificate"]
        (output,) = certificate["comparisons"][0]["outputs"].values()
        assert certificate["target"] == "tfjs[webgl]==4.22.0"
        assert certificate["keeps"] == "lossy"
        assert 0 < output["absolute"] < 0.05 * output["largest"]
        assert 0 < output["same_argmax"] <= output["rows"]
        assert any("the largest element is the same in" in text for text in certificate["caveats"])
        refused = str(tmp_path / f"{kind}-refused")
        assert main(["export", source, *options, "-o", refused, "--tolerance", "1e-6"]) == 1
        assert json.loads(capsys.readouterr().out)["output"] is None


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("GRU", {"reset_after": True}, "GRU with reset_after"),
        ("Conv1D", {"padding": "causal"}, "Conv1D with causal padding"),
        ("ELU", {"alpha": 0.5}, "ELU with alpha 0.5"),
        ("ELU", {"alpha": 1.0}, None),
        ("Resizing", {"height": 2, "width": 2}, "Resizing that other layers can follow"),
        ("Dense", {"kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.1}}}, None),
        ("Dense", {"kernel_initializer": {"class_name": "Mine", "config": {}}}, "initializer Mine"),
    ],
)
def test_options_that_layers_of_tensorflow_js_lack_are_problems(name, options, problem):
    config = {"class_name": name, "config": options}
    assert list(_problems([config], {name, "L1L2"})) == ([problem] if problem else [])


def test_regularizers_and_initializers_have_the_names_of_tensorflow_js():
    parts = {
        "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.1}},
        "bias_regularizer": {"class_name": "L1", "config": {"l1": 0.2}},
        "kernel_initializer": {"class_name": "LecunNormal", "config": {"seed": None}},
        "activity_regularizer": None,
    }
    (layer,) = _with_renamed_parts([{"class_name": "Dense", "config": parts}])
    assert layer["config"] == {
        "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.1}},
        "bias_regularizer": {"class_name": "L1L2", "config": {"l1": 0.2, "l2": 0.0}},
        "kernel_initializer": {"class_name": "LeCunNormal", "config": {"seed": None}},
        "activity_regularizer": None,
    }


def test_layers_model_is_written_and_read_again(tmp_path):
    source = ROOT / "tests/fix/files/keras_3.keras"
    assert main(["export", str(source), "--format", "tfjs-layers", "-o", str(tmp_path / "l")]) == 0
    document = json.loads((tmp_path / "l/model.json").read_text())
    assert document["format"] == "layers-model"
    ours, theirs = tfport.load(tmp_path / "l"), tfport.load(source)
    (signature,) = theirs.signatures.values()
    inputs = {
        name: np.ones([size or 2 for size in spec.shape.dims], spec.dtype.numpy)
        for name, spec in signature.inputs.items()
    }
    a, b = (tfport.Session(model).signature(signature.name)(**inputs) for model in (ours, theirs))
    for name, array in b.items():
        np.testing.assert_allclose(a[name], array, rtol=1e-5)


def test_weights_in_layers_for_each_step_have_the_names_of_tensorflow_js():
    """In the layer's own scope, without the name of the layer in it; models in it keep their names."""
    dense = {"class_name": "Dense", "config": {"name": "dense"}}
    inner = {"class_name": "Sequential", "config": {"name": "inner", "layers": [dense]}}
    layers = [
        {"class_name": "TimeDistributed", "config": {"name": name, "layer": layer}}
        for name, layer in (("each", dense), ("each_model", inner))
    ]
    names = {"each": ["dense/kernel:0", "dense/bias:0"], "each_model": ["dense/kernel:0"]}
    weights = {
        layer: [SimpleNamespace(name=name, read=lambda: np.zeros(1, np.float32)) for name in own]
        for layer, own in names.items()
    }
    config = {"class_name": "Sequential", "config": {"name": "outer", "layers": layers}}
    file = SimpleNamespace(config=config, weights=SimpleNamespace(lists=weights))
    assert [name for name, _ in _weights(file)] == ["each/kernel", "each/bias", "dense/kernel"]


def test_only_known_models_failed_in_the_real_releases():
    records = json.loads(EVIDENCE.read_text())
    assert len(records) > 60
    for name, record in records.items():
        for outcome in (record, record.get("layers", {})):
            answers = [text for key, text in outcome.items() if key[0].isdigit()]
            if name not in FAILS:
                assert all(text.startswith(("same", "not for this release")) for text in answers), name


def test_volumes_in_groups_of_channels_are_refused():
    text = """
        x = Placeholder() {{dtype=float32, shape=(?, 3, 3, 3, 4)}}
        k = Placeholder() {{dtype=float32, shape=(2, 2, 2, {}, 6)}}
        y = Conv3D(x, k) {{T=float32, strides=[1, 1, 1, 1, 1], padding="VALID", data_format="NDHWC"}}"""
    result = fixed(model_of(text.format(2)))
    assert result.verdict == "remains"
    assert "does not support op `Conv3D` with groups of channels" in " ".join(result.remaining)
    assert fixed(model_of(text.format(4))).verdict == "fixed"


def test_what_wasm_answers_wrongly_is_said():
    pool = 'strides=[1, 2, 2, 2, 1], ksize=[1, 2, 2, 2, 1], padding="VALID", data_format="NDHWC"'
    text = "x = Placeholder() {dtype=float32, shape=(1, 4, 4, 4, 2)}\n"
    largest, average = (
        fixed(model_of(f"{text}y = {op}(x) {{T=float32, {pool}}}")) for op in ("MaxPool3D", "AvgPool3D")
    )
    warning = "tfjs 4.22.0 (wasm) answers MaxPool3D wrongly for windows of negative numbers only"
    assert warning in largest.verification.caveats
    assert warning not in average.verification.caveats
