"""The versions of one model: those wanted are loaded, the others withdrawn, and each tells how it fares.

Everything here happens in the event loop and only the work itself in threads, so what is known of
a version is always true. A version is what lies at one path under one number: another base path with
the same numbers has versions of its own, which take the place of the old ones when they are loaded.
(TensorFlow Serving keeps the old ones then.)
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from tfport.serve.catalogue import State, VersionStatus
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.loading import Loaded, delete_copy, failure, go_on, load_version
from tfport.serve.models.policy import Stage, Step, next_step, wanted
from tfport.serve.models.source import Place, Stamp, open_place
from tfport.serve.models.unloading import close_runner, drained, free
from tfport.serve.models.version import Version
from tfport.serve.models.workshop import Attempt, Workshop
from tfport.serve.servable import Servable
from tfport.serve.status import Code, Refused

LOG = logging.getLogger(__name__)
Key = tuple[int, str]
"""A version's number and path."""


class ServedModel:
    """One model that is, or was, asked for."""

    def __init__(self, settings: ModelSettings, workshop: Workshop, changed: Callable[[], None]) -> None:
        self.settings, self._workshop, self._changed = settings, workshop, changed
        self.place = open_place(settings.base_path)
        self.versions: dict[Key, Version] = {}
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
        return any(version.stage is Stage.READY for version in self.versions.values())

    @property
    def settled(self) -> bool:
        """Whether all that is wanted was tried at least once."""
        busy = (Stage.NEW, Stage.LOADING, Stage.UNLOADING)
        return self.listed and not any(
            v.aspired and v.stage in busy and (v.error is None or v.unwanted) for v in self.versions.values()
        )

    def configure(self, settings: ModelSettings) -> None:
        """What is asked for now."""
        if settings.base_path != self.settings.base_path:
            self.place = open_place(settings.base_path)
        self.settings, self.listed, self.removed = settings, False, False

    def remove(self) -> None:
        """Nothing is asked for any more."""
        self.removed = True
        self._aspire({}, {})

    async def poll(self) -> None:
        """Look which versions there are; what is loaded stays when that cannot be known."""
        async with self._one_look:
            settings, place = self.settings, self.place
            failed = [v.path for v in self.versions.values() if v.error is not None]
            try:
                found, stamps = await self._workshop.in_listing(_look, place, failed)
            except Exception as error:
                found, stamps = None, {}
                self._tell_problem(f"{self.name}: {failure(error)}")
            if settings is not self.settings or self.removed:  # asked for something else meanwhile
                return
            self.listed = True
            if found is not None:
                chosen = wanted(settings.policy, found)
                self._tell_problem("" if chosen else self._nothing(found))
                if chosen or not self._workshop.options.always_present:
                    self._aspire(chosen, stamps)
            self._changed()

    def _aspire(self, chosen: dict[int, str], stamps: dict[str, Stamp]) -> None:
        keys = set(chosen.items())
        for key in keys - self.versions.keys():
            self.versions[key] = Version(*key, self.place)
            self._tell(self.versions[key], State.START)
        for key, version in list(self.versions.items()):
            version.aspired = key in keys
            if not version.aspired:
                version.unwanted = True
                version.wake.set()
                if version.stage in (Stage.NEW, Stage.FAILED):
                    del self.versions[key]
            elif version.error and stamps.get(version.path, version.stamp) != version.stamp:
                version.wake.set()  # it was written again: worth another try
                if version.stage is Stage.FAILED:
                    version.stage = Stage.NEW
        self._adjust()

    def _adjust(self) -> None:
        """Do what there is to do now."""
        while step := next_step(self.versions.values()):
            do, version = step
            if do is Step.LOAD:
                version.stage, version.unwanted, version.error = Stage.LOADING, False, None
                self._tell(version, State.LOADING)
                work = self._load(version)
            else:
                servable = self._withdrawn(version)
                version.stage = Stage.UNLOADING
                self._tell(version, State.UNLOADING)
                work = self._unload(version, servable)
            task = asyncio.create_task(work)
            self.tasks.add(task)
            task.add_done_callback(self._finished)
        self._changed()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            LOG.error("%s: this should not happen", self.name, exc_info=task.exception())

    def _withdrawn(self, version: Version) -> Servable:
        """A version to which no more calls go."""
        servable, version.servable = version.servable, None
        assert servable is not None
        if self._answering(version.number) is servable:
            self._workshop.catalogue.withdraw(self.name, version.number)
        return servable

    async def _load(self, version: Version) -> None:
        version.servable = await self._attempts(version)
        if version.servable is None:
            version.stage = Stage.FAILED
            self._tell(version, State.END, version.error)
            self._ended(version)
        else:
            version.error, version.stage = None, Stage.READY
            self._workshop.catalogue.publish(version.servable)
            LOG.debug("%s version %d is available", self.name, version.number)
        self._adjust()

    async def _attempts(self, version: Version) -> Servable | None:
        """The version, after as many attempts as it takes; None when it is given up."""
        options = self._workshop.options
        for tries in range(1, max(options.load_retries, 0) + 2):
            servable = await self._tried(version, tries)
            if servable is not None or version.unwanted:
                return servable
            LOG.debug("%s version %d cannot be loaded: %s", self.name, version.number, version.error)
            if tries <= options.load_retries:
                self._tell(version, State.LOADING, version.error)
                self._changed()
                with suppress(TimeoutError):
                    await asyncio.wait_for(version.wake.wait(), max(options.retry_seconds, 0))
                if version.unwanted:
                    return None
        return None

    async def _tried(self, version: Version, tries: int) -> Servable | None:
        """One attempt; what went wrong is in the version's error."""
        began = time.monotonic()
        version.wake.clear()
        servable, version.copy, code = None, None, Code.OK
        warmed = 0, 0.0
        try:
            loaded = await self._workshop.in_loading(self._loaded, version)
            version.copy = loaded.copy
            warmed = loaded.warm_up_requests, loaded.warm_up_seconds
            go_on(lambda: version.unwanted)
            runner = self._workshop.runner_for(self.settings, version.number, loaded.session)
            servable = Servable(self.name, version.number, loaded.session, runner)
        except Exception as error:
            code, message = failure(error).code, failure(error).message
            await self._workshop.in_unloading(delete_copy, version.copy)
            # a new one: that which was raised holds all that was loaded. From here to its status no waiting
            version.error = Refused(code, message)
        seconds = time.monotonic() - began
        why = version.error.message if servable is None and version.error is not None else ""
        attempt = Attempt(self.name, version.number, tries, code, seconds, version.path, why, *warmed)
        self._workshop.on_attempt(attempt)
        return servable

    def _loaded(self, version: Version) -> Loaded:
        """The session of a version; runs in a thread."""
        shop = self._workshop
        with suppress(Exception):
            version.stamp = version.place.stamp(version.path)
        return load_version(
            version.place,
            version.path,
            self.settings,
            open_session=shop.open_session,
            copy_to=shop.new_copy(self.name, version.number),
            options=shop.options,
            stopped=lambda: version.unwanted,
        )

    async def _unload(self, version: Version, servable: Servable) -> None:
        """Let the calls that run end, and free what the version held."""
        shop = self._workshop
        if await drained(servable, shop.options.drain_seconds):
            await close_runner(servable.runner)
        else:
            LOG.warning("%s version %d: %d calls still run", self.name, version.number, servable.running)
        copy, version.copy = version.copy, None
        del servable
        await shop.in_unloading(free, copy)
        version.stage = Stage.FAILED
        self._tell(version, State.END)
        shop.on_unload(self.name, version.number)
        self._ended(version)
        self._adjust()

    def _ended(self, version: Version) -> None:
        """What has ended is forgotten, unless it is asked for again by now."""
        if not version.aspired:
            self.versions.pop((version.number, version.path), None)
        elif version.unwanted:
            version.stage, version.error = Stage.NEW, None

    def _answering(self, number: int) -> Servable | None:
        try:
            return self._workshop.catalogue.get(self.name, number)
        except Refused:
            return None

    def _tell(self, version: Version, state: State, error: Refused | None = None) -> None:
        """Tell how a version fares; where another of its number answers, that is what counts."""
        others = (v for v in self.versions.values() if v.number == version.number and v is not version)
        if any(other.stage is Stage.READY for other in others):
            return
        code, message = (error.code, error.message) if error else (Code.OK, "")
        self._workshop.catalogue.tell(self.name, VersionStatus(version.number, state, code, message))

    def _tell_problem(self, problem: str) -> None:
        if problem and problem != self.problem:
            LOG.warning("%s", problem)
        self.problem = problem

    def _nothing(self, found: dict[int, str]) -> str:
        if not found:
            return (
                f"{self.name}: no versions under {self.settings.base_path}; "
                "a version is a folder with a number as its name"
            )
        there = ", ".join(map(str, sorted(found)))
        base = self.settings.base_path
        return f"{self.name}: none of the versions asked for is under {base}; there is {there}"


def _look(place: Place, failed: list[str]) -> tuple[dict[int, str], dict[str, Stamp]]:
    stamps: dict[str, Stamp] = {}
    found = place.versions()
    for path in failed:
        with suppress(Exception):
            stamps[path] = place.stamp(path)
    return found, stamps
