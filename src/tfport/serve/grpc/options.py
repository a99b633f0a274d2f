"""How a gRPC front end is set up: as `tensorflow_model_server` is, where it has the option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tfport.errors import Error
from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.tls import Tls


@dataclass(frozen=True, slots=True)
class GrpcOptions:
    """Every flag of the gRPC side."""

    host: str = "127.0.0.1"
    port: int | None = 8500
    """0 is any that is free, None is no TCP port at all."""
    socket_path: str = ""
    """A Unix socket to listen at as well."""
    tls: Tls | None = None
    tokens: AuthTokens | None = None
    channel_arguments: Mapping[str, int | str] = field(default_factory=dict)
    largest_message: int = 2**31 - 1
    most_calls: int = 4096
    """Calls at a time; those beyond are refused at once, before they take memory."""
    tensor_content: bool = False
    """Tensors of responses as raw bytes (`--enable_serialization_as_tensor_content`)."""
    check_method: bool = False
    """A signature must say the method that it is called by (`--enable_signature_method_name_check`)."""
    health: bool = True
    reflection: bool = True
    observers: Observers = field(default_factory=Observers)
    """Who counts, samples and traces."""
    metric: Callable[[str], int] | None = None
    """The value of a metric by name, for those that ask how a reload changed it."""


def channel_arguments(text: str) -> dict[str, int | str]:
    """What `--grpc_channel_arguments` says: `grpc.max_connection_age_ms=2000,grpc.lb=x`."""
    arguments: dict[str, int | str] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise Error(f"--grpc_channel_arguments: expected key=value, found `{part}`")
        number = value.removeprefix("-")
        arguments[key] = int(value) if number.isascii() and number.isdecimal() else value
    return arguments
