"""All metrics: those of TensorFlow Serving with its names, labels and buckets, and tfport's own.

TensorFlow names a metric `/tensorflow/serving/request_count`; its exporter replaces each character that
Prometheus does not allow with a colon. Its times are in microseconds, tfport's in seconds.
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
        """Return the instruments in the order of their declaration."""
        return list(vars(self).values())


class ServingFamilies(_Families):
    """Metrics that TensorFlow Serving also has."""

    def __init__(self) -> None:
        # fmt: off
        self.requests = Counter(f"{SERVING}request_count", "Completed requests.", "model_name status")
        self.request_latency = Histogram(
            f"{SERVING}request_latency", "Request latency in microseconds.", "model_name API entrypoint",
            LATENCY)
        self.runtime_latency = Histogram(
            f"{SERVING}runtime_latency", "Model latency in microseconds.", "model_name API runtime", LATENCY)
        self.example_counts = Histogram(
            f"{SERVING}request_example_counts", "Examples per request.", "model", EXAMPLES)
        self.examples = Counter(f"{SERVING}request_example_count_total", "Total number of Examples.", "model")
        self.logged = Counter(
            f"{SERVING}request_log_count", "Logged requests.", "model_name status_code")
        self.warmup_latency = Histogram(
            f"{SERVING}model_warmup_latency", "Warm-up time in microseconds.", "model_path status", LATENCY)
        self.warmup_records = Counter(
            f"{SERVING}model_warmup_records_read", "Warm-up requests.", "model_path status")
        self.queuing = Histogram(
            f"{BATCHING}queuing_latency", "Time in the batch queue in microseconds.", "thread_pool_name",
            QUEUING)
        self.batches = Counter(f"{BATCHING}wrapped_run_count", "Batches run.")
        self.padding = Histogram(
            f"{BATCHING}padding_size", "Rows added to a batch as padding.", "execution_batch_size", ROWS)
        self.input_rows = Histogram(f"{BATCHING}input_batch_size", "Rows per input.", "", ROWS)
        self.batch_rows = Histogram(
            f"{BATCHING}processed_batch_size", "Rows per batch, with padding.", "", ROWS)
        self.runs = Counter(f"{CORE}graph_runs", "Graph runs.")
        self.run_time = Counter(f"{CORE}graph_run_time_usecs", "Total time of graph runs in microseconds.")
        self.run_times = Histogram(
            f"{CORE}graph_run_time_usecs_histogram", "Time of a graph run in microseconds.", "", RUNS)
        self.load_attempts = Counter(
            f"{LOADER}load_attempt_count", "Attempts to load a SavedModel.", "model_path status")
        self.load_latency = Counter(
            f"{LOADER}load_latency", "Total time of successful loads in microseconds.", "model_path")
        # fmt: on


class OwnFamilies(_Families):
    """Metrics that only tfport has."""

    def __init__(self) -> None:
        # fmt: off
        self.stages = Histogram(
            "tfport_stage_seconds", "Time in a stage of a request.", "model_name version signature stage",
            SECONDS)
        self.errors = Counter("tfport_errors_total", "Failed requests.", "model_name code")
        self.refused = Counter(
            "tfport_refused_total", "Refused requests and connections.", "entrypoint reason")
        self.in_flight = Gauge("tfport_requests_in_flight", "Requests in progress.", "entrypoint")
        self.rows = Counter("tfport_rows_total", "Rows run.", "model_name version signature")
        self.batch_rows = Histogram(
            "tfport_batch_rows", "Rows per batch, without padding.", "model_name version signature", ROWS)
        self.alone = Counter(
            "tfport_run_alone_total", "Requests that could not be batched.", "model_name version signature")
        self.depth = Gauge("tfport_queue_depth", "Requests waiting for a run.", "model_name version")
        self.running = Gauge("tfport_runs_in_progress", "Runs in progress.", "model_name version")
        self.stuck = Gauge(
            "tfport_stuck_runs", "Runs in progress that were told to stop: nobody waits for them.",
            "model_name version")
        self.oldest = Gauge(
            "tfport_oldest_run_seconds", "Time since the first of the runs in progress began.",
            "model_name version")
        self.loads = Counter("tfport_loads_total", "Attempts to load a version.", "model_name code")
        self.load_seconds = Histogram(
            "tfport_load_seconds", "Time to load a version.", "model_name", SECONDS)
        self.unloads = Counter("tfport_unloads_total", "Unloaded versions.", "model_name")
        self.available = Gauge(
            "tfport_version_available", "1 while a version is available.", "model_name version")
        self.ready = Gauge("tfport_ready", "1 while the server is ready.")
        self.model_available = Gauge(
            "tfport_model_available", "1 if a configured model has an available version, else 0.",
            "model_name")
        self.dropped = Counter(
            "tfport_request_log_dropped_total", "Sampled requests that could not be logged.", "model_name")
        self.gpu_used = Gauge(
            "tfport_gpu_memory_used_bytes", "GPU memory in use, by all processes.", "gpu name")
        self.gpu_total = Gauge("tfport_gpu_memory_total_bytes", "GPU memory.", "gpu name")
        self.gpu_utilization = Gauge(
            "tfport_gpu_utilization_ratio", "Part of the time in which a kernel ran, by all processes.",
            "gpu name")
        # fmt: on
