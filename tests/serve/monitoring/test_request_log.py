"""Sampled requests: written in TensorFlow Serving's format, read back as warm-up requests."""

import numpy as np
import pytest
from google.protobuf import text_format

from tfport.formats.encoding.tensor import from_numpy
from tfport.formats.encoding.tfrecord import read_records
from tfport.formats.files import Folder
from tfport.formats.proto import model_server_config_pb2 as config_pb
from tfport.formats.proto import monitoring_pb2
from tfport.formats.proto import serving_pb2 as pb
from tfport.formats.saved_model.warmup import WARMUP, read_warmup
from tfport.serve.monitoring import request_log as under_test
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.status import StatusCode, StatusError


def config(rate, prefix="", kind=""):
    text = f"sampling_config {{ sampling_rate: {rate} }} "
    text += f'log_collector_config {{ type: "{kind}" filename_prefix: "{prefix}" }}'
    return text_format.Parse(text, config_pb.LoggingConfig())


def asked(*values):
    request = pb.PredictRequest(model_spec=pb.ModelSpec(name="m", signature_name="s"))
    request.inputs["x"].CopyFrom(from_numpy(np.float32(values), 1))
    return request


def written(folder):
    return sorted(path for path in folder.iterdir() if path.suffix == ".tfrecord")


def logs(path):
    return [
        pb.PredictionLog.FromString(bytes(record)) for record in read_records(Folder(path.parent), path.name)
    ]


def test_samples_are_records_that_warm_a_model_up(tmp_path):
    log = RequestLog(Metrics(process=False))
    log.configure({"m": config(1, tmp_path / "log" / "requests")})
    assert log.should_log("m")
    assert log.add("m", "predict", asked(1, 2), b"", 3)
    assert log.add("m", "predict", asked(4).SerializeToString(), b"")
    log.close()
    (path,) = written(tmp_path / "log")
    assert path.name.startswith("requests-")
    model = tmp_path / "model"
    (model / WARMUP).parent.mkdir(parents=True)
    (model / WARMUP).write_bytes(path.read_bytes())
    requests = read_warmup(Folder(model))
    assert [(r.signature, r.inputs["x"].tolist()) for r in requests] == [("s", [1, 2]), ("s", [4])]


def test_a_record_holds_the_response_and_what_is_known_of_the_request(tmp_path):
    log = RequestLog(Metrics(process=False))
    log.configure({"m": config(1, tmp_path / "r", "tfrecord")})
    for kind in under_test.KINDS:
        assert log.add("m", kind, b"", b"\x0a\x03abc", 3)
    log.close()
    (path,) = written(tmp_path)
    records = [bytes(record) for record in read_records(Folder(tmp_path), path.name)]
    parsed = [monitoring_pb2.PredictionLogWire.FromString(record) for record in records]
    assert [log.WhichOneof("log_type") for log in parsed] == [f"{kind}_log" for kind in under_test.KINDS]
    assert parsed[3].predict_log.response == b"\x0a\x03abc"
    metadata = parsed[0].log_metadata
    spec = pb.ModelSpec.FromString(metadata.model_spec)
    assert (spec.name, spec.version.value) == ("m", 3)
    assert metadata.sampling_config.sampling_rate == 1
    assert metadata.timestamp_secs > 1_700_000_000


def test_a_rate_is_the_share_of_requests_that_are_taken(tmp_path):
    log = RequestLog(Metrics(process=False))
    log.configure({"some": config(0.5, tmp_path / "r"), "none": config(0)})
    taken = sum(log.should_log("some") for _ in range(2000))
    assert 800 < taken < 1200
    assert not log.should_log("none")
    assert not log.should_log("unknown")
    assert not log.add("none", "predict", b"", b"")
    log.configure({})
    assert not log.should_log("some")


def test_files_are_begun_anew_and_the_oldest_removed(tmp_path):
    log = RequestLog(Metrics(process=False), largest_file=300, most_files=3)
    log.configure({"m": config(1, tmp_path / "r")})
    for i in range(60):
        assert log.add("m", "predict", asked(i), b"")
    log.close()
    files = written(tmp_path)
    assert len(files) == 3
    assert all(path.stat().st_size <= 300 for path in files)
    last = logs(files[-1])[-1].predict_log.request
    assert last == asked(59)


def test_what_cannot_be_written_is_dropped_and_counted(tmp_path, monkeypatch):
    metrics = Metrics(process=False)
    log = RequestLog(metrics)
    (tmp_path / "file").write_text("no folder")
    log.configure({"m": config(1, tmp_path / "file" / "r")})
    assert log.add("m", "predict", b"", b"")
    log.close()
    assert b'request_log_count{model_name="m",status_code="UNAVAILABLE"} 1' in metrics.text()
    monkeypatch.setattr(under_test, "MOST_WAITING_BYTES", 1000)
    assert not log.add("m", "predict", b"x" * 1000, b"")
    assert b'request_log_count{model_name="m",status_code="RESOURCE_EXHAUSTED"} 1' in metrics.text()


WRONG = [  # configuration, code, message
    (
        config(1.5, "/r"),
        StatusCode.INVALID_ARGUMENT,
        "model m: sampling_rate must be between 0 and 1, got 1.5",
    ),
    (
        config("nan", "/r"),
        StatusCode.INVALID_ARGUMENT,
        "model m: sampling_rate must be between 0 and 1, got nan",
    ),
    (config(1), StatusCode.INVALID_ARGUMENT, "model m: log_collector_config: missing filename_prefix"),
    (config(1, "/r", "kafka"), StatusCode.NOT_FOUND, "Cannot find LogCollector::Factory for type: kafka"),
]


@pytest.mark.parametrize(("wrong", "code", "message"), WRONG)
def test_an_invalid_configuration_is_rejected_and_the_old_one_stays(wrong, code, message, tmp_path):
    log = RequestLog(Metrics(process=False))
    log.configure({"m": config(1, tmp_path / "r")})
    with pytest.raises(StatusError) as refused:
        log.configure({"m": wrong})
    assert (refused.value.code, refused.value.message) == (code, message)
    assert log.should_log("m")
