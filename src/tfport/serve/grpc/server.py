"""The gRPC front end: TensorFlow Serving's two services, health and reflection, at a port or a Unix socket.

front = GrpcServer(catalog, reload=manager.reload, options=GrpcOptions(port=8500))
port = await front.start()
await front.stop(grace=10)          calls that have begun may end, new ones are refused
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2_grpc

from tfport.errors import Error
from tfport.formats.files import reason
from tfport.serve.grpc import health
from tfport.serve.grpc.auth import TokenInterceptor
from tfport.serve.grpc.health import HealthService
from tfport.serve.grpc.model_service import ModelService, Reload
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.prediction import PredictionService
from tfport.serve.grpc.reflection import reflection_handlers
from tfport.serve.hosts import bracketed
from tfport.serve.model_catalog import ModelCatalog


class GrpcServer:
    """One server; `more` are other protocols' services at the same port, `files` tell reflection of them."""

    def __init__(
        self,
        catalog: ModelCatalog,
        *,
        reload: Reload,
        options: GrpcOptions | None = None,
        more: Sequence[grpc.GenericRpcHandler] = (),
        files: Sequence[FileDescriptorProto] = (),
    ) -> None:
        self._options = options or GrpcOptions()
        prediction = PredictionService(catalog, self._options)
        models = ModelService(catalog, reload, self._options.metric)
        services = [prediction.service(), models.service()]
        self._handlers = [*(service.handler(self._options.observers) for service in services), *more]
        self._names = [handler.service_name() for handler in self._handlers]
        self._files = files
        self._health = HealthService(catalog, self._names)
        self._server: Any = None

    async def start(self) -> int:
        """Listen; the TCP port, or 0 where there is none."""
        options = self._options
        if options.port is None and not options.socket_path:
            raise Error("gRPC needs a port or the path of a socket")
        self._server = server = self._made()
        port = 0
        try:
            if options.port is not None:
                port = self._listen(f"{bracketed(options.host)}:{options.port}")
            if options.socket_path:
                self._listen(f"unix:{options.socket_path}")
            await server.start()
        except BaseException:
            await server.stop(None)
            raise
        return port

    async def stop(self, grace: float | None = None) -> None:
        """Take no more calls; those that have begun have `grace` seconds to end."""
        self._health.stop()
        if self._server is not None:
            await self._server.stop(grace)

    def _made(self) -> Any:
        options = self._options
        handlers, names = list(self._handlers), list(self._names)
        if options.health:
            names.append(health.NAME)
        if options.reflection:
            handlers.extend(reflection_handlers(names, self._files))
        server = grpc.aio.server(
            handlers=handlers,
            interceptors=[TokenInterceptor(options.tokens)] if options.tokens is not None else None,
            options=list(_arguments(options).items()),
            maximum_concurrent_rpcs=options.most_calls,
        )
        if options.health:
            health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        return server

    def _listen(self, address: str) -> int:
        tls = self._options.tls
        credentials = tls.credentials() if tls else None
        try:
            if credentials:
                port: int = self._server.add_secure_port(address, credentials)
            else:
                port = self._server.add_insecure_port(address)
        except RuntimeError:
            port = 0
        if not port:
            certificate = " with this certificate and key" if tls else ""
            raise Error(f"gRPC cannot listen at {address}{certificate}{_why(self._options, address)}")
        return port


def _arguments(options: GrpcOptions) -> dict[str, int | str]:
    """What gRPC itself is told; a client's own limits hold for what is sent to it."""
    return {
        "grpc.max_receive_message_length": options.largest_message,
        "grpc.max_send_message_length": -1,
        "grpc.so_reuseport": 0,  # a port that another server has is an error, not half of its calls
        **options.channel_arguments,
    }


def _why(options: GrpcOptions, address: str) -> str:
    """What the system says to somebody else who tries; gRPC keeps that to itself."""
    if address.startswith("unix:") or not options.port:
        return ""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((options.host, options.port))
        except OSError as error:
            return f": {reason(error)}"
    return ""
