"""Batches of a session on a device: the rows are assembled there, each copied once."""

import numpy as np
import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.serve.batching.batched_models import session_of

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.engines.gpu.batch_uploads import BatchUploads
from tfport.runtime.engines.gpu.cuda_runtime import HostCopies
from tfport.serve.batching.joining import run_joined
from tfport.serve.session_replicas import SessionReplicas
from tfport.serve.status import StatusCode, StatusError

COLUMNS = 8192
WEIGHTED = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    s = Placeholder() {dtype=float32, shape=(?)}
    one = Const() {dtype=int32, value=int32()[1]}
    column = ExpandDims(s, one) {T=float32, Tdim=int32}
    dims = Const() {dtype=int32, value=int32(2)[8192, 4]}
    half = Const() {dtype=float32, value=float32()[0.5]}
    w = Fill(dims, half) {T=float32, index_type=int32}
    product = MatMul(x, w) {T=float32}
    y = Mul(product, column) {T=float32}
"""


class CountedCopies(HostCopies):
    """Counts the bytes that go to the device and back."""

    def __init__(self):
        self.up = self.down = 0

    def to_device(self, stream, target, source, size):
        self.up += size
        super().to_device(stream, target, source, size)

    def to_host(self, stream, target, source, size):
        self.down += size
        super().to_host(stream, target, source, size)


def session_on(copies):
    engine = engine_on_cpu()
    engine.__dict__["uploads"] = BatchUploads(copies, "cpu", 0)
    return session_of(WEIGHTED, {"x": "x:0", "s": "s:0"}, {"y": "y:0"}, engine=engine)


def requests_of(*rows):
    random = np.random.default_rng(0)
    return [{"x": random.random((r, COLUMNS), np.float32), "s": random.random(r, np.float32)} for r in rows]


def test_rows_are_copied_once_and_small_inputs_stay_on_the_host():
    copies = CountedCopies()
    session, requests = session_on(copies), requests_of(1, 2, 3)
    signature = session.model.signatures["serving_default"]
    answers = run_joined(session, signature, requests, 6, 8, ["y"], StopSignal())
    sums = np.concatenate([request["x"].sum(1) * request["s"] / 2 for request in requests])
    np.testing.assert_allclose(answers["y"][:6], np.repeat(sums[:, None], 4, 1), rtol=1e-5)
    assert copies.up == 8 * COLUMNS * 4
    assert copies.down == 8 * 4 * 4


def test_the_least_loaded_replica_runs_a_batch():
    all_copies = [CountedCopies(), CountedCopies()]
    replicas = SessionReplicas([session_on(copies) for copies in all_copies])
    signature = replicas.model.signatures["serving_default"]
    with replicas.least_loaded():  # the first is busy
        run_joined(replicas, signature, requests_of(2), 2, 2, ["y"], StopSignal())
    assert [copies.up > 0 for copies in all_copies] == [False, True]
    run_joined(replicas, signature, requests_of(2), 2, 2, ["y"], StopSignal())
    assert [copies.up > 0 for copies in all_copies] == [True, True]


class FailingCopies(HostCopies):
    """Fails once, with an error; afterwards the device is lost, or works."""

    def __init__(self, error, lost):
        self.errors, self.lost = [error], lost

    def to_device(self, stream, target, source, size):
        if self.errors:
            raise self.errors.pop()
        super().to_device(stream, target, source, size)

    def check(self):
        if self.lost:
            raise Error("cuda:0: an illegal memory access was encountered")


@pytest.mark.parametrize(
    ("error", "lost", "code", "message"),
    [
        (ResourceExhausted("out of memory"), False, StatusCode.RESOURCE_EXHAUSTED, "out of memory"),
        (Error("cannot copy"), False, StatusCode.UNAVAILABLE, "cannot copy"),
        (
            Error("cannot copy"),
            True,
            StatusCode.UNAVAILABLE,
            "cuda:0: an illegal memory access was encountered",
        ),
        (RuntimeError("CUDA failure 700"), True, StatusCode.UNAVAILABLE, "illegal memory access"),
    ],
)
def test_what_fails_on_the_device_is_a_status_and_the_next_batch_runs(error, lost, code, message):
    session, requests = session_on(FailingCopies(error, lost)), requests_of(1, 2)
    signature = session.model.signatures["serving_default"]
    with pytest.raises(StatusError, match=message) as raised:
        run_joined(session, signature, requests, 3, 4, ["y"], StopSignal())
    assert raised.value.code is code
    assert run_joined(session, signature, requests, 3, 4, ["y"], StopSignal())["y"].shape == (4, 4)
