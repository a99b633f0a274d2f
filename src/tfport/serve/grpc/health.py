"""The standard gRPC health service: the server is named "", models and services have their own names.

The server and its services are serving while the server is ready, as the pages for readiness say.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health_pb2 as pb
from grpc_health.v1 import health_pb2_grpc

from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.status import StatusError

NAME = "grpc.health.v1.Health"
WATCH_SECONDS = 0.5
"""Seconds between two checks for clients that watch."""
Status = pb.HealthCheckResponse


class HealthStates(Protocol):
    """What knows whether models and services are available."""

    async def state(self, name: str) -> int:
        """Return the status of a name, as a number of `HealthCheckResponse`."""
        ...

    async def names(self) -> list[str]:
        """Return all names."""
        ...


class HealthService(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    """Answers health checks."""

    def __init__(self, states: HealthStates) -> None:
        self._states = states
        self._stops = False

    def stop(self) -> None:
        """Report everything as not serving from now on, also to clients that watch."""
        self._stops = True

    async def Check(self, request: Any, context: Any) -> Any:
        """Return the current status of one name."""
        status = await self._state(request.service)
        if status == Status.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no model or service `{request.service}`")
        return Status(status=status)

    async def List(self, request: Any, context: Any) -> Any:
        """Return the current status of all names."""
        names = await self._states.names()
        return pb.HealthListResponse(statuses={n: Status(status=await self._state(n)) for n in names})

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Send the status of one name, now and after every change."""
        last = None
        while True:
            if (status := await self._state(request.service)) != last:
                last = status
                yield Status(status=status)
            await asyncio.sleep(WATCH_SECONDS)

    async def _state(self, name: str) -> int:
        state = await self._states.state(name)
        return int(Status.NOT_SERVING) if self._stops and state == Status.SERVING else state


class CatalogHealth:
    """The states of a catalog's models, and of services, which are that of the server."""

    def __init__(self, catalog: ModelCatalog, services: Iterable[str], ready: Callable[[], bool]) -> None:
        self._catalog, self._ready = catalog, ready
        # TensorFlow Serving uses their short names
        self._services = {*services, *(name.rpartition(".")[2] for name in services)}

    async def names(self) -> list[str]:
        return ["", *self._services, *self._catalog.names()]

    async def state(self, name: str) -> int:
        if name and name not in self._services and name not in self._catalog.names():
            return int(Status.SERVICE_UNKNOWN)
        well = self._ready() if not name or name in self._services else self._has(name)
        return int(Status.SERVING if well else Status.NOT_SERVING)

    def _has(self, name: str) -> bool:
        try:
            return bool(self._catalog.get(name))
        except StatusError:
            return False
