"""The metrics of a server: TensorFlow Serving's under their names, and tfport's own.

    metrics = Metrics()
    metrics.request("half_plus_two", "Predict", "GRPC", StatusCode.OK, seconds)
    metrics.text()

Front ends, the manager and the batching report to it. Every method takes about a microsecond, is
thread-safe and never fails. Times are given in seconds; TensorFlow Serving's metrics count microseconds.
`instruments` writes the page for Prometheus.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Generic, TypeVar

from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.serve.monitoring.families import OwnFamilies, ServingFamilies
from tfport.serve.monitoring.instruments import Counter, prometheus_text
from tfport.serve.status import StatusCode

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


RUNTIME = "TF1"
"""TensorFlow Serving's name for the runtime that is not TFRT."""
DECODE, QUEUE, RUN, ENCODE = "decode", "queue", "run", "encode"
"""Stages of a request."""
_Run = tuple[int, float, float]
"""A run for one request: its rows, and the seconds that it waited and took."""


class Metrics:
    """Metrics of one server; servers in the same process share nothing."""

    def __init__(self, *, process: bool = True) -> None:
        self._process = process
        self._serving, self._own = ServingFamilies(), OwnFamilies()
        self._answers, self._runs = CallGroups[float](self._count_answers), CallGroups[_Run](self._count_runs)
        self._coded = CallGroups[tuple[float, float]](self._count_coded)
        self._in_progress: dict[StopSignal, tuple[str, str, float]] = {}
        """The model and version of each run, and when it began."""

    @cached_property
    def registry(self) -> CollectorRegistry:
        """Other metrics for the same page; by default memory and time of the process."""
        # imported here: takes a tenth of the start-up time
        from prometheus_client import CollectorRegistry, ProcessCollector

        registry = CollectorRegistry()
        if self._process:
            ProcessCollector(registry=registry)
        return registry

    # -- front ends ----------------------------------------------------------------------------------

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        """Count a completed request. `api` is `Predict`, `Classify`, `Regress` or `MultiInference` for
        gRPC, and the verb of the URL (`predict`) for REST. As in TensorFlow Serving, the latency of
        failed requests is not recorded."""
        if code is StatusCode.OK:
            self._answers.add((model, api, entrypoint), seconds * 1e6)
        else:
            self._serving.requests.add(1, model, code.name)
            self._own.errors.add(1, model, code.name)

    def runtime(self, model: str, api: str, seconds: float) -> None:
        """Record how long a servable took to answer."""
        self._serving.runtime_latency.add(seconds * 1e6, model, api, RUNTIME)

    def examples(self, model: str, count: int) -> None:
        """Record the number of Examples in a classify, regress or multi-inference request."""
        self._serving.example_counts.add(count, model)
        self._serving.examples.add(count, model)

    def stage(self, model: str, version: int, signature: str, stage: str, seconds: float) -> None:
        """Record the time of a stage: `DECODE`, `QUEUE`, `RUN` or `ENCODE`."""
        self._own.stages.add(seconds, model, str(version), signature, stage)

    def coded(
        self, model: str, version: int, signature: str, decode_seconds: float, encode_seconds: float
    ) -> None:
        """Record the times of the stages `DECODE` and `ENCODE`."""
        self._coded.add((model, str(version), signature), (decode_seconds, encode_seconds))

    def began(self, entrypoint: str) -> None:
        self._own.in_flight.add(1, entrypoint)

    def ended(self, entrypoint: str) -> None:
        self._own.in_flight.add(-1, entrypoint)

    def refused(self, entrypoint: str, reason: str, peer: str, **fields: str) -> None:
        """Count a refused request or connection; only the reason is counted."""
        self._own.refused.add(1, entrypoint, reason)

    def logged(self, model: str, code: StatusCode) -> None:
        """Count a sampled request that was logged, or could not be."""
        self._serving.logged.add(1, model, code.name)
        if code is not StatusCode.OK:
            self._own.dropped.add(1, model)

    # -- runners -------------------------------------------------------------------------------------

    def ran(self, model: str, version: int, signature: str, rows: int, seconds: float) -> None:
        """Record one run of the graph with `rows` rows."""
        self._serving.runs.add(1)
        self._serving.run_time.add(seconds * 1e6)
        self._serving.run_times.add(seconds * 1e6)
        self._own.rows.add(rows, model, str(version), signature)

    def ran_alone(
        self, model: str, version: int, signature: str, rows: int, waited: float, seconds: float
    ) -> None:
        """Record one run of the graph for one request, with its stages `QUEUE` and `RUN`."""
        self._runs.add((model, str(version), signature), (rows, waited, seconds))

    def run_began(self, model: str, version: int, stop: StopSignal) -> None:
        """Note a run in a thread, by the signal that stops it."""
        self._in_progress[stop] = model, str(version), perf_counter()

    def run_ended(self, stop: StopSignal) -> None:
        del self._in_progress[stop]

    def alone(self, model: str, version: int, signature: str) -> None:
        """Count a request that could not be batched."""
        self._own.alone.add(1, model, str(version), signature)

    def waiting(self, model: str, version: int, by: int) -> None:
        """Change the number of waiting requests by `by`."""
        self._own.depth.add(by, model, str(version))

    def enqueued(self, rows: int, inputs: int) -> None:
        """Record a request that takes part in batching."""
        for _ in range(inputs):
            self._serving.input_rows.add(rows)

    def waited(self, seconds: float) -> None:
        """Record how long a request waited for its batch."""
        # TensorFlow Serving's sessions have no thread pool name
        self._serving.queuing.add(seconds * 1e6, "")

    def batch(self, model: str, version: int, signature: str, rows: int, padded: int) -> None:
        """Record a batch of `rows` rows, padded to `padded` rows."""
        self._serving.batches.add(1)
        self._serving.padding.add(padded - rows, str(padded))
        self._serving.batch_rows.add(padded)
        self._own.batch_rows.add(rows, model, str(version), signature)

    # -- the manager ---------------------------------------------------------------------------------

    def loaded(
        self, model: str, version: int, path: str, seconds: float, code: StatusCode = StatusCode.OK
    ) -> None:
        """Record an attempt to load a version; `code` is its result."""
        done = code is StatusCode.OK
        self._serving.load_attempts.add(1, path, "success" if done else "fail")
        self._own.loads.add(1, model, code.name)
        if done:
            self._serving.load_latency.add(seconds * 1e6, path)
            self._own.load_seconds.add(seconds, model)
            self._own.available.set(1, model, str(version))

    def unloaded(self, model: str, version: int) -> None:
        """Count an unloaded version and remove its metrics, as there is no limit to versions."""
        self._count_rest()
        own = self._own
        own.unloads.add(1, model)
        of_versions = (own.available, own.depth, own.running, own.stuck, own.oldest)
        for instrument in (*of_versions, own.stages, own.rows, own.batch_rows, own.alone):
            instrument.forget(model, str(version))

    def readiness(self, ready: bool, models: Mapping[str, bool]) -> None:
        """Record whether the server is ready, and which of the configured models are available."""
        self._own.ready.set(int(ready))
        for (name,), _ in self._own.model_available.cells():
            if name not in models:
                self._own.model_available.forget(name)
        for name, available in models.items():
            self._own.model_available.set(int(available), name)

    def warmed(self, path: str, records: int, seconds: float, code: StatusCode = StatusCode.OK) -> None:
        """Record the warm-up requests of a version."""
        self._serving.warmup_latency.add(seconds * 1e6, path, code.name)
        self._serving.warmup_records.add(records, path, code.name)

    # -- clients -----------------------------------------------------------------------------------

    def total(self, name: str) -> int:
        """Return the total of a TensorFlow Serving counter by its name (`/tensorflow/serving/…`)."""
        self._count_rest()
        wanted = name.replace("/", ":")
        counters = [
            counter
            for counter in self._serving.all()
            if isinstance(counter, Counter) and counter.name == wanted
        ]
        return int(sum(value for counter in counters for _, value in counter.cells()))

    def gpu(self, index: int, name: str, used: int, total: int, utilization: float) -> None:
        """Record how much of a GPU is in use; times and memory are those of all processes."""
        labels = str(index), name
        self._own.gpu_used.set(used, *labels)
        self._own.gpu_total.set(total, *labels)
        self._own.gpu_utilization.set(utilization, *labels)

    # -- the page ------------------------------------------------------------------------------------

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self._count_rest()
        self._watch_runs()
        return prometheus_text([*self._serving.all(), *self._own.all()], self.registry)

    def _watch_runs(self) -> None:
        """Set the metrics of runs in progress, those that do not end among them."""
        own, now = self._own, perf_counter()
        runs = dict.fromkeys((labels for labels, _ in own.available.cells()), (0, 0, 0.0))
        for stop, (*servable, began) in list(self._in_progress.items()):
            count, stuck, oldest = runs.get(tuple(servable), (0, 0, 0.0))
            stuck += stop.reason is not None
            runs[tuple(servable)] = count + 1, stuck, max(oldest, now - began)
        for labels, values in runs.items():
            for gauge, value in zip((own.running, own.stuck, own.oldest), values, strict=True):
                gauge.set(value, *labels)

    # -- groups --------------------------------------------------------------------------------------

    def _count_rest(self) -> None:
        """Count what is still in groups."""
        for groups in (self._answers, self._coded, self._runs):
            groups.count_rest()

    def _count_answers(self, latencies: list[float], model: str, api: str, entrypoint: str) -> None:
        self._serving.requests.add(len(latencies), model, StatusCode.OK.name)
        self._serving.request_latency.add_all(latencies, model, api, entrypoint)

    def _count_coded(self, times: list[tuple[float, float]], *labels: str) -> None:
        for stage, seconds in zip((DECODE, ENCODE), zip(*times, strict=True), strict=True):
            self._own.stages.add_all(seconds, *labels, stage)

    def _count_runs(self, runs: list[_Run], *labels: str) -> None:
        rows, waited, seconds = zip(*runs, strict=True)
        micros = [time * 1e6 for time in seconds]
        self._own.stages.add_all(waited, *labels, QUEUE)
        self._own.stages.add_all(seconds, *labels, RUN)
        self._own.rows.add(sum(rows), *labels)
        self._serving.runs.add(len(runs))
        self._serving.run_time.add(sum(micros))
        self._serving.run_times.add_all(micros)


# Calls that are counted together

Reported = TypeVar("Reported")
GROUP = 64
"""Calls that are counted together."""
MOST_GROUPS = 256


class CallGroups(Generic[Reported]):
    """The calls with the same labels that are not counted yet; thread-safe.

    Counting one call in all metrics takes a quarter of the time of a small model; per call of a group it is a
    fraction of that.
    """

    def __init__(self, count: Callable[..., None]) -> None:
        """`count` takes a list of what was reported, and the labels."""
        self._count, self._lock = count, threading.Lock()
        self._groups: dict[tuple[str, ...], list[Reported]] = {}

    def add(self, labels: tuple[str, ...], reported: Reported) -> None:
        with self._lock:
            group = self._groups.get(labels)
            if group is None:
                if len(self._groups) >= MOST_GROUPS:
                    self._count_all()
                group = self._groups[labels] = []
            group.append(reported)
            if len(group) >= GROUP:
                self._count(self._groups.pop(labels), *labels)

    def count_rest(self) -> None:
        """Count all calls until now."""
        with self._lock:
            self._count_all()

    def _count_all(self) -> None:
        groups, self._groups = self._groups, {}
        for labels, group in groups.items():
            self._count(group, *labels)
