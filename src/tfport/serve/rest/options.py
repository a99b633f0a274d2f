"""Options of the REST server."""

from __future__ import annotations

import ssl

from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.monitoring.tracing import RequestTracer
from tfport.serve.request_metrics import RequestMetrics
from tfport.serve.rest.body_budget import BodyBudget
from tfport.serve.rest.connections import ConnectionLimits
from tfport.serve.workers.pool import WorkerPool
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class RestOptions:
    """All options; defaults are those of `tensorflow_model_server` where it has the option."""

    host: str = "127.0.0.1"
    port: int = 8501
    timeout_seconds: float = 30.0
    """Timeout for receiving a body, and for the answer after it; 0 means no limit."""
    most_bytes: int = 128 * 2**20
    """Maximum size of a body after decompression."""
    gzip_from: int = 8192
    """Compress responses from this size for clients that accept it; 0 means never."""
    idle_seconds: float = 620.0
    """Close idle connections after this time; load balancers keep theirs for 600 seconds."""
    most_calls: int = 4096
    """Maximum parallel requests, as for gRPC; further ones are rejected before their bodies are read."""
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    """Limits of connections, and of the time for a header."""
    body_budget: BodyBudget = field(default_factory=lambda: BodyBudget(2**29))
    """Limit for the bodies of all requests together; must be at least `most_bytes`."""
    workers: WorkerPool = field(default_factory=WorkerPool)
    """Processes that read large bodies; `RestServer.stop` ends them."""
    cors: bool = False
    check_method: bool = False
    """Require the matching method name in signatures (`--enable_signature_method_name_check`)."""
    tls: ssl.SSLContext | None = None
    tokens: AuthTokens | None = None
    metrics: RequestMetrics | None = None
    request_log: RequestLog | None = None
    tracer: RequestTracer | None = None
    """Makes a span for each request; None if nobody collects them."""
