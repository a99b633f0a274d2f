"""The certificate as text, JSON and HTML, and the digests of the models."""

from __future__ import annotations

import hashlib
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.fix.certify.models import frozen
from tests.recorded_models import load

from tfport.errors import UnreadableFile
from tfport.fix.certify.certificate import Applied, Certificate, digest
from tfport.fix.certify.verify import verify

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
    assert "outputs agree on 12 inputs, compared in tfport's runtime" in text
    assert "keeping: rounding" in text
    assert "exact     53x  without_reserve_space: FusedBatchNormV2" in text
    assert "a" * 64 in text
    assert "12 made up" in text


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


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_stands_alone_and_trusts_no_name():
    hostile = "<script>alert(1)</script>"
    page = Page()
    page.feed(certificate(source=hostile, target="<img src=x>").page())
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert page.links == []
    assert hostile in "".join(page.words)
    assert "outputs agree on 12 inputs" in "".join(page.words)


def test_the_digest_of_a_folder_is_that_of_a_list_of_its_files(tmp_path):
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables/data").write_bytes(b"v")
    (tmp_path / "saved_model.pb").write_bytes(b"m")
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in (("m", b"m"), ("v", b"v"))}
    lines = f"{sums['m']}  saved_model.pb\n{sums['v']}  variables/data\n"
    assert digest(tmp_path) == hashlib.sha256(lines.encode()).hexdigest()
    assert digest(tmp_path / "saved_model.pb") == sums["m"]


def test_the_digest_sees_every_change_but_in_what_is_left_out(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    before = digest(tmp_path)
    (tmp_path / "certificate.json").write_bytes(b"{}")
    assert digest(tmp_path) != before
    assert digest(tmp_path, leave_out=["certificate.json"]) == before
    (tmp_path / "a").rename(tmp_path / "b")
    assert digest(tmp_path, leave_out=["certificate.json"]) != before
    with pytest.raises(UnreadableFile, match="no such file"):
        digest(tmp_path / "a")


def test_given_inputs_are_named_on_paper():
    verification = verify(frozen(TWICE), frozen(TWICE), inputs={"x": np.float32([[1, 2, 3]])})
    assert "1 given, 12 made up" in str(Certificate("m", "", "o", "", "t", verification))
