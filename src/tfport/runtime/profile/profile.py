"""Profile a model: `profile_model(tfport.load("export/1"), {"x": array})`.

The clocks stand around islands and host steps. What the call of an island takes beyond the engine's own
run is counted as copies: arrays are converted, passed to the engine and returned. Of several runs, the
least time of each part counts, because other load only adds to it.

The engine's own profile times its ONNX nodes, which `node_times` traces back to the nodes of the model.
That profile slows the engine down, so its times are scaled: their sum is the time of the island without
it. A node that was fused into another has no time of its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfport.engine_names import USUAL
from tfport.graph.model import Model
from tfport.operating_system import processors
from tfport.runtime.composite import flatten_inputs
from tfport.runtime.custom.registry import Registry
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions
from tfport.runtime.engines.gpu.preparation import PREPARATIONS, RUNS_TO_PREPARE
from tfport.runtime.passes.pass_list import PassCount, PassLog, all_passes
from tfport.runtime.profile.engine_events import EngineEvent, engine_events, op_times
from tfport.runtime.profile.node_origins import NodeOrigin, NodeOrigins
from tfport.runtime.profile.recorder import HostStep, IslandRecord, Recorder, recording
from tfport.runtime.profile.times import IslandTime, NodeTime, OpTime, PassDone, Profile
from tfport.runtime.select_signature import select_signature
from tfport.runtime.session import Session
from tfport.startup.dataclass import dataclass, replace

LEAST_RUNS = 3
HOST, FOLDED = "host", "folded"
Call = Callable[[Session], Any]


def profile_model(
    model: Model,
    inputs: Mapping[str, Any],
    *,
    signature: str | None = None,
    seconds: float = 1.0,
    engine_ops: bool = False,
    nodes: bool = False,
    threads: int | None = None,
    engine: str = USUAL,
    device: str = "cpu",
    gpu: GpuOptions = NO_GPU_OPTIONS,
    registry: Registry | None = None,
) -> Profile:
    """Say where the time goes when a signature of a model runs.

    Args:
        model: The model, from `tfport.load`.
        inputs: The inputs of the signature by name.
        signature: The name of the signature (default: serving_default, or the only one; the outputs of a
            graph without signatures).
        seconds: How long to repeat the run; it is repeated at least three times.
        engine_ops: Also profile the ONNX ops inside of the islands, with ONNX Runtime's own profiler.
        nodes: Also say for each node of the model where it runs and how long, with the same profiler.
        threads: As in `tfport.Session`; so are `engine`, `device`, `gpu` and `registry`.
    """
    chosen = select_signature(model, signature)
    feeds = flatten_inputs(chosen, inputs)
    fetches = [tensor for spec in chosen.outputs.values() for tensor in spec.tensors]
    return profile_calls(
        lambda: Session(model, threads=threads, engine=engine, device=device, gpu=gpu, registry=registry),
        lambda session: session.run(fetches, feeds),
        seconds=seconds,
        engine_ops=engine_ops,
        nodes=nodes,
    )


def profile_calls(
    make_session: Callable[[], Session],
    call: Call,
    *,
    seconds: float = 1.0,
    engine_ops: bool = False,
    nodes: bool = False,
) -> Profile:
    """Profile what `call` does with a session; for `engine_ops` and `nodes`, a second session is created."""
    recorder = Recorder()
    session = make_session()
    runs = _recorded_runs(recorder, session, call, seconds)
    islands = [
        _fastest([run.islands[i] for run in runs if i < len(run.islands)])  # a branch may come late
        for i in range(len(recorder.islands))
    ]
    timed: list[NodeTime] = []
    if engine_ops or nodes:
        detailed, events = _engine_events(make_session(), call)
        timed = node_times(detailed, recorder.steps, islands, events) if nodes else []
        if engine_ops:
            pairs = zip(islands, events, strict=False)
            islands = [replace(island, engine_ops=op_times(own)) for island, own in pairs]
    return Profile(
        len(runs),
        min(run.total for run in runs),
        min(run.processor for run in runs),
        getattr(session.engine, "threads", None) or processors(),
        islands,
        _fastest_steps(runs),
        recorder.host_nodes,
        min(run.other for run in runs),
        timed,
        _passes(recorder.passes),
    )


def _passes(log: PassLog) -> list[PassDone]:
    counts = [(each, log.counts.get(each.name, PassCount())) for each in all_passes()]
    return [
        PassDone(each.name, each.summary, each.when.text, count.graphs, count.removed, count.added)
        for each, count in counts
    ]


def _fastest(times: Sequence[IslandTime]) -> IslandTime:
    ran = [time for time in times if time.calls]
    return min(ran or times, key=lambda time: time.seconds + time.copies)


def _fastest_steps(runs: Sequence[_Run]) -> list[OpTime]:
    fastest: dict[str, OpTime] = {}
    for step in (step for run in runs for step in run.host if step.calls):
        if step.op not in fastest or step.seconds < fastest[step.op].seconds:
            fastest[step.op] = step
    return sorted(fastest.values(), key=lambda step: -step.seconds)


@dataclass(frozen=True, slots=True)
class _Run:
    """What the clocks showed after one run."""

    between: tuple[float, float]
    """Its start and end by the system clock."""
    total: float
    processor: float
    islands: list[IslandTime]
    host: list[OpTime]

    @property
    def other(self) -> float:
        islands = sum(island.seconds + island.copies for island in self.islands)
        return max(self.total - islands - sum(step.seconds for step in self.host), 0.0)


def _recorded_runs(recorder: Recorder, session: Session, call: Call, seconds: float = 0.0) -> list[_Run]:
    runs: list[_Run] = []
    with recording(recorder):
        call(session)
        if session.engine.on_device:
            for _ in range(RUNS_TO_PREPARE):
                call(session)
            PREPARATIONS.wait()
        end = time.perf_counter() + seconds
        while len(runs) < LEAST_RUNS or time.perf_counter() < end:
            runs.append(_recorded_run(recorder, session, call))
    return runs


def _recorded_run(recorder: Recorder, session: Session, call: Call) -> _Run:
    recorder.start()
    since, processor, started = time.time(), time.process_time(), time.perf_counter()
    call(session)
    total, processor = time.perf_counter() - started, time.process_time() - processor
    recorder.stop()
    timing = recorder.calls * recorder.cost
    return _Run(
        (since, time.time()),
        max(total - timing, 0.0),
        max(processor - timing, 0.0),
        [_island_time(record) for record in recorder.islands],
        [OpTime(op, clock.calls, max(clock.seconds, 0.0)) for op, clock in recorder.host.items()],
    )


def _island_time(record: IslandRecord) -> IslandTime:
    seconds = max(record.clock.seconds, 0.0)
    inside = min(record.engine_seconds or seconds, seconds)
    return IslandTime(
        record.ops, record.onnx_nodes, record.inside, record.clock.calls, inside, seconds - inside
    )


def _engine_events(session: Session, call: Call) -> tuple[Recorder, list[list[EngineEvent]]]:
    """The fastest run with the engine's own profile, which slows it down: the events of each island."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(engine_events=folder)
        best = min(_recorded_runs(recorder, session, call), key=lambda run: run.total)
        return recorder, [engine_events(record.engine_sessions, *best.between) for record in recorder.islands]


def node_times(
    recorder: Recorder,
    steps: Sequence[HostStep],
    islands: Sequence[IslandTime],
    events: Sequence[Sequence[EngineEvent]],
) -> list[NodeTime]:
    """The nodes of a run, slowest first: where each ran, how long, and why it is not in an island.

    `recorder` and `events` are of the run with the engine's profile, `steps` and `islands` of one without.
    """
    times = [
        *_of_islands(recorder, islands, events),
        *map(_of_step, steps),
        *(NodeTime(origin, FOLDED) for origin in recorder.origins.folded),
    ]
    return sorted(_merged(times), key=lambda time: -time.seconds)


def _of_islands(
    recorder: Recorder, islands: Sequence[IslandTime], events: Sequence[Sequence[EngineEvent]]
) -> Iterator[NodeTime]:
    for number, record in enumerate(recorder.islands):
        own = events[number] if number < len(events) else ()
        island = islands[number] if number < len(islands) else None
        timed = _of_events(recorder.origins, own)
        total = sum(seconds for _, seconds in timed.values())
        scale = island.seconds / total if island is not None and total else 1.0
        for origin in dict.fromkeys((*record.origins, *timed)):
            calls, seconds = timed.get(origin, (0, 0.0))
            yield NodeTime(origin, number, calls, seconds * scale)


def _of_events(origins: NodeOrigins, events: Sequence[EngineEvent]) -> Mapping[NodeOrigin, tuple[int, float]]:
    """The calls and seconds of each node; a fused node is charged to the first of its origins."""
    times: dict[NodeOrigin, tuple[int, float]] = {}
    for event in events:
        for origin in origins.of_names([event.name])[:1]:
            calls, seconds = times.get(origin, (0, 0.0))
            times[origin] = calls + 1, seconds + event.seconds
    return times


def _of_step(step: HostStep) -> NodeTime:
    clock = step.fastest
    return NodeTime(step.origin, HOST, clock.calls, max(clock.seconds, 0.0), step.reason)


def _merged(times: Sequence[NodeTime]) -> list[NodeTime]:
    """One entry for each node: a function that is called twice has two, and a node with a time counts."""
    merged: dict[NodeOrigin, NodeTime] = {}
    for entry in times:
        known = merged.get(entry.origin)
        if known is None:
            merged[entry.origin] = entry
        elif entry.where != FOLDED:
            slower = entry if entry.seconds > known.seconds or known.where == FOLDED else known
            merged[entry.origin] = NodeTime(
                entry.origin,
                slower.where,
                known.calls + entry.calls,
                known.seconds + entry.seconds,
                slower.reason,
            )
    return list(merged.values())
