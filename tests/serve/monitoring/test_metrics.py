"""The Prometheus page: TensorFlow Serving's names, labels and buckets, and tfport's own."""

import threading

import pytest
from prometheus_client import Gauge
from prometheus_client.parser import text_string_to_metric_families

from tfport.serve.monitoring import instruments
from tfport.serve.monitoring.config import metrics_path
from tfport.serve.monitoring.metrics import DECODE, Metrics
from tfport.serve.request_metrics import GRPC, REST
from tfport.serve.status import StatusCode, StatusError


def read(metrics):
    """Return every sample by name and labels, as parsed by the client library."""
    text = metrics.text().decode()
    return {
        (_as_written(sample.name, text), *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _as_written(name, text):
    """The parser adds `_total` to counters that do not have it."""
    return name if f"\n{name}{{" in text or f"\n{name} " in text else name.removesuffix("_total")


EVENTS = [  # event, the samples that it changes
    (
        lambda m: m.request("a", "Predict", GRPC, StatusCode.OK, 0.001),
        {
            (":tensorflow:serving:request_count", ("model_name", "a"), ("status", "OK")): 1,
            (":tensorflow:serving:request_latency_sum",
             ("API", "Predict"), ("entrypoint", "GRPC"), ("model_name", "a")): 1000,
            (":tensorflow:serving:request_latency_bucket",
             ("API", "Predict"), ("entrypoint", "GRPC"), ("le", "10"), ("model_name", "a")): 0,
            (":tensorflow:serving:request_latency_bucket",
             ("API", "Predict"), ("entrypoint", "GRPC"), ("le", "1101.996058"), ("model_name", "a")): None,
            (":tensorflow:serving:request_latency_bucket",
             ("API", "Predict"), ("entrypoint", "GRPC"), ("le", "1102"), ("model_name", "a")): 1,
        },
    ),
    (
        lambda m: m.request("a", "predict", REST, StatusCode.NOT_FOUND, 0.001),
        {
            (":tensorflow:serving:request_count", ("model_name", "a"), ("status", "NOT_FOUND")): 1,
            (":tensorflow:serving:request_latency_count",
             ("API", "predict"), ("entrypoint", "REST"), ("model_name", "a")): None,
            ("tfport_errors_total", ("code", "NOT_FOUND"), ("model_name", "a")): 1,
        },
    ),
    (
        lambda m: m.runtime("a", "Predict", 0.5),
        {(":tensorflow:serving:runtime_latency_sum",
          ("API", "Predict"), ("model_name", "a"), ("runtime", "TF1")): 500000},
    ),
    (
        lambda m: m.examples("a", 3),
        {
            (":tensorflow:serving:request_example_counts_bucket", ("le", "2"), ("model", "a")): 0,
            (":tensorflow:serving:request_example_counts_bucket", ("le", "4"), ("model", "a")): 1,
            (":tensorflow:serving:request_example_count_total", ("model", "a")): 3,
        },
    ),
    (
        lambda m: m.loaded("a", 7, "/models/a/7", 2),
        {
            (":tensorflow:cc:saved_model:load_attempt_count",
             ("model_path", "/models/a/7"), ("status", "success")): 1,
            (":tensorflow:cc:saved_model:load_latency", ("model_path", "/models/a/7")): 2000000,
            ("tfport_loads_total", ("code", "OK"), ("model_name", "a")): 1,
            ("tfport_version_available", ("model_name", "a"), ("version", "7")): 1,
        },
    ),
    (
        lambda m: m.loaded("a", 7, "/models/a/7", 2, StatusCode.DATA_LOSS),
        {
            (":tensorflow:cc:saved_model:load_attempt_count",
             ("model_path", "/models/a/7"), ("status", "fail")): 1,
            ("tfport_version_available", ("model_name", "a"), ("version", "7")): None,
        },
    ),
    (
        lambda m: (m.loaded("a", 7, "/p", 2), m.unloaded("a", 7)),
        {
            ("tfport_version_available", ("model_name", "a"), ("version", "7")): None,
            ("tfport_unloads_total", ("model_name", "a")): 1,
        },
    ),
    (
        lambda m: m.warmed("/p", 5, 0.1),
        {(":tensorflow:serving:model_warmup_records_read", ("model_path", "/p"), ("status", "OK")): 5},
    ),
    (
        lambda m: m.stage("a", 7, "serving_default", DECODE, 0.001),
        {("tfport_stage_seconds_count", ("model_name", "a"), ("signature", "serving_default"),
          ("stage", "decode"), ("version", "7")): 1},
    ),
    (
        lambda m: (m.began(REST), m.began(REST), m.ended(REST)),
        {("tfport_requests_in_flight", ("entrypoint", "REST")): 1},
    ),
    (lambda m: m.ran("a", 7, "s", 3, 0.25), {(":tensorflow:core:graph_run_time_usecs",): 250000}),
    (
        lambda m: m.logged("a", StatusCode.RESOURCE_EXHAUSTED),
        {
            (":tensorflow:serving:request_log_count",
             ("model_name", "a"), ("status_code", "RESOURCE_EXHAUSTED")): 1,
            ("tfport_request_log_dropped_total", ("model_name", "a")): 1,
        },
    ),
    (  # names that clients make up
        lambda m: m.request('a"\\\n\ud800', "Predict", GRPC, StatusCode.OK, 1),
        {(":tensorflow:serving:request_count", ("model_name", 'a"\\\n?'), ("status", "OK")): 1},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("happens", "samples"), EVENTS)
def test_events_change_the_metrics(happens, samples):
    metrics = Metrics(process=False)
    happens(metrics)
    values = read(metrics)
    assert {name: values.get(name) for name in samples} == samples


def test_types_are_declared_under_the_names_of_the_samples():
    lines = Metrics(process=False).text().decode().splitlines()
    assert "# TYPE :tensorflow:serving:request_count counter" in lines
    assert "# TYPE :tensorflow:serving:request_latency histogram" in lines
    assert ":tensorflow:core:graph_runs{} 0" in lines


def test_counters_are_found_by_tensorflow_serving_s_names():
    metrics = Metrics(process=False)
    metrics.request("a", "Predict", GRPC, StatusCode.OK, 0.1)
    metrics.request("b", "predict", REST, StatusCode.NOT_FOUND, 0.1)
    assert metrics.total("/tensorflow/serving/request_count") == 2
    assert metrics.total("/tensorflow/serving/request_latency") == 0  # not a counter
    assert metrics.total("/no/such/metric") == 0


def test_servers_of_one_process_share_nothing():
    first, other = Metrics(), Metrics()
    first.ran("a", 1, "s", 1, 1)
    assert read(first)[":tensorflow:core:graph_runs",] == 1
    assert read(other)[":tensorflow:core:graph_runs",] == 0
    assert read(first)["process_resident_memory_bytes",] > 0


def test_others_may_add_to_the_page():
    metrics = Metrics(process=False)
    Gauge("mine", "Mine.", registry=metrics.registry).set(3)
    assert read(metrics)["mine",] == 3


def test_names_that_clients_make_up_do_not_fill_the_memory():
    metrics = Metrics(process=False)
    for i in range(instruments.MOST_CELLS + 100):
        metrics.request(f"model {i}", "Predict", GRPC, StatusCode.NOT_FOUND, 1)
    counts = {k: v for k, v in read(metrics).items() if k[0] == ":tensorflow:serving:request_count"}
    assert len(counts) == instruments.MOST_CELLS + 1
    assert sum(counts.values()) == instruments.MOST_CELLS + 100


def test_threads_may_count_at_once():
    metrics = Metrics(process=False)
    threads = [
        threading.Thread(target=lambda: [metrics.ran("a", 1, "s", 2, 0) for _ in range(500)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (
        read(metrics)["tfport_rows_total", ("model_name", "a"), ("signature", "s"), ("version", "1")] == 4000
    )


PATHS = [  # file, path
    ('prometheus_config { enable: true path: "/metrics" }', "/metrics"),
    ("prometheus_config: { enable: true }", "/monitoring/prometheus/metrics"),
    ('prometheus_config { enable: false path: "/metrics" }', None),
    ("", None),
]


@pytest.mark.parametrize(("text", "path"), PATHS)
def test_the_path_is_that_of_the_file(tmp_path, text, path):
    (tmp_path / "monitoring.config").write_text(text)
    assert metrics_path(tmp_path / "monitoring.config") == path


def test_an_invalid_monitoring_file_is_rejected(tmp_path):
    file = tmp_path / "monitoring.config"
    for content in (b"prometheus_config { enable: perhaps }", b"\xff", b"prometheus { }"):
        file.write_bytes(content)
        with pytest.raises(StatusError, match="Invalid protobuf file"):
            metrics_path(file)
    file.write_text('prometheus_config { enable: true path: "metrics" }')
    with pytest.raises(StatusError, match="path must begin with /, got `metrics`"):
        metrics_path(file)
    with pytest.raises(StatusError, match="No such file"):
        metrics_path(tmp_path / "none")


def test_versions_that_are_gone_leave_nothing_behind():
    metrics = Metrics(process=False)
    metrics.loaded("a", 0, "/a/0", 0.1)
    first = None
    for version in range(1, 6):
        metrics.loaded("a", version, "/a", 0.1)
        metrics.stage("a", version, "serving_default", "run", 0.01)
        metrics.ran("a", version, "serving_default", 2, 0.01)
        metrics.batch("a", version, "serving_default", 2, 4)
        metrics.alone("a", version, "serving_default")
        metrics.unloaded("a", version)
        lines = metrics.text().count(b"\n")
        first = first or lines
        assert lines == first
    assert b'tfport_stage_seconds_count{model_name="a",version="5"' not in metrics.text()
