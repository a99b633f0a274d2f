"""What `check` says of TensorFlow Lite files, as the real interpreters do."""

import pytest
from tests.check.lite.make_files import CASES, FILES, content

import tfport
from tfport.errors import Error
from tfport.formats.lite.write import lite_bytes

TFLITE_7, TFLITE_14, LITERT = "tflite-runtime==2.7.0", "tflite-runtime==2.14.0", "ai-edge-litert==2.3.0"
VERDICTS = [  # file, target, delegate, verdict and stage, codes, words of the interpreter
    ("relu", TFLITE_7, None, "runs", None, [], ""),
    ("unregistered", LITERT, None, "fails", "load", ["TFP801"], "opcode 'STABLEHLO_TANH' version '1'"),
    ("transpose_6d", TFLITE_7, None, "fails", "load", ["TFP802"], "opcode 'TRANSPOSE' version '6'"),
    ("transpose_6d", "tensorflow==2.21.0", None, "runs", None, [], ""),
    ("gelu", TFLITE_7, None, "fails", "load", ["TFP803"], "builtin_code out of range: 150"),
    ("gelu", "tensorflow==2.2.3", None, "fails", "load", ["TFP803"], "builtin_code out of range: 127"),
    ("unused_code", TFLITE_7, None, "fails", "load", ["TFP803"], "out of range: 150"),
    ("schema_4", LITERT, None, "fails", "load", ["TFP804"], "is schema version 4 not equal"),
    ("custom", LITERT, None, "fails", "run", ["TFP805"], "unresolved custom op: Acme"),
    ("custom", "tensorflow==1.14.0", None, "fails", "load", ["TFP805"], "find custom op for name 'Acme'"),
    ("xnnpack_custom", LITERT, None, "runs", None, [], ""),
    ("xnnpack_custom", LITERT, "none", "fails", "run", ["TFP805"], "custom op: MaxUnpooling2D"),
    ("xnnpack_custom", TFLITE_14, None, "fails", "run", ["TFP805"], "custom op: MaxUnpooling2D"),
    ("flex", "tensorflow==2.18.1", None, "runs", None, [], ""),
    ("flex", "tensorflow==2.18.1", "none", "runs", None, [], ""),
    ("flex", "tensorflow==2.18.1", "xnnpack", "fails", "run", ["TFP806"], "Select TensorFlow op(s)"),
    ("flex", "tensorflow==2.21.0", None, "fails", "run", ["TFP806"], "Select TensorFlow op(s)"),
    ("flex", "tensorflow==2.2.3", None, "fails", "run", ["TFP806"], "Regular TensorFlow ops are not"),
    ("flex", TFLITE_14, "flex", "runs", None, [], ""),
    ("flex_newer", "tensorflow==2.12.1", None, "fails", "run", ["TFP807"], "not registered 'NoSuchOp'"),
    ("flex_no_kernel", "tensorflow==2.4.4", None, "runs", None, [], ""),
    ("flex_no_kernel", "tensorflow==2.18.1", None, "fails", "run", ["TFP807"], "<no registered kernels>"),
    ("flex_newer", TFLITE_14, "flex", "fails", "run", ["TFP807"], ""),
    ("int4", TFLITE_7, None, "fails", "load", ["TFP808"], "Unsupported data type 17 in tensor"),
    ("int4", TFLITE_14, None, "runs", None, [], ""),
    ("wrong_axis", LITERT, None, "fails", "load", ["TFP809"], "in range [0, 1). Was 3.Tensor 2"),
    ("no_subgraph", TFLITE_7, None, "fails", "load", ["TFP809"], "No subgraph in the model."),
    ("shared", LITERT, None, "fails", "run", ["TFP809"], "Tensor 1 is both input 1 and output 0"),
    ("outside", "tflite-runtime==2.13.0", None, "fails", "run", ["TFP810"], "Input tensor 1 lacks data"),
    ("outside", "tensorflow==2.13.1", None, "fails", "run", ["TFP810"], "Input tensor 1 lacks data"),
    ("outside", TFLITE_14, None, "runs", None, [], ""),
    ("outside", LITERT, None, "runs", None, [], ""),
    ("without_signature", TFLITE_14, None, "fails", "run", ["TFP805"], "custom op: MaxUnpooling2D"),
    ("second_entry", LITERT, None, "fails", "run", ["TFP805"], "custom op: Acme"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "target", "delegate", "verdict", "stage", "codes", "words"), VERDICTS)
def test_verdicts(name, target, delegate, verdict, stage, codes, words):
    (result,) = tfport.check(FILES / f"{name}.tflite", on=target, delegate=delegate).results
    assert (result.verdict, result.stage) == (verdict, stage)
    assert [finding.code for finding in result.findings] == codes
    assert all(words in (finding.tensorflow_says or "") for finding in result.findings)


def test_the_feature_that_asks_for_a_version_is_named():
    (finding,) = tfport.check(FILES / "transpose_6d.tflite", on="tflite-runtime==2.7.0").findings
    assert finding.message == (
        "tflite-runtime 2.7.0 registers TRANSPOSE up to version 5, but the file asks for version 6 (node 0)"
    )
    assert finding.cause().startswith(
        "version 6 is for nodes where input 0 has more than 5 dimensions (node 0 of main); first in "
    )


def test_a_version_that_no_node_needs_is_said_so():
    (finding,) = tfport.check(FILES / "needless_version.tflite", on="tensorflow==1.15.5").findings
    assert finding.code == "TFP802"
    assert finding.cause().startswith("no node needs it: version 1 has all that the file uses; first in ")


def test_only_the_requested_signature_counts():
    report = tfport.check(
        FILES / "second_entry.tflite", on="ai-edge-litert==2.3.0", signatures=["serving_default"]
    )
    assert report.verdict == "runs"
    assert [finding.severity for finding in report.findings] == ["note"]
    assert report.results[0].findings[0].signatures == []


def test_all_problems_are_reported_at_once(tmp_path):
    both = CASES["custom"]
    path = tmp_path / "both.tflite"
    record = CASES["unused_code"]
    record = type(record)(**{field: getattr(both, field) for field in record.__slots__})
    record.operator_codes = [*CASES["unused_code"].operator_codes, *both.operator_codes]
    path.write_bytes(lite_bytes(record))
    findings = tfport.check(path, on="tflite-runtime==2.7.0").findings
    assert [finding.code for finding in findings] == ["TFP803", "TFP805"]


ERRORS = [
    ("saved model", "tflite-runtime==2.14.0", "tflite-runtime 2.14.0 runs TensorFlow Lite files, and"),
    ("lite", "keras==3.15.1", "keras 3.15.1 has no TensorFlow Lite interpreter, which"),
    ("lite", "tensorflow==1.4.1", "tensorflow 1.4.1 has no TensorFlow Lite interpreter, which"),
]


@pytest.mark.parametrize(("what", "target", "sentence"), ERRORS)
def test_wrong_pairs_of_file_and_target(what, target, sentence):
    model = FILES / "relu.tflite" if what == "lite" else FILES.parents[2] / "models" / "classifier"
    with pytest.raises(Error) as raised:
        tfport.check(model, on=target)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(("what", "target", "sentence"), ERRORS)
def test_each_of_several_targets_has_its_own_verdict(what, target, sentence):
    model, other = (
        (FILES / "relu.tflite", "ai-edge-litert==2.3.0")
        if what == "lite"
        else (FILES.parents[2] / "models" / "classifier", "tensorflow==2.15.1")
    )
    for targets in ([target, other], [other, target]):
        report = tfport.check(model, on=targets)
        results = {result.target.requirement: result for result in report.results}
        assert results[other].verdict == "runs"
        refused = results[target]
        assert (refused.verdict, refused.stage) == ("fails", "load")
        assert [finding.code for finding in refused.findings] == ["TFP004"]
        assert refused.findings[0].message.startswith(sentence)
        assert refused.findings[0].fixes()[0].startswith("name ")
        assert (report.verdict, report.exit_code) == ("fails", 1)


def test_targets_that_all_read_other_formats_are_refused():
    with pytest.raises(Error, match=r"keras 3\.15\.1 has no TensorFlow Lite interpreter"):
        tfport.check(FILES / "relu.tflite", on=["keras==3.15.1", "tensorflow==1.4.1"])


def test_an_unknown_delegate_and_another_loader_are_refused():
    with pytest.raises(Error, match="unknown delegate `gpu`; expected xnnpack, flex or none"):
        tfport.check(FILES / "relu.tflite", on="ai-edge-litert==2.3.0", delegate="gpu")
    with pytest.raises(Error, match="has one loader, its interpreter; `serving` is one of TensorFlow"):
        tfport.check(FILES / "relu.tflite", on="ai-edge-litert==2.3.0", loader="serving")


def test_the_origin_of_a_file_is_reported():
    report = tfport.check(FILES / "relu.tflite", on="ai-edge-litert==2.3.0")
    assert report.to_json()["producer"]["lite"] == "TensorFlow Lite, tfport tests"
    words = " ".join(str(report).split())  # the title wraps where the path of this checkout ends
    assert "TensorFlow Lite, tfport tests" in words


def test_the_files_are_those_of_the_cases():
    assert {path.stem: path.read_bytes() for path in FILES.iterdir()} == {
        name: content(name) for name in CASES
    }
