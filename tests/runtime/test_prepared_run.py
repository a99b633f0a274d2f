"""What runs of the same fetches and feeds share, and what differs between them."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime import session as session_module
from tfport.runtime.fed_tensor import FedTensor, FedValue
from tfport.runtime.prepared_run import PreparedRun

NEGATED = "x = Placeholder() {dtype=float32, shape=(?, 2)}\ny = Neg(x) {T=float32}\nz = Abs(x) {T=float32}"
X = FedTensor("x:0", DType.parse("float32"), Shape((None, 2)))
SWITCH = FedTensor("p:0", DType.parse("bool"), Shape(()))


def test_the_key_follows_from_the_names_for_declared_shapes():
    run = PreparedRun(("y:0",), [X])
    inputs = run.inputs([[[1, 2]]], any_shape=False)
    key = run.key(inputs, any_shape=False)
    assert key is run.key(run.inputs([[[1, 2], [3, 4]]], any_shape=False), any_shape=False)
    assert (key.fetches, key.feeds, key.ranks, key.values) == (("y:0",), ("x:0",), (None,), (None,))
    assert run.unassumed(inputs, key) is inputs


def test_the_key_has_the_rank_of_another_shape():
    run = PreparedRun(("y:0",), [X])
    key = run.key(run.inputs([[1, 2]], any_shape=True), any_shape=True)
    assert key.ranks == (1,)
    with pytest.raises(RunFailed, match="must have shape"):
        run.inputs([[1, 2]], any_shape=False)


def test_the_key_has_the_value_of_a_switch_and_the_plan_does_not_read_it():
    run = PreparedRun(("y:0",), [X, SWITCH])
    inputs = run.inputs([[[1, 2]], True], any_shape=False)
    key = run.key(inputs, any_shape=False)
    assert key.values == (None, FedValue(True))
    assert [array.tolist() for array in run.unassumed(inputs, key)] == [[[1, 2]]]


def test_nodes_that_are_run_for_their_effect_give_none():
    run = PreparedRun(("start", "y:0", "stop", "z:0"), [])
    assert run.results([1, 2]) == [None, 1, None, 2]
    assert PreparedRun(("y:0", "z:0"), []).results([1, 2]) == [1, 2]


def test_a_session_prepares_runs_of_the_same_names_once():
    session = session_of(NEGATED)
    for feeds in ({"x:0": [[1, 2]]}, {"x": [[1, 2]]}, {"x:0": np.ones((3, 2), np.float32)}):
        session.run("y:0", feeds)
    assert list(session._prepared) == [(("y:0",), ("x:0",))]


def test_of_two_names_of_a_tensor_the_last_value_counts():
    session = session_of(NEGATED)
    for _ in range(2):
        assert session.run("y:0", {"x": [[1, 2]], "x:0": [[3, 4]]}).tolist() == [[-3, -4]]


def test_a_session_keeps_a_bounded_number_of_prepared_runs(monkeypatch):
    monkeypatch.setattr(session_module, "MAX_PREPARED", 2)
    session = session_of(NEGATED)
    for fetches in (["y:0"], ["z:0"], ["y:0", "z:0"]):
        session.run(fetches, {"x:0": [[1, 2]]})
    assert list(session._prepared) == [(("y:0", "z:0"), ("x:0",))]


def test_a_name_that_does_not_exist_is_an_error_each_time():
    session = session_of(NEGATED)
    for _ in range(2):
        with pytest.raises(session_module.Error, match="nothing"):
            session.run("y:0", {"nothing:0": 1})
    assert not session._prepared
