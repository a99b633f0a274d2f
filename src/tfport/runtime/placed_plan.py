"""A plan on the GPU or on the CPU, whichever is faster for inputs of these sizes: the device `auto`.

It starts on the CPU, whose first answer comes soonest. When inputs of similar sizes have come a few times,
both devices run in turn in a thread of their own, from arrays on the host to arrays on the host, while calls
are answered as before; the faster is used from then on. Where TensorRT is installed, it runs against that
one. The choice is remembered in a file: the next process uses it from the first call, and does not load the
model onto a device that it does not use. A program whose effects must not happen twice runs on the GPU.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.engines.choice_cache import CPU, GPU, TENSORRT, Choice
from tfport.runtime.engines.engine import Rival
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.preparation import PREPARATIONS, RUNS_TO_PREPARE
from tfport.runtime.engines.island_key import machine
from tfport.runtime.operand import Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import Program, only_asserts

if TYPE_CHECKING:
    from tfport.runtime.engines.litert.whole_file import WholeFilePlan

CALLS_BEFORE = 3
"""Calls with inputs of similar sizes before the devices are measured: many processes make only a few."""
WARM_UP, WARM_UP_SECONDS = 6, 0.3
"""Runs before a device is measured, at least two."""
CLEARLY = 3
"""One device is so many times faster that its first runs decide."""
TURNS, TURN_CALLS, SHORT_TURN, TURN_SECONDS = 9, 8, 0.005, 0.1
"""How often the devices take turns; how many calls each turn has, or more until it takes so long; how long it
is at most. In turns of 1 ms, with the caches and threads of the other device, a faster CPU lost.
"""
LEAD = 0.95
"""A GPU must take less than this part of the time: one whose race was even took 1.2 times as long as the CPU
in other processes."""
TURNS_SECONDS = 1.5
"""No turn begins after this time, except the second ones."""
MAX_SEEN = 1000
RACE = "tfport-race"
"""The thread that measures."""
_SHAPE = attrgetter("shape")
Run = Callable[[Sequence[Any]], Sequence[Any]]
Times = Callable[[Run, Run, Sequence[Any]], tuple[float, float]]
Sizes = tuple[tuple[int, ...], ...]
DevicePlan = Union[Plan, "WholeFilePlan"]
"""On the CPU, LiteRT may run an unchanged TensorFlow Lite file."""


class RaceEnded(Exception):
    """The process ends while the devices are measured."""


class PlacedPlan:
    """The plans of a program on each device, made when they are needed; any thread may run it."""

    is_steady = False

    def __init__(
        self,
        program: Program,
        made_for: Callable[[str], DevicePlan],
        rival: Rival,
        times: Times | None = None,
    ) -> None:
        """`made_for`: the plan for a device, `CPU`, `GPU` or `TENSORRT`.

        `times` measures two runs (default: `quick_times`).
        """
        self.ops = [step.op for step in program.steps]
        self._made_for, self._choices, self._times = made_for, rival.choices, times or quick_times
        self._key = program_key(program, rival.settings)
        self._can_repeat = only_asserts(program.steps)
        self._devices = (CPU, GPU) if rival.tensorrt is None else (CPU, GPU, TENSORRT)
        self._making = threading.Lock()
        """Held while a plan is made."""
        self._counting = threading.Lock()
        """Held while choices and counts change, which is never long."""
        self._plans: dict[str, DevicePlan] = {}
        self._chosen: dict[Sizes, str] = {}
        self._settled: dict[Sizes | tuple[int, ...], Callable[[Sequence[Any]], list[Any]]] = {}
        """What runs inputs of these sizes, so that a call finds it at once; by its own for one input."""
        self._seen: Counter[Sizes] = Counter()
        self.race: threading.Thread | None = None
        """What measures the devices now, or did so last."""
        starts_on_gpu = rival.required or not self._can_repeat
        self._usual = self._remembered("") or (GPU if starts_on_gpu else CPU)
        self._load_usual(rival.required)

    @property
    def device(self) -> str:
        """The device for sizes that were not measured: the last that was chosen."""
        return self._usual

    def run(self, inputs: Sequence[Any], *, on_device: bool = False) -> list[Any]:
        is_alone = len(inputs) == 1  # as in most models, and some calls take 10 µs
        if on_device or (type(inputs[0]) is DeviceArray if is_alone else DeviceArray in map(type, inputs)):
            return self._plan(GPU).run(inputs, on_device=on_device)
        shapes = inputs[0].shape if is_alone else tuple(map(_SHAPE, inputs))
        if (run := self._settled.get(shapes)) is not None:
            return run(inputs)
        sizes = similar_sizes(inputs)
        device = self._chosen.get(sizes)
        if device is None and (device := self._remembered(str(sizes))) is not None:
            self._choose(sizes, device)
        plan = self._plan(device or self._usual)
        outputs = plan.run(inputs)
        if device is not None:
            with self._counting:
                if len(self._settled) >= MAX_SEEN:
                    self._settled.clear()
                self._settled[shapes] = plan.run_from_host
        elif self._comes_back(sizes):
            self._begin_race(sizes, inputs)
        return outputs

    def _load_usual(self, required: bool) -> None:
        try:
            self._plan(self._usual)
        except ResourceExhausted:
            if required or self._usual == CPU:
                raise
            self._usual, self._can_repeat = CPU, False
            self._plan(CPU)

    def _comes_back(self, sizes: Sizes) -> bool:
        if not self._can_repeat:
            return False
        with self._counting:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
            self._seen[sizes] += 1
            return self._seen[sizes] >= CALLS_BEFORE

    def _begin_race(self, sizes: Sizes, inputs: Sequence[Any]) -> None:
        """Measure the devices in another thread, unless they are measured now for other sizes."""
        with self._counting:
            if (self.race is not None and self.race.is_alive()) or sizes in self._chosen:
                return
            copies = [np.array(array) for array in inputs]  # the caller may change its own
            # not a daemon: such a thread may end in the middle of a call to the driver
            self.race = threading.Thread(target=self._measure, args=(sizes, copies), name=RACE)
            self.race.start()

    def _measure(self, sizes: Sizes, inputs: Sequence[Any]) -> None:
        """Choose the fastest device; one that cannot run this is not chosen."""
        fastest, is_measured = CPU, False
        for device in self._devices[1:]:
            try:
                fastest = self._faster(device, fastest, inputs)
            except RaceEnded:
                return
            except Error:
                continue
            is_measured = True
        if is_measured:
            for key in (str(sizes), ""):
                self._choices.put(f"{self._key}:{key}", Choice(fastest, 1))
        else:
            fastest = self._usual
        self._usual = fastest
        self._choose(sizes, fastest)

    def _faster(self, device: str, other: str, inputs: Sequence[Any]) -> str:
        run = self._run_on(device)
        for _ in range(RUNS_TO_PREPARE):
            run(inputs)
        PREPARATIONS.wait()
        own, of_other = self._times(run, self._run_on(other), inputs)
        return device if own < LEAD * of_other else other

    def _run_on(self, device: str) -> Run:
        plan = self._plan(device)

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            if not threading.main_thread().is_alive():
                raise RaceEnded
            return plan.run(inputs)

        return run

    def _choose(self, sizes: Sizes, device: str) -> None:
        with self._counting:
            if len(self._chosen) >= MAX_SEEN:
                self._chosen.clear()
            self._chosen[sizes] = device
            self._settled.clear()
            for unused in {*self._devices} - {self._usual, *self._chosen.values()}:
                self._plans.pop(unused, None)

    def _remembered(self, sizes: str) -> str | None:
        choice = self._choices.get(f"{self._key}:{sizes}")
        return choice.engine if choice is not None and choice.engine in self._devices else None

    def _plan(self, device: str) -> DevicePlan:
        plan = self._plans.get(device)
        if plan is None:
            with self._making:
                plan = self._plans.get(device)
                if plan is None:
                    plan = self._plans[device] = self._made_for(device)
        return plan


def quick_times(first: Run, second: Run, inputs: Sequence[Any]) -> tuple[float, float]:
    """The shortest times of a few runs of each, if they differ so much that more would say the same; or else
    `usual_times`."""
    warm = min(_times(first, inputs)), min(_times(second, inputs))
    return warm if max(warm) > CLEARLY * min(warm) else usual_times(first, second, inputs)


def usual_times(first: Run, second: Run, inputs: Sequence[Any]) -> tuple[float, float]:
    """The medians of the times of two runs.

    Calls come one after another in turns of each run, as they do where speed matters. After a pause, or at
    its best, the slower one may be the faster.
    """
    began = time.perf_counter()
    times: tuple[list[float], list[float]] = [], []
    for turn in range(TURNS):
        if turn > 1 and time.perf_counter() - began > TURNS_SECONDS:
            break
        for own, run in zip(times, (first, second), strict=True):
            run(inputs)  # wakes the threads
            own += _times(run, inputs, TURN_CALLS, TURN_SECONDS, SHORT_TURN)
    return statistics.median(times[0]), statistics.median(times[1])


def _times(
    run: Run,
    inputs: Sequence[Any],
    most: int = WARM_UP,
    seconds: float = WARM_UP_SECONDS,
    short: float = 0.0,
) -> list[float]:
    """The seconds of at least two runs; of fewer than `most` if they take longer than `seconds` together, and
    of more until they take longer than `short`."""
    times: list[float] = []
    spent = 0.0
    while len(times) < 2 or ((len(times) < most or spent < short) and spent < seconds):
        began = time.perf_counter()
        run(inputs)
        times.append(time.perf_counter() - began)
        spent += times[-1]
    return times


def similar_sizes(arrays: Sequence[Any]) -> Sizes:
    """The shapes with each size rounded up to a power of two."""
    return tuple(tuple(1 << max(size - 1, 0).bit_length() if size else 0 for size in a.shape) for a in arrays)


def program_key(program: Program, settings: tuple[str, ...]) -> str:
    """A hash of what the speed of a program depends on: ops, types and shapes, but not the weights."""
    import hashlib  # imported here, as few sessions choose a device by measuring

    digest = hashlib.blake2b(repr((machine(), settings)).encode(), digest_size=20)
    for part in _parts(program):
        digest.update(part.encode())
    return f"plan-{digest.hexdigest()}"


def _parts(program: Program) -> Iterator[str]:
    yield repr([_kind(o) for o in (*program.args, *program.results)])
    for step in program.steps:
        yield repr((step.op, [_kind(o) for o in step.inputs], [_kind(o) for o in step.outputs]))
        for inner in step.programs:
            yield from _parts(inner)


def _kind(operand: Operand) -> tuple[str, Any]:
    return operand.dtype.name, operand.shape
