"""One model on several GPUs: a session on each, and every run on the one with the fewest.

Every replica has the weights and the state of its own: a model whose signatures assign variables must run
on one GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfport.runtime.session import Feeds, Session


class SessionReplicas(Session):
    """Looks like a session; each run is one of the least loaded replica."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        first = sessions[0]
        self.sessions = list(sessions)
        self.limits, self.registry, self.model = first.limits, first.registry, first.model
        self.state, self.engine, self.plans = first.state, first.engine, first.plans
        self._running = [0] * len(sessions)
        self._choosing = threading.Lock()

    @contextmanager
    def least_loaded(self) -> Iterator[Session]:
        """The replica with the fewest runs, for one more."""
        with self._choosing:
            index = min(range(len(self.sessions)), key=self._running.__getitem__)
            self._running[index] += 1
        try:
            yield self.sessions[index]
        finally:
            with self._choosing:
                self._running[index] -= 1

    def run(self, fetches: str | Sequence[str], feeds: Feeds | None = None, **options: Any) -> Any:
        with self.least_loaded() as session:
            return session.run(fetches, feeds, **options)

    def prepare(self, name: str) -> None:
        for session in self.sessions:
            session.prepare(name)

    def program(self, fetches: Sequence[str], feeds: Sequence[str], **options: Any) -> Any:
        return self.sessions[0].program(fetches, feeds, **options)
