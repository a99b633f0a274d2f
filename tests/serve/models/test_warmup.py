"""Warm-up requests with Examples, and errors that stop a replay."""

from __future__ import annotations

import shutil

import pytest
from tests.hostile_models import ENDLESS
from tests.recorded_models import MODELS
from tests.serve.models.exports import export, saved_model, warm_up_file

import tfport
from tfport.errors import RunCancelled
from tfport.formats.encoding.tfrecord import record
from tfport.formats.proto import serving_pb2
from tfport.formats.saved_model.warmup import WARMUP
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.serve.models.loading import prepare
from tfport.serve.models.warmup import replay
from tfport.serve.status import StatusCode, StatusError


def examples(signature: str) -> bytes:
    log = serving_pb2.PredictionLog()
    log.classify_log.request.model_spec.signature_name = signature
    log.classify_log.request.input.example_list.examples.add()
    return record(log.SerializeToString())


def test_examples_are_replayed(tmp_path):
    shutil.copytree(MODELS / "classifier", tmp_path / "1")
    (tmp_path / "1" / WARMUP).parent.mkdir()
    (tmp_path / "1" / WARMUP).write_bytes(examples("scores_only") + examples(""))
    assert replay(tfport.Session(tmp_path / "1")) == 2


def test_examples_for_a_signature_of_numbers_are_refused(tmp_path):
    session = tfport.Session(export(tmp_path, 1, warm_up=examples("")))
    with pytest.raises(StatusError) as raised:
        replay(session)
    assert raised.value.code is StatusCode.INVALID_ARGUMENT


def test_a_replay_stops_when_the_version_is_dropped(tmp_path):
    session = tfport.Session(export(tmp_path, 1, warm_up=warm_up_file(("", {"x": [1]}))))
    dropped = StopSignal()
    dropped.stop(RunCancelled("dropped"))
    with pytest.raises(RunCancelled, match="dropped"):
        replay(session, stop=dropped)


def test_a_request_that_never_ends_stops_a_replay(tmp_path):
    endless = saved_model(ENDLESS["While, island"], {"serving_default": "y:0"})
    session = tfport.Session(export(tmp_path, 1, endless, warm_up_file(("", {"x": [1]}))))
    with pytest.raises(
        StatusError, match=r"warm-up request 1 takes too long \(--load_timeout_seconds\)"
    ) as raised:
        replay(session, timeout=0.05)
    assert raised.value.code is StatusCode.DEADLINE_EXCEEDED


def test_a_model_without_requests_or_usual_signature(tmp_path):
    two = saved_model(
        "x = Placeholder() {dtype=float32, shape=(?)}\ny = Neg(x) {T=float32}", {"a": "y:0", "b": "y:0"}
    )
    session = tfport.Session(export(tmp_path, 1, two))
    assert replay(session) == 0
    prepare(session)
    assert session.plans.plans == []
