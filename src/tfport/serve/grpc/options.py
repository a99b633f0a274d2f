"""Options of the gRPC server and its TLS, as those of `tensorflow_model_server` where it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tfport.errors import Error
from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.grpc.observers import Observers
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    import grpc


@dataclass(frozen=True, slots=True)
class GrpcOptions:
    """All options of the gRPC server."""

    host: str = "127.0.0.1"
    port: int | None = 8500
    """0 picks a free port, None means no TCP port."""
    socket_path: str = ""
    """A Unix socket to listen on in addition."""
    tls: Tls | None = None
    tokens: AuthTokens | None = None
    channel_arguments: Mapping[str, int | str] = field(default_factory=dict)
    largest_message: int = 2**31 - 1
    most_calls: int = 4096
    """Maximum number of parallel calls; further ones are rejected before they use memory."""
    most_connections: int = 10_000
    handshake_seconds: float = 10.0
    """Maximum time for TLS, and until the client has sent HTTP/2's preface and settings."""
    idle_seconds: float = 620.0
    """Close connections without calls after this time, as for REST."""
    tensor_content: bool = False
    """Return tensors as raw bytes (`--enable_serialization_as_tensor_content`)."""
    check_method: bool = False
    """Require the matching method name in signatures (`--enable_signature_method_name_check`)."""
    health: bool = True
    reflection: bool = True
    observers: Observers = field(default_factory=Observers)
    """Metrics, request log and tracer."""
    metric: Callable[[str], int] | None = None
    """Returns a metric by name; clients may ask how a reload changed it."""


def channel_arguments(text: str) -> dict[str, int | str]:
    """Parse `--grpc_channel_arguments`: `grpc.max_connection_age_ms=2000,grpc.lb=x`."""
    arguments: dict[str, int | str] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise Error(f"--grpc_channel_arguments: expected key=value, found `{part}`")
        number = value.removeprefix("-")
        arguments[key] = int(value) if number.isascii() and number.isdecimal() else value
    return arguments


# TLS: the PEM texts in `--ssl_config_file`


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM texts; `verify` requires client certificates signed by `client_ca`."""

    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes = b""
    verify: bool = False

    def credentials(self) -> grpc.ServerCredentials:
        """Return the credentials for gRPC."""
        if not self.certificate or not self.key:
            raise Error("TLS needs a server certificate and a server key")
        if self.verify and not self.client_ca:
            raise Error("cannot verify clients: no certificate authority for clients is configured")
        import grpc  # here, as servers read their options before they import it

        pair = (self.key, self.certificate)
        return grpc.ssl_server_credentials([pair], self.client_ca or None, self.verify)


def read_ssl_config(text: bytes, where: str) -> Tls:
    """Parse an SSLConfig text proto; `where` is its name in errors."""
    from tfport.formats.encoding.message import parse_text  # here, as few servers have TLS
    from tfport.formats.proto import serving_api_pb2 as pb

    config = parse_text(pb.SSLConfig, text, where)
    return Tls(
        config.server_cert.encode(),
        config.server_key.encode(),
        config.custom_ca.encode(),
        config.client_verify,
    )
