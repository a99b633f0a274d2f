"""Keep the catalog in line with the configuration and with the versions on disk.

    runner = ThreadRunner(pool)
    manager = ModelManager(catalog, one_model("half", "/models/half"), runner_for=lambda *_: runner)
    await manager.start()                  returns when every model was tried once
    manager.ready()                        whether the models that the server needs are available
    await manager.reload(config)           for the call HandleReloadConfigRequest
    await manager.stop()                   after calls in progress have ended

A model that cannot be loaded has the reason in its status and in `problems()`; the others are served.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from tfport.errors import Error
from tfport.formats.proto import model_server_config_pb2 as pb
from tfport.serve.model_catalog import ModelCatalog, VersionState
from tfport.serve.models.config import ModelSettings, read_config, settings_of
from tfport.serve.models.loading import Opener, session_opener
from tfport.serve.models.options import ALL, ANY, ManagerOptions
from tfport.serve.models.resources import CopyFolder, LoadAttempt, LoaderResources, RunnerFor
from tfport.serve.models.served_model import ServedModel
from tfport.serve.status import StatusCode, StatusError, invalid_argument

LOG = logging.getLogger(__name__)
LAST_STEPS = 0.5
"""Seconds for the steps of stopping that follow draining."""


class ModelManager:
    """Loads, updates and unloads the models of one server."""

    def __init__(
        self,
        catalog: ModelCatalog,
        config: pb.ModelServerConfig | None = None,
        *,
        runner_for: RunnerFor,
        config_file: str | None = None,
        load: Opener | None = None,
        options: ManagerOptions | None = None,
        on_attempt: Callable[[LoadAttempt], None] = lambda attempt: None,
        on_unload: Callable[[str, int], None] = lambda name, version: None,
        on_config: Callable[[pb.ModelServerConfig], None] = lambda config: None,
        cache: Path | None = None,
    ) -> None:
        """`config_file` takes precedence over `config`; `load` opens a session; `on_config` gets every
        configuration that comes into use."""
        self.options = options or ManagerOptions()
        self.catalog = catalog
        self.config = pb.ModelServerConfig()
        """The configuration in use."""
        self._first, self._file, self._on_config = config, config_file, on_config
        self._resources = LoaderResources(
            catalog,
            runner_for,
            load or session_opener(),
            self.options,
            on_attempt,
            on_unload,
            CopyFolder(cache),
        )
        self._models: dict[str, ServedModel] = {}
        self._one_at_a_time = asyncio.Lock()
        self._change = asyncio.Event()
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._file_problem = ""
        self._started = self._stopped = False

    async def start(self) -> None:
        """Load the configured models; return when each is available or has failed."""
        config = read_config(self._file) if self._file is not None else self._first
        self._resources.open()
        if config is not None and config.WhichOneof("config"):
            await self._apply(config, scan=self.options.poll_seconds >= 0, needed=True)
        if self._stopped:
            return
        self._resources.serve()
        self._started = True
        if self._file is not None and self.options.config_poll_seconds > 0:
            self._watchers[""] = asyncio.create_task(self._watch_file(self._file))

    async def stop(self) -> None:
        """Stop serving: calls in progress end, loading is cancelled."""
        self._stopped = True
        watchers = list(self._watchers.values())
        self._watchers.clear()
        for task in watchers:
            task.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)
        models = list(self._models.values())
        for model in models:
            model.remove()
        loop = asyncio.get_running_loop()
        end = loop.time() + self.options.drain_seconds + LAST_STEPS
        while (busy := {task for model in models for task in model.tasks}) and loop.time() < end:
            await asyncio.wait(busy, timeout=max(end - loop.time(), 0))
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        await asyncio.to_thread(self._resources.close)

    def ready(self) -> bool:
        """Whether the server is ready, by `ManagerOptions.ready_when`.

        By default a model that is added later and fails does not matter. A server that can answer for none
        of its models is never ready.
        """
        models, when = self._configured(), self.options.ready_when
        if not self._started or self._stopped or (models and not any(model.available for model in models)):
            return False
        return when == ANY or all(model.available for model in models if model.is_needed or when == ALL)

    def availability(self) -> dict[str, bool]:
        """Return the configured models, and whether each has an available version."""
        return {model.name: model.available for model in self._configured()}

    def settings(self) -> list[ModelSettings]:
        """Return the settings of the configured models."""
        return [model.settings for model in self._configured()]

    def max_concurrent_runs(self, name: str) -> int:
        """Return how many runs of a model's version may be in progress; 0 if it has no limit of its own."""
        model = self._models.get(name)
        return model.settings.max_concurrent_runs if model is not None else 0

    def problems(self) -> dict[str, str]:
        """Return the models without an available version, and why in TensorFlow Serving's format."""
        return {model.name: _serving_message(model) for model in self._configured() if not model.available}

    def reasons(self) -> dict[str, str]:
        """Return the models without an available version, and why in one sentence."""
        return {model.name: _reason(model)[1] for model in self._configured() if not model.available}

    async def reload(self, config: pb.ModelServerConfig) -> None:
        """Serve another configuration; return when new models are available, or raise."""
        if config.WhichOneof("config") != "model_config_list":
            raise invalid_argument(
                "ServerModelConfig type not supported by HandleReloadConfigRequest. "
                "Only ModelConfigList is currently supported"
            )
        await self._reload(config)

    async def _reload(self, config: pb.ModelServerConfig) -> None:
        if not self._started or self._stopped:
            raise StatusError(StatusCode.UNAVAILABLE, "the server is starting or stopping")
        new = await self._apply(config, scan=True)
        if missing := [model for model in new if not model.available and not model.removed]:
            reasons = "".join(f"{_serving_message(model)}, " for model in missing)
            raise StatusError(
                StatusCode.UNKNOWN, f"{len(missing)} model(s) did not become available: {{{reasons}}}"
            )

    async def _apply(
        self, config: pb.ModelServerConfig, *, scan: bool, needed: bool = False
    ) -> list[ServedModel]:
        """Apply a configuration, wait until all versions were tried, and return the new models.

        `needed`: the server is not ready before they are available.
        """
        async with self._one_at_a_time:
            configured = settings_of(config)
            check_labels(configured, self.catalog, unavailable=self.options.labels_for_unavailable)
            self.config = pb.ModelServerConfig()
            self.config.CopyFrom(config)
            self._on_config(config)
            for name in self._models.keys() - {settings.name for settings in configured}:
                self._remove(self._models[name])
            known = {model.name for model in self._configured()}
            models = [self._configure(settings) for settings in configured]
            for model in models:
                model.is_needed |= needed
            if scan:
                await asyncio.gather(*(model.poll() for model in models))
                await self._until(lambda: self._stopped or all(m.settled or m.removed for m in models))
            return [model for model in models if model.name not in known]

    def _configure(self, settings: ModelSettings) -> ServedModel:
        model = self._models.get(settings.name)
        if model is None:
            model = self._models[settings.name] = ServedModel(settings, self._resources, self._changed)
        self.catalog.add(settings.name)
        self.catalog.set_labels(settings.name, settings.labels)
        model.configure(settings)
        if self.options.poll_seconds > 0 and settings.name not in self._watchers and not self._stopped:
            self._watchers[settings.name] = asyncio.create_task(self._watch(model))
        return model

    def _remove(self, model: ServedModel) -> None:
        if watcher := self._watchers.pop(model.name, None):
            watcher.cancel()
        model.remove()

    def _configured(self) -> list[ServedModel]:
        return [model for model in self._models.values() if not model.removed]

    def _changed(self) -> None:
        """Handle a change of a model: wake waiting tasks, drop models that are gone."""
        self._change.set()
        self._change = asyncio.Event()
        for name, model in list(self._models.items()):
            if model.removed and not model.versions and not self._stopped:
                del self._models[name]
                self.catalog.remove(name)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._change.wait()

    async def _watch(self, model: ServedModel) -> None:
        while True:
            await asyncio.sleep(self.options.poll_seconds)
            await model.poll()

    async def _watch_file(self, path: str) -> None:
        """Reread the configuration file periodically; log an invalid one once and keep the old one."""
        while True:
            await asyncio.sleep(self.options.config_poll_seconds)
            problem = ""
            try:
                config = await asyncio.to_thread(read_config, path)
                if config != self.config:
                    await self._use(config, path)
            except Error as error:
                problem = str(error)
            if problem and problem != self._file_problem:
                LOG.error("keeping the current configuration: %s", problem)
            self._file_problem = problem

    async def _use(self, config: pb.ModelServerConfig, path: str) -> None:
        if not config.WhichOneof("config"):
            raise StatusError(StatusCode.FAILED_PRECONDITION, f"{path}: missing model_config_list")
        try:
            await self._reload(config)
        except StatusError as error:
            if error.code is not StatusCode.UNKNOWN:  # UNKNOWN: applied, but some models are not available
                raise
            LOG.error("%s", error)


def _serving_message(model: ServedModel) -> str:
    """Return why a model is not available, in TensorFlow Serving's format."""
    version, message, code = _reason(model)
    number = "" if version is None else f" version: {version}"
    return f"{{{{name: {model.name}{number}}} due to error: {code.name}: {message}}}"


def _reason(model: ServedModel) -> tuple[int | None, str, StatusCode]:
    """Return why a model is not available: the version, a message and a code."""
    failed = {v.number: v.error for v in model.versions.values() if v.error is not None}
    if not failed:
        return None, model.problem or f"{model.name}: no version found yet", StatusCode.NOT_FOUND
    error = failed[max(failed)]
    return max(failed), error.message, error.code


def check_labels(models: Iterable[ModelSettings], catalog: ModelCatalog, *, unavailable: bool) -> None:
    """Raise if a label points to a version that is not available.

    With `unavailable`, a new label may point to a version that is not loaded yet; a label in use can
    still only move to an available version.
    """
    for model in models:
        current = catalog.labels(model.name)
        for label, version in sorted(model.labels.items()):
            early = unavailable and current.get(label, version) == version
            if not early and not _is_available(catalog, model.name, version):
                raise StatusError(
                    StatusCode.FAILED_PRECONDITION,
                    f"Request to assign label to version {version} of model {model.name}, "
                    "which is not currently available for inference",
                )


def _is_available(catalog: ModelCatalog, name: str, version: int) -> bool:
    try:
        return catalog.statuses(name, version)[0].state is VersionState.AVAILABLE
    except StatusError:
        return False
