"""OpenTelemetry spans for requests, if enabled and installed.

    tracer = request_tracer(enabled=True)
    with tracer.request("Predict", model="half_plus_two", headers=headers) as span: ...

Without `--enable_tracing` nothing is imported and a span costs almost nothing. OpenTelemetry's own
variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`, …) or the program's tracer provider set
where spans are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any, Protocol

from tfport.extras import missing
from tfport.serve.status import StatusCode, StatusError

FAULTS = (StatusCode.UNKNOWN, StatusCode.INTERNAL, StatusCode.DATA_LOSS)


class RequestTracer(Protocol):
    """Makes spans."""

    def request(
        self, api: str, model: str, headers: Mapping[str, str], **attributes: str | int
    ) -> AbstractContextManager[Any]:
        """Open a span for a request; `headers` may contain the parent span (`traceparent`)."""
        ...

    def stage(self, name: str, **attributes: str | int) -> AbstractContextManager[Any]:
        """Open a span within the current one."""
        ...

    def close(self) -> None: ...


class NoTracer:
    """Makes no spans."""

    def request(
        self, api: str, model: str, headers: Mapping[str, str], **attributes: str | int
    ) -> AbstractContextManager[Any]:
        return nullcontext()

    def stage(self, name: str, **attributes: str | int) -> AbstractContextManager[Any]:
        return nullcontext()

    def close(self) -> None:
        pass


class OpenTelemetryTracer:
    """Makes OpenTelemetry spans."""

    def __init__(self, provider: Any = None) -> None:
        try:
            self._trace = import_module("opentelemetry.trace")
            self._propagate = import_module("opentelemetry.propagate")
            self._provider = provider or _provider(self._trace)
        except ImportError:
            raise missing("opentelemetry", "--enable_tracing") from None
        self._tracer = self._trace.get_tracer("tfport.serve", tracer_provider=self._provider)

    @contextmanager
    def request(
        self, api: str, model: str, headers: Mapping[str, str], **attributes: str | int
    ) -> Iterator[Any]:
        span_attributes = {
            "rpc.service": "tensorflow.serving",
            "rpc.method": api,
            "model.name": model,
            **attributes,
        }
        with self._tracer.start_as_current_span(
            f"{api} {model}",
            context=self._propagate.extract(dict(headers)),
            kind=self._trace.SpanKind.SERVER,
            attributes=span_attributes,
            record_exception=False,  # its text may contain the client's data
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
                code = StatusCode.OK
            except StatusError as error:
                code = error.code
                raise
            except BaseException:
                code = StatusCode.INTERNAL
                raise
            finally:
                span.set_attribute("rpc.grpc.status_code", code.number)
                if code in FAULTS:
                    span.set_status(self._trace.StatusCode.ERROR)

    def stage(self, name: str, **attributes: str | int) -> AbstractContextManager[Any]:
        span: AbstractContextManager[Any] = self._tracer.start_as_current_span(name, attributes=attributes)
        return span

    def close(self) -> None:
        """Send all remaining spans."""
        if shutdown := getattr(self._provider, "shutdown", None):
            shutdown()


def _provider(trace: Any) -> Any:
    """Return the program's tracer provider, or else a new one that exports its spans."""
    current = trace.get_tracer_provider()
    if not isinstance(current, trace.ProxyTracerProvider):
        return current
    sdk, exporting = import_module("opentelemetry.sdk.trace"), import_module("opentelemetry.sdk.trace.export")
    exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(exporting.BatchSpanProcessor(exporter))
    return provider


def request_tracer(enabled: bool, provider: Any = None) -> RequestTracer:
    """Return the tracer of a server; raise if it needs OpenTelemetry and that is not installed."""
    return OpenTelemetryTracer(provider) if enabled else NoTracer()
