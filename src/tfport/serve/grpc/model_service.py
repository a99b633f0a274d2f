"""`tensorflow.serving.ModelService`: the status of versions, and new configurations at run time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tfport.formats.proto import serving_api_pb2 as pb
from tfport.formats.proto.model_server_config_pb2 import ModelServerConfig
from tfport.serve.grpc.model_spec import model_spec_of, requested_version
from tfport.serve.grpc.service import GrpcMethod, GrpcService
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.status import invalid_argument

NAME = "tensorflow.serving.ModelService"
Reload = Callable[[ModelServerConfig], Awaitable[None]]
"""Applies a configuration; returns when it is in use, or raises."""


class ModelService:
    """Reports the status of a catalog's models; changes them through `reload`."""

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
