"""What listens for gRPC: this process, or front ends on the port and this process on the socket.

Importing this module imports gRPC and takes a while: `serve.server` does so while REST answers already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfport.serve.grpc.health import CatalogHealth
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.server import GrpcServer, Reload, grpc_services
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.v2 import grpc as v2_grpc
from tfport.serve.v2.metadata import Ready
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from tfport.runtime.engines.gpu.cuda_runtime import DeviceCopies
    from tfport.serve.front_ends.front_end_pool import FrontEndPool
    from tfport.serve.monitoring.logs import Logs


@dataclass(frozen=True, slots=True)
class FrontEndOptions:
    """How many processes read and write the messages of gRPC, and what they need."""

    processes: int
    logs: Logs
    copies: DeviceCopies | None = None
    """Of the first GPU."""
    rows_together: int = 0
    """How many rows a front end may send together."""


def grpc_listeners(
    catalog: ModelCatalog, *, reload: Reload, ready: Ready, options: GrpcOptions, front_ends: FrontEndOptions
) -> Sequence[GrpcServer | FrontEndPool]:
    """Return what listens on the port and the socket of the options."""
    more, files = [v2_grpc.service(catalog, ready, options.observers.request_log)], [v2_grpc.file_descriptor]
    here = replace(options, port=None) if front_ends.processes else options
    listeners: list[GrpcServer | FrontEndPool] = []
    if here.port is not None or here.socket_path:
        listeners.append(
            GrpcServer(catalog, reload=reload, ready=ready, options=here, more=more, files=files)
        )
    if front_ends.processes and options.port is not None:
        from tfport.serve.front_ends.front_end_pool import FrontEndPool  # here, as few servers need it

        services = grpc_services(catalog, reload, options, more)
        health = CatalogHealth(catalog, [service.name for service in services], ready)
        listeners.append(
            FrontEndPool(
                front_ends.processes,
                services,
                health,
                options,
                files,
                front_ends.logs,
                front_ends.copies,
                groups=front_ends.rows_together,
            )
        )
    return listeners
