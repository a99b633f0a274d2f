"""Sampled requests, read with TensorFlow's reader and TensorFlow Serving's messages."""

import pytest

from tfport.formats.proto import model_server_config_pb2 as config_pb
from tfport.serve.monitoring.request_log import RequestLog

tf = pytest.importorskip("tensorflow")
log_pb = pytest.importorskip(
    "tensorflow_serving.apis.prediction_log_pb2", reason="pip install tensorflow-serving-api"
)
pytest.importorskip("prometheus_client")


def test_the_log_has_tensorflow_serving_s_format(tmp_path):
    from tensorflow_serving.apis import classification_pb2, predict_pb2

    from tfport.serve.monitoring.metrics import Metrics

    config = config_pb.LoggingConfig()
    config.sampling_config.sampling_rate = 1
    config.log_collector_config.filename_prefix = str(tmp_path / "requests")
    log = RequestLog(Metrics(process=False))
    log.configure({"m": config})
    request, response = predict_pb2.PredictRequest(), predict_pb2.PredictResponse()
    request.model_spec.name = "m"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([1.0, 2.0]))
    response.outputs["y"].CopyFrom(tf.make_tensor_proto([b"a"]))
    assert log.add("m", "predict", request, response, 7)
    assert log.add("m", "classify", b"", classification_pb2.ClassificationResponse())
    log.close()
    files = [str(path) for path in tmp_path.glob("requests-*")]
    records = [record.numpy() for record in tf.data.TFRecordDataset(files)]
    predict, classify = (log_pb.PredictionLog.FromString(record) for record in records)
    assert predict.predict_log.request == request
    assert predict.predict_log.response == response
    assert predict.log_metadata.model_spec.version.value == 7
    assert predict.log_metadata.sampling_config.sampling_rate == 1
    assert classify.WhichOneof("log_type") == "classify_log"
