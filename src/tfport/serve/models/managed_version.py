"""One version of a model, while it is loaded, served and let go."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from tfport.serve.models.policy import LoadStage
from tfport.serve.models.store import Stamp, VersionStore
from tfport.serve.servable import Servable
from tfport.serve.status import StatusError


@dataclass(eq=False)
class ManagedVersion:
    """What is at one path under one number."""

    number: int
    path: str
    store: VersionStore
    aspired: bool = True
    stage: LoadStage = LoadStage.NEW
    unwanted: bool = False
    """Whether it was given up while it was loaded or served."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends waiting to try again: it is given up, or was written again."""
    servable: Servable | None = None
    copy: Path | None = None
    error: StatusError | None = None
    """Why the last attempt to load it failed."""
    stamp: Stamp | None = None
    """What was there when it was last tried."""
