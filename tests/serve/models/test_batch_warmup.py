"""Which batches a model on a device is run with before it is served."""

import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.serve.batching.batched_models import session_of

from tfport.runtime.engines.gpu.batch_uploads import BatchUploads
from tfport.runtime.engines.gpu.preparation import RUNS_TO_PREPARE
from tfport.serve.models.batch_warmup import warm_batches
from tfport.serve.session_replicas import SessionReplicas

ROWS = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    two = Const() {dtype=float32, value=float32()[2]}
    y = Mul(x, two) {T=float32}
"""
ANY_SIZE = ROWS.replace("(?, 4)", "(?, ?)")
RANDOM = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    shape = Shape(x) {T=float32, out_type=int32}
    r = RandomUniform(shape) {T=int32, dtype=float32, seed=1, seed2=2}
    y = Mul(x, r) {T=float32}
"""


class RecordedUploads(BatchUploads):
    """Records the rows of every batch."""

    def __init__(self, uploads):
        super().__init__(uploads.copies, "cpu", 0)
        self.batches = []

    def batch(self, columns, rows):
        self.batches.append(rows)
        return super().batch(columns, rows)


def session_on(text):
    engine = engine_on_cpu()
    engine.__dict__["uploads"] = RecordedUploads(engine.uploads)
    return session_of(text, {"x": "x:0"}, {"y": "y:0"}, engine=engine)


def test_every_size_is_run_the_largest_first():
    session = session_on(ROWS)
    assert warm_batches(session, (1, 8, 2)) == 3 * RUNS_TO_PREPARE
    assert session.engine.uploads.batches == [size for size in (8, 2, 1) for _ in range(RUNS_TO_PREPARE)]


@pytest.mark.parametrize("text", [ANY_SIZE, RANDOM], ids=["unknown size", "effects"])
def test_what_cannot_be_known_or_has_effects_is_left_alone(text):
    session = session_on(text)
    assert warm_batches(session, (1, 8)) == 0
    assert session.engine.uploads.batches == []


def test_every_replica_is_warmed_up():
    replicas = SessionReplicas([session_on(ROWS), session_on(ROWS)])
    assert warm_batches(replicas, (4,)) == 2 * RUNS_TO_PREPARE
    assert all(session.engine.uploads.batches == [4] * RUNS_TO_PREPARE for session in replicas.sessions)


def test_a_model_on_the_host_is_not_run():
    assert warm_batches(session_of(ROWS, {"x": "x:0"}, {"y": "y:0"}), (1, 8)) == 0
