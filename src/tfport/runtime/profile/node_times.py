"""The time of each node of the model: where it ran, how long, and why it is not in an island.

The engine's own profile times its ONNX nodes; those are led back to the nodes of the model. As that
profile slows the engine down, its times are scaled so that their sum is the time of the island without it.
A node that was fused into another has no time of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfport.runtime.profile.engine_events import EngineEvent
from tfport.runtime.profile.node_origins import NodeOrigin, NodeOrigins
from tfport.runtime.profile.recorder import HostStep, Recorder
from tfport.runtime.profile.times import IslandTime, NodeTime

HOST, FOLDED = "host", "folded"


def node_times(
    recorder: Recorder,
    steps: Sequence[HostStep],
    islands: Sequence[IslandTime],
    events: Sequence[Sequence[EngineEvent]],
) -> list[NodeTime]:
    """The nodes of a run, slowest first.

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
    for time in times:
        known = merged.get(time.origin)
        if known is None:
            merged[time.origin] = time
        elif time.where != FOLDED:
            slower = time if time.seconds > known.seconds or known.where == FOLDED else known
            merged[time.origin] = NodeTime(
                time.origin,
                slower.where,
                known.calls + time.calls,
                known.seconds + time.seconds,
                slower.reason,
            )
    return list(merged.values())
