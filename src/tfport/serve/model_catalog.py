"""The models of a server: servables by name, version and label, and the status of every version.

Front ends read it (`get`, `statuses`); the manager writes it (`publish`, `withdraw`, `set_status`).
All calls happen in one event loop, so nothing here waits or locks.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError, invalid_argument
from tfport.startup.dataclass import dataclass, field

MOST_REMOVED = 1000
"""Maximum number of removed models whose status is kept."""


class VersionState(Enum):
    """State of a version; names and numbers are those of TensorFlow Serving's ModelVersionStatus."""

    UNKNOWN = 0
    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """State of one version, with the error if loading it failed."""

    version: int
    state: VersionState
    code: StatusCode = StatusCode.OK
    message: str = ""


@dataclass
class _Entry:
    servables: dict[int, Servable] = field(default_factory=dict)
    statuses: dict[int, VersionStatus] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    problem: str = ""

    def labeled(self, label: str) -> int:
        """Return the version that a label points to."""
        if label not in self.labels:
            raise invalid_argument(f"Unrecognized servable version label: {label}")
        return self.labels[label]


class ModelCatalog:
    """The models of one server."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._removed: dict[str, dict[int, VersionStatus]] = {}
        """The last status of the versions of models that are no longer configured."""

    def names(self) -> list[str]:
        """Names of all models in the configuration, loaded or not."""
        return sorted(self._entries)

    def counted_as(self, name: str) -> str:
        """Return the model name for metrics; all unknown names are counted together."""
        return name if name in self._entries else ""

    def get(self, name: str, version: int | None = None, label: str = "") -> Servable:
        """Return the servable of this version or label; by default the newest available version."""
        entry = self._entries.get(name) or _Entry()
        if label:
            version = entry.labeled(label)
        if version is None:
            if not entry.servables:
                raise StatusError(StatusCode.NOT_FOUND, f"Servable not found for request: Latest({name})")
            return entry.servables[max(entry.servables)]
        if version not in entry.servables:
            raise StatusError(
                StatusCode.NOT_FOUND, f"Servable not found for request: Specific({name}, {version})"
            )
        return entry.servables[version]

    def statuses(self, name: str, version: int | None = None, label: str = "") -> list[VersionStatus]:
        """Return the status of every version, newest first, or of the requested one."""
        entry = self._entries.get(name) or _Entry(statuses=self._removed.get(name, {}))
        if label:
            version = entry.labeled(label)
        if version is None and not entry.statuses:
            raise StatusError(StatusCode.NOT_FOUND, f"Could not find any versions of model {name}")
        if version is None:
            return [entry.statuses[number] for number in sorted(entry.statuses, reverse=True)]
        if version not in entry.statuses:
            raise StatusError(StatusCode.NOT_FOUND, f"Could not find version {version} of model {name}")
        return [entry.statuses[version]]

    def known_statuses(self, name: str) -> list[VersionStatus]:
        """Return the status of every version, newest first; empty before the first one is known."""
        entry = self._entries.get(name) or _Entry()
        return [entry.statuses[number] for number in sorted(entry.statuses, reverse=True)]

    def problem(self, name: str) -> str:
        """Return why no version of a model was found; empty if there are some."""
        return self._entries[name].problem if name in self._entries else ""

    def labels(self, name: str) -> Mapping[str, int]:
        """Return the versions that the labels of a model point to."""
        return self._entries[name].labels if name in self._entries else {}

    def add(self, name: str) -> None:
        """Add a model to be served; it may have no version yet."""
        if name not in self._entries:
            self._entries[name] = _Entry(statuses=self._removed.pop(name, {}))

    def remove(self, name: str) -> None:
        """Remove a model; as in TensorFlow Serving, its versions keep their last status."""
        if entry := self._entries.pop(name, None):
            self._removed[name] = entry.statuses
            if len(self._removed) > MOST_REMOVED:
                del self._removed[next(iter(self._removed))]

    def publish(self, servable: Servable) -> None:
        """Make a version available to requests."""
        entry = self._entries.setdefault(servable.name, _Entry())
        entry.servables[servable.version] = servable
        entry.statuses[servable.version] = VersionStatus(servable.version, VersionState.AVAILABLE)

    def withdraw(self, name: str, version: int) -> Servable | None:
        """Stop sending requests to a version; calls in progress continue."""
        return self._entries[name].servables.pop(version, None) if name in self._entries else None

    def set_status(self, name: str, status: VersionStatus) -> None:
        """Set the status of a version."""
        self._entries.setdefault(name, _Entry()).statuses[status.version] = status

    def set_problem(self, name: str, problem: str) -> None:
        """Set why no version of a model was found, if it is still configured."""
        if name in self._entries:
            self._entries[name].problem = problem

    def set_labels(self, name: str, labels: Mapping[str, int]) -> None:
        """Replace the labels of a model."""
        self._entries.setdefault(name, _Entry()).labels = dict(labels)
