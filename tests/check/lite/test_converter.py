"""Will it convert? Verdicts from the record of real TensorFlow Lite converters."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.atlas.lite.converter import Converted, converted, converter_releases
from tfport.errors import Error
from tfport.formats.proto import graph_pb2
from tfport.graph.build import graph_to_def

ON = "tflite-converter==2.15.1"


def model(text):
    made: graph_pb2.GraphDef = graph_to_def(graph(text))
    return made.SerializeToString()


@pytest.mark.parametrize(
    ("text", "delegate", "verdict", "codes"),
    [
        ("x = Placeholder() {dtype=float32}\ny = Relu(x) {T=float32}", None, "runs", []),
        ("x = Placeholder() {dtype=float32}\ny = Erf(x) {T=float32}", None, "fails", ["TFP821"]),
        ("x = Placeholder() {dtype=float32}\ny = Erf(x) {T=float32}", "flex", "runs", []),
        ("x = Placeholder() {dtype=float64}\ny = MatMul(x, x) {T=float64}", None, "fails", ["TFP821"]),
        ("x = Placeholder() {dtype=float32}\ny = Spence(x) {T=float32}", "flex", "fails", ["TFP822"]),
        ("x = Placeholder() {dtype=float32}\ny = NotAnOp(x) {T=float32}", None, "unknown", ["TFP823"]),
    ],
)
def test_verdicts_follow_the_record(text, delegate, verdict, codes):
    report = tfport.check(tfport.load(model(text)), on=ON, delegate=delegate)
    assert (report.verdict, [finding.code for finding in report.findings]) == (verdict, codes)


GELU = """
x = Placeholder() {dtype=float32}
half = Const() {dtype=float32, value=float32()[0.70710677]}
one = Const() {dtype=float32, value=float32()[1]}
scaled = Mul(x, half) {T=float32}
erf = Erf(scaled) {T=float32}
sum = AddV2(erf, one) {T=float32}
y = Mul(sum, x) {T=float32}
"""
LIST = """
shape = Const() {{dtype=int32, value=int32(2){sizes}}}
n = Const() {{dtype=int32, value=int32()[3]}}
x = Placeholder() {{dtype=float32, shape=[4,2]}}
l = TensorListReserve(shape, n) {{element_dtype=float32, shape_type=int32}}
m = TensorListSetItem(l, n, x) {{element_dtype=float32{more}}}
y = TensorListGetItem(m, n, shape) {{element_dtype=float32}}
"""


@pytest.mark.parametrize(
    ("text", "release", "delegate", "verdict", "codes"),
    [
        (GELU, "2.21.0", None, "runs", []),
        (GELU, "2.15.1", None, "unknown", ["TFP823"]),
        (GELU, "2.6.5", None, "fails", ["TFP821"]),
        (GELU.replace("0.70710677", "0.5"), "2.21.0", None, "fails", ["TFP821"]),
        (LIST.format(sizes="[4, 2]", more=""), "2.21.0", None, "runs", []),
        (LIST.format(sizes="[-1, 2]", more=""), "2.21.0", None, "fails", ["TFP821"]),
        (LIST.format(sizes="[-1, 2]", more=""), "2.21.0", "flex", "runs", []),
        (
            LIST.format(sizes="[4, 2]", more=", resize_if_index_out_of_bounds=true"),
            "2.21.0",
            None,
            "fails",
            ["TFP821"],
        ),
    ],
)
def test_nodes_around_a_node_decide(text, release, delegate, verdict, codes):
    """As the converter of TensorFlow 2.21 does with such models."""
    report = tfport.check(
        tfport.load(model(text.strip())), on=f"tflite-converter=={release}", delegate=delegate
    )
    assert (report.verdict, [finding.code for finding in report.findings]) == (verdict, codes)


def test_another_converter_is_advised_and_no_rewrite():
    made = tfport.load(model(GELU.strip()))
    (finding, *_) = tfport.check(made, on="tflite-converter==2.6.5").findings
    assert "use tflite-converter==2.21.0, the nearest release that converts the model" in finding.ways_out
    assert not any("tfport fix" in way for way in finding.ways_out)


def test_a_lite_file_is_not_converted_again():
    with pytest.raises(Error, match="already"):
        tfport.check("examples/wake_word.tflite", on=ON)


def test_a_release_that_is_not_recorded_is_named_with_the_nearest():
    with pytest.raises(Error, match=r"tflite-converter 2\.1 is not recorded; nearest: "):
        tfport.check("examples/attention", on="tflite-converter==2.1")


def test_at_least_six_converters_are_recorded():
    assert len(converter_releases()) >= 6


def test_batch_normalization_converts_as_trained_models_have_it():
    trained = {"T": "float32", "U": "float32", "is_training": "false"}
    assert converted("2.15.1", "FusedBatchNormV3", trained) is Converted.BUILTIN
    assert converted("2.15.1", "FusedBatchNormV3", trained | {"is_training": "true"}) is Converted.DEPENDS


def test_types_that_are_the_defaults_of_the_op_may_be_stated():
    types = {"T": "int32", "out_idx": "int32"}
    assert converted("2.21.0", "Unique", types, {"out_idx": "int32"}) is Converted.BUILTIN
    assert (
        converted("2.21.0", "Unique", types | {"out_idx": "int64"}, {"out_idx": "int32"}) is Converted.DEPENDS
    )


def test_types_decide():
    assert converted("2.21.0", "MatMul", {"T": "float32"}) is Converted.BUILTIN
    assert converted("2.21.0", "MatMul", {"T": "float64"}) is Converted.KEPT
    assert converted("2.21.0", "MatMul", {"T": "bfloat16"}) is Converted.DEPENDS
    assert converted("2.21.0", "Lgamma", {"T": "float32"}) is Converted.BUILTIN
    assert converted("2.4.4", "Lgamma", {"T": "float32"}) is Converted.KEPT
