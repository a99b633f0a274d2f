"""An island that moves to the engine that runs it fastest.

It starts on ONNX Runtime. Once it has taken `PATIENCE` seconds, the other choices race on the inputs of a
call, and it moves to the fastest that gives the same answers. The choice is remembered: the next process
makes it at the second call. A process that calls a model once is not slowed down.

ONNX Runtime answers where the others might answer otherwise: for inputs of other sizes than those of the
race, empty ones, NaN, infinities, errors. It is loaded again for that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tfport.errors import Error, RunStopped
from tfport.runtime.engines.choice_cache import Choice, ChoiceCache
from tfport.runtime.engines.engine import Compiled, EngineFailed, Sizes
from tfport.runtime.engines.race import Trials, fastest
from tfport.runtime.freed_memory import return_freed_memory
from tfport.runtime.onnx.island_work import IslandWork
from tfport.startup.dataclass import dataclass, field

PATIENCE = 0.5
"""Seconds in an island after which a race pays."""


@dataclass
class RacedIsland:
    """A compiled island: on ONNX Runtime at first, later on what was fastest."""

    compiled_by: Callable[[Choice, Sizes], Compiled]
    """The island for inputs of certain sizes; what is usual takes others too."""
    usual: Choice
    key: Callable[[Sizes], str]
    """The name of the island for inputs of certain sizes, among the choices."""
    rivals: Callable[[Sizes], list[Choice]]
    """What could run it instead."""
    choices: ChoiceCache
    work: IslandWork
    is_ordinary: Callable[[Sequence[Any]], bool]
    """Whether another engine may answer for these inputs."""
    patience: float
    nearby: Callable[[int], Compiled] | None = None
    """The island so that it rounds otherwise (`Trials`)."""
    _reference: Compiled | None = field(init=False, default=None)
    _faster: Compiled | None = field(init=False, default=None)
    """Another engine, if it was chosen."""
    _sizes: Sizes = field(init=False, default=())
    """The sizes of the inputs for which it was chosen."""
    _calls: int = field(init=False, default=0)
    _spent: float = field(init=False, default=0)
    _settled: bool = field(init=False, default=False)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._reference = self.compiled_by(self.usual, ())

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        faster = self._faster
        if faster is not None and self._sizes == _sizes(arrays) and self.is_ordinary(arrays):
            try:
                return faster(arrays)
            except EngineFailed:
                pass  # ONNX Runtime answers, or says what is wrong
        reference = self._reference
        if reference is None:
            reference = self._reference = self.compiled_by(self.usual, ())
        if self._settled:
            return reference(arrays)
        began = time.perf_counter()
        outputs = reference(arrays)
        self._spent += time.perf_counter() - began
        self._calls += 1
        may_settle = self._calls > 1 and not self.work.is_light(arrays) and self.is_ordinary(arrays)
        if may_settle and self._settle(reference, arrays, outputs):
            del reference
            return_freed_memory()
        return outputs

    def _settle(self, reference: Compiled, arrays: Sequence[Any], outputs: Sequence[Any]) -> bool:
        """Choose, unless another thread does so now or it is too early; whether that is done."""
        sizes = _sizes(arrays)
        key = self.key(sizes)
        choice = self.choices.get(key)
        if (choice is None and self._spent < self.patience) or not self._lock.acquire(blocking=False):
            return False
        try:
            rivals = self.rivals(sizes)
            if choice is None:
                choice, compiled = fastest(
                    lambda rival: self.compiled_by(rival, sizes),
                    reference,
                    self.usual,
                    rivals,
                    arrays,
                    outputs,
                    nearby=self.nearby,
                )
                self.choices.put(key, choice)
                self._use(choice, compiled, arrays)
            elif choice in rivals:
                compiled = self.compiled_by(choice, sizes)
                if Trials(reference, arrays, outputs, self.nearby).accept_again(compiled):
                    self._use(choice, compiled, arrays)
            self._settled = True
        except RunStopped:
            self._spent = 0  # the answer is there; race again later
        except Error:
            self._settled = True  # a remembered choice that does not work any more
        finally:
            self._lock.release()
        return self._settled

    def _use(self, choice: Choice, compiled: Compiled, arrays: Sequence[Any]) -> None:
        if choice.engine == self.usual.engine:
            self._reference = compiled
        else:
            self._sizes = _sizes(arrays)
            self._faster, self._reference = compiled, None


def _sizes(arrays: Sequence[Any]) -> Sizes:
    return tuple(array.shape for array in arrays)
