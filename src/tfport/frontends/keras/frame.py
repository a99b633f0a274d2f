"""A loop while its iteration is built: nodes that layers add belong to it, values from outside enter it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from tfport.graph.frame_loop import FrameLoop
from tfport.graph.graph import Node, Value


class HasFrame(Protocol):
    """What is built: in a loop, or outside of all loops."""

    frame: OpenFrame | None


class OpenFrame:
    """The iteration of a loop, and the values from outside that it uses."""

    def __init__(self, model: HasFrame, loop: FrameLoop, start: Iterable[Value]) -> None:
        self._model, self._loop, self._outer = model, loop, model.frame
        self._nodes = {value.node for value in start}
        self._entered: dict[Value, Value] = {}

    def add(self, node: Node) -> None:
        """Make a node part of the iteration; a node without inputs runs outside, once."""
        if node.inputs:
            self._nodes.add(node)

    def inside(self, value: Value) -> Value:
        """A value as nodes of the iteration may use it."""
        if value.node in self._nodes:
            return value
        if value not in self._entered:
            with self.left():
                self._entered[value] = self._loop.invariant(value)
        return self._entered[value]

    @contextmanager
    def open(self) -> Iterator[None]:
        """Nodes added meanwhile belong to the iteration."""
        self._model.frame = self
        try:
            yield
        finally:
            self._model.frame = self._outer

    @contextmanager
    def left(self) -> Iterator[None]:
        """Nodes added meanwhile are outside."""
        self._model.frame = self._outer
        try:
            yield
        finally:
            self._model.frame = self
