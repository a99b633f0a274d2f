import functools
import json
from functools import partial
from pathlib import Path

import pytest
from tests.recorded_models import graph, load, shared
from tests.truth_models import model_folder

import tfport
from tfport.atlas.atlas import atlas
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.check import check_on
from tfport.check.checked_model import CheckedModel
from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32
from tfport.graph.model import Model
from tfport.matrix.matrix import Matrix, matrix_of, releases
from tfport.matrix.nearest import nearest_releases
from tfport.matrix.settings import Setting, among, label
from tfport.reports.console import plain
from tfport.reports.matrix_text import CELL_MARKS, render

ATTENTION = str(Path(__file__).parents[2] / "examples/attention")
COMPARED = ("conditions", "devices", "estimator", "functional_loops", "keras_lstm", "strings", "tensor_lists")


@pytest.fixture(scope="module")
def attention() -> Matrix:
    return matrix_of(tfport.load(ATTENTION))


@functools.cache
def matrix(name: str) -> Matrix:
    return matrix_of(shared(name))


def changed(text: str) -> Model:
    """A bare graph of these lines."""
    model = load("frozen")
    model.graph = graph(text)
    model.signatures.clear()
    return model


@pytest.mark.parametrize("name", COMPARED)
def test_every_cell_is_the_result_of_a_check(name):
    for strip in matrix(name).strips:
        for signature in strip.signatures:
            subject = CheckedModel(shared(name), [signature])
            for cell in strip.cells[::7]:
                (result,) = check_on(subject, cell.target, (strip.loader,))
                assert (cell.verdict, cell.stage) == (result.verdict, result.stage), cell.target.name
                noticed = [f for f in result.findings if f.severity == "error"]
                causes = {(*c.key, c.stage) for c in cell.causes}
                assert causes == {(f.code, f.op, f.attr, f.stage) for f in noticed}


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_every_final_release_occurs_once_with_the_device(device):
    targets = releases(device)
    versions = [target.build.version for target in targets]
    recorded = {b.version for b in atlas().builds() if b.requirement.startswith("tensorflow==")}
    assert sorted(versions) == sorted(recorded)
    assert (versions[0], versions[-1]) == ("1.0.0", "2.21.0")
    assert {target.device for target in targets} == {device}


def test_a_range_includes_the_patches_of_its_ends():
    versions = [target.build.version for target in releases("cpu", since="2.7.2", until="2.8")]
    assert versions == ["2.7.2", "2.7.3", "2.7.4", "2.8.0", "2.8.1", "2.8.2", "2.8.3", "2.8.4"]


def test_a_range_without_releases_is_an_error():
    with pytest.raises(Error, match=r"no release from 2.9 to 2.8 is recorded"):
        releases("cpu", since="2.9", until="2.8")
    with pytest.raises(Error, match="is not a release number"):
        releases("cpu", since="two")


def test_ranges_cover_every_release_in_order(attention):
    for strip in attention.strips:
        cells = [cell for cell_range in strip.ranges() for cell in cell_range.cells]
        assert cells == strip.cells
        for cause, ranges in strip.broken():
            within = {cell.release for cell_range in ranges for cell in cell_range.cells}
            assert within == {cell.release for cell in strip.cells if cause in cell.causes}


def test_the_story_of_attention(attention):
    assert {strip.device for strip in attention.strips} == {"cpu", "gpu"}
    for strip in attention.strips:
        assert [str(s) for s in strip.where(lambda cell: cell.verdict == "runs")] == ["since 1.14.0"]
        (newest, where), *_ = strip.broken()
        assert (newest.code, newest.subject, newest.stage) == ("TFP101", "BatchMatMulV2", "load")
        assert list(map(str, where)) == ["before 1.14.0"]


def test_attention_agrees_with_real_releases(attention):
    recorded = json.loads(Path(f"{ATTENTION}.recorded.json").read_text())["outcomes"]
    capi = matrix_of(tfport.load(ATTENTION), loader="capi", device="cpu").strips[0]
    predicted = {c.release: c.verdict if c.stage is None else f"{c.verdict} at {c.stage}" for c in capi.cells}
    assert {o["release"]: o["outcome"] for o in recorded} == {
        o["release"]: predicted[o["release"]] for o in recorded
    }


def test_signatures_with_different_results_have_separate_strips():
    model = load("module")
    body = model.graph.library.functions["__inference_back_45"]
    body.nodes["add"].become("BatchMatMulV3", {"Ta": FLOAT32, "Tb": FLOAT32, "Tout": FLOAT32})
    result = matrix_of(model, loader="serving", device="cpu", since="2.5")
    runs = {s.signatures: str(s.where(lambda c: c.verdict == "runs")[0]) for s in result.strips}
    assert runs == {("back",): "since 2.6.0", ("serving_default",): "every release"}
    assert "  before 2.6.0  back  run  TFP101  BatchMatMulV3" in str(result)


def test_only_requested_signatures_count():
    assert {strip.signatures for strip in matrix_of(shared("module"), signatures=["back"]).strips} == {
        ("back",)
    }
    with pytest.raises(Error, match="no signature nonsense"):
        matrix_of(shared("module"), signatures=["nonsense"])


def test_a_model_that_runs_everywhere_is_one_line():
    result = matrix_of(changed("x = Placeholder() {dtype=float32, shape=(2,)}\ny = Neg(x) {T=float32}"))
    assert str(result).splitlines()[-1] == (
        f"  runs on all {len(result.strips[0].cells)} releases, 1.0.0 to 2.21.0: "
        "CPU and GPU, python and serving"
    )


def test_an_op_that_no_release_has_fails_everywhere():
    table = matrix_of(changed("y = Acme>Tokenize()"), device="cpu", since="2.16")
    assert {cell.verdict for strip in table.strips for cell in strip.cells} == {"fails"}


def test_a_verdict_that_is_not_known_has_its_own_symbol():
    model = tfport.load(model_folder("tests/truth/models/tensor_of_another_shape"))
    table = matrix_of(model, device="cpu", since="2.16")
    assert {cell.verdict for strip in table.strips for cell in strip.cells} == {"unknown"}
    assert "? unknown" in str(table)


def test_every_line_of_the_text_fits_eighty_columns():
    for name in COMPARED:
        for everything in (False, True):
            shown = plain(partial(render, matrix(name), everything=everything))
            assert max(map(len, shown.splitlines()[2:])) <= 80


def test_symbols_differ_without_color():
    assert len({look.symbol for look in CELL_MARKS.values()}) == len(CELL_MARKS)


def test_json_has_every_release_and_the_spans(attention):
    record = attention.to_json()
    assert (record["version"], record["model"], record["signatures"]) == (1, ATTENTION, ["serving_default"])
    strip = record["strips"][0]
    assert {**strip["releases"][0], "causes": []} == {
        "release": "1.0.0", "target": "tensorflow==1.0.0", "verdict": "fails", "stage": "load", "causes": []
    }  # fmt: skip
    assert strip["spans"][-1] == {
        "first": "1.14.0", "last": "2.21.0", "verdict": "runs", "stage": None, "causes": []
    }  # fmt: skip
    assert strip["spans"][-2]["causes"] == [
        {"code": "TFP101", "op": "BatchMatMulV2", "attr": None, "stage": "load"}
    ]
    assert json.loads(json.dumps(record)) == record


EVERY = [
    Setting(d, loader, s) for d in ("cpu", "gpu") for loader in ("python", "serving") for s in ("a", "b")
]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (EVERY, [""]),
        (EVERY[:4], ["CPU"]),
        ([w for w in EVERY if w.loader == "python"], ["python"]),
        ([w for w in EVERY if (w.device, w.signature) == ("gpu", "b")], ["GPU, b"]),
        ([EVERY[0], EVERY[7]], ["CPU, python, a", "GPU, serving, b"]),
        (EVERY[:5], ["CPU", "GPU, python, a"]),
    ],
)
def test_labels_of_settings_are_short(settings, words):
    assert among(settings, EVERY) == words


def test_all_settings_have_a_label_too():
    assert label(EVERY, EVERY) == "CPU and GPU, python and serving"


@pytest.mark.parametrize(
    ("on", "device", "below", "above"),
    [
        ("tensorflow==1.13.2", "cpu", None, "tensorflow==1.14.0"),
        ("tensorflow-gpu==1.8", "gpu", None, "tensorflow-gpu==1.14.0"),
        ("tensorflow==2.3.0", "gpu", "tensorflow==2.2.3", "tensorflow==2.3.1"),
        ("tensorflow-serving==1.12", None, None, "tensorflow-serving==1.14.0"),
        ("tensorflow==2.21.0 tensorflow-text", None, "tensorflow==2.20.0 tensorflow-text==2.20.1", None),
    ],
)
def test_the_nearest_releases_that_run_a_model(on, device, below, above):
    (target,) = resolve_targets(on, device=device)
    nearest = nearest_releases(CheckedModel(tfport.load(ATTENTION)), target, ["serving"])
    assert (nearest.below and nearest.below.requirement, nearest.above and nearest.above.requirement) == (
        below,
        above,
    )
    assert all(name in nearest.ways_out[0] for name in (below, above) if name)
