"""Kernels that answer otherwise than those of later releases: check warns, and fix writes other nodes."""

import pytest
from tests.check.kernel_programs import PROGRAMS, usage_on
from tests.recorded_models import graph

import tfport
from tfport.check.kernel_differences import other_answers
from tfport.fix.result import remaining
from tfport.formats.proto.graph_pb2 import AttrValue, GraphDef, NodeDef, TensorProto
from tfport.graph.build import graph_to_def
from tfport.registry.unresolved import Question

X = "x = Placeholder() {dtype=float32, shape=%s}\n"
SIGNED = "y = QuantizeAndDequantizeV2(x, x, x) {T=float32, range_given=true}"
NGRAMS = """
x = Placeholder() {dtype=string, shape=(?,)}
s = Placeholder() {dtype=int64, shape=(?,)}
y = StringNGrams(x, s) {Tsplits=int64, left_pad="", ngram_widths=[2], pad_width=0, right_pad="", separator=""}
""".replace("pad_width=0", "pad_width=0, preserve_short_sequences=false")
OTHER = {
    **{name: (program.text, program.other, program.same) for name, program in PROGRAMS.items()},
    "n-grams of no words": (NGRAMS, "2.1.4", "2.2.3"),
    "signed": (X % "(1, 5, 5, 2)" + SIGNED, "1.8.0", "1.9.0"),
}


@pytest.mark.parametrize("name", OTHER)
def test_a_kernel_answers_otherwise_until_a_release(name):
    text, other, same = OTHER[name]
    (answer,) = other_answers(*usage_on(text, other))
    assert answer.question is Question.KERNEL_ANSWER
    assert not list(other_answers(*usage_on(text, same)))


SAME = {
    "hard suppression": PROGRAMS["soft suppression"].text.replace(
        "sigma = Const() {dtype=float32, value=float32()[0.5]}",
        "sigma = Const() {dtype=float32, value=float32()[0]}",
    ),
    "no threshold": PROGRAMS["soft suppression"].text.replace("[0.5]", "[1]", 1),
    "constant edges": PROGRAMS["reflected edges"].text.replace("REFLECT", "CONSTANT"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_kernel_answers_the_same_without_that(name):
    assert not list(other_answers(*usage_on(SAME[name], "2.2.3")))


SUMS = graph_to_def(graph(PROGRAMS["exclusive sums"].text)).SerializeToString()


def test_check_warns_of_another_answer_and_fix_corrects_it():
    report = tfport.check(SUMS, on="tensorflow==1.15.5", fetches=["y"])
    warning = next(finding for finding in report.findings if finding.code == "TFP312")
    assert (report.verdict, warning.severity, warning.stage) == ("runs", "warning", "run")
    assert "instead of minus infinity" in warning.cause()
    fixed = tfport.fix(SUMS, target="tensorflow==1.15.5", fetches=["y"])
    assert [rule.name for rule in fixed.certificate.rules] == ["with_minus_infinity"]
    again = tfport.check(fixed.model, on="tensorflow==1.15.5", fetches=["y"])
    assert "TFP312" not in [finding.code for finding in again.findings]


def test_fix_does_not_write_a_model_that_would_answer_otherwise():
    model = graph_to_def(graph(PROGRAMS["soft suppression"].text)).SerializeToString()
    refused = tfport.fix(model, target="tensorflow==1.15.5", fetches=["y:0", "y:1"])
    assert any("soft_without_threshold: is lossy" in reason for reason in remaining(refused))
    fixed = tfport.fix(model, target="tensorflow==1.15.5", fetches=["y:0", "y:1"], allow_lossy=True)
    assert [rule.name for rule in fixed.certificate.rules] == ["soft_without_threshold"]


ANGLES = {  # by op: releases that are wrong, and that are right
    "Sin": (["1.4.1", "1.5.1", "1.12.3", "1.13.2"], ["1.14.0", "1.15.5"]),
    "Cos": (["1.4.1", "1.13.2"], ["1.5.1", "1.12.3", "1.14.0", "1.15.5"]),
}


@pytest.mark.parametrize("op", ANGLES)
def test_large_angles_are_wrong_in_some_releases(op):
    text = X % "(?,)" + f"y = {op}(x) {{T=float32}}"
    wrong, right = ANGLES[op]
    found = {release: bool(list(other_answers(*usage_on(text, release)))) for release in (*wrong, *right)}
    assert found == {**dict.fromkeys(wrong, True), **dict.fromkeys(right, False)}


def test_casts_of_other_types_cut_off_once_they_are_supported():
    text = (X % "(?,)").replace("float32", "float64") + "y = Cast(x) {SrcT=float64, DstT=bfloat16}"
    found = [len(list(other_answers(*usage_on(text, release)))) for release in ("1.4.1", "1.8.0", "1.11.0")]
    assert found == [0, 1, 0]


SMALL = {
    "angles of a known range": X % "(?,)" + "t = Tanh(x) {T=float32}\ny = Sin(t) {T=float32}",
    "angles in float64": (X % "(?,)").replace("float32", "float64") + "y = Sin(x) {T=float64}",
    "numbers that are to be cut off": X % "(?,)" + "y = Cast(x) {SrcT=float32, DstT=bfloat16, Truncate=true}",
    "numbers that are bfloat16": "x = Placeholder() {dtype=bfloat16, shape=(?,)}\n"
    "y = Cast(x) {SrcT=bfloat16, DstT=float32}",
}


@pytest.mark.parametrize("name", SMALL)
def test_a_kernel_loses_nothing_of(name):
    assert not list(other_answers(*usage_on(SMALL[name], "1.4.1")))


@pytest.mark.parametrize(
    ("name", "rule"),
    [("large sines", "angles_in_double"), ("numbers as bfloat16", "rounded_by_bits")],
)
def test_fix_corrects_lost_precision_once(name, rule):
    program = PROGRAMS[name]
    model = graph_to_def(graph(program.text)).SerializeToString()
    fixed = tfport.fix(model, target="tensorflow==1.4.1", fetches=["y"])
    assert [(entry.name, entry.count) for entry in fixed.journal.entries] == [(rule, 1)]
    again = tfport.check(fixed.model, on="tensorflow==1.4.1", fetches=["y"])
    assert "TFP312" not in [finding.code for finding in again.findings]


LISTED = GraphDef(
    node=[
        NodeDef(
            name="c",
            op="Const",
            attr={
                "dtype": AttrValue(type="DT_BFLOAT16"),
                "value": AttrValue(tensor=TensorProto(dtype="DT_BFLOAT16", half_val=[0x3F00])),
            },
        ),
        NodeDef(
            name="y",
            op="Cast",
            input=["c"],
            attr={"SrcT": AttrValue(type="DT_BFLOAT16"), "DstT": AttrValue(type="DT_FLOAT")},
        ),
    ]
)


def test_constants_of_bfloat16_become_raw_bytes():
    """1.4.1 reads 0 from the list, and 0.5 from raw bytes."""
    report = tfport.check(LISTED.SerializeToString(), on="tensorflow==1.4.1", fetches=["y"])
    assert "TFP312" in [finding.code for finding in report.findings]
    fixed = tfport.fix(LISTED.SerializeToString(), target="tensorflow==1.4.1", fetches=["y"])
    assert [(entry.name, entry.count) for entry in fixed.journal.entries] == [("as_raw_bytes", 1)]
    (made,) = (node for node in graph_to_def(fixed.model.graph).node if node.op == "Const")
    assert made.attr["value"].tensor.tensor_content == bytes([0x00, 0x3F])
    newer = tfport.check(LISTED.SerializeToString(), on="tensorflow==1.5.1", fetches=["y"])
    assert "TFP312" not in [finding.code for finding in newer.findings]
