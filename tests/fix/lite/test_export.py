"""Models of other formats as TensorFlow Lite files."""

import importlib.util

import pytest
from tests.fix.certify.models import frozen
from tests.recorded_models import path_of

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import CannotRun, Error
from tfport.fix.lite.export import LiteExportOptions, export_lite, translated
from tfport.fix.options import FixOptions
from tfport.fix.rule import LOSSY
from tfport.graph.save import as_saved_model, save_model
from tfport.graph.save_tfjs import chosen_signature
from tfport.runtime.engines.litert.translate import RULES

HAS_LITERT = importlib.util.find_spec("ai_edge_litert") is not None
WRITTEN = (
    "counter", "custom_gradient", "frozen", "functional_loops", "keras_functional", "keras_lstm",
    "keras_sequential",
    "nested_functions", "ref_variables", "table_from_file", "tensor_lists",
)  # fmt: skip


def exported(name, target="ai-edge-litert==2.3.0", lite=None, **options):
    model = tfport.load(path_of(name))
    (chosen,) = resolve_targets(target)
    return export_lite(model, chosen, "m.tflite", FixOptions(**options), lite or LiteExportOptions())


@pytest.mark.parametrize("name", WRITTEN)
def test_the_file_answers_as_the_model(name):
    fixed = exported(name)
    assert fixed.ok, fixed.verification and fixed.verification.statement
    runners = [runner.name for runner in fixed.verification.runners_used]
    assert len(runners) == 1 + HAS_LITERT


IMAGES = """
    x = Placeholder() {dtype=float32, shape=(?, 5, 6, 2)}
    axes = Const() {dtype=int32, value=int32(2,)[1, 2]}
    last = Const() {dtype=int32, value=int32(1,)[-1]}
    size = Const() {dtype=int32, value=int32(2,)[10, 9]}
"""
SINGLE = {
    "REDUCE_MAX": "y = Max(x, axes) {T=float32, Tidx=int32, keep_dims=false}",
    "REDUCE_MIN": "y = Min(x, last) {T=float32, Tidx=int32, keep_dims=true}",
    "RESIZE_BILINEAR": "y = ResizeBilinear(x, size) {T=float32, half_pixel_centers=true}",
    "RESIZE_NEAREST_NEIGHBOR": "y = ResizeNearestNeighbor(x, size) {T=float32}",
}


@pytest.mark.parametrize("op", SINGLE)
def test_some_ops_are_single_operators(op):
    (target,) = resolve_targets("ai-edge-litert==2.3.0")
    fixed = export_lite(frozen(IMAGES + SINGLE[op]), target, "m.tflite", FixOptions())
    assert fixed.ok, fixed.verification and fixed.verification.statement
    (graph,) = fixed.attempt.model.lite.subgraphs
    assert [node.code.op for node in graph.operators] == [op]


def test_labels_are_constant_strings():
    text = """
        x = Placeholder() {dtype=float32, shape=(?, 3)}
        axis = Const() {dtype=int32, value=int32()[1]}
        best = ArgMax(x, axis) {T=float32, Tidx=int32, output_type=int64}
        labels = Const() {dtype=string, value=string(3,)["cat", "", "caf\u00e9"]}
        zero = Const() {dtype=int32, value=int32()[0]}
        y = GatherV2(labels, best, zero) {Tparams=string, Tindices=int64, Taxis=int32}
    """
    (target,) = resolve_targets("ai-edge-litert==2.3.0")
    fixed = export_lite(frozen(text), target, "m.tflite", FixOptions())
    assert fixed.ok, fixed.verification and fixed.verification.statement


@pytest.mark.skipif(not HAS_LITERT, reason="needs ai-edge-litert")
def test_open_sizes_may_be_too_small_for_windows():
    """A file says 1 for each of them, and the interpreter refuses that: a window of 3 does not fit."""
    text = """
        x = Placeholder() {dtype=float32, shape=(?, ?, ?, 1)}
        w = Const() {dtype=float32, value=float32(3,1,1,1)[0.5, 1, 2]}
        y = Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], padding="VALID"}
    """
    (target,) = resolve_targets("ai-edge-litert==2.3.0")
    fixed = export_lite(frozen(text), target, "m.tflite", FixOptions())
    assert fixed.ok, fixed.verification and fixed.verification.statement


def test_signatures_keep_their_names_and_unknown_sizes(tmp_path):
    fixed = exported("keras_functional")
    fixed.save(tmp_path / "m.tflite")
    before, after = tfport.load(path_of("keras_functional")), tfport.load(tmp_path / "m.tflite")
    for name, signature in before.signatures.items():
        if signature.outputs:
            written = after.signatures[name]
            assert {n: spec.shape for n, spec in written.inputs.items()} == {
                n: spec.shape for n, spec in signature.inputs.items()
            }
            assert set(written.outputs) == set(signature.outputs)
    assert (tmp_path / "m.tflite.certificate.json").exists()


def test_loops_are_subgraphs():
    model = as_saved_model(tfport.load(path_of("functional_loops")))
    file = translated(model, {name: s for name, s in model.signatures.items() if s.outputs})
    loops = [node for graph in file.subgraphs for node in graph.operators if node.code.op == "WHILE"]
    assert loops
    for node in loops:
        assert file.subgraphs[node.options["cond_subgraph_index"]].name == "condition"
        assert file.subgraphs[node.options["body_subgraph_index"]].name == "body"


@pytest.mark.parametrize("weights", ["float16", "int8"])
def test_weights_in_fewer_bits(weights, monkeypatch):
    monkeypatch.setattr("tfport.fix.lite.smaller_weights.LEAST", 4)
    fixed = exported("keras_sequential", lite=LiteExportOptions(weights))
    assert fixed.ok
    assert fixed.journal.keeps is LOSSY
    assert weights.upper() in {tensor.type for tensor in fixed.model.lite.subgraphs[0].tensors}
    outputs = [d for each in fixed.verification.comparisons for d in each.outputs.values()]
    assert all(0 < d.same_argmax <= d.rows for d in outputs)


def test_a_loss_beyond_the_tolerance_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("tfport.fix.lite.smaller_weights.LEAST", 4)
    fixed = exported("keras_sequential", lite=LiteExportOptions("int8", 1e-9))
    assert fixed.verdict == "differs"
    with pytest.raises(Error, match="not written"):
        fixed.save(tmp_path / "m.tflite")
    assert not list(tmp_path.iterdir())


def test_an_older_interpreter_gets_the_versions_that_it_has():
    fixed = exported("keras_sequential", "tflite-runtime==2.7.0")
    (target,) = resolve_targets("tflite-runtime==2.7.0")
    codes = {node.code for graph in fixed.model.lite.subgraphs for node in graph.operators}
    assert all(code.version in target.lite.versions(code.op) for code in codes)


def test_all_reasons_are_named_at_once(monkeypatch):
    for op in ("MatMul", "Relu"):
        monkeypatch.delitem(RULES, op)
    sentence = r"2 nodes cannot be expressed in TensorFlow Lite: .*MatMul has no translation; .*Relu has no"
    with pytest.raises(CannotRun, match=sentence):
        exported("keras_sequential")
    with pytest.raises(CannotRun, match="StringLower has no translation; --allow-flex writes it as a Flex"):
        exported("strings")


@pytest.mark.parametrize("name", ["half_plus_two", "strings"])
def test_other_ops_are_flex_ops_on_request(name):
    fixed = exported(name, "tensorflow==2.18.1", LiteExportOptions(allow_flex=True))
    assert fixed.ok, fixed.verification and fixed.verification.statement
    nodes = [node for graph in fixed.model.lite.subgraphs for node in graph.operators]
    assert any(node.code.flex_op for node in nodes)
    ((target, why),) = fixed.verification.not_asked
    assert target.startswith("tensorflow")
    assert "no interpreter with the Flex delegate ran" in why


def test_tables_are_filled_once():
    model = as_saved_model(tfport.load(path_of("table_from_file")))
    file = translated(model, {name: s for name, s in model.signatures.items() if s.outputs})
    ops = [[node.code.op for node in graph.operators] for graph in file.subgraphs]
    assert ops[0][0] == "CALL_ONCE"
    assert {"HASHTABLE", "HASHTABLE_FIND"} <= set(ops[0])
    assert ops[-1] == ["HASHTABLE", "HASHTABLE_IMPORT"]


def test_signatures_that_cannot_be_exported_are_named():
    with pytest.raises(CannotRun, match=r"classify_x_to_y: .*; --signature classify_x2_to_y3 exports"):
        exported("half_plus_two")


def test_a_model_without_signatures_is_refused(tmp_path):
    model = as_saved_model(tfport.load(path_of("frozen")))
    model.meta.signature_def.clear()
    save_model(model, tmp_path / "model")
    without = tfport.load(tmp_path / "model")
    with pytest.raises(CannotRun, match="no signature has outputs"):
        export_lite(without, *resolve_targets("ai-edge-litert"), "m.tflite", FixOptions())
    with pytest.raises(CannotRun, match="the model has no signatures"):
        chosen_signature(without)


def test_each_signature_is_compared():
    names = ("classify_x2_to_y3", "regress_x2_to_y3", "serving_default")
    fixed = exported("half_plus_two", signatures=names)
    assert fixed.ok
    compared = [comparison for comparison in fixed.verification.comparisons if comparison.outputs]
    assert sorted(comparison.signature for comparison in compared) == sorted(names)
    assert {comparison.runner.startswith("ai-edge-litert") for comparison in compared} == {HAS_LITERT}


def test_a_target_without_an_interpreter_is_an_error():
    with pytest.raises(Error, match="no TensorFlow Lite interpreter"):
        exported("frozen", "keras==3.5.0")


def test_constants_are_written_once():
    model = as_saved_model(tfport.load(path_of("keras_sequential")))
    file = translated(model, {name: s for name, s in model.signatures.items() if s.outputs})
    contents = [bytes(data) for data in file.buffers if len(data)]
    assert len(contents) == len(set(contents))


def test_what_litert_does_not_compute_in_float64_is_refused():
    text = "x = Placeholder() {dtype=float64, shape=(2, 3)}\n"
    (chosen,) = resolve_targets("ai-edge-litert==2.3.0")
    of_y = FixOptions(fetches=("y:0",))
    refused = r"`y` \(Tanh\): LiteRT has no TANH of float64 numbers; rebuild the model in float32"
    with pytest.raises(CannotRun, match=refused):
        export_lite(frozen(text + "y = Tanh(x) {T=float64}"), chosen, "m.tflite", of_y)
    assert export_lite(frozen(text + "y = Sign(x) {T=float64}"), chosen, "m.tflite", of_y).ok
