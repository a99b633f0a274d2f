"""How a REST front end is set up."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.request_metrics import RequestMetrics
from tfport.serve.rest.body_budget import BodyBudget


@dataclass(frozen=True, slots=True)
class RestOptions:
    """The defaults are those of `tensorflow_model_server`, where it has the option."""

    host: str = "127.0.0.1"
    port: int = 8501
    timeout_seconds: float = 30.0
    """How long a body may take to come, and how long an answer may take after it; 0 is without limit."""
    most_bytes: int = 256 * 2**20
    """The largest body, after it is decompressed."""
    gzip_from: int = 8192
    """Answers of at least so many bytes are compressed for clients that accept it; 0 is never."""
    idle_seconds: float = 620.0
    """A connection on which no request comes for so long is closed; balancers keep theirs for 600."""
    most_calls: int = 4096
    """Requests at a time; those beyond are refused before their bodies are read. gRPC has as many."""
    body_budget: BodyBudget = field(default_factory=lambda: BodyBudget(2**30))
    """For the bodies of all requests at a time; for the largest there must be."""
    cors: bool = False
    check_method: bool = False
    """Classify and regress only signatures that say so (`--enable_signature_method_name_check`)."""
    tls: ssl.SSLContext | None = None
    tokens: AuthTokens | None = None
    metrics: RequestMetrics | None = None
