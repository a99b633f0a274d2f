"""tfport's own runtime as a runner: outputs outlive its plans, and variables keep their values."""

import _thread
import threading

import numpy as np
import pytest
from tests.fix.certify.models import frozen
from tests.hostile_models import ENDLESS

from tfport.fix.certify import runners
from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.trials import GENERATED, Trial
from tfport.fix.certify.verification import NOT_COMPARED
from tfport.fix.certify.verify import verify
from tfport.runtime.select_signature import select_signature

TEXT = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    y = Mul(x, x) {T=float32}
"""


def test_outputs_are_kept_without_the_memory_of_the_engine():
    model = frozen(TEXT)
    session = OwnSession(ModelSide(model, {"graph": select_signature(model, None, ["y:0"])}), None)
    trial = Trial("graph", "given", GENERATED, {"x": np.full((2, 3), 3, np.float32)})
    first = session.ask(trial)
    assert first.outputs["y"].base is None
    assert len(session._session.plans) == 1
    session.release_memory()
    assert len(session._session.plans) == 0
    np.testing.assert_array_equal(session.ask(trial).outputs["y"], first.outputs["y"])


COUNTED = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    n = VarHandleOp() {dtype=float32, shape=(), shared_name="n"}
    zero = Const() {dtype=float32, value=float32()[0]}
    one = Const() {dtype=float32, value=float32()[1]}
    start = AssignVariableOp(n, zero) {dtype=float32}
    add = AssignAddVariableOp(n, one) {dtype=float32}
    count = ReadVariableOp(n, ^add) {dtype=float32}
    sum = AddV2(x, count) {T=float32}
    y = CheckNumerics(sum) {T=float32, message="no"}
"""


def counted() -> OwnSession:
    model = frozen(COUNTED)
    session = OwnSession(ModelSide(model, {"graph": select_signature(model, None, ["y:0"])}), None)
    session._session.run("start")
    return session


def trial(number: float) -> Trial:
    return Trial("graph", "given", GENERATED, {"x": np.full((1, 3), number, np.float32)})


def answers(session: OwnSession) -> list[float]:
    return [float(session.ask(trial(0)).outputs["y"][0, 0]) for _ in range(2)]


def test_variables_keep_what_a_trial_assigns():
    assert answers(counted()) == [1, 2]


def test_a_trial_that_is_refused_leaves_variables_as_they_were():
    session = counted()
    assert session.ask(trial(np.nan)).outputs is None
    assert answers(session) == [1, 2]


def test_a_trial_that_only_the_other_model_refuses_leaves_variables_as_they_were():
    session = counted()
    assert session.ask(trial(0), keeps=False).outputs is not None
    assert answers(session) == [1, 2]


FORMS = ["While, island", "While, host"]


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_that_does_not_end_ends_the_comparison(form, monkeypatch):
    monkeypatch.setattr(runners, "SECONDS", 0.1)
    model = frozen(ENDLESS[form])
    verification = verify(model, model, live=False)
    assert verification.verdict == NOT_COMPARED
    assert verification.statement == (
        "not compared: graph (the comparison did not finish: with inputs `ordinary, 1 row, open sizes 4`, "
        "the call did not end within 0 seconds)"
    )
    assert {trial.why for trial in verification.trials} == {"the call did not end within 0 seconds"}


@pytest.mark.parametrize("form", FORMS)
def test_an_interruption_ends_a_loop_that_does_not_end(form, monkeypatch):
    monkeypatch.setattr(runners, "SECONDS", 1e6)
    model = frozen(ENDLESS[form])
    session = OwnSession(ModelSide(model, {"graph": select_signature(model, None, ["y:0"])}), None)
    worker = []

    def interrupt():
        while not worker:
            worker.extend(thread for thread in threading.enumerate() if thread.name == runners.WORKER)
        _thread.interrupt_main()

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        session.ask(Trial("graph", "given", GENERATED, {"x": np.float32([1])}))
    interrupter.join()
    worker[0].join()
