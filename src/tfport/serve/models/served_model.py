"""The versions of one model: load the requested ones, unload the others, report the state of each.

Everything here happens in the event loop and only the work itself in threads, so what is known of
a version is always true. A version is what lies at one path under one number: another base path with
the same numbers has versions of its own, which take the store of the old ones when they are loaded.
(TensorFlow Serving keeps the old ones then.)
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from tfport.serve.model_catalog import VersionState, VersionStatus
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.loading import (
    LoadedVersion,
    delete_copy,
    load_version,
    raise_if_stopped,
    to_status_error,
)
from tfport.serve.models.managed_version import ManagedVersion
from tfport.serve.models.policy import LoadStage, PolicyStep, next_step, select_versions
from tfport.serve.models.resources import LoadAttempt, LoaderResources
from tfport.serve.models.store import Stamp, VersionStore, open_store
from tfport.serve.models.unloading import close_runner, drained, free
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError

LOG = logging.getLogger(__name__)
Key = tuple[int, str]
"""A version's number and path."""


class ServedModel:
    """One model that is, or was, asked for."""

    def __init__(
        self, settings: ModelSettings, resources: LoaderResources, changed: Callable[[], None]
    ) -> None:
        self.settings, self._resources, self._changed = settings, resources, changed
        self.store = open_store(settings.base_path)
        self.versions: dict[Key, ManagedVersion] = {}
        self.listed = False
        """Whether the base path was looked at since the settings changed."""
        self.problem = ""
        """Why no versions are known, where that is so."""
        self.removed = False
        self.tasks: set[asyncio.Task[None]] = set()
        self._one_look = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def available(self) -> bool:
        return any(version.stage is LoadStage.READY for version in self.versions.values())

    @property
    def settled(self) -> bool:
        """Whether all that is select_versions was tried at least once."""
        busy = (LoadStage.NEW, LoadStage.LOADING, LoadStage.UNLOADING)
        return self.listed and not any(
            v.aspired and v.stage in busy and (v.error is None or v.unwanted) for v in self.versions.values()
        )

    def configure(self, settings: ModelSettings) -> None:
        """What is asked for now."""
        if settings.base_path != self.settings.base_path:
            self.store = open_store(settings.base_path)
        self.settings, self.listed, self.removed = settings, False, False

    def remove(self) -> None:
        """Nothing is asked for any more."""
        self.removed = True
        self._aspire({}, {})

    async def poll(self) -> None:
        """Look which versions there are; what is loaded stays when that cannot be known."""
        async with self._one_look:
            settings, store = self.settings, self.store
            failed = [v.path for v in self.versions.values() if v.error is not None]
            try:
                present, stamps = await self._resources.in_listing(_look, store, failed)
            except Exception as error:
                present, stamps = None, {}
                self._tell_problem(f"{self.name}: {to_status_error(error)}")
            if settings is not self.settings or self.removed:  # asked for something else meanwhile
                return
            self.listed = True
            if present is not None:
                chosen = select_versions(settings.policy, present)
                self._tell_problem("" if chosen else self._nothing(present))
                if chosen or not self._resources.options.always_present:
                    self._aspire(chosen, stamps)
            self._changed()

    def _aspire(self, chosen: dict[int, str], stamps: dict[str, Stamp]) -> None:
        keys = set(chosen.items())
        for key in keys - self.versions.keys():
            self.versions[key] = ManagedVersion(*key, self.store)
            self._tell(self.versions[key], VersionState.START)
        for key, version in list(self.versions.items()):
            version.aspired = key in keys
            if not version.aspired:
                version.unwanted = True
                version.wake.set()
                if version.stage in (LoadStage.NEW, LoadStage.FAILED):
                    del self.versions[key]
            elif version.error and stamps.get(version.path, version.stamp) != version.stamp:
                version.wake.set()  # it was written again: worth another try
                if version.stage is LoadStage.FAILED:
                    version.stage = LoadStage.NEW
        self._adjust()

    def _adjust(self) -> None:
        """Do what there is to do now."""
        while step := next_step(self.versions.values()):
            do, version = step
            if do is PolicyStep.LOAD:
                version.stage, version.unwanted, version.error = LoadStage.LOADING, False, None
                self._tell(version, VersionState.LOADING)
                work = self._load(version)
            else:
                servable = self._withdrawn(version)
                version.stage = LoadStage.UNLOADING
                self._tell(version, VersionState.UNLOADING)
                work = self._unload(version, servable)
            task = asyncio.create_task(work)
            self.tasks.add(task)
            task.add_done_callback(self._finished)
        self._changed()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            LOG.error("%s: this should not happen", self.name, exc_info=task.exception())

    def _withdrawn(self, version: ManagedVersion) -> Servable:
        """A version to which no more calls go."""
        servable, version.servable = version.servable, None
        assert servable is not None
        if self._answering(version.number) is servable:
            self._resources.catalog.withdraw(self.name, version.number)
        return servable

    async def _load(self, version: ManagedVersion) -> None:
        version.servable = await self._attempts(version)
        if version.servable is None:
            version.stage = LoadStage.FAILED
            self._tell(version, VersionState.END, version.error)
            self._ended(version)
        else:
            version.error, version.stage = None, LoadStage.READY
            self._resources.catalog.publish(version.servable)
            LOG.debug("%s version %d is available", self.name, version.number)
        self._adjust()

    async def _attempts(self, version: ManagedVersion) -> Servable | None:
        """The version, after as many attempts as it takes; None when it is given up."""
        options = self._resources.options
        for tries in range(1, max(options.load_retries, 0) + 2):
            servable = await self._tried(version, tries)
            if servable is not None or version.unwanted:
                return servable
            LOG.debug("%s version %d cannot be loaded: %s", self.name, version.number, version.error)
            if tries <= options.load_retries:
                self._tell(version, VersionState.LOADING, version.error)
                self._changed()
                with suppress(TimeoutError):
                    await asyncio.wait_for(version.wake.wait(), max(options.retry_seconds, 0))
                if version.unwanted:
                    return None
        return None

    async def _tried(self, version: ManagedVersion, tries: int) -> Servable | None:
        """One attempt; what went wrong is in the version's error."""
        began = time.monotonic()
        version.wake.clear()
        servable, version.copy, code = None, None, StatusCode.OK
        warmed = 0, 0.0
        try:
            loaded = await self._resources.in_loading(self._loaded, version)
            version.copy = loaded.copy
            warmed = loaded.warm_up_requests, loaded.warm_up_seconds
            raise_if_stopped(lambda: version.unwanted)
            runner = self._resources.runner_for(self.settings, version.number, loaded.session)
            servable = Servable(self.name, version.number, loaded.session, runner)
        except Exception as error:
            code, message = to_status_error(error).code, to_status_error(error).message
            await self._resources.in_unloading(delete_copy, version.copy)
            # a new one: that which was raised holds all that was loaded. From here to its status no waiting
            version.error = StatusError(code, message)
        seconds = time.monotonic() - began
        why = version.error.message if servable is None and version.error is not None else ""
        attempt = LoadAttempt(self.name, version.number, tries, code, seconds, version.path, why, *warmed)
        self._resources.on_attempt(attempt)
        return servable

    def _loaded(self, version: ManagedVersion) -> LoadedVersion:
        """The session of a version; runs in a thread."""
        shop = self._resources
        with suppress(Exception):
            version.stamp = version.store.stamp(version.path)
        return load_version(
            version.store,
            version.path,
            self.settings,
            open_session=shop.open_session,
            copy_to=shop.new_copy(self.name, version.number),
            options=shop.options,
            stopped=lambda: version.unwanted,
        )

    async def _unload(self, version: ManagedVersion, servable: Servable) -> None:
        """Let the calls that run end, and free what the version held."""
        shop = self._resources
        if await drained(servable, shop.options.drain_seconds):
            await close_runner(servable.runner)
        else:
            LOG.warning("%s version %d: %d calls still run", self.name, version.number, servable.running)
        copy, version.copy = version.copy, None
        del servable
        await shop.in_unloading(free, copy)
        version.stage = LoadStage.FAILED
        self._tell(version, VersionState.END)
        shop.on_unload(self.name, version.number)
        self._ended(version)
        self._adjust()

    def _ended(self, version: ManagedVersion) -> None:
        """What has ended is forgotten, unless it is asked for again by now."""
        if not version.aspired:
            self.versions.pop((version.number, version.path), None)
        elif version.unwanted:
            version.stage, version.error = LoadStage.NEW, None

    def _answering(self, number: int) -> Servable | None:
        try:
            return self._resources.catalog.get(self.name, number)
        except StatusError:
            return None

    def _tell(self, version: ManagedVersion, state: VersionState, error: StatusError | None = None) -> None:
        """Tell how a version fares; where another of its number answers, that is what counts."""
        others = (v for v in self.versions.values() if v.number == version.number and v is not version)
        if any(other.stage is LoadStage.READY for other in others):
            return
        code, message = (error.code, error.message) if error else (StatusCode.OK, "")
        self._resources.catalog.tell(self.name, VersionStatus(version.number, state, code, message))

    def _tell_problem(self, problem: str) -> None:
        if problem and problem != self.problem:
            LOG.warning("%s", problem)
        self.problem = problem

    def _nothing(self, present: dict[int, str]) -> str:
        if not present:
            return (
                f"{self.name}: no versions under {self.settings.base_path}; "
                "a version is a folder with a number as its name"
            )
        there = ", ".join(map(str, sorted(present)))
        base = self.settings.base_path
        return f"{self.name}: none of the versions asked for is under {base}; there is {there}"


def _look(store: VersionStore, failed: list[str]) -> tuple[dict[int, str], dict[str, Stamp]]:
    stamps: dict[str, Stamp] = {}
    versions = store.versions()
    for path in failed:
        with suppress(Exception):
            stamps[path] = store.stamp(path)
    return versions, stamps
