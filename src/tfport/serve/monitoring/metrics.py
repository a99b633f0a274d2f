"""What a server counts and measures: TensorFlow Serving's metrics by their names, and our own.

    metrics = Metrics()
    metrics.request("half_plus_two", "Predict", "GRPC", StatusCode.OK, seconds)
    metrics.text()

Front ends, the manager and the batcher tell; every method takes about a microsecond, may be called
from any thread and never fails. Times are given in seconds; TensorFlow Serving's metrics count
microseconds. What Prometheus reads is made in `exposition`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tfport.serve.monitoring.exposition import prometheus_text
from tfport.serve.monitoring.families import OwnFamilies, ServingFamilies
from tfport.serve.monitoring.instruments import Counter
from tfport.serve.status import StatusCode

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

RUNTIME = "TF1"
"""What TensorFlow Serving calls the runtime that is not TFRT."""
DECODE, QUEUE, RUN, ENCODE = "decode", "queue", "run", "encode"
"""The stages of a request."""


class Metrics:
    """The numbers of one server; nothing is shared with another in the same process."""

    def __init__(self, *, process: bool = True) -> None:
        self._process = process
        self._serving, self._own = ServingFamilies(), OwnFamilies()

    @cached_property
    def registry(self) -> CollectorRegistry:
        """What else is to be told on the same page; the process's own memory and time unless said."""
        from prometheus_client import CollectorRegistry, ProcessCollector  # a tenth of the time to start

        registry = CollectorRegistry()
        if self._process:
            ProcessCollector(registry=registry)
        return registry

    # -- front ends ----------------------------------------------------------------------------------

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        """A request ended. `api` is `Predict`, `Classify`, `Regress`, `MultiInference` for gRPC, and the
        word of the URL (`predict`) for REST; the latency of what failed is not told, as there."""
        self._serving.requests.add(1, model, code.name)
        if code is StatusCode.OK:
            self._serving.request_latency.add(seconds * 1e6, model, api, entrypoint)
        else:
            self._own.errors.add(1, model, code.name)

    def runtime(self, model: str, api: str, seconds: float) -> None:
        """How long a servable took to answer."""
        self._serving.runtime_latency.add(seconds * 1e6, model, api, RUNTIME)

    def examples(self, model: str, count: int) -> None:
        """A classify, regress or multi-inference request had so many Examples."""
        self._serving.example_counts.add(count, model)
        self._serving.examples.add(count, model)

    def stage(self, model: str, version: int, signature: str, stage: str, seconds: float) -> None:
        """A stage of a request took so long: `DECODE`, `QUEUE`, `RUN` or `ENCODE`."""
        self._own.stages.add(seconds, model, str(version), signature, stage)

    def began(self, entrypoint: str) -> None:
        self._own.in_flight.add(1, entrypoint)

    def ended(self, entrypoint: str) -> None:
        self._own.in_flight.add(-1, entrypoint)

    def logged(self, model: str, code: StatusCode) -> None:
        """A sample of a request was written to the log, or not."""
        self._serving.logged.add(1, model, code.name)
        if code is not StatusCode.OK:
            self._own.dropped.add(1, model)

    # -- runners -------------------------------------------------------------------------------------

    def ran(self, model: str, version: int, signature: str, rows: int, seconds: float) -> None:
        """The graph was run once, for so many rows."""
        self._serving.runs.add(1)
        self._serving.run_time.add(seconds * 1e6)
        self._serving.run_times.add(seconds * 1e6)
        self._own.rows.add(rows, model, str(version), signature)

    def alone(self, model: str, version: int, signature: str) -> None:
        """A request could not share a batch."""
        self._own.alone.add(1, model, str(version), signature)

    def waiting(self, model: str, version: int, by: int) -> None:
        """So many requests more (or fewer) wait for a batch."""
        self._own.depth.add(by, model, str(version))

    def enqueued(self, rows: int, inputs: int) -> None:
        """A request of so many rows, in so many inputs, takes part in batching."""
        for _ in range(inputs):
            self._serving.input_rows.add(rows)

    def waited(self, seconds: float) -> None:
        """A request left the queue for a batch."""
        # TensorFlow Serving gives its sessions no name of their pool
        self._serving.queuing.add(seconds * 1e6, "")

    def batch(self, model: str, version: int, signature: str, rows: int, padded: int) -> None:
        """A batch left with so many rows, padded to so many."""
        self._serving.batches.add(1)
        self._serving.padding.add(padded - rows, str(padded))
        self._serving.batch_rows.add(padded)
        self._own.batch_rows.add(rows, model, str(version), signature)

    # -- the manager ---------------------------------------------------------------------------------

    def loaded(
        self, model: str, version: int, path: str, seconds: float, code: StatusCode = StatusCode.OK
    ) -> None:
        """A version was loaded, or could not be (`code` says why)."""
        done = code is StatusCode.OK
        self._serving.load_attempts.add(1, path, "success" if done else "fail")
        self._own.loads.add(1, model, code.name)
        if done:
            self._serving.load_latency.add(seconds * 1e6, path)
            self._own.load_seconds.add(seconds, model)
            self._own.available.set(1, model, str(version))

    def unloaded(self, model: str, version: int) -> None:
        """A version is gone, and with it what was told of it; versions come without end."""
        own = self._own
        own.unloads.add(1, model)
        for instrument in (own.available, own.depth, own.stages, own.rows, own.batch_rows, own.alone):
            instrument.forget(model, str(version))

    def warmed(self, path: str, records: int, seconds: float, code: StatusCode = StatusCode.OK) -> None:
        """The warm-up requests of a version were asked."""
        self._serving.warmup_latency.add(seconds * 1e6, path, code.name)
        self._serving.warmup_records.add(records, path, code.name)

    # -- who asks ----------------------------------------------------------------------------------

    def total(self, name: str) -> int:
        """What a counter of TensorFlow Serving has come to, by its name there (`/tensorflow/serving/…`)."""
        wanted = name.replace("/", ":")
        counters = [
            counter
            for counter in self._serving.all()
            if isinstance(counter, Counter) and counter.name == wanted
        ]
        return int(sum(value for counter in counters for _, value in counter.cells()))

    # -- the page ------------------------------------------------------------------------------------

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return prometheus_text([*self._serving.all(), *self._own.all()], self.registry)
