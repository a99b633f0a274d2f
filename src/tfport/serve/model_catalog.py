"""Which models are served: by name, version and label, and how each version fares.

Front ends ask (`get`, `statuses`); who loads and unloads versions tells (`publish`, `withdraw`,
`tell`). All of it happens in one event loop, so nothing here waits or locks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode, StatusError, invalid_argument


class VersionState(Enum):
    """Where a version stands; names and numbers are those of TensorFlow Serving's ModelVersionStatus."""

    UNKNOWN = 0
    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """One version, and why it is not served where something went wrong."""

    version: int
    state: VersionState
    code: StatusCode = StatusCode.OK
    message: str = ""


@dataclass
class _Entry:
    servables: dict[int, Servable] = field(default_factory=dict)
    statuses: dict[int, VersionStatus] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)


class ModelCatalog:
    """The models of one server."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def names(self) -> list[str]:
        """Every model that was ever asked for by the configuration and not removed since."""
        return sorted(self._entries)

    def get(self, name: str, version: int | None = None, label: str = "") -> Servable:
        """The servable to ask: of this version or label, or the newest that is available."""
        entry = self._entries.get(name) or _Entry()
        if label:
            if label not in entry.labels:
                raise invalid_argument(f"Unrecognized servable version label: {label}")
            version = entry.labels[label]
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
        """How the versions of a model fare, the newest first; or one of them."""
        entry = self._entries.get(name)
        if entry is None or not entry.statuses:
            raise StatusError(StatusCode.NOT_FOUND, f"Could not find any versions of model {name}")
        if label:
            if label not in entry.labels:
                raise invalid_argument(f"Unrecognized servable version label: {label}")
            version = entry.labels[label]
        if version is None:
            return [entry.statuses[number] for number in sorted(entry.statuses, reverse=True)]
        if version not in entry.statuses:
            raise StatusError(StatusCode.NOT_FOUND, f"Could not find version {version} of model {name}")
        return [entry.statuses[version]]

    def labels(self, name: str) -> Mapping[str, int]:
        return self._entries[name].labels if name in self._entries else {}

    def add(self, name: str) -> None:
        """A model of this name is to be served, whatever becomes of it."""
        self._entries.setdefault(name, _Entry())

    def remove(self, name: str) -> None:
        """It is no longer."""
        self._entries.pop(name, None)

    def publish(self, servable: Servable) -> None:
        """From now on requests may go to it."""
        entry = self._entries.setdefault(servable.name, _Entry())
        entry.servables[servable.version] = servable
        entry.statuses[servable.version] = VersionStatus(servable.version, VersionState.AVAILABLE)

    def withdraw(self, name: str, version: int) -> Servable | None:
        """From now on no request goes to it; those that have begun go on."""
        return self._entries[name].servables.pop(version, None) if name in self._entries else None

    def tell(self, name: str, status: VersionStatus) -> None:
        """How a version fares."""
        self._entries.setdefault(name, _Entry()).statuses[status.version] = status

    def set_labels(self, name: str, labels: Mapping[str, int]) -> None:
        """The names that versions of a model have."""
        self._entries.setdefault(name, _Entry()).labels = dict(labels)
