"""Plans that a second session of the same model reads from files."""

import logging
import shutil
import threading

import numpy as np
import pytest
from tests.recorded_models import MODELS, graph

import tfport
from tfport.graph.build import graph_to_def
from tfport.runtime.engines import onnx_runtime
from tfport.runtime.plan import Plan
from tfport.runtime.stored import stored_plans
from tfport.runtime.stored.plan_files import ISLAND, PLANS, RECORD
from tfport.runtime.stored.stored_island import StoredPlan

X = [[1.0, 2.0, 3.0]]
CONVOLUTION = """
    x = Placeholder() {dtype=float32, shape=SHAPE}
    k = Const() {dtype=float32, value=float32(2, 1, 1, 1)[1.0, 2.0]}
    y = Conv2D(x, k) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder for caches, which nothing else uses."""
    monkeypatch.setenv("TFPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(stored_plans, "SETTLED", 0)
    return tmp_path / "cache"


@pytest.fixture
def model(tmp_path):
    """A SavedModel with variables, whose plan is one island."""
    return shutil.copytree(MODELS / "keras_sequential", tmp_path / "model")


def session_of(model, **options):
    return tfport.Session(str(model), cache=True, **options)


def answer(session):
    return session.signature("serving_default")(x=X)["output_0"]


def plan_of(session):
    (plan,) = session.plans.plans
    return plan


def stored(cache):
    """The folder of the only stored plan."""
    (record,) = (cache / PLANS).glob(f"*/*/{RECORD}")
    return record.parent


def make(model):
    """Store the plan of a model; its answer."""
    session = session_of(model)
    found = answer(session)
    assert type(plan_of(session)) is Plan
    return found


def test_a_stored_plan_leaves_nan_in_a_recurrent_layer_to_the_host(tmp_path):
    model = shutil.copytree(MODELS / "keras_lstm", tmp_path / "model")
    (feed,) = tfport.load(str(model)).signatures["serving_default"].inputs
    rows = np.ones((2, 3, 2), np.float32)
    session_of(model).signature("serving_default")(**{feed: rows})
    session = session_of(model)
    rows[1, 1, 1] = np.nan
    (array,) = session.signature("serving_default")(**{feed: rows}).values()
    assert any(type(plan) is StoredPlan for plan in session.plans.plans)
    assert np.isnan(array).any(axis=-1).tolist() == [False, True]


def test_a_second_session_reads_the_plan_and_restores_nothing(model):
    expected = make(model)
    session = session_of(model)
    np.testing.assert_array_equal(answer(session), expected)
    assert type(plan_of(session)) is StoredPlan
    assert session.state.resources() == []


def test_without_the_option_nothing_is_written_or_read(model, cache):
    assert type(_plan_without_cache(model)) is Plan
    assert not cache.exists()
    make(model)
    assert type(_plan_without_cache(model)) is Plan


def _plan_without_cache(model):
    session = tfport.Session(str(model))
    answer(session)
    return plan_of(session)


def test_a_copy_of_the_model_elsewhere_has_the_same_plan(model, tmp_path):
    make(model)
    session = session_of(shutil.copytree(model, tmp_path / "copy"))
    answer(session)
    assert type(plan_of(session)) is StoredPlan


def test_a_changed_graph_is_another_model(model):
    make(model)
    with (model / "saved_model.pb").open("ab") as file:
        file.write(b"\x1a\x00")  # an empty field that no reader knows
    session = session_of(model)
    answer(session)
    assert type(plan_of(session)) is Plan


def test_changed_weights_are_another_model(model):
    make(model)
    with (model / "variables" / "variables.data-00000-of-00001").open("r+b") as file:
        file.write(b"\xff\xff")
    with pytest.raises(tfport.Error, match="checksum"):
        answer(session_of(model))


def test_other_fetches_are_another_plan(model):
    make(model)
    session = session_of(model)
    spec = session.model.signatures["serving_default"]
    (fed,), (fetched,) = ((s.tensors[0] for s in part.values()) for part in (spec.inputs, spec.outputs))
    session.run([fetched, fetched], {fed: np.float32(X)})
    assert type(plan_of(session)) is Plan


def test_an_assignment_invalidates_a_stored_plan(model):
    expected = make(model)
    session = session_of(model)
    answer(session)
    session.program([], [])  # restores the variables
    for variable in session.state.variables():
        variable.assign(np.zeros_like(variable.read()))
    assert not np.array_equal(answer(session), expected)
    assert type(plan_of(session)) is Plan


def test_a_plan_with_assigned_values_is_not_stored(model, cache):
    session = session_of(model)
    for variable in session.state.variables():
        variable.assign(np.zeros_like(variable.read()))
    answer(session)
    assert list((cache / PLANS).glob("*/*")) == []


def test_stored_plans_do_not_serve_a_session_that_assigned_before(model):
    expected = make(model)
    session = session_of(model)
    session.program([], [])
    for variable in session.state.variables():
        variable.assign(np.zeros_like(variable.read()))
    assert not np.array_equal(answer(session), expected)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        (RECORD, b"{", "plan.json is damaged or of another version"),
        (RECORD, b'{"version": 0}', "plan.json is damaged or of another version"),
        (RECORD, b"\x80\x04", "plan.json is damaged or of another version"),
        (ISLAND, b"", "island.onnx does not have the size that plan.json says"),
        (ISLAND, None, "ONNX Runtime rejects"),
    ],
    ids=["cut off", "version", "pickle", "size", "content"],
)
def test_a_damaged_plan_is_made_again_and_the_log_says_so(model, cache, caplog, file, content, reason):
    expected = make(model)
    path = stored(cache) / file
    path.write_bytes(b"\xff" * path.stat().st_size if content is None else content)
    session = session_of(model)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(answer(session), expected)
    assert type(plan_of(session)) is Plan
    assert "a stored plan is ignored and made again: " in caplog.text
    assert reason in caplog.text
    again = session_of(model)
    answer(again)
    assert type(plan_of(again)) is StoredPlan


def test_a_folder_that_cannot_be_written_does_no_harm(model, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TFPORT_CACHE", str(tmp_path / "file"))
    assert type(plan_of(_answered(session_of(model)))) is Plan


def test_a_copy_that_cannot_be_written_does_no_harm(model, cache, monkeypatch):
    def without_disk(options, path):
        options.optimized_model_filepath = str(path / "no such folder" / "x.onnx")

    monkeypatch.setattr(onnx_runtime, "save_optimized", without_disk)
    assert type(plan_of(_answered(session_of(model)))) is Plan
    assert list((cache / PLANS).iterdir()) == []


def _answered(session):
    answer(session)
    return session


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "none"},
        {"limits": tfport.RunLimits(max_bytes=2**30)},
        {"stubs": {"MatMul": lambda a, b, **_: a @ b}},
    ],
    ids=["engine", "limit", "custom op"],
)
def test_some_sessions_store_nothing(model, cache, options):
    answer(session_of(model, **options))
    assert not (cache / PLANS).exists()


def test_custom_ops_that_the_model_does_not_have_do_not_matter(model, cache):
    answer(session_of(model, stubs={"NoSuchOp: (x: float) -> y: float": lambda x: x}))
    assert stored(cache).is_dir()


def test_images_that_may_be_too_small_are_not_stored(tmp_path, cache):
    for name, shape, count in (("known.pb", "(1, 8, 8, 1)", 1), ("unknown.pb", "(1, ?, ?, 1)", 1)):
        path = tmp_path / name
        path.write_bytes(graph_to_def(graph(CONVOLUTION.replace("SHAPE", shape))).SerializeToString())
        session_of(path).run("y:0", {"x:0": np.ones((1, 8, 8, 1), np.float32)})
        assert len(list((cache / PLANS).glob("*/*"))) == count


def test_sessions_that_store_the_same_plan_at_once_all_answer(model, cache):
    sessions, answers = [session_of(model) for _ in range(4)], []
    threads = [threading.Thread(target=lambda s=s: answers.append(answer(s))) for s in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all(np.array_equal(found, answers[0]) for found in answers)
    assert stored(cache).is_dir()
    assert [path.name for path in (cache / PLANS).iterdir() if path.name.startswith(".")] == []
