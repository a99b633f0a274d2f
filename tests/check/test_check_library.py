"""A custom op is registered once its library is named, on the targets that load the library."""

from pathlib import Path

import pytest
from tests.recorded_models import graph

import tfport
from tfport.check.findings.finding import ERROR
from tfport.graph.build import graph_to_def

FOLDER = Path(__file__).parents[1] / "libraries"


def library(case: str = "good") -> str:
    return str(FOLDER / case / "op.so")


def model(text: str) -> bytes:
    return graph_to_def(graph(text)).SerializeToString()


COPY = model("x = Placeholder() {dtype=float32, shape=(2,)}\ny = AcmeCopy(x)")
THEN = model("x = Placeholder() {dtype=float32, shape=(2,)}\ny = AcmeCopy(x)\nz = Neg(y) {T=float32}")
PLAIN = model("x = Placeholder() {dtype=float32, shape=(2,)}\ny = Neg(x) {T=float32}")


def errors(report) -> list[str]:
    return [finding.code for finding in report.findings if finding.severity == ERROR]


def test_an_op_of_a_library_fails_until_the_library_is_named():
    report = tfport.check(COPY, on="tensorflow==2.21.0", loader="capi")
    assert (report.verdict, report.findings[0].code) == ("fails", "TFP102")
    assert report.findings[0].fixes() == ["name its library with --library FILE"]
    report = tfport.check(COPY, on="tensorflow==2.21.0", loader="capi", libraries=[library()])
    assert (report.verdict, errors(report)) == ("runs", [])
    assert report.results[0].target.notes[-1] == "op.so loads on tensorflow 2.21.0"


@pytest.mark.parametrize(
    ("case", "on", "codes"),
    [  # what real TensorFlow did with these files is in tests/libraries/pairs.json.xz
        ("good", "tensorflow==2.20.0", ["TFP420"]),
        ("for_2_20_0", "tensorflow==2.21.0", ["TFP420"]),
        ("for_2_8_4", "tensorflow==2.21.0", ["TFP421"]),
        ("for_1_15_5", "tensorflow==2.21.0", ["TFP412", "TFP421"]),
        ("good", "tensorflow-serving==2.19", ["TFP420", "TFP437"]),
    ],
)
def test_a_library_that_does_not_load_has_no_ops(case, on, codes):
    report = tfport.check(COPY, on=on, loader="serving", libraries=[library(case)])
    assert (report.verdict, report.results[0].stage, errors(report)) == ("fails", "load", codes)
    finding = next(f for f in report.findings if f.severity == ERROR)
    assert (finding.op, finding.node) == ("AcmeCopy", "y")
    assert "op.so" not in finding.target


def test_the_verdict_is_unknown_where_lib_says_unknown():
    report = tfport.check(COPY, on="tensorflow==2.8.4", loader="capi", libraries=[library("for_2_8_4")])
    assert (report.verdict, errors(report)) == ("unknown", ["TFP438"])


def test_a_library_that_does_not_load_is_harmless_to_a_model_without_its_ops():
    report = tfport.check(PLAIN, on="tensorflow==2.20.0", loader="capi", libraries=[library()])
    assert (report.verdict, errors(report)) == ("runs", [])
    assert report.results[0].target.notes[-1] == "op.so does not load on tensorflow 2.20.0: TFP420"


def test_each_loader_reports_its_own_stage():
    both = tfport.check(COPY, on="tensorflow==2.20.0", loader=["capi", "python"], libraries=[library()])
    alone = [
        tfport.check(COPY, on="tensorflow==2.20.0", loader=name, libraries=[library()])
        for name in ("capi", "python")
    ]
    stages = {loader: result.stage for result in both.results for loader in result.loaders}
    assert stages == {
        name: report.results[0].stage for name, report in zip(("capi", "python"), alone, strict=True)
    }


def test_the_nearest_release_is_one_that_loads_the_library():
    report = tfport.check(COPY, on="tensorflow==2.15.1", loader="capi", libraries=[library("for_2_16_2")])
    (finding,) = [f for f in report.findings if f.severity == ERROR]
    assert finding.ways_out[0] == "use tensorflow==2.16.1, the nearest release that runs the model"


def test_matrix_applies_the_verdict_of_each_release():
    matrix = tfport.matrix(COPY, device="cpu", loader="capi", libraries=[library("for_2_16_2")])
    (strip,) = matrix.strips
    assert [str(r) for r in strip.where(lambda cell: cell.verdict == "runs")] == ["2.16.1 to 2.19.1"]
    assert {
        cell.causes[0].code for cell in strip.cells if cell.release >= "2.2" and cell.verdict == "fails"
    } <= {"TFP420", "TFP421"}


def test_fix_applies_the_verdict_of_the_target():
    fixed = tfport.fix(THEN, "tensorflow==2.20.0", libraries=[library()])
    assert not fixed.ok
    assert "TFP420" in str(fixed)
    assert tfport.fix(THEN, "tensorflow==2.21.0", libraries=[library()]).attempt.runs


def test_a_library_that_is_not_there_is_one_sentence():
    with pytest.raises(tfport.Error, match=r"^no.so: no such file"):
        tfport.check(COPY, on="tensorflow==2.21.0", libraries=["no.so"])
