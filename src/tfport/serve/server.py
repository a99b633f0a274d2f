"""The whole server, built from its flags: models, batching, monitoring and both front ends.

    server = Server(flags, logs)
    await server.start()          models are loaded, ports are open
    await server.stop()           no new calls, calls in progress end, models are unloaded

Everything runs in one event loop. Each part is documented in its module, the flags in `flags`.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from aiohttp import web

from tfport.errors import Error
from tfport.formats.files import Files, reason
from tfport.formats.proto import model_server_config_pb2 as pb
from tfport.operating_system import is_windows, processors, require_posix
from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.custom.added_ops import registry_with
from tfport.runtime.engines.gpu.cuda_runtime import CudaCopies, DeviceCopies
from tfport.runtime.session import Session
from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.file_limit import connections_allowed
from tfport.serve.flags import NO_TENSORFLOW, FlagValues
from tfport.serve.gpus import (
    GpuMemoryBudget,
    GpuWatch,
    device_names,
    gpu_options,
    memory_fraction,
    report_gpus,
    usable_gpus,
)
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.options import GrpcOptions, Tls, channel_arguments, read_ssl_config
from tfport.serve.light_calls import LightCalls
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.models.config import ModelSettings, one_model, settings_of
from tfport.serve.models.loading import session_opener
from tfport.serve.models.manager import ModelManager
from tfport.serve.models.options import ManagerOptions
from tfport.serve.models.reload_roots import ReloadRoots, default_roots
from tfport.serve.models.resources import LoadAttempt
from tfport.serve.monitoring.instruments import CONTENT_TYPE
from tfport.serve.monitoring.logs import LimitedLines, Logs
from tfport.serve.monitoring.measured_runner import MeasuredRunner
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.monitoring.tracing import request_tracer
from tfport.serve.request_metrics import HEALTH
from tfport.serve.rest.body_budget import BodyBudget
from tfport.serve.rest.connections import ConnectionLimits
from tfport.serve.rest.health_port import HealthPages, HealthPort
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.server import RestServer
from tfport.serve.rest.tls import server_context
from tfport.serve.servable import Runner
from tfport.serve.session_config import SessionConfig, hide_other_gpus, read_session_config
from tfport.serve.status import FAULTS, StatusCode, StatusError
from tfport.serve.thread_shares import CallThreads
from tfport.serve.unused_memory import UnusedMemory
from tfport.serve.v2 import openapi as v2_openapi
from tfport.serve.v2 import rest as v2_rest
from tfport.serve.workers.pool import WorkerPool

if TYPE_CHECKING:
    from tfport.serve.batching.runner import Batching, BatchRunner
    from tfport.serve.front_ends.front_end_pool import FrontEndPool
    from tfport.serve.grpc.server import GrpcServer

GRPC_LISTENERS = "tfport.serve.grpc.listeners"

SWITCH_SECONDS = 0.0005
"""How long a thread may keep Python's lock from the one that feeds a GPU."""
MOST_BODY_BYTES = 2**29
"""Total size of all REST bodies in memory."""


class LoggedMetrics(Metrics):
    """Metrics that also log requests; of refused ones only some, as clients decide how many there are."""

    def __init__(self, logs: Logs) -> None:
        super().__init__()
        self._logs, self._refusals = logs, LimitedLines(self._left_out)

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        super().request(model, api, entrypoint, code, seconds)
        if code is StatusCode.OK or code in FAULTS:
            self._logs.request(model, None, api, entrypoint, code, seconds)

    def refused(self, entrypoint: str, reason: str, peer: str, **fields: str) -> None:
        super().refused(entrypoint, reason, peer, **fields)
        if self._refusals.allows(reason):
            self._logs.info("refused", reason=reason, entrypoint=entrypoint, peer=peer or None, **fields)

    def flush(self) -> None:
        """Log what was left out until now."""
        self._refusals.flush()

    def _left_out(self, reason: str, count: int) -> None:
        self._logs.info("refused", reason=reason, suppressed=count)


class Server:
    """A process that serves models."""

    def __init__(self, flags: FlagValues, logs: Logs, copies: Sequence[DeviceCopies] | None = None) -> None:
        """`copies`: of the GPUs, in place of those of the flags."""
        self.flags, self.logs = flags, logs
        self.catalog, self.metrics = ModelCatalog(), LoggedMetrics(logs)
        self.started = False
        self.session_config = self._session_config()
        self.devices = device_names(flags.text("device"))
        self.gpus = usable_gpus(self.devices)
        self.gpu_copies = [CudaCopies(gpu.index) for gpu in self.gpus] if copies is None else list(copies)
        if self.gpus:
            sys.setswitchinterval(SWITCH_SECONDS)
        self.failure = ""
        """Why the server cannot go on; empty if it can."""
        self.failed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.parallel_calls = _parallel_calls(flags, self.session_config)
        self.threads = CallThreads(self.parallel_calls)
        self.most_runs = _at_least(0, flags, "max_concurrent_runs")
        self.batching = self._batching()
        self.request_log = RequestLog(self.metrics)
        self.tracer = request_tracer(enabled=flags.boolean("enable_tracing"))
        self.registry = registry_with(_paths(flags, "library"), _paths(flags, "ops"))
        self.manager = self._manager()
        self.reload_roots = ReloadRoots([])
        """From where clients may choose models, once the first ones are known."""
        tls = _tls(flags)
        tokens = AuthTokens(flags.text("auth_token_file")) if flags.text("auth_token_file") else None
        self.connections = self._connection_limits()
        if _at_least(0, flags, "grpc_processes"):
            require_posix("--grpc_processes", "leave it out")
        if flags.text("grpc_socket_path"):
            require_posix("--grpc_socket_path", "use --port")
        self.grpc_options = self._grpc_options(tls, tokens)
        self.grpc: Sequence[GrpcServer | FrontEndPool] = ()
        """What listens for gRPC, once the server has started."""
        self.rest = self._rest(tls, tokens)
        if self.grpc_options.port is None and not self.grpc_options.socket_path and self.rest is None:
            raise Error("no port to listen on: --port and --rest_api_port are both 0")
        self.health_pages = HealthPages(self.ready)
        self.health = self._health()
        self.grpc_port = self.rest_port = self.health_port = 0

    async def start(self) -> None:
        """Load the models and open the ports; raise an error if no model loads or a port is taken.

        The port for probes is open while the models load: it says that the server is live, and not ready.
        """
        if self.health is not None:
            self.health_port = await self.health.start()
            self.logs.info("loading", health_port=self.health_port)
        await self.manager.start()
        self.reload_roots = ReloadRoots(
            _paths(self.flags, "model_config_reload_roots") or default_roots(self.manager.config)
        )
        self._report_failed_models()
        if self.rest is not None:
            self.rest_port = await self.rest.start()
        await self._start_grpc()
        if self.gpu_copies:
            self._tasks.append(asyncio.create_task(GpuWatch(self.gpu_copies, self.fail).run()))
        self._tasks.append(asyncio.create_task(UnusedMemory().run()))
        self.started = True

    def ready(self) -> bool:
        """Whether all ports are open, and the models that the server needs are available."""
        return self.started and self.manager.ready()

    def _session_config(self) -> SessionConfig:
        path = self.flags.text("tensorflow_session_config_file")
        if not path:
            return SessionConfig()
        config = read_session_config(path)
        if config.ignored:
            names = ", ".join(config.ignored)
            self.logs.warn("flag", message=f"{path}: {names}: ignored: {NO_TENSORFLOW}")
        hide_other_gpus(config.visible_devices)
        return config

    def fail(self, reason: str) -> None:
        """Note that the server cannot go on; whoever runs it stops it then."""
        self.failure, self.health_pages.stopping = reason, True
        self.logs.failed("gpu", reason)
        self.failed.set()

    async def stop(self) -> None:
        """Reject new calls, let calls in progress end, and release everything."""
        for task in self._tasks:
            task.cancel()
        grace, self.health_pages.stopping = float(self.flags.number("drain_seconds")), True
        rest = [self.rest] if self.rest is not None else []
        await asyncio.gather(*(front.stop(grace) for front in (*rest, *self.grpc)))
        await self.manager.stop()
        if self.health is not None:
            await self.health.stop()
        self.metrics.flush()
        if self.batching is not None:
            self.batching.close()
        self.request_log.close()
        self.tracer.close()
        self.threads.close()

    async def reload(self, config: pb.ModelServerConfig) -> None:
        """Serve another configuration, at a client's request."""
        self.reload_roots.check(config, self.manager.config)
        await self.manager.reload(config)

    def _batching(self) -> Batching | None:
        enabled, file = self.flags.boolean("enable_batching"), self.flags.text("batching_parameters_file")
        if not enabled and not file:
            return None
        from tfport.serve.batching.runner import batching_for

        return batching_for(
            enabled,
            file,
            per_model=self.flags.boolean("enable_per_model_batching_parameters"),
            metrics=self.metrics,
            gpus=len(self.gpus),
        )

    def _manager(self) -> ModelManager:
        flags, file = self.flags, self.flags.text("model_config_file")
        base = flags.text("model_base_path")
        if not file and not base:
            raise Error("expected a model: MODEL, --model_base_path or --model_config_file")
        if file and base:  # as in TensorFlow Serving
            self.logs.warn("flag", message="--model_base_path is ignored because --model_config_file is set")
        tags = [tag for tag in flags.text("saved_model_tags").split(",") if tag]
        threads = flags.number("tensorflow_intra_op_parallelism") or flags.number(
            "tensorflow_session_parallelism"
        )
        return ModelManager(
            self.catalog,
            None if file else one_model(flags.text("model_name"), base),
            runner_for=self._runner,
            config_file=file or None,
            load=session_opener(
                tags=tags or None,
                threads=threads or self.session_config.intra_op_threads or None,
                engine=flags.text("engine"),
                cache=flags.boolean("cache"),
                devices=self.devices,
                gpu=gpu_options(flags),
                budget=GpuMemoryBudget(memory_fraction(flags, self.session_config)),
                registry=self.registry,
                limits=_limits(flags),
                parallel_calls=self.parallel_calls,
                prefer_lite=flags.boolean("prefer_tflite_model"),
            ),
            options=ManagerOptions(
                poll_seconds=flags.number("file_system_poll_wait_seconds"),
                config_poll_seconds=flags.number("model_config_file_poll_wait_seconds"),
                load_threads=flags.number("num_load_threads"),
                unload_threads=flags.number("num_unload_threads"),
                load_retries=flags.number("max_num_load_retries"),
                retry_seconds=flags.number("load_retry_interval_micros") / 1e6,
                warm_up=flags.boolean("enable_model_warmup"),
                warm_up_iterations=flags.number("num_request_iterations_for_warmup"),
                labels_for_unavailable=flags.boolean("allow_version_labels_for_unavailable_models"),
                drain_seconds=flags.number("drain_seconds"),
                all_must_run=not flags.boolean("serve_runnable_signatures"),
                load_seconds=flags.number("load_timeout_seconds"),
                ready_when=flags.text("ready_when"),
                batch_sizes=self._batch_sizes,
            ),
            on_attempt=self._attempted,
            on_unload=self._unloaded,
            on_config=self._configure_request_log,
        )

    def _runner(self, settings: ModelSettings, version: int, session: Session) -> Runner:
        name = settings.name

        def most_runs() -> int:  # a reload may change it
            return self.manager.max_concurrent_runs(name) or self.most_runs

        # a thread that waits for a GPU needs no processor time
        light = LightCalls(session, perf_counter if self.gpus else thread_time)
        if self.batching is not None:
            shared = self.batching.runner(name, version, session.model.files, most_runs)
            if shared is not None:
                return self._adaptive(shared, light)
        return MeasuredRunner(self.threads, self.metrics, light, name, version, most_runs)

    def _adaptive(self, batched: BatchRunner, light: LightCalls) -> Runner:
        if self.gpus:  # batches of few sizes, as each is a CUDA graph
            return batched
        from tfport.serve.batching.adaptive import AdaptiveRunner

        return AdaptiveRunner(batched, self.threads, light)

    def _rows_together(self) -> int:
        """Return how many rows a front end may send together; none if models have their own limits."""
        joined = self.batching is not None and not self.batching.per_model
        return self.batching.parameters.largest_run if joined and self.batching is not None else 0

    def _batch_sizes(self, files: Files | None) -> Sequence[int]:
        chosen = self.batching.parameters_of(files) if self.batching is not None else None
        return () if chosen is None else chosen.allowed_sizes

    def _attempted(self, attempt: LoadAttempt) -> None:
        self.metrics.loaded(attempt.name, attempt.version, attempt.path, attempt.seconds, attempt.code)
        if attempt.code is StatusCode.OK:
            self.logs.loaded(attempt.name, attempt.version, attempt.seconds, attempt.path)
            if attempt.warm_up_requests:
                self.metrics.warmed(attempt.path, attempt.warm_up_requests, attempt.warm_up_seconds)
        elif self.started:  # earlier failures are reported by `_report_failed_models`
            self.logs.failed("load", attempt.message, attempt.name, attempt.version)

    def _unloaded(self, name: str, version: int) -> None:
        self.metrics.unloaded(name, version)
        self.logs.unloaded(name, version)

    def _report_failed_models(self) -> None:
        """Log the models that are not available; raise an error if that is all of them."""
        reasons = self.manager.reasons() if self.flags.number("file_system_poll_wait_seconds") >= 0 else {}
        if reasons and len(reasons) == len(self.manager.settings()):
            raise Error("; ".join(reasons.values()))
        for name, message in reasons.items():
            self.logs.failed("load", message, name)

    def _configure_request_log(self, config: pb.ModelServerConfig) -> None:
        """Log requests of the models that have a `logging_config`."""
        try:
            self.request_log.configure(
                {model.name: model.logging for model in settings_of(config) if model.logging is not None}
            )
        except StatusError as error:
            self.logs.failed("request_log", error.message)

    async def _start_grpc(self) -> None:
        """Listen for gRPC; it is imported in a thread, so that REST answers meanwhile."""
        options = self.grpc_options
        if options.port is None and not options.socket_path:
            return
        await asyncio.to_thread(importlib.import_module, GRPC_LISTENERS)
        from tfport.serve.grpc.listeners import FrontEndOptions, grpc_listeners

        self.grpc = grpc_listeners(
            self.catalog,
            reload=self.reload,
            ready=self.ready,
            options=options,
            front_ends=FrontEndOptions(
                self.flags.number("grpc_processes"),
                self.logs,
                self.gpu_copies[0] if self.gpu_copies else None,
                self._rows_together(),
            ),
        )
        for listener in self.grpc:
            self.grpc_port = await listener.start() or self.grpc_port

    def _grpc_options(self, tls: Tls | None, tokens: AuthTokens | None) -> GrpcOptions:
        flags = self.flags
        return GrpcOptions(
            host=flags.text("host"),
            port=_port(flags, "port"),
            socket_path=flags.text("grpc_socket_path"),
            tls=tls,
            tokens=tokens,
            channel_arguments=channel_arguments(flags.text("grpc_channel_arguments")),
            most_connections=self.connections.most,
            handshake_seconds=self.connections.header_seconds,
            tensor_content=flags.boolean("enable_serialization_as_tensor_content"),
            check_method=flags.boolean("enable_signature_method_name_check"),
            health=flags.boolean("enable_grpc_healthcheck_service"),
            observers=Observers(self.metrics, self.request_log, self.tracer),
            metric=self.metrics.total,
        )

    def _rest(self, tls: Tls | None, tokens: AuthTokens | None) -> RestServer | None:
        flags, port = self.flags, _port(self.flags, "rest_api_port")
        if port and port == _port(flags, "port"):
            raise Error(f"--rest_api_port and --port are both {port}; use different ports")
        if port is None:
            return None
        context = server_context(tls.certificate, tls.key, tls.client_ca, verify=tls.verify) if tls else None
        options = RestOptions(
            host=flags.text("host"),
            port=port,
            timeout_seconds=flags.number("rest_api_timeout_in_ms") / 1e3,
            most_bytes=flags.number("rest_api_max_body_bytes"),
            body_budget=BodyBudget(max(MOST_BODY_BYTES, flags.number("rest_api_max_body_bytes"))),
            workers=WorkerPool(0 if is_windows() else flags.number("rest_api_body_processes")),
            connections=self.connections,
            cors=flags.boolean("rest_api_enable_cors_support"),
            check_method=flags.boolean("enable_signature_method_name_check"),
            tls=context,
            tokens=tokens,
            metrics=self.metrics,
            request_log=self.request_log,
            tracer=self.tracer if flags.boolean("enable_tracing") else None,
        )
        routes: list[web.AbstractRouteDef] = [*v2_rest.routes(self.catalog, self.ready, options)]
        routes += self._metrics_routes()
        return RestServer(
            self.catalog,
            ready=self.ready,
            options=options,
            extra_routes=routes,
            extra_paths=v2_openapi.paths(with_tokens=tokens is not None),
            extra_schemas=v2_openapi.SCHEMAS,
        )

    def _health(self) -> HealthPort | None:
        port = _port(self.flags, "health_port")
        if port is None:
            return None
        if port and port in (_port(self.flags, "port"), _port(self.flags, "rest_api_port")):
            raise Error(f"--health_port and another port are both {port}; use different ports")
        return HealthPort(
            self.flags.text("host"),
            port,
            [*self.health_pages.routes(), *self._metrics_routes()],
            header_seconds=self.connections.header_seconds,
            refused=lambda reason, peer: self.metrics.refused(HEALTH, reason, peer),
        )

    def _connection_limits(self) -> ConnectionLimits:
        """Return the limits of each port."""
        asked, allowed = _at_least(0, self.flags, "max_connections"), connections_allowed(ports=2)
        if asked > allowed:
            self.logs.warn(
                "flag",
                message=f"--max_connections={asked} is reduced to {allowed} by the limit of open files",
            )
        return ConnectionLimits(
            most=min(asked or allowed, allowed), header_seconds=_at_least(1, self.flags, "header_seconds")
        )

    def _metrics_routes(self) -> list[web.AbstractRouteDef]:
        file = self.flags.text("monitoring_config_file")
        if not file:
            return []
        from tfport.serve.monitoring.config import metrics_path

        path = metrics_path(file)
        return [web.get(path, self._metrics_page)] if path is not None else []

    async def _metrics_page(self, request: web.Request) -> web.Response:
        if self.gpus:
            await asyncio.to_thread(report_gpus, self.metrics)
        self.metrics.readiness(self.ready(), self.manager.availability())
        return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def _parallel_calls(flags: FlagValues, config: SessionConfig) -> int:
    """Return how many calls run in parallel."""
    calls = flags.number("tensorflow_inter_op_parallelism") or flags.number("tensorflow_session_parallelism")
    return calls or config.inter_op_threads or processors()


def _limits(flags: FlagValues) -> RunLimits:
    """Return what each call may use."""
    return RunLimits(
        flags.number("max_request_memory_bytes"),
        flags.number("max_loop_iterations"),
        flags.number("max_run_seconds"),
    )


def _at_least(least: int, flags: FlagValues, name: str) -> int:
    number = flags.number(name)
    if number < least:
        raise Error(f"--{name}: expected at least {least}, found {number}")
    return number


def _port(flags: FlagValues, name: str) -> int | None:
    """Return a port, None if it is 0 (disabled, as in TensorFlow Serving), or 0 (any free) if it is -1."""
    number = flags.number(name)
    if not -1 <= number < 2**16:
        raise Error(f"--{name}: expected a port below 65536, found {number}")
    return None if number == 0 else max(number, 0)


def _paths(flags: FlagValues, name: str) -> list[str]:
    """The paths of a flag that takes several, separated by commas."""
    return [path for path in flags.text(name).split(",") if path]


def _tls(flags: FlagValues) -> Tls | None:
    path = flags.text("ssl_config_file")
    if not path:
        return None
    try:
        return read_ssl_config(Path(path).read_bytes(), path)
    except OSError as error:
        raise Error(f"{path}: {reason(error)}") from None
