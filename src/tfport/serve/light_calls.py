"""Find calls that are so short that the event loop runs them itself.

Handing a call to a thread and back takes about 50 microseconds: as long as a small model runs. But nothing
else is answered while the event loop runs a model. So a call is light only if its time is known: nearly
all calls with inputs of the same shapes were short, and only these shapes decide how much its ops compute:
those of the model or, if a loop over time became a recurrent layer, those of its plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import thread_time
from typing import Any

import numpy as np

from tfport.graph.model import Model, Signature
from tfport.graph.reach import called_by, needed_by
from tfport.runtime.bounds.shape_bound_cost import STEADY_OPS
from tfport.runtime.session import Session

LIGHT_SECONDS = 500e-6
SHORT_CALLS = 32
"""How many calls must have been short; a long one counts as `LONG_CALL` fewer."""
LONG_CALL = 8
MOST_KINDS = 256
"""Kinds of calls that are counted; clients choose them freely."""


CallKind = tuple[str, tuple[str, ...], tuple[tuple[int, ...], ...]]
"""A signature, the outputs that are wanted, and the shapes of the inputs."""


class LightCalls:
    """The calls of one model, counted in the event loop."""

    def __init__(self, session: Session, clock: Callable[[], float] = thread_time) -> None:
        """`clock` measures a call, in the thread that runs it. By default it is the thread's processor time:
        under load, a thread waits longer for Python's lock than a small model takes."""
        self._session, self.clock = session, clock
        self._steady: dict[tuple[str, tuple[int, ...]], bool] = {}
        self._short: dict[CallKind, int] = {}
        self._light: set[CallKind] = set()

    @property
    def any(self) -> bool:
        """Whether calls of some kind are light."""
        return bool(self._light)

    def kind_of(
        self, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> CallKind | None:
        """The kind of a call; None if it can never be light."""
        shapes = []
        for array in inputs.values():
            # a scalar may be a switch, and each of its values has a plan
            if not isinstance(array, np.ndarray) or not array.shape:
                return None
            shapes.append(array.shape)
        kind = signature.name, tuple(outputs), tuple(shapes)
        return kind if kind in self._light or self._is_steady(signature, tuple(map(len, shapes))) else None

    def _is_steady(self, signature: Signature, ranks: tuple[int, ...]) -> bool:
        call = signature.name, ranks
        steady = self._steady.get(call)
        if steady is None and len(self._steady) < MOST_KINDS:
            steady = is_steady(self._session.model, signature) or self._session.is_steady(signature)
            if steady is not None:
                self._steady[call] = steady
        return bool(steady)

    def is_light(self, kind: CallKind | None) -> bool:
        return kind in self._light

    def ran(self, kind: CallKind | None, seconds: float) -> None:
        """Count a call that took so long."""
        if kind is None:
            return
        count = self._short.get(kind, 0)
        if seconds > LIGHT_SECONDS:
            count = max(count - LONG_CALL, 0)
        elif count == 2 * SHORT_CALLS:
            return
        else:
            count += 1
        if count and (kind in self._short or len(self._short) < MOST_KINDS):
            self._short[kind] = count
        else:
            count = 0
            self._short.pop(kind, None)
        if count >= SHORT_CALLS:
            self._light.add(kind)
        else:
            self._light.discard(kind)


def is_steady(model: Model, signature: Signature) -> bool:
    """Whether only the shapes of the inputs decide how much a signature computes."""
    nodes = needed_by(value.node for value in model.ends_of(signature))
    functions = called_by(nodes)
    bodies = (node.op for function in functions.values() for node in function)
    ops = {*(node.op for node in nodes), *bodies}
    return ops - set(functions) <= STEADY_OPS
