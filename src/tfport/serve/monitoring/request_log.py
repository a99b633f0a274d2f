"""Log sampled requests and responses to files, for inspection or replay.

    log = RequestLog(metrics)
    log.configure({"half_plus_two": config.logging_config})
    if log.should_log("half_plus_two"):
        log.add("half_plus_two", "predict", request, response)

The `logging_config` of each model sets how many requests are sampled, as in TensorFlow Serving. Each
record is a PredictionLog in a TFRecord file, which can serve as a warm-up file of a model. A separate
thread writes them; if it cannot keep up, samples are dropped and counted, so that requests never wait.
A new file is started when one is large, and the oldest files are deleted.
"""

from __future__ import annotations

import os
import queue
import random
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from google.protobuf.message import Message

from tfport.formats.proto import model_server_config_pb2 as config_pb
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.status import StatusCode, StatusError, invalid_argument
from tfport.startup.dataclass import dataclass, field

COLLECTORS = ("", "tfrecord", "file")
"""Types of log collectors that write files; TensorFlow Serving has only those linked into it."""
KINDS = ("classify", "regress", "multi_inference", "predict")
MOST_WAITING = 1024
MOST_WAITING_BYTES = 64 << 20
LARGEST_FILE = 64 << 20
MOST_FILES = 10


@dataclass
class _File:
    """The current file of a prefix, and its earlier ones."""

    prefix: str
    number: int = 0
    size: int = 0
    paths: list[Path] = field(default_factory=list)

    def write(self, data: bytes, largest: int, most: int) -> None:
        if not self.paths or self.size + len(data) > largest:
            self._begin(most)
        with self.paths[-1].open("ab") as file:
            file.write(data)
        self.size += len(data)

    def _begin(self, most: int) -> None:
        self.number, self.size = self.number + 1, 0
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        path = Path(f"{self.prefix}-{stamp}-{os.getpid()}-{self.number:05}.tfrecord")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.paths.append(path)
        while len(self.paths) > most:
            self.paths.pop(0).unlink(missing_ok=True)


class RequestLog:
    """The request log of one server."""

    def __init__(
        self, metrics: Metrics, *, largest_file: int = LARGEST_FILE, most_files: int = MOST_FILES
    ) -> None:
        self.metrics, self.largest_file, self.most_files = metrics, largest_file, most_files
        self._configs: dict[str, config_pb.LoggingConfig] = {}
        self._rates: dict[str, float] = {}
        self._files: dict[str, _File] = {}
        self._waiting: queue.Queue[tuple[str, str, bytes] | None] = queue.Queue(MOST_WAITING)
        self._bytes = 0
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None

    def configure(self, configs: Mapping[str, config_pb.LoggingConfig]) -> None:
        """Set the models to sample; raise without any change if a configuration is invalid."""
        rates = {model: _rate(model, config) for model, config in configs.items()}
        self._configs = {model: configs[model] for model, rate in rates.items() if rate}
        self._rates = {model: rate for model, rate in rates.items() if rate}

    def logs(self, model: str) -> bool:
        """Whether requests of a model are logged, or some of them."""
        return model in self._rates

    def should_log(self, model: str) -> bool:
        """Whether to log this request of a model; cheap, so that other requests need not be serialized."""
        rate = self._rates.get(model)
        return rate is not None and random.random() < rate

    def add(
        self, model: str, kind: str, request: bytes | Message, response: bytes | Message, version: int = 0
    ) -> bool:
        """Log a request of one of `KINDS` and its response, as messages or serialized."""
        config = self._configs.get(model)
        if config is None:
            return False
        log = _log(config, model, version, kind, _wire(request), _wire(response))
        return self._put(model, config.log_collector_config.filename_prefix, log)

    def close(self) -> None:
        """Write waiting samples, then stop."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            self._waiting.put(None)
            writer.join()

    def _put(self, model: str, prefix: str, data: bytes) -> bool:
        with self._lock:
            fits = self._bytes + len(data) <= MOST_WAITING_BYTES
            if fits:
                try:
                    self._waiting.put_nowait((model, prefix, data))
                    self._bytes += len(data)
                except queue.Full:
                    fits = False
            if fits and self._writer is None:
                self._writer = threading.Thread(target=self._write, name="request_log", daemon=True)
                self._writer.start()
        if not fits:
            self.metrics.logged(model, StatusCode.RESOURCE_EXHAUSTED)
        return fits

    def _write(self) -> None:
        from tfport.formats.encoding.tfrecord import record  # here, as few servers log requests

        while (sample := self._waiting.get()) is not None:
            model, prefix, data = sample
            file = self._files.setdefault(prefix, _File(prefix))
            try:
                file.write(record(data), self.largest_file, self.most_files)
                self.metrics.logged(model, StatusCode.OK)
            except (OSError, ValueError):  # a full disk must not stop the server
                self.metrics.logged(model, StatusCode.UNAVAILABLE)
            with self._lock:
                self._bytes -= len(data)


def _rate(model: str, config: config_pb.LoggingConfig) -> float:
    rate, collector = config.sampling_config.sampling_rate, config.log_collector_config
    for task in config.sampling_config.per_task_sampling_configs:
        if not task.dc and not task.HasField("task_index"):  # applies to every server
            rate = task.sampling_rate
            break
    if not 0 <= rate <= 1:
        raise invalid_argument(f"model {model}: sampling_rate must be between 0 and 1, got {rate:g}")
    if rate and collector.type not in COLLECTORS:
        raise StatusError(
            StatusCode.NOT_FOUND, f"Cannot find LogCollector::Factory for type: {collector.type}"
        )
    if rate and not collector.filename_prefix:
        raise invalid_argument(f"model {model}: log_collector_config: missing filename_prefix")
    return rate


def _log(
    config: config_pb.LoggingConfig, model: str, version: int, kind: str, request: bytes, response: bytes
) -> bytes:
    from tfport.formats.proto import monitoring_pb2 as pb
    from tfport.formats.proto.serving_pb2 import ModelSpec

    spec = ModelSpec(name=model)
    if version:
        spec.version.value = version
    log = pb.PredictionLogWire()
    log.log_metadata.model_spec = spec.SerializeToString()
    log.log_metadata.sampling_config.CopyFrom(config.sampling_config)
    log.log_metadata.timestamp_secs = int(time.time())
    both = pb.AskedAndAnswered(request=request, response=response)
    getattr(log, f"{kind}_log").CopyFrom(both)
    return log.SerializeToString()


def _wire(message: bytes | Message) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()
