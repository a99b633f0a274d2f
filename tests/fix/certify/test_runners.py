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
