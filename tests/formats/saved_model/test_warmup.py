"""Warm-up requests of a SavedModel, and damaged files of them."""

from __future__ import annotations

import numpy as np
import pytest

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tensor import from_numpy
from tfport.formats.encoding.tfrecord import read_records, record
from tfport.formats.files import Folder
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import serving_pb2 as pb
from tfport.formats.saved_model.warmup import CLASSIFY, PREDICT, REGRESS, WARMUP, read_warmup


def example(**features):
    message = pb.Example()
    for key, values in features.items():
        message.features.feature[key].float_list.value.extend(values)
    return message


def predict(signature, **inputs):
    log = pb.PredictionLog()
    log.predict_log.request.model_spec.signature_name = signature
    for name, array in inputs.items():
        number = graph_pb2.DT_STRING if array.dtype == object else graph_pb2.DT_FLOAT
        log.predict_log.request.inputs[name].CopyFrom(from_numpy(array, number))
    return log


@pytest.fixture
def folder(tmp_path):
    def made(*logs, data=None):
        file = tmp_path / WARMUP
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"".join(record(log.SerializeToString()) for log in logs) if data is None else data)
        return Folder(tmp_path)

    return made


def test_a_model_without_the_file_has_no_requests(tmp_path):
    assert read_warmup(Folder(tmp_path)) == []


def test_a_predict_request_becomes_arrays(folder):
    x, words = np.float32([[1, 2]]), np.array([b"a", b"\xff"], object)
    (request,) = read_warmup(folder(predict("serve", x=x, words=words)))
    assert (request.signature, request.method) == ("serve", PREDICT)
    np.testing.assert_array_equal(request.inputs["x"], x)
    assert request.inputs["words"].tolist() == [b"a", b"\xff"]


def test_examples_are_serialized_with_their_context(folder):
    log = pb.PredictionLog()
    log.classify_log.request.model_spec.signature_name = "classify"
    examples = log.classify_log.request.input.example_list_with_context
    examples.context.CopyFrom(example(query=[1.0]))
    examples.examples.extend([example(x=[2.0]), example(x=[3.0])])
    (request,) = read_warmup(folder(log))
    assert (request.signature, request.method) == ("classify", CLASSIFY)
    parsed = [pb.Example.FromString(data) for data in request.inputs[""]]
    assert parsed == [example(query=[1.0], x=[2.0]), example(query=[1.0], x=[3.0])]


def test_regressions_and_several_inferences(folder):
    regress, several = pb.PredictionLog(), pb.PredictionLog()
    regress.regress_log.request.input.example_list.examples.append(example(x=[1.0]))
    for name, method in (("a", CLASSIFY), ("b", REGRESS)):
        task = several.multi_inference_log.request.tasks.add(method_name=method)
        task.model_spec.signature_name = name
    several.multi_inference_log.request.input.example_list.examples.append(example(x=[1.0]))
    requests = read_warmup(folder(regress, several))
    methods = [(request.signature, request.method) for request in requests]
    assert methods == [("", REGRESS), ("a", CLASSIFY), ("b", REGRESS)]
    serialized = [example(x=[1.0]).SerializeToString()]
    assert all(request.inputs[""].tolist() == serialized for request in requests)


def test_logs_without_a_request_are_skipped(folder):
    log = pb.PredictionLog()
    log.session_run_log.SetInParent()
    assert read_warmup(folder(log, pb.PredictionLog())) == []


WHOLE = record(predict("s", x=np.float32([1])).SerializeToString())
DAMAGED = [  # the damage, bytes, part of the error
    ("cut within a record", WHOLE[:-7], "byte 0: the record is truncated"),
    ("cut within a length", WHOLE + WHOLE[:5], f"byte {len(WHOLE)}: the record is truncated"),
    ("a changed byte", WHOLE[:20] + bytes([WHOLE[20] ^ 1]) + WHOLE[21:], "byte 0: the record is corrupt"),
    ("a changed length", bytes([WHOLE[0] ^ 1]) + WHOLE[1:], "byte 0: the record is corrupt"),
    ("a length beyond the end", record(b"")[:0] + b"\xff" * 12, "byte 0: the record is corrupt"),
    ("not a message", record(b"\xff\xff\xff"), WARMUP),
]


@pytest.mark.parametrize(("data", "message"), [c[1:] for c in DAMAGED], ids=[c[0] for c in DAMAGED])
def test_a_damaged_file_is_refused_with_its_position(folder, data, message):
    with pytest.raises(UnreadableFile, match=message):
        read_warmup(folder(data=data))


def test_records_are_read_as_they_were_written(tmp_path):
    (tmp_path / "r").write_bytes(record(b"") + record(b"abc"))
    assert [bytes(data) for data in read_records(Folder(tmp_path), "r")] == [b"", b"abc"]
