"""The metrics by name: those of TensorFlow Serving with its labels and buckets, and our own.

TensorFlow calls a metric `/tensorflow/serving/request_count`; its exporter prints each sign that
Prometheus does not allow as a colon. Its times are in microseconds, ours in seconds.
"""

from __future__ import annotations

from tfport.serve.monitoring.instruments import Counter, Gauge, Histogram, Instrument, exponential

SERVING, BATCHING = ":tensorflow:serving:", ":tensorflow:serving:batching_session:"
CORE, LOADER = ":tensorflow:core:", ":tensorflow:cc:saved_model:"
LATENCY = exponential(10, 1.8, 33)
QUEUING = exponential(100, 1.2, 52)
RUNS = exponential(1000, 2, 20)
EXAMPLES = exponential(1, 2, 15)
ROWS = exponential(1, 2, 14)
SECONDS = exponential(0.0001, 2, 20)


class _Families:
    def all(self) -> list[Instrument]:
        """In the order in which they are declared."""
        return list(vars(self).values())


class ServingFamilies(_Families):
    """What TensorFlow Serving tells, as far as it happens here."""

    def __init__(self) -> None:
        # fmt: off
        self.requests = Counter(f"{SERVING}request_count", "Requests that ended.", "model_name status")
        self.request_latency = Histogram(
            f"{SERVING}request_latency", "Microseconds of a request.", "model_name API entrypoint", LATENCY)
        self.runtime_latency = Histogram(
            f"{SERVING}runtime_latency", "Microseconds in the runtime.", "model_name API runtime", LATENCY)
        self.example_counts = Histogram(
            f"{SERVING}request_example_counts", "Examples in a request.", "model", EXAMPLES)
        self.examples = Counter(f"{SERVING}request_example_count_total", "Examples.", "model")
        self.logged = Counter(
            f"{SERVING}request_log_count", "Requests that were logged.", "model_name status_code")
        self.warmup_latency = Histogram(
            f"{SERVING}model_warmup_latency", "Microseconds of warming up.", "model_path status", LATENCY)
        self.warmup_records = Counter(
            f"{SERVING}model_warmup_records_read", "Warm-up requests.", "model_path status")
        self.queuing = Histogram(
            f"{BATCHING}queuing_latency", "Microseconds in the queue.", "thread_pool_name", QUEUING)
        self.batches = Counter(f"{BATCHING}wrapped_run_count", "Batches that were run.")
        self.padding = Histogram(
            f"{BATCHING}padding_size", "Rows added to a batch.", "execution_batch_size", ROWS)
        self.input_rows = Histogram(f"{BATCHING}input_batch_size", "Rows of an input.", "", ROWS)
        self.batch_rows = Histogram(f"{BATCHING}processed_batch_size", "Rows of a batch.", "", ROWS)
        self.runs = Counter(f"{CORE}graph_runs", "Runs of a graph.")
        self.run_time = Counter(f"{CORE}graph_run_time_usecs", "Microseconds of all runs.")
        self.run_times = Histogram(
            f"{CORE}graph_run_time_usecs_histogram", "Microseconds of a run.", "", RUNS)
        self.load_attempts = Counter(
            f"{LOADER}load_attempt_count", "Loads of a SavedModel.", "model_path status")
        self.load_latency = Counter(
            f"{LOADER}load_latency", "Microseconds of the loads that succeeded.", "model_path")
        # fmt: on


class OwnFamilies(_Families):
    """What it does not tell."""

    def __init__(self) -> None:
        # fmt: off
        self.stages = Histogram(
            "tfport_stage_seconds", "Time in a stage of a request.", "model_name version signature stage",
            SECONDS)
        self.errors = Counter("tfport_errors_total", "Requests not answered.", "model_name code")
        self.in_flight = Gauge("tfport_requests_in_flight", "Requests under way.", "entrypoint")
        self.rows = Counter("tfport_rows_total", "Rows that were run.", "model_name version signature")
        self.batch_rows = Histogram(
            "tfport_batch_rows", "Rows joined into a batch, without padding.", "model_name version signature",
            ROWS)
        self.alone = Counter(
            "tfport_run_alone_total", "Requests that share no batch.", "model_name version signature")
        self.depth = Gauge("tfport_queue_depth", "Requests waiting for a batch.", "model_name version")
        self.loads = Counter("tfport_loads_total", "Versions loaded, or not.", "model_name code")
        self.load_seconds = Histogram("tfport_load_seconds", "Time to load.", "model_name", SECONDS)
        self.unloads = Counter("tfport_unloads_total", "Versions unloaded.", "model_name")
        self.available = Gauge("tfport_version_available", "1 while it answers.", "model_name version")
        self.dropped = Counter(
            "tfport_request_log_dropped_total", "Sampled requests that were not written.", "model_name")
        # fmt: on
