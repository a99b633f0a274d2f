"""Answer short requests for at most a millisecond at a time, so that everything else has its turns.

A call of gRPC, or a request that aiohttp handles, takes many iterations of the event loop. With many REST
clients, an iteration that answers each of them takes so long that the others get nearly no answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

TURN_SECONDS = 0.001
"""Time in which requests are answered one after the other; a short call takes up to half of it."""
PAUSE_SECONDS = 0.0001
"""Time without answers after which a new turn begins: everything else had its own."""


class PostponedConnection(Protocol):
    """A connection that keeps a request."""

    def answer_held(self) -> None:
        """Answer the request, if it is still there."""
        ...


class AnswerTurns:
    """Measures turns, and keeps the order of the connections that wait for theirs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = perf_counter) -> None:
        self._loop, self._clock = loop, clock
        self._began = self._answered = clock()
        self._postponed: dict[PostponedConnection, None] = {}

    def is_over(self) -> bool:
        """Whether a request must wait for a later turn: there were enough answers, or others wait."""
        if self._postponed:
            return True
        now = self._clock()
        if now - self._answered > PAUSE_SECONDS:
            self._began = now
        return now - self._began >= TURN_SECONDS

    def note_answer(self) -> None:
        """Note that a request was answered."""
        self._answered = self._clock()

    def postpone(self, connection: PostponedConnection) -> None:
        """Let a connection answer in a later iteration."""
        if not self._postponed:
            self._loop.call_soon(self._begin)
        self._postponed[connection] = None

    def _begin(self) -> None:
        """Begin a turn with those who wait longest; one at least is answered."""
        self._began = self._answered = self._clock()
        while self._postponed and self._answered - self._began < TURN_SECONDS:
            connection = next(iter(self._postponed))
            del self._postponed[connection]
            connection.answer_held()
            self._answered = self._clock()
        if self._postponed:
            self._loop.call_soon(self._begin)
