"""tfport's own runtime as a runner: outputs outlive its plans, and variables keep their values."""

import numpy as np
from tests.fix.certify.models import frozen

from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.trials import GENERATED, Trial
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
