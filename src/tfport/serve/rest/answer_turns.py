"""Answer a few short requests in each iteration of the event loop, so that everything else has its turns.

A call of gRPC, or a request that aiohttp handles, takes many iterations. With many REST clients, an iteration
that answers each of them takes so long that the others get nearly no answers.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

MOST_AT_ONCE = 4
"""Answers in one iteration: a short call takes up to half a millisecond."""


class PostponedConnection(Protocol):
    """A connection that keeps a request."""

    def answer_held(self) -> None:
        """Answer the request, if it is still there."""
        ...


class AnswerTurns:
    """Counts answers, and keeps the order of the connections that wait for theirs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._answers = 0
        self._is_scheduled = False
        self._postponed: dict[PostponedConnection, None] = {}

    @property
    def is_over(self) -> bool:
        """Whether a request must wait for a later iteration: there were enough answers, or others wait."""
        return self._answers >= MOST_AT_ONCE or bool(self._postponed)

    def count(self) -> None:
        """Count an answer."""
        self._answers += 1
        self._schedule()

    def postpone(self, connection: PostponedConnection) -> None:
        """Let a connection answer in a later iteration."""
        self._postponed[connection] = None
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        """Begin a turn with those who wait longest."""
        self._answers, self._is_scheduled = 0, False
        for connection in list(self._postponed)[:MOST_AT_ONCE]:
            del self._postponed[connection]
            connection.answer_held()
        if self._postponed:
            self._schedule()
