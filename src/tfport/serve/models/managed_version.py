"""State of one version of a model while it is loaded, served and unloaded."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.serve.models.policy import LoadStage
from tfport.serve.models.store import Stamp, VersionStore
from tfport.serve.servable import Servable
from tfport.serve.status import StatusError
from tfport.startup.dataclass import dataclass, field


@dataclass(eq=False)
class ManagedVersion:
    """A version: a number and the path it is loaded from."""

    number: int
    path: str
    store: VersionStore
    aspired: bool = True
    stage: LoadStage = LoadStage.NEW
    unwanted: bool = False
    """Whether it was dropped while loading or being served."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends the wait for a retry: the version was dropped, or written again."""
    stop: StopSignal = field(default_factory=StopSignal)
    """Ends loading: the version was dropped."""
    servable: Servable | None = None
    copy: Path | None = None
    error: StatusError | None = None
    """Why the last attempt to load it failed."""
    stamp: Stamp | None = None
    """Stamp of its files at the last attempt."""
