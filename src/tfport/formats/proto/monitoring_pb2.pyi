from tfport.formats.proto import model_server_config_pb2 as _model_server_config_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PrometheusConfig(_message.Message):
    __slots__ = ("enable", "path")
    ENABLE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    enable: bool
    path: str
    def __init__(self, enable: bool = ..., path: _Optional[str] = ...) -> None: ...

class MonitoringConfig(_message.Message):
    __slots__ = ("prometheus_config",)
    PROMETHEUS_CONFIG_FIELD_NUMBER: _ClassVar[int]
    prometheus_config: PrometheusConfig
    def __init__(self, prometheus_config: _Optional[_Union[PrometheusConfig, _Mapping]] = ...) -> None: ...

class LogMetadata(_message.Message):
    __slots__ = ("model_spec", "sampling_config", "saved_model_tags", "timestamp_secs")
    MODEL_SPEC_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_CONFIG_FIELD_NUMBER: _ClassVar[int]
    SAVED_MODEL_TAGS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_SECS_FIELD_NUMBER: _ClassVar[int]
    model_spec: bytes
    sampling_config: _model_server_config_pb2.SamplingConfig
    saved_model_tags: _containers.RepeatedScalarFieldContainer[str]
    timestamp_secs: int
    def __init__(self, model_spec: _Optional[bytes] = ..., sampling_config: _Optional[_Union[_model_server_config_pb2.SamplingConfig, _Mapping]] = ..., saved_model_tags: _Optional[_Iterable[str]] = ..., timestamp_secs: _Optional[int] = ...) -> None: ...

class AskedAndAnswered(_message.Message):
    __slots__ = ("request", "response")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    request: bytes
    response: bytes
    def __init__(self, request: _Optional[bytes] = ..., response: _Optional[bytes] = ...) -> None: ...

class PredictionLogWire(_message.Message):
    __slots__ = ("log_metadata", "classify_log", "regress_log", "multi_inference_log", "predict_log")
    LOG_METADATA_FIELD_NUMBER: _ClassVar[int]
    CLASSIFY_LOG_FIELD_NUMBER: _ClassVar[int]
    REGRESS_LOG_FIELD_NUMBER: _ClassVar[int]
    MULTI_INFERENCE_LOG_FIELD_NUMBER: _ClassVar[int]
    PREDICT_LOG_FIELD_NUMBER: _ClassVar[int]
    log_metadata: LogMetadata
    classify_log: AskedAndAnswered
    regress_log: AskedAndAnswered
    multi_inference_log: AskedAndAnswered
    predict_log: AskedAndAnswered
    def __init__(self, log_metadata: _Optional[_Union[LogMetadata, _Mapping]] = ..., classify_log: _Optional[_Union[AskedAndAnswered, _Mapping]] = ..., regress_log: _Optional[_Union[AskedAndAnswered, _Mapping]] = ..., multi_inference_log: _Optional[_Union[AskedAndAnswered, _Mapping]] = ..., predict_log: _Optional[_Union[AskedAndAnswered, _Mapping]] = ...) -> None: ...
