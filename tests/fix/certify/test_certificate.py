"""The certificate as text, JSON and HTML, and the digests of the models."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.fix.certify.models import frozen
from tests.recorded_models import load
from tests.static_page.embedded import EVIL, assert_stands_alone

from tfport.fix.certify.certificate import Applied, Certificate
from tfport.fix.certify.json import certificate_text
from tfport.fix.certify.provenance import Provenance, RunnerFacts, Wheel
from tfport.fix.certify.verify import verify
from tfport.fix.journal import NodeChange
from tfport.words import printable

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
TWICE = X + "two = Const() {dtype=float32, value=float32()[2]}\ny = Mul(x, two) {T=float32}"
RULES = [
    ("without_reserve_space", "exact", 53, ["bn1", "bn2"], "FusedBatchNormV2 has the first five outputs."),
    (
        "in_single_precision",
        "rounding",
        1,
        ["a"],
        "Computes in single precision, as the target has no other.",
    ),
]


def certificate(before=TWICE, after=TWICE, rules=RULES, **named):
    verification = verify(frozen(before), frozen(after), fetches=["y"])
    named = {"source": "export/1", "output": "out/1", "target": "tensorflow==1.4.1", **named}
    return Certificate(
        source_digest="a" * 64, output_digest="b" * 64, verification=verification, rules=rules, **named
    )


def test_the_text_says_what_was_seen():
    text = str(certificate())
    assert "outputs agree on 14 inputs, compared in tfport's runtime" in text
    assert "keeping: rounding" in text
    assert "exact     53x  without_reserve_space: FusedBatchNormV2" in text
    assert "a" * 64 in text
    assert "14 generated" in text


@pytest.mark.parametrize("after", [TWICE, TWICE.replace("[2]", "[3]"), TWICE.replace("Mul", "Pow")])
@pytest.mark.parametrize("name", ["m", "a/very/" + "long/" * 40 + "path"])
def test_the_text_fits_eighty_columns(after, name):
    text = str(certificate(after=after, source=name))
    assert max(map(len, text.splitlines())) <= 80


def test_models_with_several_signatures_have_a_table_for_each():
    verification = verify(load("estimator"), load("estimator"))
    text = str(Certificate("m", "", "o", "", "tensorflow==1.4.1", verification))
    assert "no rule was needed" in text
    assert all(f"\n{name}  tfport" in text for name in ("predict", "regression", "serving_default"))
    assert max(map(len, text.splitlines())) <= 80


def test_a_difference_is_described_by_its_numbers():
    paper = certificate(after=TWICE.replace("[2]", "[2.5]"))
    assert paper.verdict == "differs"
    (comparison,) = paper.to_json()["comparisons"]
    assert comparison["verdict"] == "differs"
    difference = comparison["outputs"]["y"]
    assert not difference["alike"]
    assert difference["relative"] == pytest.approx(0.25)
    assert difference["beyond"] > 0
    assert "outputs differ: y of graph" in str(paper)


def test_json_is_json_even_of_infinite_differences():
    paper = certificate(after=X + "y = Reciprocal(x) {T=float32}")
    report = json.loads(json.dumps(paper.to_json(), allow_nan=False))
    assert report["version"] == 1
    assert report["comparisons"][0]["outputs"]["y"]["absolute"] is None
    assert report["rules"][0] == {
        "name": "without_reserve_space", "keeps": "exact", "count": 53, "nodes": ["bn1", "bn2"],
        "doc": "FusedBatchNormV2 has the first five outputs.",
    }  # fmt: skip
    assert set(report) >= {"tfport", "verdict", "statement", "target", "input", "output", "trials", "keeps"}


def test_rules_may_be_given_as_rows():
    assert certificate().rules[0] == Applied(*RULES[0])
    assert certificate(rules=[]).keeps == "exact"


def on_page(paper: Certificate) -> dict:
    """The certificate that the page shows."""
    page = assert_stands_alone(paper.page())
    assert page.documents["view"] == "fix"
    return page.documents["certificate"]


def test_the_page_stands_alone_and_trusts_no_name():
    paper = certificate(source=EVIL, target="<img src=x>")
    assert assert_stands_alone(paper.page()).text("title") == f"{printable(EVIL)}: certificate"
    shown = on_page(paper)
    assert (shown["input"]["path"], shown["target"]) == (EVIL, "<img src=x>")
    assert "outputs agree on 14 inputs" in shown["statement"]


def test_given_inputs_are_named_on_paper():
    verification = verify(frozen(TWICE), frozen(TWICE), inputs={"x": np.float32([[1, 2, 3]])})
    assert "graph  1 given" in str(Certificate("m", "", "o", "", "t", verification))


CHANGES = [
    NodeChange("bn1", "FusedBatchNormV3", ("without_reserve_space",), (("bn1", "FusedBatchNormV2"),)),
    NodeChange(
        "bn2",
        "FusedBatchNormV3",
        ("as_ops", "as_add"),
        (("bn2", "Add"), ("bn2/c", "Const")),
        "f",
    ),
    NodeChange("call", "PartitionedCall", ("inlined",)),
]


def test_every_changed_node_is_in_the_json_and_on_the_page():
    paper = certificate(changes=CHANGES)
    assert paper.to_json()["changes"] == [
        {"node": "bn1", "op": "FusedBatchNormV3", "rules": ("without_reserve_space",),
         "after": {"bn1": "FusedBatchNormV2"}},
        {"node": "bn2", "op": "FusedBatchNormV3", "rules": ("as_ops", "as_add"), "function": "f",
         "after": {"bn2": "Add", "bn2/c": "Const"}},
        {"node": "call", "op": "PartitionedCall", "rules": ("inlined",)},
    ]  # fmt: skip
    shown = on_page(paper)["changes"]
    assert [change["node"] for change in shown] == ["bn1", "bn2", "call"]
    assert shown[1]["after"] == {"bn2": "Add", "bn2/c": "Const"}


def test_the_certificate_says_how_it_was_made():
    made = Provenance("tfport fix m --for tensorflow==1.4.1 -o o", "2026-01-02T03:04:05Z")
    report = certificate(made=made).to_json()
    assert report["made"]["command"] == "tfport fix m --for tensorflow==1.4.1 -o o"
    assert report["made"]["date"] == "2026-01-02T03:04:05Z"
    assert report["made"]["packages"]["numpy"] == np.__version__
    assert {"python", "system", "machine", "tfport"} <= set(report["made"])
    assert [runner["runtime"] for runner in report["runners"]] == ["tfport"]
    shown = on_page(certificate(made=made))["made"]
    assert (shown["date"], shown["command"]) == ("2026-01-02T03:04:05Z", made.command)


def test_tolerances_are_numbers():
    paper = certificate()
    (comparison,) = paper.to_json()["comparisons"]
    assert comparison["outputs"]["y"]["rtol"] == 1e-4
    assert comparison["outputs"]["y"]["atol"] > 0
    shown = on_page(paper)["comparisons"][0]["outputs"]["y"]
    assert (shown["judged_as"], shown["rtol"]) == ("float32", 1e-4)


def test_a_certificate_made_now_has_a_date_in_utc():
    made = datetime.strptime(Provenance().date, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - made) < timedelta(days=1)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ([], "the target itself was not run; `tfport fix --prove` runs it"),
        ([RunnerFacts("TensorFlow", "1.4.1", "3.6.15", machine="x86_64", is_target=True, runs=10)],
         "TensorFlow 1.4.1, Python 3.6.15 on x86_64 ran the model 10 times, each in a new process: no crash"),
        ([RunnerFacts("TensorFlow", "1.4.1", "3.6.15", machine="x86_64", is_target=True, runs=10, crashes=4,
                      wheel=Wheel("tensorflow-1.4.1-cp36.whl", "c" * 64))],
         "on x86_64 from tensorflow-1.4.1-cp36.whl ran the model 10 times, each in a new process: 4 crashed"),
    ],
)  # fmt: skip
def test_the_certificate_says_whether_the_target_was_run(target, words):
    paper = certificate()
    paper.verification.runners_used += target
    report = paper.to_json()["target_runs"]
    assert report["ran"] == bool(target)
    assert report["statement"].endswith(words)
    assert words.split()[-1] in str(paper)
    assert max(map(len, str(paper).splitlines())) <= 80


def test_a_target_that_cannot_be_proved_has_no_advice_to_prove_it():
    paper = certificate()
    paper.provable = False
    assert paper.to_json()["target_runs"]["statement"] == "the target itself was not run"


def test_the_text_of_the_json_has_a_line_for_each_change():
    changes = [NodeChange(f"n{i}", "AddV2", ("as_add",), ((f"n{i}", "Add"),)) for i in range(20_000)]
    text = certificate_text(certificate(changes=changes))
    assert json.loads(text)["changes"][7] == {
        "node": "n7",
        "op": "AddV2",
        "rules": ["as_add"],
        "after": {"n7": "Add"},
    }
    assert 20_000 < len(text.splitlines()) < 20_500
