"""The gRPC server: TensorFlow Serving's two services, and those of other protocols.

server = GrpcServer(catalog, reload=manager.reload, ready=manager.ready, options=GrpcOptions(port=8500))
port = await server.start()
await server.stop(grace=10)          received calls are answered, later ones are rejected
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tfport.formats.proto import serving_api_pb2 as pb
from tfport.formats.proto.model_server_config_pb2 import ModelServerConfig
from tfport.serve.grpc.health import CatalogHealth, HealthService
from tfport.serve.grpc.listener import GrpcListener
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.prediction import PredictionService, model_spec_of, requested_version
from tfport.serve.grpc.reflection import DescribeFile
from tfport.serve.grpc.service import GrpcMethod, GrpcService
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.status import invalid_argument


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
        ready: Callable[[], bool] = lambda: True,
        options: GrpcOptions | None = None,
        more: Sequence[GrpcService] = (),
        files: Sequence[DescribeFile] = (),
    ) -> None:
        chosen = options or GrpcOptions()
        services = grpc_services(catalog, reload, chosen, more)
        handlers = [service.handler(chosen.observers) for service in services]
        health = HealthService(CatalogHealth(catalog, [service.name for service in services], ready))
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


NAME = "tensorflow.serving.ModelService"
Reload = Callable[[ModelServerConfig], Awaitable[None]]
"""Applies a configuration; returns when it is in use, or raises."""


class ModelService:
    """`tensorflow.serving.ModelService`: the status of a catalog's models; changes them through `reload`."""

    def __init__(
        self, catalog: ModelCatalog, reload: Reload, metric: Callable[[str], int] | None = None
    ) -> None:
        self._catalog, self._reload, self._metric = catalog, reload, metric

    def service(self) -> GrpcService:
        """Return the methods as a `GrpcService`."""
        methods = [
            GrpcMethod("GetModelStatus", pb.GetModelStatusRequest, self.status),
            GrpcMethod("HandleReloadConfigRequest", pb.ReloadConfigRequest, self.reload_config),
        ]
        return GrpcService(NAME, methods)

    async def status(self, request: pb.GetModelStatusRequest, size: int) -> pb.GetModelStatusResponse:
        """Return the status of a model's versions, newest first, or of the requested one."""
        spec = model_spec_of(request)
        response = pb.GetModelStatusResponse()
        for version in self._catalog.statuses(spec.name, requested_version(spec), spec.version_label):
            row = response.model_version_status.add(version=version.version, state=version.state.value)
            row.status.error_code = version.code.number  # type: ignore[assignment]
            row.status.error_message = version.message
        return response

    async def reload_config(self, request: pb.ReloadConfigRequest, size: int) -> pb.ReloadConfigResponse:
        """Serve other models or other versions."""
        if request.config.WhichOneof("config") != "model_config_list":
            raise invalid_argument(
                "ServerModelConfig type not supported by HandleReloadConfigRequest."
                " Only ModelConfigList is currently supported",
            )
        before = self._metrics(request)
        await self._reload(request.config)
        response = pb.ReloadConfigResponse(status=pb.StatusProto())
        for name, value in self._metrics(request).items():
            response.metric.add(name=name, int64_value_increase=value - before[name])
        return response

    def _metrics(self, request: pb.ReloadConfigRequest) -> dict[str, int]:
        return {name: self._metric(name) if self._metric else 0 for name in request.metric_names}
