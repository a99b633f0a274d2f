"""The gRPC server: TensorFlow Serving's two services, and those of other protocols.

server = GrpcServer(catalog, reload=manager.reload, options=GrpcOptions(port=8500))
port = await server.start()
await server.stop(grace=10)          received calls are answered, later ones are rejected
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.serve.grpc.health import CatalogHealth, HealthService
from tfport.serve.grpc.listener import GrpcListener
from tfport.serve.grpc.model_service import ModelService, Reload
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.prediction import PredictionService
from tfport.serve.grpc.reflection import DescribeFile
from tfport.serve.grpc.service import GrpcService
from tfport.serve.model_catalog import ModelCatalog


def grpc_services(
    catalog: ModelCatalog, reload: Reload, options: GrpcOptions, more: Sequence[GrpcService] = ()
) -> list[GrpcService]:
    """Return TensorFlow Serving's services for a catalog, and others."""
    prediction = PredictionService(catalog, options)
    models = ModelService(catalog, reload, options.metric)
    return [prediction.service(), models.service(), *more]


class GrpcServer:
    """A gRPC server for the models of a catalog; `more` are services of other protocols, `files` describe
    them for reflection."""

    def __init__(
        self,
        catalog: ModelCatalog,
        *,
        reload: Reload,
        options: GrpcOptions | None = None,
        more: Sequence[GrpcService] = (),
        files: Sequence[DescribeFile] = (),
    ) -> None:
        chosen = options or GrpcOptions()
        services = grpc_services(catalog, reload, chosen, more)
        handlers = [service.handler(chosen.observers) for service in services]
        health = HealthService(CatalogHealth(catalog, [service.name for service in services]))
        self._listener = GrpcListener(handlers, health, chosen, files)

    async def start(self) -> int:
        """Listen; return the TCP port, or 0 if there is none."""
        return await self._listener.start()

    async def stop(self, grace: float = 0.0) -> None:
        """Answer the calls that were received, within `grace` seconds; reject later ones."""
        await self._listener.stop(grace)

    @property
    def calls_in_progress(self) -> int:
        """Number of calls that were received and not answered, without streams and health checks."""
        return self._listener.calls_in_progress
