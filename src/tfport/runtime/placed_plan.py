"""A plan on the GPU or on the CPU, whichever is faster for inputs of these sizes: the device `auto`.

It starts on the CPU, whose first answer comes soonest. When inputs of similar sizes have come a few times,
both devices run in turn in a thread of their own, from arrays on the host to arrays on the host, while calls
are answered as before; the faster is used from then on. The choice is remembered in a file: the next process
uses it from the first call, and does not load the model onto a device that it does not use. A program whose
effects must not happen twice runs on the GPU.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.engines.choice_cache import CPU, GPU, Choice
from tfport.runtime.engines.engine import Rival
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.preparation import PREPARATIONS, RUNS_TO_PREPARE
from tfport.runtime.engines.island_key import machine
from tfport.runtime.engines.race import best_times
from tfport.runtime.operand import Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import Program, only_asserts

CALLS_BEFORE = 3
"""Calls with inputs of similar sizes before the devices are measured: many processes make only a few."""
WARM_UP, WARM_UP_SECONDS = 6, 0.3
"""Runs before a device is measured, at least two."""
CLEARLY = 3
"""One device is so many times faster that its first runs decide."""
MAX_SEEN = 1000
Run = Callable[[Sequence[Any]], Sequence[Any]]
Times = Callable[[Run, Run, Sequence[Any]], tuple[float, float]]
Sizes = tuple[tuple[int, ...], ...]


class RaceEnded(Exception):
    """The process ends while the devices are measured."""


class PlacedPlan:
    """The plans of a program on both devices, made when they are needed; any thread may run it."""

    is_steady = False

    def __init__(
        self,
        program: Program,
        made_for: Callable[[str], Plan],
        rival: Rival,
        times: Times | None = None,
    ) -> None:
        """`made_for`: the plan for `CPU` or for `GPU`; `times` measures two runs (default: `quick_times`)."""
        self.ops = [step.op for step in program.steps]
        self._made_for, self._choices, self._times = made_for, rival.choices, times or quick_times
        self._key = program_key(program, rival.settings)
        self._can_repeat = only_asserts(program.steps)
        self._making = threading.Lock()
        """Held while a plan is made."""
        self._counting = threading.Lock()
        """Held while choices and counts change, which is never long."""
        self._plans: dict[str, Plan] = {}
        self._chosen: dict[Sizes, str] = {}
        self._settled: dict[Sizes, Plan] = {}
        """By the sizes of inputs themselves, so that a call finds its plan at once."""
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
        if on_device or DeviceArray in map(type, inputs):
            return self._plan(GPU).run(inputs, on_device=on_device)
        shapes = tuple([array.shape for array in inputs])
        if (plan := self._settled.get(shapes)) is not None:
            return plan.run(inputs)
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
                self._settled[shapes] = plan
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
            self.race = threading.Thread(target=self._measure, args=(sizes, copies), name="tfport-race")
            self.race.start()

    def _measure(self, sizes: Sizes, inputs: Sequence[Any]) -> None:
        """Choose the faster device."""
        try:
            run_on_gpu = self._run_on(GPU)
            for _ in range(RUNS_TO_PREPARE):
                run_on_gpu(inputs)
            PREPARATIONS.wait()
            on_gpu, on_cpu = self._times(run_on_gpu, self._run_on(CPU), inputs)
            device = CPU if on_cpu < on_gpu else GPU
            for key in (str(sizes), ""):
                self._choices.put(f"{self._key}:{key}", Choice(device, 1))
        except RaceEnded:
            return
        except Error:
            device = self._usual  # the other cannot run this
        self._usual = device
        self._choose(sizes, device)

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
            for unused in {CPU, GPU} - {self._usual, *self._chosen.values()}:
                self._plans.pop(unused, None)

    def _remembered(self, sizes: str) -> str | None:
        choice = self._choices.get(f"{self._key}:{sizes}")
        return choice.engine if choice is not None and choice.engine in (CPU, GPU) else None

    def _plan(self, device: str) -> Plan:
        plan = self._plans.get(device)
        if plan is None:
            with self._making:
                plan = self._plans.get(device)
                if plan is None:
                    plan = self._plans[device] = self._made_for(device)
        return plan


def quick_times(first: Run, second: Run, inputs: Sequence[Any]) -> tuple[float, float]:
    """The shortest times of two runs; of few runs, if they differ so much that more would say the same."""
    warm = _warm_time(first, inputs), _warm_time(second, inputs)
    return warm if max(warm) > CLEARLY * min(warm) else best_times(first, second, inputs)


def _warm_time(run: Run, inputs: Sequence[Any]) -> float:
    """The shortest of the first runs; fewer if they take long."""
    times: list[float] = []
    while len(times) < WARM_UP and (len(times) < 2 or sum(times) < WARM_UP_SECONDS):
        began = time.perf_counter()
        run(inputs)
        times.append(time.perf_counter() - began)
    return min(times)


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
