"""ONNX Runtime's own profile: the time of each op in an island.

A session that was made with `record_events` writes an event to a file for each node that it runs.
Nodes inside of an ONNX Loop, Scan or If have events of their own, within that of their node; an op is
charged only with its own time.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tfport.runtime.profile.times import OpTime
from tfport.startup.dataclass import dataclass

NODE, OF_NODE = "Node", "kernel_time"
MICRO, NANO = 1e-6, 1e-9
_numbers = itertools.count()


def record_events(options: Any, folder: str) -> None:
    """Make a session of ONNX Runtime with these options record its events in a file of the folder."""
    options.enable_profiling = True
    options.profile_file_prefix = f"{folder}/events-{next(_numbers)}"


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """One call of an ONNX node."""

    op: str
    name: str
    seconds: float
    """Without those of the nodes inside of it."""


def engine_events(sessions: Iterable[Any], since: float, until: float) -> list[EngineEvent]:
    """What some sessions ran between two times of the system clock; it ends their recording."""
    events: list[EngineEvent] = []
    for session in sessions:
        start = session.get_profiling_start_time_ns() * NANO
        file = Path(session.end_profiling())
        nodes = [
            event
            for event in json.loads(file.read_bytes())
            if event["cat"] == NODE
            and event["name"].endswith(OF_NODE)
            and since <= start + event["ts"] * MICRO <= until
        ]
        file.unlink()
        events += [
            EngineEvent(event["args"]["op_name"], event["name"].removesuffix(f"_{OF_NODE}"), own * MICRO)
            for event, own in _own_times(nodes)
        ]
    return events


def op_times(events: Iterable[EngineEvent]) -> list[OpTime]:
    """The calls and time of each ONNX op, slowest first."""
    ops: dict[str, tuple[int, float]] = {}
    for event in events:
        calls, seconds = ops.get(event.op, (0, 0.0))
        ops[event.op] = calls + 1, seconds + event.seconds
    return sorted((OpTime(op, *clock) for op, clock in ops.items()), key=lambda op: -op.seconds)


def _own_times(events: Sequence[dict[str, Any]]) -> Iterable[tuple[dict[str, Any], float]]:
    """The events with their microseconds, less those of the events inside of them."""
    own = [float(event["dur"]) for event in events]
    order = sorted(range(len(events)), key=lambda i: (events[i]["ts"], -events[i]["dur"]))
    around: list[int] = []
    for i in order:
        start, end = events[i]["ts"], events[i]["ts"] + events[i]["dur"]
        while around and not _contains(events[around[-1]], start, end):
            around.pop()
        if around:
            own[around[-1]] -= events[i]["dur"]
        around.append(i)
    return [(event, max(seconds, 0.0)) for event, seconds in zip(events, own, strict=True)]


def _contains(event: dict[str, Any], start: float, end: float) -> bool:
    return bool(event["ts"] <= start and end <= event["ts"] + event["dur"])
