"""The versions of one model: load the requested ones, unload the others, report the state of each.

All state changes happen in the event loop and only the work itself in threads, so the state is always
consistent. A version is identified by its number and path: if the base path changes, versions with the
same numbers are new ones, which replace the old ones once they are loaded. (TensorFlow Serving keeps
the old ones then.)
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from tfport.errors import RunCancelled
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.serve.model_catalog import VersionState, VersionStatus
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.loading import (
    LoadedVersion,
    delete_copy,
    load_version,
    to_status_error,
)
from tfport.serve.models.managed_version import ManagedVersion, close_runner, drained, free
from tfport.serve.models.policy import LoadStage, PolicyStep, next_step, select_versions
from tfport.serve.models.resources import LoadAttempt, LoaderResources
from tfport.serve.models.store import Stamp, VersionStore, open_store
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError

LOG = logging.getLogger(__name__)
Key = tuple[int, str]
"""A version's number and path."""


class ServedModel:
    """One model that is or was configured."""

    def __init__(
        self, settings: ModelSettings, resources: LoaderResources, changed: Callable[[], None]
    ) -> None:
        self.settings, self._resources, self._changed = settings, resources, changed
        self.store = open_store(settings.base_path)
        self.versions: dict[Key, ManagedVersion] = {}
        self.listed = False
        """Whether the base path was scanned since the settings changed."""
        self.problem = ""
        """Why no versions are known; empty otherwise."""
        self.removed = False
        self.is_needed = False
        """Whether the server is ready only while this model is available: it began with or has loaded it."""
        self.tasks: set[asyncio.Task[None]] = set()
        self._one_poll = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def available(self) -> bool:
        return any(version.stage is LoadStage.READY for version in self.versions.values())

    @property
    def settled(self) -> bool:
        """Whether every requested version was tried at least once."""
        busy = (LoadStage.NEW, LoadStage.LOADING, LoadStage.UNLOADING)
        return self.listed and not any(
            v.aspired and v.stage in busy and (v.error is None or v.unwanted) for v in self.versions.values()
        )

    def configure(self, settings: ModelSettings) -> None:
        """Apply new settings."""
        if settings.base_path != self.settings.base_path:
            self.store = open_store(settings.base_path)
        self.settings, self.listed, self.removed = settings, False, False

    def remove(self) -> None:
        """Unload all versions: the model is no longer configured."""
        self.removed, self.is_needed = True, False
        self._aspire({}, {})

    async def poll(self) -> None:
        """Scan for versions; loaded ones stay if the scan fails."""
        async with self._one_poll:
            settings, store = self.settings, self.store
            failed = [v.path for v in self.versions.values() if v.error is not None]
            try:
                present, stamps = await self._resources.in_listing(_scan, store, failed)
            except Exception as error:
                present, stamps = None, {}
                self._set_problem(f"{self.name}: {to_status_error(error)}")
            if settings is not self.settings or self.removed:  # the settings changed in the meantime
                return
            self.listed = True
            if present is not None:
                chosen = select_versions(settings.policy, present)
                self._set_problem("" if chosen else self._no_version_message(present))
                if chosen or not self._resources.options.always_present:
                    self._aspire(chosen, stamps)
            self._changed()

    def _aspire(self, chosen: dict[int, str], stamps: dict[str, Stamp]) -> None:
        keys = set(chosen.items())
        for key in keys - self.versions.keys():
            self.versions[key] = ManagedVersion(*key, self.store)
            self._set_status(self.versions[key], VersionState.START)
        for key, version in list(self.versions.items()):
            version.aspired = key in keys
            if not version.aspired:
                version.unwanted = True
                version.stop.stop(RunCancelled("Loading of servable cancelled"))
                version.wake.set()
                if version.stage in (LoadStage.NEW, LoadStage.FAILED):
                    del self.versions[key]
            elif version.error and stamps.get(version.path, version.stamp) != version.stamp:
                version.wake.set()  # it was written again: retry now
                if version.stage is LoadStage.FAILED:
                    version.stage = LoadStage.NEW
        self._adjust()

    def _adjust(self) -> None:
        """Start all steps that the policy asks for now."""
        while step := next_step(self.versions.values()):
            action, version = step
            if action is PolicyStep.LOAD:
                version.stage, version.unwanted, version.error = LoadStage.LOADING, False, None
                version.stop = StopSignal()
                self._set_status(version, VersionState.LOADING)
                work = self._load(version)
            else:
                servable = self._withdraw(version)
                version.stage = LoadStage.UNLOADING
                self._set_status(version, VersionState.UNLOADING)
                work = self._unload(version, servable)
            task = asyncio.create_task(work)
            self.tasks.add(task)
            task.add_done_callback(self._finished)
        self._changed()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            LOG.error("%s: internal error", self.name, exc_info=task.exception())

    def _withdraw(self, version: ManagedVersion) -> Servable:
        """Stop sending calls to a version and return its servable."""
        servable, version.servable = version.servable, None
        assert servable is not None
        if self._available_servable(version.number) is servable:
            self._resources.catalog.withdraw(self.name, version.number)
        return servable

    async def _load(self, version: ManagedVersion) -> None:
        version.servable = await self._load_with_retries(version)
        if version.servable is None:
            version.stage = LoadStage.FAILED
            self._set_status(version, VersionState.END, version.error)
            self._ended(version)
        else:
            version.error, version.stage = None, LoadStage.READY
            self.is_needed = not self.removed
            self._resources.catalog.publish(version.servable)
            LOG.debug("%s version %d is available", self.name, version.number)
        self._adjust()

    async def _load_with_retries(self, version: ManagedVersion) -> Servable | None:
        """Load a version with as many attempts as allowed; None if all fail or it is dropped."""
        options = self._resources.options
        for number in range(1, max(options.load_retries, 0) + 2):
            servable = await self._attempt(version, number)
            if servable is not None or version.unwanted:
                return servable
            LOG.debug("%s version %d failed to load: %s", self.name, version.number, version.error)
            if version.error is not None and version.error.code is StatusCode.UNIMPLEMENTED:
                return None  # it needs other files, which are noticed, or another tfport
            if number <= options.load_retries:
                self._set_status(version, VersionState.LOADING, version.error)
                self._changed()
                with suppress(TimeoutError):
                    await asyncio.wait_for(version.wake.wait(), max(options.retry_seconds, 0))
                if version.unwanted:
                    return None
        return None

    async def _attempt(self, version: ManagedVersion, number: int) -> Servable | None:
        """Try to load a version once; a failure is stored in its `error`."""
        began = time.monotonic()
        version.wake.clear()
        servable, version.copy, code = None, None, StatusCode.OK
        warmed = 0, 0.0
        try:
            loaded = await self._resources.in_loading(self._load_in_thread, version)
            version.copy = loaded.copy
            warmed = loaded.warm_up_requests, loaded.warm_up_seconds
            version.stop.check()
            runner = self._resources.runner_for(self.settings, version.number, loaded.session)
            servable = Servable(self.name, version.number, loaded.session, runner)
        except Exception as error:
            code, message = to_status_error(error).code, to_status_error(error).message
            await self._resources.in_unloading(delete_copy, version.copy)
            # a new error: the raised one keeps alive everything that was loaded.
            # No await from here until the status is set
            version.error = StatusError(code, message)
        seconds = time.monotonic() - began
        message = version.error.message if servable is None and version.error is not None else ""
        attempt = LoadAttempt(
            self.name, version.number, number, code, seconds, version.path, message, *warmed
        )
        self._resources.on_attempt(attempt)
        return servable

    def _load_in_thread(self, version: ManagedVersion) -> LoadedVersion:
        """Load a version; runs in a thread."""
        resources = self._resources
        with suppress(Exception):
            version.stamp = version.store.stamp(version.path)
        copied = version.store.is_remote
        return load_version(
            version.store,
            version.path,
            self.settings,
            open_session=resources.open_session,
            copy_to=resources.copies.new_path(self.name, version.number) if copied else None,
            options=resources.options,
            stop=version.stop,
        )

    async def _unload(self, version: ManagedVersion, servable: Servable) -> None:
        """Wait for calls in progress, then free the version."""
        resources = self._resources
        if await drained(servable, resources.options.drain_seconds):
            await close_runner(servable.runner)
        else:
            running = servable.running
            LOG.warning("%s version %d: %d calls are still running", self.name, version.number, running)
        copy, version.copy = version.copy, None
        del servable
        await resources.in_unloading(free, copy)
        version.stage = LoadStage.FAILED
        self._set_status(version, VersionState.END)
        resources.on_unload(self.name, version.number)
        self._ended(version)
        self._adjust()

    def _ended(self, version: ManagedVersion) -> None:
        """Forget a version that has ended, unless it is requested again."""
        if not version.aspired:
            self.versions.pop((version.number, version.path), None)
        elif version.unwanted:
            version.stage, version.error = LoadStage.NEW, None

    def _available_servable(self, number: int) -> Servable | None:
        try:
            return self._resources.catalog.get(self.name, number)
        except StatusError:
            return None

    def _set_status(
        self, version: ManagedVersion, state: VersionState, error: StatusError | None = None
    ) -> None:
        """Publish the state of a version, unless another version with its number is available."""
        others = (v for v in self.versions.values() if v.number == version.number and v is not version)
        if any(other.stage is LoadStage.READY for other in others):
            return
        code, message = (error.code, error.message) if error else (StatusCode.OK, "")
        self._resources.catalog.set_status(self.name, VersionStatus(version.number, state, code, message))

    def _set_problem(self, problem: str) -> None:
        if problem and problem != self.problem:
            LOG.warning("%s", problem)
        self.problem = problem
        self._resources.catalog.set_problem(self.name, problem)

    def _no_version_message(self, present: dict[int, str]) -> str:
        base = self.settings.base_path
        if not present:
            return f"{self.name}: no versions under {base}; expected folders with numbers as names"
        numbers = ", ".join(map(str, sorted(present)))
        return f"{self.name}: none of the requested versions is under {base}; available: {numbers}"


def _scan(store: VersionStore, failed: list[str]) -> tuple[dict[int, str], dict[str, Stamp]]:
    stamps: dict[str, Stamp] = {}
    versions = store.versions()
    for path in failed:
        with suppress(Exception):
            stamps[path] = store.stamp(path)
    return versions, stamps
