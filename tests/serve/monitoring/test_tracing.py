"""Spans: nothing is imported unless enabled; with OpenTelemetry one per request."""

import subprocess
import sys

import pytest

from tfport.errors import Error
from tfport.serve.monitoring.tracing import request_tracer
from tfport.serve.status import StatusCode, StatusError

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_nothing_is_imported_unless_enabled():
    code = (
        "import sys; from tfport.serve.monitoring.tracing import request_tracer; t = request_tracer(False)\n"
        "with t.request('Predict', 'm', {}), t.stage('run'): pass\n"
        "t.close(); sys.exit('opentelemetry' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_opentelemetry_it_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(Error) as error:
        request_tracer(True)
    says = '--enable_tracing needs OpenTelemetry, which is not installed: pip install "tfport[tracing]"'
    assert str(error.value) == says


def test_a_request_is_a_span_of_the_trace_that_its_headers_name():
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace = request_tracer(True, provider)
    with trace.request("Predict", "m", {"traceparent": PARENT}, version=3), trace.stage("run"):
        pass
    with pytest.raises(StatusError), trace.request("predict", "m", {}):
        raise StatusError(StatusCode.NOT_FOUND, "secret")
    with pytest.raises(ValueError, match="secret"), trace.request("predict", "m", {}):
        raise ValueError("secret")
    run, request, refused, failed = spans.get_finished_spans()
    assert (run.name, request.name) == ("run", "Predict m")
    assert format(request.context.trace_id, "032x") in PARENT
    assert run.parent.span_id == request.context.span_id
    assert request.attributes["version"] == 3
    assert [span.attributes["rpc.grpc.status_code"] for span in (request, refused, failed)] == [0, 5, 13]
    assert "secret" not in refused.to_json() + failed.to_json()
    assert not failed.status.is_ok
    assert refused.status.is_unset
    trace.close()
